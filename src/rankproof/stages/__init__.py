"""Stages, which rank documents, and scorers, which rerank them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .answer import Answer as Answer
    from .bm25 import BM25 as BM25
    from .chunked import Chunked as Chunked
    from .dense import Dense as Dense
    from .extract import Extract as Extract
    from .fuse import RRF as RRF
    from .fuse import Fuse as Fuse
    from .keywords import Keywords as Keywords
    from .listwise import Listwise as Listwise
    from .maxsim import MaxSim as MaxSim
    from .pairs import Pairs as Pairs
    from .pairwise import Pairwise as Pairwise
    from .pointwise import Pointwise as Pointwise
    from .rerank import Rerank as Rerank
    from .rewrite import Rewrite as Rewrite
    from .rm3 import RM3 as RM3
    from .similarity import Similarity as Similarity
else:
    from .._registry import lazy_names
    from .registry import SCORERS, STAGES

    __all__, __getattr__, __dir__ = lazy_names(__name__, STAGES, SCORERS, RRF="rankproof.stages.fuse")
