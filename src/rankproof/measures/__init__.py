"""Measures: a file each, a few lines of numpy over hits; parsed and printed in one notation."""

from __future__ import annotations

from typing import Any

from rankproof.measures._answers import (
    EM,
    ROUGE_L,
    AnswerCase,
    AnswerF1,
    AnswerMeasure,
    CiteP,
    CiteR,
    Contains,
    Encode,
    SharedWords,
    Similarity,
    normalise_answer,
    rouge_words,
    shared_words,
    token_bag_f1,
    token_set_f1,
    word_bag,
)
from rankproof.measures._average_precision import AP, GMAP, ElevenPoint, IPrec, infAP
from rankproof.measures._base import BinaryMeasure, CutoffMeasure, Measure, SummaryKind
from rankproof.measures._counts import NumQ, NumRel, NumRelRet, NumRet
from rankproof.measures._dcg import DCG, nDCG
from rankproof.measures._judged import Judged, Unjudged, bpref
from rankproof.measures._parse import parse_measure, parse_measures, unsupported_measures
from rankproof.measures._precision_recall import F1, P, R, Rprec, SetF, SetP, SetR, Success
from rankproof.measures._registry import (
    ANSWER_MEASURES,
    MEASURES,
    default_answer_measures,
    default_measures,
    entry_point_measures,
)
from rankproof.measures._user_model import ERR, RBP, RR

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
    "BinaryMeasure",
    "CutoffMeasure",
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
    "SummaryKind",
    "Unjudged",
    "bpref",
    "default_answer_measures",
    "default_measures",
    "entry_point_measures",
    "infAP",
    "nDCG",
    "parse_measure",
    "parse_measures",
    "unsupported_measures",
]


def __getattr__(name: str) -> Any:
    """What a measure of answers is, loaded when it is asked for."""
    if name != "AnswerMeasure":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rankproof.measures._answers import AnswerMeasure

    return AnswerMeasure


__all__ = [
    "EM",
    "ROUGE_L",
    "AnswerCase",
    "AnswerF1",
    "AnswerMeasure",
    "CiteP",
    "CiteR",
    "Contains",
    "Encode",
    "SharedWords",
    "Similarity",
    "normalise_answer",
    "rouge_words",
    "shared_words",
    "token_bag_f1",
    "token_set_f1",
    "word_bag",
]
