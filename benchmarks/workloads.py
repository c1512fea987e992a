"""The workloads of `benchmarks.evaluation`: synthetic runs and judgements, the same on every machine, under benchmarks/work.

big: 6,980 queries x 1,000 documents with about one judgement a query (the shape of MS MARCO's dev set). graded: 43 x 1,000 with
about 215 graded judgements a query (TREC Deep Learning), also with its lines shuffled. many: 100 runs of 50 x 1,000 with 300
graded judgements a query (a TREC track). tiny: 3 x 10.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

COLLECTION = 8_841_823
TIED_SHARE = 0.03
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def make(folder: Path) -> None:
    """Writes every workload that is not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, maker in (("big", _big), ("graded", _graded), ("many", _many), ("tiny", _tiny), ("parquet", _parquet)):
        done = folder / f"{name}.done"
        if not done.exists():
            maker(folder)
            done.touch()


def _big(folder: Path) -> None:
    rng = np.random.default_rng(1)
    queries = rng.permutation(rng.choice(1_100_000, 6980, replace=False))
    docs = np.stack([rng.choice(COLLECTION, 1000, replace=False) for _ in queries])
    with (folder / "big.qrels").open("w") as out:
        for query, ranking in zip(queries, docs, strict=True):
            found = rng.random() < 0.86
            doc = ranking[min(int(rng.exponential(60)), 999)] if found else rng.integers(COLLECTION)
            out.write(f"{query} 0 {doc} 1\n")
            if rng.random() < 0.07:
                out.write(f"{query} 0 {ranking[500] + 1} 1\n")
    _write_run(folder / "big.run", queries.tolist(), docs, _scores(rng, docs.shape), "bm25")


def _graded(folder: Path) -> None:
    rng = np.random.default_rng(2)
    queries = np.sort(rng.choice(1_100_000, 43, replace=False))
    docs = np.stack([rng.choice(COLLECTION, 1000, replace=False) for _ in queries])
    near_the_top = np.exp(-np.arange(1000) / 150)
    with (folder / "graded.qrels").open("w") as out:
        for query, ranking in zip(queries, docs, strict=True):
            judged = int(np.clip(rng.normal(215, 60), 60, 400))
            at = rng.choice(1000, int(judged * 0.6), replace=False, p=near_the_top / near_the_top.sum())
            pool = np.unique(np.concatenate([ranking[at], rng.integers(COLLECTION, size=judged - len(at))]))
            _write_grades(out, query, pool, rng.choice(4, len(pool), p=[0.55, 0.2, 0.18, 0.07]))
    _write_run(folder / "graded.run", queries.tolist(), docs, _scores(rng, docs.shape), "dl")
    lines = (folder / "graded.run").read_text().splitlines(keepends=True)
    random.Random(2).shuffle(lines)
    (folder / "shuffled.run").write_text("".join(lines))


def _many(folder: Path) -> None:
    rng = np.random.default_rng(3)
    queries = range(301, 351)
    pools = np.stack([rng.choice(COLLECTION, 4000, replace=False) for _ in queries])
    with (folder / "many.qrels").open("w") as out:
        for query, pool in zip(queries, pools, strict=True):
            _write_grades(out, query, rng.choice(pool, 300, replace=False), rng.choice(4, 300, p=[0.6, 0.2, 0.13, 0.07]))
    (folder / "many").mkdir(exist_ok=True)
    for number in range(100):
        docs = np.stack([rng.choice(pool, 1000, replace=False) for pool in pools])
        _write_run(folder / "many" / f"{number:03}.run", list(queries), docs, _scores(rng, docs.shape), f"sys{number}")


def _tiny(folder: Path) -> None:
    rows = [line.split() for line in (folder / "graded.run").read_text().splitlines()]
    first = list(dict.fromkeys(row[0] for row in rows))[:3]
    chosen = [" ".join(row) for row in rows if row[0] in first and int(row[3]) <= 10]
    (folder / "tiny.run").write_text("\n".join(chosen) + "\n")
    grades = [line for line in (folder / "graded.qrels").read_text().splitlines() if line.split()[0] in first]
    (folder / "tiny.qrels").write_text("\n".join(grades) + "\n")


def _parquet(folder: Path) -> None:
    for name in ("big", "tiny"):
        _as_parquet(folder / f"{name}.run", folder / f"{name}.parquet")


def _as_parquet(run: Path, to: Path) -> None:
    from pyarrow import csv, parquet

    options = csv.ReadOptions(column_names=["query", "q0", "doc", "rank", "score", "tag"])
    text = dict.fromkeys(("query", "doc"), "string")
    table = csv.read_csv(
        run,
        read_options=options,
        parse_options=csv.ParseOptions(delimiter=" "),
        convert_options=csv.ConvertOptions(column_types=text, include_columns=["query", "doc", "score"]),
    )
    parquet.write_table(table, to)


def _scores(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Falling scores with six decimals, about 3 % of them tied with the one above."""
    scores = np.round(-np.sort(-rng.gamma(2.0, 4.0, size=shape), axis=1) + 5, 6)
    tied = rng.random(shape) < TIED_SHARE
    for column in range(1, shape[1]):
        scores[tied[:, column], column] = scores[tied[:, column], column - 1]
    return scores


def _write_grades(out: TextIO, query: int, docs: Ints, grades: Ints) -> None:
    out.write("".join(f"{query} 0 {doc} {grade}\n" for doc, grade in zip(docs.tolist(), grades.tolist(), strict=True)))


def _write_run(path: Path, queries: Sequence[int], docs: Ints, scores: Floats, tag: str) -> None:
    with path.open("w") as out:
        for query, ranking, values in zip(queries, docs, scores, strict=True):
            out.write("".join(_lines(query, ranking, values, tag)))


def _lines(query: int, docs: Ints, scores: Floats, tag: str) -> Iterator[str]:
    for rank, (doc, score) in enumerate(zip(docs.tolist(), scores.tolist(), strict=True), start=1):
        yield f"{query} Q0 {doc} {rank} {score:.6f} {tag}\n"
