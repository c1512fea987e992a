"""The values of a results folder, computed again from its runs, judgements and answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rankproof._data.answers import nuggets_from_queries, references_from_queries
from rankproof._data.ordering import ReadOptions
from rankproof._data.text import pluralise
from rankproof._evaluation.evaluate import evaluate_runs
from rankproof._evaluation.options import EvaluateOptions
from rankproof._evaluation.result import MeasureResult, Result, SystemResult
from rankproof._results.experiment_result import ExperimentResult, measured_runs
from rankproof._results.to_json import results_document
from rankproof.errors import InputError, UsageError, for_message
from rankproof.measures._answers import AnswerSimilarity

TOLERANCE = 1e-9
"""The largest relative or absolute difference of a stored number, which another version of a library may cause."""
_NOTES = "notes"


def checked_results(
    stored: ExperimentResult, document: Mapping[str, Any], error: Callable[[str, str], InputError]
) -> ExperimentResult:
    """The results with their values computed again; a document with another value is an error, made of a text and a fix."""
    fix = "restore the original file, or run the experiment again"
    try:
        results = recomputed(stored)
    except UsageError as wrong:
        raise error(wrong.what, fix) from None
    for path, value, expected in differences(results, document):
        what = f"{for_message(path)} is {_value_text(value)}, but the files of the folder give {_value_text(expected)}"
        raise error(what, fix)
    return results


def _value_text(value: object) -> str:
    if isinstance(value, dict | list):
        return pluralise(len(value), "value")
    return "missing" if value is None else for_message(value) if isinstance(value, str) else repr(value)


def recomputed(results: ExperimentResult) -> ExperimentResult:
    """The results with the values that their rankings, judgements, answers and verdicts on claims give; no judge is asked.

    Values of chunk rankings and of `Similarity` keep their values for each query; their means are computed again.
    """
    return replace(
        results,
        result=_ranking_values(results),
        chunks=None if results.chunks is None else _with_means(results.chunks, results.texts.weights),
        answers=None if results.answers is None else _answer_values(results, results.answers),
    )


def differences(results: ExperimentResult, stored: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """The fields of result.json that differ from the results: path, stored value and the value of the results."""
    return _differences(stored, results_document(results, per_query=True), "")


def _ranking_values(results: ExperimentResult) -> Result:
    stored = results.result
    if not results.is_judged:
        return stored
    read_options = ReadOptions(judged_only=results.judged_only)
    # The names of the measures have their rel.
    weights, primary = results.texts.weights, results.decision_settings.primary
    options = EvaluateOptions(read_options, queries=stored.queries, weights=weights, primary=primary)
    runs = {name: run.restricted_to(results.qrels) for name, run in measured_runs(results.system_runs).items()}
    result = evaluate_runs(results.qrels, runs, [measure.measure for measure in stored.systems[0].measures.values()], options)
    systems = (replace(new, notes=_all_notes(old, new)) for old, new in zip(stored.systems, result.systems, strict=True))
    return replace(result, systems=tuple(systems))


def _all_notes(stored: SystemResult, new: SystemResult) -> tuple[Any, ...]:
    """The stored notes, and those that the files give and that are not stored."""
    known = {note.code for note in stored.notes}
    return (*stored.notes, *(note for note in new.notes if note.code not in known))


def _answer_values(results: ExperimentResult, stored: Result) -> Result:
    from rankproof._evaluation.answers import evaluate_answers

    answers = {run.name: run.answers for run in results.system_runs if run.answers is not None}
    measures = [
        measure.measure for measure in stored.systems[0].measures.values() if not isinstance(measure.measure, AnswerSimilarity)
    ]
    if not measures:
        return _with_means(stored)
    document = results.judged_documents
    computed = evaluate_answers(
        {system.name: answers[system.name] for system in stored.systems},
        references_from_queries(results.texts),
        results.qrels,
        measures,
        rel=results.rel,
        document=lambda doc: document.get(doc, doc),
        questions={query: text.text for query, text in results.texts.items()},
        passage=results.contexts.get,
        nuggets=nuggets_from_queries(results.texts),
        known=(*stored.claims, *stored.repeat_claims),
    )
    systems = tuple(_joined(old, new) for old, new in zip(stored.systems, computed.systems, strict=True))
    return replace(stored, queries=computed.queries, systems=systems)


def _joined(stored: SystemResult, new: SystemResult) -> SystemResult:
    return replace(
        stored, measures={name: new.measures.get(name, _with_mean(measure)) for name, measure in stored.measures.items()}
    )


def _with_means(result: Result, weights: Mapping[str, float] | None = None) -> Result:
    systems = (
        replace(system, measures={name: _with_mean(measure, weights) for name, measure in system.measures.items()})
        for system in result.systems
    )
    return replace(result, systems=tuple(systems))


def _with_mean(measure: MeasureResult, weights: Mapping[str, float] | None = None) -> MeasureResult:
    own = None if weights is None else np.array([weights[query] for query in measure.query_ids])
    return replace(measure, value=measure.measure.summarise(measure.values, own), weights=own)


def _differences(stored: Any, expected: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if stored == expected or (_is_number(stored) and _is_number(expected) and _is_close(stored, expected)):
        return
    if isinstance(stored, dict) and isinstance(expected, dict):
        for key in expected:
            if key != _NOTES:
                yield from _differences(stored.get(key), expected[key], f"{path}.{key}" if path else key)
    elif isinstance(stored, list) and isinstance(expected, list) and len(stored) == len(expected):
        for at, (item, other) in enumerate(zip(stored, expected, strict=True)):
            yield from _differences(item, other, f"{path}[{at}]")
    else:
        yield path, stored, expected


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_close(value: float, other: float) -> bool:
    return math.isclose(value, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
