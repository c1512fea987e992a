"""The results folders as a list shows them, and which of them can be compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..analysis.joining import different_data
from ..errors import RankproofError
from .shelf import Shelf, Spot
from .summary import Summary


@dataclass(frozen=True, slots=True)
class Row:
    """A folder: its summary, or why there is none; `rivals` is how many others are about the same data."""

    id: str
    label: str
    path: str
    summary: Summary | None
    why: str = ""
    rivals: int = 0


def rows_of(shelf: Shelf) -> list[Row]:
    """Every folder, newest first; those that cannot be read come last, with the reason."""
    found = [(spot, shelf.summary(spot)) for spot in shelf.spots()]
    data = [summary.data for _, summary in found if isinstance(summary, Summary)]
    rows = [_row(spot, summary, data) for spot, summary in found]
    read = sorted((row for row in rows if row.summary), key=lambda row: row.summary.made if row.summary else "", reverse=True)
    return read + [row for row in rows if row.summary is None]


def rivals_of(shelf: Shelf, spot: Spot) -> list[Row]:
    """Every other folder, those about the same data first; `why` says of the others what differs."""
    mine = shelf.summary(spot)
    assert isinstance(mine, Summary), "only what can be read is compared"
    rows = list(_rivals(shelf, spot, mine))
    return [row for row in rows if not row.why] + [row for row in rows if row.why]


def _rivals(shelf: Shelf, spot: Spot, mine: Summary) -> Iterator[Row]:
    for other in shelf.spots():
        found = shelf.summary(other)
        if other.id != spot.id and isinstance(found, Summary):
            yield Row(other.id, other.label, other.path, found, different_data(mine.data, found.data) or "")


def _row(spot: Spot, found: Summary | RankproofError, data: list[tuple[str, str]]) -> Row:
    if isinstance(found, RankproofError):
        return Row(spot.id, spot.label, spot.path, None, str(found))
    same = sum(different_data(found.data, other) is None for other in data) - 1
    return Row(spot.id, spot.label, spot.path, found, rivals=same)
