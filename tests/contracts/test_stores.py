"""What every store does, run over all of them for real."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from rankproof.errors import InputError, RankproofError, UsageError
from rankproof.stores._base import OpenStore, Store, ann_recall
from rankproof.stores._memory import Memory
from rankproof.stores._postgres import EmbeddedPostgres
from support.lucene_servers import ElasticsearchServer, OpenSearchServer
from support.milvus_servers import lite_server
from support.vector_servers import QdrantServer, given_server, started
from support.vector_stores import SERVERS, STORES, assert_same, by_brute_force, like_text, require, unit

Opener = Callable[..., OpenStore]
ODD_IDS = ["naïve", "日本語", "a'b", '"quoted"', " blank ", "'); DROP TABLE rankproof_x; --", "%s", "{k}", "\\", "tab\t", "a\nb"]


@pytest.fixture(scope="session")
def dsn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    server = EmbeddedPostgres(str(tmp_path_factory.mktemp("server")))
    yield server.dsn()
    server.close()


@pytest.fixture(scope="session")
def qdrant_server() -> Iterator[str]:
    with given_server("qdrant") or started(QdrantServer) as address:
        yield address


@pytest.fixture(scope="session")
def milvus_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with given_server("milvus") or lite_server(tmp_path_factory.mktemp("milvus")) as address:
        yield address


@pytest.fixture(scope="session")
def elasticsearch_server() -> Iterator[str]:
    with given_server("elasticsearch") or started(ElasticsearchServer) as address:
        yield address


@pytest.fixture(scope="session")
def opensearch_server() -> Iterator[str]:
    with given_server("opensearch") or started(OpenSearchServer) as address:
        yield address


APPROXIMATE = ("hnsw", "ivf-flat", "ivf-pq", "hnsw-sq")
SLOW_SERVER = "milvus-server"
"""Each request to it waits for half a second."""


def is_slow(name: str) -> bool:
    return name.endswith(APPROXIMATE) or name.startswith(SLOW_SERVER)


@pytest.fixture(params=[pytest.param(name, marks=[pytest.mark.slow] if is_slow(name) else []) for name in STORES])
def store(request: pytest.FixtureRequest) -> Store:
    require(request.param)
    server = next((fixture for start, fixture in SERVERS.items() if request.param.startswith(start)), "")
    return STORES[request.param](request.getfixturevalue(server) if server else "")


@pytest.fixture
def opened(store: Store, tmp_path: Path) -> Iterator[Opener]:
    with ExitStack() as stack:
        yield lambda dimensions, name="x": stack.enter_context(store.open(name, dimensions, str(tmp_path)))


@pytest.mark.slow
def test_a_search_agrees_with_brute_force(store: Store, opened: Opener) -> None:
    vectors, queries, ids = like_text(600, 33, 1), like_text(9, 33, 2), [f"d{at}" for at in range(600)]
    held = opened(33)
    held.add(ids, vectors)
    exact = [by_brute_force(ids, vectors, query, 20) for query in queries]
    found = held.search(queries, 20)
    if not store.exact:
        assert ann_recall(found, exact) >= 0.99
        return
    for query, mine, theirs in zip(queries, found, exact, strict=True):
        scores = vectors.astype(np.float64) @ query.astype(np.float64)
        assert_same(mine, theirs, dict(zip(ids, scores.tolist(), strict=True)))


@pytest.mark.slow
def test_thousands_of_vectors_are_found_again(store: Store, opened: Opener, record_property: Callable[..., None]) -> None:
    vectors, queries, ids = like_text(2_000, 384, 3), like_text(15, 384, 4), [f"d{at}" for at in range(2_000)]
    with Memory().open("x", 384, "") as memory:
        memory.add(ids, vectors)
        exact = memory.search(queries, 100)
    held = opened(384)
    held.add(ids, vectors)
    assert held.size() >= vectors.nbytes
    held.search(queries[:1], 100)
    before = time.perf_counter()
    found = [held.search(query[np.newaxis], 100)[0] for query in queries]
    record_property("milliseconds", 1000 * (time.perf_counter() - before) / len(queries))
    recall = ann_recall(found, exact)
    record_property("recall", recall)
    least = {"chroma": 0.99}.get(held.facts()["store"], 0.95) if not store.exact else 1.0
    assert recall >= least
    assert {len(names) for names, _ in found} == {100}


def test_more_than_there_are_gives_all_of_them(opened: Opener) -> None:
    held = opened(3)
    held.add(["a", "b"], np.eye(3, dtype=np.float32)[:2])
    names, scores = held.search(np.eye(3, dtype=np.float32)[1:2], 1_200)[0]
    assert names == ["b", "a"]
    assert scores.tolist() == [1.0, 0.0]


def test_an_empty_store_finds_nothing(opened: Opener) -> None:
    held = opened(3)
    held.add([], np.zeros((0, 3), np.float32))
    assert [(names, scores.tolist()) for names, scores in held.search(np.eye(3, dtype=np.float32), 5)] == [([], [])] * 3


def test_no_queries_give_no_rankings(opened: Opener) -> None:
    held = opened(3)
    held.add(["a"], np.eye(3, dtype=np.float32)[:1])
    assert held.search(np.zeros((0, 3), np.float32), 5) == []


def test_an_id_that_is_added_again_gets_the_new_vector(opened: Opener) -> None:
    held, axes = opened(3), np.eye(3, dtype=np.float32)
    held.add(["a", "b"], axes[:2])
    assert held.search(axes[:1], 1)[0][0] == ["a"]
    held.add(["c", "a", "a"], axes[[0, 0, 2]])
    assert [held.search(axes[at : at + 1], 1)[0][0] for at in range(3)] == [["c"], ["b"], ["a"]]
    assert sorted(held.search(axes[:1], 9)[0][0]) == ["a", "b", "c"]


def test_vectors_that_come_in_pieces_are_all_there(opened: Opener) -> None:
    held, vectors, ids = opened(8), like_text(50, 8, 5), [f"d{at}" for at in range(50)]
    for start in range(0, 50, 7):
        held.add(ids[start : start + 7], vectors[start : start + 7])
        assert len(held.search(vectors[:1], 99)[0][0]) == min(start + 7, 50)
    assert [names[0] for names, _ in held.search(vectors, 1)] == ids


def test_ids_may_be_any_text(opened: Opener) -> None:
    ids = [*ODD_IDS, "x" * 20_000, "\N{GRINNING FACE}", "\N{RIGHT-TO-LEFT OVERRIDE}"]
    held, axes = opened(len(ids), name='it\'s "x"; 名'), np.eye(len(ids), dtype=np.float32)
    held.add(ids, axes)
    assert [names[0] for names, _ in held.search(axes, 1)] == ids


def test_equal_scores_put_the_larger_id_first_by_bytes(store: Store, opened: Opener) -> None:
    ids = ["a", "B", "b", "10", "9", "é", "z", "\uffff", "\N{GRINNING FACE}", "a'", "aa"]
    held, axis = opened(2), np.array([[0.6, 0.8]], np.float32)
    held.add(ids, np.repeat(axis, len(ids), axis=0))
    best_first = sorted(ids, key=str.encode, reverse=True)
    assert held.search(axis, 99)[0][0] == best_first
    if store.exact:
        assert [held.search(axis, k)[0][0] for k in range(1, 5)] == [best_first[:k] for k in range(1, 5)]


def test_the_zero_vector_scores_nothing(opened: Opener) -> None:
    held = opened(2)
    held.add(["none", "some"], np.array([[0, 0], [1, 0]], np.float32))
    found = held.search(np.array([[1, 0], [0, 0]], np.float32), 2)
    assert found[0][0] == ["some", "none"]
    assert [scores.tolist() for _, scores in found] == [[1.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("shape", [(2, 2), (2, 4), (2,), (1, 2, 3), (3, 3)])
def test_vectors_of_another_shape_are_refused_and_nothing_is_written(opened: Opener, shape: tuple[int, ...]) -> None:
    held = opened(3)
    with pytest.raises(UsageError):
        held.add(["a", "b"], np.ones(shape, np.float32))
    assert held.search(np.ones((1, 3), np.float32), 5)[0][0] == []
    if shape != (3, 3):
        with pytest.raises(UsageError, match="3 dimensions"):
            held.search(np.ones(shape, np.float32), 5)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 1e30])
def test_a_vector_that_is_not_finite_is_refused_and_nothing_is_written(opened: Opener, number: float) -> None:
    held, wrong = opened(2), np.array([[1, 0], [number, 0]], np.float32)
    with pytest.raises(InputError, match="vector bad is not finite"):
        held.add(["good", "bad"], wrong)
    assert held.search(wrong[:1], 5)[0][0] == []
    with pytest.raises(InputError, match="vector number 2 is not finite"):
        held.search(wrong, 5)


@pytest.mark.parametrize("k", [0, -1, True, 1.5])
def test_a_depth_that_is_no_count_is_refused(opened: Opener, k: int) -> None:
    with pytest.raises(UsageError, match="at least 1"):
        opened(2).search(np.eye(2, dtype=np.float32), k)


@pytest.mark.parametrize("wrong", ["", "\ud800", 1.5])
def test_what_is_no_id_is_refused(opened: Opener, wrong: str) -> None:
    with pytest.raises(RankproofError):
        opened(2).add([wrong], np.ones((1, 2), np.float32))


def test_two_stores_open_at_once_do_not_mix(opened: Opener) -> None:
    left, right, axes = opened(2, name="left"), opened(3, name="right"), np.eye(3, dtype=np.float32)
    left.add(["l"], axes[:1, :2])
    right.add(["r"], axes[:1])
    assert left.search(axes[:1, :2], 5)[0][0] == ["l"]
    assert right.search(axes[:1], 5)[0][0] == ["r"]


def test_a_store_that_is_opened_again_is_empty(store: Store, tmp_path: Path) -> None:
    for _ in range(2):
        with store.open("x", 2, str(tmp_path)) as held:
            assert held.search(np.eye(2, dtype=np.float32), 5)[0][0] == []
            held.add(["a"], np.ones((1, 2), np.float32))
    assert list(tmp_path.iterdir()) == []


def test_facts_say_what_was_searched_and_how(store: Store, opened: Opener) -> None:
    held = opened(4)
    held.add(["a"], unit(np.ones((1, 4))))
    held.search(unit(np.ones((1, 4))), 7)
    facts = held.facts()
    assert facts["exact"] is store.exact
    assert any(char.isdigit() for char in facts["library"])
    if facts["store"] in ("chroma", "pgvector") and not store.exact:
        assert max(facts.get("ef", 0), facts.get("ef_search", 0)) >= 100


def test_a_store_without_dimensions_is_refused(store: Store, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="dimensions"):
        store.open("x", 0, str(tmp_path))
