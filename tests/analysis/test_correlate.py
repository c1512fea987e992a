"""The agreement of rankings and of orders of systems."""

from __future__ import annotations

from pathlib import Path

import pytest

import rankproof as rp
from rankproof._cli.main import main
from rankproof._statistics.rank_correlation import rank_biased_overlap
from rankproof.errors import InputError, UsageError

ONE = {"q1": ["a", "b", "c"], "q2": ["a"]}
OTHER = {"q1": ["b", "a", "d"], "q3": ["x"]}
QRELS = {f"q{at}": {"a": 1, "b": 0} for at in range(4)}


def placed(*first: int) -> dict[str, list[str]]:
    """A run that has the relevant document first on these queries, second on the others."""
    return {f"q{at}": ["a", "b"] if at in first else ["b", "a"] for at in range(4)}


def test_rankings_have_an_overlap_by_query_and_its_mean_over_the_queries_of_either() -> None:
    found = rp.correlate({"one": ONE, "other": OTHER})
    (row,) = found.records()
    first = rank_biased_overlap(ONE["q1"], OTHER["q1"])
    assert (row["system"], row["other"], row["n"]) == ("one", "other", 3)
    assert row["RBO"] == pytest.approx(first / 3)
    assert row["RBO min"] <= row["RBO"] <= row["RBO max"]
    rows = {row["query"]: row for row in found.records("queries")}
    assert rows["q1"]["tau"] == -1
    assert rows["q2"] == {**rows["q2"], "RBO": 0, "RBO max": 1, "tau": None, "shared": 0}
    assert "2 queries are in only one of one and other: RBO 0" in found.notes


def test_equal_runs_agree_whatever_the_order_of_their_rows() -> None:
    runs = {"one": {"q": {"a": 2.0, "b": 1.0}}, "other": {"q": {"b": 5.0, "a": 6.0}}}
    (row,) = rp.correlate(runs).records()
    assert (row["RBO"], row["tau"], row["tau-AP"], row["shared"]) == (1, 1, 1, 1)


def test_depth_and_order_are_those_of_the_read_options() -> None:
    runs = {"one": {"q": {"a": 1.0, "b": 2.0, "c": 3.0}}, "other": {"q": {"a": 1.0, "b": 3.0, "c": 2.0}}}
    (row,) = rp.correlate(runs, lower_is_better=True, depth=1).records()
    assert row["RBO"] == 1


def test_duplicates_are_resolved_as_asked() -> None:
    rows = [("q", "a", 1.0), ("q", "b", 2.0), ("q", "a", 3.0)]
    twice = rp.Run.from_rows([rp.types.RunRow(*row) for row in rows], name="twice")
    runs = {"twice": twice, "once": {"q": {"a": 3.0, "b": 2.0}}}
    with pytest.raises(InputError, match="appears twice"):
        rp.correlate(runs)
    (row,) = rp.correlate(runs, on_duplicate="keep-best", depth=5).records()
    assert row["RBO"] == 1


def test_measures_that_order_systems_alike_have_no_swapped_pair() -> None:
    runs = {"good": placed(0, 1, 2), "fair": placed(0, 1), "weak": placed()}
    found = rp.correlate(QRELS, runs, ["RR", "P@1"])
    (row,) = found.records()
    assert (row["order"], row["other"], row["tau-b"], row["tau-AP"], row["RBO"], row["swapped"]) == ("RR", "P@1", 1, 1, 1, 0)
    assert found.sentences == (
        "RR and P@1 order 3 systems the same way: tau 1.00 (p = 0.3333), tau-AP 1.00; 0 of 3 pairs are swapped.",
    )
    assert len(found.tables) == 1


def test_other_judgements_show_the_pairs_that_they_swap() -> None:
    runs = {"good": placed(0, 1, 2), "fair": placed(0, 1), "weak": placed()}
    reverse = {query: {"a": 0, "b": 1} for query in QRELS}
    found = rp.correlate(QRELS, runs, ["RR"], other_qrels=reverse)
    (row,) = found.records()
    assert (row["tau-b"], row["swapped"]) == (-1, 3)
    assert {(row["system"], row["behind"]) for row in found.records("swaps")} == {
        ("good", "fair"),
        ("good", "weak"),
        ("fair", "weak"),
    }


def test_other_judgements_count_on_the_queries_of_both() -> None:
    runs = {"good": placed(0, 1, 2), "fair": placed(0, 1), "weak": placed()}
    found = rp.correlate(QRELS, runs, ["RR"], other_qrels={"q0": {"a": 1}, "q1": {"a": 1}, "q2": {"a": 1}})
    assert any("1 of 4 queries are left out because the other judgements lack them: n = 3" in note for note in found.notes)
    with pytest.raises(UsageError, match="pass judgements of the same queries"):
        rp.correlate(QRELS, runs, ["RR"], other_qrels={"q9": {"a": 1}})


def test_tied_systems_are_noted() -> None:
    runs = {"good": placed(0, 1), "same": placed(1, 2), "weak": placed()}
    found = rp.correlate(QRELS, runs, ["RR", "P@1"])
    assert "RR: 1 system has the value of another; tau-AP and RBO order them by name" in found.notes


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rp.correlate({"one": ONE}), "there is only one run; pass two runs or more"),
        (lambda: rp.correlate({"a": ONE, "b": OTHER}, persistence=1.0), "persistence is 1.0; choose a number above 0"),
        (lambda: rp.correlate(QRELS, {"a": placed(), "b": placed(1)}, ["RR", "AP"]), "an order of 2 systems has too few pairs"),
        (lambda: rp.correlate(QRELS, {"a": placed()}), "measures is missing"),
        (lambda: rp.correlate(QRELS, {"a": placed(), "b": placed(1), "c": placed(2)}, ["RR"]), "two measures are needed"),
        (lambda: rp.correlate("bm25.run"), "data is not a list of runs"),
        (lambda: rp.correlate({"a": ONE, "b": OTHER}, judged_only=True), "rankings are compared without them"),
    ],
)
def test_what_has_no_agreement_is_refused(call: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        call()  # type: ignore[operator]


def test_the_command_shows_rankings_or_orders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = []
    for name, run in (("good", placed(0, 1, 2)), ("fair", placed(0, 1)), ("weak", placed())):
        names.append(str(tmp_path / f"{name}.run"))
        rp.write_run(rp.Run(run), names[-1])
    qrels = str(tmp_path / "qrels.txt")
    rp.write_qrels(rp.Qrels(QRELS), qrels)
    assert main(["correlate", *names]) == 0
    assert "good and fair: RBO 0.9" in capsys.readouterr().out
    assert main(["correlate", *names, "--format", "csv"]) == 0
    assert capsys.readouterr().out.count("\n") == 1 + 3 * 4
    assert main(["correlate", qrels, *names, "-m", "RR,P@1"]) == 0
    assert "RR and P@1 order 3 systems the same way" in capsys.readouterr().out
    assert main(["correlate", qrels, *names, "-m", "RR", "--other-qrels", qrels]) == 0
    assert "order 3 systems the same way" in capsys.readouterr().out
    assert main(["correlate", qrels, "-m", "RR,P@1"]) == 2
    capsys.readouterr()
    assert main(["correlate", qrels, *names]) == 2
    assert "leave out the judgements, or pass -m MEASURES to order the systems by them" in capsys.readouterr().err
