"""Stores by name, recall of approximate stores, and Chroma."""

from __future__ import annotations

import shutil
import socket
import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankproof._data.identity import identity, identity_key
from rankproof.errors import ExternalError, MissingExtraError, UsageError
from rankproof.stores import OpenSearch, Qdrant
from rankproof.stores._base import ann_recall
from rankproof.stores._chroma import Chroma
from rankproof.stores._memory import Memory
from rankproof.stores._pgvector import PgVector
from rankproof.stores._registry import STORES, store_by_name
from support.vector_stores import require

AXES = np.eye(3, dtype=np.float32)


def known_stores(*more: str) -> str:
    """The stores of this package and of further ones, as an error lists them."""
    return ", ".join(sorted([*(component.name for component in STORES.components), *more]))


def test_every_name_gives_its_store_with_its_settings() -> None:
    assert store_by_name("memory") == Memory()
    assert store_by_name("pgvector", index="hnsw", m=8) == PgVector(index="hnsw", m=8)
    assert store_by_name("chroma", ef=50) == Chroma(ef=50)
    assert store_by_name("qdrant", index="hnsw", ef=50) == Qdrant(index="hnsw", ef=50)
    assert store_by_name("opensearch", url="http://h:9200/") == OpenSearch("http://h:9200")
    needed = {"elasticsearch": {"url": "http://h"}, "opensearch": {"url": "http://h"}}
    assert len({identity_key(store_by_name(name, **needed.get(name, {}))) for name in STORES.names()}) == len(STORES.names())


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=f"zz-test; choose one of {known_stores()}$"):
        store_by_name("zz-test")


@pytest.mark.parametrize(
    ("name", "fix"), [("memory", "it has none"), ("pgvector", "dsn, dsn_env, index, m"), ("chroma", "folder, ef, m")]
)
def test_an_unknown_setting_is_refused_with_the_known_ones(name: str, fix: str) -> None:
    with pytest.raises(UsageError, match=rf"{name} has no setting colour; .*{fix}"):
        store_by_name(name, colour="red")


def test_another_package_can_offer_a_store(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("zz-theirs", "rankproof.stores._memory:Memory", "rankproof.stores")
    monkeypatch.setattr("rankproof._registry._installed", lambda group, paths: EntryPoints([entry]).select(group=group))
    assert store_by_name("zz-theirs") == Memory()
    with pytest.raises(UsageError, match=f"choose one of {known_stores('zz-theirs')}$"):
        store_by_name("zz-nobody")


def test_a_broken_package_affects_only_its_own_store(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = EntryPoint("zz-broken", "no_such_package_anywhere:Store", "rankproof.stores")
    monkeypatch.setattr("rankproof._registry._installed", lambda group, paths: EntryPoints([broken]).select(group=group))
    assert store_by_name("memory") == Memory()
    assert STORES.name_of(Memory) == "memory"
    assert STORES.name_of(object) is None
    with pytest.raises(ExternalError, match="the package no_such_package_anywhere offers zz-broken, which cannot be loaded"):
        store_by_name("zz-broken")
    with pytest.raises(UsageError, match=f"choose one of {known_stores('zz-broken')}$"):
        store_by_name("zz-nobody")


def test_chroma_on_another_disk_has_another_key_without_the_folder_name() -> None:
    keys = {identity_key(Chroma()), identity_key(Chroma(folder="/fast")), identity_key(Chroma(folder="/slow"))}
    assert len(keys) == 3
    assert "fast" not in str(identity(Chroma(folder="/fast")))


@pytest.mark.parametrize(
    ("found", "exact", "share"),
    [
        ([("a", 3), ("b", 2)], [("a", 3), ("b", 2)], 1.0),
        ([("a", 3), ("x", 1)], [("a", 3), ("b", 2)], 0.5),
        ([("a", 3)], [("a", 3), ("b", 2)], 0.5),
        ([], [("a", 3)], 0.0),
        ([("a", 3), ("tied", 2)], [("a", 3), ("b", 2)], 1.0),
        ([("a", 3), ("b", 2), ("c", 2)], [("a", 3), ("b", 2)], 1.0),
    ],
)
def test_recall_is_the_share_of_the_exact_result(found: list[Any], exact: list[Any], share: float) -> None:
    rankings = [([name for name, _ in one], np.array([score for _, score in one], float)) for one in (found, exact)]
    assert ann_recall(rankings[:1], rankings[1:]) == share
    assert np.isnan(ann_recall([], []))


@pytest.mark.parametrize("wrong", [{"ef": 0}, {"ef": "many"}, {"m": 1}, {"ef_construction": True}, {"folder": 3}])
def test_settings_that_chroma_does_not_accept_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Chroma(**wrong)


def test_chroma_missing_names_its_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "chromadb", None)
    with pytest.raises(MissingExtraError, match=r"rankproof\[chroma\]"):
        Chroma().open("x", 3, str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_chroma_reads_nothing_that_lies_in_the_folder(tmp_path: Path) -> None:
    require("chroma")
    (tmp_path / "chroma.sqlite3").write_bytes(b"a stranger's")
    with Chroma(folder=str(tmp_path / "new" / "one")).open("x", 3, str(tmp_path)) as held:
        held.add(["a"], AXES[:1])
        assert len(list((tmp_path / "new" / "one").iterdir())) == 1
    with Chroma().open("x", 3, str(tmp_path)) as held:
        assert held.search(AXES[:1], 1)[0][0] == []
    assert (tmp_path / "chroma.sqlite3").read_bytes() == b"a stranger's"
    assert list((tmp_path / "new" / "one").iterdir()) == []


def test_chroma_in_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ExternalError, match="choose another folder"):
        Chroma(folder=str(tmp_path / "file" / "inside")).open("x", 3, str(tmp_path))


def test_chroma_whose_folder_goes_away_is_an_error(tmp_path: Path) -> None:
    require("chroma")
    held = Chroma().open("x", 3, str(tmp_path))
    shutil.rmtree(next(tmp_path.iterdir()))
    with pytest.raises(ExternalError, match=r"Chroma failed while adding vectors .*run again"), held:
        held.add(["a"], AXES[:1])


def test_chroma_opens_no_network_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require("chroma")

    def refuse(*_: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    with Chroma().open("x", 3, str(tmp_path)) as held:
        held.add(["a"], AXES[:1])
        assert held.search(AXES[:1], 1)[0][0] == ["a"]
