"""What a stage answered to a block of queries, as arrays that a journal can keep."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from ..asking.tally import COUNTS
from ..data.answers import Answer
from ..data.arrays import FloatArray, IntArray
from ..data.counting import counted
from ..data.ranking import Ranking
from ..data.time_parts import PARTS
from ..stages.base import Block
from ..stages.clock import Clock
from .asked_notes import notes_of_counts
from .packing import packed, unpacked

Times = dict[str, FloatArray]
_CUT = ("cut", "cut_queries")


@dataclass(frozen=True, eq=False, slots=True)
class Asked:
    """The rankings of all queries, and of each the milliseconds by part, how many pairs were cut, and whether it was itself.

    `counts` is what asking language models came to, by query; `answers` is None where the stage gives none.
    """

    rankings: tuple[Ranking, ...]
    times: Mapping[str, FloatArray]
    cut: IntArray
    cut_queries: IntArray
    counts: Mapping[str, IntArray]
    answers: tuple[Answer, ...] | None = None

    def notes(self) -> tuple[str, ...]:
        """What a reader must see of the answers, however many starts they took."""
        count, asked, pairs = int(np.count_nonzero(self.cut_queries)), len(self.cut_queries), int(self.cut.sum())
        told = {
            f"{count} of {asked} queries ({count / max(asked, 1):.0%})": count,
            counted(pairs, "pair of query and passage", "pairs of query and passage"): pairs,
        }
        cut = (
            f"{what} {'is' if found == 1 else 'are'} longer than the model reads and {'was' if found == 1 else 'were'} cut"
            for what, found in told.items()
            if found
        )
        return (*cut, *notes_of_counts(self.counts))


def asked_block(rankings: Sequence[Ranking], clocks: Sequence[Clock], answers: Sequence[Answer] | None = None) -> Block:
    """Rankings, times, counts and answers of some queries."""
    docs, scores = packed(rankings)
    times: Times = {part: np.array([clock.milliseconds[part] for clock in clocks]) for part in PARTS}
    cut = {name: np.array([getattr(clock, name) for clock in clocks], np.int64) for name in _CUT}
    counts = {str(name): np.array([clock.counts[name] for clock in clocks], np.int64) for name in COUNTS}
    said = {} if answers is None else {"answers": _bytes([asdict(answer) for answer in answers])}
    return {"docs": _bytes(docs), "scores": scores, **cut, **counts, **times, **said}


def asked_of(blocks: Sequence[Block]) -> Asked:
    """What the blocks say, copied out of them."""
    each = (unpacked(json.loads(block["docs"].tobytes()), block["scores"]) for block in blocks)
    times: Times = {part: np.concatenate([np.zeros(0), *(block[part] for block in blocks)]) for part in PARTS}
    whole = {name: np.concatenate([np.zeros(0, np.int64), *(block[name] for block in blocks)]) for name in (*_CUT, *COUNTS)}
    answered = [answer for block in blocks if "answers" in block for answer in answers_of(json.loads(block["answers"].tobytes()))]
    return Asked(
        tuple(ranking for rankings in each for ranking in rankings),
        times,
        whole["cut"],
        whole["cut_queries"],
        {name: whole[name] for name in COUNTS},
        tuple(answered) if blocks and "answers" in blocks[0] else None,
    )


def answers_of(values: Sequence[Mapping[str, object]]) -> list[Answer]:
    """Answers that were written as JSON."""
    return [Answer(**{**one, "cited": tuple(one["cited"]), "given": tuple(one["given"])}) for one in values]  # type: ignore[arg-type]


def _bytes(value: object) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    return np.frombuffer(json.dumps(value).encode(), np.uint8)
