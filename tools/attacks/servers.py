"""Every fault of a language model's server with every use, and of a rerank server with every API: what is not reported.

`PYTHONPATH=tests python -m tools.attacks.servers` prints a table, and exits with 1 if a failure is silent.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from os import environ

from rankproof._io.retry import RetryPolicy
from rankproof._llm.budget import Usage, reply_notes
from rankproof._llm.session import LLMSession
from rankproof.errors import ExternalError
from rankproof.models._api.settings import ModelUnavailableError
from support.chat_faults import FAULTS_BY_KIND, ChatFault
from support.chat_server import ChatServer
from support.embedding_faults import FAULTS as EMBEDDING_FAULTS
from support.embedding_server import NAMES as EMBEDDING_APIS
from support.llm_uses import USES, Use, UseOutcome
from support.rerank_faults import FAULTS as RERANK_FAULTS
from support.rerank_server import APIS
from tools.attacks.encoders import attack_encoder
from tools.attacks.rerankers import attack_reranker

KEY = "CANARY-401-0123456789"
KEY_VARIABLE = "CHAT_KEY"


@dataclass(frozen=True)
class Attack:
    """What a use made of a fault: its outcome or the error that ended it, and what it spent."""

    fault: ChatFault
    outcome: UseOutcome | ExternalError
    server: ChatServer
    spent: Usage

    def result(self) -> str:
        """What happened, in the words of the table."""
        if isinstance(self.outcome, ExternalError):
            return "run stopped"
        if self.outcome.counts["failed"]:
            return "counted as failed"
        if self.outcome.counts["given_up"] or self.outcome.flagged:
            return "counted as unusable"
        return "accepted, with a note" if reply_notes(self.outcome.counts) else "accepted"

    def silent_failures(self) -> Iterator[str]:
        """What was lost, misread or falsified without a report."""
        if len(self.server.requests) != self.spent.calls or not self.spent.calls:
            yield "requests are not counted"
        if isinstance(self.outcome, ExternalError):
            if self.fault.ending != "unusable" or not isinstance(self.outcome, ModelUnavailableError):
                yield f"the run stopped: {self.outcome}"
            if KEY in str(self.outcome):
                yield "the key is shown"
            return
        if not self.outcome.items or not self.outcome.whole:
            yield "an item was lost"
        yield from self._wrong_counts(self.outcome)
        yield from self._wrong_tokens()

    def _wrong_counts(self, outcome: UseOutcome) -> Iterator[str]:
        ending, counts = self.fault.ending, outcome.counts
        if ending == "unusable":
            yield "a server that rejects everything did not end the run"
        if ending == "failed" and not counts["failed"]:
            yield "a failure is not counted"
        if ending == "content" and not outcome.flagged:
            yield "a reply of no use was taken for a good one"
        if ending == "healed" and (counts["failed"] or counts["given_up"] or not self.server.repeated):
            yield "a retry did not help"
        if ending == "accepted" and counts["failed"]:
            yield "a good reply failed"
        if self.fault.noted and (not counts[self.fault.noted] or not reply_notes(counts)):
            yield f"{self.fault.noted} replies are not noted"
        if not self.spent.journaled and counts["calls"] != self.spent.calls:
            yield "calls are not counted"

    def _wrong_tokens(self) -> Iterator[str]:
        """Tokens are those of the good replies, estimated where the server falsifies them, and more for a charged failure."""
        spent, good = self.spent, self.server.completions if self.fault.ending != "failed" else 0
        read, written = (self.server.tokens_in, self.server.tokens_out) if good else (0, 0)
        if self.fault.noted:
            if not (read <= spent.tokens_in <= 2 * read + 50 * good and 0 < spent.tokens_out <= 2 * written):
                yield "falsified tokens are believed"
        elif spent.unsure:
            if spent.tokens_in <= read or spent.tokens_out <= written:
                yield "a request that may have been charged costs nothing"
        elif good and (spent.tokens_in, spent.tokens_out) != (read, written):
            yield "tokens are not those that the server counted"


def attack(fault: ChatFault, use: Use) -> Attack:
    """Runs the use against a server with the fault."""
    environ[KEY_VARIABLE] = KEY
    try:
        with ChatServer(lambda request: fault.answer(request, use.well(request.body))) as server:
            with LLMSession(retry_policy=RetryPolicy(max_requests=2, sleep=lambda seconds: None)) as session:
                try:
                    outcome: UseOutcome | ExternalError = use.run(
                        server.model(api_key_env=KEY_VARIABLE, timeout=fault.timeout), session
                    )
                except ExternalError as error:
                    outcome = error
                spent = session.meter.spent
            _await(server, spent.calls)
        return Attack(fault, outcome, server, spent)
    finally:
        del environ[KEY_VARIABLE]


def _await(server: ChatServer, calls: int) -> None:
    """A client that gave up was faster than the server's thread, which still counts what it was sent."""
    ends = time.monotonic() + 10
    while len(server.requests) < calls and time.monotonic() < ends:
        server.stopped.wait(0.01)


RESULTS = ("run stopped", "counted as failed", "counted as unusable", "accepted, with a note", "accepted")


def main() -> int:
    """Prints the table: for each kind of fault, how its pairs with all uses ended; 1 if a failure is silent."""
    print("| kind of fault | faults | uses | pairs |", *(f"{name} |" for name in RESULTS), "silent failures |")
    print("|---|" + "---:|" * (len(RESULTS) + 4))
    sums: Counter[str] = Counter()
    for kind, faults in FAULTS_BY_KIND.items():
        found: Counter[str] = Counter(faults=len(faults), uses=len(USES))
        for name, fault in faults.items():
            for use_name, use in USES.items():
                made = attack(fault, use)
                silent = list(made.silent_failures())
                found.update({"pairs": 1, made.result(): 1, "silent": bool(silent)})
                if silent:
                    print(f"{name}, {use_name}: {'; '.join(silent)}", file=sys.stderr, flush=True)
        _print_row(kind, found)
        sums.update(found)
    _print_row("all", Counter({**sums, "uses": len(USES)}))
    reranked, encoded = _attacked_rerankers(), _attacked_encoders()
    _print_row("rerank APIs", reranked)
    _print_row("embedding APIs", encoded)
    return 1 if sums["silent"] or reranked["silent"] or encoded["silent"] else 0


def _attacked_rerankers() -> Counter[str]:
    """How the faults of rerank servers ended, with the APIs as uses."""
    found: Counter[str] = Counter(faults=len(RERANK_FAULTS), uses=len(APIS))
    for name, fault in RERANK_FAULTS.items():
        for api in APIS:
            made = attack_reranker(fault, api)
            silent = list(made.silent_failures())
            found.update({"pairs": 1, made.result(): 1, "silent": bool(silent)})
            if silent:
                print(f"{name}, {api}: {'; '.join(silent)}", file=sys.stderr, flush=True)
    return found


def _attacked_encoders() -> Counter[str]:
    """How the faults of embedding servers ended, with the APIs as uses."""
    found: Counter[str] = Counter(faults=len(EMBEDDING_FAULTS), uses=len(EMBEDDING_APIS))
    for name, fault in EMBEDDING_FAULTS.items():
        for api in fault.apis or EMBEDDING_APIS:
            made = attack_encoder(fault, api)
            silent = list(made.silent_failures())
            found.update({"pairs": 1, made.result(): 1, "silent": bool(silent)})
            if silent:
                print(f"{name}, {api}: {'; '.join(silent)}", file=sys.stderr, flush=True)
    return found


def _print_row(kind: str, counts: Counter[str]) -> None:
    print(f"| {kind} |", *(f"{counts[name]:,} |" for name in ("faults", "uses", "pairs", *RESULTS, "silent")), flush=True)


if __name__ == "__main__":
    sys.exit(main())
