"""The claims that people label: all claims of questions drawn at random, without judge, verdict and system."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from rankproof._data.answers import Answer, References, references_from_queries
from rankproof._data.claims import Against, Claim, ClaimVerdict, Evidence
from rankproof._data.sentences import Span, sentence_spans
from rankproof._data.wording.remarks import without_thinking
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.label_draw import DEFAULT_QUESTIONS, LabelDraw

_LABELLED_AGAINST: tuple[Against, ...] = ("contexts", "cited", "reference", "answer")
"""A grade of relevance, which is against the question, is no verdict on a claim."""
_ID_LENGTH = 16


@dataclass(frozen=True, slots=True)
class SourceText:
    """A text that a claim is checked against, with its number as evidence names it, and its sentences."""

    number: int
    text: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class ClaimItem:
    """A claim with the texts that a person sees, and the systems that it is a claim of.

    `side_text` is the text that the claim is from, empty for a nugget. Systems with the same texts share an item.
    """

    id: str
    query: str
    question: str
    claim: Claim
    against: Against
    side_text: str
    source_texts: tuple[tuple[int, str], ...]
    systems: tuple[str, ...]

    @property
    def span(self) -> Span | None:
        """The place of the claim in its text; None for a nugget and for a claim that a model wrote."""
        start, end = self.claim.start, self.claim.end
        if start is None or end is None or self.side_text[start:end] != self.claim.text:
            return None
        return start, end

    def sources(self) -> list[SourceText]:
        """The texts that the claim is checked against, split into sentences."""
        return [SourceText(number, text, tuple(sentence_spans(text))) for number, text in self.source_texts]

    def has_evidence(self, evidence: Evidence) -> bool:
        """Whether the texts have these sentences."""
        counts = {source.number: len(source.spans) for source in self.sources()}
        return all(1 <= sentence <= counts.get(number, 0) for number, sentence in evidence)


@dataclass(frozen=True, eq=False, slots=True)
class ClaimQueue:
    """The claims of the first questions of a draw, in random order within a question, the same for every person.

    `fingerprint` identifies the questions. `sizes` has the number of claims of each question, `every` the ids of all claims.
    `left_out` counts the claims whose texts the results do not have.
    """

    fingerprint: str
    draw: LabelDraw
    items: Mapping[str, ClaimItem]
    sizes: tuple[int, ...]
    every: frozenset[str]
    left_out: int


def build_claim_queue(results: ExperimentResult, draw: LabelDraw, most: int = DEFAULT_QUESTIONS) -> ClaimQueue:
    """The claims of at most `most` questions; claims that are added to the results later do not change the order of others."""
    texts, found, left_out = _Texts(results), dict[str, ClaimItem](), 0
    for verdict in _labelled_claims(results.claims):
        item = texts.item(verdict)
        if item is None:
            left_out += 1
        else:
            found[item.id] = _joined(found.get(item.id), item)
    shown: dict[str, list[ClaimItem]] = {question: [] for question in draw.questions[:most]}
    for id in sorted(found, key=lambda id: hashlib.sha256(f"{draw.seed} {id}".encode()).digest()):
        if found[id].query in shown:
            shown[found[id].query].append(found[id])
    items = {item.id: item for items in shown.values() for item in items}
    return ClaimQueue(_fingerprint(results), draw, items, tuple(map(len, shown.values())), frozenset(found), left_out)


def _fingerprint(results: ExperimentResult) -> str:
    """Of the questions alone: references, nuggets and systems may be added without changing what was labelled."""
    questions = sorted((query, results.texts[query].text) for query in results.texts)
    return hashlib.sha256(json.dumps(questions).encode()).hexdigest()


def _joined(known: ClaimItem | None, item: ClaimItem) -> ClaimItem:
    return item if known is None else replace(known, systems=tuple(dict.fromkeys((*known.systems, *item.systems))))


def _labelled_claims(verdicts: Iterable[ClaimVerdict]) -> Iterator[ClaimVerdict]:
    """One verdict for each claim, whoever judged it: the one that was checked against the most contexts."""
    found: dict[tuple[str, str, Claim, Against], ClaimVerdict] = {}
    for one in verdicts:
        if one.against in _LABELLED_AGAINST:
            key = one.query, one.system, one.claim, one.against
            found[key] = max(found.get(key, one), one, key=lambda each: each.contexts_shown)
    return iter(found.values())


@dataclass(slots=True)
class _Texts:
    """Finds the texts of claims in the results."""

    results: ExperimentResult
    references: References = field(init=False)
    answers: dict[tuple[str, str], Answer] = field(init=False)

    def __post_init__(self) -> None:
        self.references = references_from_queries(self.results.texts)
        self.answers = {
            (one.name, query): answer for one in self.results.system_runs for query, answer in (one.answers or {}).items()
        }

    def item(self, verdict: ClaimVerdict) -> ClaimItem | None:
        """The claim with its texts; None if the results do not have one of them."""
        claim, query, against = verdict.claim, verdict.query, verdict.against
        side_text = self._side_text(verdict)
        sources = self._sources(verdict)
        if query not in self.results.texts or side_text is None or sources is None:
            return None
        question = self.results.texts[query].text
        seen = (query, question, claim.side, claim.n, claim.reference, claim.text, against, side_text, sources)
        id = hashlib.sha256(json.dumps(seen).encode()).hexdigest()[:_ID_LENGTH]
        return ClaimItem(id, query, question, claim, against, side_text, sources, (verdict.system,))

    def _side_text(self, verdict: ClaimVerdict) -> str | None:
        if verdict.claim.side == "nugget":
            return ""
        return self._answer_text(verdict) if verdict.claim.side == "answer" else self._reference_text(verdict)

    def _sources(self, verdict: ClaimVerdict) -> tuple[tuple[int, str], ...] | None:
        """The numbered texts, none for an answer without contexts; None if one of them is missing."""
        if verdict.against == "answer":
            answer = self._answer_text(verdict)
            found = {1: None if answer is None else without_thinking(answer)}
        elif verdict.against == "reference":
            found = {verdict.claim.reference: self._reference_text(verdict)}
        else:
            found = self._contexts(verdict)
        known = tuple((number, text) for number, text in found.items() if text is not None)
        return known if len(known) == len(found) else None

    def _contexts(self, verdict: ClaimVerdict) -> dict[int, str | None]:
        answer = self.answers.get((verdict.system, verdict.query))
        if answer is None or answer.given is None:
            return {0: None}
        given = dict(enumerate(answer.given, start=1))
        shown = given if verdict.shown is None else verdict.shown
        return {number: self.results.contexts.get(given.get(number, "")) for number in shown}

    def _answer_text(self, verdict: ClaimVerdict) -> str | None:
        answer = self.answers.get((verdict.system, verdict.query))
        return None if answer is None else answer.text

    def _reference_text(self, verdict: ClaimVerdict) -> str | None:
        found = self.references.get(verdict.query)
        answers, at = () if found is None else found.answers, verdict.claim.reference - 1
        return answers[at] if at < len(answers) else None
