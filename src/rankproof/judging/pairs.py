"""Which pairs of query and document are to be judged."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from ..data.order import best_first, order_key, settled
from ..data.reading import Reading
from ..data.run import Run
from ..data.source import Source
from ..errors import InputError, UsageError
from ..formats.trec import numbered_lines

Grades = Mapping[str, Mapping[str, int]]
_DOC_AT = {2: 1, 3: 1, 4: 2, 6: 2}
"""Where the document stands in a line of so many columns: pairs, BEIR's qrels, TREC's qrels, a run."""


class Pair(NamedTuple):
    """A query and a document, by their ids."""

    query: str
    doc: str


def pool_of(run: Run, depth: int, reading: Reading | None = None) -> list[Pair]:
    """The first documents of every query of a run."""
    how = reading or Reading()
    rows, _ = settled(run, how)
    found = []
    for query, each in rows.items():
        docs = [row.doc for row in each]
        order = best_first(docs, np.array([order_key(row, how) for row in each], dtype=np.float64))
        found += [Pair(query, docs[at]) for at in order[:depth].tolist()]
    return found


def joined(pools: Iterable[Iterable[Pair]]) -> list[Pair]:
    """The pairs of all pools, each once, in the order in which they first come."""
    return list(dict.fromkeys(pair for pool in pools for pair in pool))


def without_judged(pairs: Iterable[Pair], grades: Grades) -> list[Pair]:
    """The pairs that nobody judged; a negative grade says that nobody did."""
    return [pair for pair in pairs if grades.get(pair.query, {}).get(pair.doc, -1) < 0]


def judged_pairs(grades: Grades) -> list[Pair]:
    """The pairs that somebody judged."""
    return [Pair(query, doc) for query, docs in grades.items() for doc, grade in docs.items() if grade >= 0]


def drawn(pairs: Iterable[Pair], count: int | None, seed: int) -> list[Pair]:
    """So many of the pairs, drawn by the seed, in their old order; all where there are no more."""
    each = list(pairs)
    if count is None or count >= len(each):
        return each
    chosen = random.Random(seed).sample(range(len(each)), count)
    return [each[at] for at in sorted(chosen)]


def read_pairs(source: Source) -> list[Pair]:
    """The pairs in a text: query and document in two columns, or a TREC file, whose other columns are not looked at."""
    found = []
    for line, row in numbered_lines(source):
        columns = row.split(b"\t") if row.count(b"\t") == 1 else row.split()
        if len(columns) not in _DOC_AT:
            what = f"{len(columns)} columns where a pair has two: a query and a document"
            raise InputError(what, fix="write QUERY, a tab and DOCUMENT", source=source.name, line=line)
        found.append(Pair(columns[0].decode().strip(), columns[_DOC_AT[len(columns)]].decode().strip()))
    if not found:
        raise UsageError(f"{source.name} has no pair", fix="write QUERY, a tab and DOCUMENT in each line")
    return joined([found])
