"""The law of partitions: rankings and scores have the same bits for any partitions, executor and BLAS kernel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest

from rankproof._data.corpus import Corpus, Document
from rankproof._data.dataset import Query
from rankproof._data.ordering import Ranking
from rankproof._executors.base import Executor, SerialExecutor
from rankproof._executors.processes import ProcessExecutor
from rankproof._executors.ray import RayExecutor
from rankproof._experiment.cache import MemoryBlockCache
from rankproof._experiment.runner import StageRunner
from rankproof.models import MiniLM, WordLlama
from rankproof.stages import BM25, RM3, BiEncoderScorer, Dense, MaxSim, Rerank, RunFile
from rankproof.stages._base import BatchSearcher, BuildContext, Stage
from rankproof.stages._engines.base import EngineStage
from support.paths import SOURCE, TESTS
from support.ray_cluster import ray_cluster
from support.small_models import HashedWords
from support.stage_examples import EXAMPLES, NAMES

WORDS = ["a", "b", "c", "d", "é", "apple", "pie", "red", "induction", "hob", "resting", "dough", "knife"]
SIZES = (1, 7, 100)
WHOLE = 1000
OFFLINE: dict[str, Stage] = {
    **{name: stage for name, stage in zip(NAMES, EXAMPLES, strict=True) if not isinstance(stage, EngineStage | RunFile)},
    "deep-bm25": BM25(depth=500),
    "wide-dense": Dense(HashedWords(dimensions=384), depth=20),
    "deep-dense": Dense(HashedWords(dimensions=384), depth=500),
}
QUERIES = [
    Query(f"q{at}", text) for at, text in enumerate(["a b", "é", "red apple pie", "", "b b c", "hob", "zebra", "knife dough"])
]


def corpus_of_size(size: int) -> Corpus:
    """120 documents, some of them equal, some empty, in partitions of that size."""
    draw = np.random.default_rng(17)
    texts = [" ".join(draw.choice(WORDS, draw.integers(0, 9))) for _ in range(90)]
    ids = [f"{'é' if at % 5 == 0 else 'd'}{at * 37 % 120}" for at in range(120)]
    return Corpus((Document(doc, text) for doc, text in zip(ids, texts + texts[:30], strict=True)), partition_size=size)


def silent(label: str, done: int, total: int) -> None:
    return None


def bits(rankings: list[Ranking] | tuple[Ranking, ...]) -> str:
    """A digest of documents and scores."""
    found = [(docs, np.asarray(scores, np.float64).tobytes().hex()) for docs, scores in rankings]
    return sha256(json.dumps(found).encode()).hexdigest()


def outputs(size: int, executor: Executor, stages: Mapping[str, Stage] = OFFLINE) -> dict[str, dict[str, Any]]:
    """For each stage: the bits of its rankings, and of a batch where it has one; answers and notes."""
    corpus = corpus_of_size(size)
    with MemoryBlockCache(silent) as block_cache:
        context = BuildContext(corpus, corpus.fingerprint(), block_cache, executor=executor)
        runner = StageRunner(context, QUERIES, range(len(QUERIES)), block_cache, None)
        return {name: output(stage, runner) for name, stage in stages.items()}


def output(stage: Stage, runner: StageRunner) -> dict[str, Any]:
    ran = runner.stage_run(stage, "").output
    found = {"rankings": bits(ran.rankings), "answers": repr(ran.answers), "notes": list(ran.notes)}
    if stage.inputs():
        return found
    with closing(stage.build(runner.context)) as searcher:
        assert isinstance(searcher, BatchSearcher)
        return {**found, "batch": bits(searcher.search_all(QUERIES))}


@cache
def whole() -> Mapping[str, dict[str, Any]]:
    return outputs(WHOLE, SerialExecutor())


def differences(found: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    return {name: (found[name], expected) for name, expected in whole().items() if found[name] != expected}


@pytest.mark.slow
def test_the_examples_find_documents_with_ties_and_a_batch_finds_the_same() -> None:
    assert {name: one for name, one in whole().items() if one.get("batch", one["rankings"]) != one["rankings"]} == {}
    assert len({one["rankings"] for one in whole().values()}) > 20
    with MemoryBlockCache(silent) as cache:
        searcher = BM25(depth=500).build(BuildContext(corpus_of_size(7), "", cache))
        assert any(len(set(scores.tolist())) < len(scores) for _, scores in searcher.search_all(QUERIES))


@pytest.mark.parametrize(
    "size", [pytest.param(size, marks=pytest.mark.release if size == min(SIZES) else pytest.mark.slow) for size in SIZES]
)
def test_rankings_have_the_same_bits_for_any_partitions(size: int) -> None:
    assert differences(outputs(size, SerialExecutor())) == {}


@pytest.mark.slow
def test_rankings_have_the_same_bits_in_processes() -> None:
    with ProcessExecutor(2) as executor:
        assert differences(outputs(7, executor)) == {}


KERNEL = """
import json, os
os.fsync = lambda handle: None
from contracts.test_partition_laws import outputs
from rankproof._executors.base import SerialExecutor
import threadpoolctl
print(json.dumps([[one.get("architecture") for one in threadpoolctl.threadpool_info()], outputs(7, SerialExecutor())]))
"""


def kernels() -> list[str]:
    from threadpoolctl import threadpool_info

    return [one["architecture"] for one in threadpool_info() if one.get("internal_api") == "openblas"]


@pytest.mark.slow
@pytest.mark.skipif("Haswell" in kernels() or not kernels(), reason="numpy has no other BLAS kernel here")
def test_rankings_have_the_same_bits_with_another_blas_kernel() -> None:
    environment = {**os.environ, "OPENBLAS_CORETYPE": "Haswell", "PYTHONPATH": os.pathsep.join([str(SOURCE.parent), str(TESTS)])}
    done = subprocess.run([sys.executable, "-c", KERNEL], env=environment, stdout=subprocess.PIPE, text=True, check=True)
    used, found = json.loads(done.stdout)
    assert "Haswell" in used
    assert differences(found) == {}


ENCODERS: dict[str, Stage] = {
    "static": Dense(WordLlama()),
    "int8": Dense(MiniLM()),
    "fp32": Dense(MiniLM(precision="fp32"), passage_prompt="passage: "),
    "maxsim": Rerank(BM25(), MaxSim(MiniLM())),
    "bi-encoder": Rerank(BM25(), BiEncoderScorer(MiniLM(precision="fp32"))),
}


@pytest.mark.release
@pytest.mark.usefixtures("minilm_cache")
def test_encoders_give_the_same_bits_for_any_partitions_and_in_processes() -> None:
    expected = outputs(WHOLE, SerialExecutor(), ENCODERS)
    assert len({one["rankings"] for one in expected.values()}) == len(ENCODERS)
    for size in (1, 50):
        assert outputs(size, SerialExecutor(), ENCODERS) == expected
    with ProcessExecutor(2) as executor:
        assert outputs(50, executor, ENCODERS) == expected


class LosesNode:
    """An executor that loses a node of its cluster when the fifth call with several items has its first result."""

    def __init__(self, executor: Executor, lose: Callable[[], None]) -> None:
        self._executor, self._lose = executor, lose
        self.workers, self.calls = executor.workers, 0

    def map(self, task: Any, items: Sequence[Any], **arguments: Any) -> Iterator[Any]:
        self.calls += len(items) > 1
        for number, result in enumerate(self._executor.map(task, items, **arguments)):
            if self.calls == 5 and number == 0:
                self._lose()
            yield result

    def close(self) -> None:
        self._executor.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def works_on_partitions(stage: Stage) -> bool:
    return isinstance(stage, BM25 | Dense | RM3) or (isinstance(stage, Rerank) and isinstance(stage.by, MaxSim))


@pytest.mark.release
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_rankings_have_the_same_bits_on_a_cluster_that_loses_a_node(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="needs the extra ray")
    with ray_cluster() as cluster, cluster.node() as node, RayExecutor(cluster.on, tmp_path) as executor:
        loses = LosesNode(executor, lambda: cluster.kill(node))
        found = outputs(24, loses, {name: stage for name, stage in OFFLINE.items() if works_on_partitions(stage)})
        assert found == {name: whole()[name] for name in found}
        assert loses.calls > 5
