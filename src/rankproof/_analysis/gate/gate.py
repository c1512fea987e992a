"""`gate`: checks on the systems."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from rankproof._analysis.compare.comparison import Comparison, compare_inputs
from rankproof._analysis.compare.decision_data import only_systems, systems_without_documents, with_relevant_documents
from rankproof._analysis.compare.joined_values import NO_ANSWER, weight_notes
from rankproof._analysis.compare.look_log import Look, logged_gate, sampled_queries
from rankproof._analysis.compare.value_judge import judge_of_values, unknown_judges_text
from rankproof._analysis.gate.anchor import check_anchor, save_alarms, with_alarms
from rankproof._analysis.gate.baseline import (
    Baseline,
    SavedValues,
    chosen_systems,
    judges_of,
    reading_facts,
    saved_values,
    usual_primary,
)
from rankproof._analysis.gate.case_checks import case_values, checked_cases
from rankproof._analysis.gate.changes import SystemPairs, changed_pairs, segment_changes, with_corrected_p
from rankproof._analysis.gate.result import GateResult
from rankproof._analysis.gate.rules import (
    GateCheck,
    GateOptions,
    Threshold,
    by_judge,
    check_change,
    check_segment,
    check_threshold,
    check_value,
    small_segments,
)
from rankproof._analysis.inputs import AnalysisInput, different_data
from rankproof._analysis.options import CompareOptions
from rankproof._analysis.query_groups import Grouping
from rankproof._data.text import first_ids, pluralise
from rankproof._io.files import is_results_folder
from rankproof._results.experiment_result import measured_runs
from rankproof._results.folder import load_results
from rankproof._results.provenance import utc_now
from rankproof._results.result_json import CASES_FOLDER
from rankproof._results.saved_cases import cases_of, read_cases
from rankproof.errors import UsageError, for_message
from rankproof.measures._base import Measure
from rankproof.measures._parse import parse_measure

_LEFT_OUT = re.compile(" and (is|are) left out of the means")
"""What a note says of failed answers, which the gate counts as the worst value."""
_MISSING_NOTES = ("missing-queries", "missing-answers", "failed-answers")


def run_gate(
    inputs: AnalysisInput,
    baseline: Baseline | None,
    options: GateOptions,
    *,
    systems: Sequence[str] = (),
    groupings: Iterable[Grouping] = (),
) -> GateResult:
    """All checks: missing systems and queries, drops against the baseline overall and by segment, and thresholds."""
    options = options.for_inputs(inputs)
    now = [saved_values(inputs, name) for name in chosen_systems(inputs, systems)]
    bounds = [check for bound in options.thresholds for check in _threshold_checks(inputs, now, bound, baseline, options)]
    about_values = (*_missing(inputs, {saved.name for saved in now}), *weight_notes((inputs.result.weights or {}).values()))
    if baseline is None:
        options.check_margin([bound.measure for bound in options.thresholds])
        return GateResult(tuple(bounds), about_values, unsure=options.unsure)
    _check_same_data(inputs, baseline)
    pairs, missing_systems = _paired(now, baseline, named=bool(systems))
    measures = _tested_measures(pairs, options)
    primary = _primary(inputs, measures, options)
    options.check_margin([primary])
    drops = _drops(inputs, pairs, measures, primary, options)
    segments = _segment_drops(inputs, pairs, groupings, primary, options)
    losses = _losses(inputs, pairs, baseline, primary, options)
    present = [*map(_check_missing_system, missing_systems), *(check_queries(*pair) for pair in pairs)]
    checks = [*present, *_judged(inputs, [*drops, *losses, *segments], baseline, options), *bounds]
    notes = (*about_values, *_without_relevant(inputs, pairs, primary), *_notes(now, pairs), *small_segments(segments))
    comparison = _compared(inputs, [system.name for system in now], measures, primary, options)
    return GateResult(tuple(checks), notes, comparison, len(changed_pairs(pairs, [primary])), options.unsure)


def recorded_gate(
    inputs: AnalysisInput,
    baseline: Baseline | None,
    options: GateOptions,
    *,
    systems: Sequence[str] = (),
    groupings: Iterable[Grouping] = (),
    path: str | None = None,
    accept_loss: bool = False,
    log: str | None = None,
) -> GateResult:
    """All checks; then writes alarms and accepted losses into the file of the baseline, and the comparisons into the log."""
    used = replace(baseline, anchor=(), alarm=()) if baseline is not None and accept_loss else baseline
    gate = run_gate(inputs, used, options, systems=systems, groupings=groupings)
    alarms: Iterable[str] = ()
    if path is not None and baseline is not None and used is not None:
        alarms = save_alarms(path, baseline, with_alarms(used, gate.checks))
    looks = [] if log is None else gate_looks(inputs, gate)
    reuse = logged_gate(log, looks, parse_measure(looks[0].measure)) if log is not None and looks else ()
    return replace(gate, notes=(*gate.notes, *alarms, *reuse))


def gate_with_cases(gate: GateResult, inputs: AnalysisInput, path: str, folder: str | None, systems: Sequence[str]) -> GateResult:
    """The gate with a check of each test case in a file; the rankings are those of `run --cases`, else those of the runs."""
    cases = checked_cases(cases_of(read_cases(path), inputs.dataset) if inputs.dataset else read_cases(path), path)
    place = None if folder is None else os.path.join(folder, CASES_FOLDER)
    runs = measured_runs(load_results(place).system_runs) if place is not None and is_results_folder(place) else inputs.runs
    named = systems or [name for name in inputs.systems if any(check.system == name for check in gate.checks)] or inputs.systems
    values = tuple(case_values(cases, runs, named))
    return replace(gate, checks=(*gate.checks, *(value.check() for value in values)), cases=values)


def evaluated_measures(named: Sequence[str | Measure], baseline: Baseline | None, options: GateOptions) -> list[str | Measure]:
    """The named measures, else those of the baseline; without a baseline the primary one; and those of the thresholds."""
    primary = [options.primary] if baseline is None and options.primary is not None else []
    saved = baseline.measures if baseline is not None else ()
    return [*(named or saved), *primary, *(threshold.measure for threshold in options.thresholds)]


def _check_same_data(inputs: AnalysisInput, baseline: Baseline) -> None:
    """Checks that the baseline has the same data, relevance threshold, read options and weights."""
    prints = [(source.qrels_fingerprint, source.fingerprint) for source in (baseline, inputs)]
    if differs := different_data(*prints):
        raise UsageError(
            f"the baseline {for_message(baseline.name)} was saved with other data than {for_message(inputs.name)} ({differs})",
            fix="use the documents, queries and judgements of the baseline, or save a new baseline",
        )
    if baseline.rel != inputs.rel:
        raise UsageError(
            f"the baseline was saved with --rel {baseline.rel}, this run has --rel {inputs.rel}", fix="use the same --rel"
        )
    if dict(baseline.read_options) != reading_facts(inputs):
        raise UsageError("the baseline was saved with other read options", fix="use the same read options as when it was saved")
    _check_same_weights(baseline.weights, inputs.result.weights or {})


def _check_same_weights(saved: Mapping[str, float], now: Mapping[str, float]) -> None:
    if bool(saved) == bool(now) and all(saved.get(query, weight) == weight for query, weight in now.items()):
        return
    if saved and now:
        what = "the baseline was saved with other weights of queries"
    elif saved:
        what = "the baseline was saved with weights of queries, this run has none"
    else:
        what = "the baseline was saved without weights of queries, this run has weights"
    fix = "use the same --weights FILE for both; queries.jsonl of a weighted dataset is such a file"
    raise UsageError(what, fix=fix)


def _judged(
    inputs: AnalysisInput,
    checks: Sequence[GateCheck],
    baseline: Baseline | None,
    options: GateOptions,
    measure_of: Callable[[GateCheck], str] = lambda check: check.measure,
) -> list[GateCheck]:
    """The checks, unsure or by the judge of their measure if its values are those of a judge that people have not checked."""
    if (options.labels_by or inputs.decision_settings.labels_by) == "people":
        return list(checks)
    saved, now = {} if baseline is None else baseline.judges, judges_of(inputs)
    corrected = {(check.system, check.measure) for check in checks if check.labels.labelled}
    judged_checks = []
    for check in checks:
        measure = measure_of(check)
        is_corrected = check.kind == "segment" and check.passed and (check.system, check.measure) in corrected
        if measure not in now or is_corrected or (check.is_exploratory and measure not in options.max_drops):
            judged_checks.append(check)
        else:
            is_other = saved.get(measure, now[measure]) != now[measure]
            stored = inputs.result.systems[0].measures[measure]
            judge = str(judge_of_values(inputs, stored.measure, stored.query_ids))
            question = unknown_judges_text(inputs, stored.measure, stored.query_ids)
            judged_checks.append(by_judge(check, judge, question, is_other=is_other))
    return judged_checks


def _threshold_checks(
    inputs: AnalysisInput, now: Sequence[SavedValues], bound: Threshold, baseline: Baseline | None, options: GateOptions
) -> list[GateCheck]:
    """The check of a threshold for each system."""
    stored = {system.name: system.measures[bound.measure] for system in inputs.result.systems}
    if stored[now[0].name].summary != "mean":
        checks = [check_value(saved.name, bound, stored[saved.name].value, stored[saved.name].queries) for saved in now]
    else:
        changes = options.bound_changes(inputs, bound)
        checks = [check_threshold(saved.name, bound, changes.against_bound(saved, bound.bound)) for saved in now]
    return _judged(inputs, checks, baseline, options, lambda _: bound.measure)


def gate_looks(inputs: AnalysisInput, gate: GateResult) -> list[Look]:
    """The comparisons with the baseline by the primary measure, as lines of a log."""
    looks = []
    for check in gate.checks:
        change = check.change
        if check.kind != "drop" or change is None or change.exploratory or change.error is None or change.is_same:
            continue
        sign = -1.0 if parse_measure(check.measure).higher_is_better is False else 1.0
        values = f"{change.before!r} {change.now!r} {change.error!r} {change.n}"
        looks.append(
            Look(
                made=utc_now(),
                data=sampled_queries(inputs),
                systems=(check.system, "baseline"),
                measure=check.measure,
                n=change.n,
                values=hashlib.sha256(values.encode()).hexdigest(),
                looks="one",
                difference=sign * change.difference,
                error=change.error,
                shipped=gate.outcome == "passed",
            )
        )
    return looks


def _compared(
    inputs: AnalysisInput, systems: Sequence[str], measures: Sequence[str], primary: str, options: GateOptions
) -> Comparison | None:
    """The comparison of the systems as they are now; None if there is only one."""
    if len(systems) < 2:
        return None
    return compare_inputs(
        only_systems(inputs, systems),
        primary=primary,
        measures=measures,
        margin=None if options.margin is None else str(options.margin),
        labels_by=options.labels_by,
        judgements=options.judgements,
        options=CompareOptions(seed=options.seed),
    )


def _missing(inputs: AnalysisInput, systems: Collection[str]) -> Iterator[str]:
    """The notes on missing queries and answers."""
    for system in inputs.result.systems:
        if system.name in systems:
            notes = (note.text for note in system.notes if note.code in _MISSING_NOTES)
            yield from (f"{for_message(system.name)}: {_LEFT_OUT.sub('', text)}" for text in notes)


def _paired(now: Sequence[SavedValues], baseline: Baseline, *, named: bool) -> tuple[SystemPairs, list[str]]:
    """Systems now and in the baseline, matched by name or as the only ones; and the missing systems of the baseline."""
    before = {system.name: system for system in baseline.systems}
    if len(before) == 1 and len(now) == 1:
        return [(now[0], baseline.systems[0])], []
    pairs = [(current, before[current.name]) for current in now if current.name in before]
    if not pairs:
        saved = ", ".join(map(for_message, before))
        fix = f"choose with --system, or save a new baseline; systems of the baseline: {saved}"
        raise UsageError("no system has the name of a system in the baseline", fix=fix)
    here = {current.name for current in now}
    return pairs, [] if named else [name for name in before if name not in here]


def _check_empty_system(name: str) -> GateCheck:
    """A failure, as a system of the baseline retrieved nothing."""
    return GateCheck("system", name, "failed", f"{for_message(name)} retrieved nothing.")


def _check_missing_system(name: str) -> GateCheck:
    """A failure, as a system of the baseline is missing."""
    sentence = f"{for_message(name)} is in the baseline but was not evaluated (--system selects the systems to check)."
    return GateCheck("system", name, "failed", sentence)


def _present(now: SavedValues, measure: str) -> Collection[str]:
    """The queries with a value, or with an answer that has none: the system abstained, or the judge failed."""
    return {*now.measures[measure], *(query for query, reason in now.reasons.get(measure, {}).items() if reason not in NO_ANSWER)}


def check_queries(now: SavedValues, before: SavedValues) -> GateCheck:
    """Whether every query with a ranking, or with a value of an answer by some measure, in the baseline still has it."""
    pairs = [(values, _present(now, name)) for name, values in before.measures.items() if name in now.measures]
    had = {query for values, _ in pairs for query in values} - before.missing
    lost = sorted(query for query in had if query in now.missing or any(query in old and query not in new for old, new in pairs))
    name = for_message(now.name)
    if lost:
        text = f"{len(lost):,} of {len(had):,} queries of the baseline are missing or not answered: {first_ids(lost)}."
        return GateCheck("queries", now.name, "failed", f"{name}: {text}")
    return GateCheck("queries", now.name, "passed", f"{name}: all {len(had):,} queries of the baseline are present.")


def _tested_measures(pairs: SystemPairs, options: GateOptions) -> list[str]:
    """The measures of the baseline that were evaluated and whose mean can be better or worse."""
    now, before = pairs[0]
    tested = [name for name in now.measures if name in before.measures and _can_be_worse(name)]
    if not tested:
        raise UsageError("no measure of the baseline was evaluated", fix=f"evaluate some of: {', '.join(before.measures)}")
    for measure in options.max_drops:
        if measure not in tested:
            raise UsageError(f"{measure} is not in the baseline, so its drop is unknown", fix=f"choose from: {', '.join(tested)}")
    return tested


def _primary(inputs: AnalysisInput, measures: Sequence[str], options: GateOptions) -> str:
    """The measure that can fail the gate: the named one, that of the experiment, nDCG@10, or the first that ranks systems."""
    able, usual = [name for name in measures if parse_measure(name).has_winner], usual_primary(inputs, measures)
    if usual is None:
        raise UsageError(f"no measure of the baseline ranks systems: {', '.join(measures)}", fix="save a baseline with nDCG@10")
    if options.primary is not None and options.primary not in able:
        why = "is not in the baseline" if options.primary not in measures else "does not rank systems"
        raise UsageError(f"{options.primary} {why}", fix=f"choose from: {', '.join(able)}")
    return options.primary or usual


def _can_be_worse(name: str) -> bool:
    measure = parse_measure(name)
    return measure.summary == "mean" and measure.higher_is_better is not None


def _drops(
    inputs: AnalysisInput, pairs: SystemPairs, measures: Sequence[str], primary: str, options: GateOptions
) -> list[GateCheck]:
    """A check for each system and measure; a system that retrieved nothing and did before fails."""
    empty = systems_without_documents(inputs)
    silent = [now.name for now, before in pairs if now.name in empty and now.digest != before.digest]
    by_system: dict[tuple[str, str], GateCheck] = {}
    for measure in measures:
        changes = options.changes(inputs, measure, is_primary=measure == primary)
        tested = with_corrected_p(changes.change(now, before) for now, before in pairs)
        tests = sum(change.is_worse is not None for change in tested)
        for (now, _), change in zip(pairs, tested, strict=True):
            named = replace(change, exploratory=measure != primary)
            by_system[now.name, measure] = check_change(now.name, measure, named, options, tests=tests)
    checks = [by_system[now.name, measure] for now, _ in pairs if now.name not in silent for measure in measures]
    return [*map(_check_empty_system, silent), *checks]


def _losses(inputs: AnalysisInput, pairs: SystemPairs, baseline: Baseline, primary: str, options: GateOptions) -> list[GateCheck]:
    """A check of each system against its first baseline, if the baseline is a later one."""
    changes = replace(options.changes(inputs, primary, is_primary=True), margin=options.margin, is_allowed_drop=False)
    checks = (check_anchor(changes, now, baseline) for now, _ in pairs)
    return [check for check in checks if check is not None]


def _segment_drops(
    inputs: AnalysisInput, pairs: SystemPairs, groupings: Iterable[Grouping], primary: str, options: GateOptions
) -> list[GateCheck]:
    """A check for each system and segment by the primary measure."""
    segments = {f"{grouping.by} {name}": queries for grouping in groupings for name, queries in grouping.segments.items()}
    changes = segment_changes(options.changes(inputs, primary, is_primary=True), pairs, segments)
    return [check_segment(system, primary, segment, change, tests=len(changes)) for system, segment, change in changes]


def _without_relevant(inputs: AnalysisInput, pairs: SystemPairs, primary: str) -> Iterator[str]:
    """A note on queries without a relevant document, with the means over all queries."""
    values = pairs[0][0].measures[primary]
    absent = with_relevant_documents(inputs, parse_measure(primary), list(values)).count(False)
    if absent:
        means = ", ".join(f"{for_message(now.name)} {inputs.result.value(primary, now.name):.4f}" for now, _ in pairs)
        what = pluralise(absent, "query has", "queries have")
        yield f"{what} no relevant document and no part in the gate; {primary} over all {len(values):,}: {means}"


def _notes(now: Sequence[SavedValues], pairs: SystemPairs) -> Iterator[str]:
    """Systems that are new or compared with another name, and measures that are not compared."""
    before = {saved.name: theirs for saved, theirs in pairs}
    if new := [for_message(saved.name) for saved in now if saved.name not in before]:
        yield f"{', '.join(new)} {'is' if len(new) == 1 else 'are'} not in the baseline and not compared with it"
    for saved in now:
        if saved.name in before and before[saved.name].name != saved.name:
            other = for_message(before[saved.name].name)
            yield f"{for_message(saved.name)} is compared with {other}, the only system of the baseline"
    saved, theirs = pairs[0]
    if left_out := [name for name in saved.measures if name not in theirs.measures]:
        yield f"measures not in the baseline, so not compared: {', '.join(left_out)}"
    if untested := [name for name in saved.measures if name in theirs.measures and not _can_be_worse(name)]:
        yield f"measures not tested, because they are not means or do not measure quality: {', '.join(untested)}"
