"""Measures of rankings and of answers, written in one notation: `nDCG @ 10`, or `parse_measure("nDCG@10")`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankproof.measures._answers import EM as EM
    from rankproof.measures._answers import ROUGE_L as ROUGE_L
    from rankproof.measures._answers import AnswerF1 as AnswerF1
    from rankproof.measures._answers import Contains as Contains
    from rankproof.measures._answers import Similarity as Similarity
    from rankproof.measures._average_precision import AP as AP
    from rankproof.measures._average_precision import GMAP as GMAP
    from rankproof.measures._average_precision import ElevenPoint as ElevenPoint
    from rankproof.measures._average_precision import IPrec as IPrec
    from rankproof.measures._average_precision import infAP as infAP
    from rankproof.measures._average_precision import yaap as yaap
    from rankproof.measures._base import Measure as Measure
    from rankproof.measures._citations import AbstainP as AbstainP
    from rankproof.measures._citations import AbstainR as AbstainR
    from rankproof.measures._citations import AnswerRate as AnswerRate
    from rankproof.measures._citations import CiteP as CiteP
    from rankproof.measures._citations import CiteR as CiteR
    from rankproof.measures._citations import NuggetR as NuggetR
    from rankproof.measures._claims import AnswerRelevance as AnswerRelevance
    from rankproof.measures._claims import ClaimF1 as ClaimF1
    from rankproof.measures._claims import ClaimP as ClaimP
    from rankproof.measures._claims import ClaimR as ClaimR
    from rankproof.measures._claims import Faithfulness as Faithfulness
    from rankproof.measures._claims import Hallucination as Hallucination
    from rankproof.measures._compat import Accuracy as Accuracy
    from rankproof.measures._compat import Compat as Compat
    from rankproof.measures._contexts import ContextAP as ContextAP
    from rankproof.measures._contexts import ContextP as ContextP
    from rankproof.measures._contexts import ContextR as ContextR
    from rankproof.measures._contexts import ContextRelevance as ContextRelevance
    from rankproof.measures._contexts import Noise as Noise
    from rankproof.measures._contexts import Utilisation as Utilisation
    from rankproof.measures._continuation import BPM as BPM
    from rankproof.measures._continuation import INSQ as INSQ
    from rankproof.measures._continuation import INST as INST
    from rankproof.measures._continuation import NERR8 as NERR8
    from rankproof.measures._continuation import NERR9 as NERR9
    from rankproof.measures._continuation import NERR10 as NERR10
    from rankproof.measures._continuation import NERR11 as NERR11
    from rankproof.measures._continuation import SDCG as SDCG
    from rankproof.measures._counts import NumNonrelRet as NumNonrelRet
    from rankproof.measures._counts import NumQ as NumQ
    from rankproof.measures._counts import NumRel as NumRel
    from rankproof.measures._counts import NumRelRet as NumRelRet
    from rankproof.measures._counts import NumRet as NumRet
    from rankproof.measures._counts import relstring as relstring
    from rankproof.measures._counts import runid as runid
    from rankproof.measures._criterion import Criterion as Criterion
    from rankproof.measures._diversity import AP_IA as AP_IA
    from rankproof.measures._diversity import ERR_IA as ERR_IA
    from rankproof.measures._diversity import NRBP as NRBP
    from rankproof.measures._diversity import P_IA as P_IA
    from rankproof.measures._diversity import StRecall as StRecall
    from rankproof.measures._diversity import alpha_DCG as alpha_DCG
    from rankproof.measures._diversity import alpha_nDCG as alpha_nDCG
    from rankproof.measures._diversity import nERR_IA as nERR_IA
    from rankproof.measures._diversity import nNRBP as nNRBP
    from rankproof.measures._evidence import Evidence as Evidence
    from rankproof.measures._gains import DCG as DCG
    from rankproof.measures._gains import IDCG as IDCG
    from rankproof.measures._gains import G as G
    from rankproof.measures._gains import Rndcg as Rndcg
    from rankproof.measures._gains import binG as binG
    from rankproof.measures._gains import nDCG as nDCG
    from rankproof.measures._gains import ndcg_rel as ndcg_rel
    from rankproof.measures._groups import P_avgjg as P_avgjg
    from rankproof.measures._groups import Rprec_mult_avgjg as Rprec_mult_avgjg
    from rankproof.measures._groups import map_avgjg as map_avgjg
    from rankproof.measures._judged import GMbpref as GMbpref
    from rankproof.measures._judged import Judged as Judged
    from rankproof.measures._judged import Unjudged as Unjudged
    from rankproof.measures._judged import bpref as bpref
    from rankproof.measures._own import from_function as from_function
    from rankproof.measures._parse import MeasureLike as MeasureLike
    from rankproof.measures._parse import parse_measure as parse_measure
    from rankproof.measures._parse import parse_measures as parse_measures
    from rankproof.measures._precision_recall import F1 as F1
    from rankproof.measures._precision_recall import P as P
    from rankproof.measures._precision_recall import R as R
    from rankproof.measures._precision_recall import Rprec as Rprec
    from rankproof.measures._precision_recall import Rprec_mult as Rprec_mult
    from rankproof.measures._precision_recall import SetAP as SetAP
    from rankproof.measures._precision_recall import SetF as SetF
    from rankproof.measures._precision_recall import SetP as SetP
    from rankproof.measures._precision_recall import SetR as SetR
    from rankproof.measures._precision_recall import Success as Success
    from rankproof.measures._precision_recall import Utility as Utility
    from rankproof.measures._precision_recall import relative_P as relative_P
    from rankproof.measures._preferences import NumPrefs as NumPrefs
    from rankproof.measures._preferences import NumPrefsFul as NumPrefsFul
    from rankproof.measures._preferences import PrefsFul as PrefsFul
    from rankproof.measures._registry import ANSWER_MEASURES as ANSWER_MEASURES
    from rankproof.measures._registry import MEASURES as MEASURES
    from rankproof.measures._registry import TEXT_MEASURES as TEXT_MEASURES
    from rankproof.measures._registry import default_answer_measures as default_answer_measures
    from rankproof.measures._registry import default_measures as default_measures
    from rankproof.measures._user_model import ERR as ERR
    from rankproof.measures._user_model import RBP as RBP
    from rankproof.measures._user_model import RR as RR
    from rankproof.measures._user_model import GradedRBP as GradedRBP
    from rankproof.measures._user_model import RBPResid as RBPResid
    from rankproof.measures._user_model import nERR as nERR
else:
    from rankproof._registry import lazy_names
    from rankproof.measures._registry import ANSWER_MEASURES, MEASURES, TEXT_MEASURES

    _MODULES = {
        "_base": ("Measure",),
        "_own": ("from_function",),
        "_parse": ("MeasureLike", "parse_measure", "parse_measures"),
        "_registry": ("ANSWER_MEASURES", "MEASURES", "TEXT_MEASURES", "default_answer_measures", "default_measures"),
    }
    _OTHERS = {name: f"{__name__}.{module}" for module, names in _MODULES.items() for name in names}
    __all__, __getattr__, __dir__ = lazy_names(__name__, MEASURES, ANSWER_MEASURES, TEXT_MEASURES, **_OTHERS)
