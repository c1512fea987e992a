"""The names of tokenizers: what a token is, and for those that are trained how many there are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ...errors import UsageError, nearest, shown

Family = Literal["bytes", "bytes-4", "characters", "bpe", "wordpiece"]
FEWEST, MOST = 300, 100_000


class _Traits(NamedTuple):
    """Whether a number of tokens belongs to the name, how many tokens the net joins, whether it hashes them."""

    sized: bool = False
    stride: int = 1
    hashed: bool = False


_FAMILIES: dict[Family, _Traits] = {
    "bytes": _Traits(),
    "bytes-4": _Traits(stride=4),
    "characters": _Traits(stride=4, hashed=True),
    "bpe": _Traits(sized=True),
    "wordpiece": _Traits(sized=True),
}
KINDS = tuple(f"{family}-N" if traits.sized else family for family, traits in _FAMILIES.items())
_NAME = re.compile(r"(.+)-([1-9][0-9]{0,8})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Kind:
    """A name taken apart; `size` is the number of tokens asked for, 0 where nothing is trained."""

    family: Family
    size: int = 0

    @property
    def stride(self) -> int:
        """How many tokens the net joins into one before its deep layers."""
        return _FAMILIES[self.family].stride

    @property
    def hashed(self) -> bool:
        """Whether a token has no row of its own in the net, but parts of rows in several tables."""
        return _FAMILIES[self.family].hashed


def kind_named(kind: str) -> Kind:
    """The name taken apart; another is refused."""
    found = _NAME.fullmatch(kind) if isinstance(kind, str) else None
    for family, traits in _FAMILIES.items():
        if kind == family and not traits.sized:
            return Kind(family)
        if found is not None and found[1] == family and traits.sized:
            return Kind(family, _size(kind, int(found[2])))
    guess = nearest(str(kind), [name.replace("-N", "-8000") for name in KINDS])
    also = f"did you mean {guess}? known" if guess else "known"
    raise UsageError(f"no tokenizer is called {shown(str(kind))}", fix=f"{also}: {', '.join(KINDS)}")


def _size(kind: str, size: int) -> int:
    if not FEWEST <= size <= MOST:
        raise UsageError(f"{kind} would have {size} tokens", fix=f"choose from {FEWEST} to {MOST:,}")
    return size
