"""Notes on the answers of a system: missing, failed and abstaining ones, and questions without a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rankproof._data.text import first_ids, format_value, pluralise
from rankproof._evaluation.notes import FAILED_VERDICTS, Note
from rankproof.measures._answers import AnswerMeasure

if TYPE_CHECKING:
    from rankproof._data.answers import Answer, AnswerState, References
    from rankproof._evaluation.result import MeasureResult
    from rankproof.measures._answers import AnswerCase

BY_WORDING = "abstentions-by-wording"
REASONS: Mapping[str, str] = {
    "failed": "the judge failed",
    "abstained": "the answer abstains",
    "missing": "there is no answer",
    "no_claim": "there is nothing to check",
    "no_reference": "there is no reference",
    "unanswerable": "the question has no answer",
    "no_contexts": "the contexts are not known",
    "no_such_context": "there is no such context",
    "no_evidence": "the judge names no evidence",
    "nothing_found": "the contexts support nothing of the reference",
    "no_question": "the question has no text",
    "no_nugget": "there is no such nugget",
    "not_abstained": "the system did not abstain",
    "answerable": "the question has an answer",
    "no_relevant": "no document is relevant",
}
"""Why an answer has no value, in words."""
_EXPECTED = ("not_abstained", "answerable", "no_relevant")
_MAX_MEASURES = 3
_NO_VALUE = "no-value-"
"""The beginning of the codes of notes on questions without a value."""


def answer_notes(
    answers: Mapping[str, Answer], references: References, queries: Sequence[str], measures: Mapping[str, MeasureResult]
) -> tuple[Note, ...]:
    """The notes of one system; those about the references are the same for all. `queries` are those that are evaluated."""
    state = {query: answers[query].state for query in references if query in answers}
    without, lists = references.queries_without, references.lists_as_text
    evaluated = frozenset(queries)
    unknown = [query for query in answers if query not in evaluated and query not in without]
    missing = [reference for reference in references if state.get(reference, "missing") == "missing"]
    zero = _zero_words(missing, measures)
    some = any(not isinstance(measure.measure, AnswerMeasure) or measure.measure.needs_reference for measure in measures.values())
    ids_of: Mapping[str, Sequence[str]] = {
        "missing-answers": missing,
        "failed-answers": _queries_in_state(state, "failed"),
        "abstentions": _queries_in_state(state, "abstained"),
        "no-reference": [query for query in without if query not in evaluated],
        "some-values": [query for query in queries if query not in references] if some else [],
        "unknown-queries": unknown,
        "list-as-text": lists,
    }
    return tuple(
        Note(code, len(ids), f"{len(ids)} {_finding(code, len(ids), zero)}: {first_ids(ids)}")
        for code, ids in ids_of.items()
        if ids
    )


_FINDINGS = {
    "missing-answers": ("has no answer", "have no answer"),
    "failed-answers": ("has a failed answer and is left out of the means", "have failed answers and are left out of the means"),
    "abstentions": ("has an abstaining answer", "have abstaining answers"),
    "no-reference": ("has no reference and is left out", "have no reference and are left out"),
    "some-values": (
        "has no reference and is left out of measures that need one",
        "have no reference and are left out of measures that need one",
    ),
    "unknown-queries": ("of the answers is unknown and is left out", "of the answers are unknown and are left out"),
    "list-as-text": (
        "has its list of references as text; it is read as a list",
        "have their list of references as text; it is read as a list",
    ),
}
"""What a note says of one query and of several, by its code."""


def _finding(code: str, count: int, zero: str) -> str:
    """The words of a note; `zero` is the score of missing answers, empty if no measure gives them one."""
    singular, plural = _FINDINGS[code]
    words = f"query {singular}" if count == 1 else f"queries {plural}"
    if code != "missing-answers" or not zero:
        return words
    return f"{words} and {'scores' if count == 1 else 'score'} {zero}"


def _zero_words(missing: Sequence[str], measures: Mapping[str, MeasureResult]) -> str:
    """ "0", with the measures that give it to missing answers if others do not."""
    values = {
        name: [measure.per_query[query] for query in missing if query in measure.per_query] for name, measure in measures.items()
    }
    zero = [measures[name] for name, value in values.items() if value and not any(value)]
    if not zero:
        return ""
    return "0" if len(zero) == len(measures) else f"0 in {_names(zero)}"


def _queries_in_state(states: Mapping[str, AnswerState], wanted: AnswerState) -> list[str]:
    return [query for query, state in states.items() if state == wanted]


def claim_notes(cases: Sequence[AnswerCase], measures: Mapping[str, MeasureResult]) -> tuple[Note, ...]:
    """The notes of one system on abstentions by wording, and on answers without a value."""
    by_wording = [case.query for case in cases if case.declines] if any(measure.counts for measure in measures.values()) else []
    notes = [Note(BY_WORDING, len(by_wording), _wording_text(by_wording))] if by_wording else []
    return (*notes, *_no_value_notes(measures))


def notes_of_measures(notes: Sequence[Note], measures: Mapping[str, MeasureResult]) -> tuple[Note, ...]:
    """The notes of one system where only these measures are shown."""
    others = (note for note in notes if note.code != FAILED_VERDICTS and not note.code.startswith(_NO_VALUE))
    return (*others, *_no_value_notes(measures))


def _no_value_notes(measures: Mapping[str, MeasureResult]) -> tuple[Note, ...]:
    groups: dict[tuple[str, int], list[MeasureResult]] = {}
    for measure in measures.values():
        for reason, count in measure.counts.items():
            if reason not in _EXPECTED:
                groups.setdefault((reason, count), []).append(measure)
    return tuple(_no_value_note(reason, count, group) for (reason, count), group in groups.items())


def _wording_text(queries: Sequence[str]) -> str:
    counted = pluralise(len(queries), "answer abstains by its wording", "answers abstain by their wording")
    return f"{counted}: {first_ids(queries)}; only measures of claims take this as an abstention"


def _no_value_note(reason: str, count: int, results: Sequence[MeasureResult]) -> Note:
    """How many queries have no value, and of which measures; with bounds where the judge failed."""
    queries = pluralise(count, "query has", "queries have")
    if reason != "failed":
        return Note(
            f"{_NO_VALUE}{reason.replace('_', '-')}", count, f"{queries} no value of {_names(results)}: {REASONS[reason]}"
        )
    bounds = [
        f"{result.measure} {format_value(result.bounds[0])} to {format_value(result.bounds[1])}"
        for result in results
        if result.bounds
    ]
    text = f"{queries} no value, because the judge failed; bounds of the mean with them: {', '.join(bounds)}"
    return Note(FAILED_VERDICTS, count, text)


def _names(results: Sequence[MeasureResult]) -> str:
    names = [str(result.measure) for result in results]
    more = f" and {len(names) - _MAX_MEASURES} more" if len(names) > _MAX_MEASURES else ""
    return ", ".join(names[:_MAX_MEASURES]) + more
