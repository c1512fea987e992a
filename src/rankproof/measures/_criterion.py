"""A measure of one's own in words: a judge grades each answer by a rubric."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, NoReturn

from rankproof._data.claims import ClaimTable, Rubric, criterion_of
from rankproof._formats.rubric import read_rubric, rubric_name
from rankproof._registry import Option
from rankproof.errors import UsageError, for_message
from rankproof.measures._answers import AnswerCase
from rankproof.measures._base import Advice, Measure
from rankproof.measures._claim_base import ClaimMeasure, Outcome, Verdicts, mean_credit, without_answer

_VERSION = re.compile("[0-9a-f]{8}")
RUBRIC = Option("the file of the rubric, such as tone.toml, or trec or coherence")
VERSION = Option("the version of the rubric", unset="that of the file")


@dataclass(frozen=True, kw_only=True, repr=False)
class RubricGrade(ClaimMeasure):
    """The grade of an answer by a rubric. Its name has the version of the rubric, so that two versions never share a column."""

    rubric: Annotated[str, RUBRIC] = "trec"
    version: Annotated[str, VERSION] = ""
    name = "Criterion"
    title = "A criterion of your own"
    formula = "(grade of the answer - lowest grade) / (highest - lowest)"
    definition = (
        "Grade of the answer by a rubric file, on a scale from 0 to 1. The judge is a language model that reads the rubric and"
        " what the rubric lets it see: the question, the contexts, the reference. No value if the answer abstains."
    )
    source = "rubrics as in TREC and in Liu et al. 2023 (G-Eval)"
    advice = Advice(
        "answering",
        "answers must be good in a way that no other measure says, such as their tone.",
        "people do not agree on the grades: label 30 questions before you trust a judge.",
    )
    inputs = ()
    with_reference = False
    positional = "rubric"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.version:
            object.__setattr__(self, "version", read_rubric(self.rubric).version)
        elif not _VERSION.fullmatch(self.version):
            raise UsageError(f"{for_message(self.version)} is no version of a rubric", fix="leave the version out")

    def __call__(self, **parameters: Any) -> Measure:
        # Another rubric has another version.
        return super().__call__(**({"version": "", **parameters} if "rubric" in parameters else parameters))

    @property
    def table(self) -> ClaimTable:
        """The table of the grades by this version of the rubric."""
        return f"answer-{criterion_of(rubric_name(self.rubric), self.version)}"

    @cached_property
    def criterion(self) -> Rubric:
        """The rubric; an error if the file has changed since the measure was named."""
        rubric = read_rubric(self.rubric)
        if rubric.version != self.version:
            what = f"{for_message(self.rubric)} has version {rubric.version}, and the measure {self.version}"
            raise UsageError(what, fix=f"evaluate the answers again with -m \"Criterion('{for_message(self.rubric)}')\"")
        return rubric

    @property
    def every_table(self) -> tuple[ClaimTable, ...]:
        return (self.table,)

    def needed(self, case: AnswerCase) -> tuple[ClaimTable, ...]:
        return (self.table,)

    def settled(self, case: AnswerCase) -> Outcome | None:
        return without_answer(case)

    def counted(self, case: AnswerCase, verdicts: Verdicts) -> Outcome:
        return mean_credit(verdicts.get(self.table, ()))

    def by_words(self, case: AnswerCase) -> NoReturn:
        raise UsageError(f"{self} needs a language model that reads the rubric", fix="name it: --judge gpt-4o-mini")


Criterion = RubricGrade()
