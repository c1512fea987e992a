"""Evaluations of pyvespa: queries, and relevant documents as an id, a list, or a relevance from 0 to 1."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rankproof._cli.main import main
from rankproof._importers.base import ImportOptions
from rankproof._importers.registry import import_source
from rankproof.errors import InputError

QUERIES = {"1": "do cats purr", "2": "do dogs bark"}


def written(tmp_path: Path, relevant: Any, queries: Any = QUERIES) -> str:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"queries": queries, "relevant_docs": relevant}, indent=1))
    return str(path)


@pytest.mark.parametrize(
    ("relevant", "grades"),
    [
        ({"1": "d1", "2": "d2"}, {"1": {"d1": 1}, "2": {"d2": 1}}),
        ({"1": ["d1", "d2"], "2": [7]}, {"1": {"d1": 1, "d2": 1}, "2": {"7": 1}}),
        ({"1": {"d1": 1, "d2": 0}}, {"1": {"d1": 1, "d2": 0}}),
        ({"1": {"a": 0.0, "b": 0.2, "c": 0.5, "d": 1.0}}, {"1": {"a": 0, "b": 1, "c": 2, "d": 3}}),
    ],
)
def test_every_form_of_relevant_documents_is_read(tmp_path: Path, relevant: Any, grades: dict[str, dict[str, int]]) -> None:
    imported = import_source(written(tmp_path, relevant))
    assert imported.report.importer == "pyvespa"
    assert {key: dict(docs) for key, docs in imported.dataset.qrels.items()} == grades
    assert {key: one.text for key, one in imported.dataset.queries.items()} == QUERIES


def test_thresholds_change_the_grades(tmp_path: Path) -> None:
    imported = import_source(written(tmp_path, {"1": {"a": 0.2, "b": 0.6}}), ImportOptions(settings={"thresholds": "0.5"}))
    assert dict(imported.dataset.qrels["1"]) == {"a": 0, "b": 1}
    assert "grades by relevance: 1 above 0.5" in imported.report.notes


def test_judgements_of_unknown_queries_are_counted(tmp_path: Path) -> None:
    imported = import_source(written(tmp_path, {"1": "d1", "9": ["d1", "d2"]}))
    (counts,) = [one for one in imported.report.counts if one.part == "judgements"]
    assert [str(one) for one in counts.dropped] == ["2 of a query that is not among the queries (first at line 8)"]


@pytest.mark.parametrize(
    ("relevant", "message"),
    [
        ({"1": {"d": 1.5}}, r"a\.json:8: relevant_docs\.1\.d is no relevance from 0 to 1"),
        ({"1": {"d": True}}, "is no relevance from 0 to 1"),
        ({"1": None}, r"a\.json:7: relevant_docs\.1 is null, not an id, a list of ids, or an object"),
        ({"1": [[]]}, r"a\.json:8: "),
    ],
)
def test_wrong_values_are_errors_with_file_and_line(tmp_path: Path, relevant: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        import_source(written(tmp_path, relevant))


def test_what_pyvespa_accepts_is_accepted(tmp_path: Path) -> None:
    base = pytest.importorskip("vespa.evaluation._base")
    relevant = {"1": {"d1": 0.5, "d2": 1.0}, "2": "d3"}
    accepted = base.validate_qrels(relevant)
    imported = import_source(written(tmp_path, relevant))
    assert {query: set(docs) for query, docs in accepted.items()} == {
        query: set(docs) for query, docs in imported.dataset.qrels.items()
    }
    with pytest.raises(ValueError, match="between 0 and 1"):
        base.validate_qrels({"1": {"d1": 2}})


def test_a_file_leads_to_a_decision_on_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    queries = {str(at): f"question {at}" for at in range(30)}
    path = written(tmp_path, {key: f"a{key}" for key in queries}, queries)
    assert main(["import", path, "-o", str(tmp_path / "data")]) == 0
    for name, order in (("old", "ba"), ("new", "ab")):
        rows = (f"{key} Q0 {doc}{key} 1 {2 - rank} {name}\n" for key in queries for rank, doc in enumerate(order))
        (tmp_path / f"{name}.run").write_text("".join(rows))
    assert main(["compare", str(tmp_path / "data/qrels/test.tsv"), str(tmp_path / "old.run"), str(tmp_path / "new.run")]) == 0
    assert "Ship new: 1.000 nDCG@10" in capsys.readouterr().out
