"""What must be known of an encoder before its numbers are believed: how it was trained, and whether it beats chance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .entry import Entry

_INCONCLUSIVE = {
    "none": "untrained: its numbers say nothing about tokenization",
    "language model": "never trained for retrieval: its numbers say nothing about tokenization",
}
_CAUTION = {"unknown": "nothing tells whether it was trained for retrieval"}


def training_of(facts: Mapping[str, Any]) -> str:
    """What an encoder says of how it was trained, empty where it says nothing."""
    model = facts.get("model")
    told = model.get("training") if isinstance(model, Mapping) else None
    return told if isinstance(told, str) else ""


def is_conclusive(entry: Entry) -> bool:
    """Whether the system's numbers may stand in a conclusion: those of a model not trained for retrieval may not."""
    return entry.training not in _INCONCLUSIVE


def remarks(entries: Sequence[Entry], measure: str, chance: float | None) -> Iterator[str]:
    """A sentence for each thing that a reader must know of a system beside its numbers."""
    for entry in entries:
        told = _INCONCLUSIVE.get(entry.training) or _CAUTION.get(entry.training)
        if told:
            yield f"{entry.system}: {told}"
        if is_random(entry, measure, chance):
            value = f"{measure} {entry.mean(measure):.4f}"
            yield f"{entry.system}: {value} is not clearly above that of a random ranking ({chance:.4f})"
        yield from (f"{entry.system}: {note}" for note in entry.notes)


def is_random(entry: Entry, measure: str, chance: float | None) -> bool:
    """Whether the interval reaches down to what a random ranking gives."""
    if chance is None:
        return False
    interval = entry.interval(measure)
    return (interval[0] if interval else entry.mean(measure)) <= chance
