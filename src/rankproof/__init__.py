"""Proves, with numbers, whether one search or RAG system is better than another.

>>> import rankproof as rp
>>> result = rp.evaluate({"q1": {"d1": 1}}, {"q1": {"d1": 0.9, "d2": 0.4}}, ["nDCG@10", "RR"])
>>> result.means
{'run': {'nDCG@10': 1.0, 'RR': 1.0}}
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from .data.dataset import Dataset
    from .data.qrels import Qrels
    from .data.run import Run
    from .errors import InputError, MissingExtraError, RankproofError, UsageError, WorldError
    from .evaluation import Note, Result, evaluate
    from .formats import read_dataset, read_qrels, read_run, write_qrels, write_run
    from .fusion import fuse
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

_ROOMS = {
    "data.dataset": ("Dataset",),
    "data.qrels": ("Qrels",),
    "data.run": ("Run",),
    "errors": ("InputError", "MissingExtraError", "RankproofError", "UsageError", "WorldError"),
    "evaluation": ("Note", "Result", "evaluate"),
    "formats": ("read_dataset", "read_qrels", "read_run", "write_qrels", "write_run"),
    "fusion": ("fuse",),
    "measures": (
        *("AP", "DCG", "ERR", "ElevenPoint", "F1", "GMAP", "IPrec", "Judged", "NumQ", "NumRel", "NumRelRet", "NumRet", "P", "R"),
        *("RBP", "RR", "Rprec", "SetF", "SetP", "SetR", "Success", "Unjudged", "bpref", "infAP", "nDCG", "parse"),
    ),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "AP",
    "DCG",
    "ERR",
    "F1",
    "GMAP",
    "RBP",
    "RR",
    "Dataset",
    "ElevenPoint",
    "IPrec",
    "InputError",
    "Judged",
    "MissingExtraError",
    "Note",
    "NumQ",
    "NumRel",
    "NumRelRet",
    "NumRet",
    "P",
    "Qrels",
    "R",
    "RankproofError",
    "Result",
    "Rprec",
    "Run",
    "SetF",
    "SetP",
    "SetR",
    "Success",
    "Unjudged",
    "UsageError",
    "WorldError",
    "bpref",
    "evaluate",
    "fuse",
    "infAP",
    "nDCG",
    "parse",
    "read_dataset",
    "read_qrels",
    "read_run",
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
