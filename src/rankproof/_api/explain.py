"""`explain` as a function: the parts of a mean, of a query's value, or of a document's score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Unpack, cast

from rankproof._api.options import DataLike, MeasuresOption, RunsLike
from rankproof._data.table import Table
from rankproof._data.validation import checked_integer, public
from rankproof._evaluation.options import EvaluateArguments, ReadArguments
from rankproof._registry import Option
from rankproof.errors import UsageError, for_message

if TYPE_CHECKING:
    from rankproof._analysis.inputs import AnalysisInput
    from rankproof._api.values import Explanation
    from rankproof._data.dataset import Dataset
    from rankproof._data.run import TermPart


@dataclass(frozen=True, slots=True)
class ExplainOptions:
    """What to explain: a system or its difference to another, a query, and the score of a document."""

    system: str | None = None
    against: str | None = None
    query: str | None = None
    doc: str | None = None
    dataset: Dataset | None = None
    top: int | None = None


@public
def explain(
    data: DataLike,
    runs: RunsLike = None,
    measures: MeasuresOption = None,
    *,
    system: Annotated[str | None, Option("the system", metavar="S", unset="the best one")] = None,
    against: Annotated[str | None, Option("explain the difference to this system, not the mean", metavar="S")] = None,
    query: Annotated[str | None, Option("explain the value of this query: its id or its text", metavar="Q")] = None,
    doc: Annotated[str | None, Option("explain the score of this document for the query", metavar="D")] = None,
    dataset: Annotated[
        Any,
        Option(
            "the dataset: texts for run files, and the terms of a BM25 score of a results folder",
            metavar="SOURCE",
            typed=str,
            role="path",
        ),
    ] = None,
    top: Annotated[int | None, Option("rows of each list", least=1, unset="5 queries, 10 documents")] = None,
    **options: Unpack[ReadArguments],
) -> Explanation:
    """What a value is made of: the queries of a mean, the ranks of a query's value, or the parts of a document's score."""
    from rankproof._analysis.run_files import with_system_runs
    from rankproof._api.inputs import analysis_input, dataset_of, with_run_texts, with_value_notes
    from rankproof._api.values import Explanation

    if doc is not None and query is None:
        raise UsageError("--doc needs a query", fix="specify it with --query")
    texts = None if dataset is None else dataset_of(dataset).require("documents")
    asked = ExplainOptions(system, against, _id(query), _id(doc), texts, None if top is None else checked_integer("top", top))
    inputs = analysis_input(data, runs, measures, cast(EvaluateArguments, options))
    inputs = inputs if inputs.system_runs else with_system_runs(with_run_texts(inputs, texts))
    _, tables, _ = explain_inputs(inputs, asked, all_measures=measures is not None)
    return Explanation(with_value_notes(tables, inputs))


def explain_inputs(inputs: AnalysisInput, asked: ExplainOptions, *, all_measures: bool) -> tuple[str, list[Table], list[str]]:
    """The explained system, the tables of the explanation and its notes; without `all_measures`, of the first measure only."""
    from rankproof._analysis.explain.query import query_id
    from rankproof._analysis.inputs import checked_system
    from rankproof._analysis.values import TIE_TOLERANCE, best_system

    measures = list(inputs.result.systems[0].measures)[: None if all_measures else 1]
    asked = asked if asked.query is None else replace(asked, query=query_id(inputs, asked.query))
    if asked.system is not None:
        system = checked_system(inputs, asked.system)
        return system, _tables(inputs, system, measures, asked), []
    values = {system_result.name: system_result.measures[measures[0]] for system_result in inputs.result.systems}
    best = best_system(values)
    tied = sum(abs(value.value - values[best].value) <= TIE_TOLERANCE for value in values.values())
    what = "the best" if tied == 1 else f"the first of {tied} tied for best"
    about = f"explaining {best}, {what} of {len(values)} systems by {measures[0]}; --system names another"
    return best, _tables(inputs, best, measures, asked), [about] if len(values) > 1 else []


def _id(value: object) -> str | None:
    return None if value is None else str(value)


def _tables(inputs: AnalysisInput, system: str, measures: list[str], asked: ExplainOptions) -> list[Table]:
    from rankproof._analysis.explain.answer import explain_answer_value
    from rankproof._analysis.explain.mean import TOP, explain_difference, explain_mean
    from rankproof._analysis.explain.query import ROWS, explain_query
    from rankproof._analysis.inputs import checked_system

    if asked.query is not None and asked.doc is not None:
        return [_score(inputs, system, asked.query, asked.doc, asked.dataset)]
    if asked.query is not None and inputs.result.systems[0].measures[measures[0]].measure.kind == "answer":
        return [table for measure in measures for table in explain_answer_value(inputs, system, asked.query, measure)]
    if asked.query is not None:
        tables_of_measures = [explain_query(inputs, system, measure, asked.query, rows=asked.top or ROWS) for measure in measures]
        return [table for tables in tables_of_measures for table in tables]
    top = asked.top or TOP
    if asked.against is not None:
        against = checked_system(inputs, asked.against)
        return [explain_difference(inputs, system, against, measure, top=top) for measure in measures]
    return [explain_mean(inputs, system, measure, top=top) for measure in measures]


def _score(inputs: AnalysisInput, system: str, query: str, doc: str, dataset: Dataset | None) -> Table:
    from rankproof._analysis.explain.score import explain_score, system_run_of

    terms = _bm25_terms(inputs, system_run_of(inputs, system).stage, query, doc, dataset)
    return explain_score(inputs, system, query, doc, terms)


def _bm25_terms(
    inputs: AnalysisInput, stage: Mapping[str, Any], query: str, doc: str, dataset: Dataset | None
) -> list[TermPart] | None:
    """The contribution of each query term to the score; None for other stages or without the documents."""
    from rankproof._analysis.inputs import check_same_dataset

    if stage.get("kind") != "BM25" or dataset is None or inputs.texts is None or query not in inputs.texts:
        return None
    from rankproof._experiment.cache import MemoryBlockCache
    from rankproof.stages._base import BuildContext
    from rankproof.stages._bm25 import BM25

    check_same_dataset(dataset, dataset.name, inputs)
    if doc not in dataset.corpus:
        raise UsageError(f"the dataset has no document {for_message(doc)}", fix="specify the dataset of the results")
    words = stage["stop_words"]
    bm25 = BM25(
        k1=stage["k1"],
        b=stage["b"],
        language=stage["language"],
        stemming=stage["stemming"],
        stop_words=words if isinstance(words, bool) else tuple(words),
        fields=tuple(stage["fields"]),
        depth=stage["depth"],
        tokens=stage.get("tokens", "words"),
    )
    with MemoryBlockCache(lambda label, done, total: None) as cache:
        searcher = bm25.build(BuildContext(dataset.corpus, dataset.corpus.fingerprint(), cache))
        return searcher.parts(inputs.texts[query].text, doc)
