"""What a stage answered to a block of queries, as arrays that a journal can keep."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..data.arrays import FloatArray, IntArray
from ..data.ranking import Ranking
from ..stages.base import Block
from ..stages.clock import PARTS, Clock
from .packing import packed, unpacked

Times = dict[str, FloatArray]
_CUT = ("cut", "cut_queries")


@dataclass(frozen=True, eq=False, slots=True)
class Asked:
    """The rankings of all queries, and of each the milliseconds by part, how many pairs were cut, and whether it was itself."""

    rankings: tuple[Ranking, ...]
    times: Mapping[str, FloatArray]
    cut: IntArray
    cut_queries: IntArray

    def notes(self) -> tuple[str, ...]:
        """What a reader must see of the answers, however many starts they took."""
        count, asked, pairs = int(np.count_nonzero(self.cut_queries)), len(self.cut_queries), int(self.cut.sum())
        told = {
            f"{count} of {asked} queries ({count / max(asked, 1):.0%})": count,
            f"{pairs} pairs of query and passage": pairs,
        }
        return tuple(f"{what} are longer than the model reads and were cut" for what, found in told.items() if found)


def answers_block(rankings: Sequence[Ranking], clocks: Sequence[Clock]) -> Block:
    """Rankings, times and cut pairs of some queries."""
    docs, scores = packed(rankings)
    times: Times = {part: np.array([clock.milliseconds[part] for clock in clocks]) for part in PARTS}
    cut = {name: np.array([getattr(clock, name) for clock in clocks], np.int64) for name in _CUT}
    return {"docs": np.frombuffer(json.dumps(docs).encode(), np.uint8), "scores": scores, **cut, **times}


def answers_of(blocks: Sequence[Block]) -> Asked:
    """What the blocks say, copied out of them."""
    each = (unpacked(json.loads(block["docs"].tobytes()), block["scores"]) for block in blocks)
    times: Times = {part: np.concatenate([np.zeros(0), *(block[part] for block in blocks)]) for part in PARTS}
    cut = {name: np.concatenate([np.zeros(0, np.int64), *(block[name] for block in blocks)]) for name in _CUT}
    return Asked(tuple(ranking for rankings in each for ranking in rankings), times, **cut)
