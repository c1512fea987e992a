"""Seed 001's systems by the names of their modes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ..data import checks
from ..errors import UsageError, nearest, shown
from ..models.ports import EncoderModel
from .built import Built
from .ranked import listed
from .retrievers import DEPTH, BM25Retriever, EmbeddingReranker, EmbeddingRetriever, KeywordJudge, StageRetriever, encoder
from .texts import Texts, corpus_of, queries_of

Runs = dict[str, list[str]]
_SYSTEMS: Mapping[str, Callable[[EncoderModel, int], StageRetriever]] = {
    "bm25": lambda model, depth: BM25Retriever(depth=depth),
    "embed": lambda model, depth: EmbeddingRetriever(model, depth=depth),
    "bm25->embed": lambda model, depth: EmbeddingReranker(BM25Retriever(depth=depth), model),
    "bm25->embed->judge": lambda model, depth: KeywordJudge(EmbeddingReranker(BM25Retriever(depth=depth), model)),
}
_ALSO_CALLED = {"bm25+embeddings": "bm25->embed", "bm25+embeddings+judge": "bm25->embed->judge"}
MODES = tuple(_SYSTEMS)


def run_system(queries: Texts, corpus: Texts, mode: str, k: int, *, model: EncoderModel | str | None = None) -> Runs:
    """Query id to the ids of the first k documents, best first, by one of the modes.

    Queries and documents are items with `id` (or `_id`) and `text`, or mappings from id to text. `model` is the encoder of the
    modes that have one; without it, the one that `default_encoder` names.
    """
    return run_systems(queries, corpus, [mode], k, model=model)[mode]


def run_systems(
    queries: Texts, corpus: Texts, modes: Iterable[str], k: int, *, model: EncoderModel | str | None = None
) -> dict[str, Runs]:
    """The same for several modes, which share what they are made of: documents are indexed and encoded once."""
    depth = max(DEPTH, checks.whole("k", k))
    chosen = encoder(model)
    stages = {mode: _named(mode)(chosen, depth).stage for mode in listed(modes, "modes")}
    asked, built = queries_of(queries), Built(stages.values(), corpus_of(corpus))
    return {mode: {query: built.ranking(stage, text)[0][:k] for query, text in asked.items()} for mode, stage in stages.items()}


def _named(mode: str) -> Callable[[EncoderModel, int], StageRetriever]:
    known = (*_SYSTEMS, *_ALSO_CALLED)
    if not isinstance(mode, str) or mode not in known:
        near = nearest(mode, known) if isinstance(mode, str) else None
        fix = f"did you mean {near}? " if near else ""
        raise UsageError(f"mode {shown(str(mode))} is not known", fix=f"{fix}Choose from {', '.join(known)}")
    return _SYSTEMS[_ALSO_CALLED.get(mode, mode)]
