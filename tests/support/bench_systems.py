"""Results of systems on the sample, with the systems themselves, for tests of the bench."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tools.small_experiment import SYSTEMS

from rankproof._experiment.config_read import read_experiment
from rankproof._experiment.run import RunOptions, run_experiment
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.folder import save_results
from rankproof._server.api import Feature
from rankproof._server.bench.feature import Bench
from rankproof._server.bench.live import LiveBench
from rankproof._server.bench.port import BenchSource
from rankproof._server.bench.queries import LibraryDocuments
from rankproof._server.library import ResultsLibrary, results_stamp
from rankproof._workbench.workbench import SystemsWorkbench
from support.results_server import Visitor, serving

BENCH_SYSTEMS = f"""{SYSTEMS}
[systems.reranked]
stage = "rerank"
of = "bm25"
by = "keywords"
top = 20
weight = 0.5
"""
ENGINE = """
[systems.engine]
stage = "http"
url = "{url}/search"
body = {{query = "{{query}}", boost = 1}}
ids = "ids[]"
scores = "scores[]"
texts = "texts[]"
timeout = 1
"""


def saved_systems(folder: Path, more: str = "", *, top: str = 'dataset = "sample"\n', systems: str = BENCH_SYSTEMS) -> Path:
    """A results folder of these systems, run through the cache of the tests."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    file = folder.parent / f"{folder.name}.toml"
    file.write_text(f"{top}{systems}{more}", encoding="utf-8")
    save_results(run_experiment(read_experiment(file), RunOptions(latency_queries=1)), str(folder))
    return folder


def opened_source(*paths: Path) -> tuple[ResultsLibrary, BenchSource]:
    """The first results, as the bench gives them to its workbench."""
    library = ResultsLibrary([str(path) for path in paths])
    entry = library.entries()[0]
    results = library.results(entry)
    return library, BenchSource(entry, results, decided_measure(results), results_stamp(entry))


def decided_measure(results: ExperimentResult) -> Any:
    return results.result.systems[0].measures["nDCG@10"].measure if results.is_judged else None


@contextmanager
def bench_serving(
    *paths: Path, cache: Path, edit: bool = True, more: Callable[[ResultsLibrary], list[Feature]] = lambda library: []
) -> Iterator[Visitor]:
    """The bench with the systems behind its results."""

    def features(library: ResultsLibrary, log: object) -> list[Feature]:
        bench = Bench(library, LibraryDocuments())
        return [bench, LiveBench(bench, SystemsWorkbench(library, cache, edit=edit)), *more(library)]

    with serving(list(paths), features=features, permissions=["edit"] if edit else []) as visitor:
        yield visitor
