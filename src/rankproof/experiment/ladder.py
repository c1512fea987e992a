"""The default ladder, from title-only BM25 to a late-interaction reranker."""

from __future__ import annotations

from ..models.registry import is_ready, model_named
from ..stages import BM25, RRF, Dense, Fuse, MaxSim, Rerank
from ..stages.base import Stage

MODELS = ("wordllama", "minilm")
"""The encoders of the default ladder; the hybrids take the last one whose weights are in the cache."""


def default_ladder(*, wordllama: bool | None = None, minilm: bool | None = None) -> dict[str, Stage]:
    """The systems whose weights are in the cache; `wordllama` and `minilm` choose theirs whether or not the weights are there."""
    bm25 = BM25()
    ladder: dict[str, Stage] = {"bm25-title": BM25(fields=("title",)), "bm25": bm25}
    if _is_there("wordllama") if wordllama is None else wordllama:
        ladder["static"] = Dense(model_named("wordllama"))
    if _is_there("minilm") if minilm is None else minilm:
        ladder["minilm"] = Dense(model_named("minilm"))
    dense = ladder.get("minilm") or ladder.get("static")
    if dense is not None:
        hybrid = Fuse((bm25, dense), method="combsum", norm="z-score")
        ladder |= {"hybrid-rrf": RRF((bm25, dense)), "hybrid-z": hybrid}
        if "minilm" in ladder:
            ladder["late-interaction"] = Rerank(hybrid, MaxSim(model_named("minilm")), weight=0.5)
    return ladder


def missing_weights() -> str:
    """Which encoders of the ladder have no weights in the cache, and the command that gets them."""
    missing = [name for name in MODELS if not _is_there(name)]
    fix = f"run: rankproof models get {' '.join(missing)}"
    return f"no weights of {' and '.join(missing)}, so the systems that need them are left out; {fix}"


def _is_there(name: str) -> bool:
    return is_ready(model_named(name))
