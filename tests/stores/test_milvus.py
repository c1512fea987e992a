"""Milvus servers: what a run leaves there, and keys."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from rankproof._data.identity import identity
from rankproof.errors import ExternalError, UsageError
from rankproof.stores import Milvus
from rankproof.stores._milvus import unchanged_environment
from support.counted_network import ALONE, has_namespaces
from support.key_spellings import KEY
from support.milvus_servers import lite_server
from support.paths import ROOT, TESTS
from support.search_servers import free_port, skip_or_fail
from support.server_stores import AXES, kill_while_filling
from support.vector_stores import require


@pytest.fixture(scope="module")
def milvus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    require("milvus")
    with lite_server(tmp_path_factory.mktemp("milvus")) as url:
        yield url


def _milvus_collections(url: str) -> list[str]:
    import pymilvus

    client = pymilvus.MilvusClient(uri=url)
    try:
        return sorted(client.list_collections())
    finally:
        client.close()


@pytest.mark.slow
def test_what_a_killed_run_left_on_milvus_does_not_spoil_the_next_one(milvus: str) -> None:
    kill_while_filling("milvus", milvus)
    assert _milvus_collections(milvus) == ["rankproof_left"]
    with Milvus(url=milvus).open("left", 3, "") as held:
        held.add(["new"], AXES[:1])
        assert held.search(AXES[:1], 50)[0][0] == ["new"]
    assert _milvus_collections(milvus) == []


@pytest.mark.slow
def test_a_foreign_or_replaced_collection_of_milvus_is_notchanged_reply(milvus: str) -> None:
    import pymilvus

    client = pymilvus.MilvusClient(uri=milvus)
    client.create_collection("rankproof_theirs", dimension=3)
    with pytest.raises(ExternalError, match="rankproof_theirs was not created by rankproof"):
        Milvus(url=milvus).open("theirs", 3, "")
    client.drop_collection("rankproof_theirs")
    client.close()
    first, second = (Milvus(url=milvus).open("shared", 3, "") for _ in range(2))
    with pytest.raises(ExternalError, match="another run replaced rankproof_shared"), first:
        pass
    with second:
        assert _milvus_collections(milvus) == ["rankproof_shared"]


@pytest.mark.slow
def test_a_milvus_that_is_not_there_is_named_and_its_key_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    require("milvus")
    monkeypatch.setenv("CANARY_KEY", f"user:{KEY}")
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(ExternalError, match=f"{url}: Milvus failed while connecting .*check the server") as raised:
        Milvus(url=url, api_key_env="CANARY_KEY", timeout=1).open("x", 3, "")
    assert KEY not in str(raised.value)


def test_the_key_of_milvus_is_not_sent_over_plain_http_or_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_KEY", KEY)
    with pytest.raises(UsageError, match="could be read on the network"):
        Milvus(url="http://milvus.example:19530", api_key_env="CANARY_KEY")
    value = Milvus(url="https://milvus.example:19530", api_key_env="CANARY_KEY")
    assert KEY not in repr(value) + json.dumps(identity(value))
    monkeypatch.delenv("CANARY_KEY")
    with pytest.raises(UsageError, match=r"CANARY_KEY \(api_key_env\) is not set"):
        value.open("x", 3, "")


def test_a_variable_that_an_import_sets_is_gone_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_BEFORE", "1")
    with unchanged_environment():
        os.environ["CANARY_OF_A_FILE"] = "2"
    assert "CANARY_OF_A_FILE" not in os.environ
    assert os.environ["CANARY_BEFORE"] == "1"


LAWS = "brute_force or added_again or in_pieces or any_text or larger_id_first or zero_vector or opened_again or facts"


@pytest.mark.release
def test_milvus_standalone_keeps_the_contract_of_stores() -> None:
    if not has_namespaces():
        skip_or_fail("no network namespaces: unshare is not allowed")
    program = [sys.executable, "-m", "support.milvus_servers"]
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/contracts/test_stores.py"]
    done = subprocess.run(
        [*ALONE, *program, *tests, "-k", f"milvus-server and ({LAWS})"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "skipped" not in done.stdout
