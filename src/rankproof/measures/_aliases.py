"""Other tools' spellings, and what they are in ours; names are read in any case."""

from __future__ import annotations

ALIASES: dict[str, str] = {
    # trec_eval
    "11pt_avg": "11pt",
    "gm_map": "GMAP",
    "iprec_at_recall": "IPrec",
    "map": "AP",
    "map_cut": "AP",
    "ndcg_cut": "nDCG",
    "num_q": "NumQ",
    "num_rel": "NumRel",
    "num_rel_ret": "NumRelRet",
    "num_ret": "NumRet",
    "recall": "R",
    "recip_rank": "RR",
    "set_F": "SetF",
    "set_P": "SetP",
    "set_recall": "SetR",
    "unj": "Unjudged",
    # ranx
    "dcg_burges": "DCG(gain='exp')",
    "hit_rate": "Success",
    "mrr": "RR",
    "ndcg_burges": "nDCG(gain='exp')",
    "precision": "P",
    "r-precision": "Rprec",
    # seeds and common speech
    "hit": "Success",
    # SQuAD, rouge-score
    "exact_match": "EM",
    "rougeL": "ROUGE-L",
}

# Parameters as ir_measures writes them; None stands for any value.
PARAMETERS: dict[tuple[str, object], tuple[str, object]] = {
    ("gains", None): ("gain", None),
    ("dcg", "log2"): ("gain", "linear"),
    ("dcg", "exp-log2"): ("gain", "exp"),
}

# Cutoffs that trec_eval takes where none is named, for the names that are its own alone.
_RANKS = ("5", "10", "15", "20", "30", "100", "200", "500", "1000")
_RECALLS = ("0.0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1.0")
TREC_CUTOFFS: dict[str, tuple[str, ...]] = {
    "iprec_at_recall": _RECALLS,
    "map_cut": _RANKS,
    "ndcg_cut": _RANKS,
    "unj": ("5", "10", "20"),
}

# Names that another tool gives to something else than ours.
AMBIGUOUS_NAMES: dict[str, tuple[str, str]] = {
    "rbp": (
        "rbp alone is graded with p=0.9 in trec_eval and takes its p after the @ in ranx",
        "write RBP(p=0.9), which is binary",
    ),
    "hits": ("hits is a mean count in ranx", "write NumRelRet for the sum, or Success@10 for whether there is any"),
    "accuracy": ("accuracy is one thing in BEIR and another in ir_measures", "write Success@10 for BEIR's"),
    "hole": ("hole counts documents that no query judged", "write Unjudged@10 for those that this query did not judge"),
}

# What trec_eval's nicknames stand for, as far as it is ours, and what of them is not.
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
