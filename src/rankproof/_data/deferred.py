"""A sequence that is computed when it is first read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, overload

_Item = TypeVar("_Item")


class Deferred(Sequence[_Item], Generic[_Item]):
    """Items that cost more than what they belong to, and that are often not read, such as notes and tables."""

    __slots__ = ("_compute", "_items")

    def __init__(self, compute: Callable[[], tuple[_Item, ...]]) -> None:
        self._compute: Callable[[], tuple[_Item, ...]] | None = compute
        self._items: tuple[_Item, ...] = ()

    def _known(self) -> tuple[_Item, ...]:
        compute = self._compute
        if compute is not None:
            self._items = compute()
            # The function holds what the items are computed from.
            self._compute = None
        return self._items

    @overload
    def __getitem__(self, place: int) -> _Item: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[_Item, ...]: ...
    def __getitem__(self, place: int | slice) -> _Item | tuple[_Item, ...]:
        return self._known()[place]

    def __len__(self) -> int:
        return len(self._known())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._known() == tuple(other)

    def __repr__(self) -> str:
        return repr(self._known())

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self._known(),)
