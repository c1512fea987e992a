"""Seed 001's systems and retrievers: our stages under its names, on real data."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import rankproof as rp
from rankproof import ir_eval
from rankproof._sample import sample_folder
from rankproof.errors import RankproofError, UsageError
from rankproof.ir_eval.__main__ import main
from rankproof.ir_eval._measures import evaluate_all, evaluate_retrieval, mrr, ndcg_at_k
from rankproof.ir_eval._retrievers import (
    MODES,
    BM25Retriever,
    EmbeddingReranker,
    EmbeddingRetriever,
    KeywordJudge,
    default_encoder,
    run_system,
    run_systems,
)
from support.paths import DOCS

LETTERS = [{"id": "d1", "text": "a a b"}, {"id": "d2", "text": "b c"}]
CORPUS = {"d1": "poach eggs in water", "d2": "boil eggs for nine minutes", "d3": "sharpen knives on a stone"}
QUERIES = {"q1": "poached eggs in water", "q2": "stone"}


@pytest.fixture(scope="module")
def sample() -> rp.Dataset:
    with sample_folder() as folder:
        return rp.read_dataset(folder)


def test_the_worked_example_of_seed_001_comes_out_of_its_retriever() -> None:
    found = BM25Retriever(stop_words=False).fit(LETTERS).rank("a b")
    assert [(one.id, round(one.score, 4)) for one in found] == [("d1", 1.0977), ("d2", 0.2004)]


@pytest.mark.parametrize(
    "corpus",
    [
        [{"_id": "d1", "title": "a", "text": "a b"}, {"_id": "d2", "text": "b c"}],
        {"d1": "a a b", "d2": "b c"},
        {"d1": {"title": "a", "text": "a b"}, "d2": {"id": "d2", "text": "b c"}},
        rp.Corpus([rp.types.Document("d1", "a a b"), rp.types.Document("d2", "b c")]),
        iter(LETTERS),
    ],
    ids=["items with titles", "texts by id", "items by id", "a corpus", "an iterator"],
)
def test_documents_may_come_in_every_usual_shape(corpus: Any) -> None:
    expected = BM25Retriever(stop_words=False).fit(LETTERS).rank("a b")
    assert BM25Retriever(stop_words=False).fit(corpus).rank("a b") == expected


@pytest.mark.slow
def test_a_system_gives_what_the_ladder_gives(sample: rp.Dataset) -> None:
    bm25, model = rp.stages.BM25(), rp.models.WordLlama()
    reranked = rp.stages.Rerank(bm25, rp.stages.BiEncoderScorer(model), top=100)
    stages = (bm25, rp.stages.Dense(model), reranked, rp.stages.Rerank(reranked, rp.stages.KeywordScorer(), top=100))
    ladder: dict[str, Any] = dict(zip(MODES, stages, strict=True))
    results = rp.run(rp.Experiment(ladder, dataset=sample), rp.types.RunOptions(cache=None))
    runs = run_systems(sample.queries, sample.corpus, MODES, 10, model="wordllama")
    for system_run in results.system_runs:
        first: dict[str, list[str]] = {query: [] for query in sample.queries}
        for row in system_run.run.rows():
            first[row.query].append(row.doc)
        assert runs[system_run.name] == {query: docs[:10] for query, docs in first.items()}
        values = evaluate_all(runs[system_run.name], sample.qrels, 10, method="linear")
        assert values["NDCG@10"] == pytest.approx(results.result.means[system_run.name]["nDCG@10"], abs=1e-12)


@pytest.mark.parametrize(("other", "mode"), [("bm25+embeddings", "bm25->embed"), ("bm25+embeddings+judge", "bm25->embed->judge")])
def test_a_mode_has_two_spellings(other: str, mode: str) -> None:
    assert run_system(QUERIES, CORPUS, other, 2) == run_system(QUERIES, CORPUS, mode, 2)


def test_k_cuts_the_ranking_and_nothing_else() -> None:
    for mode in MODES:
        whole = run_system(QUERIES, CORPUS, mode, 200)
        assert run_system(QUERIES, CORPUS, mode, 1) == {query: docs[:1] for query, docs in whole.items()}


def test_a_query_that_finds_nothing_stays_in_the_run() -> None:
    assert run_system({"q": "zebra"}, CORPUS, "bm25->embed->judge", 5) == {"q": []}


def test_the_judge_counts_words_and_leaves_equal_documents_in_their_order() -> None:
    below = EmbeddingReranker(BM25Retriever(), "wordllama")
    corpus = {"d1": "eggs", "d2": "eggs and eggs and water", "d3": "boiled eggs"}
    before = [one.id for one in below.fit(corpus).rank("eggs in water")]
    after = [one.id for one in KeywordJudge(below).fit(corpus).rank("eggs in water")]
    assert after == ["d2", *(doc for doc in before if doc != "d2")]


def test_prompts_are_read_by_the_encoder_and_part_of_the_stage() -> None:
    plain = EmbeddingRetriever("wordllama").fit(CORPUS)
    asked = EmbeddingRetriever("wordllama", query_prompt="sharpen: ", passage_prompt="text: ").fit(CORPUS)
    assert plain.rank("eggs")[0].score != asked.rank("eggs")[0].score
    assert asked.stage == rp.stages.Dense(rp.models.WordLlama(), "sharpen: ", "text: ")


def test_a_retriever_serves_seed_002_as_well() -> None:
    queries = [{"query": "boil eggs", "source_recipe_id": "d2"}, {"query": "zebra", "source_recipe_id": "d1"}]
    means, each = evaluate_retrieval(queries, BM25Retriever().fit(CORPUS))
    assert means["recall_at_1"] == 0.5
    assert [one["target_rank"] for one in each] == [1, None]


def test_what_a_retriever_ranks_can_be_measured() -> None:
    ranked = BM25Retriever().fit(CORPUS).rank("boil eggs")
    assert mrr(ranked, {"d2": 1}) == 1.0


@pytest.mark.slow
def test_the_encoder_is_minilm_where_its_weights_are_here(minilm_cache: Path) -> None:
    assert default_encoder() == "minilm"
    assert EmbeddingRetriever().model == rp.models.MiniLM()


def test_the_encoder_is_wordllama_elsewhere() -> None:
    assert default_encoder() == "wordllama"
    assert EmbeddingRetriever().model == rp.models.WordLlama()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: BM25Retriever().rank("a"), "call fit"),
        (lambda: BM25Retriever().fit(CORPUS).rank(3), "query is an int"),  # type: ignore[arg-type]
        (lambda: BM25Retriever().fit(CORPUS).rank("a", k=0), "from 1 to 100"),
        (lambda: BM25Retriever().fit(CORPUS).rank("a", k=101), "from 1 to 100"),
        (lambda: BM25Retriever().fit([{"id": "d1"}]), "corpus:1: "),
        (lambda: BM25Retriever().fit(["d1"]), "corpus:1: "),  # type: ignore[list-item]
        (lambda: BM25Retriever().fit("d1"), "list of documents"),  # type: ignore[arg-type]
        (lambda: BM25Retriever().fit([]), "there are no documents"),
        (lambda: run_systems(QUERIES, CORPUS, None, 3), "list of modes"),  # type: ignore[arg-type]
        (lambda: run_systems(QUERIES, CORPUS, 5, 3), "list of modes"),  # type: ignore[arg-type]
        (lambda: run_systems(QUERIES, CORPUS, "bm25", 3), "list of modes"),
        (lambda: run_system({}, CORPUS, "bm25", 3), "there are no queries"),
        (lambda: ndcg_at_k(["d1"], {"d1": 1}, None), "k is None"),  # type: ignore[arg-type]
        (lambda: evaluate_retrieval([{}], SimpleNamespace(retrieve=3)), "not a retriever"),
        (lambda: BM25Retriever().fit([*LETTERS, LETTERS[0]]), "corpus:3: "),
        (lambda: KeywordJudge("bm25"), "not a retriever"),  # type: ignore[arg-type]
        (lambda: EmbeddingRetriever("nope"), "no model is called nope"),
        (lambda: run_system(QUERIES, CORPUS, "bm52", 5), "did you mean bm25"),
        (lambda: run_system(QUERIES, CORPUS, None, 5), "bm25->embed->judge"),  # type: ignore[arg-type]
        (lambda: run_system(QUERIES, CORPUS, "bm25", 0), "k is 0"),
        (lambda: run_system({"q1": None}, CORPUS, "bm25", 5), "queries:1: "),
    ],
)
def test_wrong_use_is_refused_with_what_to_do(call: Any, said: str) -> None:
    with pytest.raises(RankproofError, match=said.replace("(", "\\(")):
        call()


def test_every_public_name_is_documented() -> None:
    page = (DOCS / "ir-eval.md").read_text(encoding="utf-8")
    assert [name for name in (*ir_eval.__all__, *MODES) if f"`{name}" not in page] == []


@pytest.mark.slow
def test_the_command_prints_the_measures_of_every_system(sample: rp.Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--format", "json", "-k", "5"]) == 0
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    runs = run_systems(sample.queries, sample.corpus, MODES, 100)
    assert [row.pop("system") for row in table["rows"]] == list(MODES)
    assert table["rows"] == [evaluate_all(run, sample.qrels, 5) for run in runs.values()]
    assert table["facts"] == {"encoder": "wordllama", "k": 5, "method": "exponential", "n": 124}


@pytest.mark.slow
def test_the_command_ranks_a_folder_of_seed_001(tmp_path: Path) -> None:
    _write(tmp_path / "corpus.jsonl", LETTERS)
    _write(tmp_path / "queries.jsonl", [{"id": "q1", "text": "c"}])
    _write(tmp_path / "qrels.jsonl", [{"query_id": "q1", "doc_id": "d2", "rel": 2}])
    done = subprocess.run(
        [sys.executable, "-m", "rankproof.ir_eval", "--data", str(tmp_path), "--method", "linear"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    assert "2 documents, 1 judged query; encoder wordllama; linear gain" in done.stdout
    assert "bm25                 0.1000   1.0000    1.0000" in done.stdout
    assert done.stderr == ""


def test_the_command_says_what_the_folder_lacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judged = [("q1", "d2", 2), ("q2", "gone", 1), ("q3", "d1", 0)]
    _write(tmp_path / "corpus.jsonl", LETTERS)
    _write(tmp_path / "queries.jsonl", [{"id": "q1", "text": "c"}, {"id": "q9", "text": "b"}])
    _write(tmp_path / "qrels.jsonl", [{"query_id": query, "doc_id": doc, "rel": rel} for query, doc, rel in judged])
    assert main(["--data", str(tmp_path), "--format", "json"]) == 0
    captured = capsys.readouterr()
    (table,) = json.loads(captured.out)["tables"]
    assert table["notes"] == [
        "1 judged document is not in the corpus: no system can find it",
        "2 judged queries have no text: they score 0 for every system",
        "1 query of the run is not judged and is left out: q9",
        "1 query has no relevant document (grade 1 or more) and scores 0: q3",
    ]
    assert captured.err.splitlines() == [f"note: {note}" for note in table["notes"]]


def test_a_judged_query_that_the_run_lacks_counts_0_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert evaluate_all({"q1": ["a"]}, {"q1": {"a": 1}, "q2": {"b": 1}}, 1) == {"P@1": 0.5, "MRR": 0.5, "NDCG@1": 0.5}
    assert [record.getMessage() for record in caplog.records] == ["1 judged query is not in the run and scores 0: q2"]


def test_the_command_tells_its_version_and_only_the_exit_codes_that_it_has(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"rankproof {rp.__version__}\n"
    assert main(["--help"]) == 0
    page = capsys.readouterr().out
    assert "exit codes:" in page
    assert "gate" not in page


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--data", "nowhere"], "nowhere: file not found"),
        (["--model", "nope"], "no model is called nope"),
        (["-k", "0"], "whole number of at least 1"),
        (["--dtaa", "x"], "did you mean --data?"),
    ],
)
def test_the_command_ends_as_every_command_does(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == UsageError.exit_code
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""


def _write(path: Path, items: list[dict[str, Any]]) -> None:
    path.write_text("".join(f"{json.dumps(item)}\n" for item in items), encoding="utf-8")
