"""Preferences between documents, and judgement groups: worked examples, and files that contradict themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof import Qrels, evaluate
from rankproof._align import engine, reference
from rankproof._align.judged_documents import judge_by_code, with_codes
from rankproof._align.preferences import judge_preferences
from rankproof._data.validation import ReadOptions
from rankproof._formats.trec import PreferenceRow
from rankproof.errors import InputError, UsageError
from rankproof.measures import parse_measure
from rankproof.measures._groups import grouped_hits
from rankproof.measures._preferences import _areas, _areas_of_levels
from support.qrels_and_runs import Grades, Scores, aligned, qrels_of, ranked, runs


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def values(rows: str, docs: str, measures: str, *, form: str = "prefs") -> list[float]:
    """The values of the measures for one query, whose preferences are the rows; query and group come before each row."""
    Path("prefs").write_text("".join(f"q {row.strip()}\n" for row in rows.strip().splitlines()))
    found = evaluate("prefs", {"q": ranked(docs.split())}, measures, qrels_format=form)
    return [one.value for one in found.systems[0].measures.values()]


def test_a_document_is_relevant_if_a_judge_has_it_above_level_0() -> None:
    levels = {"g1": {"a": 0.0, "b": 0.5, "c": 0.0, "d": 2.0}, "g2": {"a": 0.0, "c": 1.0, "d": 0.0}}
    rows = [PreferenceRow("q", group, "0", doc, level, 1) for group, docs in levels.items() for doc, level in docs.items()]
    judged = judge_preferences([*rows, PreferenceRow("p", "g1", "0", "a", 0.0, 9)], "prefs")
    assert judged.documents is not None
    assert dict(zip(judged.documents.ids, judged.documents.grades.tolist(), strict=True)) == {"d": 1, "c": 1, "b": 1, "a": 0}
    assert (judged.queries, judged.offsets.tolist(), judged.grades.tolist()) == (("q", "p"), [0, 4, 5], [1, 1, 1, 0, 0])
    assert judged.preferences is not None
    assert [[group.levels.tolist() for group in groups] for groups in judged.preferences] == [
        [[0.0, 0.5, 0.0, 2.0], [0.0, 1.0, 0.0]],
        [[0.0]],
    ]
    assert judged.preferences[0][1].codes.tolist() == [3, 1, 0]


LEVELS = "\n".join(f"g s {doc} {level}" for doc, level in {"a": 3, "b": 2, "c": 0, "d": 6, "e": 0, "f": 2}.items())


def test_levels_give_a_preference_for_each_pair_that_differs(folder: Path) -> None:
    # d is preferred to 5 documents, a to 4, b and f to 2 each.
    assert values(LEVELS, "d a b f c e", "NumPrefs,NumPrefsFul,PrefsFul") == [13, 13, 1]
    # Not retrieved: b, c, e, f. Fulfilled are 5 of d and 4 of a, as documents that are not retrieved are below.
    assert values(LEVELS, "d x a", "NumPrefsFul,NumPrefsFul(of='both'),PrefsFul(of='both')") == [9, 1, 1]
    # d over a is not fulfilled, and the pairs of b, f with c, e are not known.
    found = values(LEVELS, "a d", "PrefsFul,PrefsFul(of='both'),PrefsFul(of='either')")
    assert found == pytest.approx([8 / 13, 0, 8 / 9])


PARTIAL = """g one a 3
g one b 2
g one c 1
g two b 5
g two d 4"""


def test_preferences_of_two_subgroups_follow_from_each_other(folder: Path) -> None:
    # a > b > c and b > d, hence a > d; nothing is known of c and d.
    assert values(PARTIAL, "a b c d", "NumPrefs,NumPrefsFul") == [5, 5]
    assert values(PARTIAL, "b a c d", "NumPrefsFul") == [4]
    assert values(PARTIAL, "d a", "NumPrefsFul,NumPrefsFul(of='both')") == [2, 0]


TWO_JUDGES = """one s a 1
one s b 0
two s a 0
two s b 1
two s c 0"""


def test_judges_may_disagree_and_pairs_or_groups_count_the_same(folder: Path) -> None:
    # Judge one: a > b. Judge two: b > a, b > c. The ranking has a, b, c.
    found = values(TWO_JUDGES, "a b c", "PrefsFul,PrefsFul(mean='pair'),PrefsFul(mean='group')")
    assert found == pytest.approx([2 / 3, (1 / 2 + 1) / 2, (1 + 1 / 2) / 2])


def test_non_relevant_documents_can_be_limited_to_the_number_of_relevant_ones(folder: Path) -> None:
    # One of three relevant documents is retrieved above the only non-relevant one: 3 preferences, and 2 x 3 filled up.
    few = "g s a 1\ng s b 1\ng s c 1\ng s x 0"
    assert values(few, "a x", "PrefsFul(mean='group',nonrel='R')") == pytest.approx([(1 + 2) / (3 + 6)])


def test_tied_documents_are_in_ascending_order_for_preferences_alone(folder: Path) -> None:
    Path("prefs").write_text("q g s a 1\nq g s b 0\n")
    tied = {"q": {"a": 1.0, "b": 1.0}}
    assert evaluate("prefs", tied, "PrefsFul", qrels_format="prefs").value("PrefsFul") == 1
    assert evaluate({"q": {"a": 1, "b": 0}}, tied, "RR").value("RR") == 0.5


def test_grades_are_preferences_of_one_judge() -> None:
    hits = aligned({"q": {"a": 2, "b": 1, "c": 0, "spam": -1}}, {"q": ranked(["b", "a", "x"])})
    assert [parse_measure(name).values(hits)[0] for name in ("NumPrefs", "NumPrefsFul", "PrefsFul(of='both')")] == [3, 2, 0]


def test_grades_for_several_judges_are_groups() -> None:
    qrels = Qrels.from_subtopics({"q": {"ann": {"a": 1, "b": 0}, "bob": {"a": 0, "b": 1, "c": 1}}})
    found = evaluate(qrels, {"q": ranked(["a", "b", "x"])}, "map_avgjg,P_avgjg@2,Rprec_mult_avgjg@1,PrefsFul,AP").means["run"]
    # ann: a is relevant, AP 1. bob: b and c are, b at rank 2: AP 1/4.
    assert found["map_avgjg"] == pytest.approx((1 + 1 / 4) / 2)
    assert found["P_avgjg@2"] == pytest.approx(1 / 2)
    assert found["Rprec_mult_avgjg@1"] == pytest.approx((1 + 1 / 2) / 2)
    # ann's a > b is fulfilled; of bob's b > a and c > a none is.
    assert found["PrefsFul"] == pytest.approx(1 / 3)
    assert found["AP"] == pytest.approx((1 + 1) / 3)


def test_unjudged_documents_are_removed_for_each_judge() -> None:
    qrels = Qrels.from_subtopics({"q": {"ann": {"a": 1, "b": 0}, "bob": {"c": 1}}})
    run = {"q": ranked(["x", "b", "c", "a"])}
    assert evaluate(qrels, run, "map_avgjg", judged_only=True).value("map_avgjg") == pytest.approx((1 / 2 + 1) / 2)


def test_one_judge_is_the_ordinary_measure() -> None:
    hits = aligned({"q": {"a": 1, "b": 2, "c": 0}}, {"q": ranked(["c", "a", "x"])})
    for ours, plain in (("map_avgjg", "AP"), ("P_avgjg@2", "P@2"), ("Rprec_mult_avgjg@1.5", "Rprec_mult@1.5")):
        assert parse_measure(ours).values(hits) == parse_measure(plain).values(hits)


REFUSED = {
    "g s a 1 x": "prefs:1: 6 columns where preferences have 5 (query group subgroup doc level); fix the line,",
    "g s a -1": 'prefs:1: level "-1" is not a number of at least 0; write levels like 2 or 0.5',
    "g s a inf": 'prefs:1: level "inf" is not a number of at least 0',
    "g s a 1\ng s a 2": "prefs:2: document a has the levels 1 and 2 in one group of query q; give it one level",
    "g s a 0\ng t a 2": "prefs:2: document a has the levels 0 and 2 in one group of query q;",
    "g s a 2\ng s b 1\ng t a 1\ng t b 2": "prefs:1: the preferences of group g of query q contradict each other at document a;",
}


@pytest.mark.parametrize("rows", REFUSED)
def test_a_file_that_contradicts_itself_is_refused(folder: Path, rows: str) -> None:
    with pytest.raises(InputError) as caught:
        values(rows, "a b", "PrefsFul")
    assert str(caught.value).startswith(REFUSED[rows])


def test_measures_of_grades_are_refused_for_preferences(folder: Path) -> None:
    with pytest.raises(UsageError, match="nDCG@10 needs grades, and prefs has preferences; name measures of preferences"):
        values("g s a 1", "a", "PrefsFul,nDCG@10")
    with pytest.raises(UsageError, match="nonrel='R' needs mean='group'"):
        parse_measure("PrefsFul(nonrel='R')")


def test_levels_without_subgroups_have_four_columns(folder: Path) -> None:
    assert values("g a 1.5\ng b 0.5", "b a", "NumPrefs,NumPrefsFul", form="qrels_prefs") == [1, 0]


@given(levels=st.lists(st.integers(0, 3), min_size=1, max_size=12), first=st.integers(0, 12))
def test_counting_by_level_equals_counting_every_pair(levels: list[int], first: int) -> None:
    values = np.array(levels, dtype=np.float64)
    found = min(first, len(levels))
    assert _areas_of_levels(values, found) == _areas(values[:, None] > values[None, :], found)


@given(
    judges=st.lists(st.lists(st.integers(0, 2), min_size=5, max_size=5), min_size=1, max_size=3), docs=st.permutations("abcxy")
)
def test_more_judges_who_agree_change_no_share(judges: list[list[int]], docs: list[str]) -> None:
    one = {str(number): dict(zip("abcde", levels, strict=True)) for number, levels in enumerate(judges)}
    twice = one | {f"{name} again": levels for name, levels in one.items()}
    measures = ["PrefsFul", "PrefsFul(mean='pair')", "PrefsFul(mean='group',of='either')", "map_avgjg"]
    first, second = (evaluate(Qrels.from_subtopics({"q": each}), {"q": ranked(docs)}, measures) for each in (one, twice))
    assert first.means["run"] == pytest.approx(second.means["run"])


@given(qrels=qrels_of(), run=runs())
def test_the_codes_of_documents_change_no_preference(qrels: Grades, run: Scores) -> None:
    judged = judge_by_code(reference.judge_qrels, Qrels.from_dict(qrels), None)
    coded = with_codes(reference.align_dict(judged, run, "run", ReadOptions()))
    for name in ("NumPrefs", "NumPrefsFul", "NumPrefsFul(of='both')", "PrefsFul(of='either')"):
        measure = parse_measure(name)
        assert measure.values(coded).tolist() == measure.values(aligned(qrels, run)).tolist(), name


def test_the_grades_of_a_judgement_group_are_the_highest_first() -> None:
    grades = {"q1": {"ann": {"a": 0, "b": 2, "c": 1}, "bob": {"a": 3}}, "q2": {"ann": {"d": 1, "e": 2}}}
    qrels = Qrels.from_subtopics(grades)
    hits = engine.align_dict(engine.judge_qrels(qrels), {"q1": ranked(["a", "b", "c"])}, "run", ReadOptions())
    found, owners = grouped_hits(hits)
    assert owners.tolist() == [0, 0, 1]
    assert (found.judged.grades.tolist(), found.judged.offsets.tolist()) == ([2, 1, 0, 3, 2, 1], [0, 3, 4, 6])
    assert (found.grades.tolist(), found.ranks.tolist(), found.offsets.tolist()) == ([0, 2, 1, 3], [1, 2, 3, 1], [0, 3, 4, 4])
