"""Search engines as systems of an experiment: turns, failures, recorded replies, unknown documents, repeats."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof import diagnose, explain, load_results, read_dataset
from rankproof._data.corpus import Corpus
from rankproof._data.dataset import Dataset, Queries, Query
from rankproof._data.qrels import Qrels
from rankproof._experiment.experiment import Experiment
from rankproof._experiment.run import RunOptions, run_experiment
from rankproof._render.systems import failed_call_notes
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.folder import save_results
from rankproof.errors import ExternalError, InputError, UsageError
from rankproof.stages import BM25, RRF, KeywordScorer, Rerank
from rankproof.stages._base import Stage
from rankproof.stages._engines.base import EngineError, EngineReply
from support.examples import examples
from support.scripted_engine import Script, ScriptedEngine
from support.stage_building import corpus_of

DOCS = {f"d{at}": "pie " * (5 - at) + "x " * at for at in range(4)}
DOWN = EngineError("status 503")


def pies(queries: int = 6, corpus: Corpus | None = None) -> Dataset:
    """Queries that all want d0."""
    asked = [Query(f"q{at}", f"pie {at}") for at in range(queries)]
    qrels = Qrels.from_dict({query.id: {"d0": 1} for query in asked})
    return Dataset("pies", corpus_of(DOCS) if corpus is None else corpus, Queries(asked), qrels)


def run_systems(systems: dict[str, Stage], cache: Path | None = None, queries: int = 6, **options: Any) -> ExperimentResult:
    experiment = Experiment(systems, pies(queries), measures=["RR@10"])
    return run_experiment(experiment, RunOptions(cache=cache, **options))


def order(found: ExperimentResult, name: str, query: str = "q0") -> list[str]:
    run = found.system_run(name).run
    at = list(run.queries).index(query)
    return list(run.docs[run.offsets[at] : run.offsets[at + 1]])


def asked(engine: ScriptedEngine) -> list[str]:
    return [query for _, query in engine.log if query != "closed"]


def always(*docs: str) -> Script:
    return lambda query, size: list(docs)


def failing(*ids: str) -> Script:
    return lambda query, size: EngineError(f"no {query.id}") if query.id in ids else ["d0"]


def test_engines_take_turns_and_the_first_of_each_query_rotates() -> None:
    log: list[Any] = []
    engines = {name: ScriptedEngine(always("d0"), name, log) for name in ("a", "b", "c")}
    run_systems({**engines, "all": RRF(tuple(engines.values()))}, queries=4)
    turns = [pair for pair in log if pair[1] != "closed"]
    assert [name for name, _ in turns] == [*"abc", *"bca", *"cab", *"abc"]
    assert [query for _, query in turns] == [f"q{at // 3}" for at in range(12)]


def test_with_concurrency_every_query_is_asked_once() -> None:
    engines = {name: ScriptedEngine(always("d0"), name, concurrency=count) for name, count in (("a", 1), ("b", 4))}
    run_systems(dict(engines), queries=20)
    for engine in engines.values():
        assert sorted(asked(engine)) == sorted(f"q{at}" for at in range(20))


@examples(20)
@given(failed=st.sets(st.sampled_from([f"q{at}" for at in range(6)])))
def test_every_failed_query_is_counted_named_and_scores_0(failed: set[str]) -> None:
    found = run_systems({"shop": ScriptedEngine(failing(*failed))})
    run = found.system_run("shop")
    assert run.replies is not None
    assert {query for query, reply in run.replies.items() if reply.state == "failed"} == failed
    assert all(run.replies[query].reason == f"no {query}" for query in failed)
    assert run.total("failed") == run.facts["failed"] == len(failed)
    values = found.result.systems[0].measures["RR@10"].per_query
    assert {query for query, value in values.items() if value == 0} == failed
    notes = [f'shop: 1 of 6 queries failed and scores 0 ({query} "pie {query[1:]}"): no {query}' for query in sorted(failed)]
    more = ["shop: queries failed for 1 other reason; see the folder replies"] if len(failed) == 6 else []
    assert failed_call_notes(found) == [*notes[:5], *more]


def test_the_times_are_those_of_the_queries_with_a_reply() -> None:
    def script(query: Query, size: int) -> EngineReply | EngineError:
        return DOWN if query.id in ("q1", "q2", "q3", "q4") else EngineReply(("d0",), seconds=0.2, server_ms=50.0)

    run = run_systems({"shop": ScriptedEngine(script)}).system_run("shop")
    times = {part: run.time_of(part) for part in ("search", "network", "total")}
    assert {part: time.p50 for part, time in times.items() if time} == pytest.approx(
        {"search": 50, "network": 150, "total": 200}, rel=0.05
    )
    assert {time.queries for time in times.values() if time} == {2}
    assert run.facts["round_trip_ms"]["p50"] == pytest.approx(200)
    assert run.facts["server_ms"]["p50"] == pytest.approx(50)


def test_a_second_run_sends_nothing_and_finds_the_same(tmp_path: Path) -> None:
    first, second = (ScriptedEngine(always("d1", "d0")) for _ in range(2))
    one = run_systems({"shop": first, "fused": RRF((first, BM25()))}, tmp_path)
    two = run_systems({"shop": second, "fused": RRF((second, BM25()))}, tmp_path)
    assert (len(asked(first)), second.log) == (6, [])
    assert two.system_run("shop").times["total"].tolist() == one.system_run("shop").times["total"].tolist()
    assert (one.system_run("shop").from_cache, two.system_run("shop").from_cache) == (False, True)
    assert [order(two, name) for name in ("shop", "fused")] == [order(one, name) for name in ("shop", "fused")]


@pytest.mark.parametrize("stop", range(6))
def test_an_interrupted_run_asks_only_what_is_missing(tmp_path: Path, stop: int) -> None:
    def interrupted(query: Query, size: int) -> list[str]:
        if query.id == f"q{stop}":
            raise KeyboardInterrupt
        return ["d0"]

    with pytest.raises(KeyboardInterrupt):
        run_systems({"shop": ScriptedEngine(interrupted)}, tmp_path)
    again = ScriptedEngine(always("d0"))
    run_systems({"shop": again}, tmp_path)
    assert asked(again) == [f"q{at}" for at in range(stop, 6)]


def test_a_partly_failed_run_asks_only_what_failed(tmp_path: Path) -> None:
    run_systems({"shop": ScriptedEngine(failing("q2", "q4"))}, tmp_path)
    again = ScriptedEngine(failing("q4"))
    assert run_systems({"shop": again}, tmp_path).system_run("shop").total("failed") == 1
    assert asked(again) == ["q2", "q4"]


def test_after_ten_failures_in_a_row_the_rest_is_not_asked_and_this_is_said() -> None:
    engine = ScriptedEngine(lambda query, size: DOWN)
    found = run_systems({"shop": engine, "bm25": BM25()}, queries=24)
    assert len(asked(engine)) == 10
    run = found.system_run("shop")
    assert run.replies is not None
    assert [reply.state for reply in run.replies.values()] == ["failed"] * 10 + ["not asked"] * 14
    assert run.notes == (
        '10 of 24 queries failed and score 0 (q0 "pie 0", q1 "pie 1", q2 "pie 2", …): status 503',
        '14 of 24 queries failed and score 0 (q10 "pie 10", q11 "pie 11", q12 "pie 12", …): not asked, because '
        "10 queries in a row failed",
    )


def test_a_strict_run_ends_at_the_first_failure_with_system_query_and_reason(tmp_path: Path) -> None:
    engine = ScriptedEngine(failing("q3"))
    with pytest.raises(ExternalError, match=r"system shop, query q3: no q3; run without strict=True to count"):
        run_systems({"shop": engine}, tmp_path, strict=True)
    assert asked(engine) == ["q0", "q1", "q2", "q3"]


def test_unknown_documents_keep_their_rank_and_are_counted() -> None:
    found = run_systems({"shop": ScriptedEngine(always("new", "d0", "d1"))})
    assert order(found, "shop") == ["new", "d0", "d1"]
    assert found.result.means["shop"]["RR@10"] == 0.5
    run = found.system_run("shop")
    assert run.facts["not_in_corpus"] == 6
    assert run.notes == (
        "6 of 18 retrieved documents are not in the corpus (new); they keep their rank; fusion and reranking leave them out",
    )


def test_a_stage_gets_the_ranking_of_an_engine_without_unknown_documents() -> None:
    engine = ScriptedEngine(always("new", "d3", "d0"))
    found = run_systems({"shop": engine, "reranked": Rerank(engine, KeywordScorer()), "fused": RRF((engine,))})
    assert order(found, "fused") == ["d3", "d0"]
    assert sorted(order(found, "reranked")) == ["d0", "d3"]
    assert diagnose(found).tables


def test_more_unknown_documents_than_known_ones_are_refused_with_examples_of_both() -> None:
    run_systems({"shop": ScriptedEngine(always("x1", "d0"))})
    what = (
        r"shop: 12 of 18 retrieved documents are not in the corpus: it retrieves x1, x2, the corpus has d0, d1, d2; "
        "let it return the ids of the corpus"
    )
    with pytest.raises(UsageError, match=what):
        run_systems({"shop": ScriptedEngine(always("x1", "d0", "x2"))})


def test_an_engine_that_knows_no_document_of_the_corpus_is_refused_after_20_queries() -> None:
    engine = ScriptedEngine(always("x1", "x2"))
    with pytest.raises(UsageError, match="shop: 40 of 40 retrieved documents are not in the corpus: it retrieves x1, x2, the"):
        run_systems({"shop": engine}, queries=30)
    assert len(asked(engine)) == 20


def test_without_documents_no_id_is_unknown_and_texts_of_replies_are_the_snippets() -> None:
    def script(query: Query, size: int) -> EngineReply:
        return EngineReply(("d0", "d9"), texts={"d0": "first  text", "d9": "ninth"})

    engine = ScriptedEngine(script)
    systems: dict[str, Stage] = {"shop": engine, "fused": RRF((engine,))}
    found = run_experiment(Experiment(systems, pies(corpus=Corpus([])), measures=["RR@10"]), RunOptions(cache=None))
    assert order(found, "fused") == ["d0", "d9"]
    assert found.system_run("shop").notes == ()
    assert dict(found.snippets) == {"d0": "first text", "d9": "ninth"}


def test_a_collapsed_ranking_keeps_unknown_documents() -> None:
    dataset = pies()
    corpus = Corpus(type(doc)(doc.id, doc.text, fields={"url": f"u-{doc.id}"}) for doc in dataset.corpus.values())
    experiment = Experiment({"shop": ScriptedEngine(always("new", "d1", "d0"))}, pies(corpus=corpus), collapse="url")
    assert order(run_experiment(experiment, RunOptions(cache=None)), "shop") == ["new", "u-d1", "u-d0"]


def test_repeated_requests_say_how_many_rankings_changed(tmp_path: Path) -> None:
    seen: dict[str, int] = {}

    def unstable(query: Query, size: int) -> list[str]:
        seen[query.id] = seen.get(query.id, 0) + 1
        return ["d0", "d1"] if seen[query.id] == 1 or query.id in ("q0", "q1") else ["d1", "d0"]

    engine = ScriptedEngine(unstable)
    run = run_systems({"shop": engine}, tmp_path, repeats=3).system_run("shop")
    assert asked(engine) == [f"q{at}" for at in range(6)] * 3
    assert run.notes == ("4 of 6 rankings changed when asked 3 times; values are means over them",)
    assert run.facts["changed"] == 4
    assert run.replies is not None
    assert (run.replies["q0"].changed, run.replies["q5"].changed, len(run.replies["q5"].repeats)) == (0, 2, 2)
    assert set(run.run.docs[0::2]) == {"d0"}
    again = ScriptedEngine(always("d3"))
    assert run_systems({"shop": again}, tmp_path, repeats=3).system_run("shop").facts["changed"] == 4
    assert again.log == []


def test_asking_again_replaces_replies_and_what_was_computed_from_them(tmp_path: Path) -> None:
    for script, options, first in ((always("d0"), {}, "d0"), (always("d3"), {}, "d0"), (always("d3"), {"ask_again": True}, "d3")):
        engine = ScriptedEngine(script)
        found = run_systems({"shop": engine, "fused": RRF((engine,))}, tmp_path, **options)
        assert [order(found, name)[0] for name in ("shop", "fused")] == [first] * 2


def test_notes_on_replies_and_empty_replies_are_counted() -> None:
    def script(query: Query, size: int) -> EngineReply:
        return EngineReply((), notes=("truncated",)) if query.id == "q0" else EngineReply(("d0",), notes=("short",))

    assert run_systems({"shop": ScriptedEngine(script)}).system_run("shop").notes == (
        "1 of 6 queries found no document",
        "5 queries: short",
        "1 query: truncated",
    )


def test_replies_are_saved_loaded_and_explained(tmp_path: Path) -> None:
    def script(query: Query, size: int) -> EngineReply | EngineError:
        return DOWN if query.id == "q1" else EngineReply(("d1", "d0"), (3.0, 3.0), seconds=0.02, server_ms=5.0)

    found = run_systems({"shop/eu": ScriptedEngine(script), "bm25": BM25()}, repeats=2)
    save_results(found, tmp_path / "out")
    lines = (tmp_path / "out" / "replies" / "shop_eu.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["state"] for line in lines] == ["ok", "failed", "ok", "ok", "ok", "ok"]
    loaded = load_results(tmp_path / "out")
    assert loaded.system_run("shop/eu").replies == found.system_run("shop/eu").replies
    assert loaded.system_run("bm25").replies is None
    shown = explain(loaded, system="shop/eu", query="q0").tables[0]
    assert [row[2] for row in shown.rows] == [3.0, 3.0]
    assert "The search engine replied in 20.0 ms, of which the server reports 5.00 ms, asked at " in shown.sentences[-1]
    failed = explain(loaded, system="shop/eu", query="q1").tables[0]
    assert failed.sentences[-1] == "The search engine did not answer this query: status 503."
    save_results(found, tmp_path / "out")


def test_a_changed_file_of_replies_is_refused(tmp_path: Path) -> None:
    save_results(run_systems({"shop": ScriptedEngine(always("d0"))}), tmp_path / "out")
    file = tmp_path / "out" / "replies" / "shop.jsonl"
    file.write_text(file.read_text(encoding="utf-8").replace('"requests": 1', '"requests": 2'), encoding="utf-8")
    with pytest.raises(InputError, match=r"shop\.jsonl: the file was changed after the results were written"):
        load_results(tmp_path / "out")


SHOP = """
import time
from pathlib import Path

def search(text):
    with open(Path(__file__).with_name("asked.txt"), "a") as log:
        log.write(text + "\\n")
    time.sleep(0.02)
    return ["sourdough-guide#1"]
"""


@pytest.mark.slow
def test_a_killed_run_asks_only_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "killed_shop.py").write_text(SHOP)
    file = tmp_path / "e.toml"
    file.write_text('[systems.shop]\nstage = "python"\nfunction = "killed_shop:search"\n')
    command = [sys.executable, "-m", "rankproof", "run", str(file), "--trust", "-o", str(tmp_path / "out")]
    command += ["--cache", str(tmp_path / "c")]
    log = tmp_path / "asked.txt"
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and (not log.exists() or len(log.read_text().splitlines()) < 20):
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = log.read_text().splitlines()
    subprocess.run(command, check=True, capture_output=True)
    after = log.read_text().splitlines()[len(before) :]
    assert 20 <= len(before) < 124
    # The reply to the last query may have been lost with the process.
    assert set(after) & set(before) <= {before[-1]}
    assert set(after) | set(before) == {query.text for query in read_dataset("sample").queries.values()}
