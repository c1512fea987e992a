"""The measures of trec_eval 10: its names for ours, its default cutoffs, its order, and its nicknames."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from rankproof.measures._base import BinaryMeasure, Measure

AMBIGUOUS_NAMES: dict[str, tuple[str, str]] = {
    "hits": ("hits is a mean count in ranx", "write NumRelRet for the total count, or Success@10 for the hit rate"),
    "accuracy": ("accuracy differs between BEIR and ir_measures", "write Success@10 for that of BEIR"),
    "context_precision": (
        "context_precision is average precision in ragas and DeepEval",
        "write ContextAP for theirs, or ContextP for the share of useful contexts",
    ),
    "contextual_precision": (
        "contextual_precision is average precision in DeepEval",
        "write ContextAP for theirs, or ContextP for the share of useful contexts",
    ),
    "answer_correctness": (
        "answer_correctness mixes claims and cosine in ragas",
        "write ClaimF1 for the claims, or Similarity(model='minilm') for the cosine",
    ),
    "factual_correctness": ("factual_correctness has a recall of its own in ragas", "write ClaimF1, ClaimP or ClaimR"),
    "hole": ("hole counts documents that are judged for no query", "write Unjudged@10 for those not judged for this query"),
}
"""Names that mean something else in another tool, with what to write."""

RANKS = ("5", "10", "15", "20", "30", "100", "200", "500", "1000")
RECALLS = ("0.0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1.0")
MULTIPLES = ("0.2", "0.4", "0.6", "0.8", "1.0", "1.2", "1.4", "1.6", "1.8", "2.0")


class TrecMeasure(NamedTuple):
    """A measure of trec_eval, ours without its cutoff, and the default cutoffs."""

    theirs: str
    ours: str
    cutoffs: tuple[str, ...] = ()

    @property
    def spelling(self) -> str:
        """The name with its default cutoffs, as trec_eval takes it."""
        return f"{self.theirs}.{','.join(self.cutoffs)}" if self.cutoffs else self.theirs


TREC_MEASURES = (
    TrecMeasure("runid", "runid"),
    TrecMeasure("num_q", "NumQ"),
    TrecMeasure("num_ret", "NumRet"),
    TrecMeasure("num_rel", "NumRel"),
    TrecMeasure("num_rel_ret", "NumRelRet"),
    TrecMeasure("map", "AP"),
    TrecMeasure("gm_map", "GMAP"),
    TrecMeasure("Rprec", "Rprec"),
    TrecMeasure("bpref", "bpref"),
    TrecMeasure("recip_rank", "RR"),
    TrecMeasure("iprec_at_recall", "IPrec", RECALLS),
    TrecMeasure("P", "P", RANKS),
    TrecMeasure("relstring", "relstring"),
    TrecMeasure("recall", "R", RANKS),
    TrecMeasure("infAP", "infAP"),
    TrecMeasure("gm_bpref", "GMbpref"),
    TrecMeasure("Rprec_mult", "Rprec_mult", MULTIPLES),
    TrecMeasure("utility", "Utility"),
    TrecMeasure("11pt_avg", "11pt"),
    TrecMeasure("binG", "binG"),
    TrecMeasure("G", "G"),
    TrecMeasure("dcg", "DCG"),
    TrecMeasure("ideal_dcg", "IDCG"),
    TrecMeasure("ndcg", "nDCG"),
    TrecMeasure("ndcg_rel", "ndcg_rel"),
    TrecMeasure("Rndcg", "Rndcg"),
    TrecMeasure("ndcg_cut", "nDCG", RANKS),
    TrecMeasure("map_cut", "AP", RANKS),
    TrecMeasure("relative_P", "relative_P", RANKS),
    TrecMeasure("success", "Success", ("1", "5", "10")),
    TrecMeasure("set_P", "SetP"),
    TrecMeasure("set_relative_P", "SetP(relative=True)"),
    TrecMeasure("set_recall", "SetR"),
    TrecMeasure("set_map", "SetAP"),
    TrecMeasure("set_F", "SetF"),
    TrecMeasure("num_nonrel_judged_ret", "NumNonrelRet"),
    TrecMeasure("prefs_num_prefs_poss", "NumPrefs"),
    TrecMeasure("prefs_num_prefs_ful", "NumPrefsFul"),
    TrecMeasure("prefs_num_prefs_ful_ret", "NumPrefsFul(of='both')"),
    TrecMeasure("prefs_simp", "PrefsFul"),
    TrecMeasure("prefs_pair", "PrefsFul(mean='pair')"),
    TrecMeasure("prefs_avgjg", "PrefsFul(mean='group')"),
    TrecMeasure("prefs_avgjg_Rnonrel", "PrefsFul(mean='group',nonrel='R')"),
    TrecMeasure("prefs_simp_ret", "PrefsFul(of='both')"),
    TrecMeasure("prefs_pair_ret", "PrefsFul(mean='pair',of='both')"),
    TrecMeasure("prefs_avgjg_ret", "PrefsFul(mean='group',of='both')"),
    TrecMeasure("prefs_avgjg_Rnonrel_ret", "PrefsFul(mean='group',of='both',nonrel='R')"),
    TrecMeasure("prefs_simp_imp", "PrefsFul(of='either')"),
    TrecMeasure("prefs_pair_imp", "PrefsFul(mean='pair',of='either')"),
    TrecMeasure("prefs_avgjg_imp", "PrefsFul(mean='group',of='either')"),
    TrecMeasure("map_avgjg", "map_avgjg"),
    TrecMeasure("P_avgjg", "P_avgjg", RANKS),
    TrecMeasure("Rprec_mult_avgjg", "Rprec_mult_avgjg", MULTIPLES),
    TrecMeasure("yaap", "yaap"),
    TrecMeasure("rbp", "GradedRBP"),
    TrecMeasure("rbp_resid", "RBPResid"),
    TrecMeasure("unj", "Unjudged", ("5", "10", "20")),
)
"""The measures in the order in which trec_eval prints them."""

_BY_NAME = {measure.theirs: measure for measure in TREC_MEASURES}
_COUNTS = ("runid", "num_q", "num_ret", "num_rel", "num_rel_ret")
_OFFICIAL = (*_COUNTS, "map", "gm_map", "Rprec", "bpref", "recip_rank", "iprec_at_recall", "P")
_SETS = ("set_P", "set_recall", "set_relative_P", "set_map", "set_F")
NICKNAMES: dict[str, tuple[str, ...]] = {
    "official": _OFFICIAL,
    "set": (*_COUNTS, "utility", *_SETS),
    "all_trec": (
        *(*_OFFICIAL, "relstring", "recall", "unj", "rbp", "rbp_resid", "infAP", "gm_bpref", "utility", "11pt_avg", "ndcg"),
        *("relative_P", "Rprec_mult", "success", "map_cut", "ndcg_cut", "ndcg_rel", "Rndcg", "binG", "G", *_SETS),
        "num_nonrel_judged_ret",
    ),
    "all_prefs": ("runid", "num_q", *(measure.theirs for measure in TREC_MEASURES if measure.theirs.startswith("prefs_"))),
    "prefs": (
        *("runid", "num_q", "prefs_num_prefs_poss", "prefs_num_prefs_ful", "prefs_num_prefs_ful_ret"),
        *("prefs_simp", "prefs_pair", "prefs_avgjg"),
    ),
    "qrels_jg": ("runid", "num_q", "map_avgjg", "P_avgjg", "Rprec_mult_avgjg"),
}
"""The names of trec_eval for several measures."""

_ONLY_TREC = ("iprec_at_recall", "map_cut", "ndcg_cut", "unj", "Rprec_mult", "relative_P", "P_avgjg", "Rprec_mult_avgjg")
ONLY_TREC_CUTOFFS = {name.lower(): _BY_NAME[name].cutoffs for name in _ONLY_TREC}
"""The default cutoffs of names that only trec_eval uses."""


def spellings_of(nickname: str, replaced: frozenset[str]) -> str:
    """The measures of a nickname as a list, without those that are given with parameters of their own."""
    return " ".join(_BY_NAME[name].spelling for name in NICKNAMES[nickname] if name.lower() not in replaced)


def with_default_cutoffs(texts: Iterable[str]) -> list[str]:
    """The measures with the cutoffs of trec_eval where its bare name is written, such as P."""
    # Late, as _parse imports this module.
    from rankproof.measures._parse import split_measures

    parts = [part for text in texts for part in split_measures(text)]
    bare = {measure.theirs: measure.spelling for measure in TREC_MEASURES}
    return [",".join((bare.get(part.text, part.text) if not part.more else part.text, *part.more)) for part in parts]


def spelled_names(texts: Iterable[str], rel: int) -> dict[str, str]:
    """Measure to the name that trec_eval prints for it, in which parameters are spelled as the user did: set_F_2.0."""
    from rankproof.measures._parse import parse_measures, split_measures

    names = {}
    for part in (part for text in texts for part in split_measures(text)):
        name, dot, parameters = part.text.partition(".")
        if dot and name in _BY_NAME and not _BY_NAME[name].cutoffs:
            (measure,) = parse_measures(",".join((part.text, *part.more)))
            names[str(measure.with_rel(rel))] = f"{name}_{','.join((parameters, *part.more))}"
    return names


class TrecLabel(NamedTuple):
    """The place of a measure in the output of trec_eval, its cutoff, and its name there."""

    place: int
    cutoff: float
    name: str


def trec_label(measure: Measure, rel: int = 1) -> TrecLabel:
    """Where and how trec_eval with `-l rel` prints the measure; a measure that it lacks comes last, by our name."""
    at = None if measure.at is None else measure.parameters()[measure.at]
    if not isinstance(measure, BinaryMeasure) or measure.least == rel:
        for place, trec_measure in enumerate(TREC_MEASURES):
            if trec_measure.ours.partition("(")[0] == measure.name and (at is not None) == bool(trec_measure.cutoffs):
                label = _label_of(measure, trec_measure, at)
                if label is not None:
                    return TrecLabel(place, at or 0.0, label)
    return TrecLabel(len(TREC_MEASURES), 0.0, str(measure))


def _label_of(measure: Measure, trec_measure: TrecMeasure, at: float | None) -> str | None:
    """The name of the measure as this one of trec_eval; None if its parameters are not possible there."""
    usual = type(measure)().parameters() | _given_parameters(trec_measure.ours)
    changed = {
        name: value for name, value in measure.parameters().items() if name not in (measure.at, "rel") and value != usual[name]
    }
    if at is not None:
        return None if changed else f"{trec_measure.theirs}_{at if isinstance(at, int) else f'{at:.2f}'}"
    written = [_TREC_PARAMETERS[name](value) if name in _TREC_PARAMETERS else None for name, value in changed.items()]
    if any(text is None for text in written):
        return None
    return "_".join((trec_measure.theirs, *([",".join(text for text in written if text)] if written else ())))


@cache
def _given_parameters(ours: str) -> dict[str, object]:
    """The parameters that the notation names."""
    from rankproof.measures._parse import parse_measure

    return parse_measure(ours).parameters() if "(" in ours else {}


def _gains(value: object) -> str | None:
    return ",".join(f"{grade}={gain:g}" for grade, gain in value) if isinstance(value, tuple) else None


def _numbers(value: object) -> str | None:
    return ",".join(f"{number:g}" for number in value) if isinstance(value, tuple) else None


_TREC_PARAMETERS = {
    "gain": _gains,
    "p": lambda value: f"p={value:g}",
    "weights": _numbers,
    "recalls": _numbers,
    "beta": repr,
    "length": repr,
}
"""The parameters that trec_eval writes after the name."""
