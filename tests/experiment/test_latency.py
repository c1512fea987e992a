"""Rankings come from the batch, and latency from a sample of queries that is the same for all systems."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from rankproof._cli.main import main
from rankproof._data.corpus import Corpus, Document
from rankproof._data.dataset import Dataset, Queries, Query
from rankproof._data.ordering import Ranking, ranked_documents
from rankproof._data.qrels import Qrels
from rankproof._experiment.experiment import Experiment
from rankproof._experiment.queries import latency_sample
from rankproof._experiment.run import RunOptions, run_experiment
from rankproof._results.experiment_result import ExperimentResult, SystemRun, summarise_times
from rankproof._results.folder import load_results, save_results
from rankproof._results.system_files import per_query_csv, summary_csv
from rankproof.errors import UsageError
from rankproof.stages import BM25, RRF, Dense, KeywordScorer, Rerank
from rankproof.stages._base import BuildContext, Cost, QueryTimer, Stage
from support.small_models import HashedWords

COUNT = 60


def shop() -> Dataset:
    docs = [Document(f"d{at}", f"item {at} of shelf {at % 7}") for at in range(30)]
    queries = [Query(f"q{at}", f"item {at % 30} shelf {at % 7}") for at in range(COUNT)]
    judged = Qrels.from_dict({query.id: {f"d{at % 30}": 1} for at, query in enumerate(queries)})
    return Dataset("shop", Corpus(docs), Queries(queries), judged)


@dataclass(frozen=True)
class Batched:
    """A stage with a batch search whose single search can differ, and that can be stopped at a query."""

    wrong: str = ""
    depth: int = 5
    batches: ClassVar[list[int]] = []
    asked: ClassVar[list[str]] = []
    stop_after: ClassVar[int | None] = None
    invariant: ClassVar[bool] = True

    def inputs(self) -> tuple[()]:
        return ()

    def build(self, context: BuildContext) -> BatchedSearcher:
        return BatchedSearcher(self, list(context.corpus)[: self.depth])


@dataclass
class BatchedSearcher:
    stage: Batched
    docs: list[str]

    @property
    def batch_invariant(self) -> bool:
        return self.stage.invariant

    def search(self, query: Query, inputs: Sequence[Ranking], timer: QueryTimer) -> Ranking:
        if Batched.stop_after is not None and len(Batched.asked) >= Batched.stop_after:
            raise KeyboardInterrupt
        Batched.asked.append(query.id)
        docs, scores = self._found()
        return (docs[::-1], scores) if query.id == self.stage.wrong else (docs, scores)

    def search_all(self, queries: Sequence[Query]) -> list[Ranking]:
        Batched.batches.append(len(queries))
        return [self._found() for _ in queries]

    def _found(self) -> Ranking:
        return list(self.docs), np.arange(len(self.docs), 0, -1, dtype=np.float64)

    def cost(self) -> Cost:
        return Cost()

    def facts(self) -> Mapping[str, Any]:
        return {}

    def notes(self) -> Sequence[str]:
        return ()

    def close(self) -> None: ...


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    Batched.batches.clear()
    Batched.asked.clear()
    monkeypatch.setattr(Batched, "stop_after", None)
    monkeypatch.setattr(Batched, "invariant", True)


def experiment(seed: int = 0) -> Experiment:
    bm25, dense = BM25(), Dense(HashedWords())
    systems: dict[str, Stage] = {
        "bm25": bm25,
        "dense": dense,
        "both": RRF((bm25, dense)),
        "reranked": Rerank(bm25, KeywordScorer()),
    }
    return Experiment(systems, shop(), seed=seed)


def run(systems: Mapping[str, Any], latency_queries: int, cache: Path | None = None) -> ExperimentResult:
    return run_experiment(Experiment(dict(systems), shop()), RunOptions(cache=cache, latency_queries=latency_queries))


def timed(system_run: SystemRun, part: str = "total") -> list[int]:
    return np.flatnonzero(~np.isnan(system_run.times[part])).tolist()


def test_the_sample_is_the_same_for_all_systems_and_chosen_by_the_seed() -> None:
    first, second = (run_experiment(experiment(seed), RunOptions(cache=None, latency_queries=12)) for seed in (0, 1))
    for found, seed in ((first, 0), (second, 1)):
        for system_run in found.system_runs:
            for part in system_run.times:
                assert tuple(timed(system_run, part)) == latency_sample(COUNT, 12, seed)
    assert timed(first.system_runs[0]) != timed(second.system_runs[0])


def test_a_larger_sample_has_the_queries_of_a_smaller_one() -> None:
    for size in range(1, COUNT):
        assert set(latency_sample(COUNT, size, 3)) < set(latency_sample(COUNT, size + 1, 3))
    assert latency_sample(COUNT, COUNT + 5, 3) == tuple(range(COUNT))
    assert latency_sample(0, 5, 3) == ()


def test_the_rankings_do_not_depend_on_the_sample() -> None:
    few, all_timed = (run_experiment(experiment(), RunOptions(cache=None, latency_queries=size)) for size in (3, COUNT))
    for one, other in zip(few.system_runs, all_timed.system_runs, strict=True):
        assert list(one.run.docs) == list(other.run.docs)
        assert one.run.scores.tolist() == other.run.scores.tolist()
    assert few.result.means == all_timed.result.means


def test_only_the_sample_and_the_warm_up_are_asked_one_at_a_time() -> None:
    found = run({"batched": Batched()}, 5)
    sample = [f"q{at}" for at in latency_sample(COUNT, 5, 0)]
    warm_up = ["q0", "q1", "q2"]
    assert Batched.batches == [COUNT]
    assert Batched.asked == [*warm_up, *warm_up, *sample]
    assert len(found.system_run("batched").run.queries) == COUNT


def test_a_stage_without_a_batch_is_timed_on_all_queries_and_its_system_on_the_sample() -> None:
    found = run_experiment(experiment(), RunOptions(cache=None, latency_queries=12))
    reranked, bm25 = found.system_run("reranked"), found.system_run("bm25")
    assert timed(reranked) == timed(bm25)
    at = timed(bm25)
    assert (reranked.times["rerank"][at] > 0).all()
    assert (reranked.times["total"][at] > bm25.times["total"][at]).all()


def test_a_batch_that_differs_from_a_single_search_is_refused_with_stage_and_query() -> None:
    sample = latency_sample(COUNT, 5, 0)
    wrong = f"q{sample[2]}"
    expected = (
        rf"fast: search_all and search of Batched rank query {wrong} differently, at rank 1: d0 \(5\.0\) in the batch, "
        rf"d4 \(5\.0\) alone; let both return the same documents with the same scores, or remove search_all"
    )
    with pytest.raises(UsageError, match=expected):
        run({"fast": Batched(wrong)}, 5)
    other = next(f"q{at}" for at in range(3, COUNT) if at not in sample)
    assert run({"fast": Batched(other)}, 5).system_run("fast").notes == ()


def test_a_stage_that_is_not_batch_invariant_gets_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Batched, "invariant", False)
    wrong = f"q{latency_sample(COUNT, 5, 0)[2]}"
    found = run({"fast": Batched(wrong), "same": Batched()}, 5)
    note = (
        "1 of 5 timed queries has another ranking alone than in the batch, which is measured: the model or the store is not exact"
    )
    assert [system_run.notes for system_run in found.system_runs] == [(note,), ()]
    assert ranked_documents(found.system_run("fast").run)[wrong][0] == "d0"


def test_a_resumed_run_keeps_its_timed_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Batched, "stop_after", 6 + 20)
        with pytest.raises(KeyboardInterrupt):
            run({"batched": Batched()}, 40, tmp_path)
    sample = [f"q{at}" for at in latency_sample(COUNT, 40, 0)]
    assert Batched.asked[6:] == sample[:20]
    Batched.asked.clear()
    found = run({"batched": Batched()}, 40, tmp_path)
    assert Batched.asked[6:] == sample[16:], "the first block of 16 was journaled"
    assert [f"q{at}" for at in timed(found.system_run("batched"))] == sample
    assert list((tmp_path / "journals").glob("*")) == []


def test_more_timed_queries_repeat_no_batch_and_fewer_ask_nothing(tmp_path: Path) -> None:
    first = run({"batched": Batched()}, 10, tmp_path)
    more = run({"batched": Batched()}, 30, tmp_path)
    assert Batched.batches == [COUNT]
    assert timed(more.system_run("batched")) == list(latency_sample(COUNT, 30, 0))
    assert not more.system_run("batched").from_cache
    Batched.asked.clear()
    again, fewer = (run({"batched": Batched()}, size, tmp_path).system_run("batched") for size in (30, 10))
    assert Batched.asked == []
    assert again.from_cache
    assert timed(fewer) == timed(first.system_run("batched"))
    kept = timed(fewer)
    assert fewer.times["total"][kept].tolist() == again.times["total"][kept].tolist()
    assert list(again.run.docs) == list(first.system_run("batched").run.docs)


def test_p99_needs_a_thousand_timed_queries() -> None:
    for count, is_known in ((1, False), (999, False), (1_000, True), (5_000, True)):
        found = summarise_times([*range(count), *[float("nan")] * 50])
        assert found is not None
        assert (found.queries, found.p99 is not None) == (count, is_known)
    assert summarise_times([float("nan")]) is None


@pytest.fixture(scope="module")
def sampled() -> ExperimentResult:
    """Results of which 12 of 60 queries were timed."""
    return run_experiment(experiment(), RunOptions(cache=None, latency_queries=12))


def test_a_query_without_a_time_is_null_in_json_and_empty_in_csv(sampled: ExperimentResult, tmp_path: Path) -> None:
    save_results(sampled, tmp_path / "out")
    document = json.loads((tmp_path / "out" / "result.json").read_text(encoding="utf-8"))
    total = document["systems"][0]["times_ms"]["total"]
    at = set(latency_sample(COUNT, 12, 0))
    assert (total["queries"], total["p99"]) == (12, None)
    assert [time is not None for time in total["per_query"]] == [place in at for place in range(COUNT)]
    loaded = load_results(tmp_path / "out")
    for one, other in zip(sampled.system_runs, loaded.system_runs, strict=True):
        for part in one.times:
            assert np.array_equal(one.times[part], other.times[part], equal_nan=True)
    rows = list(csv.DictReader(io.StringIO(per_query_csv(sampled))))[:COUNT]
    assert [row["total_ms"] != "" for row in rows] == [place in at for place in range(COUNT)]
    summary = list(csv.DictReader(io.StringIO(summary_csv(sampled))))
    assert {row["timed_queries"] for row in summary} == {"12"}
    assert document["provenance"]["latency_queries"] == 12


@pytest.mark.parametrize("kind", ["long.csv", "table.tex", "table.md"])
def test_every_output_of_a_sample_says_how_many_queries_and_has_no_nan(
    sampled: ExperimentResult, tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = save_results(sampled, tmp_path / "out")
    assert main(["export", str(out), "-o", str(tmp_path / kind)]) == 0
    text = (tmp_path / kind).read_text(encoding="utf-8")
    assert "nan" not in text.lower().split()
    assert ",nan" not in text
    assert "timed_queries,12.0" in text if kind == "long.csv" else "12 queries, asked one at a time" in text
    capsys.readouterr()
    assert main(["compare", str(out)]) == 0
    assert "ms p50: of 12 queries." in " ".join(capsys.readouterr().out.split())


def test_the_report_and_the_charts_of_a_sample_say_how_many_queries(sampled: ExperimentResult, tmp_path: Path) -> None:
    out = save_results(sampled, tmp_path / "out")
    assert main(["report", str(out), "-o", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "NaN" not in page.partition("<script")[0]
    assert '<td class="numeric">12</td>' in page
    assert main(["plot", str(out), "--kind", "latency,pareto", "-o", str(tmp_path / "charts"), "--format", "svg"]) == 0
    for name in ("latency.svg", "pareto.svg"):
        assert "12 queries" in (tmp_path / "charts" / name).read_text(encoding="utf-8")


def test_the_cost_of_a_query_counts_all_queries_not_the_timed_ones(sampled: ExperimentResult) -> None:
    paid = tuple(replace(one, money=6.0) for one in sampled.system_runs)
    decision = replace(sampled, system_runs=paid).compare().decision
    assert decision.cost_unit == "money"
    assert {one.cost for one in decision.by_system} == {6.0 / COUNT}
    assert decision.timed_queries == ""


def test_the_option_sets_the_number_of_timed_queries(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["run", "--systems", "bm25", "--latency-queries", "7", "--no-cache", "-o", str(tmp_path / "out"), "--no-report"]
    assert main([*command, "--format", "json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["systems"][0]["times_ms"]["total"]["queries"] == 7
    assert main(["run", "--latency-queries", "0"]) == 2
    assert "--latency-queries" in capsys.readouterr().err
    with pytest.raises(UsageError, match="latency_queries"):
        RunOptions(latency_queries=0)
