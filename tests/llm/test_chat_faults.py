"""Every fault of a server or model, with every use, over real HTTP: nothing is lost, hangs or goes unreported."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

import pytest

from rankproof._llm.retry import RetryPolicy
from rankproof._llm.session import LLMSession
from rankproof.errors import ExternalError
from rankproof.models._chat.base import ChatReply, ChatRequest, ChatRequestError, ChatUnavailableError, Message
from support.chat_faults import FAULTS, QUICK, Fault, well_behaved
from support.chat_server import NEVER, TOKENS_IN, TOKENS_OUT, ChatServer, Request, Sent, completion
from support.llm_uses import USES, Use, UseOutcome
from support.paths import SHARED

REPLIES = SHARED / "bad-inputs" / "c28_llm_replies" / "replies.jsonl"
KEY = "CANARY-401-0123456789"


def _outcome(
    use: Use, fault: Fault, server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> tuple[UseOutcome | Exception, LLMSession]:
    monkeypatch.setenv("CHAT_KEY", KEY)
    model = server.model(api_key_env="CHAT_KEY", timeout=fault.timeout)
    with LLMSession(retry_policy=RetryPolicy(max_requests=2, sleep=lambda seconds: None)) as session:
        try:
            return use.run(model, session), session
        except ExternalError as error:
            return error, session


_FAST_USES = ("judge", "plain", "listwise", "verdicts on an answer")
_PAIRS = [
    pytest.param(
        fault, use, marks=[pytest.mark.slow] if use not in _FAST_USES or (one.timeout == QUICK and use != "judge") else []
    )
    for fault, one in FAULTS.items()
    for fast in (_FAST_USES[:1] if one.timeout == QUICK else _FAST_USES,)
    for use in USES
]
"""Faults and uses; slow are most uses, and faults that wait for a time-out but for one use."""


@pytest.mark.parametrize(("fault", "use"), _PAIRS)
def test_no_fault_loses_an_item_or_goes_unreported(fault: str, use: str, monkeypatch: pytest.MonkeyPatch) -> None:
    met, used = FAULTS[fault], USES[use]
    with ChatServer(lambda request: met.answer(request, used.well(request.body))) as server:
        outcome, session = _outcome(used, met, server, monkeypatch)
        spent = session.meter.spent
        _await(server, spent.calls)
    assert len(server.requests) == spent.calls > 0
    assert all(request.path == "/v1/chat/completions" for request in server.requests)
    if met.ending == "unusable":
        assert isinstance(outcome, ChatUnavailableError), "a server that refuses everything ends the run"
        assert KEY not in str(outcome)
        return
    assert isinstance(outcome, UseOutcome), outcome
    assert outcome.items > 0
    assert outcome.whole, "an item was lost"
    if met.ending == "failed":
        assert outcome.counts["failed"] > 0
    if met.ending == "content":
        assert outcome.flagged > 0, "a reply of no use was taken for a good one"
    if met.ending == "healed":
        assert outcome.counts["failed"] == outcome.counts["given_up"] == 0
        assert server.repeated > 0
    if not spent.journaled:
        assert outcome.counts["calls"] == spent.calls
    accepted = 0 if met.ending == "failed" else server.completions
    settled = spent.tokens_in - accepted * TOKENS_IN, spent.tokens_out - accepted * TOKENS_OUT
    assert all(settled) if spent.unsure else settled == (0, 0)


def _await(server: ChatServer, calls: int) -> None:
    """A client that gave up was faster than the server's thread, which still counts what it was sent."""
    ends = time.monotonic() + 10
    while len(server.requests) < calls and time.monotonic() < ends:
        server.stopped.wait(0.01)


@pytest.mark.parametrize("use", USES)
def test_a_healthy_server_raises_no_flags(use: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with ChatServer(lambda request: well_behaved(request, USES[use].well(request.body))) as server:
        outcome, session = _outcome(USES[use], Fault(well_behaved, "accepted"), server, monkeypatch)
    assert isinstance(outcome, UseOutcome)
    assert outcome.whole
    assert outcome.flagged == 0
    assert session.meter.spent.calls == len(server.requests) == server.completions


def test_the_catalogue_has_every_required_fault() -> None:
    assert len(FAULTS) >= 40


def _recorded() -> list[Mapping[str, Any]]:
    return [json.loads(line) for line in REPLIES.read_text().splitlines()] if REPLIES.exists() else []


@pytest.mark.parametrize("case", _recorded(), ids=lambda case: case["id"])
def test_recorded_replies_are_parsed_or_refused_but_never_misread(case: Mapping[str, Any]) -> None:
    def answer(request: Request) -> Sent:
        if case.get("delay_s"):
            return NEVER
        if "content" in case:
            return completion(case["content"], finish=case.get("finish_reason", "stop"))
        return Sent(case["status"], case["body"].encode(), case.get("headers", {}))

    with ChatServer(answer) as server:
        chat = server.model(timeout=QUICK if case.get("delay_s") else 20.0).load()
        try:
            found: ChatReply | Exception = chat.reply(ChatRequest((Message("user", "?"),), 10))
        except (ChatRequestError, ChatUnavailableError) as error:
            found = error
        chat.close()
    assert len(server.requests) == 1
    if "content" in case:
        assert isinstance(found, ChatReply)
        assert found.text == case["content"]
        assert found.finish == case.get("finish_reason", "stop")
    else:
        assert isinstance(found, ChatUnavailableError) == (case["status"] in (302, 401, 404))
        assert "sk-abc" not in str(found)
