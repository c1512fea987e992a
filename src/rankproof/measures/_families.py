"""The families of measures, each a page of the documentation."""

from __future__ import annotations

from typing import NamedTuple

from rankproof.measures._base import FamilyName


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
        "First relevant document",
        "They model a user who stops at the first document that answers the question.",
    ),
    "average-precision": Family(
        "Average precision",
        "They average the precision at every relevant document: every relevant document counts, those at the top most.",
    ),
    "gain": Family(
        "Gain",
        "They add up the gains of documents, which follow from their grades, and discount them by rank.",
    ),
    "user-models": Family(
        "User models",
        "They model how far a user reads: each rank has a weight, the probability that the user gets there.",
    ),
    "diversity": Family(
        "Diversity",
        "They need judgements for subtopics and reward rankings that cover many subtopics early.",
    ),
    "preferences": Family(
        "Preferences and pairs",
        "They compare pairs of documents, whole rankings, or the judgements of several groups of people.",
    ),
    "judgements": Family(
        "Judgements and counts",
        "They are for incomplete judgements, or describe the judgements and runs.",
    ),
    "answers": Family(
        "Answers",
        "They compare an answer with reference answers, or check whether the system answers at all.",
    ),
    "claims": Family(
        "Claims, contexts and citations",
        "They check the claims of an answer, the contexts behind them, its citations, and the facts that it should state.",
    ),
}
"""In the order of the documentation and of `rankproof measures`."""
