"""The client of OpenAI-compatible servers: requests, responses and errors."""

import json
import threading
from datetime import UTC, datetime
from typing import Any

import pytest

from rankproof._data.identity import identity, identity_key
from rankproof._io import http
from rankproof._io.http import CallLimiter, CallsStoppedError, retry_after_seconds
from rankproof._io.secrets import Secret
from rankproof.errors import MissingExtraError, UsageError
from rankproof.models._api.settings import ModelRequestError, ModelUnavailableError
from rankproof.models._chat.base import ChatReply, ChatRequest, Message
from rankproof.models._chat.openai import OpenAIChat
from support.chat_server import TOKENS_OUT, ChatServer, body_of, completion
from support.scripted_server import NEVER, Request, Sent

ASK = ChatRequest((Message("system", "Be brief."), Message("user", "Two and two?")), 16)
KEY = "sk-canary-0123456789abcdef"


def replied(server: ChatServer, ask: ChatRequest = ASK, **settings: Any) -> ChatReply:
    chat = server.model(**settings).load()
    try:
        return chat.reply(ask)
    finally:
        chat.close()


def to_raw(body: Any, ask: ChatRequest = ASK, **settings: Any) -> ChatReply:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    with ChatServer(lambda request: Sent(body=content)) as server:
        return replied(server, ask, **settings)


def failure(sent: Sent, ask: ChatRequest = ASK) -> ModelRequestError:
    with ChatServer(lambda request: sent) as server, pytest.raises(ModelRequestError) as caught:
        replied(server, ask)
    assert len(server.requests) == 1
    return caught.value


def test_a_request_carries_the_messages_and_every_setting() -> None:
    with ChatServer(lambda request: completion("4")) as server:
        reply = replied(server, seed=7, temperature=0.5)
    sent = server.requests[0]
    assert sent.path == "/v1/chat/completions"
    assert "Authorization" not in sent.headers
    assert sent.body == {
        "model": "loopback",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Two and two?"}],
        "max_tokens": 16,
        "temperature": 0.5,
        "seed": 7,
        "stream": False,
    }
    assert (reply.text, reply.finish, reply.tokens_in, reply.tokens_out) == ("4", "stop", server.tokens_in, TOKENS_OUT)
    assert reply.model == "loopback-1"
    assert reply.first is None
    assert reply.seconds > 0


def test_settings_below_zero_are_left_to_the_server() -> None:
    with ChatServer(lambda request: completion("4")) as server:
        replied(server, seed=-1, temperature=-1, limit_key="max_completion_tokens")
    assert server.requests[0].body.keys() == {"model", "messages", "max_completion_tokens", "stream"}


def test_optional_parameters_are_sent_in_the_servers_format() -> None:
    top = [{"token": "Yes", "logprob": -0.25}, {"token": "No", "logprob": -1.5}]
    with ChatServer(lambda request: completion("Yes", logprobs={"content": [{"top_logprobs": top}]})) as server:
        reply = replied(server, ChatRequest(ASK.messages, 1, '{"type": "object"}', 50))
    body = server.requests[0].body
    assert body["response_format"]["json_schema"] == {"name": "reply", "strict": True, "schema": {"type": "object"}}
    assert (body["logprobs"], body["top_logprobs"]) == (True, 20)
    assert reply.first == (("Yes", -0.25), ("No", -1.5))


def _with_logprob(value: str) -> bytes:
    whole = json.dumps(body_of("Yes", logprobs={"content": [{"top_logprobs": [{"token": "No", "logprob": -1}, {}]}]}))
    good = '{"token": "No", "logprob": -1}'
    return whole.replace(good, f'{good}, {{"token": "Yes", "logprob": {value}}}').encode()


@pytest.mark.parametrize("value", ["-Infinity", "-1e999", "-1e9", "null"])
def test_a_token_without_a_probability_is_dropped(value: str) -> None:
    assert to_raw(_with_logprob(value)).first == (("No", -1.0),)


@pytest.mark.parametrize("value", ["NaN", "Infinity", "1e999", "0.5", "1", f"1{'0' * 400}", '"high"', "true", "[]"])
def test_a_log_probability_above_0_is_refused(value: str) -> None:
    with pytest.raises(ModelRequestError, match="a log-probability is not a number up to 0"):
        to_raw(_with_logprob(value))


def test_a_log_probability_that_rounding_puts_above_0_is_0() -> None:
    assert to_raw(_with_logprob("1.2e-7")).first == (("No", -1.0), ("Yes", 0.0))


@pytest.mark.parametrize(
    ("told", "finish"),
    [("stop", "stop"), ("length", "length"), ("content_filter", "refusal"), ("tool_calls", "other"), (None, "other")],
)
def test_the_finish_reason_is_reported(told: str, finish: str) -> None:
    assert to_raw(body_of("text", finish=told)).finish == finish


def test_a_refusal_is_reported_with_its_text() -> None:
    reply = to_raw(body_of(None, message={"refusal": "I cannot."}))
    assert (reply.text, reply.finish) == ("I cannot.", "refusal")


def test_an_empty_reply_is_a_reply() -> None:
    assert to_raw(body_of("")).text == to_raw(body_of(None)).text == ""


@pytest.mark.parametrize("usage", [None, [], {}, {"prompt_tokens": -1, "completion_tokens": 2.0}, {"prompt_tokens": "7"}])
def test_tokens_that_the_server_does_not_report_are_zero(usage: Any) -> None:
    reply = to_raw({**body_of("x" * 10), "usage": usage})
    assert (reply.tokens_in, reply.tokens_out, reply.estimated) == (0, 0, False)


@pytest.mark.parametrize("role", ["user", "system", "tool", "Assistant", "", None, 7])
def test_a_message_of_another_role_is_refused(role: Any) -> None:
    with pytest.raises(ModelRequestError, match="the role of the message is not assistant"):
        to_raw(body_of("x", message={"role": role}))


@pytest.mark.parametrize("body", [b'{"choices": [], "choices": []}', b'{"a": {"b": 1, "\\u0062": 2}}'])
def test_a_body_with_a_duplicate_key_is_refused(body: bytes) -> None:
    with pytest.raises(ModelRequestError, match="a duplicate key"):
        to_raw(body)


def test_a_lone_surrogate_becomes_the_replacement_character() -> None:
    text = to_raw(b'{"choices": [{"message": {"content": "a\\ud800b \\ud83d\\ude00"}}]}').text
    assert text == "a\N{REPLACEMENT CHARACTER}b \N{GRINNING FACE}"


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_a_temporary_failure_is_retryable(status: int) -> None:
    error = failure(Sent(status, b"x", {"Retry-After": "3"}))
    assert (error.retryable, error.wait, error.optional_params) == (True, 3.0, False)
    assert str(status) in str(error)


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_rejected_request_is_not_retryable_but_its_optional_parameters_may_be_dropped(status: int) -> None:
    told = json.dumps({"error": {"message": "logprobs\x1b[2J are not supported"}}).encode()
    assert not failure(Sent(status, told)).optional_params
    error = failure(Sent(status, told), ChatRequest(ASK.messages, 5, logprobs=2))
    assert (error.retryable, error.optional_params) == (False, True)
    assert "logprobs\\x1b[2J are not supported" in str(error)


@pytest.mark.parametrize("body", [b"", b"<html>", b'"why"', b'{"error": "no such thing"}', b"[1]", b'{"error": {"message": 5}}'])
def test_a_rejection_of_any_form_is_reported(body: bytes) -> None:
    assert "status 400" in str(failure(Sent(400, body)))


@pytest.mark.parametrize(("status", "word"), [(401, "key"), (403, "key"), (404, "loopback"), (302, "302"), (308, "308")])
def test_an_error_that_no_retry_can_fix_ends_the_run(status: int, word: str) -> None:
    elsewhere = Sent(status, b"secret words", {"Location": "/v1/other"})
    with ChatServer(lambda request: elsewhere) as server, pytest.raises(ModelUnavailableError, match=word) as caught:
        replied(server)
    assert len(server.requests) == 1
    assert "secret words" not in str(caught.value)


def test_an_unreachable_server_is_a_retryable_failure() -> None:
    with ChatServer(lambda request: completion("4")) as server:
        model = server.model()
    with pytest.raises(ModelRequestError, match="ConnectError") as caught:
        model.load().reply(ASK)
    assert caught.value.retryable


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("0", 0.0),
        ("2", 2.0),
        ("1.5", 1.5),
        ("-3", 0.0),
        ("Sun, 15 Nov 2026 12:00:30 GMT", 30.0),
        ("Sun, 15 Nov 2026 11:59:30 GMT", 0.0),
        ("Sun, 15 Nov 2026 12:00:30", 30.0),
        ("", None),
        ("soon", None),
        ("inf", None),
        ("nan", None),
        ("1e3", None),
        ("٣", None),
        ("9" * 10_000, 1e10),
        (f"{'9' * 10_000}.{'9' * 10_000}", 1e10),
        (f"-{'9' * 10_000}", 0.0),
        (f"{'0' * 10_000}7", 7.0),
        ("5, 30, 7", 30.0),
        ("5, soon", None),
        ("5,", None),
        ("9" * 10_000 + "x", None),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 1e10),
        ("Sun, 15 Nov 99999 12:00:30 GMT", None),
        ("Sun, 99 Nov 2026 12:00:30 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date_and_nonsense_is_ignored(header: str, seconds: float | None) -> None:
    assert retry_after_seconds(header, datetime(2026, 11, 15, 12, tzinfo=UTC)) == seconds


@pytest.mark.parametrize(
    "address",
    [
        "",
        "api.openai.com/v1",
        "ftp://host/v1",
        "file:///etc/passwd",
        "https://",
        f"https://user:{KEY}@host/v1",
        f"https://{KEY}@host/v1",
        f"https://host/v1?key={KEY}",
        f"https://host/v1#{KEY}",
        f"https://host/v1 {KEY}",
        f"https://127.0.0.1\\@{KEY}/v1",
        "https://host:99999/v1",
        "https://höst/v1",
        "https://host/v1\n",
        7,
    ],
)
def test_an_address_that_could_contain_a_secret_is_refused_and_not_shown(address: Any) -> None:
    with pytest.raises(UsageError, match="base_url") as caught:
        OpenAIChat("m", base_url=address)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    "address", ["http://[::1]:8080/v1", "http://127.0.0.9:1", "http://localhost:11434/v1/", "https://a-b.c_d/x"]
)
def test_a_plain_address_is_accepted(address: str) -> None:
    assert OpenAIChat("m", base_url=address).base_url == address.rstrip("/")


@pytest.mark.parametrize("address", ["http://gpu-box:8000/v1", "http://127.1/v1", "http://localhost.evil.example/v1"])
def test_a_key_never_goes_to_another_machine_in_plain_text(address: str) -> None:
    with pytest.raises(UsageError, match="read on the network"):
        OpenAIChat("m", base_url=address)
    assert OpenAIChat("m", base_url=address, api_key_env="").load() is not None


def test_a_missing_key_names_its_variable_and_the_way_without_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOME_KEY", raising=False)
    with pytest.raises(UsageError, match=r"variable SOME_KEY .* is not set; .*api_key_env = \"\" \(api_key_env=\"\"\)"):
        OpenAIChat("m", api_key_env="SOME_KEY").load()


@pytest.mark.parametrize("name", [KEY, "sk_live_abc", "A B", "1KEY", "KEY=1", None])
def test_a_key_in_the_place_of_its_variable_is_refused_and_not_shown(name: Any) -> None:
    with pytest.raises(UsageError, match="api_key_env") as caught:
        OpenAIChat("m", api_key_env=name)
    assert str(name) not in str(caught.value)


@pytest.mark.parametrize("key", [f"{KEY}\n", f" {KEY}", "a b", f"{KEY}\x1b", "schlüssel"])
def test_a_key_with_blanks_or_foreign_letters_is_refused_and_not_shown(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", key)
    with pytest.raises(UsageError, match="SOME_KEY") as caught:
        OpenAIChat("m", api_key_env="SOME_KEY").load()
    assert key.strip() not in str(caught.value)


def test_a_missing_key_is_an_error_only_for_another_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOME_KEY", raising=False)
    with pytest.raises(UsageError, match="SOME_KEY"):
        OpenAIChat("m", api_key_env="SOME_KEY").load()
    with ChatServer(lambda request: completion("4")) as server:
        assert replied(server, api_key_env="SOME_KEY").text == "4"
        monkeypatch.setenv("SOME_KEY", KEY)
        replied(server, api_key_env="SOME_KEY")
    assert [request.headers.get("Authorization") for request in server.requests] == [None, f"Bearer {KEY}"]


def test_a_key_that_comes_back_is_masked_and_other_words_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", KEY)
    with ChatServer(lambda request: completion(f"{request.headers['Authorization']}; Bearer bonds; {KEY}")) as server:
        assert replied(server, api_key_env="SOME_KEY").text == "Bearer ***; Bearer bonds; ***"
    assert Secret(KEY).masked("bearer eyJhbGciOiJIUzI1NiJ9.e30") == "bearer ***"
    assert Secret("EMPTY").masked("EMPTY words") == "EMPTY words"
    assert KEY not in repr(Secret(KEY))


def test_a_key_that_comes_back_escaped_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", KEY)
    escaped = "".join(f"\\u{ord(char):04x}" for char in KEY)
    assert to_raw(f'{{"choices": [{{"message": {{"content": "{escaped}"}}}}]}}'.encode(), api_key_env="SOME_KEY").text == "***"


def test_a_proxy_in_the_environment_is_not_used_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with ChatServer(lambda request: completion("4")) as server:
        assert replied(server).text == "4"


def test_an_invalid_proxy_is_reported_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", f"gopher://user:{KEY}@proxy:1")
    with pytest.raises(UsageError, match="proxy") as caught:
        OpenAIChat("m", api_key_env="", base_url="https://host/v1").load()
    assert KEY not in str(caught.value)


def test_without_its_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "httpx", None)
    with pytest.raises(MissingExtraError, match=r"rankproof\[http\]"):
        OpenAIChat("m", base_url="http://127.0.0.1:1", api_key_env="").load()


@pytest.mark.parametrize(
    "settings",
    [
        {"model": " "},
        {"temperature": 3},
        {"temperature": float("nan")},
        {"seed": 1.5},
        {"seed": -2},
        {"timeout": 0},
        {"concurrency": 0},
        {"price_in": -1},
        {"limit_key": "tokens"},
    ],
)
def test_a_setting_out_of_bounds_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        OpenAIChat(**{"model": "m", **settings})


def test_only_what_changes_a_reply_is_part_of_the_identity() -> None:
    model = OpenAIChat("m")
    same = OpenAIChat("m", api_key_env="OTHER", timeout=5, concurrency=9, price_in=1, price_out=2)
    assert identity_key(model) == identity_key(same)
    changed: list[dict[str, Any]] = [{"model": "n"}, {"base_url": "https://h/v1"}, {"temperature": 1.0}, {"seed": 1}]
    changed += [{"limit_key": "max_completion_tokens"}]
    assert (
        len({identity_key(OpenAIChat(**{"model": "m", **each})) for each in changed} | {identity_key(model)}) == len(changed) + 1
    )
    assert "api_key_env" not in identity(model)


def test_no_more_requests_than_allowed_run_at_once() -> None:
    lock, most, now = threading.Lock(), 0, 0
    together = threading.Barrier(2)

    def answer(request: Request) -> Sent:
        nonlocal most, now
        with lock:
            now += 1
            most = max(most, now)
        together.wait(20)
        with lock:
            now -= 1
        return completion("4")

    with ChatServer(answer) as server:
        chat = server.model(concurrency=2).load()
        threads = [threading.Thread(target=chat.reply, args=(ASK,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        chat.close()
    assert len(server.requests) == 8
    assert most == 2


def test_closing_ends_every_wait_for_a_server_that_never_answers() -> None:
    ended: list[Exception] = []
    arrived = threading.Event()

    def ask() -> None:
        try:
            chat.reply(ASK)
        except ModelUnavailableError as error:
            ended.append(error)

    def never(request: Request) -> Sent:
        arrived.set()
        return NEVER

    with ChatServer(never) as server:
        chat = server.model(timeout=600, concurrency=2).load()
        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        assert arrived.wait(20)
        chat.close()
        for thread in threads:
            thread.join(20)
        assert len(ended) == 3
        with pytest.raises(ModelUnavailableError, match="cancelled"):
            chat.reply(ASK)
        chat.close()


def test_afterwards_runs_once_after_the_last_call() -> None:
    begun, go, done = threading.Event(), threading.Event(), threading.Event()
    said: list[str] = []

    def slow() -> None:
        begun.set()
        go.wait(20)
        said.append("call")

    def ask() -> None:
        with pytest.raises(CallsStoppedError):
            calls.within(60, slow)
        said.append("asker")

    def end() -> None:
        said.append("end")
        done.set()

    calls = CallLimiter(1)
    waiting = threading.Thread(target=ask)
    waiting.start()
    assert begun.wait(20)
    calls.stop(end)
    waiting.join(20)
    assert said == ["asker"]
    go.set()
    assert done.wait(20)
    assert said == ["asker", "call", "end"]


def test_a_response_is_limited_to_four_mebibytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_RESPONSE_BYTES", 1 << 20)
    assert len(to_raw(body_of("x" * 1_000_000)).text) == 1_000_000
    with pytest.raises(ModelRequestError, match="longer than 1 MiB"):
        to_raw(body_of("x" * (1 << 20)))
