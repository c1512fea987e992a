"""Proves, with numbers, whether one search or RAG system is better than another.

>>> import rankproof as rp
>>> result = rp.evaluate({"q1": {"d1": 1}}, {"q1": {"d1": 0.9, "d2": 0.4}}, ["nDCG@10", "RR"])
>>> result.means
{'run': {'nDCG@10': 1.0, 'RR': 1.0}}
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .version import __version__ as __version__

if TYPE_CHECKING:
    from ._fusion.fuse import fuse
    from .analysis.compare.compare import compare
    from .analysis.evidence import Evidence, evidence_of_climb, evidence_of_runs
    from .asking.budget import Budget
    from .data.corpus import Corpus, Document
    from .data.dataset import Dataset
    from .data.qrels import Qrels
    from .data.queries import Queries, Query
    from .data.run import Run
    from .errors import InputError, MissingExtraError, RankproofError, UsageError, WorldError
    from .evaluation import Note, Result, evaluate
    from .evaluation.answers import evaluate_answers
    from .experiment import Climb, Experiment, Settings, default_ladder, load_climb, read_experiment, save_climb
    from .experiment.climbing import climb
    from .formats import read_dataset, read_qrels, read_run, write_qrels, write_run
    from .measures import (
        AP,
        DCG,
        ERR,
        F1,
        GMAP,
        RBP,
        RR,
        ElevenPoint,
        IPrec,
        Judged,
        NumQ,
        NumRel,
        NumRelRet,
        NumRet,
        P,
        R,
        Rprec,
        SetF,
        SetP,
        SetR,
        Success,
        Unjudged,
        bpref,
        infAP,
        nDCG,
        parse,
    )
    from .models import (
        Bert,
        Bpe,
        ByT5,
        Canine,
        CrossEncoder,
        Llama,
        MiniLM,
        OpenAIChat,
        SentenceTransformer,
        SmolLM2,
        TorchCrossEncoder,
        Trial,
        WordLlama,
    )
    from .stages import (
        BM25,
        RM3,
        RRF,
        Answer,
        Chunked,
        Dense,
        Extract,
        Fuse,
        Keywords,
        Listwise,
        MaxSim,
        Pairs,
        Pairwise,
        Pointwise,
        Rerank,
        Rewrite,
        Similarity,
    )
    from .stages.base import Cost, Ground
    from .stores import Chroma, Memory, PgVector

_ROOMS = {
    "analysis.compare.compare": ("compare",),
    "analysis.evidence": ("Evidence", "evidence_of_climb", "evidence_of_runs"),
    "data.corpus": (
        "Corpus",
        "Document",
    ),
    "data.queries": (
        "Queries",
        "Query",
    ),
    "experiment": (
        "Climb",
        "Experiment",
        "Settings",
        "climb",
        "default_ladder",
        "load_climb",
        "read_experiment",
        "save_climb",
    ),
    "models": (
        "Bert",
        "Bpe",
        "ByT5",
        "Canine",
        "CrossEncoder",
        "Llama",
        "MiniLM",
        "OpenAIChat",
        "SentenceTransformer",
        "SmolLM2",
        "TorchCrossEncoder",
        "Trial",
        "WordLlama",
    ),
    "stages": (
        "Answer",
        "BM25",
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
        "RM3",
        "RRF",
        "Rerank",
        "Rewrite",
        "Similarity",
    ),
    "stages.base": (
        "Cost",
        "Ground",
    ),
    "stores": (
        "Chroma",
        "Memory",
        "PgVector",
    ),
    "asking.budget": ("Budget",),
    "data.dataset": ("Dataset",),
    "data.qrels": ("Qrels",),
    "data.run": ("Run",),
    "errors": ("InputError", "MissingExtraError", "RankproofError", "UsageError", "WorldError"),
    "evaluation": ("Note", "Result", "evaluate"),
    "evaluation.answers": ("evaluate_answers",),
    "formats": ("read_dataset", "read_qrels", "read_run", "write_qrels", "write_run"),
    "_fusion.fuse": ("fuse",),
    "measures": (
        *("AP", "DCG", "ERR", "ElevenPoint", "F1", "GMAP", "IPrec", "Judged", "NumQ", "NumRel", "NumRelRet", "NumRet", "P", "R"),
        *("RBP", "RR", "Rprec", "SetF", "SetP", "SetR", "Success", "Unjudged", "bpref", "infAP", "nDCG", "parse"),
    ),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "AP",
    "BM25",
    "DCG",
    "ERR",
    "F1",
    "GMAP",
    "RBP",
    "RM3",
    "RR",
    "RRF",
    "Answer",
    "Bert",
    "Bpe",
    "Budget",
    "ByT5",
    "Canine",
    "Chroma",
    "Chunked",
    "Climb",
    "Corpus",
    "Cost",
    "CrossEncoder",
    "Dataset",
    "Dense",
    "Document",
    "ElevenPoint",
    "Evidence",
    "Experiment",
    "Extract",
    "Fuse",
    "Ground",
    "IPrec",
    "InputError",
    "Judged",
    "Keywords",
    "Listwise",
    "Llama",
    "MaxSim",
    "Memory",
    "MiniLM",
    "MissingExtraError",
    "Note",
    "NumQ",
    "NumRel",
    "NumRelRet",
    "NumRet",
    "OpenAIChat",
    "P",
    "Pairs",
    "Pairwise",
    "PgVector",
    "Pointwise",
    "Qrels",
    "Queries",
    "Query",
    "R",
    "RankproofError",
    "Rerank",
    "Result",
    "Rewrite",
    "Rprec",
    "Run",
    "SentenceTransformer",
    "SetF",
    "SetP",
    "SetR",
    "Settings",
    "Similarity",
    "SmolLM2",
    "Success",
    "TorchCrossEncoder",
    "Trial",
    "Unjudged",
    "UsageError",
    "WordLlama",
    "WorldError",
    "bpref",
    "climb",
    "compare",
    "default_ladder",
    "evaluate",
    "evaluate_answers",
    "evidence_of_climb",
    "evidence_of_runs",
    "fuse",
    "infAP",
    "load_climb",
    "nDCG",
    "parse",
    "read_dataset",
    "read_experiment",
    "read_qrels",
    "read_run",
    "save_climb",
    "write_qrels",
    "write_run",
]


def __getattr__(name: str) -> Any:
    """Loads a public name from its room on first use, so that importing rankproof costs nothing."""
    if name not in _HOME:
        raise AttributeError(f"module 'rankproof' has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*_HOME, "__version__"])
