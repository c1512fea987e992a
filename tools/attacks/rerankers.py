"""Every fault of a rerank server with every rerank API: what happens, and what is not reported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import environ
from pathlib import Path
from tempfile import TemporaryDirectory

from rankproof._data.dataset import Query
from rankproof._io.retry import RetryPolicy
from rankproof._llm.budget import Usage
from rankproof._llm.cache import ResponseCaches
from rankproof._llm.session import LLMSession
from rankproof.errors import ExternalError
from rankproof.models._api.settings import ModelUnavailableError
from rankproof.stages._base import BuildContext, QueryTimer
from support.chat_server import ChatServer
from support.key_spellings import KEY, files_with_key, has_key
from support.rerank_faults import RerankFault
from support.rerank_server import cosines, scorer
from support.stage_building import PlainBlockCache, corpus_of

KEY_VARIABLE = "RERANK_KEY"
WORDS = ("apple", "crust", "pear", "tart", "sugar", "dough", "oven", "butter")
TEXTS = {f"d{at}": f"pie {word}" for at, word in enumerate(WORDS)}
QUERY = Query("q", "apple butter pie")


@dataclass(frozen=True)
class RerankAttack:
    """What a reranker made of a fault: the scores or the error that ended it, the counts, what it spent and what it shows."""

    fault: RerankFault
    api: str
    outcome: list[float] | ExternalError
    counts: Mapping[str, int]
    spent: Usage
    shown: str
    files: list[Path]

    def result(self) -> str:
        """What happened, in the words of the table."""
        if isinstance(self.outcome, ExternalError):
            return "run stopped"
        if self.counts["failed"]:
            return "counted as failed"
        return "accepted, with a note" if self.counts["estimated"] or self.counts["masked"] else "accepted"

    def silent_failures(self) -> Iterator[str]:
        """What was lost, misread or falsified without a report."""
        if has_key(self.shown) or self.files:
            yield "the key is shown or written"
        if isinstance(self.outcome, ExternalError):
            if self.fault.ending != "unusable" or not isinstance(self.outcome, ModelUnavailableError):
                yield f"the run stopped: {self.outcome}"
            return
        if self.counts["calls"] != self.spent.calls or not self.spent.calls:
            yield "calls are not counted"
        yield from self._wrong_scores(self.outcome)

    def _wrong_scores(self, scores: list[float]) -> Iterator[str]:
        ending, counts = self.fault.ending, self.counts
        is_lost = ending in ("failed", "refused")
        expected = [float(at) for at in range(len(TEXTS), 0, -1)] if is_lost else cosines(QUERY.text, list(TEXTS.values()))
        if scores != expected:
            yield "a score is not the one that the server gave, or a document lost its rank"
        if ending == "unusable":
            yield "a server that rejects everything did not end the run"
        if is_lost != bool(counts["failed"]) or counts["failed"] != (counts["score_requests"] if is_lost else 0):
            yield "a failure is not counted, or a good reply failed"
        if counts["refused"] != (counts["failed"] if ending == "refused" else 0):
            yield "a refusal is not counted"
        if not is_lost and counts["calls"] != (2 if ending == "healed" else 1):
            yield "a good reply was asked for again"
        if self._noted() and not counts[self._noted()]:
            yield f"{self._noted()} replies are not noted"

    def _noted(self) -> str:
        """The count that must not be 0; the bare list of TEI has nothing around it that could be wrong."""
        return "" if self.api == "tei" else self.fault.noted


def attack_reranker(fault: RerankFault, api: str) -> RerankAttack:
    """Reranks a few documents with the API on a server with the fault."""
    environ[KEY_VARIABLE] = KEY
    policy, corpus, timer = RetryPolicy(max_requests=2, sleep=lambda seconds: None), corpus_of(TEXTS), QueryTimer()
    batch_size = 4 if fault.ending == "refused" else 32
    try:
        with (
            TemporaryDirectory() as folder,
            ChatServer(lambda request: fault.answer(api, request)) as server,
            LLMSession(ResponseCaches(Path(folder)), retry_policy=policy) as session,
        ):
            value = scorer(server, api, api_key_env=KEY_VARIABLE, timeout=fault.timeout, batch_size=batch_size)
            built = value.build(BuildContext(corpus, corpus.fingerprint(), PlainBlockCache(), session=session))
            try:
                outcome: list[float] | ExternalError
                outcome = built.scores_counting_calls(QUERY, list(TEXTS), timer.counter("rerank")).tolist()
            except ExternalError as error:
                outcome = error
            counts = {str(name): count for name, count in timer.counts.items()}
            shown = repr((str(outcome), built.facts(), built.notes(), session.notes()))
            return RerankAttack(fault, api, outcome, counts, session.meter.spent, shown, files_with_key(Path(folder)))
    finally:
        del environ[KEY_VARIABLE]
