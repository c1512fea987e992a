"""Measures: a file each, a few lines of numpy over hits; parsed and printed in one notation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .average_precision import AP
from .base import Binary, Cut, Measure, Summary
from .bpref import bpref
from .dcg import DCG
from .eleven_point import ElevenPoint
from .err import ERR
from .f1 import F1
from .gmap import GMAP
from .inferred_ap import infAP
from .interpolated_precision import IPrec
from .judged import Judged
from .ndcg import nDCG
from .num_q import NumQ
from .num_rel import NumRel
from .num_rel_ret import NumRelRet
from .num_ret import NumRet
from .parse import left_out, parse, parse_many
from .precision import P
from .r_precision import Rprec
from .rbp import RBP
from .recall import R
from .reciprocal_rank import RR
from .registry import ANSWER_MEASURES, MEASURES, default_answer_measures, default_measures, outside_measures
from .set_f import SetF
from .set_precision import SetP
from .set_recall import SetR
from .success import Success
from .unjudged import Unjudged

if TYPE_CHECKING:
    from .answers import AnswerMeasure

__all__ = [
    "ANSWER_MEASURES",
    "AP",
    "DCG",
    "ERR",
    "F1",
    "GMAP",
    "MEASURES",
    "RBP",
    "RR",
    "AnswerMeasure",
    "Binary",
    "Cut",
    "ElevenPoint",
    "IPrec",
    "Judged",
    "Measure",
    "NumQ",
    "NumRel",
    "NumRelRet",
    "NumRet",
    "P",
    "R",
    "Rprec",
    "SetF",
    "SetP",
    "SetR",
    "Success",
    "Summary",
    "Unjudged",
    "bpref",
    "default_answer_measures",
    "default_measures",
    "infAP",
    "left_out",
    "nDCG",
    "outside_measures",
    "parse",
    "parse_many",
]


def __getattr__(name: str) -> Any:
    """What a measure of answers is, loaded when it is asked for."""
    if name != "AnswerMeasure":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .answers import AnswerMeasure

    return AnswerMeasure
