"""Weights of queries: from files and mappings, through means, intervals, tests, decisions and results folders."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankproof as rp
from rankproof._cli.main import main
from rankproof._data.dataset import Query
from rankproof._formats.texts import read_queries, read_weights
from rankproof._io.open import open_source
from rankproof.errors import InputError, UsageError
from rankproof.stages import BM25
from support.compared_systems import comparison_tables

QRELS = {f"q{at}": {"d1": 1} for at in range(40)}
ONE = {f"q{at}": {"d1": 2.0, "d0": 1.0} if at % 3 else {"d0": 2.0, "d1": 1.0} for at in range(40)}
TWO = {f"q{at}": {"d1": 2.0, "d0": 1.0} if at % 4 else {"d0": 2.0, "d9": 1.5, "d1": 1.0} for at in range(40)}
TRAFFIC = {f"q{at}": float(1 + at % 7) for at in range(40)}
RUNS = {"one": ONE, "two": TWO}


def test_a_weighted_mean_is_the_sum_of_weighted_values_over_the_sum_of_weights() -> None:
    found = rp.evaluate(QRELS, RUNS, ["RR"], weights=TRAFFIC).systems[0].measures["RR"]
    values = [found.per_query[query] for query in TRAFFIC]
    assert found.value == pytest.approx(np.average(values, weights=list(TRAFFIC.values())), abs=1e-15)


def test_a_weight_of_two_has_the_mean_of_a_query_that_occurs_twice() -> None:
    weights = dict.fromkeys(QRELS, 1.0) | {"q0": 2.0}
    twice = (QRELS | {"again": QRELS["q0"]}, {"one": ONE | {"again": ONE["q0"]}})
    assert rp.evaluate(QRELS, {"one": ONE}, ["RR"], weights=weights).value("RR") == pytest.approx(
        rp.evaluate(*twice, ["RR"]).value("RR"), abs=1e-15
    )


def test_a_weight_of_two_is_not_a_second_query_for_intervals() -> None:
    """Two queries of the same weight are more evidence than one of twice the weight: n stays the number of queries."""
    from rankproof._analysis.values import mean_intervals

    weights = dict.fromkeys(QRELS, 1.0) | {f"q{at}": 2.0 for at in range(20)}
    twice = QRELS | {f"again{at}": QRELS[f"q{at}"] for at in range(20)}
    run = ONE | {f"again{at}": ONE[f"q{at}"] for at in range(20)}
    weighted = rp.evaluate(QRELS, {"one": ONE}, ["RR"], weights=weights).systems[0].measures
    repeated = rp.evaluate(twice, {"one": run}, ["RR"]).systems[0].measures
    (low, high), (narrow_low, narrow_high) = mean_intervals(weighted)["RR"] or (0, 0), mean_intervals(repeated)["RR"] or (0, 0)
    assert low < narrow_low < narrow_high < high
    assert weighted["RR"].queries == 40


def test_equal_weights_change_no_number_of_a_comparison_but_rounding() -> None:
    plain, weighted = (rp.evaluate(QRELS, RUNS, ["RR"], weights=weights) for weights in (None, dict.fromkeys(QRELS, 3.0)))
    one, other = (_details(result) for result in (plain, weighted))
    for name in ("value", "other value", "difference", "95% CI", "p randomisation", "p t-test", "d", "wins", "ties", "losses"):
        assert other[name] == pytest.approx(one[name], abs=1e-12), name


def test_the_tests_of_a_comparison_are_of_the_weighted_difference() -> None:
    """All weight on the queries where one is worse."""
    weights = {query: 100.0 if at % 3 == 0 and at % 4 else 1.0 for at, query in enumerate(QRELS)}
    row = _details(rp.evaluate(QRELS, RUNS, ["RR"], weights=weights))
    assert (row["system"], row["other"]) == ("two", "one")
    assert row["p randomisation"] < 0.01
    assert row["95% CI"][0] > 0
    assert _details(rp.evaluate(QRELS, RUNS, ["RR"]))["p randomisation"] > 0.05


def _details(result: rp.Result) -> dict[str, Any]:

    return dict(comparison_tables(result, samples=5_000)[-1].records()[0])


def test_sums_have_no_weights_and_geometric_means_have() -> None:
    found = rp.evaluate(QRELS, {"one": ONE}, ["NumRet", "GMAP"], weights=TRAFFIC)
    logs = [math.log(value) for value in found.systems[0].measures["GMAP"].values.tolist()]
    assert found.value("NumRet") == 80
    assert found.value("GMAP") == pytest.approx(math.exp(np.average(logs, weights=list(TRAFFIC.values()))))


def test_a_dataset_with_weights_needs_no_argument() -> None:
    dataset = _dataset()
    assert rp.evaluate(dataset, {"one": ONE}, ["RR"]).value("RR") == rp.evaluate(
        QRELS, {"one": ONE}, ["RR"], weights=TRAFFIC
    ).value("RR")


def _dataset() -> rp.Dataset:
    from rankproof._data.corpus import Document

    queries = rp.Queries([Query(query, f"word{at % 5}", fields={"weight": TRAFFIC[query]}) for at, query in enumerate(QRELS)])
    corpus = rp.Corpus([Document(f"d{at}", f"word{at} word{at + 1}") for at in range(10)])
    return rp.Dataset("traffic", corpus, queries, rp.Qrels(QRELS))


def test_a_results_folder_keeps_the_weights(tmp_path: Path) -> None:
    systems = {"bm25": BM25(), "flat": BM25(b=0.0)}
    found = rp.run(rp.Experiment(name="traffic", dataset=_dataset(), systems=systems, measures=["RR"]))
    rp.save_results(found, tmp_path / "results")
    loaded = rp.load_results(tmp_path / "results")
    one, other = (each.result.systems[0].measures["RR"] for each in (found, loaded))
    assert one.value == other.value != pytest.approx(one.values.mean(), abs=1e-6)
    assert other.weights is not None
    assert other.weights.tolist() == [TRAFFIC[query] for query in other.query_ids]
    assert loaded.result.weights == TRAFFIC


def test_the_decision_is_by_weighted_means() -> None:
    from rankproof._analysis.compare.comparison import compare_inputs
    from rankproof._analysis.inputs import input_from_runs
    from rankproof._evaluation.options import EvaluateOptions

    weights = {query: 50.0 if at % 3 == 0 and at % 4 else 1.0 for at, query in enumerate(QRELS)}
    choices = [
        compare_inputs(input_from_runs(QRELS, RUNS, ["RR"], options=EvaluateOptions(weights=each))).decision.leader
        for each in (weights, {query: 51.0 - weight for query, weight in weights.items()})
    ]
    assert choices == ["two", "one"]


def test_the_command_line_reads_weights(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = _files(tmp_path)
    weights = tmp_path / "weights.tsv"
    weights.write_text("query\tweight\n" + "".join(f"{query}\t{weight}\n" for query, weight in TRAFFIC.items()))
    assert main(["eval", *paths, "-m", "RR", "--format", "json", "--weights", str(weights)]) == 0
    (system,) = json.loads(capsys.readouterr().out)["systems"]
    assert system["measures"]["RR"]["value"] == rp.evaluate(QRELS, {"one": ONE}, ["RR"], weights=TRAFFIC).value("RR")
    assert "worth" in json.dumps(system["notes"])


def _files(folder: Path) -> tuple[str, str]:
    qrels, run = folder / "qrels.txt", folder / "one.run"
    rp.write_qrels(rp.Qrels(QRELS), qrels)
    rp.write_run(rp.Run(ONE, name="one"), run)
    return str(qrels), str(run)


@pytest.mark.parametrize("separator", ["\t", ",", " ", ", "])
def test_a_file_of_weights_has_tabs_commas_or_spaces_and_may_have_a_header(tmp_path: Path, separator: str) -> None:
    for header in ("", f"query{separator}weight\n", "# traffic\n\n"):
        path = tmp_path / "weights.txt"
        path.write_text(f"{header}q1{separator}2\nq2{separator}0.5\n")
        assert read_weights(open_source(path)) == {"q1": 2.0, "q2": 0.5}


def test_weights_are_read_from_queries(tmp_path: Path) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text('{"_id": "q1", "text": "a", "weight": 2}\n{"_id": "q2", "text": "b", "weight": 0.5}\n')
    assert read_weights(open_source(path)) == {"q1": 2.0, "q2": 0.5}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q1\t1\nq2\t0\n", "weights.txt:2: weight 0.0 of query q2 is not a number above 0; "),
        ("q1\t-1\n", "weights.txt:1: weight -1.0 of query q1 is not a number above 0; "),
        ("q1\tnan\n", "weights.txt:1: weight nan of query q1 is not a number above 0; "),
        ("q1\tinf\n", "weights.txt:1: weight inf of query q1 is not a number above 0; "),
        ("q1\t1e308\n", "weights.txt:1: weight 1e+308 of query q1 is not from 1e-100 to 1e+100; "),
        ("q1\t1\nq2\t5e-324\n", "weights.txt:2: weight 5e-324 of query q2 is not from 1e-100 to 1e+100; "),
        ("q1\t1\nq2\tmany\n", "weights.txt:2: weight 'many' of query q2 is not a number above 0; "),
        ("q1\t1\nq2\n", "weights.txt:2: 1 columns where weights have 2 (query weight); "),
        ("q1\t1\t3\n", "weights.txt:1: 3 columns where weights have 2 (query weight); "),
        ("q1\t1\nq1\t2\n", "weights.txt:2: query q1 occurs twice (first at an earlier line); "),
        ("\n# none\n", "weights.txt: no rows, only blank lines or comments; "),
        (
            '{"_id": "q1", "text": "a", "weight": 2}\n{"_id": "q2", "text": "b"}\n',
            "weights.txt:2: query q2 (b) has no weight, but ",
        ),
        ('{"_id": "q1", "text": "a", "weight": "2"}\n', "weights.txt:1: weight '2' of query q1 is not a number above 0; "),
        ('{"_id": "q1", "text": "a", "weight": null}\n', "weights.txt:1: weight None of query q1 is not a number above 0; "),
        ('{"_id": "q1", "text": "a"}\n', "weights.txt:1: query q1 has no weight, nor has any other; "),
    ],
)
def test_a_wrong_weight_is_refused_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("weights.txt").write_text(text)
    with pytest.raises(InputError) as caught:
        read_weights(open_source("weights.txt"))
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("weight", [0, -1.0, math.nan, math.inf, "2", None, True])
def test_a_wrong_weight_in_a_mapping_is_refused(weight: Any) -> None:
    with pytest.raises(InputError, match=r"weights: weight .* of query q0 is not a number above 0"):
        rp.evaluate(QRELS, {"one": ONE}, ["RR"], weights=TRAFFIC | {"q0": weight})


@pytest.mark.parametrize("extremes", [(1e100, 1e100), (1e-100, 1e-100), (1e-100, 1e100), (1.0, 1e100), (1.0, 1e-100)])
def test_the_smallest_and_largest_weights_are_compared_without_a_warning(extremes: tuple[float, float]) -> None:
    weights = {query: extremes[at % 2] for at, query in enumerate(QRELS)}
    found = rp.compare(QRELS, RUNS, ["RR"], weights=weights, samples=1_000)
    assert all(0 <= values["RR"] <= 1 for values in found.values.values())


def test_queries_without_weights_are_refused_as_weights() -> None:
    queries = rp.Queries([Query(query, "a") for query in QRELS])
    with pytest.raises(UsageError, match="weights are queries without a field weight; give each a weight, or leave weights out"):
        rp.evaluate(QRELS, {"one": ONE}, ["RR"], weights=queries)


def test_every_function_takes_weights() -> None:
    found = rp.compare(QRELS, RUNS, ["RR"], weights=TRAFFIC, samples=1_000)
    assert found.values["one"]["RR"] == rp.evaluate(QRELS, {"one": ONE}, ["RR"], weights=TRAFFIC).value("RR")
    assert any("worth" in note for note in found.notes)


def test_a_judged_query_without_a_weight_is_refused() -> None:
    some = {query: weight for query, weight in TRAFFIC.items() if query not in ("q1", "q2")}
    with pytest.raises(UsageError, match="2 judged queries have no weight: q1, q2; give every judged query a weight"):
        rp.evaluate(QRELS, {"one": ONE}, ["RR"], weights=some)


def test_a_dataset_with_a_wrong_weight_is_refused_before_it_is_run() -> None:
    queries = rp.Queries([Query("q1", "a", fields={"weight": -1}, line=7)], source="queries.jsonl")
    with pytest.raises(InputError, match=r"queries.jsonl:7: weight -1 of query q1 is not a number above 0"):
        rp.Dataset("wrong", _dataset().corpus, queries, rp.Qrels({"q1": {"d1": 1}}))


_FOLDER_COMMANDS = (
    ["eval", "-m", "RR", "--format", "json"],
    ["compare", "-m", "RR", "--format", "json"],
    ["segments", "-m", "RR", "--by", "kind", "--format", "json"],
    ["gate", "-m", "RR", "--save", "saved.json"],
    ["report", "-o", "report.html"],
    ["explain", "-m", "RR", "--format", "json"],
    ["audit", "-m", "RR"],
    ["diagnose"],
    ["baselines", "-m", "RR"],
    ["doctor"],
    ["export", "--format", "csv"],
    ["plot", "-o", "plot.svg"],
    ["tune", "-m", "RR"],
)


def _folder(weights: dict[str, Any]) -> list[str]:
    """A folder of data in the working directory, and two runs."""
    folder = Path("data")
    (folder / "qrels").mkdir(parents=True)
    rows = [
        {"_id": query, "text": query, "weight": weights[query], "kind": "even" if at % 2 else "odd"}
        for at, query in enumerate(QRELS)
    ]
    (folder / "queries.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (folder / "corpus.jsonl").write_text("".join(f'{{"_id": "d{at}", "text": "word{at}"}}\n' for at in range(10)))
    rp.write_qrels(rp.Qrels(QRELS), folder / "qrels" / "test.tsv")
    for name, run in RUNS.items():
        rp.write_run(rp.Run(run, name=name), f"{name}.run")
    return ["data", "one.run", "two.run"]


def test_commands_and_functions_use_the_weights_and_fields_of_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    files = _folder(TRAFFIC)
    expected = rp.evaluate(QRELS, {"one": ONE}, ["RR"], weights=TRAFFIC).value("RR")
    assert rp.evaluate("data", {"one": "one.run"}, ["RR"]).value("RR") == expected
    assert rp.compare("data", {"one": "one.run", "two": "two.run"}, ["RR"]).values["one"]["RR"] == expected
    shown: dict[int, Any] = {}
    for command in (["eval", *files], ["compare", *files], ["compare", *files, "--dataset", "data"]):
        assert main([*command, "-m", "RR", "--format", "json"]) == 0
        shown[len(shown)] = json.loads(capsys.readouterr().out)
    assert shown[0]["systems"][0]["measures"]["RR"]["value"] == expected
    assert shown[1]["decision"] == shown[2]["decision"]
    assert shown[1]["decision"] != rp.compare(QRELS, RUNS, ["RR"]).decision.to_dict()
    assert main(["segments", *files, "-m", "RR", "--by", "kind", "--format", "json"]) == 0
    by_kind = rp.segments("data", {"one": "one.run", "two": "two.run"}, measures="RR", by="kind")
    shown_rows = json.loads(capsys.readouterr().out)["tables"][0]["rows"]
    assert [list(row.values()) for row in shown_rows] == [list(row) for row in by_kind.tables[0].rows]
    assert shown_rows[-1]["one"] == expected
    assert main(["gate", *files[:2], "-m", "RR", "--save", "saved.json"]) == 0
    assert json.loads(Path("saved.json").read_text())["weights"] == TRAFFIC


@pytest.mark.parametrize("command", _FOLDER_COMMANDS, ids=lambda command: command[0])
def test_a_wrong_weight_in_the_queries_of_a_folder_is_an_error_of_every_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    name, *options = command
    assert main([name, *_folder(TRAFFIC | {"q3": 0}), *options]) == 2
    assert "data/queries.jsonl:4: weight 0 of query q3 is not a number above 0; write" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "one.run", "two.run"]


def test_a_weight_in_the_metadata_of_a_query_counts(tmp_path: Path) -> None:
    rows = [{"_id": f"q{at}", "text": "words", "metadata": {"weight": at + 1.0}} for at in range(3)]
    (tmp_path / "queries.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert read_queries(open_source(str(tmp_path / "queries.jsonl"))).weights == {"q0": 1.0, "q1": 2.0, "q2": 3.0}
    del rows[1]["metadata"]
    (tmp_path / "queries.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(InputError, match="q1"):
        _ = read_queries(open_source(str(tmp_path / "queries.jsonl"))).weights
