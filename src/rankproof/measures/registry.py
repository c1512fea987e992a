"""The shelf of measures, by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from .answer_shelf import AnswerShelf
from .average_precision import AP
from .base import Measure
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
from .precision import P
from .r_precision import Rprec
from .rbp import RBP
from .recall import R
from .reciprocal_rank import RR
from .set_f import SetF
from .set_precision import SetP
from .set_recall import SetR
from .success import Success
from .unjudged import Unjudged

if TYPE_CHECKING:
    from .answers import AnswerMeasure

_OURS: tuple[Measure, ...] = (
    *(nDCG, DCG, RR, AP, P, R, F1, Success, Rprec, bpref, infAP, IPrec, ElevenPoint, GMAP, ERR, RBP),
    *(SetP, SetR, SetF, Judged, Unjudged, NumQ, NumRet, NumRel, NumRelRet),
)
MEASURES: Mapping[str, Measure] = MappingProxyType({measure.name: measure for measure in _OURS})

ANSWER_MEASURES: Mapping[str, AnswerMeasure] = AnswerShelf()
"""Those of answers; F1 is on both shelves, and has a cutoff where it is one of rankings."""


def outside_measures() -> dict[str, Measure]:
    """Measures that installed packages offer by the entry point group rankproof.measures, each entry an instance."""
    from importlib.metadata import entry_points

    found = (entry.load() for entry in entry_points(group="rankproof.measures"))
    return {measure.name: measure for measure in found}


def default_measures(max_grade: int) -> list[Measure]:
    """What is evaluated where nothing is asked for; exponential gain only where grades exceed 1."""
    graded = [nDCG(gain="exp") @ 10] if max_grade > 1 else []
    return [nDCG @ 10, *graded, RR @ 10, R @ 100, P @ 10, *(Success @ cutoff for cutoff in (1, 3, 5, 10))]


def default_answer_measures(*, cited: bool) -> list[Measure]:
    """What is evaluated of answers where nothing is asked for; citations only where any answer has one."""
    from .answers import EM, ROUGE_L, AnswerF1, CiteP, CiteR, Contains

    return [EM, AnswerF1(tokens="bag"), AnswerF1(tokens="set"), Contains, ROUGE_L, *((CiteP, CiteR) if cited else ())]
