"""The log of looks: the mode for many looks switches on by itself, the same look is counted once, and reuse is corrected."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

import rankproof as rp
from rankproof._analysis.compare.look_log import Look, append_look, read_looks, reuse_gain, sampled_queries
from rankproof._analysis.inputs import input_from_runs
from rankproof._cli.main import main
from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._results.folder import load_results, save_results
from rankproof.errors import InputError, UsageError
from support.small_results import small_results


def rankings(n: int, first: str) -> dict[str, list[str]]:
    """A run of so many queries with this document first, and every fifth time the other one."""
    other = {"d1": "d2", "d2": "d1"}[first]
    return {f"q{at}": [other, first] if at % 5 == 0 else [first, other] for at in range(n)}


def compared(n: int, log: Path | None = None, **settings: object) -> rp.types.Comparison:
    qrels = {f"q{at}": {"d1": 1, "d2": 0} for at in range(n)}
    runs = {"a": rankings(n, "d1"), "b": rankings(n, "d2")}
    return rp.compare(qrels, runs, "RR", log=log, **settings)  # type: ignore[arg-type]


def test_a_second_look_with_more_queries_has_the_limits_for_many_looks(tmp_path: Path) -> None:
    log = tmp_path / "looks.jsonl"
    first, second = compared(40, log), compared(60, log)
    assert (first.decision.looks, second.decision.looks) == ("one", "many")
    assert first.decision.limit == pytest.approx(0.05, abs=1e-4)
    assert second.decision.limit == pytest.approx(0.006)
    assert "2nd look: limit 0.6%, as an earlier one had 40 of the 60 queries" in second.notes
    assert any("together about 10% are wrong" in note for note in second.notes)
    third = compared(80, log)
    assert "3rd look: limit 0.6%, as an earlier one had 60 of the 80 queries" in third.notes


def test_a_further_look_with_the_limit_for_one_says_that_it_is_not_covered(tmp_path: Path) -> None:
    log = tmp_path / "looks.jsonl"
    compared(40, log), compared(50, log)
    third = compared(60, log, looks="one")
    words = "This is the 3rd look at these systems: the limit of 5% for one look does not cover it"
    assert (third.decision.looks, third.decision.look) == ("one", 3)
    assert third.decision.sentences[1].startswith(words)
    assert words in " ".join(str(third).split())
    assert third.to_dict()["decision"]["look"] == 3
    assert compared(40, log, looks="one").decision.look == 1


def write_files(folder: Path, n: int, relevant: str = "d1", qrels: str = "qrels.txt") -> list[str]:
    """Judgements of so many queries and two runs, as files in the folder."""
    folder.mkdir(exist_ok=True)
    other = {"d1": "d2", "d2": "d1"}[relevant]
    rp.write_qrels(Qrels.from_dict({f"q{at}": {relevant: 1, other: 0} for at in range(n)}), folder / qrels)
    for name, first in (("a", "d1"), ("b", "d2")):
        docs = rankings(n, first)
        rp.write_run(
            Run.from_dict({query: {doc: 2.0 - at for at, doc in enumerate(order)} for query, order in docs.items()}),
            folder / f"{name}.run",
        )
    return [str(folder / name) for name in (qrels, "a.run", "b.run")]


def test_a_look_is_known_by_its_judgements_and_not_by_their_file_name(tmp_path: Path) -> None:
    log = tmp_path / "looks.jsonl"
    assert main(["compare", *write_files(tmp_path / "first", 100), "-m", "RR", "--log", str(log)]) == 0
    moved = write_files(tmp_path / "second", 300, qrels="renamed.txt")
    assert main(["compare", *moved, "-m", "RR", "--log", str(log)]) == 0
    other = write_files(tmp_path / "third", 300, relevant="d2")
    assert main(["compare", *other, "-m", "RR", "--log", str(log)]) == 0
    assert [look.looks for look in read_looks(str(log))] == ["one", "many", "one"]


def test_renamed_systems_are_known_by_their_rankings(tmp_path: Path) -> None:
    log = tmp_path / "looks.jsonl"
    compared(40, log)
    qrels = {f"q{at}": {"d1": 1, "d2": 0} for at in range(60)}
    renamed = rp.compare(qrels, {"a-v2": rankings(60, "d1"), "b-v2": rankings(60, "d2")}, "RR", log=log)
    assert renamed.decision.looks == "many"
    assert renamed.decision.limit == pytest.approx(0.006)
    other = {query: ["d3", *docs] for query, docs in rankings(80, "d1").items()}
    qrels = {f"q{at}": {"d1": 1, "d2": 0} for at in range(80)}
    assert rp.compare(qrels, {"c": other, "d": rankings(80, "d2")}, "RR", log=log).decision.looks == "one"
    assert all(len(look.rankings) == 8 for look in read_looks(str(log)))


def test_a_log_without_rankings_is_read(tmp_path: Path) -> None:
    log = tmp_path / "looks.jsonl"
    compared(40, log)
    line = json.loads(log.read_text())
    del line["rankings"]
    log.write_text(json.dumps(line) + "\n")
    assert compared(60, log).decision.looks == "many"


def test_the_same_values_again_are_no_new_look(tmp_path: Path) -> None:
    log = tmp_path / "looks.jsonl"
    for n in (40, 40, 60, 60, 40):
        compared(n, log)
    assert [(look.n, look.looks) for look in read_looks(str(log))] == [(40, "one"), (60, "many")]
    assert compared(40, log).decision.looks == "one"
    assert compared(60, log).decision.looks == "many"


def test_other_systems_and_looks_with_all_queries_are_no_earlier_look(tmp_path: Path) -> None:
    log = tmp_path / "looks.jsonl"
    compared(40, log)
    qrels = {f"q{at}": {"d1": 1, "d2": 0} for at in range(60)}
    others = {query: [*docs, "d3"] for query, docs in rankings(60, "d2").items()}
    other = rp.compare(qrels, {"a": rankings(60, "d1"), "c": others}, "RR", log=log)
    assert other.decision.looks == "one"


@pytest.mark.parametrize(("first", "second"), [((0, 40), (40, 80)), ((0, 40), (20, 60)), ((0, 40), (40, 100))])
def test_other_queries_of_the_same_systems_are_another_look(
    first: tuple[int, int], second: tuple[int, int], tmp_path: Path
) -> None:
    def look(start: int, end: int) -> rp.types.Comparison:
        names = [f"q{at}" for at in range(start, end)]
        runs = {"a": rankings(end, "d1"), "b": rankings(end, "d2")}
        judged = {name: {"d1": 1, "d2": 0} for name in names}
        chosen = {system: {name: run[name] for name in names} for system, run in runs.items()}
        return rp.compare(judged, chosen, "RR", log=tmp_path / "looks.jsonl")

    assert look(*first).decision.looks == "one"
    further = look(*second)
    assert (further.decision.looks, further.decision.look) == ("many", 2)
    assert "2nd look: limit 0.6%, as an earlier one had other queries" in further.notes
    assert look(*first).decision.look == 1


def test_a_part_of_the_queries_is_no_further_look(tmp_path: Path) -> None:
    log = tmp_path / "looks.jsonl"
    compared(60, log)
    assert (compared(40, log).decision.looks, compared(40, log).decision.look) == ("one", 1)


def test_further_judgements_of_the_same_queries_are_no_new_look(tmp_path: Path) -> None:
    log = tmp_path / "looks.jsonl"
    compared(60, log)
    qrels = {f"q{at}": {"d1": 1, "d2": int(at < 5)} for at in range(60)}
    again = rp.compare(qrels, {"a": rankings(60, "d1"), "b": rankings(60, "d2")}, "RR", log=log)
    assert (again.decision.looks, again.decision.look) == ("one", 1)


def test_all_looks_in_the_mode_for_many_are_covered(tmp_path: Path) -> None:
    log = tmp_path / "looks.jsonl"
    compared(40, log, looks="many")
    assert not any("not covered" in note for note in compared(60, log).notes)


def test_a_function_writes_no_log_unless_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Path(save_results(small_results(), tmp_path / "results"))
    before = sorted(os.listdir(folder))
    rp.compare(folder)
    rp.report(folder)
    assert sorted(os.listdir(folder)) == before


def test_the_command_logs_in_the_results_folder_and_every_view_has_its_mode(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(save_results(small_results(), tmp_path / "results"))
    assert main(["compare", str(folder), "--looks", "many", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["decision"]["looks"] == "many"
    assert [look.looks for look in read_looks(str(folder / "looks.jsonl"))] == ["many"]
    save_results(load_results(folder), folder)
    assert (folder / "looks.jsonl").exists()
    assert main(["compare", str(folder), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["decision"]["looks"] == "many"


def test_growing_logs_of_answers_are_looks_at_the_same_systems(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for n, mode in ((40, "one"), (60, "many")):
        for name, answer in (("good", "yes"), ("poor", "no")):
            rows = ({"query": f"q{at}", "question": f"Is it {at}?", "answer": answer, "answers": ["yes"]} for at in range(n))
            (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        logs = [str(tmp_path / f"{name}.jsonl") for name in ("good", "poor")]
        assert main(["answers", *logs, "-m", "EM", "-o", str(tmp_path / "out")]) == 0
        assert json.loads((tmp_path / "out" / "result.json").read_text())["decision"]["looks"] == mode
    assert "2nd look: limit 0.6%, as an earlier one had 40 of the 60 queries" in " ".join(capsys.readouterr().err.split())
    assert [look.n for look in read_looks(str(tmp_path / "out" / "looks.jsonl"))] == [40, 60]


def test_the_mode_is_stored_in_the_results(tmp_path: Path) -> None:
    results = small_results()
    many = replace(results, decision_settings=replace(results.decision_settings, looks="many"))
    folder = save_results(many, tmp_path / "results")
    assert rp.compare(folder).decision.looks == "many"
    assert rp.gate(folder, baseline=folder).decision.looks == "many"  # type: ignore[union-attr]


def test_a_log_that_cannot_be_written_gets_a_note(tmp_path: Path) -> None:
    found = compared(40, tmp_path / "missing" / "looks.jsonl")
    assert found.notes[-1].endswith("looks.jsonl cannot be written, so this look is not counted")


def test_a_damaged_log_is_refused(tmp_path: Path) -> None:
    log = tmp_path / "looks.jsonl"
    log.write_text("{}\n")
    with pytest.raises(InputError, match="the log of looks is damaged"):
        compared(40, log)


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(UsageError, match="looks is few; choose one of one, many"):
        compared(40, looks="few")


def test_the_logged_difference_is_that_of_the_decision(tmp_path: Path) -> None:
    log = tmp_path / "looks.jsonl"
    qrels = {f"q{at}": {"d1": 1, "d2": 0} for at in range(40)}
    weights = {f"q{at}": 1.0 + at % 3 for at in range(40)}
    found = rp.compare(qrels, {"a": rankings(40, "d2"), "b": rankings(40, "d1")}, "RR", log=log, weights=weights)
    (look,), (pair,) = read_looks(str(log)), found.decision.against
    assert (pair.system, pair.other, look.shipped) == ("b", "a", True)
    assert (look.difference, look.error) == (pair.difference, pair.error)


JUDGED = {f"q{number}": {"d1": 1, "d2": 0} for number in range(40)}


def look_with(difference: float, shipped: bool, at: int) -> Look:
    return Look(
        made="2026-01-01T00:00:00Z",
        data=sampled_queries(input_from_runs(JUDGED, {"a": {"q0": {"d1": 1.0}}}, "RR")),
        systems=("a", str(at)),
        measure="RR",
        n=40,
        values=str(at),
        looks="one",
        difference=difference,
        error=0.02,
        shipped=shipped,
    )


def test_from_ten_comparisons_on_the_shrunk_gain_is_noted(tmp_path: Path) -> None:
    log = tmp_path / "looks.jsonl"
    for at in range(8):
        assert list(append_look(str(log), look_with(0.03 if at % 2 else -0.03, bool(at % 2), at))) == []
    assert not any("as measured" in note for note in compared(40, log).notes)
    assert list(append_look(str(log), look_with(0.0, False, 99))) == []
    (note,) = (note for note in compared(40, log).notes if "as measured" in note)
    assert note.startswith("4 of 10 comparisons shipped a system: total gain +")


def test_the_shrunk_gain_follows_the_worked_example() -> None:
    # mean 0.01, variance 0.001, mean squared error 0.0004: spread 0.0006, share 0.6; 0.04 becomes 0.01 + 0.6 x 0.03.
    differences = [0.04, -0.02] * 5
    gain = reuse_gain(differences, [0.02] * 10, [True, False] * 5)
    assert gain is not None
    assert (gain.comparisons, gain.shipped) == (10, 5)
    assert gain.measured == pytest.approx(0.2)
    assert gain.shrunk == pytest.approx(5 * 0.028)
    assert reuse_gain(differences[:9], [0.02] * 9, [True] * 9) is None


def test_differences_that_errors_explain_shrink_to_their_mean() -> None:
    gain = reuse_gain([0.01, -0.01] * 5, [0.05] * 10, [True, False] * 5)
    assert gain is not None
    assert gain.measured == pytest.approx(0.05)
    assert gain.shrunk == pytest.approx(0.0)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_log_that_is_a_pipe_is_rejected_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "looks.jsonl")
    with pytest.raises(InputError, match=r"looks.jsonl: is a named pipe"):
        compared(40, tmp_path / "looks.jsonl")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs links")
def test_the_log_of_a_results_folder_is_no_link_out_of_it(tmp_path: Path) -> None:
    save_results(small_results(("a", "b"), ("q1", "q2")), str(tmp_path / "results"))
    (tmp_path / "results" / "looks.jsonl").symlink_to("/dev/zero")
    with pytest.raises(InputError, match=r"looks.jsonl: is a link out of the folder"):
        read_looks(str(tmp_path / "results" / "looks.jsonl"))
