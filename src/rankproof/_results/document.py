"""The files of a results folder and the shape of its result.json: each dataclass is an object, its fields are the keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rankproof._data.claims import Calibration, JudgeNoise
from rankproof._data.replies import ReusedReplies
from rankproof._evaluation.notes import Note
from rankproof._results.experiment_result import Completeness, LabelsBy, SystemKind
from rankproof._statistics.decision_rule import Looks
from rankproof.errors import UsageError, for_message
from rankproof.measures._base import Measure
from rankproof.measures._parse import MODULE_AND_NAME, parse_measures, split_measures

SUMMARY_FILE = "summary.csv"
DECISION_FILE = "summary.json"
PER_QUERY_FILE = "per_query.csv"
CHUNKS_FILE = "chunks.csv"
EXPERIMENT_FILE = "experiment.toml"
PYTHON_PREFIX = "python:"
"""The prefix of a name in an experiment file for a value made in Python, which a file cannot create."""
QRELS_FILE = "qrels.tsv"
QUERIES_FILE = "queries.jsonl"
SNIPPETS_FILE = "snippets.jsonl"
ANSWERS_FILE = "answers.jsonl"
ANSWERS_CSV_FILE = "answers.csv"
ANSWERS_SUMMARY_FILE = "answers.json"
CLAIMS_FILE = "claims.jsonl"
CONTEXTS_FILE = "contexts.jsonl"
LOOKS_FILE = "looks.jsonl"
"""The log of looks and comparisons."""
REPORT_FILE = "report.html"
RUNS_FOLDER = "runs"
REPLIES_FOLDER = "replies"
DAMAGED_FIX = "the file is damaged: run the experiment again"
PER_QUERY_KEYS = frozenset({"query_ids", "judged_ids", "judged_documents", "per_query"})
"""The keys that hold something for each query or passage."""


def parse_stored_measures(names: str | Iterable[str]) -> list[Measure]:
    """The measures that a data file names: one of Python code is refused, so that reading a file of others runs no code."""
    texts = [names] if isinstance(names, str) else list(names)
    parts = (part.name for name in texts for part in split_measures(name))
    if code := next((name for name in parts if MODULE_AND_NAME.fullmatch(name)), None):
        what = f"{for_message(code)} is Python code, which a file of data cannot name"
        raise UsageError(what, fix="write the name of the measure without its module")
    return parse_measures(texts)


@dataclass(frozen=True, slots=True)
class MeasureDocument:
    """One measure of one system; `value` is null where no query has a value.

    `counts` says why questions have no value, and `bounds` is the mean with all failed questions at 0 and at 1.
    """

    value: float | None
    summary: str
    queries: int
    per_query: Mapping[str, float]
    counts: Mapping[str, int] | None = None
    bounds: list[float] | None = None


@dataclass(frozen=True, slots=True)
class TimesDocument:
    """Milliseconds a query of one part of a system, over the timed queries; null where they are too few.

    `queries` is the number of timed queries; `per_query` has the order of `query_ids`, with null for a query that was not timed.
    """

    queries: int
    mean: float | None
    p50: float | None
    p95: float | None
    p99: float | None
    per_query: list[float | None]


@dataclass(frozen=True, slots=True)
class CountDocument:
    """A count of the calls of language models; `per_query` has the order of `query_ids`."""

    sum: int
    per_query: list[int]


@dataclass(frozen=True, slots=True)
class IndexDocument:
    """What building the indexes of a system took; null where that is unknown."""

    seconds: float | None
    bytes: int | None


@dataclass(frozen=True, slots=True)
class RunDocument:
    """The file of a run, how many rows it has, and the queries that it has no ranking for; null if rankings are not stored."""

    file: str | None
    rows: int
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ValuesDocument:
    """The values of one system at chunk level, or of its answers."""

    name: str
    measures: Mapping[str, MeasureDocument]
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class SystemDocument:
    """One system; `notes` are of its evaluation, `remarks` of its stages. `times_ms` is empty if it was not timed."""

    name: str
    kind: SystemKind
    builds_on: str | None
    gain_over: str | None
    measures: Mapping[str, MeasureDocument]
    gain_pp: Mapping[str, float]
    times_ms: Mapping[str, TimesDocument]
    index: IndexDocument
    throughput: float | None
    counts: Mapping[str, CountDocument]
    money: float
    stage: Mapping[str, Any]
    facts: Mapping[str, Any]
    notes: tuple[Note, ...]
    remarks: tuple[str, ...]
    computed: str
    from_cache: bool
    reused: ReusedReplies | None = None
    run: RunDocument | None = None
    repeat_runs: tuple[RunDocument, ...] | None = None


@dataclass(frozen=True, slots=True)
class AnswersDocument:
    """The measures of answers, over the queries that have a reference, and for claims over all that were answered."""

    queries: int
    judged_ids: tuple[str, ...]
    systems: tuple[ValuesDocument, ...]
    judged_documents: Mapping[str, str]
    calibrations: tuple[Calibration, ...] | None = None
    noise: tuple[JudgeNoise, ...] | None = None


@dataclass(frozen=True, slots=True)
class DecisionDocument:
    """The settings of the decision; null stands for the default."""

    primary: str | None
    margin: float | str | None
    baseline: str | None
    costs: Mapping[str, float]
    labels_by: LabelsBy | None = None
    looks: Looks | None = None
    judgements: Completeness | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultDocument:
    """The whole document."""

    format: str
    schema: int
    name: str
    fingerprint: str
    rel: int
    judged_only: bool
    queries: int
    query_ids: tuple[str, ...]
    judged_ids: tuple[str, ...]
    systems: tuple[SystemDocument, ...]
    chunks: tuple[ValuesDocument, ...] | None = None
    answers: AnswersDocument | None = None
    notes: tuple[str, ...]
    provenance: Mapping[str, Any]
    decision: DecisionDocument
    sha256: Mapping[str, str] | None = None
