"""What every ranking must be, whoever gives it: checked as it comes, before anything is kept or rests on it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..data.corpus import Corpus
from ..data.queries import Query
from ..data.ranking import Ranking
from ..errors import UsageError, shown
from ..stages.base import Stage
from .packing import packed

_FIX = "let search give documents of the corpus, each once and at most depth, and their scores, best first"


def refuse_wrong(rankings: Sequence[Ranking], queries: Sequence[Query], stage: Stage, corpus: Corpus, label: str) -> None:
    """Refuses the first ranking that is none, and says whose it is and why."""
    for query, ranking in zip(queries, rankings, strict=True):
        if fault := _fault(ranking, stage.depth, corpus):
            raise _error(label, stage, query, fault)
    docs, scores = packed(rankings)
    if not np.isfinite(scores).all():
        at = int(np.argmin(np.isfinite(scores)))
        raise _error(label, stage, queries[_owner(docs, at)], "has a score that is not a finite number")
    rises = np.diff(scores) > 0
    starts = np.cumsum([len(found) for found in docs])[:-1]
    rises[starts[(starts > 0) & (starts < len(scores))] - 1] = False
    if rises.any():
        raise _error(label, stage, queries[_owner(docs, int(np.argmax(rises)))], "is not in the order of its scores")


def _fault(ranking: Ranking, depth: int, corpus: Corpus) -> str | None:
    if not isinstance(ranking, tuple) or len(ranking) != 2 or not isinstance(ranking[0], list):
        return "is no pair of a list of documents and an array of scores"
    docs, scores = ranking
    if not all(isinstance(doc, str) for doc in docs):
        return "has a document whose id is no text"
    if np.shape(scores) != (len(docs),) or np.asarray(scores).dtype.kind not in "fiu":
        return f"has {len(docs)} documents, and not one number for each"
    if len(docs) > depth:
        return f"has {len(docs)} documents where the stage keeps {depth}"
    if len(set(docs)) < len(docs):
        return "has a document twice"
    strangers = [doc for doc in docs if doc not in corpus]
    return f"has {shown(strangers[0])}, which is no document of the corpus" if strangers else None


def _owner(docs: list[list[str]], at: int) -> int:
    """Which ranking the score at that place belongs to."""
    return int(np.searchsorted(np.cumsum([len(found) for found in docs]), at, side="right"))


def _error(label: str, stage: Stage, query: Query, fault: str) -> UsageError:
    what = f"{shown(label)}: the ranking that {type(stage).__name__} gave for query {shown(query.id)} {fault}"
    return UsageError(what, fix=_FIX)
