"""What a stage answered to a block of queries, as arrays that a journal can keep."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..data.arrays import FloatArray
from ..fusion.ranking import Ranking
from ..stages.base import Block
from ..stages.clock import PARTS, Clock

Times = dict[str, FloatArray]


@dataclass(frozen=True, eq=False, slots=True)
class Asked:
    """The rankings of all queries, and the milliseconds that each took, by part."""

    rankings: tuple[Ranking, ...]
    times: Mapping[str, FloatArray]


def answers_block(rankings: Sequence[Ranking], clocks: Sequence[Clock]) -> Block:
    """Rankings and times of some queries."""
    docs = json.dumps([docs for docs, _ in rankings]).encode()
    times: Times = {part: np.array([clock.milliseconds[part] for clock in clocks]) for part in PARTS}
    scores = np.concatenate([np.zeros(0), *(np.asarray(scores, np.float64) for _, scores in rankings)])
    return {"docs": np.frombuffer(docs, np.uint8), "scores": scores, **times}


def answers_of(blocks: Sequence[Block]) -> Asked:
    """What the blocks say, copied out of them."""
    rankings: list[Ranking] = []
    for block in blocks:
        at = 0
        for docs in json.loads(block["docs"].tobytes()):
            rankings.append((docs, np.array(block["scores"][at : at + len(docs)])))
            at += len(docs)
    times: Times = {part: np.concatenate([np.zeros(0), *(block[part] for block in blocks)]) for part in PARTS}
    return Asked(tuple(rankings), times)
