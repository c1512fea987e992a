"""Lists of ids in rank order as hits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..align.hits import Hits, Seen
from ..align.reference import judge_qrels
from ..data.ids import checked_id
from ..data.qrels import Qrels
from ..errors import UsageError
from ..measures import Measure

_ONE = "query"


class Scored(NamedTuple):
    """A document that was found, and its score."""

    id: str
    score: float


def hits_of(rankings: Mapping[Any, Iterable[Any]], qrels: Mapping[Any, Mapping[Any, int]]) -> Hits:
    """Where the judged documents of each judged query stand.

    A ranking holds ids, mappings with an `id`, or what a retriever ranked. A document that comes again takes its rank and
    gains nothing.
    """
    grades = Qrels.from_dict(qrels)
    given = {checked_id(query, "query"): ids_of(ranking) for query, ranking in mapping(rankings, "run").items()}
    strange = tuple(query for query in given if query not in grades)
    places = [_places(given.get(query, []), grades[query]) for query in grades]
    flat = [place for query in places for place in query]
    return Hits(
        judged=judge_qrels(grades),
        present=np.array([query in given for query in grades], dtype=np.bool_),
        retrieved=np.array([len(given.get(query, [])) for query in grades], dtype=np.int64),
        offsets=np.cumsum([0, *map(len, places)], dtype=np.int64),
        ranks=np.array([rank for rank, _ in flat], dtype=np.int64),
        grades=np.array([grade for _, grade in flat], dtype=np.int64),
        seen=Seen(rows=sum(map(len, given.values())), unjudged=len(strange), unjudged_queries=strange),
    )


def ids_of(ranking: Iterable[Any]) -> list[str]:
    """The ids of a ranking, best first."""
    items = listed(ranking, "ids, best first")
    return [checked_id(_id(item), "document") for item in items]


def _id(item: Any) -> Any:
    if isinstance(item, Scored):
        return item.id
    return item.get("id") if isinstance(item, Mapping) else item


def listed(values: Iterable[Any], what: str) -> list[Any]:
    """The values as a list, refused where they have no order."""
    if isinstance(values, str | bytes | Mapping | set | frozenset) or not isinstance(values, Iterable):
        raise UsageError(f"{type(values).__name__} where a list of {what} was expected", fix=f"pass a list of {what}")
    return list(values)


def mapping(value: Mapping[Any, Any], name: str) -> Mapping[Any, Any]:
    """The value, refused where it is no mapping."""
    if not isinstance(value, Mapping):
        raise UsageError(f"{name} is {type(value).__name__}, not a mapping", fix=f"pass {name} as a dict by query")
    return value


def value_of(measure: Measure, ranking: Iterable[Any], grades: Mapping[Any, int]) -> float:
    """The measure of one ranking; 0 where nothing is judged."""
    if isinstance(grades, Mapping) and not grades:
        ids_of(ranking)
        return 0.0
    return float(measure.values(hits_of({_ONE: ranking}, {_ONE: grades}))[0])


def _places(ids: list[str], grades: Mapping[str, int]) -> list[tuple[int, int]]:
    """Rank and grade of each judged document, where it comes first."""
    first: dict[str, int] = {}
    for rank, doc in enumerate(ids, start=1):
        first.setdefault(doc, rank)
    return [(rank, grades[doc]) for doc, rank in first.items() if doc in grades]
