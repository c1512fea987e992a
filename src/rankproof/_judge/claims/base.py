"""What judges of claims share, and the judges by name."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Generic, Protocol, TypeVar

from rankproof._data.claims import Claim, ClaimVerdict, Evidence, Verdict
from rankproof._data.sentences import sentences
from rankproof._data.text import without_citations
from rankproof._data.wording.remarks import without_thinking
from rankproof._evaluation.claim_judges import ClaimJudge, ClaimTask, JudgeOf, OverlapJudge
from rankproof._io.open import Progress
from rankproof._llm.budget import COUNT_NAMES, CallTotals, Estimate, estimate_request, reply_notes
from rankproof._llm.client import ChatClient
from rankproof._llm.session import LLMSession, map_concurrent
from rankproof._registry import Component, Registry
from rankproof.errors import UsageError, closest_name, escape_invisible, for_message
from rankproof.measures._claim_base import OVERLAP
from rankproof.models._chat.base import BYTES_PER_TOKEN, ChatModel, ChatReply, ChatRequest
from rankproof.models._registry import ENCODERS, any_chat_by_name, source_prefix

USE = "claims"
_MAX_REASON_LENGTH = 500
_PROMPT_TOKENS, _MIN_CHARACTERS = 2000, 1000
ReadT = TypeVar("ReadT")
PROGRESS_LABEL = "judging claims"
THRESHOLD = 0.5
"""The lowest score of a supported claim, of judges that give scores; no mean uses it."""
DIGEST_LENGTH = 8
"""Characters of the digest in the label of a judge."""
ItemT = TypeVar("ItemT")


@dataclass(frozen=True, slots=True)
class Piece:
    """A sentence of a source, or a part of a long one; both numbers are those of evidence."""

    source: int
    sentence: int
    text: str

    @property
    def place(self) -> tuple[int, int]:
        """The source and the sentence."""
        return self.source, self.sentence


def claim_text(claim: Claim) -> str:
    """The claim as judges read it: with its lead-in, and of an answer without thinking and marks of citations."""
    text = without_citations(without_thinking(claim.text)).strip() if claim.side == "answer" else claim.text
    return f"{claim.lead_in} {text}" if claim.lead_in else text


def task_pieces(task: ClaimTask, characters: int, *, reverse: bool = False) -> list[Piece]:
    """The sentences of all sources of a task, a long one in parts; `reverse` starts with the last source."""
    numbered = list(zip(task.numbers, task.sources, strict=True))
    return [
        Piece(number, at, part)
        for number, text in (reversed(numbered) if reverse else numbered)
        for at, sentence in enumerate(sentences(text), start=1)
        for part in _parts(sentence, characters)
    ]


def _parts(text: str, characters: int) -> Iterable[str]:
    return (text[start : start + characters] for start in range(0, len(text), characters))


def pack(items: Iterable[ItemT], size: Callable[[ItemT], int], most: int) -> list[list[ItemT]]:
    """The items in groups of at most `most` in size, in their order; a larger item has a group of its own."""
    groups: list[list[ItemT]] = []
    total = 0
    for item in items:
        total += size(item)
        if not groups or total > most:
            groups.append([])
            total = size(item)
        groups[-1].append(item)
    return groups


def by_source(pieces: Iterable[Piece]) -> list[list[Piece]]:
    """Adjacent pieces of the same source, together."""
    return [list(group) for _, group in groupby(pieces, key=lambda piece: piece.source)]


@dataclass(frozen=True, slots=True)
class ClaimFinding:
    """What one request, or all of them together, say of a claim."""

    verdict: Verdict
    evidence: Evidence = ()
    score: float | None = None
    reason: str = ""

    def for_claim(self, task: ClaimTask, claim: Claim, label: str) -> ClaimVerdict:
        """As the verdict on the claim."""
        return task.verdict(claim, self.verdict, label, evidence=self.evidence, score=self.score, reason=self.reason)


_PRECEDENCE: tuple[Verdict, ...] = ("failed", "supported", "contradicted", "not_stated", "nothing_to_check")
"""The verdict of several requests with different sources: the first of these that one of them gives."""


def merge_findings(findings: Sequence[ClaimFinding]) -> ClaimFinding:
    """The finding of several requests on one claim, each with a part of the sources; one that failed makes the whole fail."""
    verdict = min((finding.verdict for finding in findings), key=_PRECEDENCE.index)
    chosen = [finding for finding in findings if finding.verdict == verdict]
    scores = [finding.score for finding in chosen if finding.score is not None]
    evidence = tuple(sorted({place for finding in chosen for place in finding.evidence}))
    return ClaimFinding(verdict, evidence, max(scores, default=None), chosen[0].reason)


def scored_finding(score: float, evidence: Evidence = (), *, threshold: float = THRESHOLD) -> ClaimFinding:
    """A score with its verdict by the threshold."""
    return ClaimFinding("supported" if score >= threshold else "not_stated", evidence, score)


def blank_finding(task: ClaimTask, score: float | None = None) -> ClaimFinding:
    """The finding on a claim without a request: the sources are blank, so they state nothing; a blank question is a failure."""
    if task.against == "question":
        return ClaimFinding("failed", reason="the question has no text")
    return ClaimFinding("not_stated", score=score)


ChatOf = Callable[[str], ChatModel]
"""From the name of a language model to the model."""


@dataclass(frozen=True, eq=False, slots=True)
class JudgeResources:
    """What judges need besides their names: a session for calls, language models by name, and threads for local models."""

    session: LLMSession
    chat: ChatOf
    threads: int = 1


@dataclass(frozen=True, eq=False, slots=True)
class Ask(Generic[ReadT]):
    """A request, how its reply is read, and the use whose cache has the reply."""

    request: ChatRequest
    parse: Callable[[ChatReply], ReadT]
    use: str = USE


@dataclass(frozen=True, slots=True)
class FailedAsk:
    """A request without a usable reply after all attempts, and why."""

    reason: str


class ModelCalls:
    """The requests of one judge; a repeat has its own response cache, so that the model is asked again."""

    def __init__(self, model: ChatModel, session: LLMSession, *, repeat: int = 0, attempts: int = 3) -> None:
        self._model, self._session, self._repeat, self._attempts = model, session, repeat, attempts
        self._lock = threading.Lock()
        self._clients: dict[str, ChatClient] = {}
        self.counts = CallTotals()

    def ask(self, asks: Sequence[Ask[ReadT]], progress: Progress) -> list[ReadT | FailedAsk]:
        """What each request gives, in their order."""
        done = 0

        def answer(ask: Ask[ReadT]) -> ReadT | FailedAsk:
            nonlocal done
            result = self._read(ask)
            with self._lock:
                done += 1
                progress(PROGRESS_LABEL, done, len(asks))
            return result

        return map_concurrent(self._session, answer, asks, self._model.concurrency)

    def notes(self) -> tuple[str, ...]:
        """Notes on a server that rejected every request, on estimated tokens and on masked keys."""
        rejected = (client.sender.breaker.rejection_note() for client in self._clients.values())
        return (*filter(None, rejected), *reply_notes(self.counts.counts))

    def _read(self, ask: Ask[ReadT]) -> ReadT | FailedAsk:
        sums, errors = CallTotals(), [""]
        result = self._client(ask.use).read(
            ask.request, ask.parse, sums, attempts=self._attempts, on_error=lambda error: errors.append(str(error))
        )
        # Threads add their counts at the end of a request: adding to a shared counter is not atomic.
        with self._lock:
            for name in COUNT_NAMES:
                self.counts.count(name, sums.counts[name])
            self.counts.add_seconds(sums.seconds)
        return FailedAsk(escape_invisible(errors[-1])[:_MAX_REASON_LENGTH]) if result is None else result

    def _client(self, use: str) -> ChatClient:
        """The client of a use, made once: its cache key needs the revision of the model."""
        with self._lock:
            if use not in self._clients:
                own = f"{use}, repeat {self._repeat}" if self._repeat else use
                self._clients[use] = self._session.client(self._model, own)
            return self._clients[use]


def estimate_asks(asks: Sequence[Ask[ReadT]]) -> Estimate:
    """The cost of the requests, if every first reply is valid."""
    return sum((estimate_request(ask.request) for ask in asks), Estimate())


def source_characters(model: ChatModel, most: int) -> int:
    """The characters of sources in one request: fewer than `most` for a local model with a short context."""
    context = getattr(model, "context", None)
    if not isinstance(context, int):
        return most
    # A token of text that is not English may have fewer characters than the usual number of bytes.
    return max(_MIN_CHARACTERS, min(most, (context - _PROMPT_TOKENS) * (BYTES_PER_TOKEN - 1)))


class NamedJudge(Protocol):
    """The class of a claim judge."""

    def named(self, name: str, source: str, resources: JudgeResources) -> ClaimJudge:
        """The judge of a name; `source` is its model."""
        ...


_PACKAGE = "rankproof._judge.claims"
CLAIM_JUDGES: Registry[NamedJudge] = Registry(
    "claim judge",
    "",
    (
        Component("encoder", f"{_PACKAGE}.local_models:EmbeddingJudge", "the cosine with the nearest sentence, as score"),
        Component("nli", f"{_PACKAGE}.local_models:EntailmentJudge", "the probability of an entailment model, as score"),
        Component("logprob", f"{_PACKAGE}.logprob:LogprobJudge", "the log-probabilities of Yes and No, as score"),
        Component("llm", f"{_PACKAGE}.llm:LLMClaimJudge", "verdicts that a language model writes, with evidence"),
    ),
)


def claim_judges(session: LLMSession, *, chat: ChatOf = any_chat_by_name, threads: int = 1) -> JudgeOf:
    """Claim judges by name, each made once; `chat` gives the language models."""
    made: dict[str, ClaimJudge] = {}

    def judge_by_name(name: str) -> ClaimJudge:
        if name not in made:
            made[name] = judge_of(name, session, chat=chat, threads=threads)
        return made[name]

    return judge_by_name


def judge_of(name: str, session: LLMSession, *, chat: ChatOf = any_chat_by_name, threads: int = 1) -> ClaimJudge:
    """The judge of a name: overlap, an encoder, KIND:MODEL with a kind of CLAIM_JUDGES, or a language model."""
    if name == OVERLAP:
        return OverlapJudge()
    kind, source = _kind_and_source(name)
    if not source.strip():
        fix = "write overlap, an encoder such as minilm, nli:FOLDER, logprob:MODEL or the name of a language model"
        raise UsageError(f"the judge {for_message(name)} names no model", fix=fix)
    if kind == "llm" and source == name:
        _reject_misspelling(name)
    judge: NamedJudge = CLAIM_JUDGES.load(kind)
    return judge.named(name, source, JudgeResources(session, chat, threads))


def _reject_misspelling(name: str) -> None:
    """Rejects a language model whose name is nearly that of a judge without one."""
    near = closest_name(name, [OVERLAP, *ENCODERS], min_similarity=0.85)
    if near is not None:
        fix = f"did you mean {near}? Write llm:{for_message(name)} for a language model of that name"
        raise UsageError(f"unknown judge {for_message(name)}", fix=fix)


def is_language_model(name: str) -> bool:
    """Whether the judge of that name is a language model that writes verdicts."""
    return name != OVERLAP and _kind_and_source(name)[0] == "llm"


def _kind_and_source(name: str) -> tuple[str, str]:
    kind, colon, source = name.partition(":")
    if colon and kind in CLAIM_JUDGES:
        return kind, source
    return ("encoder" if name in ENCODERS or source_prefix("encoder", name) else "llm"), name
