"""The proof of changed settings: held-out rankings, the results that it writes, and how rarely nothing is called proven."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from rankproof import compare, load_results, read_experiment
from rankproof._analysis.decision.record import Decision
from rankproof._server.bench.live import StoppedError
from rankproof._server.bench.port import BenchSource, Progress, Proof
from rankproof._server.library import ResultsLibrary
from rankproof._statistics.deterministic import VariateStream
from rankproof._tune.search import fold_numbers
from rankproof._workbench.fusion import FusionBench, stored_fusion
from rankproof._workbench.proof import cross_validated, how_many_more, is_better
from rankproof._workbench.workbench import SystemsWorkbench
from rankproof.errors import UsageError
from rankproof.measures import nDCG
from support.bench_systems import opened_source, saved_systems
from support.tuned_matrices import MatrixObjective, row_space

RUNS = 200


def quiet(label: str, done: int, total: int) -> None:
    """Reports nothing."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_systems(tmp_path_factory.mktemp("proof") / "first")


@pytest.fixture
def opened(folder: Path, tmp_path: Path) -> Iterator[tuple[ResultsLibrary, BenchSource, SystemsWorkbench]]:
    library, source = opened_source(folder)
    workbench = SystemsWorkbench(library, tmp_path / "cache", edit=True)
    yield library, source, workbench
    workbench.close()


Opened = tuple[ResultsLibrary, BenchSource, SystemsWorkbench]


def folder_of(library: ResultsLibrary, proof: Proof) -> Path:
    entry = library.entry(proof.results)
    assert entry is not None
    return Path(entry.path)


def test_a_better_fusion_is_proven_with_results_and_an_experiment_that_can_be_run(opened: Opened) -> None:
    library, source, workbench = opened
    proof = workbench.prove(source, "title", "fused", {"method": "combsum"}, quiet)
    assert proof.proven
    assert proof.sentence.startswith("Proven: fused-tuned is better than title by ")
    assert proof.low is not None
    assert proof.low > 0
    results = load_results(folder_of(library, proof))
    assert [system.name for system in results.system_runs] == ["title", "fused", "fused-tuned"]
    among = "Among title, fused and fused-tuned alone: "
    assert proof.decision.removeprefix(among).startswith(compare(results).decision.sentences[0])
    experiment = read_experiment(proof.toml)
    assert list(experiment.systems) == ["fused", "fused-tuned"]
    assert "nested cross-validation" in Path(proof.toml).read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_decision_of_a_proof_names_the_better_systems_that_it_does_not_compare(opened: Opened) -> None:
    library, source, workbench = opened
    assert source.measure is not None
    proof = workbench.prove(source, "title", "title", {"k1": 0.9}, quiet)
    assert proof.decision.startswith("Among title and title-tuned alone: ")
    result, proved = source.results.result, load_results(folder_of(library, proof)).result
    best = max(proved.value(source.measure, name) for name in ("title", "title-tuned"))
    values = {name: result.value(source.measure, name) for name in ("bm25", "fused", "reranked")}
    assert {name for name, value in values.items() if f"{name} ({value:.3f})" in proof.decision} == {
        name for name, value in values.items() if value > best
    }
    assert "bm25 (" in proof.decision
    assert proof.decision.endswith(" not compared, with a better mean.")


@pytest.mark.slow
def test_each_query_of_the_new_results_is_ranked_with_settings_that_other_queries_chose(opened: Opened) -> None:
    library, source, workbench = opened
    proof = workbench.prove(source, "bm25", "fused", {"k": 5}, quiet)
    held = load_results(folder_of(library, proof)).result.systems[-1].measures["nDCG@10"].per_query
    fused = stored_fusion(source.results, "fused")
    assert not isinstance(fused, str)
    bench = FusionBench(source.results, source.measure, fused)
    tried = [1.0, 5.0, *np.linspace(10, 100, 10).tolist(), 60.0]
    values = {k: bench.values({"k": k}) for k in tried}
    queries = sorted(held)
    folds = fold_numbers(len(queries), 5, 0, 0)
    for fold in range(5):
        others = [query for query, number in zip(queries, folds, strict=True) if number != fold]
        best = max(sum(values[k][query] for query in others) for k in tried)
        chosen = [k for k in tried if sum(values[k][query] for query in others) == pytest.approx(best, abs=1e-9)]
        own = [query for query, number in zip(queries, folds, strict=True) if number == fold]
        assert any(all(held[query] == pytest.approx(values[k][query]) for query in own) for k in chosen)


@pytest.mark.slow
def test_a_system_that_is_run_for_each_trial_can_be_proved_too(opened: Opened) -> None:
    library, source, workbench = opened
    proof = workbench.prove(source, "bm25", "bm25", {"k1": 0.9}, quiet)
    assert not proof.proven
    assert proof.sentence.startswith("Not proven: bm25-tuned minus bm25 is ")
    assert [system.name for system in load_results(folder_of(library, proof)).system_runs] == ["bm25", "bm25-tuned"]
    assert "bm25-tuned" in read_experiment(proof.toml).systems


def test_a_fusion_that_was_only_chosen_is_proved_by_its_weights(opened: Opened) -> None:
    _, source, workbench = opened
    proof = workbench.prove(source, "bm25", "reranked", {"of": ["reranked", "title"]}, quiet)
    assert proof.sentence.startswith(("Proven: ", "Not proven: "))
    assert "weights" in proof.settings


def test_a_gain_that_is_too_small_says_how_many_more_queries_prove_it() -> None:
    stream = VariateStream(7, "normals")
    first = 0.5 + 0.1 * stream.normals(100)
    apart = stream.normals(100)
    apart = 0.02 + 0.15 * (apart - apart.mean()) / apart.std(ddof=1)
    objective = MatrixObjective(np.stack([first - 1, first + apart]))
    known = dict(zip(objective.queries, first.tolist(), strict=True))
    result, against = cross_validated(objective, known, row_space(2, default=1), nDCG @ 10, "fusion")
    words = how_many_more(result, against, cast(Decision, SimpleNamespace(needed=None)))
    # 80% power at 5%: (1.96 + 0.84) squared times the variance, which counts 5 / 4 times for five folds.
    needed = (1.96 + 0.84) ** 2 * 0.15**2 * 1.25 / 0.02**2
    assert words == f"about {math.ceil((needed - 100) / 10) * 10} more queries prove a gain of 2.00 pp with a chance of 80%"


@pytest.mark.slow
def test_each_proof_has_a_folder_of_its_own_which_the_server_lists(opened: Opened) -> None:
    library, source, workbench = opened
    first, second = (workbench.prove(source, "title", "fused", {"k": 5}, quiet) for _ in range(2))
    assert first.results != second.results
    assert {first.results, second.results} <= {entry.id for entry in library.entries()}
    assert replace(first, results="", toml="") == replace(second, results="", toml="")


def test_what_was_written_by_hand_cannot_be_proved_by_the_same_queries(opened: Opened) -> None:
    _, source, workbench = opened
    with pytest.raises(UsageError, match="fields was written while looking at these queries"):
        workbench.prove(source, "bm25", "title", {"fields": ["text"]}, quiet)


def test_a_changed_depth_alone_cannot_be_proved(opened: Opened) -> None:
    _, source, workbench = opened
    with pytest.raises(UsageError, match="a proof keeps the depth, and nothing else was changed"):
        workbench.prove(source, "bm25", "title", {"depth": 5}, quiet)


def test_a_stopped_proof_writes_nothing(opened: Opened, folder: Path) -> None:
    _, source, workbench = opened
    before = sorted(path.name for path in folder.parent.iterdir())

    def stop(label: str, done: int, total: int) -> None:
        raise StoppedError("stopped")

    stopping: Progress = stop
    with pytest.raises(StoppedError):
        workbench.prove(source, "title", "fused", {"k": 5}, stopping)
    assert sorted(path.name for path in folder.parent.iterdir()) == before


def random_rows(rows: int, queries: int, seed: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """System A and settings of B with the same true mean: a value of the query, and noise."""
    stream = VariateStream(seed, "normals")
    values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]
    values = 0.3 * stream.normals(queries) + 0.15 * stream.normals(rows * queries).reshape(rows, queries)
    return values


def is_proven(matrix: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> bool:
    objective = MatrixObjective(matrix[1:])
    first = dict(zip(objective.queries, matrix[0].tolist(), strict=True))
    result, _ = cross_validated(objective, first, row_space(len(matrix) - 1), nDCG @ 10, "fusion")
    return is_better(result.baselines[1].gain, result.direction)


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "queries"), [(3, 50), (21, 50), (21, 150)])
def test_settings_without_a_true_gain_over_a_are_rarely_called_proven(rows: int, queries: int) -> None:
    proven = [is_proven(random_rows(rows, queries, seed)) for seed in range(RUNS)]
    # 2.5% on the better side; three standard errors of so many runs above it.
    assert np.mean(proven) <= 0.025 + 3 * (0.025 * 0.975 / RUNS) ** 0.5


@pytest.mark.slow
def test_a_true_gain_is_mostly_proven() -> None:
    matrices = [random_rows(6, 100, seed) for seed in range(50)]
    for matrix in matrices:
        matrix[4] += 0.1
    assert np.mean([is_proven(matrix) for matrix in matrices]) >= 0.9
