"""`rankproof run` with rerank APIs: dry run, budget, money, a key that stays a secret, and runs that are killed and continued."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rankproof._cli.main import main
from rankproof._experiment.config_read import read_experiment
from rankproof._experiment.config_write import experiment_toml
from rankproof._experiment.estimate import estimate_cost
from rankproof._results.experiment_result import SystemRun
from rankproof._results.folder import load_results
from rankproof.errors import InputError
from rankproof.stages import CohereRerank, Rerank, TEIRerank
from support.bread_dataset import DOCUMENTS, QUERIES, work_in
from support.chat_server import ChatServer
from support.examples import sampled
from support.key_spellings import KEY, files_with_key, has_key
from support.rerank_server import APIS, base_url, cosines, documents_sent, serving, tokens_of, well
from support.scripted_server import Request, Sent

SYSTEMS = """\
dataset = "data"
[systems.bm25]
stage = "bm25"
[systems.reranked]
stage = "rerank"
of = "bm25"
by = "{api}"
model = "reranker-1"
base_url = "{address}"
{more}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory with a dataset and a cache of its own."""
    return work_in(tmp_path, monkeypatch)


def written(server: ChatServer, api: str, more: str = 'api_key_env = ""') -> None:
    Path("experiment.toml").write_text(SYSTEMS.format(api=api, address=base_url(server, api), more=more))


def ran(capsys: pytest.CaptureFixture[str], *options: str, code: int = 0) -> tuple[str, str]:
    assert main(["run", "experiment.toml", *options]) == code
    said = capsys.readouterr()
    return said.out, " ".join(said.err.split())


def reranked(folder: str) -> SystemRun:
    """The system with the API in a results folder."""
    return next(one for one in load_results(folder).system_runs if one.name == "reranked")


@pytest.mark.parametrize("api", sampled(APIS, len(APIS)))
def test_a_run_reranks_by_the_scores_of_the_api_and_a_second_run_sends_nothing(
    api: str, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    with serving(api) as server:
        written(server, api)
        ran(capsys, "-o", "one")
        assert len(server.requests) == 3
        ran(capsys, "-o", "two")
        main(["cache", "clear", "--kind", "stages"])
        ran(capsys, "-o", "three")
        assert len(server.requests) == 3
    first, again, replayed = (reranked(name) for name in ("one", "two", "three"))
    ranked: dict[str, list[str]] = {}
    for row in first.run.rows():
        ranked.setdefault(row.query, []).append(row.doc)
    for query, docs in ranked.items():
        own = dict(zip(DOCUMENTS, cosines(QUERIES[query], list(DOCUMENTS.values())), strict=True))
        assert docs == sorted(docs, key=lambda doc: -own[doc])
    assert ranked.keys() == QUERIES.keys()
    assert list(first.run.rows()) == list(again.run.rows()) == list(replayed.run.rows())
    assert first.total("calls") == replayed.total("calls") == 3
    assert first.facts["scorer"]["address"] == base_url(server, api)


def test_a_dry_run_sends_nothing_and_estimates_calls_tokens_and_money(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    with serving("voyage") as server:
        written(server, "voyage", 'api_key_env = ""\nprice_in = 50.0')
        before = sorted(folder.rglob("*"))
        out, _ = ran(capsys, "--dry-run", "--format", "json")
        assert server.requests == []
        assert sorted(folder.rglob("*")) == before
        said = estimate_cost(read_experiment("experiment.toml")).total
        ran(capsys)
        spent = sum(tokens_of(request.body["query"], request.body["documents"]) for request in server.requests)
    row = json.loads(out)["tables"][0]["rows"][1]
    assert (row["models"], row["calls"]) == ("reranker-1", 3)
    assert row["tokens in"] == said.estimate.tokens_in
    assert float(row["money"]) == pytest.approx(said.money, abs=1e-4)
    assert said.money == pytest.approx(said.estimate.tokens_in * 50 / 1e6)
    assert spent / 4 < said.estimate.tokens_in < 4 * spent


def test_a_dry_run_estimates_the_search_units_of_cohere(capsys: pytest.CaptureFixture[str]) -> None:
    with serving("cohere") as server:
        written(server, "cohere", 'api_key_env = ""\nprice_search = 2.0')
        said = estimate_cost(read_experiment("experiment.toml")).total
    assert (said.estimate.calls, said.estimate.units) == (3, 3)
    assert said.is_priced
    assert said.money == pytest.approx(3 * 2 / 1000)


@pytest.mark.parametrize("api", ["cohere", "jina"])
def test_the_money_of_a_system_is_that_of_the_units_that_the_server_reported(
    api: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(api) as server:
        written(server, api, 'api_key_env = ""\n' + ("price_search = 2000.0" if api == "cohere" else "price_in = 1e6"))
        ran(capsys, "-o", "out")
        expected = 6.0 if api == "cohere" else sum(tokens_of(one.body["query"], one.body["documents"]) for one in server.requests)
    assert reranked("out").money == pytest.approx(expected)
    assert reranked("out").total("search_units") == (3 if api == "cohere" else 0)


def test_a_run_stops_at_its_budget_and_continues_from_there(capsys: pytest.CaptureFixture[str]) -> None:
    with serving("jina") as server:
        written(server, "jina", 'api_key_env = ""\nconcurrency = 1')
        _, err = ran(capsys, "--budget", "calls=2", code=1)
        assert "the next call could exceed the budget of 2 calls" in err
        assert "all replies so far are cached" in err
        assert len(server.requests) == 2
        ran(capsys, "--budget", "calls=1")
        assert len(server.requests) == server.repeated + 3 == 3


def test_a_money_budget_needs_the_price_of_the_api(capsys: pytest.CaptureFixture[str]) -> None:
    with serving("cohere") as server:
        written(server, "cohere")
        _, err = ran(capsys, "--budget", "money=1", code=2)
        assert server.requests == []
    assert "set price_search, or limit calls or tokens" in err


def test_a_money_budget_needs_no_price_for_an_own_server(capsys: pytest.CaptureFixture[str]) -> None:
    with serving("tei") as server:
        written(server, "tei", "")
        ran(capsys, "--budget", "money=1")
        assert server.requests


def test_failed_requests_keep_the_order_and_are_noted_and_a_later_run_asks_again(capsys: pytest.CaptureFixture[str]) -> None:
    def answer(request: Request) -> Sent:
        return Sent(400, b'{"error": "no"}') if is_broken and "sharpen" in request.body["query"] else well("infinity", request)

    is_broken = True
    with ChatServer(answer) as server:
        written(server, "infinity")
        _, err = ran(capsys, "-o", "one")
        assert "1 of 3 requests for scores failed: their documents kept their rank: refused by the server (1)" in err
        is_broken = False
        _, err = ran(capsys, "-o", "two")
        assert "failed" not in err
        assert len(server.requests) == 4


def test_a_listwise_model_with_more_documents_than_a_request_is_refused_with_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    with serving("jina") as server:
        written(server, "jina", 'api_key_env = ""\nlistwise = true\nbatch_size = 2')
        _, err = ran(capsys, code=2)
        assert server.requests == []
    assert "experiment.toml:4: top is 50, but reranker-1 is listwise and one request has at most 2 documents" in err


@pytest.mark.slow
def test_a_key_is_found_nowhere_after_a_run(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tell(request: Request) -> Sent:
        sent = json.loads(well("jina", request).body)
        return Sent(body=json.dumps({**sent, "model": request.headers["Authorization"], "note": KEY}).encode())

    monkeypatch.setenv("JINA_API_KEY", KEY)
    with ChatServer(tell) as server:
        written(server, "jina", "")
        out, err = ran(capsys, "-v", "-o", "out")
        assert all(request.headers["Authorization"] == f"Bearer {KEY}" for request in server.requests)
        assert len(server.requests) == 3
    assert files_with_key(folder) == []
    assert not has_key(out + err)
    assert "do not trust this server" in err


def test_an_experiment_with_rerank_apis_is_written_back_as_it_was(tmp_path: Path) -> None:
    for api in APIS:
        text = SYSTEMS.format(
            api=api, address="http://localhost:9999", more='api_key_env = ""\nbatch_size = 7\nlistwise = true\ntop = 7'
        )
        Path("experiment.toml").write_text(text)
        found = read_experiment("experiment.toml")
        Path("again.toml").write_text(experiment_toml(found))
        assert read_experiment("again.toml").systems == found.systems
        system: Any = found.systems["reranked"]
        assert (system.by.batch_size, system.by.listwise, system.top) == (7, True, 7)


def test_a_short_table_is_enough(tmp_path: Path) -> None:
    table = '[systems.bm25]\nstage = "bm25"\n[systems.x]\nstage = "rerank"\nof = "bm25"\n'
    Path("a.toml").write_text(f'{table}by = "cohere"\nmodel = "rerank-v3.5"\n')
    Path("b.toml").write_text(f'{table}by = "tei"\nmodel = "BAAI/bge-reranker-base"\n')
    cohere, tei = read_experiment("a.toml").systems["x"], read_experiment("b.toml").systems["x"]
    assert isinstance(cohere, Rerank)
    assert isinstance(tei, Rerank)
    assert cohere.by == CohereRerank("rerank-v3.5")
    assert tei.by == TEIRerank("BAAI/bge-reranker-base", base_url="http://127.0.0.1:8080")
    Path("c.toml").write_text(f'{table}by = "cohere"\nmodel = "rerank-v3.5"\nprice_in = 2\n')
    with pytest.raises(InputError, match=r"c\.toml:8: unknown key price_in; did you mean price_search"):
        read_experiment("c.toml")


@pytest.fixture
def gated() -> Iterator[tuple[ChatServer, threading.Event]]:
    """A server that answers the first two requests and then waits until it is told to go on."""
    go_on = threading.Event()

    def answer(request: Request) -> Sent:
        if len(server.requests) > 2:
            while not go_on.is_set() and not server.stopped.wait(0.01):
                pass
        return well("jina", request)

    with ChatServer(answer) as server:
        yield server, go_on
        go_on.set()


@pytest.mark.slow
def test_a_killed_run_continues_with_the_first_request_that_had_no_reply(
    gated: tuple[ChatServer, threading.Event], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server, go_on = gated
    written(server, "jina", 'api_key_env = ""\nconcurrency = 1')
    command = [sys.executable, "-m", "rankproof", "run", "experiment.toml", "-o", "out"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder, env=os.environ.copy())
    try:
        while len(server.requests) < 3 and process.poll() is None:
            server.stopped.wait(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert len(server.requests) == 3
    go_on.set()
    ran(capsys, "-o", "out")
    assert len(server.requests) == 4
    assert documents_sent(server, "jina")[3] == documents_sent(server, "jina")[2]
