"""What judgements pass through keeps the machine that judged, so that no decision takes them for labels of people."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rankproof as rp
from rankproof._cli.main import main
from rankproof._data.qrels import Judgement, Qrels
from rankproof._formats.frames import qrels_from_frame
from rankproof._formats.read import read_qrels
from rankproof._formats.registry import FORMATS, format_named
from rankproof._formats.write import write_qrels
from rankproof._results.judgements import join_judgements
from rankproof.errors import InputError, UsageError

LLM, WORDS = "llm:small:0123abcd", "keywords:0.5:77777777"
LABELS = {("q1", "b"): LLM, ("q2", "a"): LLM, ("q2", "c"): WORDS}
ROWS = [("q1", "a", 1, ""), ("q1", "b", 0, LLM), ("q2", "a", 2, LLM), ("q2", "c", 0, WORDS)]
SUFFIXES = {"trec": "qrels", "beir": "tsv", "csv": "csv", "tsv": "tsv", "json": "json", "jsonl": "jsonl", "parquet": "parquet"}


@pytest.fixture
def mixed() -> Qrels:
    return Qrels(Judgement(query, doc, grade, judge_label=label) for query, doc, grade, label in ROWS)


def test_every_format_of_this_package_is_tested() -> None:
    assert set(FORMATS) - set(FORMATS.entry_points()) == SUFFIXES.keys()
    assert all(format_named(name).keeps_judge_labels for name in SUFFIXES)


@pytest.mark.parametrize("name", SUFFIXES)
@pytest.mark.parametrize("compression", ["", ".gz"])
def test_every_format_keeps_the_judge(name: str, compression: str, mixed: Qrels, tmp_path: Path) -> None:
    path = tmp_path / f"out.{SUFFIXES[name]}{compression}"
    write_qrels(mixed, path, name)
    again = read_qrels(path)
    assert again.judge_labels == mixed.judge_labels == LABELS
    assert again.fingerprint() == mixed.fingerprint()


@pytest.mark.parametrize("name", [name for name in SUFFIXES if name != "trec"])
def test_every_table_keeps_the_judge_beside_subtopics(name: str, tmp_path: Path) -> None:
    rows = [("a", "x", LLM), ("a", "y", ""), ("b", "x", ""), ("b", "y", "")]
    qrels = Qrels(Judgement("q", doc, 1, judge_label=label, subtopic=subtopic) for doc, subtopic, label in rows)
    write_qrels(qrels, tmp_path / f"out.{SUFFIXES[name]}", name)
    again = read_qrels(tmp_path / f"out.{SUFFIXES[name]}")
    assert again.judge_labels == qrels.judge_labels == {("q", "a"): LLM}
    assert again.subtopics == qrels.subtopics


def test_trec_text_that_cannot_hold_subtopic_and_judge_is_not_written(tmp_path: Path) -> None:
    qrels = Qrels(Judgement("q", "a", 1, judge_label=LLM, subtopic=subtopic) for subtopic in "xy")
    with pytest.raises(InputError, match="one column for both; write csv"):
        write_qrels(qrels, tmp_path / "out.qrels")


def test_a_format_without_judges_is_rejected(mixed: Qrels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(format_named("parquet")), "keeps_judge_labels", False)
    with pytest.raises(UsageError, match="parquet cannot hold who judged: 3 of 4 judgements were made by"):
        write_qrels(mixed, tmp_path / "out.parquet")


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_data_frame_keeps_the_judge(library: str) -> None:
    columns = {name: [row[at] for row in ROWS] for at, name in enumerate(["query_id", "doc_id", "grade", "judged_by"])}
    module = pytest.importorskip(library)
    frame = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    assert qrels_from_frame(frame).judge_labels == LABELS


def _of_all_queries(qrels: Qrels) -> Qrels:
    return qrels.of_queries(list(qrels))


def _joined(qrels: Qrels) -> Qrels:
    return join_judgements((qrels,)).qrels


@pytest.mark.parametrize("copied", [Qrels, copy.copy, _of_all_queries, _joined])
def test_copies_and_selections_keep_the_judge(copied: Callable[[Qrels], Qrels], mixed: Qrels) -> None:
    assert copied(mixed).judge_labels == LABELS


@pytest.mark.parametrize("copied", [copy.deepcopy, pickle.dumps])
def test_what_cannot_be_copied_is_an_error(copied: Callable[[Qrels], Any], mixed: Qrels) -> None:
    with pytest.raises(TypeError, match="mappingproxy"):
        copied(mixed)


def test_some_queries_keep_their_judges_and_subtopics(mixed: Qrels) -> None:
    assert mixed.of_queries(["q1"]).judge_labels == {("q1", "b"): LLM}
    qrels = Qrels(Judgement(query, "a", 1, judge_label=LLM, subtopic=subtopic) for query in "pq" for subtopic in "xy")
    assert qrels.of_queries(["p"]).subtopics == {"p": {"x": {"a": 1}, "y": {"a": 1}}}
    assert qrels.of_queries(["p"]).judge_labels == {("p", "a"): LLM}


@pytest.mark.parametrize("suffix", ["csv", "json", "jsonl", "parquet"])
def test_an_imported_table_keeps_the_judge(suffix: str, mixed: Qrels, tmp_path: Path) -> None:
    write_qrels(mixed, tmp_path / f"labels.{suffix}")
    (tmp_path / "queries.csv").write_text("query_id,query\nq1,pans\nq2,pots\n")
    (tmp_path / "docs.csv").write_text("doc_id,text\na,A pan\nb,A pot\nc,A lid\n")
    sources = [str(tmp_path / name) for name in (f"labels.{suffix}", "queries.csv", "docs.csv")]
    assert main(["import", *sources, "-o", str(tmp_path / "data")]) == 0
    assert read_qrels(tmp_path / "data").judge_labels == LABELS
    assert main(["convert", str(tmp_path / "data"), str(tmp_path / "copy")]) == 0
    assert read_qrels(tmp_path / "copy").judge_labels == LABELS


@pytest.mark.parametrize(("kind", "judge"), [("LLM_JUDGMENT", "llm:opensearch"), ("UBI_JUDGMENT", "clicks:opensearch")])
def test_a_judgement_list_of_a_machine_in_opensearch_keeps_the_judge(kind: str, judge: str, tmp_path: Path) -> None:
    ratings = [{"query": "tv", "ratings": [{"docId": "d1", "rating": "1"}]}]
    (tmp_path / "list.json").write_text(json.dumps({"name": "j", "type": kind, "judgmentRatings": ratings}))
    assert main(["import", str(tmp_path / "list.json"), "-o", str(tmp_path / "data")]) == 0
    assert set(read_qrels(tmp_path / "data").judge_labels.values()) == {judge}


@pytest.mark.parametrize("name", SUFFIXES)
def test_no_conversion_makes_a_decision_of_grades_by_a_machine(name: str, tmp_path: Path) -> None:
    queries = [f"q{number}" for number in range(60)]
    (tmp_path / "machine.qrels").write_text("".join(f"{query} {LLM} a 1\n" for query in queries))
    rp.convert(str(tmp_path / "machine.qrels"), str(tmp_path / f"out.{SUFFIXES[name]}"), target_format=name)
    runs = {"good": {query: {"a": 2.0, "b": 1.0} for query in queries}, "bad": {query: {"b": 1.0} for query in queries}}
    decision = rp.compare(str(tmp_path / f"out.{SUFFIXES[name]}"), runs).decision
    assert decision is not None
    assert (decision.outcome, decision.judge) == ("judge_leads", "small")
