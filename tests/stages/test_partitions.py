"""A retriever over partitions: same bits for any partitions and executor, and kills cost one partition."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._data.corpus import Corpus, Document
from rankproof._data.ordering import Ranking, best_first_order
from rankproof._executors.base import Executor, SerialExecutor
from rankproof._executors.processes import ProcessExecutor
from rankproof._experiment.cache import DiskBlockCache, MemoryBlockCache
from rankproof._io.paths import is_temporary
from rankproof.errors import ExternalError
from rankproof.stages import _partitions
from rankproof.stages._base import BuildContext
from rankproof.stages._partitions import PartitionedSearch, merge_rankings, partition_key
from support.paths import SOURCE, TESTS
from support.word_retriever import KILL, PREPARED, SEARCHED, WordIndex, WordRetriever

QUERIES = ["red apple", "pie", "red red", "nothing", ""]
WORDS = st.lists(st.sampled_from(["red", "apple", "pie", "tart"]), max_size=4).map(" ".join)
CORPORA = st.dictionaries(st.text("abä0", min_size=1, max_size=3), WORDS, min_size=1, max_size=14)

WordSearch = PartitionedSearch[Counter[str], Counter[str], Sequence[str]]


def silent(label: str, done: int, total: int) -> None:
    return None


def corpus_of(texts: dict[str, str], size: int) -> Corpus:
    return Corpus((Document(doc, text) for doc, text in texts.items()), partition_size=size)


TEXTS = {f"d{at * 7919 % 40:02}": f"{'red ' * (at % 3)}{'apple' if at % 2 else 'pie'}" for at in range(40)}


def bits(rankings: list[Ranking]) -> list[tuple[list[str], bytes]]:
    return [(docs, np.asarray(scores, np.float64).tobytes()) for docs, scores in rankings]


def search_of(corpus: Corpus, cache: DiskBlockCache | MemoryBlockCache, log: Path, executor: Executor) -> WordSearch:
    context = BuildContext(corpus, corpus.fingerprint(), cache, executor=executor)
    return PartitionedSearch(context, WordRetriever(log), "words", label="indexing")


def found(corpus: Corpus, log: Path, k: int, executor: Executor | None = None) -> tuple[list[Ranking], list[Ranking]]:
    """The rankings of a batch and of single queries."""
    with MemoryBlockCache(silent) as cache:
        search = search_of(corpus, cache, log, executor or SerialExecutor())
        search.prepare_all()
        return search.search_all(QUERIES, k), [search.search_one([query], k) for query in QUERIES]


def merged(texts: dict[str, str], size: int, k: int) -> list[Ranking]:
    """The rankings from indexes in memory."""
    corpus = corpus_of(texts, size)
    words = {row: text.split() for row, text in texts.items()}
    totals = Counter(word for each in words.values() for word in set(each))
    indexes = [WordIndex(one, [words[doc] for doc in one.ids], totals) for one in corpus.partitions]
    return merge_rankings(corpus, (index.search(QUERIES, k) for index in indexes), len(QUERIES), k)


@pytest.mark.parametrize("is_native", [True, False])
@given(CORPORA, st.integers(1, 5), st.integers(1, 6), st.sampled_from([1, 20, 1000]))
def test_a_merge_has_the_same_bits_for_any_partitions_and_blocks(
    is_native: bool, texts: dict[str, str], size: int, k: int, block: int
) -> None:
    whole = merged(texts, 100, k)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_partitions, "_MERGED_HITS", block)
        if not is_native:
            patch.setattr(_partitions, "_has_native_merge", lambda: False)
        assert bits(merged(texts, size, k)) == bits(whole)
    for docs, scores in whole:
        assert best_first_order(docs, scores).tolist() == list(range(len(docs)))


@pytest.mark.parametrize("size", [1, 7, 39])
@pytest.mark.parametrize("k", [3, 10])
def test_rankings_of_a_batch_and_of_single_queries_have_the_same_bits_for_any_partitions(
    tmp_path: Path, size: int, k: int
) -> None:
    whole = merged(TEXTS, 100, k)
    assert len(whole[0][0]) == k
    batch, singly = found(corpus_of(TEXTS, size), tmp_path, k)
    assert bits(batch) == bits(singly) == bits(whole)


@pytest.fixture(scope="module")
def processes() -> Iterator[ProcessExecutor]:
    with ProcessExecutor(2) as executor:
        yield executor


@pytest.mark.parametrize("size", [1, 7, 39])
def test_rankings_have_the_same_bits_in_processes(tmp_path: Path, processes: ProcessExecutor, size: int) -> None:
    assert bits(found(corpus_of(TEXTS, size), tmp_path, 10, processes)[0]) == bits(merged(TEXTS, 100, 10))


def test_progress_of_two_workers_is_the_number_of_documents(tmp_path: Path, processes: ProcessExecutor) -> None:
    told: list[tuple[str, int, int]] = []
    corpus = corpus_of(TEXTS, 7)
    with MemoryBlockCache(silent) as cache:
        context = BuildContext(corpus, "", cache, progress=lambda *one: told.append(one), executor=processes)
        PartitionedSearch(context, WordRetriever(tmp_path), "words", label="indexing").prepare_all()
    assert {label for label, _, _ in told} == {"indexing"}
    assert [done for _, done, _ in told][-1] == 40
    assert {total for _, _, total in told} == {40}


def test_no_documents_give_no_rankings(tmp_path: Path) -> None:
    batch, singly = found(Corpus(), tmp_path, 10)
    assert bits(batch) == bits(singly) == [([], b"")] * len(QUERIES)


def lines(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def test_a_partition_is_prepared_once_in_the_cache_and_a_changed_one_again(tmp_path: Path) -> None:
    for texts, prepared in ((TEXTS, 4), (TEXTS, 4), ({**TEXTS, "d39": "tart"}, 5), (dict(reversed(TEXTS.items())), 9)):
        with DiskBlockCache(tmp_path / "cache", silent) as cache:
            search = search_of(corpus_of(texts, 10), cache, tmp_path, SerialExecutor())
            search.prepare_all()
            assert len(lines(tmp_path / PREPARED)) == prepared
    assert search.size() > 0


def test_the_time_of_preparing_is_that_of_the_first_time(tmp_path: Path) -> None:
    seconds = []
    for _ in range(2):
        with DiskBlockCache(tmp_path / "cache", silent) as cache:
            search = search_of(corpus_of(TEXTS, 1), cache, tmp_path, SerialExecutor())
            search.prepare_all()
            seconds.append(search.seconds)
    assert seconds[0] > 0
    assert seconds[1] == pytest.approx(seconds[0], rel=0.5)


def test_the_key_of_a_partition_depends_on_documents_and_their_order() -> None:
    one, other = ({"a": "x", "b": "y"}, {"b": "y", "a": "x"})
    keys = [partition_key(corpus_of(texts, 5).partitions[0]) for texts in (one, other, one, {**one, "b": "z"})]
    assert keys[0] == keys[2]
    assert len(set(keys)) == 3


def test_hits_stay_until_the_stage_is_cached(tmp_path: Path) -> None:
    with DiskBlockCache(tmp_path / "cache", silent) as cache:
        search = search_of(corpus_of(TEXTS, 10), cache, tmp_path, SerialExecutor())
        search.prepare_all()
        for queries, searched in ((QUERIES, 4), (QUERIES, 4), (QUERIES[:1], 8)):
            before = len(lines(tmp_path / SEARCHED)), cache.saved_seconds
            search.search_all(queries, 10)
            assert (cache.saved_seconds > before[1]) == (searched == before[0])
            assert len(lines(tmp_path / SEARCHED)) == searched
        cache.forget("stage")
        assert not (tmp_path / "cache" / "hits").exists()
        search.search_all(QUERIES, 10)
        assert len(lines(tmp_path / SEARCHED)) == 12
    assert not (tmp_path / "cache" / "hits").exists()


def test_hits_stay_after_an_error(tmp_path: Path) -> None:
    def fail(cache: DiskBlockCache) -> None:
        with cache:
            search = search_of(corpus_of(TEXTS, 10), cache, tmp_path, SerialExecutor())
            search.prepare_all()
            search.search_all(QUERIES, 10)
            raise ExternalError("a failure of another part")

    for _ in range(2):
        with pytest.raises(ExternalError):
            fail(DiskBlockCache(tmp_path / "cache", silent))
    assert len(lines(tmp_path / SEARCHED)) == 4


def test_two_runs_with_the_same_search_have_their_own_hits(tmp_path: Path) -> None:
    """The run that ends first removes its hits while the other one still searches."""
    with DiskBlockCache(tmp_path / "cache", silent) as slow:
        search = search_of(corpus_of(TEXTS, 10), slow, tmp_path, SerialExecutor())
        search.prepare_all()
        mine = slow.hits_folder("same search")
        (mine / "part").write_text("in use")
        with DiskBlockCache(tmp_path / "cache", silent) as fast:
            theirs = fast.hits_folder("same search")
            assert theirs != mine
        assert not theirs.exists()
        assert (mine / "part").read_text() == "in use"
    assert not (tmp_path / "cache" / "hits").exists()


def test_hits_of_other_settings_are_not_used(tmp_path: Path) -> None:
    corpus = corpus_of(TEXTS, 10)
    best = []
    with DiskBlockCache(tmp_path / "cache", silent) as cache:
        for factor in (1.0, 3.0):
            context = BuildContext(corpus, "", cache)
            search: WordSearch = PartitionedSearch(context, WordRetriever(tmp_path, factor), "words", label="indexing")
            search.prepare_all()
            best.append(search.search_all(QUERIES, 10)[0][1][0])
    assert len(lines(tmp_path / PREPARED)) == 4
    assert best[1] == 3 * best[0]


KILLED = """
import sys
from pathlib import Path
from rankproof._executors.base import SerialExecutor
from rankproof._executors.processes import ProcessExecutor
from rankproof._experiment.cache import DiskBlockCache
from rankproof._io.paths import is_temporary
from rankproof.errors import ExternalError
from rankproof.stages import _partitions
from rankproof.stages._base import BuildContext
from rankproof.stages._partitions import PartitionedSearch
from stages.test_partitions import QUERIES, TEXTS, corpus_of, silent
from support.word_retriever import WordRetriever
folder, workers = Path(sys.argv[1]), int(sys.argv[2])
corpus = corpus_of(TEXTS, 5)
with DiskBlockCache(folder / "cache", silent) as cache, ProcessExecutor(workers) if workers > 1 else SerialExecutor() as executor:
    context = BuildContext(corpus, "", cache, executor=executor)
    search = PartitionedSearch(context, WordRetriever(folder), "words", label="indexing")
    search.prepare_all()
    search.search_all(QUERIES, 10)
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", [PREPARED, SEARCHED])
def test_after_a_kill_the_next_run_goes_on_with_the_partition_in_hand(tmp_path: Path, workers: int, name: str) -> None:
    paths = os.pathsep.join([str(SOURCE.parent), str(TESTS)])
    environment = {**os.environ, "PYTHONPATH": paths, KILL: f"{name} 5"}
    command = [sys.executable, "-c", KILLED, str(tmp_path), str(workers)]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == (1 if workers > 1 else -signal.SIGKILL), ended.stderr
    before = lines(tmp_path / name)
    assert len(before) >= 4
    assert "5" not in before
    with DiskBlockCache(tmp_path / "cache", silent) as cache:
        search = search_of(corpus_of(TEXTS, 5), cache, tmp_path, SerialExecutor())
        search.prepare_all()
        again = search.search_all(QUERIES, 10)
    repeated = [number for number in set(before) if lines(tmp_path / name).count(number) > 1]
    assert len(repeated) <= workers - 1, "only what another worker had in hand is done again"
    assert bits(again) == bits(merged(TEXTS, 100, 10))


FILES = 6
"""Of two partitions: words, time of preparing, and hits."""


@pytest.mark.slow
@pytest.mark.parametrize("written", range(FILES))
def test_a_disk_that_is_full_at_any_file_leaves_nothing_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    home, sync, room = tmp_path / "cache", os.fsync, iter(range(2 * written))

    def full(handle: int) -> None:
        """Each file is synced, and then its folder."""
        if next(room, None) is None:
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(handle)

    def search_all() -> list[Ranking]:
        with DiskBlockCache(home, silent) as cache:
            search = search_of(corpus_of(TEXTS, 20), cache, tmp_path, SerialExecutor())
            search.prepare_all()
            return search.search_all(QUERIES, 10)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(ExternalError, match=r"No space left on device.*choose another cache folder"):
            search_all()
    assert [path for path in home.rglob("*") if is_temporary(path.name)] == []
    assert len(list(home.rglob("*.arrays"))) == written
    assert bits(search_all()) == bits(merged(TEXTS, 100, 10))


LIMITED = """
import resource, signal, sys
from pathlib import Path
from rankproof._data.corpus import Corpus, Document
from rankproof._experiment.cache import DiskBlockCache
from rankproof.errors import ExternalError
from rankproof.stages import BM25
from rankproof.stages._base import BuildContext
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
home = Path(sys.argv[1])
large = {f"d{at}": " ".join(f"w{at * word % 997}" for word in range(60)) for at in range(400)}
texts = {f"small{at}": "w1 w2" for at in range(400)} | large
corpus = Corpus((Document(doc, text) for doc, text in texts.items()), partition_size=400)
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, resource.RLIM_INFINITY))
with DiskBlockCache(home, lambda *done: None) as cache:
    try:
        BM25().build(BuildContext(corpus, "", cache))
    except ExternalError as error:
        print(error)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of the size of files")
def test_a_write_that_fails_in_the_middle_of_a_partition_keeps_the_partitions_before_it(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE.parent)}
    command = [sys.executable, "-c", LIMITED, str(tmp_path)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    assert "File too large" in done.stdout
    files = sorted(path.name for path in tmp_path.rglob("*") if path.is_file())
    assert files == ["postings.arrays", "prepared.arrays"]
