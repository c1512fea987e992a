"""The claims that people label: a random sample of what the judges saw, without judge, verdict and system."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from rankproof._data.answers import Answer, References, references_from_queries
from rankproof._data.claims import Against, Claim, ClaimVerdict, Evidence
from rankproof._data.sentences import Span, sentence_spans
from rankproof._results.experiment_result import ExperimentResult

DEFAULT_SAMPLE = 150
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
    """A sample of the claims in random order, the same for every person.

    `fingerprint` identifies the questions. `every` has the ids of all claims, `left_out` counts the claims whose texts the
    results do not have.
    """

    fingerprint: str
    items: Mapping[str, ClaimItem]
    every: frozenset[str]
    left_out: int


def build_claim_queue(results: ExperimentResult, most: int = DEFAULT_SAMPLE, seed: int = 0) -> ClaimQueue:
    """At most `most` claims. Claims that are added to the results later do not change the order of the others."""
    texts, found, left_out = _Texts(results), dict[str, ClaimItem](), 0
    for verdict in _labelled_claims(results.claims):
        item = texts.item(verdict)
        if item is None:
            left_out += 1
        else:
            found[item.id] = _joined(found.get(item.id), item)
    order = sorted(found, key=lambda id: hashlib.sha256(f"{seed} {id}".encode()).digest())
    return ClaimQueue(_fingerprint(results), {id: found[id] for id in order[:most]}, frozenset(found), left_out)


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
        if query not in self.results.texts or side_text is None or not sources:
            return None
        question = self.results.texts[query].text
        seen = (query, question, claim.side, claim.n, claim.reference, claim.text, against, side_text, sources)
        id = hashlib.sha256(json.dumps(seen).encode()).hexdigest()[:_ID_LENGTH]
        return ClaimItem(id, query, question, claim, against, side_text, sources, (verdict.system,))

    def _side_text(self, verdict: ClaimVerdict) -> str | None:
        if verdict.claim.side == "nugget":
            return ""
        return self._answer_text(verdict) if verdict.claim.side == "answer" else self._reference_text(verdict)

    def _sources(self, verdict: ClaimVerdict) -> tuple[tuple[int, str], ...]:
        """The numbered texts; none if one of them is missing."""
        if verdict.against == "answer":
            found = {1: self._answer_text(verdict)}
        elif verdict.against == "reference":
            found = {verdict.claim.reference: self._reference_text(verdict)}
        else:
            found = self._contexts(verdict)
        known = tuple((number, text) for number, text in found.items() if text is not None)
        return known if len(known) == len(found) else ()

    def _contexts(self, verdict: ClaimVerdict) -> dict[int, str | None]:
        answer = self.answers.get((verdict.system, verdict.query))
        given = dict(enumerate((answer.given if answer else None) or (), start=1))
        shown = given if verdict.shown is None else verdict.shown
        return {number: self.results.contexts.get(given.get(number, "")) for number in shown}

    def _answer_text(self, verdict: ClaimVerdict) -> str | None:
        answer = self.answers.get((verdict.system, verdict.query))
        return None if answer is None else answer.text

    def _reference_text(self, verdict: ClaimVerdict) -> str | None:
        found = self.references.get(verdict.query)
        answers, at = () if found is None else found.answers, verdict.claim.reference - 1
        return answers[at] if at < len(answers) else None
