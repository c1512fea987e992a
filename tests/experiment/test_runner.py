"""StageRunner computes each distinct stage once, caches it, and reports a failed cache."""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from rankproof._data.corpus import Corpus, Document
from rankproof._data.dataset import Dataset, Queries, Query
from rankproof._data.ordering import Ranking
from rankproof._data.qrels import Qrels
from rankproof._experiment import cache
from rankproof._experiment.experiment import Experiment
from rankproof._experiment.queries import queries_with_text, select_judged
from rankproof._experiment.run import RunOptions, run_experiment, total_cost
from rankproof._results.experiment_result import ExperimentResult
from rankproof.errors import ExternalError, UsageError
from rankproof.stages import BM25, RRF, BiEncoderScorer, Dense, KeywordScorer, Rerank
from rankproof.stages._base import BuildContext, Cost, QueryTimer, Stage
from support.small_models import HashedWords

WORDS = ("apple", "bread", "carrot", "dough", "egg", "flour", "garlic", "honey")


def kitchen(queries: int = 40) -> Dataset:
    docs = [Document(f"d{n}", f"{WORDS[n % 8]} {WORDS[n // 8 % 8]} note {n}", title=WORDS[n % 8]) for n in range(64)]
    asked = [Query(f"q{n}", f"{WORDS[n % 8]} with {WORDS[(n * 3 + 1) % 8]}") for n in range(queries)]
    grades = {query.id: {f"d{(n * 5) % 64}": 2, f"d{(n * 5 + 1) % 64}": 1} for n, query in enumerate(asked)}
    return Dataset("kitchen", Corpus(docs), Queries(asked), Qrels.from_dict(grades))


@dataclass(frozen=True)
class Counted:
    """A stage that counts its builds and searches, and can stop half way."""

    name: str = "counted"
    depth: int = 10
    built: ClassVar[list[str]] = []
    asked: ClassVar[list[str]] = []
    stop_at: ClassVar[str | None] = None

    def inputs(self) -> tuple[()]:
        return ()

    def build(self, context: BuildContext) -> CountedSearcher:
        self.built.append(self.name)
        return CountedSearcher(list(context.corpus)[: self.depth])


@dataclass
class CountedSearcher:
    docs: list[str]
    closed: ClassVar[list[bool]] = []

    def search(self, query: Query, inputs: Sequence[Ranking], clock: QueryTimer) -> Ranking:
        if query.id == Counted.stop_at:
            raise KeyboardInterrupt
        Counted.asked.append(query.id)
        with clock.part("search"):
            return self.docs, np.arange(len(self.docs), 0, -1, dtype=np.float64) + len(query.id)

    def cost(self) -> Cost:
        return Cost(0.5, 100)

    def facts(self) -> Mapping[str, Any]:
        return {"documents": len(self.docs)}

    def notes(self) -> Sequence[str]:
        return ["counted, not searched"]

    def close(self) -> None:
        self.closed.append(True)


@pytest.fixture(autouse=True)
def _fresh() -> None:
    for seen in (Counted.built, Counted.asked, CountedSearcher.closed):
        seen.clear()
    Counted.stop_at = None


def numbers(found: ExperimentResult) -> dict[str, Any]:
    return {
        system_run.name: (list(system_run.run.docs), system_run.run.scores.tolist(), found.result.per_query(system_run.name))
        for system_run in found.system_runs
    }


def experiment(**changes: Any) -> Experiment:
    bm25 = BM25()
    systems: dict[str, Stage] = {
        "counted": Counted(),
        "bm25": bm25,
        "both": RRF((bm25, Counted())),
        "judge": Rerank(bm25, KeywordScorer()),
    }
    return replace(Experiment(systems, kitchen()), **changes)


def test_equal_stages_are_built_once(tmp_path: Path) -> None:
    found = run_experiment(experiment(), RunOptions(cache=tmp_path))
    assert Counted.built == ["counted"]
    assert [system_run.builds_on for system_run in found.system_runs] == [None, None, "bm25", "bm25"]
    assert [system_run.kind for system_run in found.system_runs] == ["retrieval", "retrieval", "fusion", "rerank"]
    assert (found.system_run("both").index_bytes or 0) - (found.system_run("bm25").index_bytes or 0) == 100
    assert found.system_run("counted").notes == ("counted, not searched",)
    assert CountedSearcher.closed == [True]


def test_the_times_of_a_system_include_those_of_its_inputs(tmp_path: Path) -> None:
    found = run_experiment(experiment(), RunOptions(cache=tmp_path))
    for system_run in found.system_runs:
        assert np.allclose(system_run.times["total"], sum(system_run.times[part] for part in ("embed", "search", "rerank")))
        assert len(system_run.times["total"]) == len(found.queries)
    assert (found.system_run("judge").times["search"] == found.system_run("bm25").times["search"]).all()
    assert (found.system_run("judge").times["rerank"] > 0).all()
    both = found.system_run("both").times["search"]
    assert (both > found.system_run("bm25").times["search"] + found.system_run("counted").times["search"]).all()


def test_a_second_run_computes_nothing_and_finds_the_same(tmp_path: Path) -> None:
    first = run_experiment(experiment(), RunOptions(cache=tmp_path))
    Counted.asked.clear()
    second = run_experiment(experiment(), RunOptions(cache=tmp_path))
    assert Counted.asked == []
    assert numbers(first) == numbers(second)
    assert all(system_run.from_cache for system_run in second.system_runs)
    assert [system_run.computed for system_run in first.system_runs] == [system_run.computed for system_run in second.system_runs]
    for one, other in zip(first.system_runs, second.system_runs, strict=True):
        assert one.facts == other.facts
        assert all((one.times[part] == other.times[part]).all() for part in one.times)


class Filing(Counted):
    """A stage with files of an embedded database."""

    def build(self, context: BuildContext) -> CountedSearcher:
        Path(context.block_cache.folder("database"), "table").write_text("rows")
        return super().build(context)


def test_without_a_cache_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    filed = experiment(systems={"bm25": BM25(), "filed": Filing("filed")})
    cached, bare = run_experiment(filed, RunOptions(cache=tmp_path / "other")), run_experiment(filed, RunOptions(cache=None))
    assert numbers(cached) == numbers(bare)
    assert Counted.built == ["filed", "filed"]
    assert not (tmp_path / "cache").exists()
    assert list((tmp_path / "temporary").iterdir()) == []
    assert not (tmp_path / "other" / "databases").exists()


def test_an_interrupted_stage_is_resumed(tmp_path: Path) -> None:
    whole = run_experiment(experiment(), RunOptions(cache=None))
    Counted.asked.clear()
    Counted.stop_at = "q35"
    with pytest.raises(KeyboardInterrupt):
        run_experiment(experiment(), RunOptions(cache=tmp_path))
    assert CountedSearcher.closed[-1]
    Counted.stop_at = None
    Counted.asked.clear()
    again = run_experiment(experiment(), RunOptions(cache=tmp_path))
    warm_up = ["q0", "q1", "q2"]
    assert Counted.asked == [*warm_up, *(f"q{n}" for n in range(32, 40))]
    assert numbers(again) == numbers(whole)


def test_an_interrupt_is_raised_although_closing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy() -> None:
        raise ExternalError("a command is in progress")

    def failing(self: CountedSearcher) -> None:
        # A stack that is closed by hand forgets which error it is closed in.
        with ExitStack() as stack:
            stack.callback(busy)
            stack.close()

    monkeypatch.setattr(CountedSearcher, "close", failing)
    Counted.stop_at = "q7"
    with pytest.raises(KeyboardInterrupt):
        run_experiment(experiment(), RunOptions(cache=tmp_path))
    Counted.stop_at = None
    with pytest.raises(ExternalError, match="a command is in progress"):
        run_experiment(experiment(), RunOptions(cache=tmp_path))


class Stopped(Counted):
    """A stage that is stopped while it is built, and then cannot clean up."""

    def build(self, context: BuildContext) -> CountedSearcher:
        try:
            raise KeyboardInterrupt
        finally:
            raise ExternalError("a command is in progress")


def test_an_interrupt_of_building_is_raised_although_cleaning_up_fails() -> None:
    with pytest.raises(KeyboardInterrupt):
        run_experiment(experiment(systems={"stopped": Stopped()}), RunOptions(cache=None))


def test_a_change_of_documents_queries_or_stage_is_recomputed(tmp_path: Path) -> None:
    run_experiment(experiment(), RunOptions(cache=tmp_path))
    run_experiment(experiment(dataset=kitchen(39)), RunOptions(cache=tmp_path))
    run_experiment(experiment(systems={"deeper": Counted(depth=11)}), RunOptions(cache=tmp_path))
    assert len(Counted.built) == 3
    run_experiment(experiment(measures=None, rel=2), RunOptions(cache=tmp_path))
    assert len(Counted.built) == 3


def stage_archive(**arrays: bytes) -> bytes:
    """An archive of arrays, as files of stages are."""
    archive = io.BytesIO()
    np.savez(archive, **{name: np.frombuffer(content, np.uint8) for name, content in arrays.items()})  # type: ignore[arg-type]
    return archive.getvalue()


def test_a_damaged_cache_file_is_reported_renamed_and_recomputed(tmp_path: Path) -> None:
    first = run_experiment(experiment(), RunOptions(cache=tmp_path))
    for path in (tmp_path / "stages").iterdir():
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    for _ in first.system_runs:
        with pytest.raises(ExternalError, match=r"corrupt .*renamed to .damaged; run again") as told:
            run_experiment(experiment(), RunOptions(cache=tmp_path))
        assert told.value.exit_code == 1
    assert numbers(run_experiment(experiment(), RunOptions(cache=tmp_path))) == numbers(first)


ARCHIVES = (stage_archive(), stage_archive(meta=b"{}"), stage_archive(meta=b"["))


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"", b"PK", b"no archive", *ARCHIVES])
def test_a_cache_file_with_a_valid_digest_and_unreadable_content_is_corrupt(content: bytes, tmp_path: Path) -> None:
    first = run_experiment(experiment(), RunOptions(cache=tmp_path))
    for path in (tmp_path / "stages").iterdir():
        path.write_bytes(cache.FILE_HEADER + hashlib.sha256(content).digest() + content)
    for _ in first.system_runs:
        with pytest.raises(ExternalError, match=r"corrupt \(unreadable content\); it was renamed to .damaged; run again"):
            run_experiment(experiment(), RunOptions(cache=tmp_path))
    assert numbers(run_experiment(experiment(), RunOptions(cache=tmp_path))) == numbers(first)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_in_place_of_a_cache_file_is_set_aside_without_waiting(tmp_path: Path) -> None:
    store = cache.StageCache(tmp_path)
    (tmp_path / "stages").mkdir()
    os.mkfifo(tmp_path / "stages" / "key.stage")
    with pytest.raises(ExternalError, match=r"corrupt \(no plain file\); it was renamed to .damaged"):
        store.find("key")
    assert store.find("key") is None


def test_a_limit_samples_queries_with_the_seed() -> None:
    dataset = kitchen()
    one, same, other = (queries_with_text(dataset, select_judged(dataset, 10, seed)) for seed in (0, 0, 1))
    assert one == same
    assert one != other
    assert len(one) == len(other) == 10
    found = run_experiment(experiment(limit=10), RunOptions(cache=None))
    assert found.queries == tuple(query.id for query in one)
    assert found.result.queries == found.queries


def test_missing_documents_and_texts_are_noted(tmp_path: Path) -> None:
    dataset = kitchen()
    judged = {query: dict(docs) for query, docs in dataset.qrels.items()}
    judged["unknown"] = {"d1": 1}
    judged["q1"]["no-such-document"] = 1
    lacking = Dataset("lacking", dataset.corpus, dataset.queries, Qrels.from_dict(judged))
    found = run_experiment(experiment(dataset=lacking, measures=["nDCG@10"]), RunOptions(cache=None))
    assert found.notes == (
        "1 judged document is not in the corpus: no system can find it",
        "1 judged query has no text: it scores 0 for every system",
    )
    assert found.result.per_query("bm25")["nDCG@10"]["unknown"] == 0


def half_without_text() -> Dataset:
    """Every second judged query has no text."""
    whole = kitchen()
    kept = [query for at, query in enumerate(whole.queries.values()) if at % 2]
    return Dataset("half", whole.corpus, Queries(kept), whole.qrels)


def test_a_limit_that_cuts_nothing_changes_no_mean() -> None:
    free, limited = (
        run_experiment(experiment(dataset=half_without_text(), limit=limit), RunOptions(cache=None)) for limit in (None, 40)
    )
    assert limited.result.means == free.result.means
    assert limited.notes == free.notes
    assert "20 judged queries have no text: they score 0 for every system" in free.notes


def test_queries_without_text_are_sampled_and_noted() -> None:
    found = run_experiment(experiment(dataset=half_without_text(), limit=12, seed=3), RunOptions(cache=None))
    silent = len(found.result.queries) - len(found.queries)
    assert len(found.result.queries) == 12
    assert 0 < silent < 12
    assert f"{silent} judged queries have no text: they score 0 for every system" in found.notes


def test_a_system_builds_on_no_system_that_is_not_part_of_it() -> None:
    systems: dict[str, Stage] = {"counted": Counted(), "judge": Rerank(BM25(), KeywordScorer()), "last": BM25(k1=2)}
    found = run_experiment(experiment(systems=systems), RunOptions(cache=None))
    assert [system_run.builds_on for system_run in found.system_runs] == [None, None, None]
    assert [found.compared_with(system_run) for system_run in found.system_runs] == [None, "counted", "counted"]
    assert found.gain(found.system_run("counted"), "nDCG@10") is None


def test_a_fusion_builds_on_its_best_input_also_where_lower_is_better() -> None:
    for measure in ("Unjudged@10", "P@10"):
        found = run_experiment(experiment(measures=[measure]), RunOptions(cache=None))
        means = {name: found.result.means[name][measure] for name in ("bm25", "counted")}
        assert means["bm25"] != means["counted"]
        best = min if measure == "Unjudged@10" else max
        assert found.system_run("both").builds_on == best(means, key=means.__getitem__)


def test_a_measure_with_a_cutoff_beyond_the_depth_is_noted() -> None:
    systems: dict[str, Stage] = {"ten": Counted(depth=10), "also": Counted("also"), "all": Counted(depth=100)}
    found = run_experiment(experiment(systems=systems, measures=["R@10", "R@1000", "AP", "NumRet"]), RunOptions(cache=None))
    assert found.notes == ("R@1000, AP have cutoffs beyond depth 10 of ten, also: increase depth",)
    assert run_experiment(experiment(systems=systems, measures=["R@10"]), RunOptions(cache=None)).notes == ()


def test_what_stages_share_is_counted_once() -> None:
    dense = Cost(3.0, 130, {"vectors": (2.0, 100)})
    similar = Cost(2.0, 100, {"vectors": (2.0, 100)})
    copied = Cost(2.5, 400, {"vectors": (2.0, 0)})
    assert (total_cost([dense, similar]).seconds, total_cost([dense, similar]).bytes) == (3.0, 130)
    assert (total_cost([copied, similar]).seconds, total_cost([copied, similar]).bytes) == (2.5, 500)
    assert (total_cost([dense, Cost(1.0, 10)]).seconds, total_cost([]).bytes) == (4.0, 0)


@pytest.mark.parametrize("kept", [True, False])
def test_vectors_that_a_reranker_shares_with_its_input_count_once(kept: bool, tmp_path: Path) -> None:
    model = HashedWords()
    dense = Dense(model)
    systems: dict[str, Stage] = {"dense": dense, "again": Rerank(dense, BiEncoderScorer(model))}
    settings = RunOptions(cache=tmp_path if kept else None)
    for _ in range(2):
        first, second = run_experiment(experiment(systems=systems), settings).system_runs
        assert first.index_bytes
        assert (second.index_bytes, second.index_seconds) == (first.index_bytes, first.index_seconds)


def test_a_field_that_no_document_has_is_refused_before_any_work() -> None:
    for wrong in (BM25(fields=("brand",)), Rerank(BM25(), KeywordScorer(fields=("brand",)))):
        with pytest.raises(UsageError, match="system wrong: no document has a text field called brand; choose from title, text"):
            run_experiment(experiment(systems={"counted": Counted(), "wrong": wrong}), RunOptions(cache=None))
    assert Counted.built == []


def test_progress_is_reported_in_queries() -> None:
    told: list[tuple[str, int, int]] = []
    run_experiment(experiment(systems={"counted": Counted()}), RunOptions(cache=None, progress=lambda *step: told.append(step)))
    asking = [(done, total) for label, done, total in told if label == "counted: searching"]
    assert asking == [(0, 40), (13, 40), (26, 40), (40, 40)]


def test_snippets_cover_judged_and_top_ranked_documents() -> None:
    found = run_experiment(experiment(), RunOptions(cache=None))
    judged = {doc for docs in found.qrels.values() for doc in docs}
    assert judged <= set(found.snippets)
    assert found.snippets["d1"].startswith("bread · bread apple")


def test_an_experiment_without_systems_or_with_an_invalid_limit_is_refused() -> None:
    with pytest.raises(UsageError, match="no system"):
        Experiment({})
    with pytest.raises(UsageError, match="limit is 0"):
        experiment(limit=0)
