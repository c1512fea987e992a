"""Every fault of a server or model, with every use, over real HTTP: nothing is lost, hangs or goes unreported."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from tools.attacks.servers import attack

from rankproof.models._api.errors import ModelRequestError, ModelUnavailableError
from rankproof.models._chat.base import ChatReply, ChatRequest, Message
from support.chat_faults import FAULTS, FAULTS_BY_KIND, QUICK, Fault, well_behaved
from support.chat_server import NEVER, ChatServer, Request, Sent, completion
from support.llm_uses import USES, UseOutcome
from support.paths import SHARED

REPLIES = SHARED / "bad-inputs" / "c28_llm_replies" / "replies.jsonl"


_FAST_USES = ("judge", "plain", "listwise", "verdicts on an answer")
_SLOW_FAULTS = ("deflate bomb", "Zstandard bomb")


def _is_fast(kind: str, fault: str, use: str) -> bool:
    """Faults of the content are read in other ways by each use; the others are met before."""
    return use in (_FAST_USES if kind == "content" else _FAST_USES[:1]) and fault not in _SLOW_FAULTS


_PAIRS = [
    pytest.param(fault, use, marks=[] if _is_fast(kind, fault, use) else [pytest.mark.slow])
    for kind, faults in FAULTS_BY_KIND.items()
    for fault in faults
    for use in USES
]


@pytest.mark.parametrize(("fault", "use"), _PAIRS)
def test_no_fault_loses_an_item_or_goes_unreported(fault: str, use: str) -> None:
    made = attack(FAULTS[fault], USES[use])
    assert list(made.silent_failures()) == []
    assert all(request.path == "/v1/chat/completions" for request in made.server.requests)


@pytest.mark.parametrize("use", USES)
def test_a_healthy_server_raises_no_flags(use: str) -> None:
    made = attack(Fault(well_behaved, "accepted"), USES[use])
    assert list(made.silent_failures()) == []
    assert isinstance(made.outcome, UseOutcome)
    assert (made.outcome.flagged, made.outcome.counts["estimated"], made.outcome.counts["masked"]) == (0, 0, 0)
    assert made.spent.calls == len(made.server.requests) == made.server.completions


def test_the_catalogue_has_every_required_fault() -> None:
    assert len(FAULTS) >= 100


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
        except (ModelRequestError, ModelUnavailableError) as error:
            found = error
        chat.close()
    assert len(server.requests) == 1
    if "content" in case:
        assert isinstance(found, ChatReply)
        assert found.text == case["content"]
        assert found.finish == case.get("finish_reason", "stop")
    else:
        assert isinstance(found, ModelUnavailableError) == (case["status"] in (302, 401, 404))
        assert "sk-abc" not in str(found)
