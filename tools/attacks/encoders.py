"""Every fault of an embedding server with every embedding API: what happens, and what is not reported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import environ
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from rankproof._data.arrays import Matrix
from rankproof._io.retry import RetryPolicy
from rankproof._llm.budget import CallTotals, Usage
from rankproof._llm.cache import ResponseCaches
from rankproof._llm.embedding import CachedEncoder
from rankproof._llm.session import LLMSession
from rankproof.errors import ExternalError
from rankproof.models._api.settings import ModelUnavailableError
from support.embedding_faults import EmbeddingFault
from support.embedding_server import EmbeddingServer
from support.key_spellings import KEY, files_with_key, has_key

KEY_VARIABLE = "EMBEDDING_KEY"
TEXTS = [f"pie {word}" for word in ("apple", "crust", "pear", "tart")]


@dataclass(frozen=True, eq=False)
class EncoderAttack:
    """What an encoder made of a fault: the vectors or the error that ended it, the counts, what it spent and what it shows."""

    fault: EmbeddingFault
    outcome: Matrix | ExternalError
    expected: Matrix
    counts: Mapping[str, int]
    spent: Usage
    shown: str
    files: list[Path]

    def result(self) -> str:
        """What happened, in the words of the table."""
        if isinstance(self.outcome, ExternalError):
            return "run stopped" if isinstance(self.outcome, ModelUnavailableError) else "counted as failed"
        return "accepted, with a note" if self.counts["estimated"] or self.counts["masked"] else "accepted"

    def silent_failures(self) -> Iterator[str]:
        """What was misread or falsified without a report."""
        ending = self.fault.ending
        if has_key(self.shown) or self.files:
            yield "the key is shown or written"
        if isinstance(self.outcome, ExternalError):
            if ending not in ("failed", "unusable") or (ending == "unusable") != isinstance(self.outcome, ModelUnavailableError):
                yield f"the run stopped: {self.outcome}"
            if ";" not in str(self.outcome):
                yield f"the fix is not named: {self.outcome}"
            return
        if ending in ("failed", "unusable"):
            yield "a wrong reply was taken for a good one"
        if not np.allclose(self.outcome, self.expected, atol=1e-6):
            yield "a vector is not the one that the server gave"
        if self.counts["calls"] != self.spent.calls or self.spent.calls != (2 if ending == "healed" else 1):
            yield "calls are not counted"
        if self.fault.noted and not self.counts[self.fault.noted]:
            yield f"{self.fault.noted} replies are not noted"


def attack_encoder(fault: EmbeddingFault, api: str) -> EncoderAttack:
    """Encodes a few texts with the API on a server with the fault."""
    environ[KEY_VARIABLE] = KEY
    policy, totals = RetryPolicy(max_requests=2, sleep=lambda seconds: None), CallTotals()
    try:
        with (
            TemporaryDirectory() as folder,
            EmbeddingServer(api, fault=lambda number, request, good: fault.answer(api, request, good)) as server,
            LLMSession(ResponseCaches(Path(folder)), retry_policy=policy) as session,
        ):
            encoder = CachedEncoder(server.encoder_model(api_key_env=KEY_VARIABLE, timeout=fault.timeout), session)
            try:
                outcome: Matrix | ExternalError = encoder.encode_counting(TEXTS, "passage", totals)
            except ExternalError as error:
                outcome = error
            counts = {str(name): count for name, count in totals.counts.items()}
            facts = () if isinstance(outcome, ExternalError) else (encoder.facts(),)
            shown = repr((str(outcome), facts, encoder.notes(), session.notes()))
            files = files_with_key(Path(folder))
            return EncoderAttack(fault, outcome, server.vectors(TEXTS), counts, session.meter.spent, shown, files)
    finally:
        del environ[KEY_VARIABLE]
