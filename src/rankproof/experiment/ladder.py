"""The default ladder, from title-only BM25 to a late-interaction reranker."""

from __future__ import annotations

from ..models.registry import is_ready, model_named
from ..stages import BM25, RRF, Dense, Fuse, MaxSim, Rerank
from ..stages.base import Stage

MISSING_MINILM = "MiniLM's weights are not here, so its rungs are left out; get them with: rankproof models get minilm"


def default_ladder(*, minilm: bool | None = None) -> dict[str, Stage]:
    """Every rung where MiniLM's weights are at hand, else the rungs that need none; `minilm` decides it."""
    bm25, static = BM25(), Dense(model_named("wordllama"))
    ladder: dict[str, Stage] = {"bm25-title": BM25(fields=("title",)), "bm25": bm25, "static": static}
    if minilm is None:
        minilm = is_ready(model_named("minilm"))
    if not minilm:
        return {**ladder, "hybrid-rrf": RRF((bm25, static)), "hybrid-z": _by_z_scores(bm25, static)}
    dense = Dense(model_named("minilm"))
    hybrid = _by_z_scores(bm25, dense)
    late = Rerank(hybrid, MaxSim(model_named("minilm")), weight=0.5)
    return {**ladder, "minilm": dense, "hybrid-rrf": RRF((bm25, dense)), "hybrid-z": hybrid, "late-interaction": late}


def _by_z_scores(first: Stage, second: Stage) -> Stage:
    return Fuse((first, second), method="combsum", norm="z-score")
