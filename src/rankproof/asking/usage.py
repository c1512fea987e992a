"""What asking cost."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class Usage:
    """Requests that were sent (failed ones too), tokens read and written, money, and replies that a journal already had.

    `money` is 0 where the model has no price. `unsure` counts requests that brought no reply and may have been charged all the
    same: they count with the most that they may cost.
    """

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    money: float = 0.0
    journaled: int = 0
    unsure: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, part.name) + getattr(other, part.name) for part in fields(self)))

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def price(tokens_in: int, tokens_out: int, price_in: float, price_out: float) -> float:
    """Money for so many tokens, at prices for a million."""
    return (tokens_in * price_in + tokens_out * price_out) / 1e6
