"""What a system is measured against: chance, title-only and full-text BM25, and the best that was possible."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.arrays import FloatArray
from ..errors import UsageError
from ..experiment.climb import Rung
from ..measures import Measure
from .baselines_random import expected
from .evidence import Evidence

TITLE_ONLY, FULL_TEXT = "title-only BM25", "full-text BM25"
UNKNOWN_SIZE = "the size of the corpus is not known, so nothing is said of chance: pass --documents N"


@dataclass(frozen=True, eq=False, slots=True)
class Chance:
    """What a random ranking of the whole corpus gives, for each query that the mean runs over."""

    values: FloatArray

    @property
    def value(self) -> float:
        """The expected mean."""
        return math.fsum(self.values.tolist()) / max(len(self.values), 1)

    def of_at_most(self, hits: int) -> float:
        """How likely it is to have so many successes or fewer, the values being chances of success (Poisson binomial)."""
        chances = np.ones(1)
        for chance in self.values.tolist():
            chances = np.concatenate([chances * (1 - chance), [0.0]]) + np.concatenate([[0.0], chances * chance])
        return min(1.0, math.fsum(chances[: hits + 1].tolist()))


def chance_notes(evidence: Evidence) -> tuple[str, ...]:
    """Why nothing is said of chance, where nothing is."""
    if evidence.reading.judged_only:
        return ("unjudged documents were dropped first, so nothing is said of chance",)
    return () if evidence.documents else (UNKNOWN_SIZE,)


def chance_of(evidence: Evidence, measure: Measure, queries: tuple[str, ...]) -> Chance | None:
    """A random ranking's values; None where the corpus size or a closed form is not known."""
    if evidence.documents is None or evidence.reading.judged_only:
        return None
    depth = evidence.reading.depth
    found = [expected(measure, list(evidence.qrels[query].values()), evidence.documents, depth=depth) for query in queries]
    return None if None in found else Chance(np.array(found, dtype=np.float64))


def check_documents(evidence: Evidence) -> None:
    """The corpus must have room for what is relevant to one query, and for what was retrieved for it."""
    if evidence.documents is None:
        return
    judged = max(sum(grade > 0 for grade in evidence.qrels[query].values()) for query in evidence.result.queries)
    longest = max(int(np.diff(run.offsets).max(initial=0)) for run in evidence.runs.values())
    if max(judged, longest) > evidence.documents:
        what = f"{evidence.documents} documents are fewer than a query's relevant ({judged}) or retrieved ones ({longest})"
        raise UsageError(what, fix="pass the number of documents in the whole corpus: --documents N")


def references_of(evidence: Evidence) -> dict[str, str]:
    """Baseline to the system that is one: BM25 over titles alone, and over the text."""
    found: dict[str, str] = {}
    for rung in evidence.rungs:
        if role := _role(rung):
            found.setdefault(role, rung.name)
    return {role: found[role] for role in (TITLE_ONLY, FULL_TEXT) if role in found}


def _role(rung: Rung) -> str | None:
    stage: Mapping[str, Any] = rung.stage
    if stage.get("kind") != "BM25":
        return None
    fields = stage.get("fields")
    if not isinstance(fields, list):
        return None
    return TITLE_ONLY if fields == ["title"] else FULL_TEXT if "text" in fields else None
