"""The names of tokenizers: what a token is, and for those that are trained how many there are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from ...errors import UsageError, nearest, shown

Family = Literal["bytes", "bytes-4", "characters", "bpe", "wordpiece"]
KINDS = ("bytes", "bytes-4", "characters", "bpe-N", "wordpiece-N")
FEWEST, MOST = 300, 100_000
_UNSIZED: tuple[Family, ...] = ("bytes", "bytes-4", "characters")
_SIZED: dict[str, Family] = {"bpe": "bpe", "wordpiece": "wordpiece"}
_NAME = re.compile(r"(bpe|wordpiece)-([1-9][0-9]{0,8})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Kind:
    """A name taken apart; `size` is the number of tokens asked for, 0 where nothing is trained."""

    family: Family
    size: int = 0

    @property
    def stride(self) -> int:
        """How many tokens the net joins into one before its deep layers."""
        return 4 if self.family in ("bytes-4", "characters") else 1


def kind_named(kind: str) -> Kind:
    """The name taken apart; another is refused."""
    for family in _UNSIZED:
        if kind == family:
            return Kind(family)
    found = _NAME.fullmatch(kind) if isinstance(kind, str) else None
    if found is None:
        guess = nearest(str(kind), [*_UNSIZED, *(f"{name}-8000" for name in _SIZED)])
        also = f"did you mean {guess}? known" if guess else "known"
        raise UsageError(f"no tokenizer is called {shown(str(kind))}", fix=f"{also}: {', '.join(KINDS)}")
    family, size = _SIZED[found[1]], int(found[2])
    if not FEWEST <= size <= MOST:
        raise UsageError(f"{kind} would have {size} tokens", fix=f"choose from {FEWEST} to {MOST:,}")
    return Kind(family, size)


def check_kind(kind: str) -> None:
    """Refuses a name that is no tokenizer's."""
    kind_named(kind)
