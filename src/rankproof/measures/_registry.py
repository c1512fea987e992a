"""The measures by name, one line each, and their families; a measure's class says everything else about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rankproof._registry import Component, Registry

if TYPE_CHECKING:
    from rankproof.measures._answers import AnswerMeasure
    from rankproof.measures._base import FamilyName, Measure
    from rankproof.measures._counts import StringMeasure


def _of(module: str, *names: str) -> tuple[Component, ...]:
    """The measures of a module whose names are those of their objects."""
    return tuple(Component(name, f"rankproof.measures.{module}:{name}") for name in names)


MEASURES: Registry[Measure] = Registry(
    "measure",
    "rankproof.measures",
    (
        *_of("_gains", "nDCG", "DCG"),
        *_of("_user_model", "RR"),
        *_of("_average_precision", "AP"),
        *_of("_precision_recall", "P", "R", "F1", "relative_P", "Success", "Rprec", "Rprec_mult"),
        *_of("_judged", "bpref", "GMbpref"),
        *_of("_average_precision", "infAP", "IPrec"),
        Component("11pt", "rankproof.measures._average_precision:ElevenPoint"),
        *_of("_average_precision", "GMAP", "yaap"),
        *_of("_gains", "G", "binG", "ndcg_rel", "Rndcg", "IDCG"),
        *_of("_user_model", "ERR", "nERR", "RBP", "GradedRBP", "RBPResid"),
        *_of("_continuation", "SDCG", "INST", "INSQ", "BPM", "NERR8", "NERR9", "NERR10", "NERR11"),
        *_of("_compat", "Compat", "Accuracy"),
        *_of("_diversity", "alpha_nDCG", "alpha_DCG", "ERR_IA", "nERR_IA", "NRBP", "nNRBP", "AP_IA", "P_IA", "StRecall"),
        *_of("_precision_recall", "SetP", "SetR", "SetF", "SetAP", "Utility"),
        *_of("_judged", "Judged", "Unjudged"),
        *_of("_groups", "map_avgjg", "P_avgjg", "Rprec_mult_avgjg"),
        *_of("_preferences", "PrefsFul", "NumPrefs", "NumPrefsFul"),
        *_of("_counts", "NumQ", "NumRet", "NumRel", "NumRelRet", "NumNonrelRet"),
    ),
)
"""Measures of rankings, and all measures of installed packages."""

TEXT_MEASURES: Registry[StringMeasure] = Registry("text measure", "", (*_of("_counts", "relstring", "runid"),))
"""Measures whose value is a text; `eval` shows them, and nothing else uses them."""

ANSWER_MEASURES: Registry[AnswerMeasure] = Registry(
    "answer measure",
    "",
    (
        *_of("_answers", "EM"),
        Component("F1", "rankproof.measures._answers:AnswerF1"),
        *_of("_answers", "Contains"),
        Component("ROUGE-L", "rankproof.measures._answers:ROUGE_L"),
        *_of("_answers", "Similarity"),
        *_of("_claims", "Faithfulness", "Hallucination", "AnswerRelevance", "ClaimP", "ClaimR", "ClaimF1"),
        *_of("_contexts", "ContextR", "ContextP", "ContextAP", "ContextRelevance", "Utilisation", "Noise"),
        *_of("_citations", "CiteP", "CiteR"),
        *_of("_evidence", "Evidence"),
        *_of("_criterion", "Criterion"),
        *_of("_citations", "NuggetR", "AnswerRate", "AbstainP", "AbstainR"),
    ),
)
"""Measures of answers; F1 is in both registries, and has a cutoff where it measures rankings."""


def all_measures() -> list[Measure]:
    """Every measure without parameters: of rankings, texts, of answers, then those of installed packages."""
    own = [component.load() for registry in (MEASURES, TEXT_MEASURES, ANSWER_MEASURES) for component in registry.components]
    return [*own, *(MEASURES[name] for name in MEASURES.entry_points())]


def default_measures(max_grade: int) -> list[Measure]:
    """The measures of an evaluation that names none; exponential gain only where grades exceed 1."""
    # Late, so that the names of measures load none of them.
    from rankproof.measures._gains import nDCG
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
        from rankproof.measures._citations import AnswerRate
        from rankproof.measures._claims import Faithfulness, Hallucination

        return [Faithfulness, Hallucination, AnswerRate]
    return [EM, AnswerF1(tokens="bag"), AnswerF1(tokens="set"), Contains, ROUGE_L, *((CiteP, CiteR) if cited else ())]


class Family(NamedTuple):
    """The title of a family, and what its measures have in common."""

    title: str
    about: str


FAMILIES: dict[FamilyName, Family] = {
    "precision": Family(
        "Precision and recall",
        "They count relevant documents in the top k, or in all that was retrieved. The order within these does not matter.",
    ),
    "first-relevant": Family(
        "First relevant document", "They model a user who stops at the first document that answers the question."
    ),
    "average-precision": Family(
        "Average precision",
        "They average the precision at every relevant document: every relevant document counts, those at the top most.",
    ),
    "gain": Family("Gain", "They add up the gains of documents, which follow from their grades, and discount them by rank."),
    "user-models": Family(
        "User models", "They model how far a user reads: each rank has a weight, the probability that the user gets there."
    ),
    "diversity": Family("Diversity", "They need judgements for subtopics and reward rankings that cover many subtopics early."),
    "preferences": Family(
        "Preferences and pairs", "They compare pairs of documents, whole rankings, or the judgements of several groups of people."
    ),
    "judgements": Family("Judgements and counts", "They are for incomplete judgements, or describe the judgements and runs."),
    "answers": Family("Answers", "They compare an answer with reference answers, or check whether the system answers at all."),
    "claims": Family(
        "Claims, contexts and citations",
        "They check the claims of an answer, the contexts behind them, its citations, and the facts that it should state.",
    ),
}
"""In the order of the documentation and of `rankproof measures`."""
