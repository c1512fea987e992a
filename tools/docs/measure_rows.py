"""The examples on the pages of the measures: one small query for rankings, a few answers for answer measures."""

from __future__ import annotations

from rankproof._data.claims import Nugget
from rankproof.measures import Measure

GRADES = {"a": 3, "b": 1, "c": 2, "d": 0, "e": 0}
"""Five judged documents; x, y and z are not judged."""

SUBTOPICS = {"1": {"a": 2, "b": 1, "d": 0}, "2": {"a": 1, "c": 2}, "3": {"c": 1, "e": 0}}
"""The grades of the same documents for three subtopics."""

RANKINGS = {
    "a c b d e": "the best order",
    "c d a x b": "all found, in a worse order",
    "d x a": "one found, at rank 3",
    "b x y z d e c a": "the weakest first, the best last",
    "d e x": "nothing found",
}
EXPLAINED = "c d a x b"

VARIANTS = {
    "nDCG": ("nDCG@3", "nDCG", "nDCG(gain='exp')"),
    "DCG": ("DCG@3", "DCG", "DCG(gain='exp')"),
    "RR": ("RR", "RR@2", "RR(rel=3)"),
    "AP": ("AP", "AP@3", "AP(rel=2)"),
    "P": ("P@3", "P@1", "P@5", "P(rel=2)@3"),
    "R": ("R@3", "R@1", "R@5", "R(rel=2)@3"),
    "F1": ("F1@3", "F1@5", "F1(rel=2)@3"),
    "Success": ("Success@3", "Success@1", "Success(rel=3)@3"),
    "Rprec": ("Rprec", "Rprec(rel=2)"),
    "IPrec": ("IPrec@0.5", "IPrec@0", "IPrec@1"),
    "ERR": ("ERR", "ERR@1"),
    "RBP": ("RBP", "RBP(p=0.5)", "RBP(rel=2)"),
    "nERR": ("nERR", "nERR@1"),
    "SDCG": ("SDCG@3", "SDCG(min_rel=1,max_rel=3)@3"),
    "INST": ("INST", "INST(T=2)"),
    "INSQ": ("INSQ", "INSQ(T=2)"),
    "BPM": ("BPM@3", "BPM(T=0.5)@5"),
    "NERR8": ("NERR8@3", "NERR8@5"),
    "NERR9": ("NERR9@3", "NERR9@5"),
    "NERR10": ("NERR10", "NERR10(p=0.5)"),
    "NERR11": ("NERR11", "NERR11(T=2)"),
    "Compat": ("Compat", "Compat(p=0.8)", "Compat(normalize=False)"),
    "Accuracy": ("Accuracy", "Accuracy@3"),
    "alpha_nDCG": ("alpha_nDCG@3", "alpha_nDCG@5", "alpha_nDCG(alpha=0.8)@5"),
    "alpha_DCG": ("alpha_DCG@3", "alpha_DCG(rel=2)@3"),
    "ERR_IA": ("ERR_IA@3", "ERR_IA(rel=2)@3"),
    "nERR_IA": ("nERR_IA@3", "nERR_IA(rel=2)@3"),
    "NRBP": ("NRBP", "NRBP(alpha=0.2,beta=0.8)"),
    "nNRBP": ("nNRBP", "nNRBP(alpha=0.2,beta=0.8)"),
    "AP_IA": ("AP_IA", "AP_IA(rel=2)"),
    "P_IA": ("P_IA@3", "P_IA@5"),
    "StRecall": ("StRecall@3", "StRecall@1"),
    "SetF": ("SetF", "SetF(beta=0.5)"),
    "SetP": ("SetP", "SetP(relative=True)"),
    "relative_P": ("relative_P@3", "relative_P@5"),
    "Rprec_mult": ("Rprec_mult@0.5", "Rprec_mult@2"),
    "GradedRBP": ("GradedRBP", "GradedRBP(p=0.5)"),
    "RBPResid": ("RBPResid", "RBPResid(p=0.5)"),
    "P_avgjg": ("P_avgjg@3",),
    "Rprec_mult_avgjg": ("Rprec_mult_avgjg@1",),
    "PrefsFul": ("PrefsFul", "PrefsFul(of='both')", "PrefsFul(of='either')"),
    "Judged": ("Judged@3", "Judged"),
    "Unjudged": ("Unjudged@3", "Unjudged@5"),
}
"""How each measure is shown; `shown_as` gives the default."""


def shown_as(measure: Measure) -> tuple[str, ...]:
    """The measure with the parameters that its page shows; by default without any, or with the required cutoff."""
    return VARIANTS.get(measure.name, (measure.needs or str(measure),))


QUESTION = "When was the bridge opened, and by whom?"
REFERENCE = "It was opened in 1932 by Jack Lang"
RELEVANT = ("page-1", "page-2")
ANSWERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("It was opened in 1932 by Jack Lang.", ("page-1", "page-2")),
    ("Jack Lang opened it in 1932.", ("page-1",)),
    ("The bridge, a steel arch, was opened in 1932 by Jack Lang, who was then the premier.", ("page-1", "page-7")),
    ("It was opened in 1937 by John Smith.", ("page-7",)),
    ("I do not know.", ()),
)
CONTEXTS = {
    "page-1": "The bridge was opened in 1932 by Jack Lang, the premier.",
    "page-2": "The bridge is a steel arch.",
}
"""The passages that each answer was generated from; page-7 is not among them."""
NUGGETS = (Nugget("opened in 1932"), Nugget("opened by Jack Lang"), Nugget("a steel arch", "okay"))
_SUPPORT = "(by='support',judge='overlap')"
ANSWER_VARIANTS = {
    "CiteP": ("CiteP", f"CiteP{_SUPPORT}"),
    "CiteR": ("CiteR", f"CiteR{_SUPPORT}"),
    "ContextP": ("ContextP(judge='overlap')", "ContextP(judge='overlap')@1"),
    "Noise": ("Noise(from='relevant',judge='overlap')", "Noise(from='irrelevant',judge='overlap')"),
    "NuggetR": ("NuggetR(judge='overlap')", "NuggetR(strict=False,of='all',judge='overlap')"),
    "F1": ("F1(tokens='bag')", "F1(tokens='set')"),
    "Similarity": ("Similarity(model='wordllama')",),
}
