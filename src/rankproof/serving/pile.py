"""What a person is to judge next: pairs with their texts, and where the systems have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..analysis.evidence import evidence_of_climb
from ..analysis.holes.next import judge_next
from ..analysis.holes.unjudged import holes_of
from ..analysis.measured import main_measure
from ..data.qrels import Qrels
from ..errors import InputError
from ..experiment.rung import Climb
from ..formats.writing import qrels_blocks
from .candidates import closest
from .passages import Passages
from .record import Pair
from .summary import highest_grade

MOST = 1000
"""Pairs in one pile: more than a person judges before the experiment is run again."""
CANDIDATES = 3000
"""Pairs for which it is computed what they could change, while somebody waits for the page."""


@dataclass(frozen=True, slots=True)
class Question:
    """A pair as a person reads it; `stands` is told only when it is judged, so that no system is favoured.

    `whole` says whether the passage is all of the document.
    """

    query: str
    doc: str
    text: str
    passage: str
    whole: bool
    stands: str

    @property
    def pair(self) -> Pair:
        """What is judged."""
        return self.query, self.doc


@dataclass(frozen=True, eq=False, slots=True)
class Pile:
    """Questions in the order of what they could change, found by their pair.

    `left_out` counts those nobody can judge here; `passed_over` says that there were too many unjudged pairs to look at all;
    `highest` is the highest grade that the results were judged by.
    """

    measure: str
    fingerprint: str
    questions: Mapping[Pair, Question]
    left_out: int
    passed_over: bool
    highest: int


def pile_of(climb: Climb, passages: Passages) -> Pile:
    """The unjudged pairs that could change the climb's main measure most."""
    evidence = evidence_of_climb(climb)
    measure = main_measure(evidence)
    whole = holes_of(evidence)
    holes = closest(whole, evidence.result.systems[0].measures[measure].measure, CANDIDATES)
    rows = judge_next(holes, measure, MOST).records()
    found = list(_questions(climb, passages, [(str(row["query"]), str(row["document"]), str(row["stands at"])) for row in rows]))
    questions = {one.pair: one for one in found}
    left_out, highest = len(rows) - len(questions), highest_grade(climb.qrels)
    return Pile(measure, climb.fingerprint, questions, left_out, holes is not whole, highest)


def _questions(climb: Climb, passages: Passages, rows: list[tuple[str, str, str]]) -> Iterator[Question]:
    for query, doc, stands in rows:
        passage = passages.of(climb, doc)
        if passage.text.strip() and query in climb.texts and _can_be_written(query, doc):
            yield Question(query, doc, climb.texts[query].text, passage.text, passage.whole, stands)


def _can_be_written(query: str, doc: str) -> bool:
    """Whether a line of TREC qrels can hold these ids."""
    try:
        return any(True for _ in qrels_blocks(Qrels.from_dict({query: {doc: 0}}), "trec"))
    except InputError:
        return False
