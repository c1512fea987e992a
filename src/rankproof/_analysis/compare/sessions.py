"""Intervals of means whose unit is the session, as the turns of a conversation are not independent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankproof._data.answers import SESSION_FIELD
from rankproof._data.dataset import Queries
from rankproof._evaluation.result import MeasureResult
from rankproof._statistics.decision_rule import group_means
from rankproof._statistics.intervals import Interval, mean_interval


def sessions_of(queries: Sequence[str], texts: Queries | None) -> tuple[str, ...] | None:
    """The conversation of each query; a query without one is a conversation of its own. None if no two are of one."""
    named = {} if texts is None else {query: texts[query].fields.get(SESSION_FIELD) for query in queries if query in texts}
    own = tuple(query if (name := named.get(query)) is None else f"{SESSION_FIELD} {name}" for query in queries)
    return None if len(set(own)) == len(own) else own


def session_interval(measured: MeasureResult, texts: Queries | None, level: float) -> Interval | None:
    """The interval of a mean whose unit is the session, of one without sessions that of questions."""
    values, weights = measured.values, measured.weights
    sessions = sessions_of(measured.query_ids, texts)
    if sessions is not None:
        values, weights = group_means(values, weights, np.unique(np.array(sessions), return_inverse=True)[1])
    return mean_interval(values, level=level, within=measured.measure.range, weights=weights)
