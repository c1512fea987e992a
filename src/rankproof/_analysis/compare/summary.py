"""The decision of an experiment: its settings, the comparison, and summary.json."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rankproof._analysis.compare.comparison import Comparison, compare_inputs
from rankproof._analysis.compare.joined_values import parsed_measure, primary_measure
from rankproof._analysis.compare.overview import overview_of
from rankproof._analysis.inputs import input_from_results, reevaluated, usual_measures
from rankproof._analysis.options import CompareOptions
from rankproof._data import format_versions
from rankproof._evaluation.notes import value_notes
from rankproof._io.strict_json import plain_record
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.summary_file import SUMMARY_FORMAT
from rankproof.measures._parse import parse_measures


def compare_results(results: ExperimentResult, options: CompareOptions | None = None) -> Comparison | None:
    """The systems of an experiment by its primary measure, then by its other usual measures.

    None without judgements, or if no evaluated measure can decide.
    """
    if not results.is_judged:
        return None
    inputs = input_from_results(results)
    if not any(
        measured.summary == "mean" and measured.measure.has_winner for measured in results.result.systems[0].measures.values()
    ):
        return None
    primary, evaluated = primary_measure(inputs), results.result.systems[0].measures
    usual = {*parse_measures(usual_measures(inputs))}
    usual |= {measure.with_rel(inputs.rel) for measure in usual}
    others = (
        name
        for name, measured in evaluated.items()
        if measured.measure in usual and measured.summary == "mean" and name != primary
    )
    return compare_inputs(inputs, primary=primary, measures=[primary, *others], options=options)


def compare_answers(results: ExperimentResult) -> Comparison | None:
    """The answering systems of an experiment by the answers' own primary measure; None with fewer than two of them."""
    if results.answers is None or len(results.answers.systems) < 2:
        return None
    from rankproof._analysis.answers.answer_input import answer_input_from_results

    inputs = answer_input_from_results(results).inputs
    primary = inputs.decision_settings.primary
    measured = inputs.result.systems[0].measures
    if primary is None or not measured[primary].measure.has_winner:
        return None
    return compare_inputs(inputs, primary=primary, measures=[primary])


def with_decision_settings(results: ExperimentResult, **settings: Any) -> ExperimentResult:
    """The results with these settings of `compare_inputs`, unless None, in place of their own; evaluates the primary one."""
    if all(value is None for value in settings.values()):
        return results
    inputs = input_from_results(results)
    # Rejects a wrong setting.
    compare_inputs(inputs, **settings)
    if (primary := settings.get("primary")) is not None:
        settings["primary"] = name = str(parsed_measure(primary).with_rel(results.rel))
        evaluated = list(inputs.result.systems[0].measures)
        inputs = inputs if name in evaluated else reevaluated(inputs, [*evaluated, name], inputs.options)
    return replace(results, result=inputs.result, decision_settings=results.decision_settings.updated(**settings))


def summary_document(results: ExperimentResult, comparison: Comparison | None) -> dict[str, Any]:
    """The content of summary.json; without a comparison it has no decision between rankings."""
    answers = compare_answers(results)
    return {
        "format": SUMMARY_FORMAT,
        "schema": format_versions.SUMMARY,
        "name": results.name,
        "fingerprint": results.fingerprint,
        "judged_only": results.judged_only,
        **_compared(comparison),
        "answers_decision": None if answers is None else answers.decision.to_dict(),
        "systems": [_system(results, comparison, run.name) for run in results.system_runs],
        "left_out": [] if comparison is None else list(comparison.left_out),
        "notes": [*value_notes(results.result.systems), *(comparison.notes if comparison else ())],
        "method": "" if comparison is None else comparison.method,
        "versions": {"python": results.provenance.get("python"), **results.provenance.get("libraries", {})},
        "overview": plain_record(overview_of(results, comparison)),
    }


def _compared(comparison: Comparison | None) -> dict[str, Any]:
    """The decision, by which measure, and against which system."""
    if comparison is None:
        return {"n": 0, "primary": None, "baseline": None, "decision": None}
    return {
        "n": comparison.n,
        "primary": comparison.primary,
        "baseline": comparison.baseline,
        "decision": comparison.decision.to_dict(),
    }


def _system(results: ExperimentResult, comparison: Comparison | None, name: str) -> dict[str, Any]:
    """The means of every measure; difference, interval and p against the baseline; times and money."""
    run, pair = results.system_run(name), None if comparison is None else comparison.against_baseline().get(name)
    tested = {"difference": None, "ci": None, "p": None, "p_adjusted": None, "verdict": None}
    if pair is not None:
        tested = {key: getattr(pair, key) for key in tested}
    times = run.time_of("total")
    return {
        "name": name,
        "values": results.result.means[name],
        **tested,
        "latency_ms": {key: None if times is None else getattr(times, key) for key in ("p50", "p95", "queries")},
        "money": run.money,
    }
