"""Candidates of RankLLM and Anserini, answers of TREC RAG, topics and qrels (shapes: castorini/rank_llm, castorini/ragnarok)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rankproof._cli.main import main
from rankproof._importers.registry import import_source
from rankproof.errors import InputError


def candidate(doc: Any, score: Any, **fields: Any) -> dict[str, Any]:
    return {"docid": doc, "score": score, "doc": fields or {"contents": f"text of {doc}"}}


def request(qid: Any, *candidates: dict[str, Any]) -> dict[str, Any]:
    return {"query": {"text": f"question {qid}", "qid": qid}, "candidates": list(candidates)}


def jsonl(path: Path, *rows: Any) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


SEGMENT = {"url": "http://x", "title": "Cats", "headings": "", "segment": "Cats purr.", "start_char": 0, "end_char": 10}


def test_candidates_are_queries_documents_and_a_ranking(tmp_path: Path) -> None:
    rows = [request("100", candidate("d1", 3.5, **SEGMENT), candidate(7, 2.5)), request(101, candidate("d1", 1.0, **SEGMENT))]
    for path in (jsonl(tmp_path / "bm25.jsonl", *rows), str(tmp_path / "bm25.json")):
        (tmp_path / "bm25.json").write_text(json.dumps(rows, indent=2))
        imported = import_source(path)
        assert imported.report.importer == "trec-rag"
        assert {key: one.text for key, one in imported.dataset.queries.items()} == {"100": "question 100", "101": "question 101"}
        first = imported.dataset.corpus["d1"]
        assert (first.title, first.text, first.fields["url"]) == ("Cats", "Cats purr.", "http://x")
        assert imported.dataset.corpus["7"].text == "text of 7"
        run = imported.runs["bm25"]
        assert ([*run.docs], run.scores.tolist()) == (["d1", "7", "d1"], [3.5, 2.5, 1.0])


def test_hits_of_rankgpt_are_read(tmp_path: Path) -> None:
    hits = [{"content": "Cats purr.", "qid": 3, "docid": "d1", "rank": 1, "score": 2.0}]
    imported = import_source(jsonl(tmp_path / "a.jsonl", {"query": "do cats purr", "hits": hits}))
    assert {key: one.text for key, one in imported.dataset.queries.items()} == {"3": "do cats purr"}
    assert imported.dataset.corpus["d1"].text == "Cats purr."


def test_the_order_counts_where_scores_are_tied_or_contradict_it(tmp_path: Path) -> None:
    imported = import_source(
        jsonl(tmp_path / "a.jsonl", request("1", candidate("x", 1.0), candidate("a", 1.0), candidate("b", 9.0)))
    )
    assert [row.doc for row in sorted(imported.runs["a"].rows(), key=lambda row: -row.score)] == ["x", "a", "b"]
    assert any(note.startswith("a: scores are tied or contradict the order") for note in imported.report.notes)


def test_repeats_are_counted(tmp_path: Path) -> None:
    imported = import_source(jsonl(tmp_path / "a.jsonl", request("1", candidate("d", 2.0), candidate("d", 1.0)), request("1")))
    counts = {one.part: [str(why) for why in one.dropped] for one in imported.report.counts}
    assert counts["candidates of a"] == ["1 that a better rank of the same ranking has (first at line 1)"]
    assert counts["rows of a"] == ["1 of a query that came before (first at line 2)"]


SENTENCES = [{"text": "Cats purr.", "citations": [1]}, {"text": "Dogs bark.", "citations": [0, 1, 9]}]
ANSWERS = {
    "2024": {
        "run_id": "r",
        "topic_id": "1",
        "topic": "pets",
        "references": ["d1", "d2"],
        "response_length": 4,
        "answer": SENTENCES,
    },
    "2025": {
        "metadata": {"team_id": "t", "run_id": "r", "type": "automatic", "narrative_id": "1", "narrative": "pets"},
        "references": ["d1", "d2"],
        "answer": SENTENCES,
    },
}


@pytest.mark.parametrize("year", ANSWERS)
def test_answers_keep_their_text_and_citations(tmp_path: Path, year: str) -> None:
    imported = import_source(jsonl(tmp_path / "a.jsonl", ANSWERS[year]))
    answer = imported.answers["r"]["1"]
    assert (answer.text, answer.cited, answer.given) == ("Cats purr. Dogs bark.", ("d2", "d1"), None)
    assert imported.dataset.queries["1"].text == "pets"
    counts = {one.part: [str(why) for why in one.dropped] for one in imported.report.counts}
    assert counts["citations of r"] == ["1 of no reference (first at line 1)"]


def test_topics_give_the_texts_of_answers_without_one(tmp_path: Path) -> None:
    answer = {"run_id": "r", "topic_id": "1", "references": [], "answer": []}
    paths = [jsonl(tmp_path / "answers.jsonl", answer), jsonl(tmp_path / "topics.jsonl", {"id": "1", "title": "pets"})]
    imported = import_source(paths)
    assert {key: one.text for key, one in imported.dataset.queries.items()} == {"1": "pets"}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"query": {"text": "a", "qid": "1"}, "candidates": [5]}, r"a\.jsonl:1: candidates\[0\] is no object"),
        (request("1", candidate(None, 1.0)), r"a\.jsonl:1: .*document"),
        (request("1", candidate("d", "high")), r"a\.jsonl:1: .*score"),
        ({"query": {}, "other": []}, r"a\.jsonl: neither candidates nor answers"),
    ],
)
def test_wrong_values_are_errors_with_file_and_line(tmp_path: Path, row: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        import_source(jsonl(tmp_path / "a.jsonl", row), importer="rankllm")


def test_two_rankings_with_qrels_lead_to_a_decision(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = []
    for name, order in (("bm25", "ba"), ("reranked", "ab")):
        rows = [request(str(at), *(candidate(f"{doc}{at}", 2.0 - rank) for rank, doc in enumerate(order))) for at in range(30)]
        paths.append(jsonl(tmp_path / f"{name}.jsonl", *rows))
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("".join(f"{at} 0 a{at} 1\n" for at in range(30)))
    assert main(["import", *paths, str(qrels), "-o", str(tmp_path / "data")]) == 0
    assert main(["run", str(tmp_path / "data" / "experiment.toml"), "-o", str(tmp_path / "results")]) == 0
    assert "Ship reranked: 1.000 nDCG@10" in capsys.readouterr().out
