"""A comparison as files: CSV, JSON, a folder."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from rankproof._tokenizer_lab.comparison import conclusions
from rankproof._tokenizer_lab.files import comparison_csv, comparison_json, queries_csv, save_comparison
from rankproof._tokenizer_lab.measured import COLUMN_NAMES
from rankproof.errors import UsageError
from support.bad_inputs import harmful_texts
from support.tokenizer_comparisons import comparison_of, entry_of, wide_comparison


def test_the_csv_has_the_requested_columns() -> None:
    comparison = wide_comparison(["a", "b"], edits=1)
    rows = list(csv.DictReader(io.StringIO(comparison_csv(comparison))))
    assert len(rows) == 4
    wanted = {*COLUMN_NAMES.values(), "embedding_ms", "retrieval_ms", "total_ms", "slow_queries"}
    assert wanted <= set(rows[0])
    first = comparison.entries[0]
    assert float(rows[0]["mrr"]) == first.mean("RR")
    assert float(rows[0]["total_ms"]) == pytest.approx(float(rows[0]["embedding_ms"]) + float(rows[0]["retrieval_ms"]))
    assert rows[0]["change_pp"] == ""
    assert float(rows[2]["change_pp"]) == pytest.approx(100 * (comparison.entries[2].mean("nDCG@10") - first.mean("nDCG@10")))


def test_the_csv_has_the_token_counts() -> None:
    (row,) = csv.DictReader(io.StringIO(comparison_csv(comparison_of([entry_of("one", [[0.2, 0.4, 0.9], [0.4, 0.6, 0.8]])]))))
    wanted = {
        "tokens_document_mean": 100.5,
        "tokens_document_p95": 180.0,
        "tokens_query_mean": 9.5,
        "sequence_document_mean": 25.2,
        "sequence_query_p95": 4.0,
        "unknown_share": 0.125,
        "vocabulary": 259,
        "parameters": 4_000_000,
        "index_bytes": 1_234_567,
        "document_embedding_ms": 3.25,
        "mrr min": 0.5,
        "mrr max": 0.6,
        "repeats": 2,
        "queries": 3,
    }
    assert {name: float(row[name]) for name in wanted} == pytest.approx(wanted)


def test_queries_over_100_ms_are_marked_one_by_one() -> None:
    entry = entry_of("slow", [[0.5] * 4], ms=80.0)
    rows = list(csv.DictReader(io.StringIO(queries_csv(comparison_of([entry])))))
    assert [row["slow"] for row in rows] == ["0", "0", "1", "1"]
    assert [float(row["total_ms"]) > 100 for row in rows] == [False, False, True, True]
    assert any("slow 2 of 4" in sentence for sentence in conclusions(comparison_of([entry])))


def test_hostile_names_and_ids_are_harmless_in_every_file(tmp_path: Path) -> None:
    texts = harmful_texts()
    bad = ["=cmd()", "a\u202eb", "<script>", *texts[:3]]
    entries = [entry_of(name, [[0.1, 0.5, 0.9]], queries=["=1+1", "x,y", '"\n']) for name in dict.fromkeys(bad)]
    comparison = comparison_of(entries)
    path = save_comparison(comparison, tmp_path / "out", conclusion="")
    for name in ("comparison.csv", "queries.csv"):
        rows = list(csv.reader((Path(path) / name).read_text().splitlines()))
        assert len({len(row) for row in rows}) == 1
        assert not any(cell.startswith(("=", "@")) for row in rows for cell in row)
    document = json.loads((Path(path) / "comparison.json").read_text())
    assert [one["system"] for one in document["systems"]] == [entry.system for entry in entries]
    assert "\u202e" not in (Path(path) / "comparison.json").read_text()


def test_a_comparison_is_replaced_and_anything_else_is_not(tmp_path: Path) -> None:
    comparison = wide_comparison(["a"])
    goal = tmp_path / "out"
    save_comparison(comparison, goal, conclusion="one")
    save_comparison(comparison, goal, conclusion="two", charts={"quality": b"png"})
    assert (goal / "conclusion.md").read_text() == "two"
    (goal / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"mine\.txt"):
        save_comparison(comparison, goal, conclusion="three")
    assert (goal / "conclusion.md").read_text() == "two"
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="exists and is not a comparison folder"):
        save_comparison(comparison, other, conclusion="")


def test_the_json_has_every_pair_of_trained_systems_under_every_condition() -> None:
    document = json.loads(comparison_json(wide_comparison(["a", "b", "c", "blank"], languages=["own", "de"], edits=1)))
    assert len(document["pairs"]) == 3 * 4
    assert document["format"].startswith("rankproof")
