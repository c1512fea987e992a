"""Conventions of other tools: gain, cutoff, ideal ranking, ties, missing queries and denominators.

`docs/audit.md` has the sources. `checked` is "run" if tests run the tool, "read" if its source was read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rankproof._align.hits import Hits
from rankproof._data.arrays import FloatArray
from rankproof.measures._gains import discounted_gains, ideal_list
from rankproof.measures._relevant import ratio, relevant_found

Ties = Literal["id descending", "id ascending", "as listed", "not defined"]
Missing = Literal["0", "left out", "refused", "not known"]
Special = Callable[[Hits, int], FloatArray]


@dataclass(frozen=True, slots=True)
class Tool:
    """The conventions of a tool for all its measures."""

    name: str
    missing: Missing
    ties: Ties = "id descending"
    float32: bool = False
    takes_rel: bool = True
    drops_own_id: bool = False
    checked: Literal["run", "read"] = "run"


@dataclass(frozen=True, slots=True)
class Convention:
    """A tool's counterpart of one of our measures: its name in the tool, and our measure that computes it.

    `ours` is the name of our measure, followed by `@` if it has a cutoff `{k}`. `special` computes from hits and cutoff what no
    measure of ours does.
    """

    tool: Tool
    ours: str
    name_in_tool: str
    measure: str
    differs: str = ""
    special: Special | None = None


def _quepid_ndcg(hits: Hits, cutoff: int) -> FloatArray:
    """Exponential gain in the top k divided by the ideal gain of all judged documents, which Quepid does not cut."""
    ideal = ideal_list(hits.judged, "exp", hits.judged.grades.size).sums()
    return discounted_gains(hits, "exp", cutoff, ideal).values()


def _quepid_precision(hits: Hits, cutoff: int) -> FloatArray:
    """Relevant documents in the top k divided by min(k, retrieved)."""
    return ratio(relevant_found(hits, 1).count_within(cutoff), np.minimum(hits.retrieved, cutoff))


TREC_10 = Tool("trec_eval 10", "left out", checked="read")
TREC_9 = Tool("trec_eval 9", "left out", float32=True, checked="read")
PYTREC = Tool("pytrec_eval", "left out", float32=True)
IR_MEASURES = Tool("ir_measures", "0", float32=True)
IR_MEASURES_RR = Tool("ir_measures", "0", ties="id ascending")
RANX = Tool("ranx", "refused", ties="not defined")
BEIR = Tool("BEIR", "left out", float32=True, takes_rel=False, drops_own_id=True, checked="read")
BEIR_MRR = Tool("BEIR", "0", ties="as listed", takes_rel=False, checked="read")
QUEPID = Tool("Quepid", "not known", ties="as listed", takes_rel=False, checked="read")

_UNCUT = "has no cutoff"
CONVENTIONS: tuple[Convention, ...] = (
    Convention(TREC_10, "nDCG@", "ndcg_cut.{k}", "nDCG@{k}"),
    Convention(TREC_9, "nDCG@", "ndcg_cut.{k}", "nDCG@{k}"),
    Convention(PYTREC, "nDCG@", "ndcg_cut.{k}", "nDCG@{k}"),
    Convention(IR_MEASURES, "nDCG@", "nDCG@{k}", "nDCG@{k}"),
    Convention(RANX, "nDCG@", "ndcg@{k}", "nDCG@{k}"),
    Convention(RANX, "nDCG@", "ndcg_burges@{k}", "nDCG(gain='exp')@{k}", "gain 2^grade - 1"),
    Convention(BEIR, "nDCG@", "NDCG@{k}", "nDCG@{k}"),
    Convention(QUEPID, "nDCG@", "NDCG@{k}", "", "gain 2^grade - 1, ideal ranking not truncated", _quepid_ndcg),
    Convention(TREC_10, "RR@", "recip_rank", "RR", _UNCUT),
    Convention(TREC_9, "RR@", "recip_rank", "RR", _UNCUT),
    Convention(PYTREC, "RR@", "recip_rank", "RR", _UNCUT),
    Convention(IR_MEASURES_RR, "RR@", "RR@{k}", "RR@{k}"),
    Convention(RANX, "RR@", "mrr@{k}", "RR@{k}"),
    Convention(BEIR_MRR, "RR@", "MRR@{k}", "RR@{k}"),
    Convention(QUEPID, "RR@", "RR@{k}", "RR@{k}"),
    Convention(TREC_10, "R@", "recall.{k}", "R@{k}"),
    Convention(TREC_9, "R@", "recall.{k}", "R@{k}"),
    Convention(PYTREC, "R@", "recall.{k}", "R@{k}"),
    Convention(IR_MEASURES, "R@", "R@{k}", "R@{k}"),
    Convention(RANX, "R@", "recall@{k}", "R@{k}"),
    Convention(BEIR, "R@", "Recall@{k}", "R@{k}"),
    Convention(TREC_10, "P@", "P.{k}", "P@{k}"),
    Convention(TREC_9, "P@", "P.{k}", "P@{k}"),
    Convention(PYTREC, "P@", "P.{k}", "P@{k}"),
    Convention(IR_MEASURES, "P@", "P@{k}", "P@{k}"),
    Convention(RANX, "P@", "precision@{k}", "P@{k}"),
    Convention(BEIR, "P@", "P@{k}", "P@{k}"),
    Convention(QUEPID, "P@", "P@{k}", "", "over min(k, retrieved)", _quepid_precision),
    Convention(TREC_10, "AP", "map", "AP"),
    Convention(TREC_9, "AP", "map", "AP"),
    Convention(PYTREC, "AP", "map", "AP"),
    Convention(IR_MEASURES, "AP", "AP", "AP"),
    Convention(RANX, "AP", "map", "AP"),
    Convention(BEIR, "AP", "MAP@1000", "AP@1000", "cut at 1000"),
    Convention(QUEPID, "AP", "AP@10", "AP@10", "cut at 10"),
    Convention(TREC_10, "AP@", "map_cut.{k}", "AP@{k}"),
    Convention(TREC_9, "AP@", "map_cut.{k}", "AP@{k}"),
    Convention(PYTREC, "AP@", "map_cut.{k}", "AP@{k}"),
    Convention(IR_MEASURES, "AP@", "AP@{k}", "AP@{k}"),
    Convention(RANX, "AP@", "map@{k}", "AP@{k}"),
    Convention(BEIR, "AP@", "MAP@{k}", "AP@{k}"),
    Convention(QUEPID, "AP@", "AP@{k}", "AP@{k}"),
    Convention(TREC_10, "nDCG", "ndcg", "nDCG"),
    Convention(TREC_9, "nDCG", "ndcg", "nDCG"),
    Convention(PYTREC, "nDCG", "ndcg", "nDCG"),
    Convention(IR_MEASURES, "nDCG", "nDCG", "nDCG"),
    Convention(RANX, "nDCG", "ndcg", "nDCG"),
    Convention(RANX, "nDCG", "ndcg_burges", "nDCG(gain='exp')", "gain 2^grade - 1"),
    Convention(TREC_10, "RR", "recip_rank", "RR"),
    Convention(TREC_9, "RR", "recip_rank", "RR"),
    Convention(PYTREC, "RR", "recip_rank", "RR"),
    Convention(IR_MEASURES, "RR", "RR", "RR"),
    Convention(RANX, "RR", "mrr", "RR"),
    Convention(TREC_10, "Success@", "success.{k}", "Success@{k}"),
    Convention(TREC_9, "Success@", "success.{k}", "Success@{k}"),
    Convention(PYTREC, "Success@", "success.{k}", "Success@{k}"),
    Convention(IR_MEASURES, "Success@", "Success@{k}", "Success@{k}"),
    Convention(RANX, "Success@", "hit_rate@{k}", "Success@{k}"),
    Convention(BEIR_MRR, "Success@", "Accuracy@{k}", "Success@{k}"),
    Convention(TREC_10, "Rprec", "Rprec", "Rprec"),
    Convention(TREC_9, "Rprec", "Rprec", "Rprec"),
    Convention(PYTREC, "Rprec", "Rprec", "Rprec"),
    Convention(IR_MEASURES, "Rprec", "Rprec", "Rprec"),
    Convention(RANX, "Rprec", "r-precision", "Rprec"),
    Convention(TREC_10, "bpref", "bpref", "bpref"),
    Convention(TREC_9, "bpref", "bpref", "bpref"),
    Convention(PYTREC, "bpref", "bpref", "bpref"),
    Convention(IR_MEASURES, "bpref", "Bpref", "bpref"),
)
