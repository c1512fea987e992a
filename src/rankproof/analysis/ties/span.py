"""The worst and the best value that the order of tied documents allows."""

from __future__ import annotations

from collections.abc import Mapping

from ...align.hits import Hits
from ...data.arrays import FloatArray
from ...measures import Measure
from ..arrangements import hits_of, values_of
from ..listings import Listing
from .groups import extreme, groups_of, is_open, worth_for


def span_of(measure: Measure, hits: Hits, lists: Mapping[str, Listing]) -> tuple[FloatArray, FloatArray]:
    """The worst and the best value of each query."""
    worst, best = (measure.values(hits).copy() for _ in range(2))
    worth = worth_for(measure)
    for query, name in enumerate(hits.queries):
        _, grades = hits_of(hits, query)
        groups = groups_of(hits, query, lists[name]) if name in lists and len(grades) else []
        value = worth(grades)
        if any(is_open(group, value) for group in groups):
            ends = [extreme(hits, query, groups, value, best=last) for last in (False, True)]
            worst[query], best[query] = values_of(measure, hits, ends)
    return worst, best
