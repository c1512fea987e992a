"""Groonga, ArcadeDB and Chroma on loopback: real servers that a test starts, fills and ends."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest

ARCADE_LOGIN = "root:playwithdata"
_STARTED_WITHIN = 60.0


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def skip_or_fail(reason: str) -> None:
    """Skips the test; fails it where everything must be installed."""
    if os.environ.get("RANKPROOF_TESTS") == "whole":
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def _started(command: Sequence[str], ready: str, folder: Path) -> Iterator[None]:
    """Runs the server until the block ends; it is ready when the address answers."""
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=folder)
        try:
            _await(process, ready)
            yield
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _await(process: subprocess.Popen[bytes], ready: str) -> None:
    ends = time.monotonic() + _STARTED_WITHIN
    while time.monotonic() < ends:
        assert process.poll() is None, f"the server ended with {process.returncode}"
        try:
            if httpx.get(ready, trust_env=False).is_success:
                return
        except httpx.HTTPError:
            time.sleep(0.02)
    raise AssertionError(f"the server did not start within {_STARTED_WITHIN:g} s")


@contextmanager
def groonga(folder: Path, texts: Mapping[str, str]) -> Iterator[str]:
    """The address of a Groonga server with the table Docs, column text, indexed with stems."""
    program = shutil.which("groonga")
    if program is None:
        skip_or_fail("groonga is not installed: apt-get install groonga-bin groonga-token-filter-stem")
    assert program is not None
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    command = [program, "-s", "--protocol", "http", "--bind-address", "127.0.0.1", "-p", str(port), "-n", str(folder / "db")]
    with _started(command, f"{address}/d/status", folder), httpx.Client(base_url=address, trust_env=False) as client:
        _groonga(client, "plugin_register", name="token_filters/stem")
        _groonga(client, "table_create", name="Docs", flags="TABLE_HASH_KEY", key_type="ShortText")
        _groonga(client, "column_create", table="Docs", name="text", type="Text")
        words = {"default_tokenizer": "TokenBigram", "normalizer": "NormalizerAuto", "token_filters": "TokenFilterStem"}
        _groonga(client, "table_create", name="Terms", flags="TABLE_PAT_KEY", key_type="ShortText", **words)
        _groonga(
            client,
            "column_create",
            table="Terms",
            name="docs_text",
            flags="COLUMN_INDEX|WITH_POSITION",
            type="Docs",
            source="text",
        )
        rows = [{"_key": doc, "text": text} for doc, text in texts.items()]
        client.post("/d/load", params={"table": "Docs"}, json=rows).raise_for_status()
        yield address


def _groonga(client: httpx.Client, command: str, **settings: str) -> None:
    reply = client.get(f"/d/{command}", params=settings).raise_for_status().json()
    assert reply[0][0] == 0, reply


@contextmanager
def arcadedb(folder: Path, texts: Mapping[str, str]) -> Iterator[str]:
    """The address of an ArcadeDB server with the database shop, type Docs, properties did and text; the login is ARCADE_LOGIN."""
    found = find_spec("arcadedb_embedded")
    if found is None or found.origin is None:
        skip_or_fail("arcadedb-embedded is not installed: the extra test brings it")
    assert found is not None
    assert found.origin is not None
    package = Path(found.origin).parent
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    user, _, password = ARCADE_LOGIN.partition(":")
    options = {
        "rootPassword": password,
        "rootPath": str(folder),
        "httpIncomingHost": "127.0.0.1",
        "httpIncomingPort": str(port),
    }
    settings = [f"-Darcadedb.server.{name}={value}" for name, value in options.items()]
    main = ["-cp", f"{package}/jars/*", "com.arcadedb.server.ArcadeDBServer"]
    with (
        _started([f"{package}/jre/bin/java", "-Xmx256m", *settings, *main], f"{address}/api/v1/ready", folder),
        httpx.Client(base_url=address, auth=(user, password), trust_env=False, timeout=60) as client,
    ):
        client.post("/api/v1/server", json={"command": "create database shop"}).raise_for_status()
        analyzer = '{"analyzer":"org.apache.lucene.analysis.en.EnglishAnalyzer"}'
        for command in (
            "create document type Docs",
            "create property Docs.did string",
            "create property Docs.text string",
            f"create index on Docs (text) FULL_TEXT METADATA {analyzer}",
        ):
            _arcade(client, command)
        _arcade(client, "insert into Docs content :rows", rows=[{"did": doc, "text": text} for doc, text in texts.items()])
        yield address


def _arcade(client: httpx.Client, command: str, **params: Any) -> None:
    body = {"language": "sql", "command": command, "params": params}
    client.post("/api/v1/command/shop", json=body).raise_for_status()


@contextmanager
def chroma(folder: Path, vectors: Mapping[str, Sequence[float]]) -> Iterator[tuple[str, str]]:
    """The address of a Chroma server and the id of its collection with these vectors."""
    program = Path(sys.executable).with_name("chroma")
    if not program.exists():
        skip_or_fail("chromadb is not installed: the extra test brings it")
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    command = [str(program), "run", "--path", str(folder / "chroma"), "--host", "127.0.0.1", "--port", str(port)]
    collections = "/api/v2/tenants/default_tenant/databases/default_database/collections"
    with _started(command, f"{address}/api/v2/heartbeat", folder), httpx.Client(base_url=address, trust_env=False) as client:
        made = client.post(collections, json={"name": "docs", "configuration": {"hnsw": {"space": "cosine"}}})
        collection = made.raise_for_status().json()["id"]
        rows = {"ids": list(vectors), "embeddings": [list(map(float, vector)) for vector in vectors.values()]}
        client.post(f"{collections}/{collection}/add", json=rows).raise_for_status()
        yield address, collection
