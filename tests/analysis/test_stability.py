"""Whether a decision stands with fewer queries, other judges and a shallower pool."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import rankproof as rp
from rankproof._cli.main import main
from rankproof._data.qrels import Judgement
from rankproof.errors import UsageError

N = 60
QRELS = {f"q{at:02}": {"rel": 1, "d1": 0, "d2": 0} for at in range(N)}


def run_with(ranks: Any) -> dict[str, list[str]]:
    """A run that has the relevant document at these ranks, of three."""
    docs = {1: ["rel", "d1", "d2"], 2: ["d1", "rel", "d2"], 3: ["d1", "d2", "rel"]}
    return {query: docs[rank] for query, rank in zip(QRELS, ranks, strict=True)}


CLEAR = {"good": run_with([1] * N), "weak": run_with([3] * N), "fair": run_with([2] * N)}
CLOSE = {"one": run_with([1, 3] * (N // 2)), "other": run_with([3, 1] * (N // 2 - 1) + [1, 1])}
FAST: dict[str, Any] = {"splits": 200, "rounds": 5}


def rows_of(found: Any) -> dict[str, dict[str, Any]]:
    return {str(row["check"]): row for row in found.records()}


def test_a_clear_choice_stands_every_check() -> None:
    found = rp.stability(QRELS, CLEAR, primary="RR", **FAST)
    for row in found.records():
        assert (row["stands"], row["best"], row["reversed"]) == (1, 1, 0)
    assert found.sentences == (
        "The choice of good stands: it is within 2.00 pp of the best with half of the queries, 10% of the grades changed,"
        " a pool of the top 10, a pool of the top 20 and a pool of the top 50.",
    )
    assert found.records("winners")[0].keys() >= {"system", "half of the queries"}


def test_a_lead_by_one_query_does_not_stand_with_half_of_the_queries() -> None:
    found = rp.stability(QRELS, CLOSE, primary="RR", margin=0.001, flip=0, pools=(), **FAST)
    (row,) = found.records()
    assert 0.4 < row["stands"] < 0.8
    assert found.sentences[0].startswith(
        "Nothing is decided; the lead of other does not stand with half of the queries (stands in "
    )


def test_the_share_of_halves_by_hand() -> None:
    # One system wins 6 of 10 queries, the other 4: it is behind in (4 * 15 + 1 * 6) / 252 of the halves.
    qrels = {query: QRELS[query] for query in list(QRELS)[:10]}
    six = {"six": [1] * 6 + [2] * 4, "four": [2] * 6 + [1] * 4}
    runs = {name: dict(list(run_with([*ranks, *[1] * (N - 10)]).items())[:10]) for name, ranks in six.items()}
    (row,) = rp.stability(qrels, runs, primary="RR", flip=0, pools=(), splits=20_000).records()
    assert row["best"] == row["stands"] == pytest.approx(1 - 66 / 252, abs=0.01)


def test_halves_are_drawn_without_replacement_and_depend_on_the_seed_alone() -> None:
    first, again = (rp.stability(QRELS, CLOSE, primary="RR", margin=0.001, **FAST) for _ in range(2))
    assert first.records() == again.records()
    other = rp.stability(QRELS, CLOSE, primary="RR", margin=0.001, seed=1, **FAST)
    assert other.records() != first.records()


def test_a_judge_who_prefers_what_the_first_did_not_reverses_the_choice() -> None:
    reverse = {query: {"rel": 0, "d1": 1, "d2": 1} for query in QRELS}
    found = rp.stability(QRELS, CLEAR, primary="P@1", other_qrels=[rp.Qrels(reverse, source="second.txt")], **FAST)
    row = rows_of(found)["judgements of second.txt"]
    assert (row["rounds"], row["stands"], row["best"], row["reversed"]) == (1, 0, 0, 1)
    assert found.sentences[0] == "The choice of good does not stand with judgements of second.txt."
    assert found.sentences[1].startswith("It stands, within 2.00 pp of the best, with half of the queries")


def test_other_judges_count_on_the_queries_that_they_judged() -> None:
    some = {query: QRELS[query] for query in list(QRELS)[:20]}
    found = rp.stability(QRELS, CLEAR, primary="RR", other_qrels=rp.Qrels(some, source="some.txt"), **FAST)
    assert rows_of(found)["judgements of some.txt (20 of 60 queries)"]["stands"] == 1


def test_a_pool_keeps_the_judgements_of_documents_near_the_top_of_any_run() -> None:
    runs = {"deep": run_with([2] * N), "deeper": run_with([3] * N)}
    rows = rows_of(rp.stability(QRELS, runs, primary="RR", pools=(1, 2, 3), **FAST))
    assert [rows[f"a pool of the top {depth}"]["judgements kept"] for depth in (1, 2, 3)] == [1 / 3, 1, 1]
    # In a pool of depth 1 no relevant document is judged, so no system is ahead.
    assert rows["a pool of the top 1"]["stands"] == 1
    assert rows["a pool of the top 1"]["reversed"] == 0


def test_all_grades_changed_reverse_a_binary_choice() -> None:
    runs = {"good": run_with([1] * N), "weak": run_with([3] * N)}
    rows = rows_of(rp.stability(QRELS, runs, primary="P@1", flip=1.0, **FAST))
    assert rows["100% of the grades changed"]["reversed"] == 1


def test_grades_that_are_all_equal_change_to_0() -> None:
    qrels = {query: {"rel": 1} for query in QRELS}
    rows = rows_of(rp.stability(qrels, CLEAR, primary="RR", flip=1.0, **FAST))
    assert rows["100% of the grades changed"] == {**rows["100% of the grades changed"], "stands": 1, "reversed": 0}


def test_grades_that_are_all_0_change_to_1() -> None:
    qrels = {query: {"rel": 0, "d1": 0, "d2": 0} for query in QRELS}
    runs = {"short": {query: ["d1"] for query in QRELS}, "long": CLEAR["good"]}
    rows = rows_of(rp.stability(qrels, runs, primary="Utility", flip=1.0, **FAST))
    assert [rows[name]["best"] for name in ("half of the queries", "100% of the grades changed")] == [1, 0]


@pytest.mark.parametrize("primary", ["StRecall@1", "map_avgjg"])
def test_changed_grades_and_pools_keep_subtopics(primary: str) -> None:
    # Each subtopic has its own relevant document: without subtopics, a ranking with either is perfect at rank 1.
    subtopics = {query: {"s1": {"rel": 1, "d1": 0}, "s2": {"d1": 1}, "s3": {"d1": 1}} for query in QRELS}
    qrels = rp.Qrels.from_subtopics(subtopics)
    runs = {"two": run_with([2] * N), "one": run_with([1] * N)}
    found = rows_of(rp.stability(qrels, runs, primary=primary, flip=0.001, pools=(3,), **FAST))
    assert [row["best"] for row in found.values()] == [1, 1, 1]
    assert found["a pool of the top 3"]["judgements kept"] == 1


def test_systems_with_the_same_values_are_refused() -> None:
    runs = {"one": CLEAR["good"], "same": CLEAR["good"]}
    with pytest.raises(UsageError, match="RR is the same for all systems on every query, so that nothing is chosen"):
        rp.stability(QRELS, runs, primary="RR")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"pools": 5}, "pools is an int; pass a list of depths"),
        ({"splits": 0}, "splits is 0"),
        ({"flip": 1.5}, "flip is 1.5"),
        ({"rounds": 0}, "rounds is 0"),
        ({"pools": (0,)}, "pools is 0"),
        ({"weights": dict.fromkeys(QRELS, 2.0)}, "stability has no weights of queries; leave them out; of a folder"),
        ({"queries": list(QRELS)[:9]}, "9 common queries are too few to split; compare the systems on at least 10"),
    ],
)
def test_what_cannot_be_checked_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        rp.stability(QRELS, CLEAR, primary="RR", **settings)


def test_one_system_is_refused() -> None:
    with pytest.raises(UsageError, match="fewer than two systems"):
        rp.stability(QRELS, {"good": CLEAR["good"]}, primary="RR")


def test_the_command_says_the_answer_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = []
    for name, run in CLEAR.items():
        names.append(str(tmp_path / f"{name}.run"))
        rp.write_run(rp.Run(run), names[-1])
    qrels = str(tmp_path / "qrels.txt")
    rp.write_qrels(rp.Qrels(QRELS), qrels)
    asked = ["stability", qrels, *names, "--primary", "RR", "--splits", "50", "--rounds", "2", "--other-qrels", qrels]
    assert main(asked) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[2].startswith("The choice of good stands")
    assert "How often" not in out
    assert main([*asked, "--details"]) == 0
    assert "How often each system is the best" in capsys.readouterr().out


def test_values_of_a_machine_judge_name_the_judge_and_no_choice() -> None:
    rows = [Judgement(f"q{at}", "a", 1, judge_label="llm:small:0123abcd") for at in range(40)]
    runs = {"good": {row.query: {"a": 1.0} for row in rows}, "bad": {row.query: {"b": 1.0} for row in rows}}
    found = rp.stability(rp.Qrels(rows), runs, **FAST)
    assert found.sentences[0].startswith("By small (not checked by people), the lead of good stands: it is within")
    assert str(found).startswith("Stability: Stability of the lead of good")
