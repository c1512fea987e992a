"""Conventions of other tools, against the tools themselves; the command."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest

from rankproof._analysis.audit.ties import tie_report
from rankproof._analysis.audit.tools import (
    CONVENTIONS,
    DEFAULT_MEASURES,
    Convention,
    ValueRange,
    audit_tools,
    hits_by_tool,
    judged_queries,
    systems_with_unknown_queries,
    tool_counterparts,
    tool_value,
    winners,
)
from rankproof._cli.main import main
from rankproof.measures import parse_measure
from support.analysis_inputs import input_of
from support.qrels_and_runs import Grades, Scores

SEEDS = range(12)


def _collection(seed: int, *, ties: bool, missing: bool, queries: int = 8) -> tuple[Grades, Scores]:
    """Queries of 30 documents with up to 20 retrieved; scores are multiples of an eighth, which 32 bits hold exactly."""
    random = Random(seed)
    docs = [f"d{at}" for at in range(30)]
    qrels = {f"q{at}": {doc: random.randint(0, 3) for doc in random.sample(docs, random.randint(1, 20))} for at in range(queries)}
    run: Scores = {}
    for query in qrels:
        if missing and random.random() < 0.3 and len(run) > 1:
            continue
        chosen = random.sample(docs, random.randint(1, 20))
        levels = [random.randint(1, 4) / 8 if ties else (len(chosen) - at) / 8 for at in range(len(chosen))]
        run[query] = dict(zip(chosen, levels, strict=True))
    return {query: {**grades, "d0": 1} for query, grades in qrels.items()}, run


def _ours(convention: Convention, qrels: Grades, run: Scores, cutoff: int = 10) -> float | None:
    inputs = input_of(qrels, {"a": run}, ["nDCG@10"])
    hits = hits_by_tool(convention.tool, inputs, judged_queries(inputs), "a")
    return tool_value(convention, hits, cutoff, 1, has_unknown_queries=systems_with_unknown_queries(inputs)["a"])


def _of(tool: str) -> list[Convention]:
    return [convention for convention in CONVENTIONS if convention.tool.name == tool]


def _pytrec_eval(name: str, qrels: Grades, run: Scores) -> float:
    import pytrec_eval

    found = pytrec_eval.RelevanceEvaluator(qrels, {name}).evaluate(run)
    return float(np.mean([values[name.replace(".", "_")] for values in found.values()]))


def _ir_measures(name: str, qrels: Grades, run: Scores) -> float:
    import ir_measures

    measure = eval(name, vars(ir_measures))  # parse_measure of ir_measures 0.4.3 fails on Python 3.14
    return float(ir_measures.calc_aggregate([measure], qrels, run)[measure])


Oracle = Callable[[str, Grades, Scores], float]
ORACLES: dict[str, Oracle] = {"pytrec_eval": _pytrec_eval, "ir_measures": _ir_measures}
RUN_BY_TESTS = [(tool, convention) for tool in ORACLES for convention in _of(tool)]


@pytest.mark.parametrize(("tool", "convention"), RUN_BY_TESTS, ids=lambda one: getattr(one, "called", one))
@pytest.mark.parametrize("seed", SEEDS)
def test_a_row_has_the_value_that_the_tool_itself_gives(tool: str, convention: Convention, seed: int) -> None:
    pytest.importorskip(tool)
    qrels, run = _collection(seed, ties=True, missing=seed % 2 == 0)
    assert _ours(convention, qrels, run) == pytest.approx(
        ORACLES[tool](convention.name_in_tool.format(k=10), qrels, run), abs=1e-9
    )


def test_scores_that_are_equal_in_32_bits_are_tied_for_pytrec_eval_and_not_for_us() -> None:
    pytest.importorskip("pytrec_eval")
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0 + 1e-12, "b": 1.0}}
    convention = next(one for one in _of("pytrec_eval") if one.ours == "RR")
    assert _ours(convention, qrels, run) == _pytrec_eval("recip_rank", qrels, run) == 0.5
    assert input_of(qrels, {"a": run}, ["RR"]).result.means["a"]["RR"] == 1.0


@pytest.fixture(scope="module")
def ranx() -> Callable[[str, Grades, Scores], float]:
    module = pytest.importorskip("ranx")

    def evaluated(name: str, qrels: Grades, run: Scores) -> float:
        return float(module.evaluate(qrels, run, name))

    return evaluated


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("convention", _of("ranx"), ids=lambda one: one.name_in_tool)
def test_ranx_gives_the_value_of_its_row_and_with_ties_one_between_worst_and_best(
    ranx: Callable[[str, Grades, Scores], float], convention: Convention
) -> None:
    from rankproof._analysis.values import all_hits, ranked_lists

    for seed in range(3):
        qrels, run = _collection(seed, ties=False, missing=False)
        theirs = ranx(convention.name_in_tool.format(k=10), qrels, run)
        assert _ours(convention, qrels, run) == pytest.approx(theirs, abs=1e-9)
        qrels, run = _collection(seed, ties=True, missing=False)
        measure = parse_measure(convention.measure.format(k=10))
        inputs = input_of(qrels, {"a": run}, [str(measure)])
        found = tie_report(measure, all_hits(inputs)["a"], ranked_lists(inputs, "a"))
        theirs = ranx(convention.name_in_tool.format(k=10), qrels, run)
        assert found.worst.mean() - 1e-9 <= theirs <= found.best.mean() + 1e-9


@pytest.mark.filterwarnings("ignore")
def test_ranx_refuses_a_run_that_lacks_a_query_and_its_row_says_so(ranx: Callable[[str, Grades, Scores], float]) -> None:
    qrels, run = {"q1": {"a": 1}, "q2": {"a": 1}}, {"q1": {"a": 1.0}}
    with pytest.raises(AssertionError, match="do not match"):
        ranx("ndcg@10", qrels, run)
    assert all(_ours(convention, qrels, run) is None for convention in _of("ranx"))


def test_a_tool_that_does_not_define_ties_has_bounds_where_they_matter_and_names_no_winner() -> None:
    qrels: Grades = {"q": {"c": 1}}
    runs: dict[str, Scores] = {"tied": {"q": {"a": 1.0, "b": 1.0, "c": 1.0}}, "plain": {"q": {"c": 2.0, "a": 1.0, "b": 1.0}}}
    table = audit_tools(input_of(qrels, runs, ["RR@10"]))
    row = next(row for row in table.records() if row["convention"] == "ranx mrr@10")
    assert (row["tied"], row["plain"]) == ("0.3333 to 1.0000", 1.0)
    assert (row["winner"], row["winner changes"]) == (None, None)
    assert "(no winner for 1 more: ties are undefined)" in table.sentences[0]


def test_queries_that_the_run_lacks_are_0_or_left_out_as_each_tool_does() -> None:
    qrels, run = {"q1": {"a": 1}, "q2": {"a": 1}}, {"q1": {"a": 1.0}}
    values = {(one.tool.name, one.name_in_tool): _ours(one, qrels, run) for one in CONVENTIONS if one.ours == "RR@"}
    assert values["trec_eval 10", "recip_rank"] == values["pytrec_eval", "recip_rank"] == 1.0
    assert values["ir_measures", "RR@{k}"] == values["BEIR", "MRR@{k}"] == 0.5


def test_quepid_divides_precision_by_retrieved_documents_and_does_not_cut_the_ideal_ranking() -> None:
    qrels, run = {"q": {"a": 2, "b": 1, "c": 1}}, {"q": {"a": 2.0, "x": 1.0}}
    by_name = {one.ours: one for one in _of("Quepid")}
    assert _ours(by_name["P@"], qrels, run) == 0.5
    ideal = 3 + 1 / np.log2(3) + 1 / 2
    assert _ours(by_name["nDCG@"], qrels, run, cutoff=1) == pytest.approx(3 / ideal)


def test_beir_drops_a_document_that_has_the_querys_id() -> None:
    qrels, run = {"q": {"a": 1}}, {"q": {"q": 2.0, "a": 1.0}}
    by_name = {one.ours: one for one in _of("BEIR")}
    assert _ours(by_name["nDCG@"], qrels, run) == 1.0
    assert _ours(by_name["RR@"], qrels, run) == 0.5
    assert _ours(by_name["Success@"], qrels, run, cutoff=1) == 0.0


def test_a_changed_winner_is_marked_and_described() -> None:
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}}
    runs: dict[str, Scores] = {
        "whole": {"q1": {"a": 2.0, "x": 1.0}, "q2": {"x": 2.0, "a": 1.0}},
        "half": {"q1": {"a": 1.0}},
    }
    table = audit_tools(input_of(qrels, runs, ["RR@10"]))
    changed = {str(row["convention"]) for row in table.records() if row["winner changes"]}
    assert changed == {f"{tool} recip_rank" for tool in ("trec_eval 9", "trec_eval 10", "pytrec_eval")}
    assert {str(table.records()[at]["convention"]) for at in table.highlighted} == changed
    assert table.sentences[0].startswith(
        "3 of 6 conventions name another winner (no winner for 1 more: the tool rejects the run): trec_eval 10 recip_rank: half;"
    )
    refusing = next(row for row in table.records() if row["convention"] == "ranx mrr@10")
    assert (refusing["whole"], refusing["half"], refusing["winner changes"]) == (0.75, "refuses", None)


def test_equal_systems_win_together() -> None:
    assert winners(["a", "b", "c"], [0.5, 0.5, 0.25]) == "a = b"
    assert winners(["a", "b"], [0.5, None]) is None
    assert winners(["a", "b"], [0.5, ValueRange(0.6, 0.8)]) == "b"
    assert winners(["a", "b"], [0.5, ValueRange(0.2, 0.4)]) == "a"
    assert winners(["a", "b"], [0.5, ValueRange(0.4, 0.6)]) is None
    assert winners(["a", "b"], [0.5, ValueRange(0.4, 0.5)]) is None


def test_a_measure_that_no_other_tool_has_is_named() -> None:
    assert tool_counterparts(parse_measure("RBP")) == []
    runs: dict[str, Scores] = {"a": {"q": {"a": 1.0}}, "b": {"q": {"x": 1.0}}}
    table = audit_tools(input_of({"q": {"a": 1}}, runs, ["RBP"]))
    assert table.sentences == ("No convention of another tool is known for RBP; try nDCG@10, RR@10, R@100, P@10, AP.",)


@pytest.mark.parametrize("name", ["RR", "nDCG", "AP@5", "Success@5", "Rprec", "bpref"])
def test_measures_with_and_without_a_cutoff_have_their_own_rows(name: str) -> None:
    tools = {convention.tool.name for convention in tool_counterparts(parse_measure(name))}
    assert {"trec_eval 9", "trec_eval 10", "pytrec_eval", "ir_measures"} <= tools
    runs: dict[str, Scores] = {"a": {"q": {"a": 1.0}}, "b": {"q": {"x": 1.0}}}
    table = audit_tools(input_of({"q": {"a": 1, "x": 0}}, runs, [name]))
    assert table.sentences[0] == f"All {len(table.rows) - 1} conventions of other tools name the same winner."


def test_the_largest_difference_is_described_with_its_cause() -> None:
    qrels, runs = {"q1": {"a": 1}, "q2": {"a": 1}}, {"half": {"q1": {"a": 1.0}}}
    table = audit_tools(input_of(qrels, runs, ["R@10"]))
    assert table.sentences == (
        "Largest difference: trec_eval 10 recall.10 of half is 1.0000, ours is 0.5000: missing queries left out.",
    )


def test_every_default_measure_has_counterparts() -> None:
    assert all(tool_counterparts(parse_measure(name)) for name in DEFAULT_MEASURES)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    hostile: Grades = {"q\x1b[31m": {"d\u202e\t": 1, "=cmd()": 0}, "q2": {"d1": 2}}
    paths = [tmp_path / name for name in ("qrels.json", "a.json", "b.json")]
    first = {"q\x1b[31m": {"d\u202e\t": 1.0, "=cmd()": 1.0, "new\n": 0.5}, "q2": {"x": 1.0, "d1": 0.5}}
    second = {"q\x1b[31m": {"@sum": 1.0}, "q2": {"d1": 0.5}}
    for path, content in zip(paths, (hostile, first, second), strict=True):
        path.write_text(json.dumps(content))
    return list(map(str, paths))


@pytest.mark.parametrize("form", ["table", "json", "csv", "markdown", "latex"])
def test_hostile_ids_are_escaped_in_every_format(files: list[str], capsys: pytest.CaptureFixture[str], form: str) -> None:
    assert main(["audit", *files, "--format", form]) == 0
    out, error = capsys.readouterr()
    assert "\x1b" not in out + error
    assert "\u202e" not in out + error or form in ("json", "csv")
    assert "new\n" not in out
    if form == "csv":
        cells = [cell for row in csv.reader(io.StringIO(out)) for cell in row]
        assert not [cell for cell in cells if cell.startswith(("=", "@", "\t"))]
        assert any("=cmd()" in cell for cell in cells) or any("@sum" in cell for cell in cells)


def test_an_option_shows_that_part_only_and_none_shows_all(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    def names(*argv: str) -> list[str]:
        assert main(["audit", *files, "--format", "json", *argv]) == 0
        return [table["name"] for table in json.loads(capsys.readouterr().out)["tables"]]

    assert names("--ties") == ["audit-ties"]
    assert names("--unjudged") == ["audit-unjudged", "audit-pool"]
    assert names("--judge-next", "2", "--tools") == ["audit-tools", "audit-judge-next"]
    assert names() == ["audit-tools", "audit-ties", "audit-unjudged", "audit-pool", "audit-judge-next"]


def test_the_pairs_to_judge_are_written_in_the_format_asked_for_whatever_the_file_is_called(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "pairs.tsv"
    assert main(["audit", *files, "-m", "nDCG@10", "--judge-next", "9", "--format", "json", "-o", str(output)]) == 0
    (table,) = json.loads(output.read_text())["tables"]
    assert {(row["query"], row["document"]) for row in table["rows"]} == {
        *(("q\x1b[31m", "new\n"), ("q\x1b[31m", "@sum"), ("q2", "x")),
    }
    assert capsys.readouterr().out == ""


def test_judge_next_skips_a_sum_unless_it_is_requested(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", *files, "-m", "NumRelRet,RR", "--format", "json"]) == 0
    table = json.loads(capsys.readouterr().out)["tables"][-1]
    assert (table["name"], table["facts"]["measure"]) == ("audit-judge-next", "RR")
    assert main(["audit", *files, "-m", "NumRelRet,RR", "--judge-next", "2"]) == 2
    assert capsys.readouterr().err.startswith("NumRelRet is not a mean over queries")


def test_a_difference_by_weights_of_queries_is_described_as_such() -> None:
    qrels, runs = {"q1": {"a": 1}, "q2": {"a": 1}}, {"half": {"q1": {"a": 1.0}, "q2": {"b": 1.0}}}
    table = audit_tools(input_of(qrels, runs, ["R@10"], weights={"q1": 1.0, "q2": 3.0}))
    theirs = "trec_eval 10 recall.10 of half is 0.5000, ours is 0.2500"
    assert table.sentences[0] == f"Largest difference: {theirs}: queries count equally; missing queries left out."


def test_with_skip_missing_the_n_of_each_system_is_described() -> None:
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}}
    runs: dict[str, Scores] = {"whole": {query: {"a": 1.0} for query in qrels}, "half": {"q1": {"a": 1.0}}}
    table = audit_tools(input_of(qrels, runs, ["RR@10"], skip_missing=True))
    assert table.sentences[-1] == "A system's means leave out the queries that its run lacks: n = whole 2, half 1."
    assert table.facts == {"n": 2, "n_by_system": {"whole": 2, "half": 1}}
