"""What asking a language model came to, in sentences: made of the counts alone, so that a resumed run says the same."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..asking.tally import Count
from ..data.arrays import IntArray

Counts = Mapping[str, IntArray]


def notes_of_counts(counts: Counts) -> tuple[str, ...]:
    """A sentence for each thing that a reader must know; `counts` has one number a query under each name."""
    sums = {name: int(values.sum()) for name, values in counts.items()}
    told = [_lost(sums), *_yes_or_no(counts), *_positions(sums), *_answers(sums), _unreadable(sums)]
    return tuple(note for note in told if note)


def _lost(sums: Mapping[str, int]) -> str:
    """What came of the asks that brought nothing of use."""
    lost = sums["failed"] + sums["given_up"]
    if not lost:
        return ""
    why = ", ".join(f"{text} ({sums[name]})" for name, text in _WHY.items() if sums[name])
    of, became = next(((sums[use], text) for use, text in _BECAME.items() if sums[use]), (0, _PLAINLY))
    return f"{became.format(lost=lost, of=of, undecided=sums['undecided'])}: {why}"


_PLAINLY = "{lost} asks brought nothing of use"
_WHY: Mapping[Count, str] = {
    "given_up": "no reply of use after every attempt",
    "failed": "no reply at all",
}
_BECAME: Mapping[Count, str] = {
    "windows": "{lost} of {of} windows kept the order below",
    "graded": "{lost} of {of} documents kept their place below, the others were put in order around them",
    "compared": "{undecided} of {of} compared pairs kept the order below",
}


def _yes_or_no(counts: Counts) -> list[str]:
    """Which way the replies of documents asked about one by one were read."""
    asked, texts = (int(np.count_nonzero(counts[name])) for name in ("graded", "by_text"))
    if not asked:
        return []
    odds = f"{asked - texts} of {asked} queries were ranked by the log-probabilities of Yes and No"
    text = f"{texts} of {asked} queries were ranked by the replies' text, Yes above No: the server gave no log-probabilities"
    return [note for note, count in ((odds, asked - texts), (text, texts)) if count]


def _positions(sums: Mapping[str, int]) -> list[str]:
    """How often the order of two documents decided, and not the documents."""
    pairs, disagreed = sums["compared"], sums["disagreed"]
    if not disagreed:
        return []
    return [f"{disagreed} of {pairs} compared pairs ({disagreed / pairs:.0%}) are ties: the model went by which one came first"]


def _answers(sums: Mapping[str, int]) -> list[str]:
    """What answers lack: the form that was asked for, and sources that there are."""
    plain, strange = 0 if sums["graded"] else sums["by_text"], sums["dropped"]
    told = {
        f"{plain} replies are plain text and not the JSON that was asked for": plain,
        f"{strange} sources that answers name were never given to them, and are left out": strange,
    }
    return [note for note, count in told.items() if count]


def _unreadable(sums: Mapping[str, int]) -> str:
    count = sums["unreadable"]
    return f"{count} replies were not in the form that was asked for, or were cut or refused" if count else ""
