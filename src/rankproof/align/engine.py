"""Alignment by the engine that is in use."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, Protocol, cast

from .. import engine_choice
from ..data.qrels import Qrels
from ..data.reading import Reading
from ..data.run import Run
from ..data.source import Source
from .hits import Hits, Judged

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
        return engine_choice.chosen_name()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _engine() -> Engine:
    return cast(Engine, engine_choice.loaded(f"rankproof.align.{engine_choice.chosen_name()}"))


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
