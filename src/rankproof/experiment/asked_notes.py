"""What asking a language model came to, in sentences: made of the counts alone, so that a resumed run says the same."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..asking.tally import Count, estimation_note
from ..data.arrays import IntArray
from ..data.counting import counted

Counts = Mapping[str, IntArray]


def notes_of_counts(counts: Counts) -> tuple[str, ...]:
    """A sentence for each thing that a reader must know; `counts` has one number a query under each name."""
    sums = {name: int(values.sum()) for name, values in counts.items()}
    estimated = estimation_note(sums["estimated"])
    told = [_lost(sums), *_yes_or_no(counts), *_positions(sums), *_answers(sums), _unreadable(sums), estimated]
    return tuple(note for note in told if note)


def _lost(sums: Mapping[str, int]) -> str:
    """What came of the asks that brought nothing of use."""
    lost = sums["failed"] + sums["given_up"]
    if not lost:
        return ""
    causes = {**sums, "failed": sums["failed"] - sums["refused"]}
    why = ", ".join(f"{text} ({causes[name]})" for name, text in _WHY.items() if causes[name])
    of, became = next(((sums[use], text) for use, text in _BECAME.items() if sums[use]), (0, _PLAINLY))
    return f"{became.format(lost=lost, of=of, undecided=sums['undecided'])}: {why}"


_PLAINLY = "{lost} asks brought nothing of use"
_WHY: Mapping[Count, str] = {
    "given_up": "no reply of use after every attempt",
    "refused": "refused by the server",
    "failed": "no reply at all",
}
_BECAME: Mapping[Count, str] = {
    "rewritten": "{lost} of {of} queries were not rewritten and were asked as they are",
    "windows": "{lost} of {of} windows kept the order below",
    "graded": "{lost} of {of} documents kept their place below, the others were put in order around them",
    "compared": "{undecided} of {of} compared pairs count as ties",
}


def _yes_or_no(counts: Counts) -> list[str]:
    """Which way the replies of documents asked about one by one were read."""
    asked, odds, texts = (int(np.count_nonzero(counts[name])) for name in ("graded", "by_odds", "by_text"))
    if not asked:
        return []
    told = {
        f"{odds} of {asked} queries were ranked by the log-probabilities of Yes and No": odds,
        f"{texts} of {asked} queries were ranked by the replies' text, Yes above No: not every reply brought a log-probability "
        "of Yes or No": texts,
        f"{asked - odds - texts} of {asked} queries kept the order below: no document had a reply of use": asked - odds - texts,
    }
    return [note for note, count in told.items() if count]


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
        f"{counted(plain, 'reply is', 'replies are')} plain text and not the JSON that was asked for": plain,
        counted(strange, "source was", "sources were") + " named by answers and never given to them, and left out": strange,
    }
    return [note for note, count in told.items() if count]


def _unreadable(sums: Mapping[str, int]) -> str:
    count = sums["unreadable"]
    one = "reply was not in the form that was asked for, or was cut or refused"
    return counted(count, one, "replies were not in the form that was asked for, or were cut or refused") if count else ""
