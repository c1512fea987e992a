"""Conventions of other tools: their parameters, default cutoffs, nicknames, and names that mean something else."""

from __future__ import annotations

# Parameters as ir_measures writes them; None is any value.
PARAMETERS: dict[tuple[str, object], tuple[str, object]] = {
    ("gains", None): ("gain", None),
    ("dcg", "log2"): ("gain", "linear"),
    ("dcg", "exp-log2"): ("gain", "exp"),
}

# Default cutoffs of trec_eval, for names that only trec_eval uses.
_RANKS = ("5", "10", "15", "20", "30", "100", "200", "500", "1000")
_RECALLS = ("0.0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1.0")
TREC_CUTOFFS: dict[str, tuple[str, ...]] = {
    "iprec_at_recall": _RECALLS,
    "map_cut": _RANKS,
    "ndcg_cut": _RANKS,
    "unj": ("5", "10", "20"),
}

# Names that mean something else in another tool.
AMBIGUOUS_NAMES: dict[str, tuple[str, str]] = {
    "rbp": (
        "rbp without parameters is graded with p=0.9 in trec_eval, and ranx writes p after the @",
        "write RBP(p=0.9), which is binary",
    ),
    "hits": ("hits is a mean count in ranx", "write NumRelRet for the total count, or Success@10 for the hit rate"),
    "accuracy": ("accuracy differs between BEIR and ir_measures", "write Success@10 for that of BEIR"),
    "hole": ("hole counts documents that are judged for no query", "write Unjudged@10 for those not judged for this query"),
}

# The measures of trec_eval's nicknames that are supported, and below those that are not.
_COUNT_MEASURES = "num_q num_ret num_rel num_rel_ret"
_OFFICIAL_MEASURES = f"{_COUNT_MEASURES} map gm_map Rprec bpref recip_rank iprec_at_recall P.{','.join(_RANKS)}"
NICKNAMES: dict[str, str] = {
    "official": _OFFICIAL_MEASURES,
    "set": f"{_COUNT_MEASURES} set_P set_recall set_F",
    "all_trec": f"{_OFFICIAL_MEASURES} recall.{','.join(_RANKS)} infAP 11pt_avg ndcg ndcg_cut map_cut success.1,5,10"
    " set_P set_recall set_F unj",
}
UNSUPPORTED = ("runid", "ideal_dcg", "yaap")
UNSUPPORTED_OF_NICKNAME: dict[str, tuple[str, ...]] = {
    "official": (),
    "set": ("utility", "set_relative_P", "set_map"),
    "all_trec": (
        *("relstring", "gm_bpref", "Rprec_mult", "utility", "binG", "G", "ndcg_rel", "Rndcg", "relative_P", "set_relative_P"),
        *("set_map", "num_nonrel_judged_ret", "rbp", "rbp_resid"),
    ),
}
