"""Every fault of a server or model, with every use, over real HTTP: nothing is lost, hangs or goes unreported."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tools.attacks.servers import attack

from rankproof._llm.cache import ResponseCaches
from rankproof._llm.session import LLMSession
from rankproof.models._api.settings import ModelRequestError, ModelUnavailableError
from rankproof.models._chat.base import ChatReply, ChatRequest, Message
from support.bad_inputs import bad_input_rows
from support.chat_faults import FAULTS, ChatFault, well_behaved
from support.chat_server import ChatServer, completion
from support.examples import crossed
from support.llm_uses import USES, UseOutcome
from support.scripted_server import NEVER, QUICK, Request, Sent

BOMBS = {"gzip bomb", "deflate bomb", "Zstandard bomb"}
_USES = {fault: tuple(USES) for fault in FAULTS if fault not in BOMBS}


@pytest.mark.parametrize(
    ("fault", "use"),
    [
        *crossed(_USES),
        *(pytest.param(bomb, use, marks=pytest.mark.slow) for bomb in sorted(BOMBS) for use in USES),
    ],
)
def test_no_fault_loses_an_item_or_goes_unreported(fault: str, use: str) -> None:
    made = attack(FAULTS[fault], USES[use])
    assert list(made.silent_failures()) == []
    assert all(request.path == "/v1/chat/completions" for request in made.server.requests)


@pytest.mark.parametrize("use", USES)
def test_a_healthy_server_raises_no_flags(use: str) -> None:
    made = attack(ChatFault(well_behaved, "accepted"), USES[use])
    assert list(made.silent_failures()) == []
    assert isinstance(made.outcome, UseOutcome)
    assert (made.outcome.flagged, made.outcome.counts["estimated"], made.outcome.counts["masked"]) == (0, 0, 0)
    assert made.spent.calls == len(made.server.requests) == made.server.completions


@pytest.mark.parametrize("use", USES)
def test_requests_without_a_usable_reply_are_sent_again_by_the_next_run_and_others_are_not(use: str, tmp_path: Path) -> None:
    def well(request: Request) -> Sent:
        return well_behaved(request, USES[use].well(request.body))

    with ChatServer(lambda request: completion("{")) as server:
        asked, flagged = [], []
        for answer in (lambda request: completion("{"), well, lambda request: completion("{")):
            before, server.answer = len(server.requests), answer
            with LLMSession(ResponseCaches(tmp_path)) as session:
                flagged.append(USES[use].run(server.model(), session).flagged)
            asked.append(len(server.requests) - before)
    assert flagged[0] > 0
    assert flagged[1:] == [0, 0]
    assert asked[1] > 0
    assert asked[2] == 0


def test_the_catalogue_has_every_required_fault() -> None:
    assert len(FAULTS) >= 100


@pytest.mark.parametrize("case", bad_input_rows("c28_llm_replies/replies.jsonl"), ids=lambda case: case["id"])
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
