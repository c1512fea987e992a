"""The stage `http` with real servers: Groonga, ArcadeDB and Chroma, each started and filled once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rankproof._cli.main import main
from rankproof._data.dataset import Query
from rankproof._results.folder import load_results
from rankproof.stages import Http
from rankproof.stages._engines.base import EngineError, EngineReply
from support.bad_inputs import harmful_texts
from support.hostile_strings import STRINGS
from support.scripted_server import CERTIFICATE, ScriptedServer, Sent, write_certificate
from support.search_servers import ARCADE_LOGIN, arcadedb, chroma, groonga
from support.small_datasets import ASKED, PAGES, RELEVANT, small_corpus
from support.small_models import HashedWords
from support.stage_building import context_of

TEXTS = {doc: f"{title} {text}" for doc, (title, text) in PAGES.items()}
QUERIES = {**ASKED, "q5": "jam AND (sugar OR lemon)?", "q6": 'a "humming: hob" -dough ~2 ^ && \\ /x', "q7": "zebra", "q8": "???"}


@pytest.fixture(scope="module")
def groonga_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Http]:
    with groonga(tmp_path_factory.mktemp("groonga"), TEXTS) as address:
        yield Http(preset="groonga", values={"server": address, "table": "Docs"}, depth=10)


@pytest.fixture(scope="module")
def arcadedb_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Http]:
    with arcadedb(tmp_path_factory.mktemp("arcadedb"), TEXTS) as address, pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARCADEDB_LOGIN", ARCADE_LOGIN)
        yield Http(preset="arcadedb", values={"server": address, "database": "shop", "type": "Docs", "id": "did"}, depth=10)


@pytest.fixture(scope="module")
def chroma_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Http]:
    vectors = HashedWords().load().encode(list(TEXTS.values()))
    rows = {doc: vector.tolist() for doc, vector in zip(TEXTS, vectors, strict=True)}
    with chroma(tmp_path_factory.mktemp("chroma"), rows) as (address, collection):
        yield Http(preset="chroma", values={"server": address, "collection": collection}, model=HashedWords(), depth=10)


def ask(stage: Http, text: str) -> EngineReply | EngineError:
    context = context_of(small_corpus())
    with context.session:
        return stage.client(context).ask(Query("q", text))


def reply(stage: Http, text: str) -> EngineReply:
    found = ask(stage, text)
    assert isinstance(found, EngineReply), found
    return found


def check_lexical(stage: Http) -> None:
    """Each query finds its page first, no syntax in a query breaks the parser, and what is nowhere finds nothing."""
    for query, doc in RELEVANT.items():
        found = reply(stage, QUERIES[query])
        assert found.docs[0] == doc
        assert found.scores is not None
        assert list(found.scores) == sorted(found.scores, reverse=True)
        assert found.seconds > 0
    assert reply(stage, QUERIES["q5"]).docs[0] == "jam"
    assert reply(stage, QUERIES["q6"]).docs[0] == "hob"
    assert reply(stage, QUERIES["q7"]).docs == ()


def test_groonga_finds_any_of_the_words_and_tells_its_time(groonga_server: Http) -> None:
    check_lexical(groonga_server)
    found = reply(groonga_server, "dough")
    assert found.server_ms is not None
    assert 0 <= found.server_ms <= found.seconds * 1000
    assert found.notes == ()
    assert reply(groonga_server, "???").notes == ("the query has no words: not sent",)


@pytest.mark.slow
def test_arcadedb_reads_escaped_queries_and_needs_its_login(arcadedb_server: Http, monkeypatch: pytest.MonkeyPatch) -> None:
    check_lexical(arcadedb_server)
    assert reply(arcadedb_server, "???").docs == ()
    monkeypatch.setenv("ARCADEDB_LOGIN", "root:wrong-password")
    found = ask(arcadedb_server, "dough")
    assert isinstance(found, EngineError)
    assert "rejected the login (status 403)" in found.what


@pytest.mark.slow
def test_chroma_finds_the_nearest_vectors(chroma_server: Http) -> None:
    encoder = HashedWords().load()
    vectors = encoder.encode(list(TEXTS.values()))
    for text in ASKED.values():
        found = reply(chroma_server, text)
        distances = 1 - vectors @ encoder.encode([text])[0]
        assert list(found.docs) == [list(TEXTS)[at] for at in np.argsort(distances)]
        assert found.scores == pytest.approx(sorted(distances), abs=1e-5), "distances: the nearest is first"
        assert found.embed_seconds > 0
        assert found.notes == ("fewer documents than the 10 requested",)


def test_a_vector_of_another_length_and_a_name_for_an_id_are_refused_with_the_reason_of_the_server(chroma_server: Http) -> None:
    short = ask(replace(chroma_server, model=HashedWords(dimensions=3)), "dough")
    assert isinstance(short, EngineError)
    assert "expecting embedding with dimension of 32, got 3" in short.what
    named = ask(replace(chroma_server, values={**chroma_server.values, "collection": "docs"}), "dough")
    assert isinstance(named, EngineError)
    assert "Collection ID is not a valid UUIDv4" in named.what


def check_hostile(stage: Http) -> None:
    """No text breaks a request: each is answered, and none is taken for syntax."""
    for text in [*STRINGS, *harmful_texts()]:
        found = ask(stage, text)
        assert isinstance(found, EngineReply), (text, found)


def test_no_text_breaks_a_request_to_groonga(groonga_server: Http) -> None:
    check_hostile(groonga_server)


@pytest.mark.slow
def test_no_text_breaks_a_request_to_arcadedb(arcadedb_server: Http) -> None:
    check_hostile(arcadedb_server)


@pytest.mark.slow
def test_a_column_that_is_missing_is_a_failure_with_the_reason_of_the_server(groonga_server: Http) -> None:
    found = ask(replace(groonga_server, values={**groonga_server.values, "field": "body"}), "dough")
    assert isinstance(found, EngineError)
    assert "status 400" in found.what
    assert "body" in found.what


@pytest.fixture
def tls_server(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The address of an https server on loopback, and its certificate, which no authority has signed."""
    with ScriptedServer(lambda request: Sent(body={"hits": [{"id": "jam"}]}), tls=write_certificate(tmp_path)) as server:
        yield server.url, tmp_path / CERTIFICATE


@pytest.mark.slow
def test_a_server_with_its_own_certificate_is_trusted_by_name(
    tls_server: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, certificate = tls_server
    stage = Http(url=f"{address}/?q={{query}}", ids="hits[].id", depth=1)
    found = ask(stage, "jam")
    assert isinstance(found, EngineError)
    assert "set SSL_CERT_FILE to the certificate of the server" in found.what
    assert found.requests == 1
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert reply(stage, "jam").docs == ("jam",)


@pytest.fixture
def shop(groonga_server: Http, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a dataset and an experiment file for the Groonga server, whose address is in the environment."""
    data = tmp_path / "data"
    (data / "qrels").mkdir(parents=True)
    lines = {
        "corpus.jsonl": [{"_id": doc, "title": title, "text": text} for doc, (title, text) in PAGES.items()],
        "queries.jsonl": [{"_id": query, "text": text} for query, text in QUERIES.items()],
    }
    for name, rows in lines.items():
        (data / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    judged = "".join(
        f"{query}\t{doc}\t1\n" for query, doc in {**RELEVANT, "q5": "jam", "q6": "hob", "q7": "jam", "q8": "jam"}.items()
    )
    (data / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}")
    (tmp_path / "shop.toml").write_text(
        'dataset = "data"\n[systems.bm25]\nstage = "bm25"\n'
        '[systems.prod]\nstage = "http"\npreset = "groonga"\nvalues = {server = "${GROONGA}", table = "Docs"}\n'
    )
    monkeypatch.setenv("GROONGA", str(groonga_server.values["server"]))
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_an_experiment_file_measures_a_server_beside_bm25_and_a_second_run_sends_nothing(
    shop: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["run", "shop.toml", "-o", "first"]) == 0
    said = "".join(capsys.readouterr())
    assert "2 of 8 queries found no document" in said
    monkeypatch.setattr("rankproof._io.http.Connection.send", None)
    assert main(["run", "shop.toml", "-o", "second"]) == 0
    first, second = (load_results(shop / name).system_run("prod") for name in ("first", "second"))
    assert list(second.run.rows()) == list(first.run.rows())
    assert second.times["total"].tolist() == first.times["total"].tolist()
