"""An answer as the bench shows it: its text in parts, the claims with verdict and evidence, and the texts that it was given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from rankproof._data.claims import ClaimVerdict, Evidence
from rankproof._registry import Option
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.label_tasks import ClaimItem, ClaimTexts, claims_to_label

_CHECKED_AGAINST = ("contexts", "cited", "reference", "question")
"""What claims of an answer are checked against; of several the first is shown."""


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """A part of the text of an answer."""

    text: Annotated[str, Option("the text")]
    claim: Annotated[str, Option("the id of the claim that it states, empty for none")]


@dataclass(frozen=True, slots=True)
class AnswerClaim:
    """A claim of an answer with the verdict of the judge."""

    id: Annotated[str, Option("its id")]
    text: Annotated[str, Option("the claim")]
    verdict: Annotated[str, Option("what the judge says")]
    judge: Annotated[str, Option("the judge")]
    against: Annotated[str, Option("what it was checked against")]
    evidence: Annotated[tuple[tuple[int, int], ...], Option("pairs of a text and a sentence of it, both from 1")]
    label: Annotated[str | None, Option("your label, null if you gave none")]


@dataclass(frozen=True, slots=True)
class AnswerContext:
    """A text that claims were checked against."""

    number: Annotated[int, Option("its number, as evidence names it")]
    sentences: Annotated[tuple[str, ...], Option("its sentences")]


@dataclass(frozen=True, slots=True)
class AnswerSide:
    """The answer of a system."""

    system: Annotated[str, Option("the system")]
    state: Annotated[str, Option("answered, abstained, failed or missing")]
    parts: Annotated[tuple[AnswerPart, ...], Option("the text in parts; joined they are the whole text")]
    claims: Annotated[tuple[AnswerClaim, ...], Option("the claims, in the order of the answer")]
    sources: Annotated[tuple[AnswerContext, ...], Option("the texts that the claims were checked against")]
    values: Annotated[Mapping[str, float], Option("the value of the question by each measure that has one")]


def answer_items(results: ExperimentResult, query: str, system: str) -> list[tuple[ClaimVerdict, ClaimItem]]:
    """The claims of an answer with their texts, all checked against the same kind of texts."""
    answers = {run.name: run.answers for run in results.system_runs if run.answers is not None}
    texts = ClaimTexts(results.texts, answers, results.contexts)
    own = (verdict for verdict in results.claims if (verdict.query, verdict.system) == (query, system))
    verdicts = [verdict for verdict in claims_to_label(own) if verdict.claim.side == "answer" and verdict.repeat == 1]
    for against in _CHECKED_AGAINST:
        items = [(verdict, texts.item(verdict)) for verdict in verdicts if verdict.against == against]
        if known := [(verdict, item) for verdict, item in items if item is not None]:
            return known
    return []


def answer_side(results: ExperimentResult, query: str, system: str, labels: Mapping[str, str]) -> AnswerSide:
    """The answer of a system; `labels` are those of the person who looks, by claim."""
    run = results.system_run(system)
    answer = None if run.answers is None else run.answers.get(query)
    items = answer_items(results, query, system)
    text = "" if answer is None else answer.text
    claims = tuple(_claim(verdict, item, labels) for verdict, item in items)
    state = "missing" if answer is None else answer.state
    parts = tuple(answer_parts(text, [item for _, item in items]))
    return AnswerSide(
        system,
        state,
        parts,
        claims,
        tuple(_sources(results, answer_context_ids(results, query, system), items)),
        _values(results, query, system),
    )


def answer_context_ids(results: ExperimentResult, query: str, system: str) -> Sequence[str]:
    """The ids of the passages that the answer was made from."""
    answers = results.system_run(system).answers
    answer = None if answers is None else answers.get(query)
    return () if answer is None or answer.given is None else answer.given


def _claim(verdict: ClaimVerdict, item: ClaimItem, labels: Mapping[str, str]) -> AnswerClaim:
    evidence: Evidence = tuple(verdict.evidence)
    return AnswerClaim(
        item.id, verdict.claim.text, verdict.verdict, verdict.judge, verdict.against, evidence, labels.get(item.id)
    )


def answer_parts(text: str, items: Iterable[ClaimItem]) -> Iterator[AnswerPart]:
    """The text in parts: those of claims that have a place in it, and what lies between them."""
    end = 0
    for (start, stop), id in sorted((item.span, item.id) for item in items if item.span is not None):
        if start < end:
            continue
        if start > end:
            yield AnswerPart(text[end:start], "")
        yield AnswerPart(text[start:stop], id)
        end = stop
    if end < len(text):
        yield AnswerPart(text[end:], "")


def _sources(
    results: ExperimentResult, passages: Sequence[str], items: Sequence[tuple[ClaimVerdict, ClaimItem]]
) -> Iterator[AnswerContext]:
    """The texts of the claims; without a claim, the passages of the answer."""
    from rankproof._data.sentences import sentence_spans

    texts = {number: text for _, item in items for number, text in item.source_texts}
    if not texts:
        texts = {number: results.contexts[id] for number, id in enumerate(passages, 1) if id in results.contexts}
    for number, text in sorted(texts.items()):
        yield AnswerContext(number, tuple(text[start:stop] for start, stop in sentence_spans(text)))


def _values(results: ExperimentResult, query: str, system: str) -> dict[str, float]:
    if results.answers is None or system not in (measured.name for measured in results.answers.systems):
        return {}
    measures = next(measured.measures for measured in results.answers.systems if measured.name == system)
    return {
        name: float(measure.per_query[query]) for name, measure in measures.items() if _is_number(measure.per_query.get(query))
    }


def _is_number(value: float | None) -> bool:
    return value is not None and value == value
