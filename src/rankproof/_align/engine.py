"""Alignment by the selected engine."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

from rankproof import _engine_choice
from rankproof._align.hits import Hits, JudgedQueries
from rankproof._data.qrels import Qrels
from rankproof._data.row_errors import OnConflict
from rankproof._data.run import Run
from rankproof._data.validation import ReadOptions

if TYPE_CHECKING:
    from rankproof._io.streams import ByteSource

NAME: Literal["native", "reference"]


class Engine(Protocol):
    """The functions of both engines."""

    def judge_text(
        self, source: ByteSource, only: Collection[str] | None = None, *, on_conflict: OnConflict = "error"
    ) -> JudgedQueries: ...
    def judge_qrels(self, qrels: Qrels, only: Collection[str] | None = None) -> JudgedQueries: ...
    def judge_dict(
        self, grades: Mapping[str, Mapping[str, int]], name: str, only: Collection[str] | None = None
    ) -> JudgedQueries: ...
    def align_text(self, judged: JudgedQueries, source: ByteSource, read_options: ReadOptions) -> Hits: ...
    def align_run(self, judged: JudgedQueries, run: Run, read_options: ReadOptions) -> Hits: ...
    def align_dict(
        self, judged: JudgedQueries, scores: Mapping[str, Mapping[str, float]], name: str, read_options: ReadOptions
    ) -> Hits: ...


# An attribute made on access, so that importing this module chooses no engine.
def __getattr__(name: str) -> str:
    if name == "NAME":
        return _engine_choice.chosen_name()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _engine() -> Engine:
    return cast(Engine, _engine_choice.loaded(f"rankproof._align.{_engine_choice.chosen_name()}"))


def judge_text(source: ByteSource, only: Collection[str] | None = None, *, on_conflict: OnConflict = "error") -> JudgedQueries:
    """Judgements from TREC text; `only` selects queries, `on_conflict` chooses the grade of a pair with two."""
    return _engine().judge_text(source, only, on_conflict=on_conflict)


def judge_qrels(qrels: Qrels, only: Collection[str] | None = None) -> JudgedQueries:
    """Judgements from memory."""
    return _engine().judge_qrels(qrels, only)


def judge_documents(qrels: Qrels, only: Collection[str] | None = None) -> JudgedQueries:
    """Judgements from memory, whose hits have the codes of their documents."""
    from rankproof._align.judged_documents import judge_by_code

    return judge_by_code(_engine().judge_qrels, qrels, only)


def judge_dict(grades: Mapping[str, Mapping[str, int]], name: str, only: Collection[str] | None = None) -> JudgedQueries:
    """Judgements from a dict of dicts."""
    return _engine().judge_dict(grades, name, only)


def align_text(judged: JudgedQueries, source: ByteSource, read_options: ReadOptions) -> Hits:
    """Hits of a TREC run."""
    return _finished(_engine().align_text(judged, source, read_options), read_options)


def align_run(judged: JudgedQueries, run: Run, read_options: ReadOptions) -> Hits:
    """Hits of a run in memory."""
    return _finished(_engine().align_run(judged, run, read_options), read_options)


def align_dict(judged: JudgedQueries, scores: Mapping[str, Mapping[str, float]], name: str, read_options: ReadOptions) -> Hits:
    """Hits of a run in a dict of dicts."""
    return _finished(_engine().align_dict(judged, scores, name, read_options), read_options)


def align_arrow(judged: JudgedQueries, stream: Any, columns: Sequence[int], name: str, read_options: ReadOptions) -> Hits:
    """Hits of a run in an Arrow stream, by the native engine; `columns` as in `native.align_arrow`."""
    from rankproof._align import native

    return _finished(native.align_arrow(judged, stream, columns, name, read_options), read_options)


def _finished(hits: Hits, read_options: ReadOptions) -> Hits:
    """The hits, with the codes of documents where the judgements have them; scores of trec_eval 9 also ask for its values."""
    if hits.judged.documents is not None:
        from rankproof._align.judged_documents import with_codes

        hits = with_codes(hits)
    return replace(hits, trec_eval_9=True) if read_options.float32 else hits
