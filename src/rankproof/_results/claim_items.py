"""Claims with the texts that people see when they label them; a label is of these texts, and of no others."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rankproof._data.answers import Answer, Answers, references_from_queries
from rankproof._data.claims import Against, Claim, ClaimVerdict, Evidence
from rankproof._data.dataset import Queries
from rankproof._data.sentences import Span, sentence_spans
from rankproof._data.wording.remarks import without_thinking
from rankproof._io.files import log_path, open_plain_file, unreadable_file_error
from rankproof._io.strict_json import JsonObject, parse_strict_json

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


def claims_to_label(verdicts: Iterable[ClaimVerdict]) -> Iterator[ClaimVerdict]:
    """One verdict for each claim, whoever judged it: the one that was checked against the most contexts."""
    verdicts_by_claim: dict[tuple[str, str, Claim, Against], ClaimVerdict] = {}
    for verdict in verdicts:
        if verdict.against in _LABELLED_AGAINST:
            key = verdict.query, verdict.system, verdict.claim, verdict.against
            verdicts_by_claim[key] = max(verdicts_by_claim.get(key, verdict), verdict, key=lambda shown: shown.contexts_shown)
    return iter(verdicts_by_claim.values())


class ClaimTexts:
    """Finds the texts of claims: those of the questions with their references, of the answers by system, and of the contexts."""

    def __init__(self, texts: Queries, answers: Mapping[str, Answers], contexts: Mapping[str, str]) -> None:
        self._texts, self._answers, self._given_texts = texts, answers, contexts
        self._references = references_from_queries(texts)

    def item(self, verdict: ClaimVerdict) -> ClaimItem | None:
        """The claim with its texts; None if one of them is not known."""
        claim, query, against = verdict.claim, verdict.query, verdict.against
        side_text = self._side_text(verdict)
        sources = self._sources(verdict)
        if query not in self._texts or side_text is None or sources is None:
            return None
        question = self._texts[query].text
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
            texts = {1: None if answer is None else without_thinking(answer)}
        elif verdict.against == "reference":
            texts = {verdict.claim.reference: self._reference_text(verdict)}
        else:
            texts = self._contexts(verdict)
        known = tuple((number, text) for number, text in texts.items() if text is not None)
        return known if len(known) == len(texts) else None

    def _contexts(self, verdict: ClaimVerdict) -> dict[int, str | None]:
        answer = self._answer(verdict)
        if answer is None or answer.given is None:
            return {0: None}
        passages = dict(enumerate(answer.given, start=1))
        shown = passages if verdict.shown is None else verdict.shown
        return {number: self._given_texts.get(passages.get(number, "")) for number in shown}

    def _answer(self, verdict: ClaimVerdict) -> Answer | None:
        answers = self._answers.get(verdict.system)
        return None if answers is None else answers.get(verdict.query)

    def _answer_text(self, verdict: ClaimVerdict) -> str | None:
        answer = self._answer(verdict)
        return None if answer is None else answer.text

    def _reference_text(self, verdict: ClaimVerdict) -> str | None:
        reference = self._references.get(verdict.query)
        answers, at = () if reference is None else reference.answers, verdict.claim.reference - 1
        return answers[at] if at < len(answers) else None


def labelled_items(path: str) -> frozenset[str]:
    """The ids of the claims, with their texts, that the log of a file of labels has; none without a log."""
    log = log_path(os.path.realpath(path))
    try:
        with open_plain_file(log) as file:
            lines = file.read().split(b"\n")
    except FileNotFoundError:
        return frozenset()
    except OSError as error:
        raise unreadable_file_error(Path(log), error) from None
    # The first line is the header; what follows the last line break was never confirmed.
    records = enumerate(lines[1:-1], start=2)
    return frozenset(_item(line, log, number) for number, line in records)


def _item(line: bytes, log: str, number: int) -> str:
    plain = parse_strict_json(line.decode("ascii", "replace"), source=log, line=number)
    return JsonObject(plain, log, line=number, damaged_fix="restore the file that serve wrote").text("item")
