"""Two results before and after: the values of compare, the laws of a change, and documents that moved."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import rankproof
from rankproof._analysis.changes.changed_queries import QueryChange, changed_queries, reordered_queries
from rankproof._analysis.changes.changed_settings import experiment_diff, settings_table
from rankproof._analysis.changes.changes import Changes, change_sentences, change_table, compare_before_after, order_note
from rankproof._analysis.compare.comparison import Comparison
from rankproof._analysis.compare.pairs import swapped
from rankproof._cli.main import main
from rankproof._results.decision_settings import DecisionSettings
from rankproof._results.experiment_result import ExperimentResult
from rankproof.errors import UsageError
from support.answering_results import answering_results
from support.before_after import SKILLS_AFTER, before_after, ranked_results, without_judgements
from support.claim_results import claim_results
from support.decision_folders import FOLDERS, made_folder

FAST = 8


def compared(before: ExperimentResult, after: ExperimentResult) -> Comparison:
    return rankproof.compare({"before": before, "after": after})


@pytest.fixture(scope="module")
def pair() -> tuple[ExperimentResult, ExperimentResult]:
    return before_after()


@pytest.fixture(scope="module")
def changes(pair: tuple[ExperimentResult, ExperimentResult]) -> Changes:
    return compare_before_after(*pair)


def test_the_decision_and_the_values_are_those_of_compare(
    changes: Changes, pair: tuple[ExperimentResult, ExperimentResult]
) -> None:
    expected = compared(*pair)
    assert changes.comparison is not None
    assert changes.comparison.decision.sentences == expected.decision.sentences
    assert changes.comparison.decision.to_dict() == expected.decision.to_dict()
    assert changes.comparison.values == expected.values
    for one in changes.matched:
        found = changes.pair(one)
        (same,) = [
            each if each.system == one.after else each.swapped()
            for each in expected.pairs
            if each.measure == expected.primary and {each.system, each.other} == {one.after, one.before}
        ]
        assert found is not None
        tested = ("value", "other_value", "difference", "ci", "p", "wins", "ties", "losses", "n")
        assert [getattr(found, name) for name in tested] == [getattr(same, name) for name in tested]


def test_times_of_two_runs_are_not_compared(changes: Changes, pair: tuple[ExperimentResult, ExperimentResult]) -> None:
    assert all(run.times for one in pair for run in one.system_runs)
    found, alone = changes.comparison, rankproof.compare(pair[1])
    assert found is not None
    assert (alone.decision.cost_unit, found.decision.cost_unit) == ("ms", None)
    assert not any("faster" in sentence or " ms" in sentence for sentence in found.decision.sentences)
    assert "latency is not comparable: before and after were timed in different runs" in " ".join(found.notes)
    assert not [column.name for column in change_table(changes).columns if "ms" in column.name.split()]
    given = compare_before_after(*pair, costs=dict.fromkeys(changes.inputs.systems, 1.0)).comparison
    assert given is not None
    assert given.decision.cost_unit == "given"
    assert "not comparable" not in " ".join(given.notes)


def test_results_that_are_newer_than_those_after_them_have_a_note(pair: tuple[ExperimentResult, ExperimentResult]) -> None:
    old, new = (
        replace(one, provenance={**one.provenance, "created": f"2026-0{month}-02T03:04:05Z"})
        for one, month in zip(pair, (1, 2), strict=True)
    )
    assert order_note(compare_before_after(old, new)) is None
    backwards = compare_before_after(new, old, labels=("week2", "week1"))
    note = "week2 (2026-02-02T03:04) is newer than week1 (2026-01-02T03:04): swap the two to see what changed since"
    assert order_note(backwards) == note
    assert note in change_table(backwards).notes


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if at % FAST == 0 else pytest.mark.slow) for at, name in enumerate(FOLDERS)]
)
def test_results_against_themselves_have_no_change(name: str) -> None:
    results = FOLDERS[name]()
    found = compare_before_after(results, results)
    assert found.comparison is not None
    assert {one.difference for one in found.comparison.pairs} <= {0.0}
    assert all(one.verdict == "same" for one in found.comparison.pairs)
    if {one.system for one in found.comparison.pairs} == {one.after for one in found.matched}:
        assert change_sentences(found)[0].startswith("Nothing changed: ")
    for one in found.matched:
        if found.pair(one) is not None:
            each = changed_queries(found.joined, one.before, one.after, found.comparison.primary)
            assert (each.losses, each.gains, each.lost, each.gained) == ((), (), 0, 0)


def test_swapping_before_and_after_negates_every_difference(
    changes: Changes, pair: tuple[ExperimentResult, ExperimentResult]
) -> None:
    back = compare_before_after(*pair[::-1])
    assert changes.comparison is not None
    for measure in changes.comparison.measures:
        for one, other in zip(changes.matched, back.matched, strict=True):
            here, there = changes.pair(one, measure), back.pair(other, measure)
            assert here is not None
            assert there is not None
            assert (there.difference, there.value, there.other_value) == (-here.difference, here.other_value, here.value)
            assert there.verdict == swapped(here.verdict)
            assert (there.p, there.p_adjusted, there.wins, there.losses) == (here.p, here.p_adjusted, here.losses, here.wins)
            assert (there.ci is None) == (here.ci is None)
            if here.ci is not None and there.ci is not None:
                assert there.ci == pytest.approx((-here.ci[1], -here.ci[0]))
    for one, other in zip(changes.matched, back.matched, strict=True):
        mine = changed_queries(changes.joined, one.before, one.after, "nDCG@10")
        theirs = changed_queries(back.joined, other.before, other.after, "nDCG@10")
        assert (mine.lost, mine.gained, mine.equal) == (theirs.gained, theirs.lost, theirs.equal)
        assert [each.query for each in mine.losses] == [each.query for each in theirs.gains]
        assert [each.difference for each in mine.losses] == [-each.difference for each in theirs.gains]


def test_every_changed_query_has_the_values_of_evaluate(changes: Changes) -> None:
    for one in changes.matched:
        found = changed_queries(changes.joined, one.before, one.after, "nDCG@10", most=100)
        old = changes.before.result.per_query(one.name)["nDCG@10"]
        new = changes.after.result.per_query(one.name)["nDCG@10"]
        assert {each.query for each in (*found.losses, *found.gains)} == {query for query in old if old[query] != new[query]}
        for each in (*found.losses, *found.gains):
            assert (each.before, each.after) == (old[each.query], new[each.query])
            assert each.difference == new[each.query] - old[each.query]
        assert found.lost + found.gained + found.equal == len(old)
        assert [each.difference for each in found.losses] == sorted(each.difference for each in found.losses)


GRADES = {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"a": 1}, "q3": {"b": 1}}
BEFORE = {"s": {"q1": ["x", "a", "b", "c"], "q2": ["a", "x"], "q3": ["x", "y", "b"]}}
AFTER = {"s": {"q1": ["a", "x", "c", "z"], "q2": ["x", "y", "z", "a"], "q3": ["x", "y", "b"]}}
"""RR: q1 from 1/2 to 1, q2 from 1 to 1/4, q3 stays 1/3; the mean falls from 11/18 to 19/36."""


def moves(one: QueryChange) -> list[tuple[str, str, int | None, int | None, int | None]]:
    return [(move.doc, move.kind, move.before, move.after, move.grade) for move in one.moves]


def test_the_worked_example_by_hand() -> None:
    found = compare_before_after(ranked_results(GRADES, BEFORE, ["RR"]), ranked_results(GRADES, AFTER, ["RR"]))
    (system,) = found.matched
    tested = found.pair(system)
    assert tested is not None
    assert tested.other_value == pytest.approx(11 / 18)
    assert tested.value == pytest.approx(19 / 36)
    assert tested.difference == pytest.approx(-3 / 36)
    assert (tested.wins, tested.ties, tested.losses, tested.n) == (1, 1, 1, 3)
    each = changed_queries(found.joined, system.before, system.after, "RR")
    assert [(one.query, one.before, one.after) for one in each.losses] == [("q2", 1.0, 0.25)]
    assert [(one.query, one.before, one.after) for one in each.gains] == [("q1", 0.5, 1.0)]
    assert each.equal == 1
    assert moves(each.gains[0]) == [
        ("a", "up", 2, 1, 2),
        ("b", "left", 3, None, 1),
        ("x", "down", 1, 2, None),
        ("c", "up", 4, 3, 0),
        ("z", "entered", None, 4, None),
    ]
    assert moves(each.losses[0])[0] == ("a", "down", 1, 4, 1)


def test_a_document_below_the_top_has_left_it_and_keeps_its_rank() -> None:
    docs = [f"d{at:02}" for at in range(12)]
    grades = {"q1": {"d00": 1}, "q2": {"d00": 1}}
    before = ranked_results(grades, {"s": {"q1": docs, "q2": docs}}, ["nDCG@10"])
    after = ranked_results(grades, {"s": {"q1": [*docs[1:], "d00"], "q2": docs}}, ["nDCG@10"])
    found = compare_before_after(before, after)
    (lost,) = changed_queries(found.joined, "before/s", "after/s", "nDCG@10").losses
    assert moves(lost)[0] == ("d00", "left", 1, 12, 1)
    assert ("d10", "entered", 11, 10, None) in moves(lost)


def test_the_summary_names_what_is_better_and_what_is_the_same(changes: Changes) -> None:
    first, *others = change_sentences(changes)
    assert first == (
        "After is better than before in nDCG@10 for hybrid, and worse for dense; bm25 has the same value on every query"
        " (n = 60 queries)."
    )
    assert len(others) == len(changes.matched) == 3


def test_the_table_has_every_system_of_both(changes: Changes) -> None:
    rows = {row["system"]: row for row in change_table(changes).records()}
    assert list(rows) == ["bm25", "dense", "hybrid", "old", "new"]
    assert (rows["old"]["verdict"], rows["new"]["verdict"]) == ("only before", "only after")
    assert rows["old"]["after"] is rows["new"]["before"] is rows["new"]["difference"] is None
    for name in ("bm25", "dense", "hybrid"):
        means = [one.result.means[name]["nDCG@10"] for one in (changes.before, changes.after)]
        assert [rows[name]["before"], rows[name]["after"]] == means
        assert rows[name]["difference"] == pytest.approx(means[1] - means[0])


def test_the_settings_that_changed_are_listed_with_both_values(changes: Changes) -> None:
    rows = settings_table(changes).rows
    assert ("experiment", "systems.hybrid.k", "60", "10") in rows
    assert ("run", "rankproof", "1.0", "1.1") in rows
    assert len(rows) == 2
    assert experiment_diff(changes).splitlines()[-2:] == ["-k = 60", "+k = 10"]


def test_equal_settings_are_said_to_be_equal(pair: tuple[ExperimentResult, ExperimentResult]) -> None:
    found = settings_table(compare_before_after(pair[0], pair[0]))
    assert (found.rows, found.sentences) == ((), ("The experiment file, versions and facts are the same.",))


def test_without_an_experiment_file_the_stages_are_compared(pair: tuple[ExperimentResult, ExperimentResult]) -> None:
    before, after = (replace(one, experiment="") for one in pair)
    runs = tuple(replace(run, stage={"kind": "BM25", "k1": 0.9}) for run in after.system_runs)
    rows = settings_table(compare_before_after(before, replace(after, system_runs=runs))).rows
    assert ("system", "bm25.k1", "1.5", "0.9") in rows


Change = Callable[[ExperimentResult], ExperimentResult]
REFUSED: dict[str, tuple[Change, str]] = {
    "other documents": (lambda one: replace(one, fingerprint="a" * 64), "before and after are about different data"),
    "other judgements": (lambda one: made_folder(SKILLS_AFTER, n=60, seed=3), "different data (fingerprints of judgements"),
    "another rel": (lambda one: replace(one, rel=2), "before and after were evaluated with"),
    "judged only": (lambda one: replace(one, judged_only=True), "(judged documents only), before without it"),
    "no judgements": (without_judgements, "have no judgements"),
    "no common system": (
        lambda one: made_folder({"x": 0.3, "y": 0.4}),
        "the two results have no system of the same name (bm25, dense, hybrid, old and x, y); give the systems the same names",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_results_that_cannot_be_compared_are_refused(name: str, pair: tuple[ExperimentResult, ExperimentResult]) -> None:
    change, said = REFUSED[name]
    with pytest.raises(UsageError) as caught:
        compare_before_after(pair[0], change(pair[1]))
    assert said in str(caught.value)


def test_two_equal_names_of_the_results_are_refused(pair: tuple[ExperimentResult, ExperimentResult]) -> None:
    with pytest.raises(UsageError, match="the same name"):
        compare_before_after(*pair, labels=("x", "x"))


def test_one_system_each_matches_whatever_its_name() -> None:
    before, after = made_folder({"prod": 0.3}), made_folder({"new": 1.9})
    found = compare_before_after(before, after)
    assert [(one.name, one.before, one.after) for one in found.matched] == [("prod → new", "prod", "new")]
    assert change_sentences(found)[0].startswith("new is better than prod in nDCG@10: +")


def test_the_names_of_the_two_results_are_in_the_sentences(pair: tuple[ExperimentResult, ExperimentResult]) -> None:
    found = compare_before_after(*pair, labels=("v1", "v2"))
    assert change_sentences(found)[0].startswith("v2 is better than v1 in nDCG@10 for hybrid")
    assert found.comparison is not None
    assert found.comparison.decision.sentences == rankproof.compare({"v1": pair[0], "v2": pair[1]}).decision.sentences


def test_the_settings_of_the_decision_are_those_of_compare(pair: tuple[ExperimentResult, ExperimentResult]) -> None:
    settings = {"primary": "RR@10", "margin": 0.05, "baseline": "before/hybrid"}
    found = compare_before_after(*pair, **settings)  # type: ignore[arg-type]
    expected = rankproof.compare({"before": pair[0], "after": pair[1]}, **settings)  # type: ignore[arg-type]
    assert found.comparison is not None
    assert found.comparison.primary == "RR@10"
    assert found.comparison.decision.sentences == expected.decision.sentences


def test_a_baseline_of_the_experiment_is_that_of_before() -> None:
    before, after = (replace(one, decision_settings=DecisionSettings(baseline="dense")) for one in before_after())
    found = compare_before_after(before, after)
    assert found.comparison is not None
    assert found.comparison.baseline == "before/dense"
    assert found.comparison.decision.sentences == compared(before, after).decision.sentences
    assert len({(one.system, one.other) for one in found.comparison.pairs}) == 3


def test_rankings_without_judgements_have_an_overlap_and_no_winner(pair: tuple[ExperimentResult, ExperimentResult]) -> None:
    before, after = map(without_judgements, pair)
    found = compare_before_after(before, after)
    assert found.main is None
    first, second = change_sentences(found)
    assert first == "The rankings of dense and hybrid changed; bm25 has the same rankings."
    assert second.startswith("Without judgements no system can be called better")
    rows = {row["system"]: row for row in change_table(found).records()}
    assert rows["bm25"]["RBO"] == pytest.approx(1.0)
    assert 0 < float(rows["hybrid"]["RBO"]) < 1  # type: ignore[arg-type]
    each = reordered_queries(found.joined, "before/hybrid", "after/hybrid")
    assert [one.difference for one in each.losses] == sorted(one.difference for one in each.losses)
    assert reordered_queries(found.joined, "before/bm25", "after/bm25").lost == 0
    assert change_sentences(compare_before_after(before, before)) == (
        "Nothing changed: bm25, dense, hybrid and old have the same rankings.",
    )


def test_answers_are_compared_by_their_measures() -> None:
    before, after = answering_results(["wrong"] * 12), answering_results()
    found = compare_before_after(before, after)
    assert found.answers is not None
    assert found.comparison is not None
    assert before.answers is not None
    assert after.answers is not None
    system = next(one for one in found.matched if one.name == "says")
    for measure in found.answers.measures:
        tested = found.pair(system, measure, found.answers)
        assert tested is not None
        old, new = (one.per_query("says")[measure] for one in (before.answers, after.answers))
        failed = after.answers.systems[0].measures[measure].reasons
        queries = {*old, *new, *(query for query, reason in failed.items() if reason == "error")}
        assert tested.n == len(queries)
        apart = math.fsum(new.get(query, 0.0) - old.get(query, 0.0) for query in queries)
        assert tested.difference == pytest.approx(apart / len(queries))


def test_answers_alone_decide_where_there_is_no_ranking() -> None:
    found = compare_before_after(claim_results(), claim_results())
    assert found.comparison is None
    assert found.main is found.answers is not None
    assert change_sentences(found)[0].startswith("Nothing changed: ")
    assert {one.system for one in found.joined.claims} <= {run.name for run in found.joined.system_runs}


def test_times_follow_the_queries_of_both(pair: tuple[ExperimentResult, ExperimentResult]) -> None:
    order = [*range(1, 60), 0]
    after = replace(
        pair[1],
        queries=tuple(pair[1].queries[at] for at in order),
        system_runs=tuple(
            replace(run, times={part: values * 0 + order for part, values in run.times.items()}) for run in pair[1].system_runs
        ),
    )
    found = compare_before_after(pair[0], after)
    assert found.joined.queries == pair[0].queries
    assert found.joined.system_run("after/bm25").times["total"].tolist() == [float(at) for at in range(60)]


def test_a_rise_is_a_loss_where_lower_is_better() -> None:
    after = {"s": {**BEFORE["s"], "q2": ["x", "y"]}}
    before, worse = (ranked_results(GRADES, runs, ["RR", "Unjudged@2"]) for runs in (BEFORE, after))
    found = compare_before_after(before, worse)
    each = changed_queries(found.joined, "before/s", "after/s", "Unjudged@2")
    assert [(one.query, one.before, one.after) for one in each.losses] == [("q2", 0.5, 1.0)]
    assert each.gains == ()


def test_compare_takes_two_results_with_systems_that_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, results in (("before", answering_results(["wrong"] * 12)), ("after", answering_results())):
        rankproof.save_results(results, tmp_path / name)
    assert main(["compare", str(tmp_path / "before"), str(tmp_path / "after"), "-m", "F1(tokens='set')"]) == 0
    assert "after/says" in capsys.readouterr().out
