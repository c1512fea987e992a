"""Every measure of every system's answers, with how sure it is."""

from __future__ import annotations

from ...errors import shown
from ...evaluation import MeasureResult
from ..evidence import Evidence
from ..statistics.bootstrap import Interval
from ..statistics.intervals import mean_interval, method_words
from ..table import Column, Item, Table
from ..wording import counted


def means_table(evidence: Evidence, *, level: float = 0.95, resamples: int = 10_000, seed: int = 0) -> Table:
    """A row for each system and measure; the notes of the evaluation beside it."""
    rows: list[tuple[Item, ...]] = []
    sizes: list[int] = []
    for system in evidence.result.systems:
        for name, one in system.measures.items():
            interval = _interval(one, level, resamples, seed)
            rows.append((system.name, name, one.queries, one.value if one.queries else None, interval))
            sizes.append(one.queries)
    n = counted(len(evidence.result.queries), "question")
    return Table(
        name="answer measures",
        title=f"Answers against their references: n = {n} with a reference",
        columns=(
            Column("system"),
            Column("measure"),
            Column("n", "count", "questions that the mean runs over"),
            Column("value", "value", "the mean"),
            Column(f"{level:.0%} interval", "interval", method_words("bca", resamples, min(sizes), max(sizes))),
        ),
        rows=tuple(rows),
        notes=_notes(evidence),
        facts={"n": len(evidence.result.queries), "level": level, "resamples": resamples, "seed": seed},
    )


def _interval(one: MeasureResult, level: float, resamples: int, seed: int) -> Interval | None:
    if not one.queries:
        return None
    return mean_interval(one.values, level=level, resamples=resamples, seed=seed, within=one.measure.range)


def _notes(evidence: Evidence) -> tuple[str, ...]:
    """Each note once, after the names of the systems that have it."""
    owners: dict[str, list[str]] = {}
    for system in evidence.result.systems:
        for note in system.notes:
            owners.setdefault(note.text, []).append(shown(system.name))
    everyone = len(evidence.result.systems)
    return tuple(f"{'all systems' if len(names) == everyone > 1 else ', '.join(names)}: {text}" for text, names in owners.items())
