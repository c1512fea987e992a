"""Registry, defaults, when to use which."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from rankproof.measures._average_precision import AP, GMAP, ElevenPoint, IPrec, infAP
from rankproof.measures._base import Measure
from rankproof.measures._counts import NumQ, NumRel, NumRelRet, NumRet
from rankproof.measures._dcg import DCG, nDCG
from rankproof.measures._judged import Judged, Unjudged, bpref
from rankproof.measures._precision_recall import F1, P, R, Rprec, SetF, SetP, SetR, Success
from rankproof.measures._user_model import ERR, RBP, RR

if TYPE_CHECKING:
    from rankproof.measures._answers import AnswerMeasure


_NAMES = ("EM", "F1", "Contains", "ROUGE-L", "Similarity", "CiteP", "CiteR")


class LazyMeasures(Mapping[str, "AnswerMeasure"]):
    """The measures of answers by name, in the order of the page of measures."""

    def __getitem__(self, name: str) -> AnswerMeasure:
        if name not in _NAMES:
            raise KeyError(name)
        return _measures()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


@cache
def _measures() -> dict[str, AnswerMeasure]:
    from rankproof.measures._answers import EM, ROUGE_L, AnswerF1, CiteP, CiteR, Contains, Similarity

    return {measure.name: measure for measure in (EM, AnswerF1, Contains, ROUGE_L, Similarity, CiteP, CiteR)}


_BUILT_IN: tuple[Measure, ...] = (
    *(nDCG, DCG, RR, AP, P, R, F1, Success, Rprec, bpref, infAP, IPrec, ElevenPoint, GMAP, ERR, RBP),
    *(SetP, SetR, SetF, Judged, Unjudged, NumQ, NumRet, NumRel, NumRelRet),
)
MEASURES: Mapping[str, Measure] = MappingProxyType({measure.name: measure for measure in _BUILT_IN})

ANSWER_MEASURES: Mapping[str, AnswerMeasure] = LazyMeasures()
"""Those of answers; F1 is on both shelves, and has a cutoff where it is one of rankings."""


def entry_point_measures() -> dict[str, Measure]:
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
    from rankproof.measures._answers import EM, ROUGE_L, AnswerF1, CiteP, CiteR, Contains

    return [EM, AnswerF1(tokens="bag"), AnswerF1(tokens="set"), Contains, ROUGE_L, *((CiteP, CiteR) if cited else ())]


PipelineStage = Literal["finding", "ordering", "answering", "checking"]


@dataclass(frozen=True, slots=True)
class Advice:
    """What a reader who has to choose is told; `stage` is where the measure says most."""

    stage: PipelineStage
    use: str
    avoid: str


RANKING_ADVICE: dict[str, Advice] = {
    "nDCG": Advice(
        "ordering",
        "grades say how good a document is, and the best should stand first: the usual headline of a search page.",
        "only whether something was found counts, or few documents are judged: what is unjudged counts as worthless.",
    ),
    "DCG": Advice(
        "ordering",
        "one query is taken apart, or the queries have much the same number of relevant documents.",
        "values are averaged over unlike queries: one with many relevant documents outweighs the others. Use nDCG.",
    ),
    "RR": Advice(
        "ordering",
        "people want one good document and stop there: known items, questions, navigation.",
        "several documents are wanted: it looks at the first alone. It also jumps, from 1 to 1/2 for a single swap.",
    ),
    "AP": Advice(
        "ordering",
        "all relevant documents matter and grades do not: collections that were judged deeply.",
        "grades differ, or readers stop after a few documents. Cut as AP@k it cannot reach 1 where more than k are relevant.",
    ),
    "P": Advice(
        "ordering",
        "a page of k places is filled and every place should be worth it.",
        "queries have fewer than k relevant documents: it then cannot reach 1. It does not see the order within the k.",
    ),
    "R": Advice(
        "finding",
        "candidates are gathered for a reranker or a language model: what is not found can never be put first.",
        "the order matters, or not everything relevant was judged: it then says how much of what is known was found.",
    ),
    "F1": Advice(
        "finding",
        "a list of fixed length is shown whole, and both noise and loss hurt.",
        "the list has an order that readers follow, or the two sides should be seen apart: give P@k and R@k.",
    ),
    "Success": Advice(
        "finding",
        "one good document is enough, above all where each query has one known target. Success@1 speaks of the order alone.",
        "there are several relevant documents and more is better. Often printed as recall, which it is for one target only.",
    ),
    "Rprec": Advice(
        "ordering",
        "queries have very different numbers of relevant documents and one cutoff would fit none.",
        "readers see a page of fixed length, or grades matter.",
    ),
    "bpref": Advice(
        "ordering",
        "judgements have holes: it looks at judged documents only. Its usual rival, nDCG or AP of condensed lists"
        " (--judged-only), does so too.",
        "nearly everything at the top is judged, or nobody judged non-relevant documents: with none to be above, it is recall.",
    ),
    "infAP": Advice(
        "ordering",
        "a random sample of a pool is judged and the rest of the pool stands in the qrels with grade -1: it estimates the AP that"
        " judging all of it would give.",
        "the sample was not random, or the rest of the pool is not named: without rows of grade -1 it is AP.",
    ),
    "IPrec": Advice(
        "ordering",
        "a precision-recall curve is drawn.",
        "one number is wanted that readers feel: nobody stops at a recall.",
    ),
    "11pt": Advice(
        "ordering",
        "values are compared with papers that give it.",
        "nothing forces it: AP says nearly the same without steps.",
    ),
    "GMAP": Advice(
        "ordering",
        "the worst queries matter most: one query near 0 pulls it down hard.",
        "many queries have no hit at all: the floor of 0.00001 then decides. rankproof compare leaves it out: its differences"
        " are tested on ln AP.",
    ),
    "ERR": Advice(
        "ordering",
        "grades say how likely a reader is to be satisfied and stop.",
        "readers go on after a perfect document, or collections differ in their largest grade, which enters the formula. It is"
        " not normalised and never reaches 1: with grades 0 and 1 a first hit gives 0.5.",
    ),
    "RBP": Advice(
        "ordering",
        "a reader's patience is known: with p = 0.8 the next document is read four times in five. What unjudged documents"
        " could add is bounded by the weights of their ranks, (1 - p) p^(rank - 1): its residual.",
        "grades matter, or 1 should be within reach: few relevant documents bound it far below.",
    ),
    "SetP": Advice(
        "finding",
        "a set without order is returned: filters, Boolean search, extraction.",
        "the ranking is cut at a depth that you chose: the depth then decides the value.",
    ),
    "SetR": Advice(
        "finding",
        "a set without order is returned and nothing may be missed.",
        "rankings of different depth are compared: the longest wins. Use R@k.",
    ),
    "SetF": Advice(
        "finding",
        "a set without order is returned and noise and loss have weights.",
        "there is an order, or beta would be guessed: give SetP and SetR.",
    ),
    "Judged": Advice(
        "checking",
        "a value is to be believed: where it is far below 1, the judgements do not know this system.",
        "systems are to be told apart: it is no quality.",
    ),
    "Unjudged": Advice(
        "checking",
        "holes are to be counted as trec_eval counts them, over k.",
        "rankings are shorter than k: Judged@k divides by what there is.",
    ),
    "NumQ": Advice("checking", "two tables are compared: the means must run over as many queries.", "quality is asked for."),
    "NumRet": Advice("checking", "a system may have returned less than it was asked for.", "quality is asked for."),
    "NumRel": Advice("checking", "the judgements are to be the ones you think they are.", "quality is asked for."),
    "NumRelRet": Advice(
        "checking", "recall is wanted as a count.", "queries differ much: a few with many relevant documents decide."
    ),
}


def advice_of(measure: Measure) -> Advice | None:
    """When to use it and when not; None for a measure from elsewhere."""
    if measure.kind != "answer":
        return RANKING_ADVICE.get(measure.name)
    return ANSWER_ADVICE.get(measure.name)


ANSWER_ADVICE: dict[str, Advice] = {
    "EM": Advice(
        "answering",
        "answers are short and have one form: names, numbers, dates.",
        "answers are sentences: one word more and it is 0.",
    ),
    "F1": Advice(
        "answering",
        "answers are short phrases that may be put in several ways; with tokens='bag' values compare with SQuAD's.",
        "answers are long: words around a right answer lower it, and a wrong one in the same words scores high.",
    ),
    "Contains": Advice(
        "answering",
        "a model talks around a short reference: it asks only whether the reference is there.",
        "an answer may list everything: it does not punish length.",
    ),
    "ROUGE-L": Advice(
        "answering",
        "answers and references are sentences of much the same length, and the order of words matters.",
        "meaning is what counts: a paraphrase scores low and a negation high.",
    ),
    "Similarity": Advice(
        "answering",
        "paraphrases should count; name the model beside the value.",
        "facts matter: vectors of 1990 and 1991, or of yes and no, lie close. Its scale differs from model to model.",
    ),
    "CiteP": Advice(
        "answering",
        "readers check sources: every citation should hold.",
        "answers cite nothing: the value is then 0 for lack of citations and not for wrong ones.",
    ),
    "CiteR": Advice(
        "answering",
        "an answer should name everything that supports it.",
        "one good source is enough.",
    ),
}
