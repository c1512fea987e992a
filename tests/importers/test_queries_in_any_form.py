"""Queries and folders in the forms that people have: tables in place of JSONL, and a list with a query on each line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import rankproof as rp
from rankproof._cli.main import main
from rankproof._data.validation import made_id
from rankproof._formats.texts import read_queries
from rankproof._io.open import open_source
from rankproof.errors import InputError

DOCUMENTS = [("d1", "Red shoe", "a red shoe"), ("d2", "Hat", "a wool hat, warm"), ("d3", "Coat", "a blue coat")]
QUERIES = [("q1", "red shoes", "head", 120), ("q2", "wool, hat", "tail", 3.5), ("q3", "blue coat", "tail", 7)]
QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq2\td2\t1\nq3\td3\t1\n"


def jsonl_folder(folder: Path) -> Path:
    folder.mkdir()
    documents = [{"_id": key, "title": title, "text": text} for key, title, text in DOCUMENTS]
    queries = [{"_id": key, "text": text, "kind": kind, "weight": weight} for key, text, kind, weight in QUERIES]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(one) + "\n" for one in documents))
    (folder / "queries.jsonl").write_text("".join(json.dumps(one) + "\n" for one in queries))
    (folder / "qrels.tsv").write_text(QRELS)
    return folder


def table_folder(folder: Path, mark: str, suffix: str, names: tuple[str, str] = ("_id", "text")) -> Path:
    """The same dataset in tables."""
    key, text = names
    folder.mkdir()
    rows = [f'{doc}{mark}{title}{mark}"{body}"\n' for doc, title, body in DOCUMENTS]
    (folder / f"corpus.{suffix}").write_text(f"{key}{mark}title{mark}{text}\n" + "".join(rows))
    asked = [f'{query}{mark}"{body}"{mark}{kind}{mark}{weight}\n' for query, body, kind, weight in QUERIES]
    (folder / f"queries.{suffix}").write_text(f"{key}{mark}{text}{mark}kind{mark}weight\n" + "".join(asked))
    (folder / "qrels.tsv").write_text(QRELS)
    return folder


@pytest.mark.parametrize(("mark", "suffix"), [(",", "csv"), ("\t", "tsv")])
@pytest.mark.parametrize("names", [("_id", "text"), ("id", "text")])
def test_a_folder_of_tables_is_the_dataset_of_a_folder_of_jsonl(
    tmp_path: Path, mark: str, suffix: str, names: tuple[str, str]
) -> None:
    expected = rp.read_dataset(jsonl_folder(tmp_path / "jsonl"))
    folder = table_folder(tmp_path / "tables", mark, suffix, names)
    assert rp.read_dataset(folder).fingerprint() == expected.fingerprint()
    assert rp.import_dataset(folder).dataset.fingerprint() == expected.fingerprint()
    assert rp.read_dataset(folder).queries.weights == {"q1": 120, "q2": 3.5, "q3": 7}


def test_a_folder_of_tables_with_other_names_is_read_too(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "corpus.csv").write_text("sku,description\nd1,a red shoe\nd2,a hat\n")
    (folder / "queries.csv").write_text("query_id,search_term\nq1,red shoe\nq2,hat\n")
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\nq2\td2\t1\n")
    found = rp.read_dataset(folder)
    assert {query: dict(docs) for query, docs in found.qrels.items()} == {"q1": {"d1": 2}, "q2": {"d2": 1}}
    assert [document.text for document in found.corpus.values()] == ["a red shoe", "a hat"]


def test_documents_in_jsonl_and_queries_in_a_table_belong_together(tmp_path: Path) -> None:
    expected = rp.read_dataset(jsonl_folder(tmp_path / "jsonl"))
    folder = table_folder(tmp_path / "tables", ",", "csv")
    (folder / "corpus.csv").unlink()
    (tmp_path / "jsonl" / "corpus.jsonl").rename(folder / "corpus.jsonl")
    assert rp.read_dataset(folder).fingerprint() == expected.fingerprint()


def test_a_folder_of_other_tables_is_joined_as_before(tmp_path: Path) -> None:
    folder = table_folder(tmp_path / "shop", ",", "csv", ("query_id", "query"))
    (folder / "corpus.csv").rename(folder / "products.csv")
    (folder / "products.csv").write_text("product_id,title\nd1,Red shoe\nd2,Hat\nd3,Coat\n")
    found = rp.read_dataset(folder)
    assert (len(found.queries), len(found.corpus), len(found.qrels)) == (3, 3, 3)


def test_rankproof_run_takes_a_folder_of_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, results = table_folder(tmp_path / "shop", ",", "csv"), tmp_path / "results"
    assert main(["run", "--dataset", str(folder), "--systems", "bm25", "-o", str(results), "--no-cache"]) == 0
    assert "1.0000" in capsys.readouterr().out


SEARCHES = ["red shoes", "wool hat, warm", 'size "9" boots', "Größe 40"]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_list_of_queries_is_read_line_by_line(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "searches.txt"
    path.write_bytes(ending.join([*SEARCHES[:2], "", *SEARCHES[2:], SEARCHES[0]]).encode())
    found = rp.import_dataset(path, tmp_path / "out")
    assert [query.text for query in found.dataset.queries.values()] == SEARCHES
    assert list(found.dataset.queries) == [made_id("query", [text]) for text in SEARCHES]
    (rows,) = [count for count in found.report.counts if count.part == "rows"]
    assert [str(one) for one in rows.dropped] == ["1 with the query of an earlier row (first at line 6)"]
    note = "a list of queries; next: add a table of documents, or run an http, sql, python or run system"
    assert note in found.report.notes
    assert not any("column" in one for one in found.report.notes)
    assert rp.read_dataset(tmp_path / "out").queries.fingerprint() == found.dataset.queries.fingerprint()
    assert rp.read_dataset(path).queries.fingerprint() == found.dataset.queries.fingerprint()


def test_a_list_of_queries_goes_with_a_table_of_documents(tmp_path: Path) -> None:
    (tmp_path / "searches.txt").write_text("\n".join(SEARCHES))
    (tmp_path / "products.csv").write_text("product_id,title\nd1,Red shoe\nd2,Hat\n")
    found = rp.import_dataset([tmp_path / "searches.txt", tmp_path / "products.csv"]).dataset
    assert (len(found.queries), len(found.corpus)) == (4, 2)


def test_where_a_file_of_queries_is_accepted_a_list_or_table_is_too(tmp_path: Path) -> None:
    (tmp_path / "searches.txt").write_text("\n".join(SEARCHES), encoding="utf-8")
    (tmp_path / "queries.txt.gz").write_bytes(gzip.compress("\n".join(SEARCHES).encode()))
    (tmp_path / "queries.csv").write_text("id,query,level\nq1,red shoes,3\nq2,wool hat,4\n")
    for name in ("searches.txt", "queries.txt.gz"):
        assert [query.text for query in read_queries(open_source(tmp_path / name)).values()] == SEARCHES
    table = read_queries(open_source(tmp_path / "queries.csv"))
    assert {key: (query.text, query.fields["level"]) for key, query in table.items()} == {
        "q1": ("red shoes", 3),
        "q2": ("wool hat", 4),
    }


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("query\nred shoes\nhats\n", {"query": "query"}),
        ("search_term,title,label\nred,Red shoe,1\nhat,Hat,0\n", {"query": "search_term", "title": "title", "grade": "label"}),
        ("query\ttitle\nred\tRed shoe\n", {"query": "query", "title": "title"}),
    ],
)
def test_a_text_file_with_a_header_is_a_table(tmp_path: Path, text: str, columns: dict[str, str]) -> None:
    (tmp_path / "t.txt").write_text(text)
    assert rp.import_dataset(tmp_path / "t.txt").report.columns == columns


def test_a_table_without_texts_of_queries_is_still_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("red shoes\nhats\n")
    with pytest.raises(InputError, match="no column for the text of the query; columns: red shoes"):
        rp.import_dataset(tmp_path / "t.csv")
