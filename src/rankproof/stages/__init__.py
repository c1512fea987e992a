"""The rungs of the ladder, a file each."""

from __future__ import annotations

from .answer import Answer
from .bm25 import BM25
from .chunked import Chunked
from .dense import Dense
from .extract import Extract
from .fuse import RRF, Fuse
from .keywords import Keywords
from .listwise import Listwise
from .maxsim import MaxSim
from .pairs import Pairs
from .pairwise import Pairwise
from .pointwise import Pointwise
from .rerank import Rerank
from .rewrite import Rewrite
from .rm3 import RM3
from .similarity import Similarity

__all__ = [
    "BM25",
    "RM3",
    "RRF",
    "Answer",
    "Chunked",
    "Dense",
    "Extract",
    "Fuse",
    "Keywords",
    "Listwise",
    "MaxSim",
    "Pairs",
    "Pairwise",
    "Pointwise",
    "Rerank",
    "Rewrite",
    "Similarity",
]
