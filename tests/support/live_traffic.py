"""Logs of a scripted population of users, as rows of User Behavior Insights."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import rankproof as rp

START = 1_762_128_000
"""The first session: 2025-11-03, UTC."""
DAY = 86_400
RELEVANT = "d0"
_DOCS = tuple(f"d{number}" for number in range(8))
Row = dict[str, Any]


def query_row(key: str, user: str, docs: Iterable[str], *, time: float = START, **attributes: Any) -> Row:
    """A query with the documents that were shown."""
    return {
        "query_id": key,
        "client_id": user,
        "timestamp": time,
        "user_query": "red shoes",
        "query_response_hit_ids": list(docs),
        "query_attributes": attributes,
    }


def event_row(key: str, user: str, doc: str, *, time: float = START + 5, action: str = "click", **attributes: Any) -> Row:
    """An event on a document."""
    about = {"object": {"object_id": doc}, **attributes}
    return {"action_name": action, "query_id": key, "client_id": user, "timestamp": time, "event_attributes": about}


def ranking(rng: random.Random, quality: float) -> list[str]:
    """Documents in random order, the relevant one on top with the chance `quality`."""
    docs = list(_DOCS)
    rng.shuffle(docs)
    if rng.random() < quality:
        docs.remove(RELEVANT)
        docs.insert(0, RELEVANT)
    return docs


def clicks_on(docs: Iterable[str], rng: random.Random, most: float = 0.9, noise: float = 0.05) -> Iterator[str]:
    """The clicks of a user who looks at rank r with the chance 1 / r."""
    for rank, doc in enumerate(docs, 1):
        if rng.random() < (most if doc == RELEVANT else noise) / rank:
            yield doc


def interleaved_rows(
    qualities: Mapping[str, float],
    *,
    sessions: int = 900,
    users: int = 300,
    days: float = 9,
    seed: int = 1,
    method: Any = None,
    attributes: Callable[[int], Mapping[str, Any]] = lambda number: {},
) -> list[Row]:
    """Queries and clicks of lists that `rp.interleave` made of rankings of these qualities."""
    rng, rows = random.Random(seed), list[Row]()
    for number in range(sessions):
        key, user, time = f"q{number}", f"user-{rng.randrange(users)}", START + number * days * DAY / sessions
        rankings = {name: ranking(rng, quality) for name, quality in qualities.items()}
        shown = rp.interleave(rankings, experiment="test", seed=key, method=method, k=6)
        rows.append(query_row(key, user, shown.docs, time=time, **shown.to_dict(), **attributes(number)))
        rows += [event_row(key, user, doc, time=time + 5) for doc in clicks_on(shown.docs, rng)]
    return rows


def variant_rows(
    qualities: Mapping[str, float],
    *,
    sessions: int = 1400,
    users: int = 700,
    days: float = 9,
    seed: int = 1,
    buys: float = 0.3,
    before: float = 0.0,
    attributes: Callable[[int, str], Mapping[str, Any]] = lambda number, variant: {},
) -> list[Row]:
    """Queries, clicks and purchases of an A/B test; each user has one variant, and a taste of clicking.

    The first share `before` of the sessions has the first variant for all.
    """
    rng, rows, names = random.Random(seed), list[Row](), list(qualities)
    variant_of = [rng.choice(names) for _ in range(users)]
    taste = [rng.random() for _ in range(users)]
    for number in range(sessions):
        key, at, time = f"q{number}", rng.randrange(users), START + number * days * DAY / sessions
        variant, user = variant_of[at] if number >= before * sessions else names[0], f"user-{at}"
        docs = ranking(rng, qualities[variant])
        rows.append(query_row(key, user, docs, time=time, variant=variant, **attributes(number, variant)))
        for doc in clicks_on(docs, rng, taste[at], taste[at] / 10):
            rows.append(event_row(key, user, doc, time=time + 5))
            if rng.random() < buys:
                rows.append(event_row(key, user, doc, time=time + 60, action="purchase", price=10.0))
    return rows


def written(path: Path, rows: Iterable[Row], name: str = "log.jsonl") -> str:
    """The rows as a file of JSON lines."""
    file = path / name
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(file)
