"""Speed and memory of `rankproof online` on large logs, and the time of one `rp.interleave`.

A row is a document that was shown or a click. Plain tables (CSV, Parquet) have one line per row; UBI has one line per query, with
its 10 documents, and one per click. Times are CPU seconds of a whole process, the start of Python included.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import rankproof as rp

from .load_results import cost

DEPTH, CLICK_RATE, SEED, START = 10, 0.5, 7, 1_762_128_000
_SUFFIXES = {"parquet": "parquet", "ubi": "jsonl"}
KINDS = ("plain", "parquet", "ubi", "variants")
COMMAND = [sys.executable, "-m", "rankproof", "online"]


def write_log(path: Path, kind: str, rows: int) -> None:
    """A log of about so many rows: interleaved lists as a plain table or UBI, or an A/B test as a plain table."""
    sessions = round(rows / (DEPTH + CLICK_RATE))
    random = np.random.default_rng(SEED)
    users = random.integers(0, max(sessions // 5, 1), sessions).tolist()
    clicked = np.where(random.random(sessions) < CLICK_RATE, random.geometric(0.35, sessions).clip(max=DEPTH), 0).tolist()
    docs = random.integers(0, 100_000, (sessions, DEPTH)) * DEPTH + np.arange(DEPTH)
    firsts = random.integers(0, 2, sessions).tolist()
    if kind == "parquet":
        return _write_parquet(path, sessions, users, clicked, docs, firsts)
    lines = _ubi_lines if kind == "ubi" else _table_lines
    with path.open("w", encoding="utf-8") as file:
        if kind != "ubi":
            file.write(f"session,user,time,{'variant' if kind == 'variants' else 'system'},rank,doc,action\n")
        for at, shown in enumerate(docs.tolist()):
            file.writelines(lines(at, users[at], shown, clicked[at], firsts[at], is_ab=kind == "variants"))


def _table_lines(at: int, user: int, shown: list[int], clicked: int, first: int, *, is_ab: bool) -> Iterator[str]:
    seconds = START + at // 10
    for rank, doc in enumerate(shown, 1):
        system = "AB"[user % 2] if is_ab else ("bm25", "hybrid")[(rank + first) % 2]
        yield f"s{at},u{user},{seconds},{system},{rank},d{doc},impression\n"
    if clicked:
        yield f"s{at},u{user},{seconds + 5},{'AB'[user % 2] if is_ab else ''},{clicked},d{shown[clicked - 1]},click\n"


def _ubi_lines(at: int, user: int, shown: list[int], clicked: int, first: int, *, is_ab: bool) -> Iterator[str]:
    seconds = START + at // 10
    teams = [(rank + first) % 2 for rank in range(1, DEPTH + 1)]
    record = {"version": 1, "experiment": "speed", "method": "team-draft", "systems": ["bm25", "hybrid"], "teams": teams}
    query = {"query_id": f"s{at}", "client_id": f"u{user}", "timestamp": seconds, "user_query": f"query {at % 5000}"}
    hits = {"query_response_hit_ids": [f"d{doc}" for doc in shown], "query_attributes": {"rankproof": record}}
    yield json.dumps({**query, **hits}) + "\n"
    if clicked:
        about = {"object": {"object_id": f"d{shown[clicked - 1]}"}, "position": {"ordinal": clicked}}
        event = {"action_name": "click", "query_id": f"s{at}", "client_id": f"u{user}", "timestamp": seconds + 5}
        yield json.dumps({**event, "event_attributes": about}) + "\n"


def _write_parquet(
    path: Path,
    sessions: int,
    users: list[int],
    clicked: list[int],
    docs: np.ndarray[tuple[int, int], np.dtype[np.int64]],
    firsts: list[int],
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = ("session", "user", "time", "system", "rank", "doc", "action")
    schema = pa.schema([(name, pa.int64() if name in ("time", "rank") else pa.string()) for name in names])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, sessions, 10_000):
            columns: list[list[object]] = [[] for _ in names]
            for at in range(start, min(start + 10_000, sessions)):
                for line in _table_lines(at, users[at], docs[at].tolist(), clicked[at], firsts[at], is_ab=False):
                    for column, cell, name in zip(columns, line.rstrip("\n").split(","), names, strict=True):
                        column.append(int(cell) if name in ("time", "rank") else cell)
            writer.write_table(pa.table(dict(zip(names, columns, strict=True)), schema=schema))


def interleave_microseconds(rounds: int = 30, calls: int = 300) -> float:
    """The CPU time of one interleaved list of two rankings of 10, the best of several rounds."""
    random = np.random.default_rng(SEED)
    rankings = {name: [f"doc{doc}" for doc in random.permutation(15)[:DEPTH]] for name in ("bm25", "hybrid")}
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        for seed in range(calls):
            rp.interleave(rankings, seed=seed)
        best = min(best, time.process_time() - start)
    return 1e6 * best / calls


def main() -> None:
    """Prints a Markdown table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.online_speed", description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent / "work" / "online", help="where the logs are kept")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    print(f"`rp.interleave` of two lists of 10: {interleave_microseconds():.0f} µs of CPU time.\n")
    print("| log | rows | CPU s | million rows a minute | peak MB |\n|---|---|---|---|---|")
    for kind in args.kinds:
        path = args.folder / f"{kind}-{args.rows}.{_SUFFIXES.get(kind, 'csv')}"
        if not path.exists():
            write_log(path, kind, args.rows)
        seconds, megabytes = cost([*COMMAND, str(path)])
        print(f"| {kind} | {args.rows:,} | {seconds:.1f} | {60e-6 * args.rows / seconds:.1f} | {megabytes:.0f} |", flush=True)


if __name__ == "__main__":
    main()
