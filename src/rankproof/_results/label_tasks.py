"""What people label: questions in a random order, which a file of labels keeps, and claims with the texts to check."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import BufferedReader
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from rankproof._data.answers import Answer, Answers, references_from_queries
from rankproof._data.claims import CRITERION, Against, Claim, ClaimVerdict, Evidence
from rankproof._data.dataset import Queries
from rankproof._data.ordering import ranked_documents
from rankproof._data.qrels import Qrels
from rankproof._io.files import log_path, open_plain_file, unreadable_file_error
from rankproof._io.strict_json import JsonObject, parse_strict_json
from rankproof._results.experiment_result import ExperimentResult, ranking_systems
from rankproof._statistics.deterministic import random_words, stream_key
from rankproof.errors import UsageError, for_message

if TYPE_CHECKING:
    from rankproof._data.sentences import Span

LabelKind = Literal["claims", "documents"]
_CLAIM_LABELS, _DOCUMENT_LABELS = ".people.jsonl", ".people.qrels"
DRAW_KEY = "draw"
"""The key of the draw in the first line of a log."""
_LOG_START = b'{"format": "rankproof-'
DEFAULT_QUESTIONS = 30
RESTART_FIX = "restart with another file: --labels FILE"


@dataclass(frozen=True, slots=True)
class LabelDraw:
    """All questions in a random order; people label them from the first one on, and may stop after any of them.

    `of` is the number of all questions and `systems` are those whose claims or documents are labelled. `depth` is how many
    documents of each ranking are labelled, None for claims.
    """

    seed: int
    questions: tuple[str, ...]
    of: int
    systems: tuple[str, ...]
    kind: LabelKind
    depth: int | None = None

    @property
    def is_in_order(self) -> bool:
        """Whether each question is there once, in the order of the seed; else someone chose the order."""
        return _in_random_order(set(self.questions), self.seed) == self.questions


def draw_questions(
    questions: Iterable[str], systems: Iterable[str], kind: LabelKind, depth: int | None = None, seed: int = 0
) -> LabelDraw:
    """A draw in which every order has the same chance; the order in which questions and systems come does not matter."""
    drawn = _in_random_order(questions, seed)
    return LabelDraw(seed, drawn, len(drawn), tuple(sorted(systems)), kind, depth)


def _in_random_order(questions: Iterable[str], seed: int) -> tuple[str, ...]:
    every = sorted(questions)
    order = np.argsort(random_words(stream_key(seed, "questions"), 0, len(every)), kind="stable")
    return tuple(every[place] for place in order)


def draw_claims(results: ExperimentResult, seed: int = 0) -> LabelDraw:
    """A draw of the questions with measured answers; the claims of all answering systems are labelled."""
    answers = results.answers
    if answers is None:
        raise UsageError(f"{for_message(results.name)} has no answers", fix="make them with `rankproof answers`")
    return draw_questions(answers.queries, (system.name for system in answers.systems), "claims", seed=seed)


def draw_documents(results: ExperimentResult, depth: int, seed: int = 0) -> LabelDraw:
    """A draw of the measured questions, or of all without judgements; the top documents of all rankings are labelled."""
    ranked = [run.name for run in results.system_runs if run.stored_run is not None and len(run.stored_run.docs)]
    systems = [name for name in ranking_systems(results.system_runs) if name in ranked]
    if not systems:
        what = f"{for_message(results.name)} has neither claims of answers nor rankings"
        raise UsageError(what, fix="make results with `rankproof run`, or with `rankproof answers`")
    if results.is_judged and not results.qrels.judge_labels:
        what = f"the judgements of {for_message(results.name)} are people's: there is no machine judge to check"
        raise UsageError(what, fix="judge unjudged documents with --judge instead")
    return draw_questions(results.result.queries or results.queries, systems, "documents", depth, seed)


def continued_draw(path: str, draw: LabelDraw) -> LabelDraw:
    """The draw in a file of labels, else this one; an error if the file is of other systems or questions, or not as deep."""
    stored = read_label_draw(path)
    if stored is None:
        return draw
    other = next((words for words, differs in _differences(stored, draw) if differs), None)
    if other is not None:
        raise UsageError(f"{for_message(path)} has labels of {other}", fix=RESTART_FIX)
    return stored


def _differences(stored: LabelDraw, draw: LabelDraw) -> Iterator[tuple[str, bool]]:
    yield stored.kind, stored.kind != draw.kind
    yield f"other systems ({', '.join(map(for_message, stored.systems))})", stored.systems != draw.systems
    yield "other questions", sorted(stored.questions) != sorted(draw.questions)
    yield f"the top {stored.depth} documents, and the top {draw.depth} decide", (stored.depth or 0) < (draw.depth or 0)


def read_label_draw(path: str | os.PathLike[str]) -> LabelDraw | None:
    """The draw in the log of a file of labels or judgements; None without a log, or if its labels are no random draw."""
    log = log_path(os.path.realpath(path))
    try:
        with BufferedReader(open_plain_file(log)) as file:
            first = file.readline()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unreadable_file_error(Path(log), error) from None
    if not first.startswith(_LOG_START) or not first.endswith(b"\n"):
        return None
    header = parse_strict_json(first.decode("ascii", "replace"), source=log)
    return draw_of_header(JsonObject(header, log, line=1, damaged_fix="restore the file that serve wrote"))


def draw_of_header(header: JsonObject) -> LabelDraw | None:
    """The draw in the first line of a log; None if there is none."""
    return header.member(DRAW_KEY, LabelDraw) if header.plain.get(DRAW_KEY) is not None else None


def complete_questions(draw: LabelDraw, is_complete: Callable[[str], bool]) -> tuple[str, ...]:
    """The drawn questions before the first one that is not complete: a random sample, wherever people stopped."""
    return tuple(takewhile(is_complete, draw.questions))


def documents_to_label(results: ExperimentResult, draw: LabelDraw) -> dict[str, list[str]]:
    """The documents of each drawn question: those that a system of the draw has in its top `depth`."""
    runs, questions = (results.system_run(system).stored_run for system in draw.systems), set(draw.questions)
    rankings = [ranked_documents(run.restricted_to(questions)) for run in runs if run is not None]
    return {
        question: sorted({doc for ranking in rankings for doc in ranking.get(question, ())[: draw.depth]})
        for question in draw.questions
    }


def complete_judgements(results: ExperimentResult, draw: LabelDraw, qrels: Qrels) -> Qrels:
    """The judgements of people of the complete questions of a draw of documents."""
    docs = documents_to_label(results, draw)
    kept = set(complete_questions(draw, lambda question: set(docs[question]) <= qrels.get(question, {}).keys()))
    return qrels.of_queries(kept)


def label_files(folder: str) -> tuple[str, str]:
    """The files beside a results folder for labels of its claims and of its documents, whether they exist or not."""
    place = os.path.normpath(folder)
    return f"{place}{_CLAIM_LABELS}", f"{place}{_DOCUMENT_LABELS}"


def labelled_folder(file: str) -> str:
    """The results folder beside which a file of labels has its usual name; empty if the name is another one."""
    return next((file.removesuffix(end) for end in (_CLAIM_LABELS, _DOCUMENT_LABELS) if file.endswith(end)), "")


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
        # Late, as the rules for sentences of many languages are compiled on import.
        from rankproof._data.sentences import sentence_spans

        return [SourceText(number, text, tuple(sentence_spans(text))) for number, text in self.source_texts]

    def has_evidence(self, evidence: Evidence) -> bool:
        """Whether the texts have these sentences."""
        counts = {source.number: len(source.spans) for source in self.sources()}
        return all(1 <= sentence <= counts.get(number, 0) for number, sentence in evidence)


def claims_to_label(verdicts: Iterable[ClaimVerdict]) -> Iterator[ClaimVerdict]:
    """One verdict for each claim, whoever judged it: the one that was checked against the most contexts."""
    verdicts_by_claim: dict[tuple[str, str, Claim, Against], ClaimVerdict] = {}
    for verdict in verdicts:
        if verdict.against in _LABELLED_AGAINST or verdict.against.startswith(CRITERION):
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
            from rankproof._data.wording.remarks import without_thinking

            answer = self._answer_text(verdict)
            texts = {1: None if answer is None else without_thinking(answer)}
        elif verdict.against == "reference":
            texts = {verdict.claim.reference: self._reference_text(verdict)}
        elif verdict.against.startswith(CRITERION):
            return self._seen_texts(verdict)
        else:
            texts = self._contexts(verdict)
        known = tuple((number, text) for number, text in texts.items() if text is not None)
        return known if len(known) == len(texts) else None

    def _seen_texts(self, verdict: ClaimVerdict) -> tuple[tuple[int, str], ...]:
        """What a person may look at beside an answer to grade: the known contexts, then the references."""
        contexts = [text for text in self._contexts(verdict).values() if text is not None]
        reference = self._references.get(verdict.query)
        return tuple(enumerate((*contexts, *(() if reference is None else reference.answers)), start=1))

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
    return JsonObject(plain, log, line=number, damaged_fix="restore the file that serve wrote").member("item", str)
