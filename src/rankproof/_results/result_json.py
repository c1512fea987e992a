"""The files of a results folder, the shape of its result.json, where a dataclass is an object, and how results become one."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rankproof._data import format_versions
from rankproof._data.claims import Calibration, JudgeNoise
from rankproof._data.replies import ReusedReplies
from rankproof._data.run import Run
from rankproof._evaluation.notes import Note
from rankproof._evaluation.result import MeasureResult, Result, SystemResult
from rankproof._io.escape import escape_json
from rankproof._io.files import RESULTS_FORMAT
from rankproof._io.strict_json import plain_record
from rankproof._results.decision_settings import Completeness, LabelsBy
from rankproof._results.experiment_result import TIME_COLUMNS, ExperimentResult, SystemKind, SystemRun
from rankproof._statistics.options import Looks
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
CASES_FOLDER = "cases"
"""The results of test cases, in a folder of their own."""
DAMAGED_FIX = "the file is damaged: run the experiment again"
CHANGED_FIX = "restore the original file, or run the experiment again"
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
    digest: str | None = None


_INDENTED_LEVELS = 4


def results_document(
    results: ExperimentResult,
    *,
    per_query: bool,
    files: Mapping[str, str | None] | None = None,
    sha256: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The results as plain values; `per_query` adds the values of each query, `files` has the run file of each system, if any."""
    systems = zip(results.system_runs, results.result.systems, strict=True)
    document = ResultDocument(
        format=RESULTS_FORMAT,
        schema=format_versions.RESULTS,
        name=results.name,
        fingerprint=results.fingerprint,
        rel=results.rel,
        judged_only=results.judged_only,
        queries=len(results.result.queries),
        query_ids=results.queries,
        judged_ids=results.result.queries,
        systems=tuple(_system(results, system_run, system, files or {}) for system_run, system in systems),
        chunks=None if results.chunks is None else _values(results.chunks),
        answers=None if results.answers is None else _answers(results, results.answers),
        notes=results.notes,
        provenance=dict(results.provenance),
        decision=DecisionDocument(**asdict(results.decision_settings)),
        sha256=sha256,
    )
    plain: dict[str, Any] = plain_record(document, frozenset() if per_query else PER_QUERY_KEYS)
    return plain


def document_text(value: Mapping[str, Any]) -> str:
    """The document as text: one measure, part of the time or fact a line, numbers at full precision."""
    return escape_json(_indented(value, _INDENTED_LEVELS, "")) + "\n"


def system_gains(results: ExperimentResult, system_run: SystemRun) -> dict[str, float]:
    """The gain over the system that it is compared with in percentage points, for each measure that is a mean from 0 to 1."""
    measures = results.result.systems[0].measures
    gains = {name: results.gain(system_run, name) for name, measure in measures.items() if measure.measure.is_fraction}
    return {name: 100 * gain for name, gain in gains.items() if gain is not None}


def _system(
    results: ExperimentResult, system_run: SystemRun, system: SystemResult, files: Mapping[str, str | None]
) -> SystemDocument:
    return SystemDocument(
        name=system_run.name,
        kind=system_run.kind,
        builds_on=system_run.builds_on,
        gain_over=results.compared_with(system_run),
        measures=_measures(system),
        gain_pp=system_gains(results, system_run),
        times_ms=_times(system_run),
        index=IndexDocument(system_run.index_seconds, system_run.index_bytes),
        throughput=system_run.throughput,
        counts={name: CountDocument(int(values.sum()), values.tolist()) for name, values in system_run.counts.items()},
        money=system_run.money,
        stage=dict(system_run.stage),
        facts=dict(system_run.facts),
        notes=tuple(system.notes),
        remarks=system_run.notes,
        computed=system_run.computed,
        from_cache=system_run.from_cache,
        reused=system_run.reused,
        run=_run(results, system_run.stored_run, files[system_run.name]) if system_run.name in files else None,
        repeat_runs=_repeat_runs(results, system_run, files) if files else None,
    )


def _times(system_run: SystemRun) -> dict[str, TimesDocument]:
    return {part: _part_times(system_run, part) for part in TIME_COLUMNS} if system_run.times else {}


def _part_times(system_run: SystemRun, part: str) -> TimesDocument:
    per_query = [None if math.isnan(time) else time for time in system_run.times[part].tolist()]
    time_ = system_run.time_of(part)
    if time_ is None:
        return TimesDocument(0, None, None, None, None, per_query)
    return TimesDocument(time_.queries, time_.mean, time_.p50, time_.p95, time_.p99, per_query)


def _run(results: ExperimentResult, run: Run | None, file: str | None) -> RunDocument:
    if run is None:
        return RunDocument(None, 0, ())
    ranked = set(run.queries)
    return RunDocument(file, len(run.docs), tuple(query for query in results.queries if query not in ranked))


def _repeat_runs(
    results: ExperimentResult, system_run: SystemRun, files: Mapping[str, str | None]
) -> tuple[RunDocument, ...] | None:
    further = ((name, run) for name, run in system_run.runs.items() if name != system_run.name)
    return tuple(_run(results, run, files[name]) for name, run in further) or None


def _answers(results: ExperimentResult, answers: Result) -> AnswersDocument:
    return AnswersDocument(
        len(answers.queries),
        answers.queries,
        _values(answers),
        dict(results.judged_documents),
        answers.calibrations or None,
        answers.noise or None,
    )


def _values(result: Result) -> tuple[ValuesDocument, ...]:
    return tuple(ValuesDocument(system.name, _measures(system), tuple(system.notes)) for system in result.systems)


def _measures(system: SystemResult) -> dict[str, MeasureDocument]:
    return {name: _measure(measure) for name, measure in system.measures.items()}


def _measure(measure: MeasureResult) -> MeasureDocument:
    value = measure.value if measure.queries else None
    bounds = None if measure.bounds is None else list(measure.bounds)
    return MeasureDocument(value, measure.summary, measure.queries, measure.per_query, dict(measure.counts) or None, bounds)


def _indented(value: Any, levels: int, indent: str) -> str:
    if not levels or not value or not isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    inner = f"{indent} "
    if isinstance(value, dict):
        parts = [
            f"{json.dumps(str(key), ensure_ascii=False)}: {_indented(item, levels - 1, inner)}" for key, item in value.items()
        ]
    elif isinstance(value[0], dict):
        parts = [_indented(item, levels - 1, inner) for item in value]
    else:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n{inner}" + f",\n{inner}".join(parts) + f"\n{indent}{closing}"
