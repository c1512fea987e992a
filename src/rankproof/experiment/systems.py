"""The systems of an experiment by name: in order, never changed, and fit to be compared, hashed and pickled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from typing import Any

from ..errors import UsageError, shown
from ..stages.base import Stage
from .extent import parts_of

_STAGE = "give a stage, such as BM25(): a frozen dataclass with depth, below and build"


class Systems(Mapping[str, Stage]):
    """Name to stage; what is no name or no stage is refused."""

    __slots__ = ("_stages",)

    def __init__(self, systems: Mapping[str, Stage]) -> None:
        if not isinstance(systems, Mapping) or not systems:
            raise UsageError("the experiment has no system", fix='name at least one, as in {"bm25": BM25()}')
        for name, stage in systems.items():
            if not isinstance(name, str) or not name:
                raise UsageError(f"a system is called {shown(repr(name))}", fix="give it a name of text, not empty")
            _refuse_no_stage(name, stage)
        self._stages = dict(systems)

    def __getitem__(self, name: str) -> Stage:
        return self._stages[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._stages)

    def __len__(self) -> int:
        return len(self._stages)

    def __hash__(self) -> int:
        return hash(frozenset(self._stages.items()))

    def __repr__(self) -> str:
        return repr(self._stages)


def _refuse_no_stage(name: str, value: Any) -> None:
    def refuse(part: Any) -> UsageError:
        return UsageError(f"system {shown(name)} rests on a {type(part).__name__}, which is no stage", fix=_STAGE)

    def look(part: Any) -> None:
        if not _has_shape(part):
            raise refuse(part)

    for part in parts_of(value, look, f"system {shown(name)}"):
        if not _has_hash(part):
            raise refuse(part)


def _has_shape(value: Any) -> bool:
    whole = all(hasattr(value, part) for part in ("depth", "below", "build"))
    return whole and is_dataclass(value) and not isinstance(value, type)


def _has_hash(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
