"""Columns that describe queries: segments and traffic weights of a table survive its import."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas
import pytest

import rankproof as rp
from rankproof._cli.main import main
from rankproof.errors import InputError, RankproofError, UsageError

QUERIES = "query_id,query,kind,weight\nq1,red shoes,head,120\nq2,wool hat,tail,3.5\nq3,blue coat,tail,7\n"
DOCUMENTS = "doc_id,title,text\nd1,Red shoe,a red shoe\nd2,Hat,a wool hat\nd3,Coat,a blue coat\n"
LABELS = "query_id,doc_id,grade\nq1,d1,2\nq2,d2,1\nq3,d3,1\nq1,d2,0\n"


@pytest.fixture
def tables(tmp_path: Path) -> list[Path]:
    return write_tables(tmp_path, QUERIES, DOCUMENTS, LABELS)


def write_tables(folder: Path, *texts: str) -> list[Path]:
    names = ("queries.csv", "docs.csv", "labels.csv", "traffic.csv")
    paths = [folder / name for name in names[: len(texts)]]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


def fields_of(imported: rp.types.Imported) -> dict[str, dict[str, Any]]:
    return {key: dict(query.fields) for key, query in imported.dataset.queries.items()}


def test_columns_of_a_table_of_queries_become_fields_of_the_query(tables: list[Path]) -> None:
    found = rp.import_dataset(tables)
    assert fields_of(found) == {
        "q1": {"kind": "head", "weight": 120},
        "q2": {"kind": "tail", "weight": 3.5},
        "q3": {"kind": "tail", "weight": 7},
    }
    assert found.report.columns["weight"] == "weight"
    assert found.report.columns["query fields"] == "kind"


def test_segments_and_weights_survive_the_import(tables: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shop, run, other = tmp_path / "shop", tmp_path / "a.run", tmp_path / "b.run"
    run.write_text("q1 Q0 d1 1 3 x\nq2 Q0 d3 1 2 x\nq3 Q0 d3 1 2 x\n")
    other.write_text("q1 Q0 d2 1 3 x\nq2 Q0 d2 1 2 x\nq3 Q0 d3 1 2 x\n")
    assert main(["import", *map(str, tables), "-o", str(shop)]) == 0
    qrels, weights = str(shop / "qrels" / "test.tsv"), ["--weights", str(shop / "queries.jsonl")]
    capsys.readouterr()
    assert main(["eval", qrels, str(run), "-m", "Success@1", "--format", "csv", *weights]) == 0
    assert f"{127 / 130.5:.6f}" in capsys.readouterr().out
    assert main(["compare", qrels, str(run), str(other), "-m", "Success@1", *weights]) == 0
    assert f"{10.5 / 130.5:.4f}" in capsys.readouterr().out
    assert main(["segments", qrels, str(run), "--dataset", str(shop), "--by", "kind", "-m", "Success@1"]) == 0
    shown = capsys.readouterr().out
    assert [line.split()[:3] for line in shown.splitlines() if line.startswith(("head", "tail"))][:2] == [
        ["tail", "2", f"{7 / 10.5:.4f}"],
        ["head", "1", "1.0000"],
    ]


def test_an_option_names_the_column_of_weights(tables: list[Path]) -> None:
    tables[0].write_text(QUERIES.replace("weight", "visits"))
    assert fields_of(rp.import_dataset(tables))["q1"] == {"kind": "head", "visits": 120}
    assert fields_of(rp.import_dataset(tables, weight_column="visits"))["q1"] == {"kind": "head", "weight": 120}
    assert main(["import", *map(str, tables), "--weight-column", "visits"]) == 0
    with pytest.raises(InputError, match="no column is called hits") as caught:
        rp.import_dataset(tables, weight_column="hits")
    assert "--weight-column" in caught.value.fix


def test_a_table_of_pairs_has_weights_of_queries_only_if_an_option_says_so(tmp_path: Path) -> None:
    text = "query,doc_id,title,weight,label\nshoes,d1,Shoe,2.5,1\nshoes,d2,Boot,2.50,0\nhats,d3,Hat,3,1\n"
    (path,) = write_tables(tmp_path, text)
    found = rp.import_dataset(path)
    assert found.dataset.queries.weights is None
    assert [one.fields["weight"] for one in found.dataset.corpus.values()] == ["2.5", "2.50", "3"]
    found = rp.import_dataset(path, weight_column="weight")
    assert [*(found.dataset.queries.weights or {}).values()] == [2.5, 3.0]
    assert not any("more than one value" in note for note in found.report.notes)


def test_two_weights_of_a_query_are_an_error_with_both_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.csv"
    path.write_text("query,visits\nred,1\nhat,2\nred,5\n")
    assert main(["import", str(path), "--weight-column", "visits"]) == 2
    what = f"{path}:4: the weight of query red is 5.0 here and 1.0 at {path}:2; sum them, or keep one row per query"
    assert what in capsys.readouterr().err


def test_two_weights_of_a_query_in_two_tables_are_an_error(tmp_path: Path) -> None:
    paths = write_tables(tmp_path, QUERIES, DOCUMENTS, LABELS, "query_id,weight\nq1,7\n")
    with pytest.raises(InputError, match=r"the weight of query .* is 7\.0 here and 120\.0 at .*:2; sum them"):
        rp.import_dataset(paths)


def test_weights_may_be_in_a_table_of_their_own(tmp_path: Path) -> None:
    bare = "query_id,query\nq1,red shoes\nq2,wool hat\nq3,blue coat\n"
    paths = write_tables(tmp_path, bare, DOCUMENTS, LABELS, "query_id,weight,season\nq3,1,winter\nq1,2,\nq2,4,winter\n")
    found = rp.import_dataset(paths)
    assert found.dataset.queries.weights == {"q1": 2, "q2": 4, "q3": 1}
    assert fields_of(found)["q3"]["season"] == "winter"


@pytest.mark.parametrize(
    ("cell", "what"),
    [("many", "weight 'many' of query q2 is not a number above 0"), ("-1", "weight -1.0 of query q2 is not a number above 0")],
)
def test_a_weight_that_is_no_number_is_refused_at_its_line(tables: list[Path], cell: str, what: str) -> None:
    tables[0].write_text(QUERIES.replace("3.5", cell))
    with pytest.raises(RankproofError) as caught:
        rp.import_dataset(tables)
    assert str(caught.value).startswith(f"{tables[0]}:3: {what}")


def test_a_missing_weight_is_refused_at_its_line(tables: list[Path]) -> None:
    tables[0].write_text(QUERIES.replace("3.5", ""))
    with pytest.raises(RankproofError) as caught:
        rp.import_dataset(tables)
    assert str(caught.value).startswith(f"{tables[0]}:3: query q2 (wool hat) has no weight, but others have one")


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (("1", "-2.5", "0"), (1, -2.5, 0)),
        (("1", "", "3"), (1, None, 3)),
        (("1", "n/a", "3"), ("1", "n/a", "3")),
        (("007", "8", "9"), ("007", "8", "9")),
        (("1e5", "8", "nan"), ("1e5", "8", "nan")),
        (("True", "false", "true"), (True, False, True)),
    ],
)
def test_a_column_of_numbers_is_read_as_numbers(tmp_path: Path, cells: tuple[str, ...], values: tuple[Any, ...]) -> None:
    rows = "".join(f"q{at},query {at},{cell}\n" for at, cell in enumerate(cells))
    (path,) = write_tables(tmp_path, "query_id,query,level\n" + rows)
    assert tuple(one.get("level") for one in fields_of(rp.import_dataset(path)).values()) == values


def test_texts_of_a_typed_table_and_reference_answers_stay_texts(tmp_path: Path) -> None:
    frame = pandas.DataFrame({"query": ["a", "b"], "level": ["1", "2"]})
    assert [one["level"] for one in fields_of(rp.import_dataset(frame)).values()] == ["1", "2"]
    (path,) = write_tables(tmp_path, "query_id,query,answers\nq1,a,1.50\nq2,b,2\n")
    found = rp.import_dataset(path, importer="table")
    assert [one["answers"] for one in fields_of(found).values()] == ["1.50", "2"]


def test_columns_of_labels_that_cannot_be_kept_are_listed(tables: list[Path]) -> None:
    tables[2].write_text("query_id,doc_id,grade,mood\nq1,d1,2,good\nq2,d2,1,bad\n")
    notes = rp.import_dataset(tables).report.notes
    assert "columns that are not used: mood; --set query-fields=COLUMN keeps one that describes the query" in notes


def test_a_document_with_two_values_of_a_field_is_counted(tmp_path: Path) -> None:
    text = "query,doc_id,title,price,label\nshoes,d1,Shoe,5,1\nboots,d1,Shoe,6,0\nhats,d2,Hat,3,1\nhat,d2,Hat,3,1\n"
    (path,) = write_tables(tmp_path, text)
    found = rp.import_dataset(path)
    assert "1 document with more than one value of a field; the first of each is kept" in found.report.notes
    assert found.dataset.corpus["d1"].fields == {"price": "5"}


def test_an_importer_that_knows_its_columns_takes_no_weight_column(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"question": "a", "answer": "b", "contexts": ["c"]}\n')
    with pytest.raises(UsageError, match="weight_column=: the importer rag knows its columns"):
        rp.import_dataset(log, weight_column="visits")
