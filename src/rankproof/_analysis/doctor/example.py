"""A small clean dataset with two systems and no findings; each check breaks it to get a finding."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rankproof._analysis.doctor.check import DoctorInput, doctor_input_from_analysis
from rankproof._analysis.inputs import AnalysisInput
from rankproof._data.dataset import Corpus, Dataset, Document, Queries, Query
from rankproof._data.qrels import Judgement, Qrels
from rankproof._data.run import Run, RunRow
from rankproof._evaluation.evaluate import evaluate
from rankproof._results.experiment_result import SystemRun

Grades = dict[str, int]
Scores = dict[str, float]

_DOCUMENTS = [f"d{at:02}" for at in range(1, 31)]
_QUERIES = [f"q{at:02}" for at in range(1, 13)]
_GRADES = (2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)
DENSE_FACTS: Mapping[str, Any] = {
    "model": {"source": "sentence-transformers/all-MiniLM-L6-v2", "max_tokens": 256},
    "store": {"store": "chroma", "exact": False},
    "query_prompt": "",
    "passage_prompt": "",
    "passages": 30,
    "truncated_passages": 1,
    "mean_cosine": 0.2,
    "recall_of_exact": 0.99,
    "recall_depth": 10,
    "recall_queries": 12,
}


@dataclass(frozen=True)
class Example:
    """A dataset, its systems and its training data as plain values.

    A document is a title and a text; `facts` are those of the dense system. `judge` is the judge label of the first query's
    judgements; `worst_first` assigns rank 1 to the lowest score.
    """

    documents: Mapping[str, tuple[str, str]]
    queries: Mapping[str, str]
    judgements: Mapping[str, Grades]
    runs: Mapping[str, Mapping[str, Scores]]
    facts: Mapping[str, Any] = field(default_factory=lambda: DENSE_FACTS)
    training_queries: Mapping[str, str] = field(default_factory=lambda: {"t1": "a question that occurs only in training"})
    training_judgements: Mapping[str, Grades] = field(default_factory=lambda: {"t1": {"d01": 1}})
    judge: str = ""
    worst_first: bool = False

    def with_documents(self, **changed: tuple[str, str]) -> Example:
        """The example with changed or added documents."""
        return replace(self, documents={**self.documents, **changed})

    def with_queries(self, **changed: str) -> Example:
        """The example with changed or added query texts."""
        return replace(self, queries={**self.queries, **changed})

    def with_grades(self, change: Callable[[Grades], Grades], *queries: str) -> Example:
        """The example with changed judgements of these queries, by default of all."""
        changed = {query: change(dict(self.judgements[query])) for query in queries or self.judgements}
        return replace(self, judgements={**self.judgements, **changed})

    def with_scores(self, change: Callable[[Scores], Scores], *queries: str, system: str = "dense") -> Example:
        """The example with changed scores of a system for these queries, by default for all."""
        run = self.runs[system]
        changed = {query: change(dict(run[query])) for query in queries or run}
        return replace(self, runs={**self.runs, system: {**run, **changed}})

    def with_order(self, arrange: Callable[[list[str]], list[str]], *, system: str = "dense") -> Example:
        """The example with another order of a system's documents; `arrange` gets them best first."""
        ranked = {query: _scores(arrange(_best_first(at))) for at, query in enumerate(self.runs[system])}
        return replace(self, runs={**self.runs, system: ranked})

    def with_facts(self, **changed: Any) -> Example:
        """The example with changed facts of the dense system."""
        return replace(self, facts={**self.facts, **changed})

    def with_renamed_query(self, query: str, name: str | None) -> Example:
        """The example with a query of the dense system renamed, or removed if `name` is None."""
        run = dict(self.runs["dense"])
        scores = run.pop(query)
        return replace(self, runs={**self.runs, "dense": run if name is None else {**run, name: scores}})


def clean_example() -> Example:
    """Thirty documents, twelve queries with twelve judgements each, and two systems with the relevant documents on top."""
    ranked = {query: _best_first(at) for at, query in enumerate(_QUERIES)}
    swapped = {query: [order[1], order[0], *order[2:]] for query, order in ranked.items()}
    return Example(
        documents={doc: (f"about {doc}", f"this is the text of document number {doc} about its topic") for doc in _DOCUMENTS},
        queries={query: f"how {query}a relates to {query}b and {query}c in practice" for query in _QUERIES},
        judgements={query: dict(zip(order, _GRADES, strict=False)) for query, order in ranked.items()},
        runs={
            "bm25": {query: _scores(order) for query, order in ranked.items()},
            "dense": {query: _scores(order) for query, order in swapped.items()},
        },
    )


def example_input(example: Example) -> DoctorInput:
    """The example as the input of the checks."""
    qrels = _qrels(example)
    corpus = Corpus(Document(doc, text, title) for doc, (title, text) in example.documents.items())
    queries = Queries(Query(query, text) for query, text in example.queries.items())
    runs = {name: _run(name, scores, worst_first=example.worst_first) for name, scores in example.runs.items()}
    system_runs = tuple(_system_run(name, run, example.facts if name == "dense" else {}) for name, run in runs.items())
    result = evaluate(qrels, runs, ["nDCG@10", "R@20"])
    inputs = AnalysisInput("example", "f" * 64, qrels, runs, result, texts=queries, system_runs=system_runs)
    checked = doctor_input_from_analysis(inputs, Dataset("example", corpus, queries, qrels))
    return replace(
        checked,
        training=Queries(Query(query, text) for query, text in example.training_queries.items()),
        trained_on=Qrels.from_dict(example.training_judgements),
        parts=checked.parts | {"training queries", "training judgements"},
    )


def _best_first(at: int) -> list[str]:
    """The documents in the ideal order of the query at that index: three relevant, nine of grade 0, then unjudged."""
    return _DOCUMENTS[at:] + _DOCUMENTS[:at]


def _scores(order: list[str]) -> Scores:
    return {doc: float(len(order) - at) for at, doc in enumerate(order)}


def _qrels(example: Example) -> Qrels:
    first = next(iter(example.judgements), None)
    return Qrels(
        Judgement(query, doc, grade, judge_label=example.judge if query == first else "")
        for query, docs in example.judgements.items()
        for doc, grade in docs.items()
    )


def _run(name: str, scores: Mapping[str, Scores], *, worst_first: bool) -> Run:
    if not worst_first:
        return Run.from_dict(scores, name=name)
    ordered = {query: sorted(docs, key=docs.__getitem__) for query, docs in scores.items()}
    rows = [
        RunRow(query, doc, scores[query][doc], rank) for query, docs in ordered.items() for rank, doc in enumerate(docs, start=1)
    ]
    return Run.from_rows(rows, name=name)


def _system_run(name: str, run: Run, facts: Mapping[str, Any]) -> SystemRun:
    return SystemRun(name, "retrieval", {}, run, {}, 0.0, 0, None, None, facts)
