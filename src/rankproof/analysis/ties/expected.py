"""The expected value over all orders of tied documents, each as likely as the others.

Sums over documents are averaged term by term within a group (McSherry and Najork 2008); RR, Success and AP have closed forms;
what is left is enumerated where the orders are few and sampled where they are many.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from hashlib import blake2b
from itertools import permutations, product

import numpy as np

from ...align.hits import Hits
from ...data.arrays import FloatArray
from ...measures import Measure
from ...measures.found import relevant_of
from ..arrangements import Arrangement, hits_of, values_of
from ..statistics.words import key_of, words
from .groups import Group

MOST_ORDERS = 720
SAMPLES = 200
SEED = 0

Closed = Callable[[list[Group], FloatArray, int, int], float]


def smeared(measure: Measure, hits: Hits, query: int, groups: list[Group]) -> float:
    """A sum over documents: each hit's term averaged over the ranks of its group."""
    _, grades = hits_of(hits, query)
    each = [(group, grades[at : at + 1]) for group in groups for at in group.members.tolist()]
    spread = [Arrangement(query, np.array([rank]), grade) for group, grade in each for rank in group.ranks]
    shares = np.array([1 / group.size for group, _ in each for _ in group.ranks])
    return math.fsum((values_of(measure, hits, spread) * shares).tolist())


def reciprocal_rank(groups: list[Group], worth: FloatArray, depth: int, total: int) -> float:
    """1 / rank of the first relevant one, over where it may stand in the first group that has any."""
    for group in groups:
        relevant = int(worth[group.members].sum())
        if relevant:
            ways = math.comb(group.size, relevant)
            chances = ((place, math.comb(group.size - place - 1, relevant - 1) / ways) for place in range(group.size))
            return math.fsum(chance / (group.start + place) for place, chance in chances if group.start + place <= depth)
    return 0.0


def success(groups: list[Group], worth: FloatArray, depth: int, total: int) -> float:
    """1 less the chance that the part of the group above the cutoff has no relevant one."""
    for group in groups:
        relevant = int(worth[group.members].sum())
        above = max(0, min(group.size, depth - group.start + 1))
        if relevant:
            return 1 - math.comb(group.size - relevant, above) / math.comb(group.size, above)
    return 0.0


def average_precision(groups: list[Group], worth: FloatArray, depth: int, total: int) -> float:
    """Each rank's chance to be relevant, times the precision expected there if it is."""
    before, terms = 0, []
    for group in groups:
        relevant = int(worth[group.members].sum())
        others = (relevant - 1) / (group.size - 1) if group.size > 1 else 0.0
        for place in range(group.size if relevant else 0):
            rank = group.start + place
            if rank <= depth:
                terms.append(relevant / group.size * (before + 1 + place * others) / rank)
        before += relevant
    return math.fsum(terms) / total if total else 0.0


CLOSED: dict[str, Closed] = {"RR": reciprocal_rank, "Success": success, "AP": average_precision}


def closed(measure: Measure, hits: Hits, query: int, groups: list[Group], worth: FloatArray) -> float:
    """The closed form of a measure that has one."""
    total = int(relevant_of(hits.judged, getattr(measure, "least", 1))[query])
    return CLOSED[measure.name](groups, worth, getattr(measure, "depth", 0), total)


def orders(hits: Hits, query: int, groups: list[Group]) -> tuple[list[Arrangement], bool]:
    """All arrangements of a query's hits, or a sample of them that its id and the seed decide; and whether they are all."""
    ranks, grades = hits_of(hits, query)
    count = math.prod(math.perm(group.size, len(group.members)) for group in groups)
    chosen = _all(groups) if count <= MOST_ORDERS else _some(groups, hits.queries[query])
    found = []
    for places in chosen:
        moved = ranks.copy()
        for group, where in zip(groups, places, strict=True):
            moved[group.members] = group.start + np.array(where)
        found.append(Arrangement(query, moved, grades))
    return found, count <= MOST_ORDERS


def _all(groups: list[Group]) -> Iterator[tuple[tuple[int, ...], ...]]:
    return product(*(permutations(range(group.size), len(group.members)) for group in groups))


def _some(groups: list[Group], query: str) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Orders drawn for the query's own id, so that no other query and no order of lines changes them."""
    key = key_of(_number(query) ^ SEED, "orders")
    ends = np.cumsum([group.size for group in groups]).tolist()
    for sample in range(SAMPLES):
        drawn = words(key, sample * ends[-1], ends[-1])
        parts = zip(groups, np.split(drawn, ends[:-1]), strict=True)
        yield tuple(tuple(np.argsort(part, kind="stable")[: len(group.members)].tolist()) for group, part in parts)


def _number(query: str) -> int:
    """64 bits that stand for an id."""
    return int.from_bytes(blake2b(query.encode(errors="surrogatepass"), digest_size=8).digest(), "little")
