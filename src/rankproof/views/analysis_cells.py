"""A cell of an analysis as people read it, by the kind of its column."""

from __future__ import annotations

from ..analysis.table import Item, Kind
from ..analysis.wording import LEAST_P
from .grid import ABSENT

_LONG = 999.5
"""From here on three digits would need an exponent."""


def shown(item: Item, kind: Kind) -> str:
    """The cell as text, rounded here and nowhere before."""
    if item is None:
        return ABSENT
    if isinstance(item, tuple):
        return f"[{item[0]:.4f}, {item[1]:.4f}]"
    if isinstance(item, bool):
        return "yes" if item else "no"
    if isinstance(item, str):
        return item
    return _number(item, kind)


def _number(item: float, kind: Kind) -> str:
    if kind == "p":
        return f"{item:.4f}" if item >= LEAST_P else f"<{LEAST_P:.4f}"
    if kind == "number":
        return f"{item:.3g}" if abs(item) < _LONG else f"{item:.0f}"
    formats = {"difference": "+.4f", "points": "+.2f", "share": ".1%", "count": ".0f"}
    return format(item, formats.get(kind, ".4f"))
