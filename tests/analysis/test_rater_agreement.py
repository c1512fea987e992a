"""Agreement of people and machines: what is compared with what, in which words, and from which files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankproof as rp
from rankproof._analysis.rater_agreement import PEOPLE, Rater, agreement_tables, band, rater_agreement, reading
from rankproof._cli.main import main
from rankproof._results.judgements import merged_grade
from rankproof._server.judgement_log import JudgementLog
from rankproof._statistics.agreement import Agreement
from rankproof.errors import InputError, UsageError

DATA = "f" * 64
LABEL = "llm:gpt:12345678"
GRADES = st.dictionaries(
    st.tuples(st.sampled_from([f"q{at}" for at in range(5)]), st.sampled_from([f"d{at}" for at in range(6)])),
    st.integers(0, 3),
    min_size=1,
)


def graded(seed: int, pairs: int = 120, noise: float = 0.3, name: str = "ann") -> Rater:
    """A person who mostly gives the true grades."""
    true, draw = np.random.default_rng(1).integers(0, 4, pairs), np.random.default_rng(seed)
    given = np.where(draw.random(pairs) < noise, draw.integers(0, 4, pairs), true)
    return Rater(name, {(f"q{at % 30}", f"d{at}"): int(grade) for at, grade in enumerate(given)})


def qrels_file(path: Path, rater: Rater, column: str = "0") -> Path:
    path.write_text("".join(f"{query} {column} {doc} {grade}\n" for (query, doc), grade in rater.grades.items()))
    return path


def people_file(path: Path) -> Path:
    """What `serve` writes for two people, one of whom adjudicated a pair."""
    log = JudgementLog(str(path), clock=lambda: "2026-01-02T03:04:05Z")
    for doc, one, other in (("d1", 3, 0), ("d2", 2, 2), ("d3", 0, 1), ("d4", 0, 0)):
        log.judge(("q1", doc), one, DATA, "ann", "why not" if one == 3 else "")
        log.judge(("q1", doc), other, DATA, "bob")
    log.adjudicate(("q1", "d3"), 1, DATA, "ann")
    log.close()
    return path


def test_the_answer_comes_first_with_what_it_means() -> None:
    first, *more = agreement_tables(rater_agreement([graded(2, noise=0.03), graded(3, noise=0.03, name="bob")]))[0].sentences
    assert first.startswith("ann and bob agree well enough to rely on their grades: Krippendorff's alpha (ordinal) is 0.")
    assert first.endswith("on 120 pairs.")
    assert any("different grades" in sentence for sentence in more)
    low, *_ = agreement_tables(rater_agreement([graded(2, noise=0.9), graded(3, noise=0.9, name="bob")]))[0].sentences
    assert low.startswith("ann and bob do not agree well enough to rely on the grades of one of them")


@pytest.mark.parametrize(
    ("value", "words"), [(0.8, "rely on their grades"), (0.7999, "tentative"), (0.667, "tentative"), (0.6669, "do not agree")]
)
def test_the_reading_of_alpha_is_krippendorffs(value: float, words: str) -> None:
    assert words in reading(Agreement(value, None, 9))


@pytest.mark.parametrize(
    ("value", "word"),
    [(1.0, "almost perfect"), (0.81, "almost perfect"), (0.8, "substantial"), (0.6, "moderate"), (0.4, "fair"), (0.2, "slight")],
)
def test_the_word_for_kappa_is_that_of_landis_and_koch(value: float, word: str) -> None:
    assert band(value) == word
    assert band(-0.3) == "poor"


def test_few_pairs_are_no_answer() -> None:
    table = agreement_tables(rater_agreement([graded(2, 12), graded(3, 12, name="bob")]))[0]
    assert table.sentences[0].startswith("There are too few pairs to say how far ann and bob agree")
    assert any("at least 50 of the same pairs" in note for note in table.notes)


def test_one_grade_for_all_is_not_defined() -> None:
    same = {(f"q{at}", "d"): 1 for at in range(60)}
    table = agreement_tables(rater_agreement([Rater("ann", same), Rater("bob", same)]))[0]
    assert table.sentences[0].startswith("The agreement of ann and bob is not defined: all grades are the same")
    assert table.records()[0]["value"] is None


def test_a_grade_that_most_pairs_have_is_a_warning() -> None:
    one = {(f"q{at % 25}", f"d{at}"): int(at < 6) for at in range(200)}
    other = {(f"q{at % 25}", f"d{at}"): int(3 <= at < 9) for at in range(200)}
    table = agreement_tables(rater_agreement([Rater("ann", one), Rater("bob", other)]))[0]
    assert any("97% of the grades are 0, so alpha and kappa are low although 97% of the pairs" in note for note in table.notes)
    values = {row["measure"]: row["value"] for row in table.records()}
    assert values["Krippendorff's alpha, ordinal"] < 0.6 < 0.9 < values["Randolph's kappa"]  # type: ignore[operator]


def test_a_machine_is_compared_with_each_person_and_with_all_of_them() -> None:
    people = [graded(seed, name=name) for seed, name in ((2, "ann"), (3, "bob"), (4, "eve"))]
    machine = Rater(LABEL, graded(5).grades, is_machine=True)
    facts = rater_agreement([*people, machine])
    assert facts.group.raters == ("ann", "bob", "eve")
    assert [(one.rater, one.other) for one in facts.pairs if one.other == LABEL] == [(name.name, LABEL) for name in people]
    (one,) = facts.machines
    merged = {pair: merged_grade([person.grades[pair] for person in people]) for pair in machine.grades}
    own = rater_agreement([Rater(PEOPLE, merged), machine]).pairs[0]
    assert (one.rater, one.quadratic) == (PEOPLE, own.quadratic)
    sentences = agreement_tables(facts)[0].sentences
    assert sentences[1].startswith(f"{LABEL} and people: kappa with quadratic weights is 0.")


def test_an_adjudicated_grade_counts_for_the_people_before_their_median() -> None:
    ann, bob = Rater("ann", {("q", "d"): 0, ("q", "e"): 0}), Rater("bob", {("q", "d"): 0, ("q", "e"): 1})
    machine = Rater(LABEL, {("q", "d"): 0, ("q", "e"): 3}, is_machine=True)
    before = rater_agreement([ann, bob, machine]).machines[0].same.value
    after = rater_agreement([ann, bob, machine], {("q", "e"): 3}).machines[0].same.value
    assert (before, after) == (0.5, 1)


@given(GRADES, GRADES, GRADES)
def test_raters_may_come_in_any_order(one: dict[tuple[str, str], int], other: dict[tuple[str, str], int], third: object) -> None:
    raters = [Rater("a", one), Rater("b", other), Rater("c", third)]  # type: ignore[arg-type]
    try:
        first = rater_agreement(raters)
    except UsageError:
        with pytest.raises(UsageError):
            rater_agreement(raters[::-1])
        return
    again = rater_agreement(raters[::-1])
    for level, found in first.group.alpha.items():
        same = again.group.alpha[level].value
        assert found.value == (None if same is None else pytest.approx(same, abs=1e-9))
    assert [(one.pair, one.distance) for one in first.disagreements] == [(one.pair, one.distance) for one in again.disagreements]
    distances = [one.distance for one in first.disagreements]
    assert distances == sorted(distances, reverse=True)
    assert agreement_tables(first)[0].sentences


def test_a_file_of_serve_has_the_people_of_its_log(tmp_path: Path) -> None:
    file = people_file(tmp_path / "my.qrels")
    found = rp.agreement(str(file))
    assert found.tables[0].facts["raters"] == ["ann", "bob"]
    assert [(row["document"], row["grades"], row["adjudicated"], row["notes"]) for row in found.records("disagreements")] == [
        ("d1", "ann 3; bob 0", None, "ann why not"),
        ("d3", "ann 0; bob 1", 1, ""),
    ]
    assert rp.agreement(f"{file}.log.jsonl").records() == found.records()
    assert rp.agreement([str(file)]).records() == found.records()
    assert "RaterAgreement" in repr(found)


def test_files_of_people_and_labels_of_machines_are_raters(tmp_path: Path) -> None:
    ann, bob = (qrels_file(tmp_path / f"{name}.qrels", graded(seed)) for seed, name in ((2, "ann"), (3, "bob")))
    machine = qrels_file(tmp_path / "llm.qrels", graded(4), LABEL)
    found = rp.agreement([ann, str(bob), machine])
    assert found.tables[0].facts["raters"] == ["ann.qrels", "bob.qrels"]
    assert {row["other"] for row in found.records("agreement-pairs")} == {"bob.qrels", LABEL}
    named = rp.agreement({"ann": ann, "bob": dict(rp.read_qrels(bob)), "model": machine})
    assert named.tables[0].facts["raters"] == ["ann", "bob"]
    assert named.records()[0]["value"] == found.records()[0]["value"]


def test_two_files_of_one_name_are_two_raters(tmp_path: Path) -> None:
    files = []
    for seed, name in ((2, "one"), (3, "two")):
        (tmp_path / name).mkdir()
        files.append(str(qrels_file(tmp_path / name / "qrels.txt", graded(seed))))
    assert rp.agreement(files).tables[0].facts["raters"] == files


def test_a_person_in_two_files_has_one_grade_for_a_pair(tmp_path: Path) -> None:
    file = people_file(tmp_path / "my.qrels")
    more = JudgementLog(str(tmp_path / "more.qrels"))
    more.judge(("q1", "d1"), 1, DATA, "ann")
    more.close()
    with pytest.raises(UsageError, match="ann has two grades for document d1 of query q1"):
        rp.agreement([str(file), str(tmp_path / "more.qrels")])


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    ann = qrels_file(tmp_path / "ann.qrels", graded(2))
    with pytest.raises(UsageError, match="agreement needs two raters"):
        rp.agreement(ann)
    with pytest.raises(UsageError, match="no pair of query and document was graded by two raters"):
        rp.agreement([ann, qrels_file(tmp_path / "other.qrels", Rater("x", {("q", "x"): 1}))])
    with pytest.raises(UsageError, match=r"ann\.qrels is specified twice; specify each file of judgements once"):
        rp.agreement([ann, ann])
    with pytest.raises(UsageError, match="judgements cannot be"):
        rp.agreement([ann, 7])
    with pytest.raises(InputError, match=r"missing\.log\.jsonl: file not found"):
        rp.agreement([str(tmp_path / "missing.log.jsonl"), ann])


@pytest.mark.parametrize("content", ["no log\n", '{"format": "rankproof-judgements", "schema": 99, "fingerprint": "f"}\n', "\n"])
def test_a_broken_log_is_an_error_with_its_line(tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = people_file(tmp_path / "my.qrels")
    Path(f"{file}.log.jsonl").write_text(content)
    assert main(["agreement", str(file)]) == 2
    assert "my.qrels.log.jsonl:1: " in capsys.readouterr().err


def test_the_command_shows_a_summary_and_json_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(people_file(tmp_path / "my.qrels"))
    assert main(["agreement", file]) == 0
    out = capsys.readouterr().out
    assert out.index("There are too few pairs") < out.index("Krippendorff's alpha, ordinal") < out.index("ann 3; bob 0")
    assert "Randolph" not in out
    assert main(["agreement", file, "--format", "json"]) == 0
    tables = json.loads(capsys.readouterr().out)["tables"]
    assert [table["name"] for table in tables] == ["agreement", "agreement-pairs", "disagreements"]
    assert len(tables[0]["rows"]) == 7
    assert main(["agreement", file, "-o", file]) == 2
    assert "which is an input" in capsys.readouterr().err


def test_hostile_notes_stay_text_on_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = JudgementLog(str(tmp_path / "my.qrels"))
    log.judge(("q1", "d1"), 3, DATA, "ann", "\x1b[31mred\u202e<script>")
    log.judge(("q1", "d1"), 0, DATA, "bob")
    log.close()
    assert main(["agreement", str(tmp_path / "my.qrels")]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "<script>" in out


def test_one_query_has_no_interval_and_the_notes_say_so() -> None:
    found = rp.agreement({"ann": {"q": {"a": 1, "b": 0, "c": 2}}, "bob": {"q": {"a": 1, "b": 1, "c": 2}}})
    assert found.records()[0]["95% CI"] is None
    notes = found.tables[0].notes
    assert "one query gives no intervals: let two raters grade pairs of several queries" in notes
    assert not any("approximate" in note for note in notes)
