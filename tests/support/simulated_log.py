"""Logs of simulated users: lists of rankers with swaps of neighbours, and clicks of a position-based model."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

DEPTH = 10


class SimulatedLog(NamedTuple):
    """A log as columns of a plain table, the ranking of each ranker, and the clicks per query that each truly gets."""

    table: dict[str, list[object]]
    rankings: dict[str, dict[str, list[str]]]
    clicks: dict[str, float]


def simulated_log(
    sessions: int, shown: tuple[str, ...], seed: int, *, queries: int = 40, docs: int = 30, swap: bool = True
) -> SimulatedLog:
    """Sessions that each see one of the shown rankers, best of them `c`; users look at rank r with a chance of 1 / r."""
    random = np.random.default_rng(seed)
    attraction = random.beta(0.8, 2.5, (queries, docs))
    orders: dict[str, npt.NDArray[np.intp]] = {
        name: np.argsort(-(attraction + random.normal(0, noise, attraction.shape)), axis=1)[:, :DEPTH]
        for name, noise in (("a", 0.3), ("b", 0.3), ("c", 0.15))
    }
    query, rows = random.integers(0, queries, sessions), np.arange(sessions)
    lists = np.stack([orders[name] for name in shown])[random.integers(0, len(shown), sessions), query]
    if swap:
        at = random.integers(0, DEPTH - 1, sessions)
        lists[rows, at], lists[rows, at + 1] = lists[rows, at + 1], lists[rows, at].copy()
    looked = 1 / np.arange(1, DEPTH + 1)
    clicked = random.random(lists.shape) < attraction[query[:, None], lists] * looked
    user = random.integers(0, max(sessions // 2, 1), sessions)
    session, rank = np.divmod(np.arange(sessions * DEPTH), DEPTH)
    of_click, rank_of_click = np.nonzero(clicked)
    session, rank = np.concatenate([session, of_click]), np.concatenate([rank, rank_of_click])
    table: dict[str, list[object]] = {
        "session": [f"s{number}" for number in session.tolist()],
        "user": [f"u{number}" for number in user[session].tolist()],
        "time": (1_762_000_000 + session).tolist(),
        "query": [f"Query {number}" for number in query[session].tolist()],
        "rank": (rank + 1).tolist(),
        "doc": [f"d{number}" for number in lists[session, rank].tolist()],
        "action": [*[""] * (sessions * DEPTH), *["click"] * len(of_click)],
    }
    rankings = {
        name: {f"query {number}": [f"d{doc}" for doc in row] for number, row in enumerate(order.tolist())}
        for name, order in orders.items()
    }
    clicks = {
        name: float((np.take_along_axis(attraction, order, axis=1) * looked).sum(axis=1).mean()) for name, order in orders.items()
    }
    return SimulatedLog(table, rankings, clicks)
