"""When a measure of rankings is the one to use, when not, and at which stage it matters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .base import Measure

Stage = Literal["finding", "ordering", "answering", "checking"]


@dataclass(frozen=True, slots=True)
class Advice:
    """What a reader who has to choose is told; `stage` is where the measure says most."""

    stage: Stage
    use: str
    avoid: str


RANKINGS: dict[str, Advice] = {
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
        return RANKINGS.get(measure.name)
    from .answers.advice import ANSWERS

    return ANSWERS.get(measure.name)
