"""`rankproof run` with language models: a budget, a dry run, a key that stays a secret, and an end when one is asked for."""

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

import pytest

import rankproof._experiment
from rankproof._cli.main import main
from rankproof._experiment.config_read import read_experiment
from rankproof._experiment.config_write import experiment_toml
from rankproof._experiment.estimate import estimate_cost
from rankproof._experiment.run import RunOptions, run_experiment
from rankproof._llm.budget import Budget
from rankproof.errors import UsageError
from rankproof.models._api.settings import ModelRequestError, ModelUnavailableError
from rankproof.models._chat.base import ChatRequest, Message
from rankproof.models._chat.openai import OpenAIChat
from rankproof.models._registry import chat_model_by_name
from support.bread_dataset import QUERIES, work_in
from support.chat_server import ChatServer, completion
from support.examples import sampled
from support.scripted_server import NEVER, Request, Sent

SYSTEMS = """\
dataset = "data"
[systems.bm25]
stage = "bm25"
[systems.asked]
stage = "rerank"
of = "bm25"
by = "pointwise"
top = 2
model = {{name = "openai", model = "m", base_url = "{address}", {more}}}
"""
CANARY = "CANARY-7f3a9c51d2e84b60"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory with a dataset and a cache of its own."""
    return work_in(tmp_path, monkeypatch)


def written(address: str, more: str = 'api_key_env = ""') -> None:
    Path("experiment.toml").write_text(SYSTEMS.format(address=address, more=more))


def ran(capsys: pytest.CaptureFixture[str], *options: str, code: int = 0) -> tuple[str, str]:
    assert main(["run", "experiment.toml", *options]) == code
    said = capsys.readouterr()
    return said.out, said.err


def yes(request: Request) -> Sent:
    top = [{"token": "Yes", "logprob": -0.1}, {"token": "No", "logprob": -2.0}]
    return completion("Yes", logprobs={"content": [{"top_logprobs": top}]})


def everything(folder: Path) -> bytes:
    """The bytes of every file below the folder but the dataset and what names the variable."""
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_a_dry_run_calls_no_model_builds_nothing_and_writes_nothing(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ChatServer(yes) as server:
        written(server.address, 'api_key_env = "", price_in = 2.0, price_out = 8.0')
        before = sorted(folder.rglob("*"))
        out, err = ran(capsys, "--dry-run", "--format", "json")
        assert server.requests == []
    assert sorted(folder.rglob("*")) == before
    table = json.loads(out)["tables"][0]
    bm25, asked, total = table["rows"]
    assert (bm25["system"], bm25["models"], bm25["calls"]) == ("bm25", "none", 0)
    assert (asked["models"], asked["calls"], total["calls"]) == ("m", 6, 6)
    assert asked["tokens in"] > asked["tokens out"] >= 6
    assert float(asked["money"]) == pytest.approx((asked["tokens in"] * 2 + asked["tokens out"] * 8) / 1e6, abs=1e-4)
    assert "responses cached by an earlier run cost nothing" in " ".join(err.split())


def test_the_dry_run_is_no_less_than_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    with ChatServer(yes) as server:
        written(server.address)
        said = estimate_cost(read_experiment("experiment.toml")).total
        ran(capsys)
        assert not said.is_priced
        assert len(server.requests) == said.estimate.calls == 6


def test_a_dry_run_says_whether_the_budget_covers_it_and_where_no_price_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    written("http://127.0.0.1:9/v1")
    out, _ = ran(capsys, "--dry-run", "--budget", "calls=5")
    assert "no price given" in out
    assert "The estimate exceeds the budget: calls (6 of 5)." in out
    assert "The estimate is within the budget" in ran(capsys, "--dry-run", "--budget", "calls=6,tokens=100000")[0]


@pytest.mark.parametrize("options", [(), ("--dry-run",), ("--no-cache",)])
def test_a_budget_of_money_is_refused_for_a_model_without_a_price(
    capsys: pytest.CaptureFixture[str], options: tuple[str, ...]
) -> None:
    with ChatServer(yes) as server:
        written(server.address)
        _, err = ran(capsys, "--budget", "money=1", *options, code=2)
        assert "system asked: the budget limits money, but the model m has no price; set price_in" in err
        assert server.requests == []


def test_without_a_cache_no_message_says_that_responses_are_cached(capsys: pytest.CaptureFixture[str]) -> None:
    with ChatServer(yes) as server:
        written(server.address, 'api_key_env = "", concurrency = 1')
        _, err = ran(capsys, "--budget", "calls=4", "--no-cache", code=1)
    assert "replies are not cached: raise --budget and run the same command again" in err
    assert "are cached:" not in err


def test_tokens_that_the_server_does_not_count_are_noted_as_estimates(capsys: pytest.CaptureFixture[str]) -> None:
    def untold(request: Request) -> Sent:
        return Sent(body=json.dumps({**json.loads(yes(request).body), "usage": None}).encode())

    with ChatServer(untold) as server:
        written(server.address)
        _, err = ran(capsys)
        assert "tokens and money of 6 replies are estimated" in " ".join(err.split())
        ran(capsys, "-o", "out")
    asked = json.loads(Path("out/result.json").read_text())["systems"][1]
    assert asked["counts"]["estimated"]["sum"] == 6
    assert any("of 6 replies are estimated" in remark for remark in asked["remarks"])


def test_a_server_that_refuses_every_request_is_not_called_unreachable(capsys: pytest.CaptureFixture[str]) -> None:
    refused = Sent(400, json.dumps({"error": {"message": "max_tokens is unknown here"}}).encode())
    with ChatServer(lambda request: refused) as server:
        written(server.address)
        _, err = ran(capsys, "-o", "out", code=1)
    told = " ".join(err.split())
    assert Path("out", "result.json").exists()
    assert "system asked: all 6 requests to its models failed; its notes say why" in told
    assert "the server rejected every request" in told
    assert "max_tokens is unknown here" in told
    assert "likely causes: limit_key, max_tokens, or a prompt longer than the model's context" in told
    assert "when the server is well" not in told


@pytest.mark.parametrize(
    ("stage", "well"),
    [
        ('stage = "rerank"\nof = "bm25"\nby = "listwise"\ntop = 2', "[2] > [1]"),
        ('stage = "rerank"\nof = "bm25"\nby = "pairwise"\ntop = 2', '{"better": "A"}'),
        ('stage = "rewrite"\nof = "bm25"', '{"query": "rye bread"}'),
        ('stage = "answer"\nof = "bm25"', '{"answer": "rye", "sources": [1]}'),
    ],
)
def test_a_run_without_a_usable_reply_ends_with_1_and_the_next_run_asks_again(
    capsys: pytest.CaptureFixture[str], stage: str, well: str
) -> None:
    with ChatServer(lambda request: completion("{")) as server:
        model = f'model = {{name = "openai", model = "m", base_url = "{server.address}", api_key_env = ""}}'
        systems = f'dataset = "data"\n[systems.bm25]\nstage = "bm25"\n[systems.asked]\n{stage}\n{model}\n'
        Path("experiment.toml").write_text(systems)
        _, err = ran(capsys, "-o", "out", "--no-report", code=1)
        assert "system asked: all" in err
        assert Path("out", "result.json").exists()
        server.answer = lambda request: completion(well)
        ran(capsys, "-o", "out", "--no-report")
        asked = len(server.requests)
        ran(capsys, "-o", "out", "--no-report")
        assert len(server.requests) == asked


def test_a_dry_run_without_language_models_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    Path("experiment.toml").write_text(SYSTEMS.partition("[systems.asked]")[0])
    out, err = ran(capsys, "--dry-run")
    assert "No system calls a language model, a model API or a search engine." in out
    assert err == ""


def test_a_run_stops_at_its_budget_and_continues_from_there(capsys: pytest.CaptureFixture[str]) -> None:
    with ChatServer(yes) as server:
        written(server.address, 'api_key_env = "", concurrency = 1')
        _, err = ran(capsys, "--budget", "calls=4", code=1)
        assert "the next call could exceed the budget of 4 calls" in err
        assert len(server.requests) == 4
        out, _ = ran(capsys, "--budget", "calls=2")
        assert "asked" in out
        assert len(server.requests) == 6
        assert server.repeated == 0


@pytest.mark.parametrize("text", ["calls", "calls=many", "dollars=3"])
def test_a_wrong_budget_is_a_usage_error(capsys: pytest.CaptureFixture[str], text: str) -> None:
    written("http://127.0.0.1:9/v1")
    assert "calls=500,tokens=2000000,money=1.50" in ran(capsys, "--budget", text, code=2)[1]


def test_a_model_of_a_file_is_written_back_with_every_setting() -> None:
    written(
        "http://127.0.0.1:9/v1", 'api_key_env = "", seed = 5, temperature = -1, limit_key = "max_completion_tokens", timeout = 3'
    )
    experiment = read_experiment("experiment.toml")
    again = Path("again.toml")
    again.write_text(experiment_toml(experiment))
    assert 'api_key_env = ""' in again.read_text()
    assert read_experiment(again).systems == experiment.systems


@pytest.mark.parametrize(
    ("model", "word"),
    [
        ('"openai"', "lacks its model"),
        ('{name = "openai", model = "m", api_key = "sk-1"}', "no setting api_key"),
        ('"gpt-4o-mini"', "known: openai"),
        ('{name = "openai", model = "m", api_key_env = "sk-proj-123"}', "api_key_env is not the name"),
        ('{name = "openai", model = "m", base_url = "https://u:sk-proj-123@h/v1"}', "base_url is not a plain"),
        ("7", "write a name"),
    ],
)
def test_a_wrong_model_names_its_line_and_hides_its_secret(capsys: pytest.CaptureFixture[str], model: str, word: str) -> None:
    text = SYSTEMS.partition("model =")[0]
    Path("experiment.toml").write_text(f"{text}model = {model}\n")
    err = ran(capsys, code=2)[1]
    assert "experiment.toml:9" in err
    assert word in err
    assert "sk-" not in err


def test_a_chat_model_has_a_name() -> None:
    assert chat_model_by_name("openai", model="m", seed=3) == OpenAIChat("m", seed=3)
    for name in ("torch:x", "./folder", "a/b", "", "nothing"):
        with pytest.raises(UsageError, match="known: openai"):
            chat_model_by_name(name)


def echo(request: Request) -> Sent:
    """The key in every place that an answer has; now and then as an error of some kind."""
    said = request.headers["Authorization"]
    if request.number == 1 and "rise" in json.dumps(request.body["messages"]):
        return Sent(500, said.encode(), {"X-Key": said, "Retry-After": "0"})
    top = [{"token": said, "logprob": -0.1}, {"token": "Yes", "logprob": -0.2}, {"token": "No", "logprob": -3.0}]
    sent = completion(f"Yes {said} {CANARY}", logprobs={"content": [{"top_logprobs": top}]})
    return Sent(body=sent.body.replace(b"loopback-1", CANARY.encode()), headers={"X-Key": said})


@pytest.mark.slow
def test_a_key_is_found_nowhere_after_a_run(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHAT_KEY", CANARY)
    caplog.set_level(logging.DEBUG)
    with ChatServer(echo) as server:
        written(server.address, 'api_key_env = "CHAT_KEY"')
        out, err = ran(capsys, "-v", "-o", "results")
        assert {request.headers["Authorization"] for request in server.requests} == {f"Bearer {CANARY}"}
    files = everything(folder)
    assert b"CHAT_KEY" in files
    assert (folder / "cache" / "responses").is_dir()
    for place in (out, err, caplog.text, files.decode("latin-1")):
        assert CANARY not in place
        assert CANARY.lower() not in place.lower()


@pytest.mark.parametrize("status", sampled([200, 302, 400, 401, 403, 404, 429, 500], 3))
def test_a_key_is_found_in_no_error_and_no_traceback(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setenv("CHAT_KEY", CANARY)
    told = json.dumps({"error": {"message": f"wrong key: {CANARY}"}, "choices": [{"message": {"content": {CANARY: CANARY}}}]})
    bad = Sent(status, told.encode(), {"Location": f"/{CANARY}", "Retry-After": CANARY})
    with ChatServer(lambda request: bad) as server:
        chat = server.model(api_key_env="CHAT_KEY").load()
        with pytest.raises((ModelRequestError, ModelUnavailableError)) as caught:
            chat.reply(ChatRequest((Message("user", "?"),), 5))
        chat.close()
        inside = caught.value.__traceback__.tb_next if caught.value.__traceback__ else None
        shown = traceback.TracebackException(type(caught.value), caught.value, inside, capture_locals=True)
        told_all = "".join(shown.format())
        assert "raise outcome" in told_all
        assert CANARY not in told_all
        assert caught.value.__context__ is None
        assert caught.value.__cause__ is None
        written(server.address, 'api_key_env = "CHAT_KEY"')
        monkeypatch.setattr("rankproof._llm.session.RetryPolicy", lambda: _impatient())
        ran(capsys, code=1)
    assert CANARY.encode() not in everything(folder)


def _impatient() -> Any:
    from rankproof._io.retry import RetryPolicy

    return RetryPolicy(max_requests=1)


def test_python_may_set_a_budget_too(folder: Path) -> None:
    with ChatServer(yes) as server:
        written(server.address)
        with pytest.raises(rankproof.errors.ExternalError, match="budget"):
            run_experiment(read_experiment("experiment.toml"), RunOptions(cache=None, budget=Budget(calls=0)))
        assert server.requests == []


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX has them")
@pytest.mark.parametrize(("number", "concurrency"), [pytest.param(signal.SIGTERM, 1, marks=pytest.mark.slow), (signal.SIGINT, 4)])
def test_stopping_a_run_does_not_wait_for_a_slow_server(
    capsys: pytest.CaptureFixture[str], folder: Path, number: signal.Signals, concurrency: int
) -> None:
    silent = threading.Semaphore(0)

    def mostly_silent(request: Request) -> Sent:
        if len(server.requests) <= 2:
            return yes(request)
        silent.release()
        return NEVER

    with ChatServer(mostly_silent) as server:
        written(server.address, f'api_key_env = "", concurrency = {concurrency}, timeout = 600')
        command = [sys.executable, "-m", "rankproof", "run", "experiment.toml"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder)
        for _ in range(min(concurrency, len(QUERIES))):
            assert silent.acquire(timeout=60)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
        assert b"stopped; run the same command again to continue" in err
        assert process.returncode == 128 + number
        server.answer = yes
        asked = len(server.requests)
        ran(capsys)
        assert len(server.requests) - asked == 6 - 2


def test_clearing_the_cache_keeps_paid_responses(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    with ChatServer(yes) as server:
        written(server.address)
        ran(capsys)
        assert main(["cache", "clear"]) == 0
        ran(capsys)
        assert len(server.requests) == 6
        assert main(["cache", "clear", "--kind", "responses", "--kind", "stages"]) == 0
        ran(capsys)
        assert len(server.requests) == 12


def test_shared_requests_are_counted_once_and_different_ones_each() -> None:
    model = '{name = "openai", model = "m", base_url = "http://127.0.0.1:9/v1", api_key_env = "", price_in = 1.0}'
    Path("experiment.toml").write_text(
        SYSTEMS.partition("model =")[0]
        + f"""model = {model}
[systems.same]
stage = "fuse"
of = ["asked", "bm25"]
[systems.rewritten]
stage = "rewrite"
of = "asked"
model = {model.replace("price_in = 1.0", "price_in = 0.0")}
"""
    )
    prices = estimate_cost(read_experiment("experiment.toml"))
    calls = {name: price.estimate.calls for name, price in prices.systems.items()}
    assert calls == {"bm25": 0, "asked": 6, "same": 6, "rewritten": 3 + 6}
    assert prices.total.estimate.calls == 6 + 3 + 6
    assert [name for name, price in prices.systems.items() if not price.is_priced] == ["rewritten"]
    assert prices.total.money > prices.systems["asked"].money > 0
