"""A run whose queries are in several files, named by a pattern."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankproof as rp
from rankproof._evaluation.options import EvaluateOptions
from rankproof._evaluation.sources import RunSources
from rankproof._io.paths import is_pattern, pattern_name
from rankproof.errors import InputError

QRELS = {f"q{number}": {f"d{doc}": doc % 3 for doc in range(4)} for number in range(6)}
ROWS = {query: {f"d{doc}": float((doc * 7 + at) % 5) for doc in range(6)} for at, query in enumerate([*QRELS, "unjudged"])}
MEASURES = ["nDCG@3", "AP", "RR", "NumRet", "Judged@5"]


def write_parts(folder: Path, groups: list[list[str]]) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    for number, queries in enumerate(groups):
        rows = [f"{query} Q0 {doc} 1 {score} bm25\n" for query in queries for doc, score in ROWS[query].items()]
        (folder / f"part-{number}.run").write_text("".join(rows))
    return str(folder / "part-*.run")


@settings(max_examples=20)
@given(st.lists(st.integers(0, 2), min_size=len(ROWS), max_size=len(ROWS)))
def test_a_run_in_parts_has_the_values_notes_and_ties_of_the_whole_run(
    tmp_path_factory: pytest.TempPathFactory, places: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("runs")
    groups = [[query for query, at in zip(ROWS, places, strict=True) if at == number] for number in range(3)]
    pattern = write_parts(folder, [group for group in groups if group])
    whole = write_parts(folder / "whole", [list(ROWS)]).replace("*", "0")
    parts, one = rp.evaluate(QRELS, pattern, MEASURES), rp.evaluate(QRELS, whole, MEASURES)
    assert parts.per_query() == one.per_query()
    assert [note.text for notes in parts.notes.values() for note in notes] == [
        note.text for notes in one.notes.values() for note in notes
    ]


def test_a_run_in_parts_of_parquet_equals_the_dict(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    for number, queries in enumerate((["q0", "q5"], ["q1", "q2", "q3", "q4", "unjudged"])):
        rows = [(query, doc, score) for query in queries for doc, score in ROWS[query].items()]
        pandas.DataFrame(rows, columns=["query_id", "doc_id", "score"]).to_parquet(tmp_path / f"part-{number}.parquet")
    found = rp.evaluate(QRELS, str(tmp_path / "part-*.parquet"), MEASURES)
    assert found.per_query() == rp.evaluate(QRELS, ROWS, MEASURES).per_query()


def test_compare_reads_a_run_in_parts(tmp_path: Path) -> None:
    pattern = write_parts(tmp_path / "bm25", [["q0", "q1"], ["q2", "q3", "q4", "q5"]])
    assert rp.compare(QRELS, [pattern, {query: {} for query in QRELS} | {"q0": {"d1": 1.0}}]).systems[0] == "bm25"


def test_a_query_in_two_parts_is_an_error_that_names_both_files(tmp_path: Path) -> None:
    pattern = write_parts(tmp_path, [["q0", "q1"], ["q1"]])
    message = (
        r"part-1.run: query q1 is in .*part-0.run too; put all rows of a query into one file, or name files of several systems"
    )
    with pytest.raises(InputError, match=message):
        rp.evaluate(QRELS, pattern, MEASURES)


def test_a_pattern_without_a_match_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file matches this pattern"):
        rp.evaluate(QRELS, str(tmp_path / "none-*.run"), MEASURES)


def test_a_file_whose_name_looks_like_a_pattern_is_read_as_that_file(tmp_path: Path) -> None:
    (tmp_path / "a[1].run").write_text("q0 Q0 d1 1 1.0 t\n")
    assert not is_pattern(str(tmp_path / "a[1].run"))
    assert rp.evaluate(QRELS, str(tmp_path / "a[1].run"), ["RR"]).per_query()["RR"]["q0"] == 1.0


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("runs/part-*.parquet", "runs"),
        ("bm25-*.run.gz", "bm25"),
        ("*.run", "run"),
        ("runs/dense.??.run", "dense"),
        ("a*/b.run", "b.run"),
    ],
)
def test_a_run_in_parts_is_named_by_its_folder_or_by_the_name_before_the_wildcard(pattern: str, name: str) -> None:
    assert pattern_name(pattern) == name


@pytest.mark.parametrize("scores", [{"q1": {"d": 1.0}, "q2": {"d": 2.0, "e": 1.0}, "q3": {}}, {1: {"d": 1.0}, "q2": {"d": 1.0}}])
def test_a_run_of_some_queries_is_that_part_of_the_whole_run(scores: dict[Any, Any]) -> None:
    def sources() -> RunSources:
        return RunSources({"a": scores}, EvaluateOptions())

    read, queries = sources(), frozenset(("q2", "1", "q3", "other"))
    run, part = sources().of_queries("a", queries), read["a"].restricted_to(queries)
    assert [*run.rows()] == [*part.rows()] == [*read.of_queries("a", queries).rows()]
    assert run.queries == part.queries
