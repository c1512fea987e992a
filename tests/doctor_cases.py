"""A clean subject for the doctor, and for each check the same subject with exactly the fault that it looks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rankproof import Corpus, Dataset, Document, Qrels, Queries, Query, Run, evaluate
from rankproof.analysis.doctor import Subject, of_evidence
from rankproof.analysis.evidence import Evidence
from rankproof.data.qrels import Judgement
from rankproof.data.run import RunRow
from rankproof.experiment.rung import Rung

DOCS = [f"d{at:02}" for at in range(1, 31)]
QUERIES = [f"q{at:02}" for at in range(1, 13)]
GRADES = (2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)
DENSE = {
    "model": {"source": "sentence-transformers/all-MiniLM-L6-v2", "max_tokens": 256},
    "store": {"store": "chroma", "exact": False},
    "query_prompt": "",
    "passage_prompt": "",
    "passages": 30,
    "truncated_passages": 1,
    "collapse": 0.2,
    "recall_of_exact": 0.99,
    "recall_depth": 10,
    "recall_queries": 12,
}


@dataclass(frozen=True)
class Material:
    """What a subject is made of."""

    docs: Mapping[str, tuple[str, str]]
    queries: Mapping[str, str]
    qrels: Mapping[str, Mapping[str, int]]
    runs: Mapping[str, Mapping[str, Mapping[str, float]]]
    facts: Mapping[str, Any] = field(default_factory=lambda: DENSE)
    training: Mapping[str, str] = field(default_factory=lambda: {"t1": "whatever was asked in training about other matters"})
    trained_on: Mapping[str, Mapping[str, int]] = field(default_factory=lambda: {"t1": {"d01": 1}})
    upside_down: bool = False
    mark: str = ""


def _near(at: int) -> list[str]:
    """The documents as the query at that place should rank them."""
    return DOCS[at:] + DOCS[:at]


def _scores(order: list[str]) -> dict[str, float]:
    return {doc: float(len(order) - at) for at, doc in enumerate(order)}


def clean() -> Material:
    """Thirty documents, twelve queries with twelve judgements each, and two systems that rank the relevant ones first."""
    ranked = {query: _near(at) for at, query in enumerate(QUERIES)}
    swapped = {query: [order[1], order[0], *order[2:]] for query, order in ranked.items()}
    return Material(
        docs={doc: (f"about {doc}", f"this is what document number {doc} has to say about its matter") for doc in DOCS},
        queries={query: f"how {query}a relates to {query}b and {query}c in practice" for query in QUERIES},
        qrels={query: dict(zip(order, GRADES, strict=False)) for query, order in ranked.items()},
        runs={
            "bm25": {query: _scores(order) for query, order in ranked.items()},
            "dense": {query: _scores(order) for query, order in swapped.items()},
        },
    )


def subject_of(material: Material) -> Subject:
    """The material as the doctor is shown it."""
    qrels = _qrels(material)
    corpus = Corpus(Document(doc, text, title) for doc, (title, text) in material.docs.items())
    queries = Queries(Query(query, text) for query, text in material.queries.items())
    runs = {name: _run(name, scores, upside_down=material.upside_down) for name, scores in material.runs.items()}
    rungs = tuple(_rung(name, run, material.facts if name == "dense" else {}) for name, run in runs.items())
    result = evaluate(qrels, runs, ["nDCG@10", "R@20"])
    evidence = Evidence("case", "f" * 64, qrels, runs, result, texts=queries, rungs=rungs)
    return replace(
        found := of_evidence(evidence, Dataset("case", corpus, queries, qrels)),
        training=Queries(Query(query, text) for query, text in material.training.items()),
        trained_on=Qrels.from_dict(material.trained_on),
        parts=found.parts | {"training queries", "training judgements"},
    )


def _qrels(material: Material) -> Qrels:
    """The judgements, those of the first query by the machine that the mark names."""
    each = ((query, doc, grade) for query, docs in material.qrels.items() for doc, grade in docs.items())
    return Qrels(Judgement(query, doc, grade, mark=material.mark if query == "q01" else "") for query, doc, grade in each)


def _run(name: str, scores: Mapping[str, Mapping[str, float]], *, upside_down: bool) -> Run:
    if not upside_down:
        return Run.from_dict(scores, name=name)
    worst_first = {query: sorted(docs, key=docs.__getitem__) for query, docs in scores.items()}
    rows = [
        RunRow(query, doc, scores[query][doc], rank)
        for query, docs in worst_first.items()
        for rank, doc in enumerate(docs, start=1)
    ]
    return Run.from_rows(rows, name=name)


def _rung(name: str, run: Run, facts: Mapping[str, Any]) -> Rung:
    return Rung(name, "retrieval", {}, run, {}, 0.0, 0, None, None, facts)


def _docs(material: Material, **changed: tuple[str, str]) -> Material:
    return replace(material, docs={**material.docs, **changed})


def _queries(material: Material, **changed: str) -> Material:
    return replace(material, queries={**material.queries, **changed})


def _judged(material: Material, change: Callable[[str, dict[str, int]], dict[str, int]]) -> Material:
    return replace(material, qrels={query: change(query, dict(docs)) for query, docs in material.qrels.items()})


def _ranked(material: Material, change: Callable[[str, dict[str, float]], dict[str, float]], *systems: str) -> Material:
    runs = {
        name: {query: change(query, dict(docs)) for query, docs in run.items()} if name in (systems or ("dense",)) else run
        for name, run in material.runs.items()
    }
    return replace(material, runs=runs)


def _fact(material: Material, **changed: Any) -> Material:
    return replace(material, facts={**material.facts, **changed})


def _backwards(docs: dict[str, float]) -> dict[str, float]:
    """The twelve judged ones in reverse order."""
    ordered = sorted(docs, key=docs.__getitem__, reverse=True)
    return _scores([*ordered[3:12], *ordered[12:], *ordered[:3]])


def _zero_first(query: str) -> dict[str, float]:
    """The document of grade 2 first, then those of grade 0, then those of grade 1."""
    order = _near(QUERIES.index(query))
    return _scores([order[0], *order[3:12], *order[1:3], *order[12:]])


def _one_of_three(query: str) -> dict[str, float]:
    """One relevant document in the top 10 of every query, as a random ranking of thirty has on average, the best one first."""
    order = _near(QUERIES.index(query))
    return _scores([order[0], *order[3:12], order[12], *order[1:3], *order[13:]])


def _unjudged_first(docs: dict[str, float]) -> dict[str, float]:
    ordered = sorted(docs, key=docs.__getitem__, reverse=True)
    return _scores([*ordered[12:], *ordered[:12]])


def _without(docs: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in docs.items() if key != name}


def _missing_query(material: Material, other: str | None = None) -> Material:
    run = material.runs["dense"]
    kept = _without(run, "q01") | ({other: run["q01"]} if other else {})
    return replace(material, runs={**material.runs, "dense": kept})


@dataclass(frozen=True)
class Case:
    """A fault, and the other checks that see it too."""

    fault: Callable[[Material], Material]
    also: tuple[str, ...] = ()


CASES: Mapping[str, Case] = {
    "dangling-documents": Case(lambda made: _judged(made, lambda query, docs: {**docs, "ghost": 2} if query == "q01" else docs)),
    "unknown-documents": Case(lambda made: _ranked(made, lambda query, docs: {**docs, "ghost": -1.0})),
    "mismatched-ids": Case(lambda made: _missing_query(made, "Q 001"), also=("missing-queries",)),
    "queries-without-text": Case(lambda made: _queries(made, q01="  ")),
    "reversed-grades": Case(
        lambda made: _judged(made, lambda query, docs: {doc: 2 - grade for doc, grade in docs.items()}),
    ),
    "zeros-on-top": Case(
        lambda made: _ranked(made, lambda query, docs: _zero_first(query), "bm25", "dense"), also=("random-level",)
    ),
    "worse-than-random": Case(lambda made: _ranked(made, lambda query, docs: _backwards(docs))),
    "random-level": Case(lambda made: _ranked(made, lambda query, docs: _one_of_three(query), "dense")),
    "scores-like-distances": Case(lambda made: replace(made, upside_down=True)),
    "constant-scores": Case(
        lambda made: _ranked(made, lambda query, docs: dict.fromkeys(docs, 1.0)), also=("shallow-pool", "worse-than-random")
    ),
    "nothing-judged": Case(
        lambda made: _ranked(made, lambda query, docs: _unjudged_first(docs)), also=("worse-than-random", "shallow-pool")
    ),
    "embedding-collapse": Case(lambda made: _fact(made, collapse=0.98)),
    "untrained-encoder": Case(lambda made: _fact(made, model={**made.facts["model"], "training": "none"})),
    "not-for-retrieval": Case(lambda made: _fact(made, model={**made.facts["model"], "training": "language model"})),
    "trained-on-test-queries": Case(
        lambda made: replace(made, training={"t1": "How Q01a relates  to q01b, and q01c in practice"}),
    ),
    "trained-on-test-pairs": Case(lambda made: replace(made, trained_on={"q01": {"d01": 2}})),
    "alike-ids": Case(lambda made: _docs(made, D01=("another", "a document of its own with enough words"))),
    "empty-documents": Case(lambda made: _docs(made, e1=(" ", "\n"))),
    "duplicate-documents": Case(lambda made: _docs(made, e1=("About  D01", made.docs["d01"][1].upper()))),
    "query-is-document": Case(lambda made: _docs(made, e1=("How q01a relates to q01b and Q01C in practice", "many words on it"))),
    "repeated-queries": Case(lambda made: _queries(made, q02=made.queries["q01"].upper())),
    "queries-without-relevant": Case(
        lambda made: _judged(made, lambda query, docs: dict.fromkeys(docs, 0) if query == "q01" else docs)
    ),
    "machine-judgements": Case(lambda made: replace(made, mark="llm:small:0123abcd")),
    "missing-queries": Case(_missing_query),
    "shallow-rankings": Case(
        lambda made: _ranked(made, lambda query, docs: {doc: score for doc, score in docs.items() if score > 18}),
    ),
    "shallow-pool": Case(
        lambda made: _judged(made, lambda query, docs: {doc: docs[doc] for doc in list(docs)[:4]}),
    ),
    "missing-prompt": Case(lambda made: _fact(made, model={"source": "intfloat/multilingual-e5-small"})),
    "low-recall": Case(lambda made: _fact(made, recall_of_exact=0.61)),
    "truncated-passages": Case(lambda made: _fact(made, truncated_passages=12)),
    "near-empty-documents": Case(lambda made: _docs(made, e1=("", "two words"))),
    "queries-without-judgements": Case(lambda made: _queries(made, q99="an additional question that nobody has judged")),
    "one-grade": Case(lambda made: _judged(made, lambda query, docs: dict.fromkeys(docs, 1))),
    "short-rankings": Case(
        lambda made: _ranked(
            made,
            lambda query, docs: {doc: score for doc, score in docs.items() if score > 18} if query == "q01" else docs,
        )
    ),
}
