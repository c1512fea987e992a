"""`rankproof run` with embedding APIs: costs in the results, a dry run, a budget, a killed run, and a key that stays a secret."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from rankproof._cli.main import main
from rankproof._experiment.config_read import read_experiment
from rankproof._experiment.config_write import experiment_toml
from rankproof._experiment.estimate import estimate_cost
from rankproof._experiment.run import RunOptions, run_experiment
from rankproof.models._wordllama import WordLlama
from support.chat_server import ChatServer
from support.embedding_server import NAMES, EmbeddingServer, tokens_of
from support.examples import sampled
from support.model_weights import link_wordllama
from support.scripted_server import Request, Sent

DOCUMENTS = {
    **{f"d{number}": f"Page {number} on how long to let dough {number} rise before baking" for number in range(30)},
    "knife": "Sharpen the blade of a knife on a wet stone",
    "blank": " ",
}
QUERIES = {"q1": "how long must dough 7 rise", "q2": "sharpen a knife", "q3": "page 12"}
QRELS = {"q1": "d7", "q2": "knife", "q3": "d12"}
CANARY = "CANARY-7f3a9c51d2e84b60"
_ROOTS = {"openai-embeddings": "/v1", "voyage": "/v1", "gemini": "/v1beta"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory with a dataset and a cache of its own."""
    data = tmp_path / "data"
    data.mkdir()
    for name, texts in (("corpus", DOCUMENTS), ("queries", QUERIES)):
        (data / f"{name}.jsonl").write_text("".join(f"{json.dumps({'_id': key, 'text': text})}\n" for key, text in texts.items()))
    rows = "".join(f"{query}\t{doc}\t1\n" for query, doc in QRELS.items())
    (data / "qrels.tsv").write_text(f"query-id\tcorpus-id\tscore\n{rows}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "140")
    return tmp_path


def written(server: EmbeddingServer, more: str = "batch_size = 4", *, key: str = "", stages: str = "") -> None:
    name = server.api.name
    address = server.address.removesuffix("/v1") + _ROOTS.get(name, "")
    model = f'{{name = "{name}", model = "loopback-embedding", base_url = "{address}", api_key_env = "{key}", {more}}}'
    dense = f'dataset = "data"\n[systems.dense]\nstage = "dense"\nmodel = {model}\n'
    Path("experiment.toml").write_text(dense + stages.replace("MODEL", model))


def ran(capsys: pytest.CaptureFixture[str], *options: str, code: int = 0) -> tuple[str, str]:
    assert main(["run", "experiment.toml", "-o", "results", *options]) == code
    said = capsys.readouterr()
    return said.out, said.err


def systems() -> dict[str, dict[str, Any]]:
    document = json.loads(Path("results/result.json").read_text())
    return {system["name"]: system for system in document["systems"]}


@pytest.mark.parametrize("name", sampled(NAMES, 3))
def test_results_have_the_costs_of_queries_and_passages_and_a_second_run_sends_nothing(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    with EmbeddingServer(name) as server:
        written(server, "batch_size = 4, price_in = 3.0")
        ran(capsys)
        sent, tokens = len(server.requests), server.tokens
        first = systems()["dense"]
        ran(capsys)
        again = systems()["dense"]
        ran(capsys, "--latency-queries", "2")
        assert len(server.requests) == sent
    counts, encoding = first["counts"], first["facts"]["encoding"]
    assert counts["calls"]["sum"] == counts["encoded"]["sum"] == 3
    # One request more finds out whether the model distinguishes upper and lower case.
    assert encoding["calls"] == 8 == sent - 3 - 1
    assert first["money"] == pytest.approx(counts["tokens_in"]["sum"] * 3 / 1e6)
    assert encoding["money"] == pytest.approx(encoding["tokens_in"] * 3 / 1e6)
    if not encoding["estimated"]:
        assert counts["tokens_in"]["sum"] == tokens_of(list(QUERIES.values()))
        assert encoding["tokens_in"] == tokens_of([text for text in DOCUMENTS.values() if text.strip()])
        assert counts["tokens_in"]["sum"] + encoding["tokens_in"] < tokens
    assert (again["from_cache"], again["counts"], again["times_ms"]) == (True, first["counts"], first["times_ms"])
    assert any(
        f"encoding the passages took 8 calls, {'about ' if encoding['estimated'] else ''}" in one for one in first["remarks"]
    )


def test_rankings_are_those_of_the_local_model(folder: Path, wordllama_weights: Path | None) -> None:
    link_wordllama(wordllama_weights, folder / "cache")
    with EmbeddingServer("openai-embeddings", WordLlama().load()) as server:
        written(server, stages='[systems.local]\nstage = "dense"\nmodel = "wordllama"\n')
        result = run_experiment(read_experiment("experiment.toml"), RunOptions(cache=None))
    remote, local = ([(row.query, row.doc) for row in run.run.rows()] for run in result.system_runs)
    assert remote == local
    assert len(remote) == 3 * len(DOCUMENTS)


def test_query_times_are_those_of_requests(capsys: pytest.CaptureFixture[str]) -> None:
    def slow(number: int, request: Request, answer: Any) -> Any:
        time.sleep(0.1)
        return answer

    with EmbeddingServer("voyage", fault=slow) as server:
        written(server)
        ran(capsys)
    times = systems()["dense"]["times_ms"]
    assert times["embed"]["queries"] == 3
    assert all(100 <= one < 1000 for one in times["embed"]["per_query"])
    assert all(one < 100 for one in times["search"]["per_query"])


def test_a_dry_run_sends_nothing_and_its_calls_are_those_of_the_run(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    shared = '[systems.shallow]\nstage = "dense"\ndepth = 5\nmodel = MODEL\n[systems.bm25]\nstage = "bm25"\n'
    scored = '[systems.scored]\nstage = "rerank"\nof = "bm25"\nby = "bi-encoder"\nmodel = MODEL\n'
    with EmbeddingServer("cohere") as server:
        written(server, "batch_size = 4, price_in = 3.0", stages=shared + scored)
        out, _ = ran(capsys, "--dry-run")
        assert server.requests == []
        assert not Path("results").exists()
        estimate = estimate_cost(read_experiment("experiment.toml"))
        ran(capsys)
        sent = len(server.requests)
    assert "loopback-embedding" in out
    # The passages are encoded once for all systems, and the queries too; the run asks one request more for its facts.
    assert estimate.systems["dense"].estimate.calls == 8 + 3
    assert estimate.systems["bm25"].estimate.calls == 0
    assert estimate.total.estimate.calls == 8 + 3
    assert sent == 8 + 3 + 1
    assert estimate.total.is_priced
    assert estimate.systems["dense"].money == pytest.approx(estimate.systems["dense"].estimate.tokens_in * 3 / 1e6)
    assert systems()["scored"]["counts"]["encoded"]["sum"] == 3


def test_a_dry_run_counts_queries_again_for_another_prompt_or_model_and_not_for_chunks(folder: Path) -> None:
    prompted = '[systems.prompted]\nstage = "dense"\nquery_prompt = "query: "\nmodel = MODEL\n'
    ignored = '[systems.ignored]\nstage = "rerank"\nof = "dense"\nby = "bi-encoder"\nweight = 0.0\nmodel = MODEL\n'
    chunked = '[systems.chunked]\nstage = "chunked"\nof = "dense"\nsize = 3\noverlap = 0\n'
    with EmbeddingServer("voyage") as server:
        written(server, "batch_size = 1000", stages=prompted + ignored + chunked)
        estimate = estimate_cost(read_experiment("experiment.toml"))
    assert [one.estimate.calls for one in estimate.systems.values()] == [1 + 3, 1 + 3, 1 + 3, 1 + 3]
    assert estimate.total.estimate.calls == 2 + 3 + 3


def test_a_bi_encoder_scores_with_vectors_of_queries_and_passages(capsys: pytest.CaptureFixture[str]) -> None:
    scored = '[systems.bm25]\nstage = "bm25"\n[systems.scored]\nstage = "rerank"\nof = "bm25"\nby = "bi-encoder"\nmodel = MODEL\n'
    with EmbeddingServer("gemini") as server:
        written(server, stages=scored)
        ran(capsys)
        roles = {request.body["requests"][0]["taskType"] for request in server.requests}
    assert roles == {"RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT"}
    found = systems()["scored"]
    assert found["counts"]["tokens_in"]["sum"] > 0
    assert found["times_ms"]["rerank"]["mean"] > 0


def test_a_budget_ends_a_run_in_time_and_a_larger_one_continues_it(capsys: pytest.CaptureFixture[str]) -> None:
    with EmbeddingServer("voyage") as server:
        written(server, "batch_size = 4, concurrency = 1")
        _, err = ran(capsys, "--budget", "calls=5", code=1)
        assert "the next call could exceed the budget of 5 calls" in " ".join(err.split())
        assert len(server.requests) == 5
        ran(capsys, "--budget", "calls=7")
        assert len(server.requests) == 12
    assert len(server.texts) == len(set(server.texts)) == 31 + 3 + 2


def test_a_run_ends_well_with_a_budget_of_the_estimated_calls(capsys: pytest.CaptureFixture[str]) -> None:
    with EmbeddingServer("voyage") as server:
        written(server, "batch_size = 4")
        estimate = estimate_cost(read_experiment("experiment.toml")).total.estimate
        ran(capsys, "--budget", f"calls={estimate.calls}")
        assert len(server.requests) == estimate.calls
    assert systems()["dense"]["facts"]["case_cosine"] is None


def test_a_run_ends_well_if_the_request_for_its_facts_fails(capsys: pytest.CaptureFixture[str]) -> None:
    def fault(number: int, request: Request, answer: Any) -> Any:
        return Sent(400) if len(request.body["input"]) == 2 else answer

    with EmbeddingServer("voyage", fault=fault) as server:
        written(server, "batch_size = 1000")
        ran(capsys)
    assert systems()["dense"]["facts"]["case_cosine"] is None
    assert systems()["dense"]["counts"]["failed"]["sum"] == 0


def test_a_budget_of_money_needs_a_price(capsys: pytest.CaptureFixture[str]) -> None:
    with EmbeddingServer("voyage") as server:
        written(server)
        _, err = ran(capsys, "--budget", "money=1", code=2)
        assert "system dense: the budget limits money, but the model loopback-embedding has no price; set price_in" in err
        assert server.requests == []


def test_a_changed_corpus_pays_for_its_changed_documents_only(capsys: pytest.CaptureFixture[str]) -> None:
    with EmbeddingServer("voyage") as server:
        written(server)
        ran(capsys)
        sent = len(server.texts)
        with open("data/corpus.jsonl", "a") as corpus:
            corpus.write(json.dumps({"_id": "new", "text": "a new page"}) + "\n")
        ran(capsys)
    assert server.texts[sent:] == ["a new page"]


def test_a_run_in_several_processes_sends_each_text_once(capsys: pytest.CaptureFixture[str]) -> None:
    with EmbeddingServer("ollama") as server:
        written(server)
        options = RunOptions(threads=2, cache=Path("cache"), partition_size=10)
        in_processes = run_experiment(read_experiment("experiment.toml"), options)
        assert len(server.texts) == len(set(server.texts))
        alone = run_experiment(read_experiment("experiment.toml"), RunOptions(cache=None))
    assert list(in_processes.system_runs[0].run.rows()) == list(alone.system_runs[0].run.rows())


def test_a_query_without_a_vector_is_counted_and_the_next_run_asks_it_again(capsys: pytest.CaptureFixture[str]) -> None:
    def fault(number: int, request: Request, answer: Any) -> Any:
        return Sent(400, b'{"error": {"message": "no"}}') if request.body["input"] == ["sharpen a knife"] else answer

    with EmbeddingServer("voyage", fault=fault) as server:
        written(server)
        ran(capsys)
        found = systems()["dense"]
        assert found["counts"]["failed"]["per_query"] == [0, 1, 0]
        assert "1 of 3 queries got no vector and have an empty ranking: refused by the server (1)" in found["remarks"]
        assert any(note.startswith("the last failed request: ") and "(status 400): no;" in note for note in found["remarks"])
        server.fault = None
        sent = len(server.requests)
        ran(capsys)
        assert len(server.requests) == sent + 1
    assert systems()["dense"]["counts"]["failed"]["sum"] == 0


@pytest.mark.parametrize("status", [200, 302, 400, 401, 429, 500])
def test_a_key_is_in_no_output_and_no_file(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setenv("EMBEDDING_KEY", CANARY)
    monkeypatch.setattr("rankproof._llm.session.RetryPolicy", _impatient)
    body = json.dumps({"error": {"message": f"wrong key: {CANARY}"}, "data": [{CANARY: CANARY}]}).encode()
    bad = Sent(status, body, {"Location": f"/{CANARY}", "Retry-After": CANARY})
    with EmbeddingServer("voyage", fault=lambda number, request, answer: bad if number == 2 else answer) as server:
        written(server, "concurrency = 1, batch_size = 20", key="EMBEDDING_KEY")
        code = main(["run", "experiment.toml", "-o", "results"])
        said = capsys.readouterr()
    assert code == 1
    assert CANARY not in said.out + said.err
    assert server.requests[0].headers["Authorization"] == f"Bearer {CANARY}"
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) >= 2
    assert CANARY.encode() not in b"".join(path.read_bytes() for path in files)


def _impatient() -> Any:
    from rankproof._io.retry import RetryPolicy

    return RetryPolicy(max_requests=1, sleep=lambda seconds: None)


@pytest.mark.slow
def test_a_killed_run_continues_without_paying_twice(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def slow(number: int, request: Request, answer: Any) -> Any:
        time.sleep(0.1)
        return answer

    with EmbeddingServer("voyage", fault=slow) as server:
        written(server, "batch_size = 2, concurrency = 1")
        command = [sys.executable, "-m", "rankproof", "run", "experiment.toml", "-o", "results"]
        process = subprocess.Popen(command, env=dict(os.environ), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while len(server.sizes) < 6:
            time.sleep(0.01)
            assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
        server.fault = None
        ran(capsys)
    # At most the request that was under way when the run was killed is sent again.
    assert len(server.texts) - len(set(server.texts)) <= 2
    assert systems()["dense"]["counts"]["encoded"]["sum"] == 3


def test_an_engine_that_takes_vectors_counts_the_calls_of_the_embedding_api(capsys: pytest.CaptureFixture[str]) -> None:
    def hits(request: Request) -> Sent:
        assert len(request.body["vector"]) == 32
        return Sent(body=b'{"hits": [{"id": "d7", "score": 1.0}]}')

    with EmbeddingServer("voyage") as server, ChatServer(hits) as engine:
        asked = f"""
[systems.engine]
stage = "http"
url = "{engine.address}/search"
body = {{vector = "{{vector}}"}}
ids = "hits[].id"
model = MODEL
"""
        written(server, "price_in = 5.0", stages=asked)
        estimate = estimate_cost(read_experiment("experiment.toml")).systems["engine"]
        ran(capsys, "--systems", "engine")
        sent = len(server.requests)
        ran(capsys, "--systems", "engine")
        assert (len(server.requests), len(engine.requests)) == (sent, 3)
    found = systems()["engine"]
    assert (sent, found["counts"]["calls"]["sum"]) == (3, 6)
    assert found["counts"]["tokens_in"]["sum"] == server.tokens == tokens_of(list(QUERIES.values()))
    assert found["money"] == pytest.approx(server.tokens * 5 / 1e6)
    assert (estimate.estimate.calls, estimate.is_priced) == (6, True)


def test_answers_by_the_nearest_sentence_count_the_calls_of_the_embedding_api(capsys: pytest.CaptureFixture[str]) -> None:
    stages = '[systems.bm25]\nstage = "bm25"\n[systems.answered]\nstage = "extract"\nof = "bm25"\ntop = 2\nmodel = MODEL\n'
    with EmbeddingServer("cohere") as server:
        written(server, "price_in = 5.0", stages=stages)
        ran(capsys, "--systems", "answered")
        sent = len(server.requests)
        ran(capsys, "--systems", "answered")
        assert len(server.requests) == sent
    found = systems()["answered"]
    assert found["counts"]["calls"]["sum"] == sent
    assert found["money"] == pytest.approx(found["counts"]["tokens_in"]["sum"] * 5 / 1e6)
    assert found["times_ms"]["generate"]["mean"] > 0


def test_an_experiment_with_an_embedding_api_is_written_and_read_back() -> None:
    with EmbeddingServer("gemini") as server:
        written(server, "dimensions = 8, price_in = 0.15")
        experiment = read_experiment("experiment.toml")
        Path("copy.toml").write_text(experiment_toml(experiment))
        assert read_experiment("copy.toml").systems == experiment.systems
