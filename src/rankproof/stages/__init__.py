"""The rungs of the ladder, a file each."""

from __future__ import annotations

from .bm25 import BM25
from .dense import Dense
from .fuse import RRF, Fuse
from .keywords import Keywords
from .maxsim import MaxSim
from .pairs import Pairs
from .rerank import Rerank
from .similarity import Similarity

__all__ = ["BM25", "RRF", "Dense", "Fuse", "Keywords", "MaxSim", "Pairs", "Rerank", "Similarity"]
