"""Causes of a low answer F1, and whether retrieval or generation is the bottleneck."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from rankproof._analysis.bands import BandProfile, QualityBand, is_answer_measure
from rankproof._data.table import Column, Table
from rankproof._data.text import pluralise
from rankproof._data.wording.remarks import declines_to_answer
from rankproof.errors import for_message
from rankproof.measures._answers import shared_words, token_set_f1

Reason = Literal["fine", "failed", "empty", "abstained", "verbose", "context missing", "paraphrased or wrong"]
LOW_F1 = 0.40
"""The lower bound of Moderate in the bands of answer F1 of the profile rag."""
_MIN_COVERAGE = 0.5
"""The share of the reference's words that counts as most of them."""
_STOP_WORDS = frozenset(
    {
        *("a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "in", "is"),
        *("it", "of", "on", "or", "that", "the", "this", "to", "was", "were", "which", "with"),
    }
)
REASON_TEXTS: dict[Reason, str] = {
    "fine": f"F1 of at least {LOW_F1}, which a wrong number or name can have too",
    "failed": "the model gave no usable reply; left out of the means",
    "empty": "the answer is empty",
    "abstained": "the answer says, by its wording, that it does not know",
    "verbose": "the answer has most words of the reference, and many more",
    "context missing": "the retrieved passages lack the words of the reference, or none is relevant",
    "paraphrased or wrong": "the context had most words of the reference, the answer had not: compare the meaning",
}


@dataclass(frozen=True)
class AnswerRecord:
    """An answer, its references, and the retrieved texts that it was generated from (None if unknown).

    `found` says whether a relevant passage was among them (None if unjudged); it is used if the texts are unknown. `failed` means
    that there is no answer because generation failed.
    """

    query: str
    answer: str
    references: Sequence[str]
    context: Sequence[str] | None = None
    found: bool | None = None
    failed: bool = False

    # Several tables show it, and it costs more than the rest of them.
    @cached_property
    def f1(self) -> float:
        """F1(tokens='set') against the best of the references."""
        return max((token_set_f1(self.answer, reference) for reference in self.references), default=0.0)


def reason_of(record: AnswerRecord) -> Reason:
    """The cause of a low F1 against the best of the references."""
    if record.failed:
        return "failed"
    if record.f1 >= LOW_F1:
        return "fine"
    if not record.answer.strip():
        return "empty"
    if declines_to_answer(record.answer):
        return "abstained"
    reference = max(record.references, key=lambda reference: token_set_f1(record.answer, reference), default="")
    if _word_coverage(reference, record.answer) >= _MIN_COVERAGE:
        return "verbose"
    lacks = (
        _word_coverage(reference, " ".join(record.context)) < _MIN_COVERAGE
        if record.context is not None
        else record.found is False
    )
    if lacks:
        return "context missing"
    return "paraphrased or wrong"


def _word_coverage(reference: str, text: str) -> float:
    """The share of the reference's words in the text, without stop words unless there are no others."""
    both = shared_words(text, reference)
    wanted = both.reference - _STOP_WORDS or both.reference
    return len(wanted & both.answer) / len(wanted) if wanted else 0.0


def reasons_tables(records: Mapping[str, Sequence[AnswerRecord]]) -> Table:
    """The number of answers of each kind by system, and the meaning of each kind."""
    counts = {system: Counter(map(reason_of, record)) for system, record in records.items()}
    rows = tuple((name, *(counts[system][name] for system in counts)) for name in REASON_TEXTS)
    sentences = [
        f"{for_message(system)}: {sentence}"
        for system, record in records.items()
        for sentence in reasons_table(record, system).sentences
    ]
    met = [f"{name}: {about}." for name, about in REASON_TEXTS.items() if any(count[name] for count in counts.values())]
    sizes = {system: len(record) for system, record in records.items()}
    n = max(sizes.values(), default=0)
    columns = (Column("answers"), *(Column(system, "count") for system in counts))
    return Table(
        "reasons",
        f"Causes of low answer F1: n = {pluralise(n, 'answer')} per system",
        columns,
        rows,
        (*sentences, *met),
        facts={"n": sizes},
    )


def reasons_table(records: Iterable[AnswerRecord], system: str = "") -> Table:
    """The number of answers of one system of each kind."""
    reasons = [reason_of(record) for record in records]
    counts = Counter(reasons)
    rows = tuple((name, counts[name], counts[name] / max(len(reasons), 1), about) for name, about in REASON_TEXTS.items())
    columns = (Column("answers"), Column("n", "count"), Column("share", "share"), Column("meaning"))
    whose = f" of {for_message(system)}" if system else ""
    title = f"Causes of low answer F1{whose}: n = {pluralise(len(reasons), 'answer')}"
    return Table("answers", title, columns, rows, tuple(_describe_low(counts)), facts={"n": len(reasons), "system": system})


def _describe_low(counts: Counter[Reason]) -> Iterator[str]:
    """How many answers have a low F1, the most common cause, and how many failed."""
    measured = counts.total() - counts["failed"]
    low = measured - counts["fine"]
    if low:
        reasons = [(name, counts[name]) for name in REASON_TEXTS if name not in ("fine", "failed")]
        worst, times = max(reasons, key=lambda reason: reason[1])
        have = f"{low} {'has' if low == 1 else 'have'} an F1 under {LOW_F1}"
        yield f"Of {pluralise(measured, 'answer')}, {have}; the most common cause: {worst} ({times})."
    if counts["failed"]:
        yield f"{counts['failed']} of {counts.total()} answers failed and are left out."


def bottleneck(values: Mapping[str, float], profile: BandProfile) -> str | None:
    """The bottleneck by the profile's bands; None if measures of retrieval or of answers are missing.

    The lowest band of the measures counts for each; the one with the lower band is the bottleneck.
    """
    answers, retrieval = _lowest_of_both(values, profile)
    if answers is None or retrieval is None:
        return None
    bands = f"retrieval is {retrieval[1].name}, answers are {answers[1].name}"
    if answers[0] < retrieval[0]:
        return f"{bands}: generation is the bottleneck"
    if answers[0] > retrieval[0]:
        return f"{bands}: retrieval is the bottleneck"
    return f"{bands}: neither is the bottleneck"


def bottleneck_advice(values: Mapping[str, float], profile: BandProfile) -> str | None:
    """What the band of the bottleneck means and what to do next, of answers if neither is one; None if the profile lacks both."""
    answers, retrieval = _lowest_of_both(values, profile)
    if answers is None or retrieval is None:
        return None
    band = retrieval[1] if retrieval[0] < answers[0] else answers[1]
    texts = (f"{band.means}." if band.means else "", f"Next: {band.next_step}." if band.next_step else "")
    return " ".join(filter(None, texts)) or None


def _lowest_of_both(values: Mapping[str, float], profile: BandProfile) -> tuple[_PlacedBand | None, _PlacedBand | None]:
    """The lowest band of answers and of retrieval."""
    of_answers = {name: value for name, value in values.items() if is_answer_measure(name)}
    of_retrieval = {name: value for name, value in values.items() if name not in of_answers}
    return _lowest(of_answers, profile), _lowest(of_retrieval, profile)


_PlacedBand = tuple[int, QualityBand]


def _lowest(values: Mapping[str, float], profile: BandProfile) -> _PlacedBand | None:
    """The lowest band and its index among the bands of its measure."""
    placed_bands = []
    for name, value in values.items():
        band = profile.band(name, value)
        if band is not None:
            placed_bands.append(((profile.bands_of(name) or ()).index(band), band))
    return min(placed_bands, key=lambda placed: placed[0], default=None)
