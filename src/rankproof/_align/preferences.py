"""Judgements by preference: which document each judge prefers to which, in groups of preferences that agree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rankproof._align import engine
from rankproof._align.hits import JudgedQueries
from rankproof._data.arrays import BoolArray, FloatArray, IntArray
from rankproof._data.qrels import Qrels
from rankproof._data.row_errors import row_error
from rankproof._formats.trec import PreferenceRow


@dataclass(frozen=True, eq=False)
class PreferenceGroup:
    """The preferences of one judge for a query: the codes of the documents, and a level of each.

    Without `better`, a document of a higher level is preferred to every one of a lower level. With it, `better[i, j]` says that
    document i is preferred to document j, and levels say only which documents are not relevant: those of level 0.
    """

    codes: IntArray
    levels: FloatArray
    better: BoolArray | None = None


def judge_preferences(rows: Iterable[PreferenceRow], source: str, only: Collection[str] | None = None) -> JudgedQueries:
    """The judgements of the rows, with the groups of each query; a document is relevant if a level of it is above 0."""
    by_query: dict[str, dict[str, list[PreferenceRow]]] = defaultdict(lambda: defaultdict(list))
    grades: dict[str, dict[str, int]] = defaultdict(dict)
    for row in rows:
        by_query[row.query][row.group].append(row)
        grades[row.query][row.doc] = max(grades[row.query].get(row.doc, 0), int(row.level > 0))
    if not grades:
        raise row_error("no-rows", source=source)
    judged = engine.judge_documents(Qrels.of_checked(grades, source=source), only)
    groups = []
    for query in judged.queries:
        codes = {doc: code for code, doc in enumerate(sorted(grades[query], reverse=True))}
        named = sorted(by_query[query].items())
        groups.append(tuple(_group(members, codes, source) for _, members in named))
    return replace(judged, preferences=tuple(groups))


def _group(rows: Sequence[PreferenceRow], codes: Mapping[str, int], source: str) -> PreferenceGroup:
    """The group of the rows, whose subgroups are joined: a preferred to b in one and b to c in another is a preferred to c."""
    subgroups: dict[str, dict[str, PreferenceRow]] = defaultdict(dict)
    levels: dict[str, float] = {}
    for row in rows:
        known = subgroups[row.subgroup].setdefault(row.doc, row)
        if known.level != row.level or (levels.setdefault(row.doc, row.level) > 0) != (row.level > 0):
            first = levels[row.doc] if known.level == row.level else known.level
            raise row_error(
                "level-twice", source=source, line=row.line, doc=row.doc, query=row.query, level=row.level, first_level=first
            )
    docs = list(levels)
    group = PreferenceGroup(np.array([codes[doc] for doc in docs]), np.array([levels[doc] for doc in docs]))
    if len(subgroups) == 1:
        return group
    place = {doc: at for at, doc in enumerate(docs)}
    better = np.zeros((len(docs), len(docs)), dtype=np.bool_)
    for members in subgroups.values():
        at = np.array([place[doc] for doc in members])
        level = np.array([row.level for row in members.values()])
        better[np.ix_(at, at)] |= level[:, None] > level[None, :]
    better = _closed(better)
    if better.diagonal().any():
        circle = docs[int(better.diagonal().argmax())]
        raise row_error(
            "preference-circle", source=source, line=rows[0].line, doc=circle, query=rows[0].query, group=rows[0].group
        )
    return replace(group, better=better)


def _closed(better: BoolArray) -> BoolArray:
    """The preferences with all that follow from them."""
    while True:
        wider = better | (better.astype(np.float32) @ better.astype(np.float32) > 0)
        if (wider == better).all():
            return wider
        better = wider
