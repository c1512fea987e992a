"""Answers that a system would lose: joined rankings have several, and none of them is the system's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import UsageError, shown
from ..measures import AnswerMeasure, Measure
from ..stages.base import Stage
from .extent import parts_of


def refuse_lost_answers(systems: Mapping[str, Stage], measures: Sequence[Measure] | None) -> None:
    """Refuses a system that joins answering ones without answering itself, where answers are to be measured."""
    asked = [measure for measure in measures or () if isinstance(measure, AnswerMeasure)]
    lost = [name for name, stage in systems.items() if asked and loses_answers(stage)]
    if lost:
        what = f"system {shown(lost[0])} joins rankings that come with answers, and has no answer for {asked[0]} to measure"
        raise UsageError(what, fix="join what ranks, and answer above that: Extract(RRF((BM25(), Dense(MiniLM()))))")


def loses_answers(stage: Stage) -> bool:
    """Whether something below answers, and the stage itself does not."""
    return not answers(stage) and any(map(answers, parts_of(stage)))


def answers(stage: Stage) -> bool:
    """Whether the stage answers, or keeps the answers of the only stage below it."""
    below = stage.below()
    return getattr(stage, "kind", None) == "answer" or (len(below) == 1 and answers(below[0]))
