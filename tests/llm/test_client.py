"""Clients of language models: budget, retries, circuit breaker, response cache and failures."""

import threading
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from rankproof._io.retry import RetryPolicy
from rankproof._llm.budget import (
    Budget,
    BudgetError,
    CallTotals,
    SpendMeter,
    Usage,
    estimate_request,
    parse_budget,
    reply_notes,
    token_cost,
)
from rankproof._llm.cache import ResponseCache, ResponseCaches, request_key
from rankproof._llm.client import MAX_CONSECUTIVE_FAILURES, CancelledError, ChatClient, ReplyParseError
from rankproof._llm.session import LLMSession, map_concurrent, map_in_order
from rankproof.errors import ExternalError, UsageError
from rankproof.models._api.settings import ModelRequestError, ModelUnavailableError
from rankproof.models._chat.base import ChatReply, ChatRequest, Message
from rankproof.models._chat.llama_cpp import Llama
from support.chat_server import TOKENS_OUT, ChatServer, completion
from support.scripted_chat import ScriptedChat, reply
from support.scripted_server import Request, Sent

BUSY = ModelRequestError("busy", retryable=True)


def ask_of(text: str, **changes: object) -> ChatRequest:
    return replace(ChatRequest((Message("user", text),), 10), **changes)  # type: ignore[arg-type]


def desk_of(budget: Budget | None = None, pauses: list[float] | None = None, max_requests: int = 5) -> LLMSession:
    """A desk that notes its pauses and takes none."""
    return LLMSession(
        budget=budget, retry_policy=RetryPolicy(max_requests=max_requests, sleep=(pauses if pauses is not None else []).append)
    )


def yes(answer: ChatReply) -> str:
    if answer.text != "yes":
        raise ReplyParseError(answer.text)
    return "yes"


def test_a_reply_is_read_and_its_cost_counted() -> None:
    model, sums = ScriptedChat(("yes",), price_in=3.0, price_out=5.0), CallTotals()
    with desk_of() as session:
        assert session.client(model, "u").read(ask_of("a"), yes, sums) == "yes"
        assert session.meter.spent == Usage(1, 10, 2, token_cost(10, 2, 3.0, 5.0))
    assert {name: count for name, count in sums.counts.items() if count} == {"calls": 1, "tokens_in": 10, "tokens_out": 2}
    assert sums.seconds == 0.25
    assert model.log.loads == 1


def test_an_unusable_reply_is_requested_again_with_another_attempt() -> None:
    model, sums = ScriptedChat(("no", "hm", "yes")), CallTotals()
    with desk_of() as session:
        assert session.client(model, "u").read(ask_of("a"), yes, sums) == "yes"
    assert [request.attempt for request in model.log.requests] == [0, 1, 2]
    assert (sums.counts["unreadable"], sums.counts["given_up"], sums.counts["calls"]) == (2, 0, 3)


def test_the_next_attempt_says_what_was_wrong_with_the_last_reply() -> None:
    model = ScriptedChat(("no", "hm", "yes"))
    with LLMSession() as session:
        assert session.client(model, "u").read(ask_of("a"), yes, CallTotals())
    first, second, third = ([message.text for message in request.messages] for request in model.log.requests)
    assert first == [message.text for message in ask_of("a").messages]
    assert second[-1].startswith(first[-1])
    assert "could not be used" in second[-1]
    assert third[-1].count("could not be used") == 1


def test_after_all_attempts_a_request_is_given_up_and_counted() -> None:
    sums = CallTotals()
    with desk_of() as session:
        assert session.client(ScriptedChat(("no", "hm")), "u").read(ask_of("a"), yes, sums, attempts=2) is None
    assert (sums.counts["unreadable"], sums.counts["given_up"], sums.counts["failed"]) == (2, 1, 0)


def test_a_request_without_a_reply_counts_as_failed_with_all_retries() -> None:
    sums = CallTotals()
    with desk_of(max_requests=3) as session:
        assert session.client(ScriptedChat((BUSY, BUSY, BUSY)), "u").read(ask_of("a"), yes, sums) is None
        assert session.meter.spent.calls == 3
    assert (sums.counts["calls"], sums.counts["failed"], sums.counts["tokens_in"]) == (3, 1, 0)


def test_the_cache_key_depends_on_the_attempt_and_on_every_part_of_a_request() -> None:
    asks = [ask_of("a"), ask_of("b"), ask_of("a", attempt=1), ask_of("a", logprobs=2), ask_of("a", schema="{}")]
    asks += [ask_of("a", max_tokens=11), ask_of("a", messages=(Message("system", "a"),))]
    assert len({request_key(request) for request in asks}) == len(asks)


def test_requests_that_failed_first_count_with_the_reply() -> None:
    sums, pauses = CallTotals(), list[float]()
    with desk_of(pauses=pauses) as session:
        answer = session.client(ScriptedChat((BUSY, BUSY, "yes")), "u").request(ask_of("a"), sums)
    assert (answer.requests, sums.counts["calls"], sums.counts["failed"]) == (3, 3, 0)
    assert pauses == [0.5, 1.0]


def test_a_failure_that_is_not_retryable_is_not_retried() -> None:
    model = ScriptedChat((ModelRequestError("no"),))
    with desk_of() as session, pytest.raises(ModelRequestError):
        session.client(model, "u").request(ask_of("a"), CallTotals())
    assert model.log.calls == 1


@pytest.mark.parametrize(
    ("wait", "request_number", "pause"),
    [
        (None, 1, 0.5),
        (None, 2, 1.0),
        (None, 4, 4.0),
        (None, 40, 30.0),
        (None, 99, None),
        (0.0, 1, 0.5),
        (7.0, 1, 7.0),
        (120.0, 1, 120.0),
        (121.0, 1, None),
        (3.5e8, 1, None),
    ],
)
def test_pauses_double_up_to_a_maximum_and_respect_the_server(
    wait: float | None, request_number: int, pause: float | None
) -> None:
    assert RetryPolicy(max_requests=99).pause(ModelRequestError("x", retryable=True, wait=wait), request_number) == pause


def test_rejected_optional_parameters_are_dropped_for_good() -> None:
    def picky(request: ChatRequest) -> str | Exception:
        return ModelRequestError("no", optional_params=True) if request.logprobs else "yes"

    model, sums = ScriptedChat(picky), CallTotals()
    with desk_of() as session:
        client = session.client(model, "u")
        for text in "abc":
            client.request(ask_of(text, logprobs=2), sums)
        assert client.facts()["optional_params_rejected"]
    assert [request.logprobs for request in model.log.requests] == [2, 0, 0, 0]
    assert sums.counts["calls"] == 4


def test_rejected_messages_do_not_turn_optional_parameters_off() -> None:
    def strict(request: ChatRequest) -> str | Exception:
        return (
            ModelRequestError("too long", optional_params=bool(request.logprobs)) if request.messages[0].text == "long" else "yes"
        )

    model, sums = ScriptedChat(strict), CallTotals()
    with desk_of() as session:
        client = session.client(model, "u")
        assert client.read(ask_of("long", logprobs=2), yes, sums) is None
        assert client.read(ask_of("short", logprobs=2), yes, sums) == "yes"
        assert not client.facts()["optional_params_rejected"]
    assert [request.logprobs for request in model.log.requests] == [2, 0, 2]
    assert sums.counts["failed"] == 1


def test_too_many_failures_in_a_row_end_the_run() -> None:
    model, sums = ScriptedChat(lambda request: BUSY), CallTotals()
    with desk_of(max_requests=1) as session:
        client = session.client(model, "u")
        for number in range(MAX_CONSECUTIVE_FAILURES - 1):
            assert client.read(ask_of(str(number)), yes, sums) is None
        with pytest.raises(ExternalError, match=f"{MAX_CONSECUTIVE_FAILURES} requests in a row failed"):
            client.read(ask_of("last"), yes, sums)
    assert sums.counts["calls"] == model.log.calls == MAX_CONSECUTIVE_FAILURES


def test_a_reply_between_failures_keeps_the_run_going() -> None:
    def flaky(request: ChatRequest) -> str | Exception:
        return "yes" if int(request.messages[0].text) % 5 == 4 else BUSY

    sums = CallTotals()
    with desk_of(max_requests=1) as session:
        client = session.client(ScriptedChat(flaky), "u")
        found = [client.read(ask_of(str(number)), yes, sums) for number in range(30)]
    assert (found.count("yes"), sums.counts["failed"]) == (6, 24)


def test_rejected_requests_fail_one_by_one_and_never_end_the_run() -> None:
    def short_only(request: ChatRequest) -> str | Exception:
        return "yes" if int(request.messages[0].text) >= 2 * MAX_CONSECUTIVE_FAILURES else ModelRequestError("status 413")

    sums = CallTotals()
    with desk_of() as session:
        client = session.client(ScriptedChat(short_only), "judge")
        found = [client.read(ask_of(str(number)), yes, sums) for number in range(2 * MAX_CONSECUTIVE_FAILURES)]
        assert found == [None] * (2 * MAX_CONSECUTIVE_FAILURES)
        assert session.notes() == (
            f"judge: the server rejected every request ({2 * MAX_CONSECUTIVE_FAILURES}), the last one with: status 413",
        )
        assert client.read(ask_of(str(2 * MAX_CONSECUTIVE_FAILURES)), yes, sums) == "yes"
        assert session.notes() == ()
    assert (sums.counts["failed"], sums.counts["refused"]) == (2 * MAX_CONSECUTIVE_FAILURES, 2 * MAX_CONSECUTIVE_FAILURES)


def test_a_refusal_between_failures_neither_counts_as_one_nor_as_a_reply() -> None:
    def script(request: ChatRequest) -> Exception:
        return ModelRequestError("status 413") if request.messages[0].text == "long" else BUSY

    sums = CallTotals()
    with desk_of(max_requests=1) as session:
        client = session.client(ScriptedChat(script), "u")
        for number in range(MAX_CONSECUTIVE_FAILURES - 1):
            client.read(ask_of(str(number)), yes, sums)
        assert client.read(ask_of("long"), yes, sums) is None
        with pytest.raises(ExternalError, match=f"{MAX_CONSECUTIVE_FAILURES} requests in a row failed"):
            client.read(ask_of("last"), yes, sums)
    assert sums.counts["refused"] == 1


def test_a_request_whose_last_attempt_got_no_reply_has_failed() -> None:
    sums = CallTotals()
    with desk_of(max_requests=1) as session:
        assert session.client(ScriptedChat(("no", BUSY)), "u").read(ask_of("a"), yes, sums) is None
    assert (sums.counts["unreadable"], sums.counts["failed"], sums.counts["given_up"]) == (1, 1, 0)


def test_the_same_request_of_two_threads_is_paid_for_once() -> None:
    twice = threading.Event()

    def slow(request: ChatRequest) -> str:
        if model.log.calls > 1:
            twice.set()
        twice.wait(0.2)  # long enough for a second request, were there one
        return "yes"

    model, sums = ScriptedChat(slow), CallTotals()
    with desk_of() as session:
        client = session.client(model, "u")
        first, second = map_concurrent(session, lambda number: client.request(ask_of("a"), sums), range(2), 2)
        assert (session.meter.spent.calls, session.meter.spent.journaled) == (1, 1)
    assert first == second
    assert model.log.calls == 1


def test_a_request_that_failed_in_one_thread_is_sent_by_the_other_that_waited_for_it() -> None:
    waiting, asked = threading.Event(), threading.Event()

    def script(request: ChatRequest) -> str | Exception:
        if model.log.calls > 1:
            return "yes"
        asked.set()
        assert waiting.wait(20)
        return ModelRequestError("status 400")

    model = ScriptedChat(script)

    def one(number: int) -> str | None:
        if number:
            assert asked.wait(20)
            waiting.set()
        return client.read(ask_of("a"), yes, CallTotals())

    with desk_of() as session:
        client = session.client(model, "u")
        assert map_concurrent(session, one, range(2), 2) == [None, "yes"]


def test_an_unavailable_model_raises_at_once() -> None:
    with desk_of() as session, pytest.raises(ModelUnavailableError):
        session.client(ScriptedChat((ModelUnavailableError("wrong key"),)), "u").read(ask_of("a"), yes, CallTotals())


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("calls=500,tokens=2000000,money=1.50", Budget(500, 2_000_000, 1.5)),
        ("calls=0", Budget(0)),
        (" money = 2 , tokens = 1_000 ", Budget(None, 1000, 2.0)),
    ],
)
def test_a_budget_is_parsed(text: str, budget: Budget) -> None:
    assert parse_budget(text) == budget


UNCLEAR = ["", "500", "calls", "calls=", "calls=x", "calls=-1", "calls=1,calls=2", "cash=1", "money=nan", "money=-1"]


@pytest.mark.parametrize("text", UNCLEAR)
def test_an_ambiguous_budget_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_budget(text)


@pytest.mark.parametrize("concurrency", [1, 8])
@pytest.mark.parametrize("calls", [0, 1, 13])
def test_a_server_never_sees_more_requests_than_the_budget_has(concurrency: int, calls: int) -> None:
    def shaky(request: Request) -> Sent:
        return Sent(503) if request.number == 1 else completion("yes")

    with ChatServer(shaky) as server, desk_of(Budget(calls=calls)) as session:
        client = session.client(server.model(concurrency=concurrency), "u")
        with pytest.raises(BudgetError, match=r"the budget of [0-9]+ call"):
            map_concurrent(session, lambda number: client.read(ask_of(str(number)), yes, CallTotals()), range(40), concurrency)
        assert len(server.requests) == session.meter.spent.calls <= calls
        if concurrency == 1:
            assert len(server.requests) == calls


def test_tokens_and_money_are_reserved_before_a_call_and_settled_after_it() -> None:
    most = estimate_request(ask_of("a" * 40)).usage(1e6, 1e6)
    assert (most.tokens_in, most.tokens_out, most.money) == (18, 10, 28.0)
    meter = SpendMeter(Budget(tokens=30))
    meter.reserve(most)
    with pytest.raises(BudgetError, match="30 tokens"):
        meter.reserve(most)
    meter.settle(most, Usage(1, 2, 0, 2.0))
    meter.reserve(most)
    meter.settle(most, Usage(1, 18, 10, 28.0))
    assert meter.spent == Usage(2, 20, 10, 30.0)
    with pytest.raises(BudgetError):
        meter.reserve(Usage(1, 1, 0, 0.0))
    with pytest.raises(BudgetError, match="money"):
        SpendMeter(Budget(money=27.9)).reserve(most)
    SpendMeter(Budget(money=28.0)).reserve(most)


def test_no_language_takes_more_tokens_than_are_reserved() -> None:
    text = "\u5b57" * 380
    assert estimate_request(ask_of(text)).tokens_in < len(text)
    said = reply("yes", tokens_in=len(text))
    with desk_of(Budget(tokens=1000)) as session, pytest.raises(BudgetError, match="1000 tokens"):
        session.client(ScriptedChat((said,)), "u").request(ask_of(text), CallTotals())
    with desk_of(Budget(tokens=3 * len(text) + 18)) as session:
        session.client(ScriptedChat((said,)), "u").request(ask_of(text), CallTotals())
        assert session.meter.spent.tokens_in == len(text)


def test_the_budget_error_counts_calls_in_progress_and_says_whether_replies_are_cached() -> None:
    meter = SpendMeter(Budget(calls=1))
    meter.reserve(Usage(1, 20, 10))
    with pytest.raises(BudgetError, match="the next call could exceed the budget of 1 call") as found:
        meter.reserve(Usage(1, 20, 10))
    assert "(1 call, at most 30 tokens, including calls in progress); all replies so far are cached: raise" in str(found.value)
    with pytest.raises(BudgetError, match=r"\(0 calls, 0 tokens\); replies are not cached: raise") as found:
        SpendMeter(Budget(calls=0), is_persistent=False).reserve(Usage(1))
    assert "go on" not in str(found.value)


def test_only_a_session_with_a_disk_cache_says_that_replies_are_cached(tmp_path: Path) -> None:
    for books, said in ((ResponseCaches(tmp_path), "all replies so far are cached"), (None, "replies are not cached")):
        with LLMSession(books, Budget(calls=0)) as session, pytest.raises(BudgetError, match=said):
            session.client(ScriptedChat(()), "u").request(ask_of("a"), CallTotals())
        with LLMSession(books, retry_policy=RetryPolicy(max_requests=1)) as session:
            client = session.client(ScriptedChat(lambda request: BUSY), "v")
            for number in range(MAX_CONSECUTIVE_FAILURES - 1):
                client.read(ask_of(str(number)), yes, CallTotals())
            with pytest.raises(ExternalError, match=f"busy; {said}"):
                client.read(ask_of("last"), yes, CallTotals())


def test_a_money_budget_is_refused_for_a_model_without_a_price(tmp_path: Path) -> None:
    with desk_of(Budget(money=1)) as session:
        with pytest.raises(UsageError, match=r"the model .* has no price; set price_in and price_out"):
            session.client(ScriptedChat(()), "u")
        session.client(ScriptedChat((), price_out=1.0), "u")
        (tmp_path / "m.gguf").write_bytes(b"")
        session.client(Llama(str(tmp_path / "m.gguf")), "u")


@pytest.mark.parametrize("tokens", [(0, 0), (-5, 5), (1, 1), (24, 3), (200, 0), (10**9, 5), (200, 10**9)])
@pytest.mark.parametrize("budget", [Budget(tokens=5000), Budget(money=5000)])
def test_no_usage_that_a_server_reports_switches_off_a_budget(tokens: tuple[int, int], budget: Budget) -> None:
    false = reply("a number of words " * 4, tokens_in=tokens[0], tokens_out=tokens[1])
    model, sums = ScriptedChat(lambda request: false, price_in=1e6, price_out=1e6), CallTotals()
    with desk_of(budget) as session:
        client = session.client(model, "u")
        with pytest.raises(BudgetError):
            map_concurrent(session, lambda number: client.request(ask_of(f"{number:0400d}"), sums), range(1000), 1)
        spent = session.meter.spent
    assert spent.calls == sums.counts["estimated"]
    assert (spent.tokens_in, spent.tokens_out) == (108 * spent.calls, 18 * spent.calls)
    assert 5000 - 410 - 126 < spent.tokens_in + spent.tokens_out <= 5000, "neither more nor much less than the budget is spent"
    assert reply_notes(sums.counts) == (
        f"tokens and money of {spent.calls} replies are estimated at four bytes per token: "
        "the server reports no number that can be right",
    )


@pytest.mark.parametrize("tokens", [(25, 5), (100, 18), (408, 72), (100_000, 90_000)])
def test_usage_that_can_be_right_is_believed(tokens: tuple[int, int]) -> None:
    model, sums = ScriptedChat((reply("a number of words " * 4, tokens_in=tokens[0], tokens_out=tokens[1]),)), CallTotals()
    with desk_of() as session:
        session.client(model, "u").request(ask_of("x" * 400), sums)
        assert (session.meter.spent.tokens_in, session.meter.spent.tokens_out) == tokens
    assert (sums.counts["estimated"], reply_notes(sums.counts)) == (0, ())


def test_an_empty_reply_may_have_no_tokens() -> None:
    sums = CallTotals()
    with desk_of() as session:
        session.client(ScriptedChat((reply("", tokens_in=3, tokens_out=0),)), "u").request(ask_of("a"), sums)
    assert sums.counts["estimated"] == 0


def test_replies_with_estimated_tokens_are_counted() -> None:
    sums = CallTotals()
    with desk_of() as session:
        client = session.client(ScriptedChat((reply("yes", estimated=True), "yes")), "u")
        for text in "ab":
            client.request(ask_of(text), sums)
    assert sums.counts["estimated"] == 1


def test_a_request_that_may_have_been_charged_counts_with_its_maximum_cost() -> None:
    charged = ModelRequestError("cut", retryable=True, charged=True)
    model = ScriptedChat((charged, BUSY, "yes"), price_in=1e6, price_out=1e6)
    with desk_of(Budget(money=60)) as session:
        client = session.client(model, "u")
        client.request(ask_of("a" * 10), CallTotals())
        assert session.meter.spent == Usage(3, 18 + 10, 10 + 2, 28.0 + 12.0, unsure=1)
        with pytest.raises(BudgetError, match="3 calls, at most 40 tokens and 40"):
            client.request(ask_of("b" * 10), CallTotals())


@pytest.mark.parametrize(
    ("answer", "unsure"), [(Sent(body=b"{"), 2), (Sent(body=b""), 2), (Sent(500), 0), (Sent(429), 0), (Sent(400), 0)]
)
def test_a_server_that_answered_with_success_may_have_charged_for_it(answer: Sent, unsure: int) -> None:
    with ChatServer(lambda request: answer) as server, desk_of(max_requests=2) as session:
        assert session.client(server.model(), "u").read(ask_of("a"), yes, CallTotals()) is None
        assert session.meter.spent.unsure == unsure
        assert bool(session.meter.spent.tokens_in) == bool(unsure)


def test_a_server_that_was_not_reached_has_charged_nothing() -> None:
    with ChatServer(lambda request: completion("yes")) as server:
        model = server.model()
    with desk_of(max_requests=1) as session:
        assert session.client(model, "u").read(ask_of("a"), yes, CallTotals()) is None
        assert session.meter.spent == Usage(calls=1)


def test_a_spend_meter_counts_correctly_over_many_threads() -> None:
    with ChatServer(lambda request: completion("yes")) as server, desk_of() as session:
        client, sums = session.client(server.model(concurrency=8), "u"), [CallTotals() for _ in range(64)]
        map_concurrent(session, lambda number: client.request(ask_of(str(number)), sums[number]), range(64), 8)
        spent = session.meter.spent
    assert (spent.calls, spent.tokens_in, spent.tokens_out) == (64, server.tokens_in, 64 * TOKENS_OUT)
    assert sum(each.counts["calls"] for each in sums) == 64
    assert server.repeated == 0


def _asked(home: Path, model: ScriptedChat, texts: str, use: str = "u") -> tuple[list[ChatReply], Usage]:
    with LLMSession(ResponseCaches(home)) as session:
        client, sums = session.client(model, use), CallTotals()
        return [client.request(ask_of(text), sums) for text in texts], session.meter.spent


def test_a_cached_reply_is_never_requested_again(tmp_path: Path) -> None:
    first = (("Yes", -0.5), ("\u202eNo", -1.0))
    said = reply("yes \x00 é \N{GRINNING FACE}", finish="length", model="m-1", first=first, seconds=1.25)
    model = ScriptedChat(lambda request: said)
    before, _ = _asked(tmp_path, model, "abc")
    after, spent = _asked(tmp_path, model, "abcd")
    assert after[:3] == before
    assert after[0] == said
    assert model.log.calls == 4
    assert spent == Usage(1, 10, 2, 0.0, journaled=3)


def test_every_attempt_is_cached_so_that_a_bad_reply_is_not_paid_for_twice(tmp_path: Path) -> None:
    model = ScriptedChat(("no", "yes"))
    for _ in range(2):
        with LLMSession(ResponseCaches(tmp_path)) as session:
            sums = CallTotals()
            assert session.client(model, "u").read(ask_of("a"), yes, sums) == "yes"
            assert (sums.counts["unreadable"], sums.counts["calls"]) == (1, 2)


def test_a_request_that_was_given_up_is_sent_again_by_the_next_session_but_not_in_the_same_one(tmp_path: Path) -> None:
    model, found = ScriptedChat(("no", "no", "no", "no", "yes")), []
    for _ in range(3):
        with LLMSession(ResponseCaches(tmp_path)) as session:
            client, sums = session.client(model, "u"), CallTotals()
            found.append(([client.read(ask_of("a"), yes, sums, attempts=2) for _ in range(2)], sums.counts["calls"]))
    assert found == [([None, None], 4), ([None, None], 4), (["yes", "yes"], 2)]
    assert model.log.calls == 5


def test_a_kill_among_the_attempts_of_a_request_that_is_sent_again_does_not_end_them(tmp_path: Path) -> None:
    for script in (("no", "no"), ("no", RuntimeError("killed")), ("no", "yes")):
        model = ScriptedChat(script)
        with LLMSession(ResponseCaches(tmp_path)) as session, suppress(RuntimeError):
            found = session.client(model, "u").read(ask_of("a"), yes, CallTotals(), attempts=2)
        assert model.log.calls == 2
    assert found == "yes"


def test_each_use_and_model_has_its_own_cache(tmp_path: Path) -> None:
    model = ScriptedChat(lambda request: "yes")
    other = ScriptedChat(lambda request: "yes", name="other")
    _asked(tmp_path, model, "a", "rerank")
    _asked(tmp_path, model, "a", "judge")
    _asked(tmp_path, other, "a", "rerank")
    assert (model.log.calls, other.log.calls) == (2, 1)
    assert len(list((tmp_path / "responses").iterdir())) == 3


def test_a_failed_request_is_not_cached(tmp_path: Path) -> None:
    model = ScriptedChat((ModelRequestError("down"), "yes"))
    with LLMSession(ResponseCaches(tmp_path)) as session, pytest.raises(ModelRequestError):
        session.client(model, "u").request(ask_of("a"), CallTotals())
    assert _asked(tmp_path, model, "a")[0][0].text == "yes"


def test_a_journal_truncated_anywhere_keeps_every_complete_reply(tmp_path: Path) -> None:
    path = tmp_path / "book.journal"
    book = ResponseCache(path, ChatReply)
    ends = [0]
    for key in "abc":
        book.put(key, reply(f"reply {key}"))
        ends.append(path.stat().st_size)
    book.close()
    whole = path.read_bytes()
    for cut in [*range(ends[1], ends[2], 7), ends[2] - 1, ends[2], ends[3] - 1]:
        path.write_bytes(whole[:cut])
        book = ResponseCache(path, ChatReply)
        kept = [key for key in "abc" if book.find(key)]
        assert kept == list("abc")[: sum(end <= cut for end in ends[1:])]
        book.put("z", reply("new"))
        book.close()
        book = ResponseCache(path, ChatReply)
        assert book.find("z") == reply("new")
        book.close()


def test_a_damaged_journal_is_reported_and_keeps_the_records_before(tmp_path: Path) -> None:
    path = tmp_path / "book.journal"
    book = ResponseCache(path, ChatReply)
    book.put("a", reply("first"))
    middle = path.stat().st_size
    book.put("b", reply("second"))
    book.put("c", reply("third"))
    book.close()
    content = bytearray(path.read_bytes())
    content[middle + 80] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(ExternalError, match="before the damage"):
        ResponseCache(path, ChatReply)
    book = ResponseCache(path, ChatReply)
    assert book.find("a") == reply("first")
    assert book.find("b") is None
    book.close()


def test_a_response_cache_that_another_process_has_open_is_refused(tmp_path: Path) -> None:
    book = ResponseCache(tmp_path / "book.journal", ChatReply)
    with pytest.raises(ExternalError, match="another rankproof is sending the same requests"):
        ResponseCache(tmp_path / "book.journal", ChatReply)
    book.close()


def test_concurrent_results_keep_the_order_of_the_items() -> None:
    turn = [threading.Event() for _ in range(4)]
    turn[3].set()

    def backwards(number: int) -> int:
        assert turn[number].wait(20)
        if number:
            turn[number - 1].set()
        return number

    with desk_of() as session:
        assert map_concurrent(session, backwards, range(4), 4) == [0, 1, 2, 3]
        assert map_concurrent(session, backwards, range(4), 1) == [0, 1, 2, 3]


def test_threads_continue_while_the_first_results_are_read() -> None:
    done = [threading.Event() for _ in range(6)]

    def work(number: int) -> int:
        done[number].set()
        return number

    with desk_of() as session, closing(map_in_order(session, work, range(6), 2)) as found:
        assert next(found) == 0
        assert all(event.wait(20) for event in done)
        assert list(found) == [1, 2, 3, 4, 5]
        session.client(ScriptedChat(("yes",)), "u").request(ask_of("a"), CallTotals())


def test_a_closed_iterator_sends_nothing_more() -> None:
    begun, closed = threading.Event(), threading.Event()

    def script(request: ChatRequest) -> str:
        if request.messages[0].text != "0":
            begun.set()
            assert closed.wait(20)
        return "yes"

    model = ScriptedChat(script)
    with desk_of() as session:
        client = session.client(model, "u")
        found = map_in_order(session, lambda number: client.request(ask_of(str(number)), CallTotals()), range(50), 2)
        next(found)
        assert begun.wait(20)
        threading.Thread(target=_set_when_stopped, args=(session, closed)).start()
        found.close()
        with pytest.raises(CancelledError):
            client.request(ask_of("more"), CallTotals())
    assert model.log.calls <= 3


def _set_when_stopped(session: LLMSession, event: threading.Event) -> None:
    with pytest.raises(CancelledError):
        session._stop.sleep(20)
    event.set()


def _stopped_by(session: LLMSession, stop: Callable[[], None], client: ChatClient, begun: threading.Event) -> list[BaseException]:
    met: list[BaseException] = []

    def request() -> None:
        try:
            client.request(ask_of("a"), CallTotals())
        except ExternalError as error:
            met.append(error)

    thread = threading.Thread(target=request)
    thread.start()
    assert begun.wait(20)
    stop()
    thread.join(20)
    assert not thread.is_alive()
    return met


def test_a_pause_ends_when_the_session_is_stopped() -> None:
    begun = threading.Event()

    def busy(request: ChatRequest) -> Exception:
        begun.set()
        return ModelRequestError("busy", retryable=True, wait=100.0)

    model = ScriptedChat(busy)
    with LLMSession() as session:
        met = _stopped_by(session, session.stop, session.client(model, "u"), begun)
    assert isinstance(met[0], CancelledError)
    assert model.log.calls == 1


def test_the_first_failure_ends_the_pauses_of_all_threads_and_is_raised() -> None:
    pausing = threading.Event()

    def script(request: ChatRequest) -> Exception:
        if request.messages[0].text == "0":
            pausing.set()
            return ModelRequestError("busy", retryable=True, wait=100.0)
        assert pausing.wait(20)
        return ModelUnavailableError("wrong key")

    model = ScriptedChat(script)
    with LLMSession() as session:
        client = session.client(model, "u")
        with pytest.raises(ModelUnavailableError, match="wrong key"):
            map_concurrent(session, lambda number: client.request(ask_of(str(number)), CallTotals()), range(30), 2)
    assert model.log.calls == 2
