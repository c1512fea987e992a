"""Which engine aligns: the native reader where it was built, else the plain-Python one; RANKPROOF_ENGINE forces one."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, Protocol, cast

from ..data.qrels import Qrels
from ..data.reading import Reading
from ..data.run import Run
from ..data.source import Source
from ..errors import UsageError, WorldError
from .hits import Hits, Judged

VARIABLE = "RANKPROOF_ENGINE"
NAME: Literal["native", "reference"]


class Engine(Protocol):
    """What both engines can do."""

    def judge_text(self, source: Source, only: Collection[str] | None = None) -> Judged: ...
    def judge_qrels(self, qrels: Qrels, only: Collection[str] | None = None) -> Judged: ...
    def judge_dict(self, grades: Mapping[str, Mapping[str, int]], name: str, only: Collection[str] | None = None) -> Judged: ...
    def align_text(self, judged: Judged, source: Source, reading: Reading) -> Hits: ...
    def align_run(self, judged: Judged, run: Run, reading: Reading) -> Hits: ...
    def align_dict(self, judged: Judged, scores: Mapping[str, Mapping[str, float]], name: str, reading: Reading) -> Hits: ...


def __getattr__(name: str) -> str:
    if name == "NAME":
        return chosen_name()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def chosen_name() -> Literal["native", "reference"]:
    """The engine in use; one that is asked for by name and missing is an error, never replaced."""
    forced = os.environ.get(VARIABLE, "")
    if forced not in ("", "native", "reference"):
        raise UsageError(f"{VARIABLE} is {forced!r}", fix="set it to native or reference, or unset it")
    if forced == "reference":
        return "reference"
    if is_built():
        return "native"
    if forced == "native":
        raise UsageError(
            f"{VARIABLE} asks for the native engine, which was not built", fix="install a C compiler and install again"
        )
    return "reference"


def is_built() -> bool:
    """Whether the native reader is there; one that is there and cannot be loaded is an error, not a reason for the other."""
    return find_spec("rankproof.align._native") is not None


def _engine() -> Engine:
    name = chosen_name()
    try:
        return cast(Engine, import_module(f"rankproof.align.{name}"))
    except ImportError as error:
        raise WorldError(f"the {name} engine cannot be loaded ({error}); install again, or set {VARIABLE}=reference") from None


def judge_text(source: Source, only: Collection[str] | None = None) -> Judged:
    """Judgements from TREC text; `only` names the queries to look at."""
    return _engine().judge_text(source, only)


def judge_qrels(qrels: Qrels, only: Collection[str] | None = None) -> Judged:
    """Judgements from memory."""
    return _engine().judge_qrels(qrels, only)


def judge_dict(grades: Mapping[str, Mapping[str, int]], name: str, only: Collection[str] | None = None) -> Judged:
    """Judgements from a dict of dicts."""
    return _engine().judge_dict(grades, name, only)


def align_text(judged: Judged, source: Source, reading: Reading) -> Hits:
    """Hits of a TREC run."""
    return _engine().align_text(judged, source, reading)


def align_run(judged: Judged, run: Run, reading: Reading) -> Hits:
    """Hits of a run in memory."""
    return _engine().align_run(judged, run, reading)


def align_dict(judged: Judged, scores: Mapping[str, Mapping[str, float]], name: str, reading: Reading) -> Hits:
    """Hits of a run in a dict of dicts."""
    return _engine().align_dict(judged, scores, name, reading)


def align_arrow(judged: Judged, stream: Any, columns: Sequence[int], name: str, reading: Reading) -> Hits:
    """Hits of a run in an Arrow stream, which only the native engine takes; columns as arrow.align_arrow has them."""
    from . import arrow

    return arrow.align_arrow(judged, stream, columns, name, reading)
