"""Changed settings of systems: fused again from stored rankings, or run again, with the values that a run would give."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rankproof._data.qrels import Qrels
from rankproof._evaluation.result import Result
from rankproof._experiment.config_read import read_experiment
from rankproof._experiment.run import RunOptions, run_experiment
from rankproof._server.bench.port import BenchSource
from rankproof._server.library import ResultsLibrary
from rankproof._workbench.workbench import SystemsWorkbench
from rankproof.errors import RankproofError, UsageError
from support.bench_systems import opened_source, saved_systems

WEIGHTS = {"weights": [1.0, 3.0]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_systems(tmp_path_factory.mktemp("systems") / "first")


@pytest.fixture(scope="module")
def opened(folder: Path) -> tuple[ResultsLibrary, BenchSource]:
    return opened_source(folder)


@pytest.fixture
def bench(opened: tuple[ResultsLibrary, BenchSource], tmp_path: Path) -> Iterator[SystemsWorkbench]:
    workbench = SystemsWorkbench(opened[0], tmp_path / "cache", edit=True)
    yield workbench
    workbench.close()


def run_values(folder: Path, tmp_path: Path, old: str, new: str, system: str) -> dict[str, float]:
    """The values that `run` gives to the system of the file with another line."""
    text = folder.with_suffix(".toml").read_text(encoding="utf-8")
    assert text.count(old) == 1
    file = tmp_path / "changed.toml"
    file.write_text(text.replace(old, new), encoding="utf-8")
    results = run_experiment(read_experiment(file), RunOptions(cache=None, latency_queries=1))
    return dict(next(part for part in results.result.systems if part.name == system).measures["nDCG@10"].per_query)


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        (WEIGHTS, "weights = [1.0, 3.0]"),
        (
            {"method": "combsum", "norm": "z-score", "weights": [0.5, 1.0]},
            'method = "combsum"\nnorm = "z-score"\nweights = [0.5, 1.0]',
        ),
        ({"k": 5}, "k = 5"),
    ],
)
def test_a_fusion_of_stored_rankings_has_the_values_of_a_run(
    folder: Path, tmp_path: Path, opened: tuple[ResultsLibrary, BenchSource], bench: SystemsWorkbench, changes: Any, lines: str
) -> None:
    of = 'of = ["title", "bm25"]'
    assert bench.values(opened[1], "fused", changes) == pytest.approx(run_values(folder, tmp_path, of, f"{of}\n{lines}", "fused"))


def test_the_ranking_of_a_query_is_that_of_the_values(
    opened: tuple[ResultsLibrary, BenchSource], bench: SystemsWorkbench
) -> None:
    _, source = opened
    stored = source.results.system_run("bm25").run
    query = source.results.queries[3]
    alone = bench.ranking(source, "fused", {"method": "combsum", "weights": [0.0, 1.0]}, query)
    assert alone is not None
    assert list(alone.docs[:3]) == list(stored.restricted_to((query,)).docs)[:3]


def test_any_two_systems_can_be_fused_without_being_a_system(
    opened: tuple[ResultsLibrary, BenchSource], bench: SystemsWorkbench
) -> None:
    _, source = opened
    of = {"of": ["title", "bm25"]}
    assert bench.values(source, "reranked", of) == pytest.approx(bench.values(source, "fused", {}))
    listed = bench.knobs(source, "reranked", of)
    assert [knob.key for knob in listed.knobs] == ["method", "k", "weights"]
    assert all(knob.is_immediate for knob in listed.knobs)
    with pytest.raises(UsageError, match="two different systems"):
        bench.values(source, "bm25", {"of": ["bm25", "bm25"]})


def test_a_change_inside_an_input_needs_a_run_and_then_fusing_it_is_immediate(
    folder: Path, tmp_path: Path, opened: tuple[ResultsLibrary, BenchSource], bench: SystemsWorkbench
) -> None:
    _, source = opened
    changes = {"title.k1": 0.6, **WEIGHTS}
    assert bench.values(source, "fused", changes) is None
    bench.rebuild(source, "fused", changes, lambda *progress: None)
    field = 'fields = ["title"]'
    expected = run_values(folder, tmp_path, field, f"{field}\nk1 = 0.6", "fused")
    assert bench.values(source, "fused", {"title.k1": 0.6}) == pytest.approx(expected)
    assert bench.values(source, "fused", changes) is not None
    assert [knob.key for knob in bench.knobs(source, "fused", changes).knobs if knob.is_immediate] == ["method", "k", "weights"]


@pytest.mark.parametrize(
    ("system", "changes", "old", "new"),
    [
        ("reranked", {"weight": 0.2}, "weight = 0.5", "weight = 0.2"),
        ("reranked", {"top": 5, "bm25.b": 0.3}, "top = 20", "top = 5"),
        ("title", {"fields": ["text"]}, 'fields = ["title"]', 'fields = ["text"]'),
    ],
)
def test_a_system_that_is_run_again_has_the_values_of_a_run(
    folder: Path,
    tmp_path: Path,
    opened: tuple[ResultsLibrary, BenchSource],
    bench: SystemsWorkbench,
    system: str,
    changes: Any,
    old: str,
    new: str,
) -> None:
    _, source = opened
    assert bench.values(source, system, changes) is None
    bench.rebuild(source, system, changes, lambda *progress: None)
    text = folder.with_suffix(".toml").read_text(encoding="utf-8")
    other = folder.parent / "other.toml"
    other.write_text(
        text.replace('[systems.bm25]\nstage = "bm25"', '[systems.bm25]\nstage = "bm25"\nb = 0.3') if "bm25.b" in changes else text
    )
    expected = run_values(other.with_suffix(""), tmp_path, old, new, system)
    assert bench.values(source, system, changes) == pytest.approx(expected)
    query = source.results.queries[0]
    assert bench.ranking(source, system, changes, query) is not None


@pytest.mark.parametrize(
    ("system", "changes", "what"),
    [
        ("fused", {"method": "nothing"}, "no fusion method is called nothing"),
        ("fused", {"method": "bayesfuse"}, "trained"),
        ("fused", {"weights": [1.0]}, "1 weight for 2 runs"),
        ("fused", {"k": -1}, "k is -1"),
        ("fused", {"color": 1}, "fusion has no setting color"),
        ("title", {"k2": 1}, "the system has no setting k2"),
        ("title", {"k1": "much"}, "k1"),
        ("title", {"b": 3}, "b is 3"),
        ("title", {"language": "${HOME}"}, "names an environment variable"),
    ],
)
def test_a_value_that_a_setting_does_not_take_is_an_error(
    opened: tuple[ResultsLibrary, BenchSource], bench: SystemsWorkbench, system: str, changes: Any, what: str
) -> None:
    _, source = opened
    act = bench.values if system == "fused" else partial(bench.rebuild, progress=lambda *progress: None)
    with pytest.raises(RankproofError, match=re.escape(what)):
        act(source, system, changes)


def test_stored_rankings_that_do_not_give_the_stored_values_are_not_fused_at_once(
    folder: Path, opened: tuple[ResultsLibrary, BenchSource], bench: SystemsWorkbench
) -> None:
    _, source = opened
    runs = tuple(
        replace(run, stored_run=source.results.system_run("reranked").run) if run.name == "bm25" else run
        for run in source.results.system_runs
    )
    other = replace(source, results=replace(source.results, system_runs=runs), stamp="other")
    assert bench.values(other, "fused", WEIGHTS) is None
    assert not any(knob.is_immediate for knob in bench.knobs(other, "fused", {}).knobs)


def test_without_judgements_rankings_change_and_nothing_is_measured(
    opened: tuple[ResultsLibrary, BenchSource], bench: SystemsWorkbench
) -> None:
    _, source = opened
    results = replace(source.results, qrels=Qrels({}), result=Result((), source.results.result.systems))
    other = replace(source, results=results, measure=None, stamp="unjudged")
    assert bench.ranking(other, "fused", WEIGHTS, results.queries[0]) is not None
    with pytest.raises(UsageError, match="no judgements"):
        bench.values(other, "fused", WEIGHTS)


def test_a_read_only_workbench_runs_nothing(opened: tuple[ResultsLibrary, BenchSource], tmp_path: Path) -> None:
    library, source = opened
    workbench = SystemsWorkbench(library, tmp_path / "cache")
    assert "--edit" in workbench.knobs(source, "title", {}).why_not_rebuild
    for act in (workbench.rebuild, lambda *given: workbench.prove(source, "bm25", "title", *given[2:])):
        with pytest.raises(UsageError, match="read-only"):
            act(source, "title", {"k1": 0.9}, lambda *progress: None)
    assert not (tmp_path / "cache").exists()


def test_the_settings_of_an_engine_that_hold_keys_or_addresses_cannot_be_changed(tmp_path: Path) -> None:
    from rankproof._workbench.stage_settings import part_settings
    from rankproof.stages._engines.http import Http

    stage = Http(url="http://127.0.0.1:1/?q={query}", body={"query": "{query}"}, ids="ids[]", headers={"Key": "${KEY}"})
    assert set(part_settings({"engine": stage}, stage)) == {"body", "query_prompt", "depth"}
