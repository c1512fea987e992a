"""The examples on the pages of the measures: one small query for rankings, a few answers for answer measures."""

from __future__ import annotations

from rankproof._data.claims import Nugget
from rankproof.measures import Measure

GRADES = {"a": 3, "b": 1, "c": 2, "d": 0, "e": 0}
"""Five judged documents; x, y and z are not judged."""

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
    "P": ("P@1", "P@3", "P@5", "P(rel=2)@3"),
    "R": ("R@1", "R@3", "R@5", "R(rel=2)@3"),
    "F1": ("F1@3", "F1@5", "F1(rel=2)@3"),
    "Success": ("Success@1", "Success@3", "Success(rel=3)@3"),
    "Rprec": ("Rprec", "Rprec(rel=2)"),
    "IPrec": ("IPrec@0", "IPrec@0.5", "IPrec@1"),
    "ERR": ("ERR@1", "ERR"),
    "RBP": ("RBP", "RBP(p=0.5)", "RBP(rel=2)"),
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
