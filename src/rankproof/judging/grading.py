"""Every pair gets its verdict, several at once where the judge waits for a server."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

from ..asking.lanes import in_lanes
from ..stages.base import Progress
from .judge import Judge, JudgingGround
from .pairs import Pair
from .verdict import Verdict

LABEL = "judging"


def verdicts_of(judge: Judge, pairs: Sequence[Pair], ground: JudgingGround, progress: Progress) -> list[Verdict]:
    """A verdict for each pair, in their order; a pair without text failed before anybody was asked."""
    grader = judge.grader(ground)
    lock, done = threading.Lock(), 0

    def one(pair: Pair) -> Verdict:
        nonlocal done
        lacks = ground.lacks(pair)
        verdict = Verdict(pair, None, lacks) if lacks else grader.verdict(pair)
        with lock:
            done += 1
            progress(LABEL, done, len(pairs))
        return verdict

    return in_lanes(ground.desk, one, pairs, grader.lanes)


def can_be_asked(pairs: Iterable[Pair], ground: JudgingGround) -> list[Pair]:
    """The pairs whose texts are there."""
    return [pair for pair in pairs if not ground.lacks(pair)]
