"""Letters for papers: each system's means, each with the systems that it is better than."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from string import ascii_lowercase

from ..table import Column, Item, Table
from .join import Joined
from .pairs import Comparison
from .tables import Facts


def letters(joined: Joined, found: Sequence[Comparison], how: str, notes: Sequence[str], facts: Facts) -> Table:
    """Each system's means, each with the letters of the systems that it is better than."""
    marks = dict(zip(joined.systems, _letters(len(joined.systems)), strict=True))
    beaten = _beaten(found)
    between = "" if len(marks) <= len(ascii_lowercase) else ","
    means = {(str(one.seen.measure), name): value for one in found for name, value in _values(one)}
    columns = [Column("system"), Column("letter")]
    for measure in joined.measures:
        columns += [
            Column(str(measure), "value"),
            Column(f"{measure} beats", "marks", "letters of the systems it is better than"),
        ]
    rows: list[tuple[Item, ...]] = []
    for name in joined.systems:
        cells = [
            (means[measure, name], between.join(marks[other] for other in marks if other in beaten.get((measure, name), ())))
            for measure in map(str, joined.measures)
        ]
        rows.append((name, marks[name], *(item for pair in cells for item in pair)))
    title = f"A letter behind a value: the system is better than the one of that letter (n = {facts['n']:,} queries)"
    return Table("letters", title, tuple(columns), tuple(rows), (how,), tuple(notes), dict(facts))


def _values(found: Comparison) -> tuple[tuple[str, float], ...]:
    return (found.seen.one, found.seen.value), (found.seen.other, found.seen.other_value)


def _beaten(found: Sequence[Comparison]) -> dict[tuple[str, str], set[str]]:
    """Measure and system to the systems that it is better than."""
    beaten: dict[tuple[str, str], set[str]] = {}
    for one in found:
        if one.verdict in ("better", "worse"):
            winner, loser = (one.seen.one, one.seen.other) if one.verdict == "better" else (one.seen.other, one.seen.one)
            beaten.setdefault((str(one.seen.measure), winner), set()).add(loser)
    return beaten


def _letters(count: int) -> list[str]:
    """a to z, then aa, ab and so on."""
    found, size = list(ascii_lowercase), 2
    while len(found) < count:
        found += ["".join(parts) for parts in product(ascii_lowercase, repeat=size)]
        size += 1
    return found[:count]
