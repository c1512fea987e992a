"""A saved baseline and its JSON file."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from rankproof._analysis.compare.decision_data import only_systems
from rankproof._analysis.compare.joined_values import answer_values, unanswerable_questions, with_first_answers
from rankproof._analysis.compare.unjudged_documents import USUAL_DEPTH, top_lists
from rankproof._analysis.compare.value_judge import judge_of_values
from rankproof._analysis.inputs import AnalysisInput, checked_system, different_data
from rankproof._data import format_versions
from rankproof._data.answers import Answers
from rankproof._data.run import Run
from rankproof._evaluation.options import USUAL_PRIMARY
from rankproof._evaluation.result import MeasureResult
from rankproof._io.escape import escape_json
from rankproof._io.file_errors import MISSING, missing_fix
from rankproof._io.open import decode_line, open_source, read_all_bytes
from rankproof._io.strict_json import JsonObject, parse_strict_json, plain_record
from rankproof._results.result_json import parse_stored_measures
from rankproof.errors import InputError, UsageError
from rankproof.measures._base import Measure
from rankproof.measures._parse import parse_measure

MISSING_KINDS = ("no_answer", "abstained", "unknown")
"""What people lack for a question, as `MissingValues` has it."""


@dataclass(frozen=True, slots=True)
class LabelledValues:
    """People's values of the questions of a random draw that they labelled, and the judge's of the same answers.

    `missing` says what people lack for a question: no_answer, abstained or unknown. `share` is the share of all questions that
    are abstained or unknown.
    """

    values: Mapping[str, float]
    judged: Mapping[str, float]
    missing: Mapping[str, str] = field(default_factory=dict)
    share: float = 0.0


@dataclass(frozen=True, slots=True)
class PartlyAnswered:
    """The values of the repeated answers to a question, and why some of the answers have no value of their own."""

    values: tuple[float, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True, eq=False, slots=True)
class SavedValues:
    """One system: measure to query to value, and the judged queries missing from its run.

    `digest` is that of its rankings or answers, empty if they are not known. `reasons` says by measure why a query has no value,
    `partly` has the queries of which only some repeated answers have one, `people` has the labels that check the judge of a
    measure. `tops` has the first `depth` documents of each query.
    """

    name: str
    measures: Mapping[str, Mapping[str, float]]
    missing: frozenset[str] = frozenset()
    digest: str = ""
    reasons: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    people: Mapping[str, LabelledValues] = field(default_factory=dict)
    tops: Mapping[str, Sequence[str]] = field(default_factory=dict)
    depth: int = 0
    partly: Mapping[str, Mapping[str, PartlyAnswered]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, slots=True)
class Baseline:
    """Saved values of systems, with the data, read options, version and time.

    `fingerprint` is that of the dataset, empty for run files. `weights` are those of the queries, empty if all count equally.
    `judges` has the machine judges of each measure with their digests, if it has any. `anchor` has the first saved values of
    systems that were saved again, and `alarm` the systems that lost too much against it, each with the measure.
    """

    name: str
    fingerprint: str
    qrels_fingerprint: str
    rel: int
    read_options: Mapping[str, Any]
    weights: Mapping[str, float]
    systems: tuple[SavedValues, ...]
    version: str
    made: str
    anchor: tuple[SavedValues, ...] = ()
    alarm: tuple[tuple[str, str], ...] = ()
    judges: Mapping[str, str] = field(default_factory=dict)

    def anchor_of(self, system: str) -> SavedValues | None:
        """The first saved values of a system, or of the only one; None if these are the first."""
        if len(self.systems) == len(self.anchor) == 1:
            return self.anchor[0]
        return next((saved for saved in self.anchor if saved.name == system), None)

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures, the same for every system."""
        return tuple(self.systems[0].measures)


def make_baseline(inputs: AnalysisInput, *, version: str, made: str, systems: Collection[str] = ()) -> Baseline:
    """A baseline of all systems, or of the named ones."""
    chosen = chosen_systems(inputs, systems)
    return Baseline(
        name=inputs.name,
        fingerprint=inputs.fingerprint,
        qrels_fingerprint=inputs.qrels_fingerprint,
        rel=inputs.rel,
        read_options=reading_facts(inputs),
        weights=inputs.result.weights or {},
        systems=tuple(_with_tops(inputs, saved_values(inputs, name)) for name in chosen),
        version=version,
        made=made,
        judges=judges_of(inputs),
    )


def judges_of(inputs: AnalysisInput) -> dict[str, str]:
    """The machine judges behind each measure with values of one, by name and digest."""
    judges = {
        name: judge_of_values(inputs, measured.measure, measured.query_ids)
        for name, measured in inputs.result.systems[0].measures.items()
    }
    labels = ", ".join(sorted({claim.judge for claim in inputs.result.claims}))
    return {
        name: labels if parse_measure(name).kind == "answer" and labels else judge
        for name, judge in judges.items()
        if judge is not None
    }


def chosen_systems(inputs: AnalysisInput, names: Collection[str]) -> tuple[str, ...]:
    """The named systems, or all."""
    wanted = {checked_system(inputs, name) for name in names}
    return tuple(name for name in inputs.systems if not wanted or name in wanted)


def saved_values(inputs: AnalysisInput, name: str) -> SavedValues:
    """The values of one system, and the judged queries missing from its run; a question without a value has no answer."""
    values = inputs.result.per_query(name)
    if any(parse_measure(measure).kind == "answer" for measure in values):
        answers = next((run.answers for run in inputs.system_runs if run.name == name), None)
        stored = next(system for system in inputs.result.systems if system.name == name).measures
        reasons = {measure: dict(measured.reasons) for measure, measured in stored.items() if measured.reasons}
        people = {measure: labels for measure in values if (labels := _people(inputs, name, measure)) is not None}
        return SavedValues(
            name,
            values,
            digest="" if answers is None else _answers_digest(answers),
            reasons=reasons,
            people=people,
            partly={measure: _partly_answered(measured) for measure, measured in stored.items() if measured.repeat_reasons},
        )
    run = inputs.runs[name]
    return SavedValues(name, values, frozenset(inputs.result.queries).difference(run.queries), _rankings_digest(run))


def _partly_answered(measured: MeasureResult) -> dict[str, PartlyAnswered]:
    return {
        query: PartlyAnswered(tuple(measured.repeats[query].tolist()), reasons)
        for query, reasons in measured.repeat_reasons.items()
    }


def _people(inputs: AnalysisInput, name: str, measure: str) -> LabelledValues | None:
    """People's values of a measure of answers by the labels in the results folder; None without labels that can correct it."""
    from rankproof._analysis.compare.people_labels import people_values

    if not inputs.labels:
        return None
    own = only_systems(inputs, [name])
    joined = with_first_answers(answer_values(own.result, measure, unanswerable_questions(inputs)), own.result)
    people = people_values(own, joined)
    if people is None or people.values is None or people.means is not None or not people.questions:
        return None
    places = {query: row for row, query in enumerate(joined.queries)}
    judged = joined.values[0, [places[question] for question in people.questions], 0]
    values, by_judge = (dict(zip(people.questions, column.tolist(), strict=True)) for column in (people.values[:, 0], judged))
    if people.missing is None:
        return LabelledValues(values, by_judge)
    lacks = {kind: getattr(people.missing, kind)[:, 0] for kind in MISSING_KINDS}
    missing = {people.questions[row]: kind for kind, column in lacks.items() for row in np.flatnonzero(column).tolist()}
    share = 0.0 if people.missing.shares is None else float(people.missing.shares[0])
    return LabelledValues(values, by_judge, missing, share)


def _with_tops(inputs: AnalysisInput, system: SavedValues) -> SavedValues:
    """The values of a system with rankings, and the documents that the usual primary measure of the gate looks at."""
    primary = usual_primary(inputs, list(system.measures))
    depth = None if primary is None else getattr(parse_measure(primary), "cutoff", None)
    if depth is None or system.name not in inputs.runs or inputs.read_options.judged_only:
        return system
    # A pool of judged documents may be deeper than the measure.
    depth = max(int(depth), USUAL_DEPTH)
    tops = top_lists(inputs.runs[system.name], inputs.read_options, inputs.result.queries, depth)
    return replace(system, tops=tops, depth=depth)


def usual_primary(inputs: AnalysisInput, measures: Sequence[str]) -> str | None:
    """The measure that can fail the gate if none is named: that of the experiment, nDCG@10, or the first that ranks systems."""
    able = [name for name in measures if parse_measure(name).has_winner]
    usual = [name for name in (inputs.decision_settings.primary, USUAL_PRIMARY) if name in able]
    return next(iter([*usual, *able]), None)


def _answers_digest(answers: Answers) -> str:
    """A digest of all answers; systems with the same digest gave the same answers."""
    rows = sorted((query, number, answer.text, answer.cited, answer.state) for query, number, answer in answers.with_repeats())
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


def _rankings_digest(run: Run) -> str:
    """A digest of the documents of each query by score; runs with the same digest have the same rankings."""
    spans = zip(run.offsets[:-1].tolist(), run.offsets[1:].tolist(), strict=True)
    digest = hashlib.sha256()
    for query, (start, end) in sorted(zip(run.queries, spans, strict=True)):
        docs, order = run.docs[start:end], np.argsort(-run.scores[start:end], kind="stable").tolist()
        digest.update("\n".join((query, *(docs[at] for at in order), "")).encode())
    return digest.hexdigest()


def reading_facts(inputs: AnalysisInput) -> dict[str, Any]:
    """The read options that values depend on."""
    return {name: value for name, value in asdict(inputs.read_options).items() if name != "threads"}


def different_settings(new: Baseline, other: Baseline) -> str:
    """Which data or settings of two baselines differ, so that their values are not comparable; empty if none."""
    prints = [(baseline.qrels_fingerprint, baseline.fingerprint) for baseline in (new, other)]
    if differs := different_data(*prints):
        return f"other data ({differs})"
    if any(new.judges.get(name) != other.judges.get(name) for name in new.measures if name in other.measures):
        return "another judge"
    same = new.rel == other.rel and dict(new.read_options) == dict(other.read_options) and new.weights == other.weights
    return "" if same else "another --rel, or other read options or weights"


FORMAT = "rankproof-baseline"
_ROUNDING = 1e-9
_SAVE_AGAIN = "the file is damaged or was edited: save the baseline again with rankproof gate --save FILE"


@dataclass(frozen=True, slots=True)
class _MeasureDocument:
    """The values of a measure; `people` is an empty object without labels."""

    value: float
    per_query: Mapping[str, float]
    reasons: Mapping[str, str]
    people: Mapping[str, Any]
    partly: Mapping[str, PartlyAnswered]


@dataclass(frozen=True, slots=True)
class _SystemDocument:
    """One system."""

    name: str
    missing: tuple[str, ...]
    digest: str
    measures: Mapping[str, _MeasureDocument]
    depth: int
    tops: Mapping[str, list[str]]


@dataclass(frozen=True, slots=True)
class _AlarmDocument:
    """A system that lost too much against the anchor, with the measure."""

    system: str
    measure: str


@dataclass(frozen=True, slots=True)
class _BaselineDocument:
    """The whole file; `rankproof` is the version that wrote it."""

    format: str
    schema: int
    rankproof: str
    made: str
    name: str
    fingerprint: str
    qrels_fingerprint: str
    rel: int
    read_options: Mapping[str, Any]
    weights: Mapping[str, float]
    systems: tuple[_SystemDocument, ...]
    anchor: tuple[_SystemDocument, ...]
    alarm: tuple[_AlarmDocument, ...]
    judges: Mapping[str, str]


def baseline_json(baseline: Baseline) -> str:
    """The baseline as JSON, numbers at full precision."""
    document = _BaselineDocument(
        format=FORMAT,
        schema=format_versions.BASELINE,
        rankproof=baseline.version,
        made=baseline.made,
        name=baseline.name,
        fingerprint=baseline.fingerprint,
        qrels_fingerprint=baseline.qrels_fingerprint,
        rel=baseline.rel,
        read_options=dict(baseline.read_options),
        weights=dict(baseline.weights),
        systems=tuple(_system_document(system, baseline.weights) for system in baseline.systems),
        anchor=tuple(_system_document(system, baseline.weights) for system in baseline.anchor),
        alarm=tuple(_AlarmDocument(system, measure) for system, measure in baseline.alarm),
        judges=dict(baseline.judges),
    )
    return escape_json(json.dumps(plain_record(document), ensure_ascii=False, indent=1, allow_nan=False)) + "\n"


def read_baseline(path: str, *, how_to_save: str) -> Baseline:
    """The baseline in a file; if there is none, the error says how to save one."""
    try:
        text = decode_line(read_all_bytes(open_source(path)), 1, path)
    except InputError as error:
        if error.what != MISSING:
            raise
        fix = f"save one: {how_to_save}"
        near = missing_fix(path, "")
        raise InputError(error.what, fix=f"{near} Otherwise {fix}" if near else fix, source=path) from None
    return parse_baseline(text, path)


def parse_baseline(text: str, source: str) -> Baseline:
    """Parses a baseline."""
    values = JsonObject(parse_strict_json(text, source=source), source)
    if values.plain.get("format") != FORMAT:
        raise values.error("this is not a baseline", "pass a file that rankproof gate --save FILE wrote")
    try:
        return _baseline(values)
    except InputError as error:
        raise InputError(error.what, fix=error.fix if "format version" in error.what else _SAVE_AGAIN, source=source) from None


def _baseline(values: JsonObject) -> Baseline:
    if (stored := values.member("schema", int)) != (supported := format_versions.BASELINE):
        fix = format_versions.other_version_fix(stored, supported, "save it again with rankproof gate --save FILE")
        raise values.error(format_versions.other_version(stored, supported), fix)
    document = values.read(_BaselineDocument)
    if not all(math.isfinite(weight) and weight >= 0 for weight in document.weights.values()):
        raise values.error("a weight is not a finite number of at least 0")
    names = {system.name for system in document.systems}
    measures = {tuple(system.measures) for system in document.systems}
    if not names or len(names) < len(document.systems) or len(measures) > 1:
        raise values.error("systems are missing, have the same name, or have different measures")
    systems, anchor = (
        tuple(_saved_values(system, document.weights, values) for system in part) for part in (document.systems, document.anchor)
    )
    return Baseline(
        name=document.name,
        fingerprint=document.fingerprint,
        qrels_fingerprint=document.qrels_fingerprint,
        rel=document.rel,
        read_options=document.read_options,
        weights=document.weights,
        systems=systems,
        version=document.rankproof,
        made=document.made,
        anchor=anchor,
        alarm=tuple((alarm.system, alarm.measure) for alarm in document.alarm),
        judges=document.judges,
    )


def _system_document(system: SavedValues, weights: Mapping[str, float]) -> _SystemDocument:
    measures = {
        name: _MeasureDocument(
            value=_summary(parse_measure(name), per_query, weights),
            per_query=dict(per_query),
            reasons=dict(system.reasons.get(name, {})),
            people=asdict(system.people[name]) if name in system.people else {},
            partly=dict(system.partly.get(name, {})),
        )
        for name, per_query in system.measures.items()
    }
    tops = {query: list(docs) for query, docs in system.tops.items()}
    return _SystemDocument(system.name, tuple(sorted(system.missing)), system.digest, measures, system.depth, tops)


def _summary(measure: Measure, per_query: Mapping[str, float], weights: Mapping[str, float]) -> float:
    share = np.array([weights[query] for query in per_query]) if weights else None
    return measure.summarise(np.fromiter(per_query.values(), np.float64), share)


def _saved_values(system: _SystemDocument, weights: Mapping[str, float], values: JsonObject) -> SavedValues:
    if not system.measures:
        raise values.error("a system has no measure")
    for name, measure in system.measures.items():
        _check_value(name, measure, weights, values)
    by_measure = {name: measure.per_query for name, measure in system.measures.items()}
    of_rankings = {frozenset(per_query) for name, per_query in by_measure.items() if parse_measure(name).kind != "answer"}
    if len(of_rankings) > 1 or not any(by_measure.values()):
        raise values.error("the measures of a system have values for different queries, or no values at all")
    return SavedValues(
        system.name,
        by_measure,
        frozenset(system.missing),
        system.digest,
        {name: measure.reasons for name, measure in system.measures.items()},
        {name: _labelled_values(measure.people, values) for name, measure in system.measures.items() if measure.people},
        system.tops,
        system.depth,
        {name: measure.partly for name, measure in system.measures.items() if measure.partly},
    )


def _labelled_values(people: Mapping[str, Any], values: JsonObject) -> LabelledValues:
    labelled = JsonObject(people, values.source).read(LabelledValues)
    questions, missing = labelled.values.keys(), labelled.missing
    if questions != labelled.judged.keys() or not missing.keys() <= questions or not {*missing.values()} <= {*MISSING_KINDS}:
        raise values.error("people's values and those of the judge are of different questions")
    return labelled


def _check_value(name: str, measure: _MeasureDocument, weights: Mapping[str, float], values: JsonObject) -> None:
    """Refuses a measure whose mean, which is stored for readers, is not that of its queries: the file was edited."""
    if not all(map(math.isfinite, measure.per_query.values())):
        raise values.error(f"{name} has a value that is not a finite number")
    if not all(answered.values and np.isfinite(answered.values).all() for answered in measure.partly.values()):
        raise values.error("a question has no value, or one that is not a finite number")
    if weights and not weights.keys() >= measure.per_query.keys():
        raise values.error("a query has no weight")
    try:
        parsed = parse_stored_measures([name])[0]
    except UsageError as error:
        raise values.error(error.what) from None
    if parsed.is_fraction and not all(-_ROUNDING <= value <= 1 + _ROUNDING for value in measure.per_query.values()):
        raise values.error(f"{name} has a value that is not between 0 and 1")
    summary = _summary(parsed, measure.per_query, weights)
    if summary != measure.value:
        raise values.error(f"{name} is {measure.value}, but its queries give {summary}")
