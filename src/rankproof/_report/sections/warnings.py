"""Warnings: few queries, unjudged documents, and serious notes."""

from __future__ import annotations

from collections.abc import Iterator

from rankproof._data.text import pluralise
from rankproof._evaluation.notes import value_notes
from rankproof._evaluation.result import Result
from rankproof._report.context import ReportContext, judged_shares
from rankproof._report.elements import Section, as_sentence
from rankproof.errors import for_message

_FEW_QUERIES = 50
_FULLY_JUDGED = 0.995
_SERIOUS_NOTES = ("missing-queries", "machine-judgements", "nothing-judged", "no-relevant")


def warnings_section(context: ReportContext) -> Section | None:
    """The warnings; None if there are none."""
    texts = tuple(dict.fromkeys(_warnings(context)))
    return _section(texts)


def comparison_warnings(result: Result) -> Section | None:
    """The warnings about the values of several experiments; None if there are none."""
    return _section(tuple(map(as_sentence, value_notes(result.systems))))


def _section(texts: tuple[str, ...]) -> Section | None:
    return Section("warnings", "Warnings", "What could make the numbers misleading?", warnings=texts) if texts else None


def _warnings(context: ReportContext) -> Iterator[str]:
    n = context.measured.queries
    if n < _FEW_QUERIES:
        yield f"{pluralise(n, 'query is', 'queries are')} few: another sample of queries could change the means and their order."
    yield from _unjudged_warnings(context)
    yield from _note_warnings(context)


def _unjudged_warnings(context: ReportContext) -> Iterator[str]:
    shares = judged_shares(context)
    worst = min(shares.share, key=shares.share.__getitem__)
    if shares.share[worst] < _FULLY_JUDGED:
        first = context.leading if context.has_better_direction else worst
        also = "" if worst == first else f" ({1 - shares.share[worst]:.1%} for {for_message(worst)})"
        yield (
            f"{1 - shares.share[first]:.1%} of the top {shares.cutoff} documents of {for_message(first)}{also} are unjudged"
            " and count as not relevant; the section Unjudged documents shows how much the values could change."
        )


def _note_warnings(context: ReportContext) -> Iterator[str]:
    """The serious notes on means and judgements, each once."""
    notes = [note for system in context.results.result.systems for note in system.notes if note.code in _SERIOUS_NOTES]
    for text in (*dict.fromkeys(note.text for note in notes), *value_notes(context.results.result.systems)):
        yield as_sentence(text)
