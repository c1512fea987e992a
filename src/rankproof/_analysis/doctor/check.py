"""A check, its input and result; `@doctor_check` registers one. Each check breaks `clean_example` to get a finding."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from rankproof._align.hits import Hits
from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.traffic.drift import SampleCheck
from rankproof._data.arrays import id_hash
from rankproof._data.corpus import Corpus, Document
from rankproof._data.dataset import Dataset, Queries, Query
from rankproof._data.qrels import Judgement, Qrels
from rankproof._data.run import Run, RunRow
from rankproof._evaluation.evaluate import evaluate
from rankproof._evaluation.notes import Note
from rankproof._evaluation.options import EvaluateOptions
from rankproof._evaluation.sources import align, prepare_judgements
from rankproof._registry import RecordTable
from rankproof._results.experiment_result import SystemRun
from rankproof.errors import for_message

InputPart = Literal[
    "documents", "corpus size", "queries", "judgements", "rankings", "stages", "training queries", "training judgements", "log"
]
INPUT_PARTS: tuple[InputPart, ...] = get_args(InputPart)


@dataclass(frozen=True, eq=False)
class DoctorInput:
    """The data and runs to check; `parts` lists what is available, and any other part is empty.

    `size` is the corpus size, 0 if unknown; `cutoff` is the deepest of the measures, None if none has one.
    """

    name: str
    parts: frozenset[InputPart]
    corpus: Corpus = field(default_factory=lambda: Corpus(()))
    size: int = 0
    queries: Queries = field(default_factory=lambda: Queries(()))
    qrels: Qrels = field(default_factory=lambda: Qrels(iter(())))
    runs: Mapping[str, Run] = field(default_factory=dict)
    notes: Mapping[str, tuple[Note, ...]] = field(default_factory=dict)
    system_runs: tuple[SystemRun, ...] = ()
    evaluated_queries: tuple[str, ...] = ()
    cutoff: int | None = None
    rel: int = 1
    options: EvaluateOptions = field(default_factory=EvaluateOptions)
    training: Queries = field(default_factory=lambda: Queries(()))
    trained_on: Qrels = field(default_factory=lambda: Qrels(iter(())))
    traffic: SampleCheck | None = None

    @cached_property
    def hits(self) -> Mapping[str, Hits]:
        """The ranks of the judged documents in each system."""
        judged = prepare_judgements(self.qrels, self.options)
        return {name: align(judged, run, name, self.options) for name, run in self.runs.items()}


def doctor_input_from_dataset(dataset: Dataset, *, rel: int = 1) -> DoctorInput:
    """A dataset without runs."""
    documents, judged = dataset.has_documents, dataset.is_judged
    available: dict[InputPart, bool] = {"documents": documents, "corpus size": documents, "queries": True, "judgements": judged}
    parts = frozenset(part for part, there in available.items() if there)
    return DoctorInput(dataset.name, parts, dataset.corpus, len(dataset.corpus), dataset.queries, dataset.qrels, rel=rel)


def doctor_input_from_analysis(inputs: AnalysisInput, dataset: Dataset | None = None) -> DoctorInput:
    """Evaluated systems, with the dataset if available."""
    documents = dataset is not None and dataset.has_documents
    size = 0 if inputs.read_options.judged_only else len(dataset.corpus) if dataset and documents else inputs.documents or 0
    available: dict[InputPart, bool] = {
        "documents": documents,
        "corpus size": size > 0,
        "queries": dataset is not None or inputs.texts is not None,
        "judgements": True,
        "rankings": True,
        "stages": bool(inputs.system_runs),
    }
    return DoctorInput(
        inputs.name,
        frozenset(part for part, is_available in available.items() if is_available),
        corpus=dataset.corpus if dataset else Corpus(()),
        size=size,
        queries=dataset.queries if dataset else inputs.texts or Queries(()),
        qrels=inputs.qrels,
        runs=inputs.runs,
        notes=inputs.result.notes,
        system_runs=inputs.system_runs,
        evaluated_queries=inputs.result.queries,
        cutoff=_deepest(inputs),
        rel=inputs.rel,
        options=inputs.options,
    )


def _deepest(inputs: AnalysisInput) -> int | None:
    measures = inputs.result.systems[0].measures.values()
    cutoffs = [measure.measure.parameters().get("cutoff") for measure in measures]
    return max((cutoff for cutoff in cutoffs if isinstance(cutoff, int)), default=None)


Severity = Literal["severe", "warning", "hint"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
MAX_EXAMPLES = 10


@dataclass(frozen=True, slots=True)
class CheckResult:
    """How many of how many items have a fault, in a sentence, with escaped examples."""

    count: int = 0
    of: int | None = None
    sentence: str = ""
    examples: tuple[str, ...] = ()


NOTHING_FOUND = CheckResult()
Examine = Callable[[DoctorInput], CheckResult]
Broken = Callable[["Example"], "Example"]


@dataclass(frozen=True, slots=True)
class SystemFault:
    """The fault of one system: how many of how many items, and a text with numbers."""

    system: str
    count: int
    of: int
    text: str


@dataclass(frozen=True, slots=True)
class Check:
    """A check of data or rankings.

    `needs` are the parts that it requires, `advice` says how to fix a finding. `broken` turns the clean example into one with a
    finding of this check; `also` names other checks that have a finding there, or in whose example this check has one.
    """

    name: str
    severity: Severity
    summary: str
    advice: str
    needs: tuple[InputPart, ...]
    examine: Examine
    broken: Broken
    also: tuple[str, ...] = ()


_TABLE: RecordTable[Check] = RecordTable(
    "check",
    "rankproof.doctor_checks",
    f"{__package__}.checks",
    first=("documents", "queries", "judgements", "rankings", "encoders"),
)


def all_checks() -> tuple[Check, ...]:
    """Every check, severe ones first."""
    return tuple(sorted(_TABLE.values(), key=lambda check: SEVERITIES.index(check.severity)))


def doctor_check(
    name: str,
    severity: Severity,
    summary: str,
    *,
    advice: str,
    needs: tuple[InputPart, ...],
    broken: Broken,
    also: tuple[str, ...] = (),
) -> Callable[[Examine], Examine]:
    """Registers a function as a check; `summary` says what it looks for."""
    if unknown := [part for part in needs if part not in INPUT_PARTS]:
        known = ", ".join(INPUT_PARTS)
        raise ValueError(f"the check {name} needs {unknown[0]}, which is no part of the input; choose among {known}")

    def register(examine: Examine) -> Examine:
        _TABLE.add(Check(name, severity, summary, advice, needs, examine, broken, also), examine.__module__)
        return examine

    return register


def check_result(examples: Sequence[str], of: int | None, sentence: str, *, count: int | None = None) -> CheckResult:
    """A result with the first examples escaped; an empty one without examples."""
    if not examples:
        return NOTHING_FOUND
    return CheckResult(len(examples) if count is None else count, of, sentence, tuple(map(for_message, examples[:MAX_EXAMPLES])))


def count_with_verb(count: int, singular: str, plural: str) -> str:
    """A count followed by its singular or plural text."""
    return f"{count} {singular if count == 1 else plural}"


def result_of_systems(lead: str, faults: Iterable[SystemFault]) -> CheckResult:
    """A result over systems: the fault, then the text of each system, with counts added up."""
    listed = list(faults)
    sentence = f"{lead}: " + "; ".join(f"{for_message(fault.system)} {fault.text}" for fault in listed)
    count, of = sum(fault.count for fault in listed), sum(fault.of for fault in listed)
    return check_result([fault.system for fault in listed], of, sentence, count=count)


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
    "case_cosine": 0.4,
    "recall_of_exact": 0.99,
    "recall_depth": 10,
    "recall_queries": 12,
}


@dataclass(frozen=True)
class Example:
    """A dataset, its systems and its training data as plain values.

    A document is a title and a text; `facts` are those of the dense system. `judge` is the judge label of the first query's
    judgements; `worst_first` assigns rank 1 to the lowest score. `traffic_stands` says whether the queries still stand for a log.
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
    traffic_stands: bool = True

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
        traffic=SampleCheck(example.traffic_stands, ("12% of the traffic is in queries that are new",), (), (), {}),
        parts=checked.parts | {"training queries", "training judgements", "log"},
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


_WORD = re.compile(r"\w+")
_ZEROS = re.compile(r"(?<![0-9])0+(?=[0-9])")


def normalised_text(text: str) -> str:
    """The text without differences in case, white space and Unicode form."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def repeated_positions(texts: Iterable[str], count: int) -> list[int]:
    """The positions of texts that occur more than once, by their hash, so that no text stays in memory."""
    hashes = np.fromiter((id_hash(text.encode(errors="surrogatepass")) for text in texts), np.uint64, count)
    _, which, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    positions: list[int] = np.flatnonzero(counts[which] > 1).tolist()
    return positions


def words_of(text: str) -> list[str]:
    """The normalised words without punctuation."""
    return _WORD.findall(normalised_text(text))


def normalised_id(name: str) -> str:
    """The id without differences in case, white space and Unicode form."""
    return "".join(unicodedata.normalize("NFKC", name).casefold().split())


def normalised_id_or_number(name: str) -> str:
    """The normalised id without leading zeros of numbers."""
    return _ZEROS.sub("", normalised_id(name))
