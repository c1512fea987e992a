"""Typed queries: systems of the sample, engines that answer, fail or hang, and what is not allowed without --edit."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rankproof._llm.budget import Budget
from rankproof._server.bench.port import BenchSource
from rankproof._server.library import ResultsLibrary
from rankproof._workbench.live import PATIENCE, outside_parts
from rankproof._workbench.workbench import SystemsWorkbench
from rankproof.errors import InputError, RankproofError, UsageError
from support.bench_systems import ENGINE, opened_source, saved_systems
from support.scripted_server import NEVER, Request, ScriptedServer, Sent

JELLY = "jelly without gelatine"


def answer(request: Request) -> Sent:
    return Sent(body={"ids": ["ing-agar", "other"], "scores": [2.5, 0.5], "texts": ["agar", "<b>x</b>"]})


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(answer) as scripted:
        yield scripted


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory, server: ScriptedServer) -> tuple[ResultsLibrary, BenchSource]:
    folder = saved_systems(tmp_path_factory.mktemp("live") / "first", ENGINE.format(url=server.url))
    return opened_source(folder)


@pytest.fixture
def bench(opened: tuple[ResultsLibrary, BenchSource], server: ScriptedServer, tmp_path: Path) -> Iterator[SystemsWorkbench]:
    server.answer = answer
    workbench = SystemsWorkbench(opened[0], tmp_path / "cache", edit=True)
    yield workbench
    workbench.close()


@pytest.mark.parametrize("system", ["title", "bm25", "fused", "reranked"])
def test_a_query_of_the_results_that_is_typed_has_its_stored_ranking(
    opened: tuple[ResultsLibrary, BenchSource], bench: SystemsWorkbench, system: str
) -> None:
    _, source = opened
    query = source.results.queries[5]
    stored = source.results.system_run(system).run.restricted_to((query,))
    typed = bench.search(source, system, {}, source.results.texts[query].text)
    assert list(typed.docs) == list(stored.docs)
    assert typed.scores == pytest.approx(stored.scores.tolist())


def test_a_typed_query_is_asked_with_the_changes(opened: tuple[ResultsLibrary, BenchSource], bench: SystemsWorkbench) -> None:
    _, source = opened
    alone = bench.search(source, "bm25", {}, JELLY)
    fused = bench.search(source, "fused", {"weights": [0.0, 1.0]}, JELLY)
    assert list(fused.docs[:5]) == list(alone.docs[:5])
    chosen = bench.search(source, "title", {"of": ["title", "bm25"], "weights": [0.0, 1.0]}, JELLY)
    assert chosen.docs == fused.docs


def test_an_engine_is_asked_once_its_reply_is_recorded_and_the_body_may_change(
    opened: tuple[ResultsLibrary, BenchSource], bench: SystemsWorkbench, server: ScriptedServer
) -> None:
    _, source = opened
    before = len(server.requests)
    first = bench.search(source, "engine", {}, JELLY)
    assert (list(first.docs), list(first.scores), first.texts["other"]) == (["ing-agar", "other"], [2.5, 0.5], "<b>x</b>")
    assert bench.search(source, "engine", {}, JELLY).docs == first.docs
    assert len(server.requests) == before + 1
    bench.search(source, "engine", {"body": {"query": "{query}", "boost": 7}}, JELLY)
    assert server.requests[-1].body == {"query": JELLY, "boost": 7}


@pytest.mark.parametrize("fault", [NEVER, Sent(503), Sent(body=b"no json"), Sent(hangs_up=True, body={"ids": ["x"]})])
def test_an_engine_that_hangs_or_fails_says_so_soon_and_the_next_query_is_asked_again(
    opened: tuple[ResultsLibrary, BenchSource], bench: SystemsWorkbench, server: ScriptedServer, fault: Sent
) -> None:
    _, source = opened
    server.answer = lambda request: fault
    start = time.monotonic()
    for _ in range(4):
        with pytest.raises(UsageError, match="the engine did not answer"):
            bench.search(source, "engine", {}, "wobbly")
    assert time.monotonic() - start < PATIENCE
    server.answer = answer
    assert bench.search(source, "engine", {}, "wobbly").docs


def test_the_budget_counts_over_all_typed_queries(opened: tuple[ResultsLibrary, BenchSource], tmp_path: Path) -> None:
    library, source = opened
    workbench = SystemsWorkbench(library, tmp_path / "cache", Budget(calls=2), edit=True)
    workbench.search(source, "engine", {}, "one")
    workbench.search(source, "engine", {}, "two")
    with pytest.raises(RankproofError, match="budget"):
        workbench.search(source, "engine", {}, "three")
    workbench.close()


def test_without_edit_built_in_systems_answer_and_nothing_else_is_built_or_asked(
    opened: tuple[ResultsLibrary, BenchSource], server: ScriptedServer, tmp_path: Path
) -> None:
    library, source = opened
    workbench = SystemsWorkbench(library, tmp_path / "cache")
    before = len(server.requests)
    assert workbench.search(source, "bm25", {}, JELLY).docs
    with pytest.raises(UsageError, match="engine uses a http system"):
        workbench.search(source, "engine", {}, JELLY)
    assert "--edit" in workbench.knobs(source, "engine", {}).why_not_search
    assert len(server.requests) == before
    workbench.close()


@pytest.mark.parametrize(
    ("table", "part"),
    [
        ('stage = "python"\nfunction = "harm:run"', "a python system"),
        ('stage = "dense"\nmodel = "someone/model"', "a model that the results name"),
        ('stage = "dense"\nmodel = "minilm"\nstore = "chroma"', "a vector store"),
        ('stage = "rerank"\nof = "a"\nby = "cohere"', "the scorer cohere"),
        ('stage = "chunked"\nof = "a"', ""),
    ],
)
def test_what_a_system_loads_or_asks_is_seen_in_its_file_alone(
    opened: tuple[ResultsLibrary, BenchSource], table: str, part: str
) -> None:
    _, source = opened
    file = f'[systems.x]\n{table}\n[systems.a]\nstage = "bm25"\n'
    assert outside_parts(replace(source.results, experiment=file), "x") == ([part] if part else [])


def test_run_files_say_why_they_cannot_be_asked(tmp_path: Path, opened: tuple[ResultsLibrary, BenchSource]) -> None:
    library, source = opened
    workbench = SystemsWorkbench(library, tmp_path / "cache", edit=True)
    stored = replace(source, results=replace(source.results, experiment=""), stamp="stored")
    with pytest.raises(UsageError, match="stored rankings"):
        workbench.search(stored, "bm25", {}, JELLY)
    listed = workbench.knobs(stored, "fused", {})
    assert "stored rankings" in listed.why_not_search
    assert [knob.key for knob in listed.knobs] == ["method", "k", "weights"]
    workbench.close()


def test_python_code_that_nobody_trusted_is_not_imported(opened: tuple[ResultsLibrary, BenchSource], tmp_path: Path) -> None:
    library, source = opened
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "harmful.py").write_text("raise SystemExit('imported')\n")
    (folder / "experiment.toml").write_text('dataset = "sample"\n[systems.own]\nstage = "python"\nfunction = "harmful:run"\n')
    text = (folder / "experiment.toml").read_text()
    foreign = replace(
        source, entry=replace(source.entry, path=str(folder)), results=replace(source.results, experiment=text), stamp="foreign"
    )
    workbench = SystemsWorkbench(library, tmp_path / "cache", edit=True)
    with pytest.raises(UsageError, match="names Python code that was not trusted before: harmful:run"):
        workbench.search(foreign, "own", {}, JELLY)
    trusting = SystemsWorkbench(library, tmp_path / "cache", edit=True, trust=True)
    with pytest.raises(InputError, match="importing harmful failed"):
        trusting.search(foreign, "own", {}, JELLY)
    workbench.close()
    trusting.close()
