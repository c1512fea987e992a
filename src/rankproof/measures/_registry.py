"""The measures by name, one line each; a measure's class says everything else about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankproof._registry import Component, Registry

if TYPE_CHECKING:
    from rankproof.measures._answers import AnswerMeasure
    from rankproof.measures._base import Measure
    from rankproof.measures._text import StringMeasure


MEASURES: Registry[Measure] = Registry(
    "measure",
    "rankproof.measures",
    (
        Component("nDCG", "rankproof.measures._dcg:nDCG"),
        Component("DCG", "rankproof.measures._dcg:DCG"),
        Component("RR", "rankproof.measures._user_model:RR"),
        Component("AP", "rankproof.measures._average_precision:AP"),
        Component("P", "rankproof.measures._precision_recall:P"),
        Component("R", "rankproof.measures._precision_recall:R"),
        Component("F1", "rankproof.measures._precision_recall:F1"),
        Component("relative_P", "rankproof.measures._precision_recall:relative_P"),
        Component("Success", "rankproof.measures._precision_recall:Success"),
        Component("Rprec", "rankproof.measures._precision_recall:Rprec"),
        Component("Rprec_mult", "rankproof.measures._precision_recall:Rprec_mult"),
        Component("bpref", "rankproof.measures._judged:bpref"),
        Component("GMbpref", "rankproof.measures._judged:GMbpref"),
        Component("infAP", "rankproof.measures._average_precision:infAP"),
        Component("IPrec", "rankproof.measures._average_precision:IPrec"),
        Component("11pt", "rankproof.measures._average_precision:ElevenPoint"),
        Component("GMAP", "rankproof.measures._average_precision:GMAP"),
        Component("yaap", "rankproof.measures._average_precision:yaap"),
        Component("G", "rankproof.measures._gain_levels:G"),
        Component("binG", "rankproof.measures._gain_levels:binG"),
        Component("ndcg_rel", "rankproof.measures._gain_levels:ndcg_rel"),
        Component("Rndcg", "rankproof.measures._gain_levels:Rndcg"),
        Component("IDCG", "rankproof.measures._gain_levels:IDCG"),
        Component("ERR", "rankproof.measures._user_model:ERR"),
        Component("nERR", "rankproof.measures._user_model:nERR"),
        Component("RBP", "rankproof.measures._user_model:RBP"),
        Component("GradedRBP", "rankproof.measures._trec_user:GradedRBP"),
        Component("RBPResid", "rankproof.measures._trec_user:RBPResid"),
        *(Component(name, f"rankproof.measures._continuation:{name}") for name in ("SDCG", "INST", "INSQ", "BPM")),
        *(Component(name, f"rankproof.measures._continuation:{name}") for name in ("NERR8", "NERR9", "NERR10", "NERR11")),
        Component("Compat", "rankproof.measures._compat:Compat"),
        Component("Accuracy", "rankproof.measures._compat:Accuracy"),
        Component("alpha_nDCG", "rankproof.measures._diversity:alpha_nDCG"),
        Component("alpha_DCG", "rankproof.measures._diversity:alpha_DCG"),
        Component("ERR_IA", "rankproof.measures._diversity:ERR_IA"),
        Component("nERR_IA", "rankproof.measures._diversity:nERR_IA"),
        Component("NRBP", "rankproof.measures._diversity:NRBP"),
        Component("nNRBP", "rankproof.measures._diversity:nNRBP"),
        Component("AP_IA", "rankproof.measures._diversity:AP_IA"),
        Component("P_IA", "rankproof.measures._diversity:P_IA"),
        Component("StRecall", "rankproof.measures._diversity:StRecall"),
        Component("SetP", "rankproof.measures._precision_recall:SetP"),
        Component("SetR", "rankproof.measures._precision_recall:SetR"),
        Component("SetF", "rankproof.measures._precision_recall:SetF"),
        Component("SetAP", "rankproof.measures._precision_recall:SetAP"),
        Component("Utility", "rankproof.measures._trec_user:Utility"),
        Component("Judged", "rankproof.measures._judged:Judged"),
        Component("Unjudged", "rankproof.measures._judged:Unjudged"),
        Component("map_avgjg", "rankproof.measures._groups:map_avgjg"),
        Component("P_avgjg", "rankproof.measures._groups:P_avgjg"),
        Component("Rprec_mult_avgjg", "rankproof.measures._groups:Rprec_mult_avgjg"),
        Component("PrefsFul", "rankproof.measures._preferences:PrefsFul"),
        Component("NumPrefs", "rankproof.measures._preferences:NumPrefs"),
        Component("NumPrefsFul", "rankproof.measures._preferences:NumPrefsFul"),
        Component("NumQ", "rankproof.measures._counts:NumQ"),
        Component("NumRet", "rankproof.measures._counts:NumRet"),
        Component("NumRel", "rankproof.measures._counts:NumRel"),
        Component("NumRelRet", "rankproof.measures._counts:NumRelRet"),
        Component("NumNonrelRet", "rankproof.measures._counts:NumNonrelRet"),
    ),
)
"""Measures of rankings, and all measures of installed packages."""

TEXT_MEASURES: Registry[StringMeasure] = Registry(
    "text measure",
    "",
    (
        Component("relstring", "rankproof.measures._text:relstring"),
        Component("runid", "rankproof.measures._text:runid"),
    ),
)
"""Measures whose value is a text; `eval` shows them, and nothing else uses them."""

ANSWER_MEASURES: Registry[AnswerMeasure] = Registry(
    "answer measure",
    "",
    (
        Component("EM", "rankproof.measures._answers:EM"),
        Component("F1", "rankproof.measures._answers:AnswerF1"),
        Component("Contains", "rankproof.measures._answers:Contains"),
        Component("ROUGE-L", "rankproof.measures._answers:ROUGE_L"),
        Component("Similarity", "rankproof.measures._answers:Similarity"),
        Component("Faithfulness", "rankproof.measures._claims:Faithfulness"),
        Component("Hallucination", "rankproof.measures._claims:Hallucination"),
        Component("AnswerRelevance", "rankproof.measures._claims:AnswerRelevance"),
        Component("ClaimP", "rankproof.measures._claims:ClaimP"),
        Component("ClaimR", "rankproof.measures._claims:ClaimR"),
        Component("ClaimF1", "rankproof.measures._claims:ClaimF1"),
        Component("ContextR", "rankproof.measures._contexts:ContextR"),
        Component("ContextP", "rankproof.measures._contexts:ContextP"),
        Component("ContextAP", "rankproof.measures._contexts:ContextAP"),
        Component("ContextRelevance", "rankproof.measures._contexts:ContextRelevance"),
        Component("Utilisation", "rankproof.measures._contexts:Utilisation"),
        Component("Noise", "rankproof.measures._contexts:Noise"),
        Component("CiteP", "rankproof.measures._citations:CiteP"),
        Component("CiteR", "rankproof.measures._citations:CiteR"),
        Component("NuggetR", "rankproof.measures._nuggets:NuggetR"),
        Component("AnswerRate", "rankproof.measures._nuggets:AnswerRate"),
        Component("AbstainP", "rankproof.measures._nuggets:AbstainP"),
        Component("AbstainR", "rankproof.measures._nuggets:AbstainR"),
    ),
)
"""Measures of answers; F1 is in both registries, and has a cutoff where it measures rankings."""


def all_measures() -> list[Measure]:
    """Every measure without parameters: of rankings, texts, of answers, then those of installed packages."""
    own = [component.load() for registry in (MEASURES, TEXT_MEASURES, ANSWER_MEASURES) for component in registry.components]
    return [*own, *(MEASURES[name] for name in MEASURES.entry_points())]


def default_measures(max_grade: int) -> list[Measure]:
    """The measures of an evaluation that names none; exponential gain only where grades exceed 1."""
    from rankproof.measures._dcg import nDCG
    from rankproof.measures._precision_recall import P, R, Success
    from rankproof.measures._user_model import RR

    graded = [nDCG(gain="exp") @ 10] if max_grade > 1 else []
    return [nDCG @ 10, *graded, RR @ 10, R @ 100, P @ 10, *(Success @ cutoff for cutoff in (1, 3, 5, 10))]


def default_answer_measures(*, cited: bool, referenced: bool = True) -> list[Measure]:
    """The measures of an evaluation of answers that names none; citations only where an answer has one.

    Without references they are those of contexts, by shared words.
    """
    from rankproof.measures._answers import EM, ROUGE_L, AnswerF1, Contains
    from rankproof.measures._citations import CiteP, CiteR

    if not referenced:
        from rankproof.measures._claims import Faithfulness, Hallucination
        from rankproof.measures._nuggets import AnswerRate

        return [Faithfulness, Hallucination, AnswerRate]
    return [EM, AnswerF1(tokens="bag"), AnswerF1(tokens="set"), Contains, ROUGE_L, *((CiteP, CiteR) if cited else ())]
