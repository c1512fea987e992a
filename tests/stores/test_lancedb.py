"""LanceDB as a vector store: its indexes, files, errors and settings."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankproof.errors import ExternalError, UsageError
from rankproof.stores._lancedb import LanceDB
from support.vector_stores import like_text, require

AXES = np.eye(3, dtype=np.float32)


@pytest.fixture(autouse=True)
def _installed() -> None:
    require("lancedb")


@pytest.mark.parametrize(
    ("store", "settings"),
    [
        (LanceDB(), {}),
        (LanceDB("ivf-flat", probes=3), {"probes": 3}),
        (LanceDB("ivf-pq"), {"probes": 20, "refine": 10}),
        (LanceDB("hnsw-sq", ef=900, refine=4), {"probes": 20, "ef": 900, "refine": 4}),
    ],
)
def test_facts_name_the_index_and_the_settings_that_count(store: LanceDB, settings: dict[str, int], tmp_path: Path) -> None:
    with store.open("x", 3, str(tmp_path)) as held:
        held.add(["a"], AXES[:1])
        facts = dict(held.facts())
        assert facts.pop("library").startswith("lancedb ")
        assert facts == {"store": "lancedb", "exact": store.index == "exact", "index": store.index, **settings}


def test_scores_of_quantised_vectors_are_exact_inner_products(tmp_path: Path) -> None:
    vectors, ids = like_text(600, 32, 1), [f"d{at}" for at in range(600)]
    for index in ("ivf-pq", "hnsw-sq"):
        with LanceDB(index).open("x", 32, str(tmp_path)) as held:
            held.add(ids, vectors)
            docs, scores = held.search(vectors[:1], 20)[0]
        np.testing.assert_allclose(scores, [vectors[ids.index(doc)] @ vectors[0] for doc in docs], atol=1e-6)


def test_fewer_probes_than_partitions_find_less(tmp_path: Path) -> None:
    vectors, ids = like_text(3_000, 32, 1), [f"d{at}" for at in range(3_000)]
    with LanceDB("ivf-flat", partitions=50, probes=1).open("x", 32, str(tmp_path)) as held:
        held.add(ids, vectors)
        assert len(held.search(vectors[:1], 2_000)[0][0]) < 2_000


def test_the_size_has_the_index_of_vectors_that_were_not_searched_yet(tmp_path: Path) -> None:
    vectors, ids = like_text(600, 32, 1), [f"d{at}" for at in range(600)]
    sizes = []
    for index in ("exact", "ivf-flat"):
        with LanceDB(index).open("x", 32, str(tmp_path)) as held:
            held.add(ids, vectors)
            sizes.append(held.size())
    assert sizes[1] > sizes[0] + vectors.nbytes // 2


@pytest.mark.parametrize("wrong", [{"index": "hnsw"}, {"probes": 0}, {"refine": 0}, {"ef": True}, {"partitions": "many"}])
def test_settings_that_it_does_not_accept_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        LanceDB(**wrong)


def test_a_folder_that_goes_away_is_an_error(tmp_path: Path) -> None:
    held = LanceDB().open("x", 3, str(tmp_path))
    held.add(["a"], AXES[:1])
    shutil.rmtree(next(tmp_path.iterdir()))
    with pytest.raises(ExternalError, match=r"LanceDB failed while searching .*run again"), held:
        held.search(AXES[:1], 1)


def test_it_opens_no_network_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    with LanceDB().open("x", 3, str(tmp_path)) as held:
        held.add(["a"], AXES[:1])
        assert held.search(AXES[:1], 1)[0][0] == ["a"]
