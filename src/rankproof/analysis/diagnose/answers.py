"""Why an answer's F1 is low: it says too much, says it in other words, or was not given what it needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ...measures.answers import shared_words, token_set_f1
from ..table import Column, Table

Reason = Literal["fine", "empty", "verbose", "context missing", "paraphrased or wrong"]
LOW = 0.40
"""Below Moderate, by the rag profile's bands of answer F1."""
_MOST = 0.5
"""What counts as most of the reference's words; rankproof's own choice."""
_EVERYWHERE = frozenset(
    {
        *("a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "in", "is"),
        *("it", "of", "on", "or", "that", "the", "this", "to", "was", "were", "which", "with"),
    }
)
MEANINGS: dict[Reason, str] = {
    "fine": f"F1 of at least {LOW}",
    "empty": "there is no answer",
    "verbose": "most of the reference's words are in the answer, among many others",
    "context missing": "most of the reference's words are in no retrieved document: generation could not know them",
    "paraphrased or wrong": "the context has the reference's words and the answer does not: compare the meaning",
}


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    """An answer, what it should have been, and the retrieved texts it was made from (None where they are not known)."""

    query: str
    answer: str
    references: Sequence[str]
    context: Sequence[str] | None = None


def f1_of(record: AnswerRecord) -> float:
    """F1(tokens='set') against the best of the references."""
    return max((token_set_f1(record.answer, reference) for reference in record.references), default=0.0)


def reason_of(record: AnswerRecord) -> Reason:
    """Why the answer scores as it does, by the reference that it is nearest to."""
    if f1_of(record) >= LOW:
        return "fine"
    if not record.answer.strip():
        return "empty"
    reference = max(record.references, key=lambda each: token_set_f1(record.answer, each), default="")
    if _covered(reference, record.answer) >= _MOST:
        return "verbose"
    if record.context is not None and _covered(reference, " ".join(record.context)) < _MOST:
        return "context missing"
    return "paraphrased or wrong"


def _covered(reference: str, text: str) -> float:
    """The part of the reference's words that the text has; words that every text has count only where there are no others."""
    both = shared_words(text, reference)
    wanted = both.reference - _EVERYWHERE or both.reference
    return len(wanted & both.answer) / len(wanted) if wanted else 0.0


def reasons_table(records: Iterable[AnswerRecord]) -> Table:
    """How many answers there are of each kind; for callers in Python, as no verb reads answers yet."""
    found = [reason_of(record) for record in records]
    counts = Counter(found)
    rows = tuple((name, counts[name], counts[name] / max(len(found), 1), about) for name, about in MEANINGS.items())
    columns = (Column("answers"), Column("n", "count"), Column("share", "share"), Column("what it means"))
    worst, times = max(((name, counts[name]) for name in MEANINGS if name != "fine"), key=lambda each: each[1])
    low = len(found) - counts["fine"]
    said = (f"Of {len(found)} answers {low} have an F1 under {LOW}; the most common reason: {worst} ({times}).",) if low else ()
    return Table("answers", f"Why answer F1 is low: n = {len(found)} answers", columns, rows, said)
