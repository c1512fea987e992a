"""Why F1 is low; bottleneck."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rankproof._analysis.bands import BandProfile, QualityBand, is_answer_measure
from rankproof._data.table import Column, Table
from rankproof._data.text import pluralise
from rankproof.errors import for_message
from rankproof.measures._answers import shared_words, token_set_f1

Reason = Literal["fine", "failed", "empty", "verbose", "context missing", "paraphrased or wrong"]
LOW_F1 = 0.40
"""Below Moderate, by the rag profile's bands of answer F1."""
_MOST = 0.5
"""What counts as most of the reference's words; rankproof's own choice."""
_STOP_WORDS = frozenset(
    {
        *("a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "in", "is"),
        *("it", "of", "on", "or", "that", "the", "this", "to", "was", "were", "which", "with"),
    }
)
REASON_TEXTS: dict[Reason, str] = {
    "fine": f"F1 of at least {LOW_F1}",
    "failed": "no reply of use came: there is no answer to measure, and it is left out of the means",
    "empty": "there is no answer",
    "verbose": "most of the reference's words are in the answer, among many others",
    "context missing": "what was retrieved lacks the reference's words, or none of it is relevant: they could not be known",
    "paraphrased or wrong": "the answer was there and is not in these words: compare the meaning",
}


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    """An answer, what it should have been, and the retrieved texts it was made from (None where they are not known).

    `found` says whether a relevant passage was among them, None where nobody judged; it counts where the texts are not known.
    `failed` says that something went wrong before there was an answer.
    """

    query: str
    answer: str
    references: Sequence[str]
    context: Sequence[str] | None = None
    found: bool | None = None
    failed: bool = False


def f1_of(record: AnswerRecord) -> float:
    """F1(tokens='set') against the best of the references."""
    return max((token_set_f1(record.answer, reference) for reference in record.references), default=0.0)


def reason_of(record: AnswerRecord) -> Reason:
    """Why the answer scores as it does, by the reference that it is nearest to."""
    if record.failed:
        return "failed"
    if f1_of(record) >= LOW_F1:
        return "fine"
    if not record.answer.strip():
        return "empty"
    reference = max(record.references, key=lambda each: token_set_f1(record.answer, each), default="")
    if _word_coverage(reference, record.answer) >= _MOST:
        return "verbose"
    lacks = _word_coverage(reference, " ".join(record.context)) < _MOST if record.context is not None else record.found is False
    if lacks:
        return "context missing"
    return "paraphrased or wrong"


def _word_coverage(reference: str, text: str) -> float:
    """The part of the reference's words that the text has; words that every text has count only where there are no others."""
    both = shared_words(text, reference)
    wanted = both.reference - _STOP_WORDS or both.reference
    return len(wanted & both.answer) / len(wanted) if wanted else 0.0


def reasons_tables(records: Mapping[str, Sequence[AnswerRecord]]) -> Table:
    """The same for several systems side by side, and what each kind that there is means."""
    counts = {system: Counter(map(reason_of, each)) for system, each in records.items()}
    rows = tuple((name, *(counts[system][name] for system in counts)) for name in REASON_TEXTS)
    said = [
        f"{for_message(system)}: {sentence}"
        for system, each in records.items()
        for sentence in reasons_table(each, system).sentences
    ]
    met = [f"{name}: {about}." for name, about in REASON_TEXTS.items() if any(each[name] for each in counts.values())]
    sizes = {system: len(each) for system, each in records.items()}
    n = max(sizes.values(), default=0)
    columns = (Column("answers"), *(Column(system, "count") for system in counts))
    return Table(
        "reasons",
        f"Why answer F1 is low: n = {pluralise(n, 'answer')} a system",
        columns,
        rows,
        (*said, *met),
        facts={"n": sizes},
    )


def reasons_table(records: Iterable[AnswerRecord], system: str = "") -> Table:
    """How many answers of a system there are of each kind."""
    found = [reason_of(record) for record in records]
    counts = Counter(found)
    rows = tuple((name, counts[name], counts[name] / max(len(found), 1), about) for name, about in REASON_TEXTS.items())
    columns = (Column("answers"), Column("n", "count"), Column("share", "share"), Column("what it means"))
    whose = f" of {for_message(system)}" if system else ""
    title = f"Why answer F1{whose} is low: n = {pluralise(len(found), 'answer')}"
    return Table("answers", title, columns, rows, tuple(_describe_low(counts)), facts={"n": len(found), "system": system})


def _describe_low(counts: Counter[Reason]) -> Iterator[str]:
    """How many answers are low and mostly why, and how many there are not."""
    measured = counts.total() - counts["failed"]
    low = measured - counts["fine"]
    if low:
        reasons = [(name, counts[name]) for name in REASON_TEXTS if name not in ("fine", "failed")]
        worst, times = max(reasons, key=lambda each: each[1])
        have = f"{low} {'has' if low == 1 else 'have'} an F1 under {LOW_F1}"
        yield f"Of {pluralise(measured, 'answer')} {have}; the most common reason: {worst} ({times})."
    if counts["failed"]:
        yield f"{counts['failed']} of {counts.total()} answers failed and are not measured."


def bottleneck(values: Mapping[str, float], profile: BandProfile) -> str | None:
    """The verdict for measures of retrieval and of answers by the profile's bands; None where one of the two is missing.

    Retrieval counts by the lowest band of its measures, and so do answers; the one with the lower band holds the other back.
    """
    answers = _lowest({name: value for name, value in values.items() if is_answer_measure(name)}, profile)
    retrieval = _lowest({name: value for name, value in values.items() if not is_answer_measure(name)}, profile)
    if answers is None or retrieval is None:
        return None
    said = f"retrieval is {retrieval[1].name}, answers are {answers[1].name}"
    if answers[0] < retrieval[0]:
        return f"{said}: generation is the bottleneck"
    if answers[0] > retrieval[0]:
        return f"{said}: retrieval is the bottleneck"
    return f"{said}: neither holds the other back"


def _lowest(values: Mapping[str, float], profile: BandProfile) -> tuple[int, QualityBand] | None:
    """The lowest band and its place among the measure's bands."""
    found = []
    for name, value in values.items():
        band = profile.band(name, value)
        if band is not None:
            found.append(((profile.bands_of(name) or ()).index(band), band))
    return min(found, key=lambda each: each[0], default=None)
