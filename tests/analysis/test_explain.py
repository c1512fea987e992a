"""Explanations: the parts add up to the number."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rankproof import Dataset, Experiment, Qrels, evaluate
from rankproof._analysis.explain.answer import explain_answer
from rankproof._analysis.explain.mean import explain_difference, explain_mean
from rankproof._analysis.explain.query import UNJUDGED_TEXT, explain_query, explain_value
from rankproof._analysis.explain.score import explain_score
from rankproof._analysis.inputs import AnalysisInput, input_from_results, input_from_runs
from rankproof._api.explain import ExplainOptions, explain_inputs
from rankproof._cli.main import main
from rankproof._data.corpus import Corpus, Document
from rankproof._data.dataset import Queries, Query
from rankproof._data.run import Run
from rankproof._evaluation.options import EvaluateOptions
from rankproof._experiment.run import run_experiment
from rankproof._formats.read import read_qrels, write_folder
from rankproof._fusion.fuse import fit_fusion, fuse
from rankproof._fusion.method import METHODS
from rankproof._results.folder import save_results
from rankproof.errors import UsageError
from rankproof.measures import MEASURES, Measure, parse_measure
from rankproof.measures._answers import token_set_f1
from rankproof.stages._bm25 import BM25
from rankproof.types import RunOptions
from support.analysis_inputs import input_of
from support.examples import examples
from support.qrels_and_runs import Grades, Scores, aligned, qrels_of, runs
from support.small_results import small_results

EXPLAINABLE = [
    *("nDCG@3", "nDCG", "nDCG(gain='exp')@5", "nDCG(gain={1:5,2:1})@4", "DCG@3", "DCG(gain='exp')", "RR", "RR@2", "AP", "AP@3"),
    *("P@3", "P(rel=2)@3", "R@3", "F1@3", "Success@2", "ERR", "ERR@3", "RBP", "RBP(p=0.95)@3", "Judged@3", "bpref", "Rprec"),
    *("SetP", "SetR", "NumRelRet"),
]
QRELS: Grades = {"q1": {"d1": 2, "d2": 1, "d3": 0}, "q2": {"d1": 1}, "q3": {"d9": 1}}
RUN: Scores = {"q1": {"d3": 4, "d1": 3, "x": 2, "d2": 1}, "q2": {"d1": 1.0}}


@pytest.mark.parametrize("measure", [parse_measure(name) for name in EXPLAINABLE], ids=str)
@examples(40)
@given(qrels=qrels_of(), run=runs())
def test_the_terms_of_a_query_add_up_to_its_value_to_the_last_bit(measure: Measure, qrels: Grades, run: Scores) -> None:
    hits = aligned(qrels, run)
    parts = measure.parts(hits)
    assert parts is not None
    for at, value in enumerate(measure.values(hits).tolist()):
        taken = explain_value(parts, at)
        total = 0.0
        for part in taken.parts:
            total += part.term
        assert total == taken.total
        assert (taken.scale * (total / taken.denominator) if taken.denominator else 0.0) == value
        assert math.fsum(part.contribution for part in taken.parts) == pytest.approx(value, rel=1e-15, abs=1e-15)


@pytest.mark.parametrize("measure", [parse_measure(name) for name in EXPLAINABLE], ids=str)
@examples(20)
@given(qrels=qrels_of(), run=runs())
def test_a_term_is_its_gain_times_its_discount(measure: Measure, qrels: Grades, run: Scores) -> None:
    parts = measure.parts(aligned(qrels, run))
    assert parts is not None
    assert parts.gain * parts.discount == pytest.approx(parts.terms, rel=1e-15, abs=1e-300)


@given(qrels=qrels_of(), run=runs())
def test_the_ideal_ranking_adds_up_to_the_denominator_of_ndcg(qrels: Grades, run: Scores) -> None:
    for measure in map(parse_measure, ("nDCG@3", "nDCG(gain='exp')", "nDCG(gain={1:5,2:1})@4")):
        hits = aligned(qrels, run)
        parts, ideal = measure.parts(hits), measure.ideal(hits.judged)
        assert parts is not None
        assert ideal is not None
        assert ideal.sums().tolist() == list(parts.denominator)


def test_every_measure_either_has_parts_or_says_that_it_has_none() -> None:
    hits = aligned(QRELS, RUN)
    others = {name: measure for name, measure in MEASURES.items() if not measure.needs_subtopics}
    without = {name for name, measure in others.items() if _at(measure).parts(hits) is None}
    of_grades = {"G", "ndcg_rel", "Rndcg", "IDCG", "PrefsFul", "NumPrefs", "NumPrefsFul", "RBPResid", "Compat"}
    of_users = {"SDCG", "INST", "INSQ", "BPM", "NERR8", "NERR9", "NERR10", "NERR11"}
    of_relevant = {"infAP", "IPrec", "11pt", "GMAP", "GMbpref", "yaap", "SetF", "SetAP", "Utility", "Rprec_mult", "Accuracy"}
    of_groups = {"map_avgjg", "P_avgjg", "Rprec_mult_avgjg"}
    counts = {"Unjudged", "NumQ", "NumRet", "NumRel", "NumNonrelRet"}
    assert without == of_grades | of_users | of_relevant | of_groups | counts


def _at(measure: Measure) -> Measure:
    return measure if measure.needs is None else measure @ 0.5 if measure.at == "recall" else measure @ 3


@examples(40)
@given(qrels=qrels_of(0, 3), first=runs(), second=runs(), top=st.integers(1, 3))
def test_contributions_of_queries_add_up_to_the_mean_and_to_the_difference(
    qrels: Grades, first: Scores, second: Scores, top: int
) -> None:
    assume(set(qrels) & set(first) and set(qrels) & set(second))
    inputs = input_of(qrels, {"a": first, "b": second}, ["nDCG@5"])
    mean = explain_mean(inputs, "a", "nDCG@5", top=top)
    parts = [row["contribution"] for row in mean.records()]
    assert math.fsum(map(float, map(str, parts))) == pytest.approx(inputs.result.means["a"]["nDCG@5"], abs=1e-15)
    difference = explain_difference(inputs, "a", "b", "nDCG@5", top=top)
    sums = [float(str(row["contribution"])) for row in difference.records()]
    means = inputs.result.means
    assert math.fsum(sums) == pytest.approx(means["a"]["nDCG@5"] - means["b"]["nDCG@5"], abs=1e-15)


def test_a_query_is_shown_by_rank_with_unjudged_documents_marked_and_its_ideal_ranking() -> None:
    ranking, ideal = explain_query(input_of(QRELS, {"a": RUN}, ["nDCG@10"]), "a", "nDCG@10", "q1")
    rows = ranking.records()
    assert [(row["rank"], row["document"], row["grade"]) for row in rows] == [
        *((1, "d3", 0), (2, "d1", 2), (3, "x", UNJUDGED_TEXT), (4, "d2", 1)),
    ]
    assert [row["gain"] for row in rows] == [None, 2.0, None, 1.0]
    assert ranking.facts["sum"] / ranking.facts["denominator"] == ranking.facts["value"]
    assert [(row["document"], row["system rank"]) for row in ideal.records()] == [("d1", 2), ("d2", 4)]


@pytest.mark.parametrize("measure", ["nDCG@10", "AP", "RBP", "nERR", "binG", "relative_P@3", "GradedRBP"])
def test_the_sentence_of_a_sum_is_a_true_equation(measure: str) -> None:
    ranking = explain_query(input_of(QRELS, {"a": RUN}, [measure]), "a", measure, "q1")[0]
    shown = re.sub(r" \(.*\)", "", ranking.sentences[0].rstrip(".").partition(": ")[2])
    computed, _, value = shown.partition(" = ")
    product, _, denominator = computed.partition(" / ")
    assert math.prod(map(float, product.split(" x "))) / float(denominator or 1) == pytest.approx(float(value), abs=1e-4)


def test_a_relevant_document_that_was_not_retrieved_is_listed() -> None:
    ranking, relevant = explain_query(input_of(QRELS, {"a": RUN}, ["RR"]), "a", "RR", "q3")
    assert "retrieved no document" in " ".join(ranking.sentences)
    assert relevant.records() == [{"document": "d9", "grade": 1, "system rank": "not retrieved"}]


def test_a_measure_that_is_not_a_sum_shows_what_the_value_loses_without_each_document() -> None:
    inputs = input_of({"q1": {"d1": 1, "d2": 1}}, {"a": {"q1": {"d1": 3.0, "d9": 2.0, "d2": 1.0}}}, ["IPrec@0.5", "IPrec@1"])
    for measure in ("IPrec@0.5", "IPrec@1"):
        (table, _) = explain_query(inputs, "a", measure, "q1")
        without = [evaluated_without(measure, doc) for doc in ("d1", "d9", "d2")]
        expected = [table.facts["value"] - value for value in without]
        assert [row["contribution"] for row in table.records()] == pytest.approx(expected)
        assert "if an unjudged document takes its place" in table.sentences[0]


def evaluated_without(measure: str, doc: str) -> float:
    """The value of the ranking d1, d9, d2 with one document replaced by an unjudged one."""
    run = {"q1": {"x" if one == doc else one: score for one, score in (("d1", 3.0), ("d9", 2.0), ("d2", 1.0))}}
    return evaluate({"q1": {"d1": 1, "d2": 1}}, run, measure).value(measure)


@pytest.mark.parametrize(("measure", "lost"), [("IPrec@0.5", 1 - 1 / 3), ("SetF", 0.8 - 0.4)])
def test_what_a_value_loses_is_shown_with_judgements_of_subtopics_too(measure: str, lost: float, tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text("q1 1 d1 1\nq1 2 d2 1\nq1 1 d3 0\n", encoding="utf-8")
    qrels = read_qrels(str(tmp_path / "qrels.txt"))
    inputs = input_from_runs(qrels, {"a": Run.from_dict({"q1": {"d1": 3.0, "d9": 2.0, "d2": 1.0}})}, [measure])
    (table, _) = explain_query(inputs, "a", measure, "q1")
    assert table.records()[0]["contribution"] == pytest.approx(lost)


def test_a_geometric_mean_has_no_sum_over_queries() -> None:
    inputs = input_of(QRELS, {"a": RUN}, ["infAP", "GMAP"])
    assert "explain AP instead" in explain_mean(inputs, "a", "GMAP").sentences[0]
    with pytest.raises(UsageError, match="geometric"):
        explain_difference(inputs, "a", "a", "GMAP")


def test_an_unknown_query_is_refused_with_a_near_one() -> None:
    with pytest.raises(UsageError, match=r"no judged query has the id or the text q11; there is, for example, q1"):
        explain_query(input_of(QRELS, {"a": RUN}, ["RR"]), "a", "RR", "q11")


TEXTS = {"d1": "the red fox sleeps", "d2": "a red wine and a fox fox", "d3": "blue cheese", "d4": "nothing of that"}

SMALL = Dataset(
    "small",
    Corpus([Document(doc, text) for doc, text in TEXTS.items()]),
    Queries([Query("q1", "red fox")]),
    Qrels.from_dict({"q1": {"d1": 1}}),
)


def test_the_terms_of_a_bm25_score_add_up_to_the_score_of_the_run() -> None:
    corpus = Corpus([Document(doc, text) for doc, text in TEXTS.items()])
    stage = BM25()
    index = stage.index(corpus)
    docs, scores = index.search_all([Query("q1", "red fox unheard")])[0]
    inputs = _with_stages({"bm25": {"q1": dict(zip(docs, scores.tolist(), strict=True))}}, [_identity(stage)])
    for doc, score in zip(docs, scores.tolist(), strict=True):
        table = explain_score(inputs, "bm25", "q1", doc, index.parts("red fox unheard", doc))
        total = np.float32(0)
        for row in table.records():
            total += np.float32(str(row["contribution"]))
        assert float(total) == score == table.facts["sum"]
    assert [row["term"] for row in table.records()] == ["red", "fox", "unheard"]


@pytest.mark.parametrize("method", METHODS)
def test_the_parts_of_a_fused_score_add_up_to_the_score_of_the_run(method: str) -> None:
    parts = {"a": {"q1": {"d1": 3.0, "d2": 1.0}}, "b": {"q1": {"d2": 0.5, "d3": 0.25, "d4": 0.125}}}
    runs = [Run.from_dict(run, name=name) for name, run in parts.items()]
    weights = [1.0, 0.3] if "weights" in METHODS[method].uses else None
    learned = fit_fusion(method, {"q1": {"d2": 1}}, runs) if METHODS[method].fit else None
    fused = fuse(runs, method, weights=weights, fitted=learned)
    scores = dict(zip(fused.docs, fused.scores.tolist(), strict=True))
    stages: list[dict[str, object]] = [{"kind": "A"}, {"kind": "B"}]
    whole: dict[str, object] = {
        "kind": "Fuse",
        "stages": stages,
        "method": method,
        "k": 60.0,
        "weights": weights,
        "norm": "min-max",
        "fitted": None if learned is None else [list(one) for one in learned.values],
    }
    inputs = _with_stages({**parts, "fused": {"q1": scores}}, [*stages, whole])
    for doc, score in scores.items():
        table = explain_score(inputs, "fused", "q1", doc)
        assert table.facts["combined" if METHODS[method].combine else "sum"] == score
        if METHODS[method].combine is None:
            parts_of_score = [float(str(row["contribution"])) for row in table.records() if row["contribution"] is not None]
            assert sum(sorted(parts_of_score)) == score


def test_a_fused_ranking_that_is_not_a_system_of_the_folder_is_unknown() -> None:
    whole: dict[str, object] = {
        "kind": "Fuse",
        "stages": [{"kind": "A"}],
        "method": "rrf",
        "k": 60.0,
        "weights": None,
        "norm": "min-max",
    }
    inputs = _with_stages({"fused": {"q1": {"d1": 1.0}}}, [whole])
    assert "is unknown" in explain_score(inputs, "fused", "q1", "d1").sentences[1]


def _with_stages(scores: dict[str, Scores], stages: list[dict[str, object]]) -> AnalysisInput:
    results = small_results(tuple(scores), ("q1",), tuple(TEXTS), measures=["nDCG@10"], scores=scores)
    system_runs = tuple(replace(system_run, stage=stage) for system_run, stage in zip(results.system_runs, stages, strict=True))
    texts = Queries([Query("q1", "red fox unheard")])
    return input_from_results(replace(results, system_runs=system_runs, texts=texts))


def _identity(stage: BM25) -> dict[str, object]:
    from dataclasses import asdict

    return {"kind": "BM25", **asdict(stage), "fields": list(stage.fields)}


SENTENCES = st.lists(st.sampled_from(["paris", "Rome", "the", "sea", "1860", "blue,"]), max_size=6).map(" ".join)


@given(answer=SENTENCES, reference=SENTENCES)
def test_an_answers_shared_words_give_its_f1(answer: str, reference: str) -> None:
    table = explain_answer(answer, reference)
    shared = sum(bool(row["shared"]) for row in table.records())
    both = sum(bool(row["in the answer"]) + bool(row["in the reference"]) for row in table.records())
    f1 = token_set_f1(answer, reference)
    assert table.facts["f1"] == f1
    assert f1 == 0 or f1 == 2 * shared / both


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    qrels, run = tmp_path / "qrels.json", tmp_path / "a.json"
    hostile = {"q\x1b[31m": {"d\u202e": 1, "=cmd()": 0}, **QRELS}
    qrels.write_text(json.dumps(hostile))
    run.write_text(json.dumps({"q\x1b[31m": {"d\u202e": 1.0, "=cmd()": 2.0}, **RUN}))
    return str(qrels), str(run)


@pytest.mark.parametrize("form", ["table", "json", "csv", "markdown", "latex"])
@pytest.mark.parametrize("extra", [[], ["--query", "q\x1b[31m"], ["--against", "a"]])
def test_hostile_ids_are_escaped_in_every_format(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str], form: str, extra: list[str]
) -> None:
    assert main(["explain", *files, "-m", "nDCG@10", "--format", form, *extra]) == 0
    out, error = capsys.readouterr()
    assert "\x1b" not in out + error
    assert "\u202e" not in out or form in ("json", "csv")


def test_the_json_of_a_query_holds_the_parts_at_full_precision(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", *files, "-m", "nDCG@10", "--query", "q1", "--format", "json"]) == 0
    ranking, ideal = json.loads(capsys.readouterr().out)["tables"]
    terms = [row["term"] for row in ranking["rows"] if row["term"] is not None]
    assert sum(terms) / sum(row["term"] for row in ideal["rows"]) == ranking["facts"]["value"]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--doc", "d1"], "--doc needs a query"),
        (["--system", "b"], "no system is called b; choose from: a"),
        (["--against", "b"], "no system is called b; choose from: a"),
        (["--answer", "x"], "--answer and --reference go together, without files"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str], argv: list[str], message: str
) -> None:
    assert main(["explain", *files, *argv]) == 2
    assert capsys.readouterr().err.startswith(message)


def test_the_score_of_a_run_file_is_shown_with_the_ranks_in_every_run(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    qrels, run = files
    assert main(["explain", qrels, run, run, "--name", "a", "--name", "b", "--query", "q1", "--doc", "d1"]) == 0
    shown = capsys.readouterr().out
    assert "A run has the score of a document and not its parts." in shown
    assert re.search(r"^a +2 +3\nb +2 +3$", shown, re.MULTILINE)


def test_the_terms_of_a_score_come_from_the_dataset_that_was_searched_and_from_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results, other = str(tmp_path / "results"), str(tmp_path / "other")
    save_results(run_experiment(Experiment({"bm25": BM25()}, SMALL), RunOptions(cache=None)), results)
    write_folder(SMALL, str(tmp_path / "small"))
    write_folder(replace(SMALL, corpus=Corpus([*SMALL.corpus.values(), Document("d5", "more")])), other)
    asked = ["explain", results, "--system", "bm25", "--query", "q1", "--doc", "d1"]
    assert main([*asked, "--dataset", str(tmp_path / "small"), "--format", "json"]) == 0
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    assert [row["term"] for row in table["rows"]] == ["red", "fox"]
    assert table["facts"]["sum"] == table["facts"]["score"]
    assert main([*asked, "--dataset", other]) == 2
    assert "other is not the dataset of" in capsys.readouterr().err
    assert main(asked) == 2
    assert "need the documents; pass the dataset with --dataset" in capsys.readouterr().err


def test_a_system_is_explained_over_the_queries_that_it_has() -> None:
    inputs = input_of(QRELS, {"a": RUN}, ["RR"], skip_missing=True)
    table = explain_mean(inputs, "a", "RR")
    assert table.facts["n"] == 2
    assert table.facts["value"] == 0.75
    assert "n = 2 queries" in table.title


def test_systems_that_tie_are_not_called_the_best(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "qrels").write_text("q1 0 d1 1\n")
    for name in ("a", "b"):
        (tmp_path / f"{name}.run").write_text("q1 Q0 d1 1 1.0 run\n")
    assert main(["explain", *(str(tmp_path / name) for name in ("qrels", "a.run", "b.run")), "-m", "RR"]) == 0
    assert "explaining a, the first of 2 tied for best of 2 systems by RR" in capsys.readouterr().err


def rag_log(path: Path, answers: list[str]) -> str:
    """A RAG log with one answer to each question."""
    asked = ("France", "Paris"), ("Germany", "Berlin"), ("Italy", "Rome")
    rows = [
        {"query_id": country, "question": f"capital of {country}", "answer": answer, "contexts": [f"It is {city}."]}
        for (country, city), answer in zip(asked, answers, strict=True)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_a_difference_after_an_abstention_is_over_the_common_queries(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = rag_log(tmp_path / "one.jsonl", ["Paris", "I do not know", "Rome"])
    other = rag_log(tmp_path / "other.jsonl", ["Lyon", "Berlin", "Rome"])
    command = ["explain", one, other, "-m", "Faithfulness", "--system", "one", "--against", "other"]
    assert main([*command, "--format", "json"]) == 0
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    assert [row["query"] for row in table["rows"]] == ["France", "Italy"]
    assert (table["facts"]["n"], table["facts"]["difference"]) == (2, 0.5)
    assert table["sentences"][-1] == "Both means are over the 2 queries with a value for both: other has 1 more."


def test_systems_without_a_common_query_have_no_difference() -> None:
    inputs = input_of(QRELS, {"a": {"q1": RUN["q1"]}, "b": {"q2": RUN["q2"]}}, ["RR"], skip_missing=True)
    with pytest.raises(UsageError, match="a and b have no query with a value of RR in common; compare other systems"):
        explain_difference(inputs, "a", "b", "RR")


def texts_of(texts: dict[str, str]) -> AnalysisInput:
    """An input whose queries and documents have texts."""
    inputs = input_of(QRELS, {"a": RUN}, ["nDCG@10", "RR"])
    queries = Queries([Query(key, text) for key, text in texts.items()])
    return replace(inputs, texts=queries, snippets={"d1": "Vans and trucks · Second hand", "d2": "Cars"})


def test_a_query_is_named_by_its_text() -> None:
    inputs = texts_of({"q1": "Vans  for hire", "q2": "q1", "q3": "cars"})
    for asked, query in (("vans FOR hire", "q1"), ("q1", "q1"), ("q2", "q2")):
        _, (ranking, *_), _ = explain_inputs(inputs, ExplainOptions(query=asked), all_measures=False)
        assert ranking.facts["query"] == query
    with pytest.raises(UsageError, match="no judged query has the id or the text lorries; there is, for example"):
        explain_inputs(inputs, ExplainOptions(query="lorries"), all_measures=False)


def test_a_text_of_several_queries_is_refused_with_their_ids() -> None:
    inputs = texts_of({"q1": "vans", "q2": "Vans", "q3": "cars"})
    with pytest.raises(UsageError) as refused:
        explain_inputs(inputs, ExplainOptions(query="vans"), all_measures=False)
    assert refused.value.command_line_text == "2 queries have the text vans; specify one of their ids with --query: q1, q2"


@pytest.mark.parametrize(("measure", "name"), [("nDCG@10", "explain-ideal"), ("RR", "explain-relevant")])
def test_the_documents_of_an_ideal_ranking_have_their_texts(measure: str, name: str) -> None:
    _, ideal = explain_query(texts_of({"q1": "vans"}), "a", measure, "q1")
    assert ideal.name == name
    assert {row["document"]: row["text"] for row in ideal.records()} == {"d1": "Vans and trucks · Second hand", "d2": "Cars"}
    assert "2 of " in ideal.sentences[0]
    _, bare = explain_query(input_of(QRELS, {"a": RUN}, [measure]), "a", measure, "q1")
    assert "text" not in [column.name for column in bare.columns]


def test_contributions_with_weights_add_up_to_the_weighted_mean() -> None:
    qrels = {f"q{at}": {"d1": 1} for at in range(4)}
    a = {"q0": {"d1": 1.0}, "q1": {"d0": 2.0, "d1": 1.0}, "q2": {"d0": 1.0}, "q3": {"d1": 1.0}}
    b = {"q0": {"d0": 2.0, "d1": 1.0}, "q1": {"d1": 1.0}, "q2": {"d1": 1.0}, "q3": {"d0": 1.0}}
    weights = {"q0": 1.0, "q1": 10.0, "q2": 5.0, "q3": 4.0}
    inputs = input_from_runs(qrels, {"a": a, "b": b}, ["RR"], options=EvaluateOptions(weights=weights))
    mean, difference = explain_mean(inputs, "a", "RR"), explain_difference(inputs, "a", "b", "RR")
    assert {row[0]: row[2] for row in mean.rows} == pytest.approx({"q0": 0.05, "q1": 0.25, "q2": 0.0, "q3": 0.2})
    assert sum(float(str(row[2])) for row in mean.rows) == pytest.approx(mean.facts["value"]) == pytest.approx(0.5)
    assert sum(float(str(row[3])) for row in mean.rows) == pytest.approx(0.0)
    assert mean.sentences[1] == "1 query has value 0; with it at 1, the mean would be 0.7500."
    assert sum(float(str(row[3])) for row in difference.rows) == pytest.approx(difference.facts["difference"])
    assert "2 queries add +0.2250, 2 add -0.5000" in difference.sentences[0]
