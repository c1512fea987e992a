"""Vector stores that return what is wrong, under dense retrieval: `PYTHONPATH=tests python -m tools.attacks.stores`.

An exact store must end the run or give the ranking of the vectors; an approximate one may also lose documents, which its recall
must say. Anything else is a silent failure.
"""

from __future__ import annotations

import gzip
import json
import math
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from rankproof._data.dataset import Query
from rankproof._io.retry import RetryPolicy
from rankproof.errors import RankproofError
from rankproof.stages import Dense
from rankproof.stores import Milvus, _http, _milvus
from rankproof.stores._base import Store
from support.milvus_servers import lite_server
from support.scripted_server import Request, Sent
from support.server_stores import KINDS, Answered, Kind
from support.small_models import HashedWords
from support.stage_building import context_of, corpus_of
from support.vector_servers import VectorServer

_MODEL, _DEPTH = HashedWords(16), 5
_TEXTS = {f"d{at}": f"w{at} w{at + 1} common" for at in range(30)}
_QUERIES = [Query(f"q{at}", f"w{at} w{at + 3}") for at in range(4)]
_LAST = len(_TEXTS) - 1
Hits = list[tuple[Any, Any]]


def _scores(change: Callable[[Any], Any]) -> Callable[[Hits], Hits]:
    return lambda hits: [(number, change(score)) for number, score in hits]


def _numbers(change: Callable[[Any], Any]) -> Callable[[Hits], Hits]:
    return lambda hits: [(change(number), score) for number, score in hits]


HIT_FAULTS: Mapping[str, Callable[[Hits], Hits]] = {
    "scores raised": _scores(lambda score: score + 0.01),
    "scores doubled": _scores(lambda score: score * 2),
    "scores negated": _scores(lambda score: -score),
    "all scores 1": _scores(lambda score: 1.0),
    "NaN": _scores(lambda score: math.nan),
    "infinity": _scores(lambda score: math.inf),
    "1e308": _scores(lambda score: 1e308),
    "text as a score": _scores(str),
    "no score": _scores(lambda score: None),
    "true as a score": _scores(lambda score: True),
    "other documents, same scores": _numbers(lambda number: _LAST - number),
    "the first score alone raised": lambda hits: [(hits[0][0], hits[0][1] + 0.25), *hits[1:]] if hits else hits,
    "documents rotated": lambda hits: [(hits[at - 1][0], score) for at, (_, score) in enumerate(hits)],
    "nothing": lambda hits: [],
    "one too few": lambda hits: hits[:-1],
    "without the best": lambda hits: hits[1:],
    "one too many": lambda hits: [*hits, *hits[:1]],
    "one twice": lambda hits: [*hits[:1], *hits[:-1]],
    "backwards": lambda hits: hits[::-1],
    "10,000 hits": lambda hits: hits * 2000,
    "a foreign number": _numbers(lambda number: 1000 + number),
    "a negative number": _numbers(lambda number: -1 - number),
    "a huge number": _numbers(lambda number: 10**30),
    "text as a number": _numbers(lambda number: f"{number}x"),
    "a list as a number": _numbers(lambda number: [number]),
    "true as a number": _numbers(lambda number: True),
    "a fraction as a number": _numbers(lambda number: number + 0.5),
}
"""Changes of the documents and scores of a reply."""
BODY_FAULTS: Mapping[str, bytes] = {
    **{
        "empty": b"",
        "HTML": b"<html>",
        "null": b"null",
        "a list": b"[]",
        "an object": b"{}",
        "text": b'"x"',
        "bytes": b"\xff\0\xfe",
    },
    **{
        "deep": b"[" * 100_000,
        "cut": b'{"result": {"points": [{"id": 1,',
        "NaN": b'{"result": NaN}',
        "UTF-16": '{"a": 1}'.encode("utf-16"),
    },
    **{"keys twice": b'{"result": 1, "result": 2}', "64 MB": b'{"x": "' + b"x" * (1 << 26) + b'"}'},
}
"""Bodies of replies, whatever the request."""


def _changed_body(change: Callable[[Hits], Hits], body: Any) -> Any:
    """The body of a reply of Qdrant, Elasticsearch or OpenSearch with changed hits."""
    place, name, id, score = (
        (body["result"], "points", "id", "score") if "result" in body else (body["hits"], "hits", "_id", "_score")
    )
    hits: Hits = [(int(hit[id]), hit[score]) for hit in place[name]]
    place[name] = [
        {id: number if id == "id" or isinstance(number, list) else str(number), score: value} for number, value in change(hits)
    ]
    return body


@contextmanager
def http_store(kind: Kind, index: str) -> Iterator[tuple[Store, VectorServer]]:
    """A store and its server."""
    with kind.server() as server:
        yield kind.store(url=server.url, timeout=5, index=index), server


def _fault_of_hits(kind: Kind, change: Callable[[Hits], Hits]) -> Callable[[Request, Answered], Sent]:
    def fault(request: Request, answered: Answered) -> Sent:
        reply = answered()
        if not request.location.endswith(kind.search):
            return reply
        return Sent(reply.status, json.dumps(_changed_body(change, json.loads(reply.content))).encode())

    return fault


def _fault_of_body(path: str, body: bytes, headers: Mapping[str, str]) -> Callable[[Request, Answered], Sent]:
    def fault(request: Request, answered: Answered) -> Sent:
        return Sent(200, body, dict(headers)) if request.location.endswith(path) else answered()

    return fault


def outcome(store: Store) -> str:
    """What became of the searches: stopped, exact, noted as loss of recall, or what is wrong."""
    exact = [np.asarray(ranking[0]).tolist() for ranking in _searched(None)[0]]
    try:
        rankings, facts = _searched(store)
    except RankproofError as error:
        return "stopped" if ";" in str(error) or ":" in str(error) else f"no fix: {error}"
    except Exception as error:
        return f"internal error: {type(error).__name__}: {error}"
    found = [np.asarray(ranking[0]).tolist() for ranking in rankings]
    if found == exact:
        return "exact"
    recall = float(np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(found, exact, strict=True)]))
    if store.exact:
        return "an exact store gave another ranking"
    stated = facts.get("recall_of_exact")
    return "noted" if stated is not None and abs(stated - recall) < 0.11 else f"recall {recall:.2f}, stated {stated}"


def _searched(store: Store | None) -> tuple[list[Any], Mapping[str, Any]]:
    stage = Dense(_MODEL, depth=_DEPTH) if store is None else Dense(_MODEL, store=store, depth=_DEPTH)
    searcher = stage.build(context_of(corpus_of(_TEXTS)))
    try:
        return list(searcher.search_all(_QUERIES)), searcher.facts()
    finally:
        searcher.close()


def http_rows() -> Iterator[tuple[str, str, str]]:
    """Store, fault and outcome for the stores on HTTP servers."""
    for name, kind in KINDS.items():
        for index in ("exact", "hnsw"):
            with http_store(kind, index) as (store, server):
                yield f"{name}, {index}", "none", outcome(store)
                for title, change in HIT_FAULTS.items():
                    server.fault = _fault_of_hits(kind, change)
                    yield f"{name}, {index}", title, outcome(store)
                    server.reset()
                for title, body in BODY_FAULTS.items():
                    for path in (kind.search, kind.write):
                        server.fault = _fault_of_body(path, body, {})
                        yield f"{name}, {index}", f"{title} at {path}", outcome(store)
                        server.reset()
                bomb = gzip.compress(b'{"x": "' + b"x" * (1 << 28) + b'"}')
                server.fault = _fault_of_body(kind.search, bomb, {"Content-Encoding": "gzip"})
                yield f"{name}, {index}", "gzip data of 268 MB", outcome(store)


def milvus_rows() -> Iterator[tuple[str, str, str]]:
    """The same changes of hits for Milvus: embedded, and behind its own protocol on the server of Milvus Lite."""
    with tempfile.TemporaryDirectory() as folder, lite_server(Path(folder)) as url:
        for place, kind in {"": _milvus.MilvusLiteCollection, url: _milvus.MilvusCollection}.items():
            for index in ("exact", "hnsw"):
                store = Milvus(index=index, url=place) if place else Milvus(index=index)
                name = f"milvus {'server' if place else 'lite'}, {index}"
                yield name, "none", outcome(store)
                for title, change in HIT_FAULTS.items():
                    with patch.object(kind, "_nearest", _changed_search(kind, change)):
                        yield name, title, outcome(store)


def _changed_search(kind: Any, change: Callable[[Hits], Hits]) -> Callable[..., Hits]:
    """The search of a collection with changed hits."""
    search = kind._nearest
    return lambda self, query, limit: change(list(search(self, query, limit)))


def main() -> int:
    """Prints a row for each store; 1 if a failure is silent."""
    counts: dict[str, Counter[str]] = {}
    retries = patch.object(_http, "_RETRIES", RetryPolicy(max_requests=2, sleep=lambda seconds: None))
    with retries:
        for store, title, result in (*http_rows(), *milvus_rows()):
            known = result if result in ("stopped", "exact", "noted") else "silent"
            if known == "silent" or (title == "none" and known == "stopped"):
                known = "silent"
                print(f"{store}: {title}: {result}", file=sys.stderr, flush=True)
            counts.setdefault(store, Counter())[known] += 1
    print("| store | replies | run stopped | exact | recall says it | silent failures |\n|---|---:|---:|---:|---:|---:|")
    for store, row in counts.items():
        print(f"| {store} | {row.total()} | {row['stopped']} | {row['exact']} | {row['noted']} | {row['silent']} |")
    return 1 if any(row["silent"] for row in counts.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
