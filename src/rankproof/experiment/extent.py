"""How high a system stands on others: what is done for a system is done for each of its parts as often as it is named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..errors import UsageError
from ..stages.base import Stage

MOST_LEVELS = 50
MOST_PARTS = 1000
FIX = "let systems refer to fewer others"


def parts_of(stage: Stage, look: Callable[[Any], None] = lambda part: None, whose: str = "a system") -> tuple[Stage, ...]:
    """The stage and all that it rests on, each object once, lowest first; `look` sees each before it is asked for its parts.

    A system that no machine would be done with is refused.
    """
    walk = _Walk(look, whose)
    walk.extent(stage, 0)
    return tuple(part for part, _, _ in walk.known.values())


@dataclass(frozen=True, slots=True)
class _Walk:
    """What was seen on the way: by its id each part, the levels and the parts below it."""

    look: Callable[[Any], None]
    whose: str
    known: dict[int, tuple[Stage, int, int]] = field(default_factory=dict)

    def extent(self, stage: Stage, above: int) -> tuple[int, int]:
        """Levels and parts; a part that is named again is not looked at again, but counts again."""
        if id(stage) not in self.known:
            self.look(stage)
            self._refuse(above + 1, len(self.known))
            below = [self.extent(part, above + 1) for part in stage.below()]
            levels, parts = 1 + max((each[0] for each in below), default=0), 1 + sum(each[1] for each in below)
            self._refuse(levels, parts)
            self.known[id(stage)] = stage, levels, parts
        return self.known[id(stage)][1:]

    def _refuse(self, levels: int, parts: int) -> None:
        if levels > MOST_LEVELS:
            raise UsageError(f"{self.whose} rests on others, too deep: more than {MOST_LEVELS} levels", fix=FIX)
        if parts > MOST_PARTS:
            what = f"{self.whose} rests on more than {MOST_PARTS} parts, each counted as often as it is named"
            raise UsageError(what, fix=FIX)
