"""Which other tool has a measure of the worked rows, and under which name; the tests run them on the rows of the pages."""

from __future__ import annotations

REFERENCE_TOOLS: dict[str, tuple[str, str]] = {
    "nDCG@3": ("pytrec_eval", "ndcg_cut.3"),
    "nDCG": ("pytrec_eval", "ndcg"),
    "nDCG(gain='exp')": ("ranx", "ndcg_burges"),
    "DCG@3": ("ranx", "dcg@3"),
    "DCG": ("ranx", "dcg"),
    "DCG(gain='exp')": ("ranx", "dcg_burges"),
    "RR": ("pytrec_eval", "recip_rank"),
    "RR@2": ("ir_measures", "RR@2"),
    "RR(rel=3)": ("ir_measures", "RR(rel=3)"),
    "AP": ("pytrec_eval", "map"),
    "AP@3": ("pytrec_eval", "map_cut.3"),
    "AP(rel=2)": ("ir_measures", "AP(rel=2)"),
    "P@1": ("pytrec_eval", "P.1"),
    "P@3": ("pytrec_eval", "P.3"),
    "P@5": ("pytrec_eval", "P.5"),
    "P(rel=2)@3": ("ir_measures", "P(rel=2)@3"),
    "R@1": ("pytrec_eval", "recall.1"),
    "R@3": ("pytrec_eval", "recall.3"),
    "R@5": ("pytrec_eval", "recall.5"),
    "R(rel=2)@3": ("ir_measures", "R(rel=2)@3"),
    "F1@3": ("ranx", "f1@3"),
    "F1@5": ("ranx", "f1@5"),
    "F1(rel=2)@3": ("ranx", "f1@3-l2"),
    "Success@1": ("pytrec_eval", "success.1"),
    "Success@3": ("pytrec_eval", "success.3"),
    "Success(rel=3)@3": ("ir_measures", "Success(rel=3)@3"),
    "Rprec": ("pytrec_eval", "Rprec"),
    "Rprec(rel=2)": ("ir_measures", "Rprec(rel=2)"),
    "bpref": ("pytrec_eval", "bpref"),
    "infAP": ("pytrec_eval", "infAP"),
    "IPrec@0": ("pytrec_eval", "iprec_at_recall.0.00"),
    "IPrec@0.5": ("ir_measures", "IPrec@0.5"),
    "IPrec@1": ("pytrec_eval", "iprec_at_recall.1.00"),
    "GMAP": ("pytrec_eval", "gm_map"),
    "SetP": ("pytrec_eval", "set_P"),
    "SetR": ("pytrec_eval", "set_recall"),
    "SetF": ("pytrec_eval", "set_F"),
    "SetF(beta=0.5)": ("ir_measures", "SetF(beta=0.5)"),
    "Judged@3": ("ir_measures", "Judged@3"),
    "Judged": ("ir_measures", "Judged@100"),
    "NumQ": ("pytrec_eval", "num_q"),
    "NumRet": ("pytrec_eval", "num_ret"),
    "NumRel": ("pytrec_eval", "num_rel"),
    "NumRelRet": ("pytrec_eval", "num_rel_ret"),
    "NumNonrelRet": ("pytrec_eval", "num_nonrel_judged_ret"),
    "G": ("pytrec_eval", "G"),
    "binG": ("pytrec_eval", "binG"),
    "ndcg_rel": ("pytrec_eval", "ndcg_rel"),
    "Rndcg": ("pytrec_eval", "Rndcg"),
    "SetAP": ("pytrec_eval", "set_map"),
    "SetP(relative=True)": ("pytrec_eval", "set_relative_P"),
    "relative_P@3": ("pytrec_eval", "relative_P.3"),
    "relative_P@5": ("pytrec_eval", "relative_P.5"),
    "Rprec_mult@0.5": ("pytrec_eval", "Rprec_mult.0.50"),
    "Rprec_mult@2": ("pytrec_eval", "Rprec_mult.2.00"),
    "Utility": ("pytrec_eval", "utility"),
    "GMbpref": ("pytrec_eval", "gm_bpref"),
    "SDCG@3": ("ir_measures", "SDCG(max_rel=3)@3"),
    "SDCG(min_rel=1,max_rel=3)@3": ("ir_measures", "SDCG(max_rel=3,min_rel=1)@3"),
    "INST": ("ir_measures", "INST(max_rel=3)"),
    "INST(T=2)": ("ir_measures", "INST(T=2.0,max_rel=3)"),
    "INSQ": ("ir_measures", "INSQ(max_rel=3)"),
    "INSQ(T=2)": ("ir_measures", "INSQ(T=2.0,max_rel=3)"),
    "BPM@3": ("ir_measures", "BPM(max_rel=3)@3"),
    "BPM(T=0.5)@5": ("ir_measures", "BPM(T=0.5,max_rel=3)@5"),
    "NERR8@3": ("ir_measures", "NERR8(max_rel=3)@3"),
    "NERR8@5": ("ir_measures", "NERR8(max_rel=3)@5"),
    "NERR9@3": ("ir_measures", "NERR9(max_rel=3)@3"),
    "NERR9@5": ("ir_measures", "NERR9(max_rel=3)@5"),
    "NERR10": ("ir_measures", "NERR10(max_rel=3)"),
    "NERR10(p=0.5)": ("ir_measures", "NERR10(p=0.5,max_rel=3)"),
    "NERR11": ("ir_measures", "NERR11(max_rel=3)"),
    "NERR11(T=2)": ("ir_measures", "NERR11(T=2.0,max_rel=3)"),
    "Compat": ("ir_measures", "Compat"),
    "Compat(p=0.8)": ("ir_measures", "Compat(p=0.8)"),
    "Compat(normalize=False)": ("ir_measures", "Compat(normalize=False)"),
    "alpha_nDCG@3": ("pyndeval", "alpha-nDCG@3"),
    "alpha_nDCG@5": ("pyndeval", "alpha-nDCG@5"),
    "alpha_nDCG(alpha=0.8)@5": ("pyndeval", "alpha-nDCG@5 (alpha 0.8)"),
    "alpha_DCG@3": ("pyndeval", "alpha-DCG@3"),
    "alpha_DCG(rel=2)@3": ("pyndeval", "alpha-DCG@3 (relevance_level 2)"),
    "ERR_IA@3": ("pyndeval", "ERR-IA@3"),
    "ERR_IA(rel=2)@3": ("pyndeval", "ERR-IA@3 (relevance_level 2)"),
    "nERR_IA@3": ("pyndeval", "nERR-IA@3"),
    "nERR_IA(rel=2)@3": ("pyndeval", "nERR-IA@3 (relevance_level 2)"),
    "NRBP": ("pyndeval", "NRBP"),
    "NRBP(alpha=0.2,beta=0.8)": ("pyndeval", "NRBP (alpha 0.2, beta 0.8)"),
    "nNRBP": ("pyndeval", "nNRBP"),
    "nNRBP(alpha=0.2,beta=0.8)": ("pyndeval", "nNRBP (alpha 0.2, beta 0.8)"),
    "AP_IA": ("pyndeval", "MAP-IA"),
    "AP_IA(rel=2)": ("pyndeval", "MAP-IA (relevance_level 2)"),
    "P_IA@3": ("pyndeval", "P-IA@3"),
    "P_IA@5": ("pyndeval", "P-IA@5"),
    "StRecall@1": ("pyndeval", "strec@1"),
    "StRecall@3": ("pyndeval", "strec@3"),
}
"""Measure to a tool that has it and its name there."""

BY_HAND = {
    "nERR": "The tests compute these values from the formula.",
    "Accuracy": "The tests check these values by counting pairs.",
    "ERR": "The tests compute these values from the formula.",
    "RBP": "The tests compute these values from the formula.",
    "11pt": "The tests compute these values by the rule of trec_eval 10; pytrec_eval uses version 9, which rounds differently.",
    "Unjudged": "The tests check these values by counting documents.",
    **dict.fromkeys(("yaap", "IDCG", "GradedRBP", "RBPResid"), "The tests compute these values from the formula."),
    **dict.fromkeys(
        ("map_avgjg", "P_avgjg", "Rprec_mult_avgjg"),
        "With one group the value is that of the plain measure; the tests compute it from the formula.",
    ),
    **dict.fromkeys(
        ("PrefsFul", "NumPrefs", "NumPrefsFul"),
        "The grades are the preferences of one judge here; the tests check these values by counting pairs.",
    ),
}
"""Measures that none of the tools has, and how their values are checked."""


def reference_note(measure: str, names: tuple[str, ...]) -> str:
    """Names the tools that give the same values, and the measures that none of them has."""
    if measure in BY_HAND:
        return BY_HAND[measure]
    theirs: dict[str, list[str]] = {}
    for name in names:
        tool, called = REFERENCE_TOOLS.get(name, ("", name))
        theirs.setdefault(tool, []).append(f"`{called}`")
    missing = theirs.pop("", [])
    listed = " and ".join(f"{tool} ({', '.join(called)})" for tool, called in theirs.items())
    checked = [f"The tests check these values against {listed}."] if listed else []
    return " ".join([*checked, *([f"No reference tool has {' or '.join(missing)}."] if missing else [])])
