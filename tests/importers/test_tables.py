"""Flat tables: the same dataset from every form, roles of columns, made ids, labels, and what is dropped or refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankproof as rp
from rankproof._importers.base import ImportOptions
from rankproof._importers.registry import import_source
from rankproof._io.corpus_store import CorpusStorage
from rankproof.errors import InputError, RankproofError
from support.examples import examples, sampled

ROWS: list[dict[str, Any]] = [
    {"query": "red shoes", "product_id": "p1", "title": "Red shoe", "description": 'light, "soft"\nshoe', "grade": 2},
    {"query": "red shoes", "product_id": "p2", "title": "Blue shoe", "description": "a blue shoe", "grade": 0},
    {"query": "wool hat", "product_id": "p3", "title": "Hat", "description": "warm; 100% wool", "grade": 1},
    {"query": "wool hat", "product_id": "p1", "title": "Red shoe", "description": 'light, "soft"\nshoe', "grade": None},
]
FRAME = pandas.DataFrame(ROWS).astype({"grade": "Int64"})
HEADER = "query,title,text,grade\n"


def written(write: Callable[..., Any], name: str, **options: Any) -> Callable[[Path], Path]:
    """Writes the rows to a file and returns its path."""

    def path_of(folder: Path) -> Path:
        write(folder / name, **options)
        return folder / name

    return path_of


FORMS: dict[str, Callable[[Path], Any]] = {
    "pandas": lambda folder: FRAME,
    "polars": lambda folder: polars.DataFrame(ROWS),
    "pyarrow": lambda folder: pa.Table.from_pylist(ROWS),
    "csv": written(FRAME.to_csv, "t.csv", index=False),
    "csv with semicolons": written(FRAME.to_csv, "t.csv", index=False, sep=";"),
    "csv with a byte-order mark": written(FRAME.to_csv, "t.csv", index=False, encoding="utf-8-sig"),
    "csv.gz": written(FRAME.to_csv, "t.csv.gz", index=False),
    "tsv": written(FRAME.to_csv, "t.tsv", index=False, sep="\t"),
    "jsonl": written(FRAME.to_json, "t.jsonl", orient="records", lines=True),
    "json": written(FRAME.to_json, "t.json", orient="records"),
    "parquet": written(lambda path: pq.write_table(pa.Table.from_pylist(ROWS), path), "t.parquet"),
}


def imported(text: str | bytes, folder: Path, **options: Any) -> rp.types.Imported:
    path = folder / "table.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return rp.import_dataset(path, **options)


def refusal(text: str | bytes, folder: Path, **options: Any) -> str:
    with pytest.raises(RankproofError) as caught:
        imported(text, folder, **options)
    assert caught.value.exit_code == 2
    return caught.value.command_line_text.replace(f"{folder}/", "")


def dropped(found: rp.types.Imported, part: str) -> list[str]:
    return [str(one) for count in found.report.counts if count.part == part for one in count.dropped]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_table_gives_the_same_dataset(form: str, tmp_path: Path) -> None:
    found = rp.import_dataset(FORMS[form](tmp_path))
    assert found.report.columns == {
        "query": "query",
        "document id": "product_id",
        "title": "title",
        "text": "description",
        "grade": "grade",
    }
    assert found.dataset.fingerprint() == rp.import_dataset(FRAME).dataset.fingerprint()
    assert found.dataset.corpus["p1"].text == 'light, "soft"\nshoe'
    assert [reason.partition(" (")[0] for reason in dropped(found, "judgements")] == ["1 without a grade"]


def test_ids_are_made_from_content_in_any_order_of_rows(tmp_path: Path) -> None:
    rows = ["red shoes,Red,a shoe,1\n", "hats,Hat,a hat,1\n", "red shoes,Hat,a hat,0\n"]
    first = imported(HEADER + "".join(rows), tmp_path).dataset
    second = imported(HEADER + "".join(reversed(rows)), tmp_path).dataset
    assert first.fingerprint() == second.fingerprint()
    assert len(first.corpus) == len(first.queries) == 2
    assert set(first.queries) == {"q" + rp_digest("red shoes"), "q" + rp_digest("hats")}
    assert "d" + rp_digest("Hat\0a hat") in first.corpus


def rp_digest(text: str) -> str:
    from hashlib import sha256

    return sha256(text.encode()).hexdigest()[:16]


def test_columns_are_named_where_their_names_do_not_tell(tmp_path: Path) -> None:
    text = "term,headline 1,body a,body b,points,when\nred shoes,Red,light,soft,2,today\n"
    found = imported(
        text,
        tmp_path,
        query_column="term",
        title_column="headline 1",
        text_column=["body a", "body b"],
        grade_column="points",
        settings={"query-fields": "when"},
    )
    (document,) = found.dataset.corpus.values()
    assert (document.title, document.text) == ("Red", "light\nsoft")
    (query,) = found.dataset.queries.values()
    assert query.fields == {"when": "today"}
    assert found.report.columns["text"] == "body a + body b"
    assert "no column is called points2; columns: term, headline 1" in refusal(text, tmp_path, grade_column="points2")
    said = refusal(text, tmp_path, settings={"query-fields": "whence"}, query_column="term")
    assert "no column is called whence; columns: term, headline 1" in said


def test_other_columns_are_fields_of_the_document_or_query(tmp_path: Path) -> None:
    text = "query,query_class,title,brand,id,grade\nred shoes,shoes,Red,Acme,7,1\nred shoes,shoes,Blue,,8,1\n"
    dataset = imported(text, tmp_path).dataset
    assert [document.fields for document in dataset.corpus.values()] == [{"brand": "Acme", "field_id": "7"}, {"field_id": "8"}]
    assert [query.fields for query in dataset.queries.values()] == [{"query_class": "shoes"}]


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("query,question,title,grade", "the query column may be query or question; columns: query, question, title, grade"),
        ("query,text,description,grade", "name it: --text-column text, or several: --text-column text --text-column description"),
        ("query,text,label,rating", "the grade column may be label or rating"),
        ("query,text,label,my rating", ""),
        (
            "foo,title,grade",
            "table.csv:1: no column for the text of the query; columns: foo, title, grade; name it: --query-column",
        ),
        ("query,foo,grade", "table.csv:1: no column for the document; columns: query, foo, grade; name its title or text"),
        ("query_id,doc_id,rank,score", "no column for the text of the query; columns: query_id, doc_id, rank, score"),
        ("query,title,title,grade", "table.csv:1: column title occurs twice; rename or remove one of them"),
        ("query,Title,title,grade", "the title column may be Title or title"),
    ],
)
def test_columns_that_are_missing_or_ambiguous_are_refused_with_all_names(header: str, message: str, tmp_path: Path) -> None:
    text = f"{header}\n{','.join('1' for _ in header.split(','))}\n"
    if message:
        assert message in refusal(text, tmp_path)
    else:
        assert imported(text, tmp_path).report.columns["grade"] == "label"


HOSTILE = {
    "empty": (b"", "the file is empty"),
    "blank lines": (b"\n \n", "no rows"),
    "header only": (HEADER.encode(), "a header and no rows"),
    "utf-16": (f"{HEADER}a,b,c,1\n".encode("utf-16"), "the file is UTF-16"),
    "latin-1": (HEADER.encode() + b"caf\xe9,b,c,1\n", "table.csv:2: byte 0xe9 at column 4 is not UTF-8"),
    "open quote": (f'{HEADER}a,b,"c,1\nd,e,f,1\n'.encode(), "table.csv:2: a quote is not closed"),
    "text after a quote": (f'{HEADER}a,b,"c"d,1\n'.encode(), "table.csv:2: the quotes are wrong"),
    "too few cells": (f"{HEADER}a,b,c,1\na,b,c\n".encode(), "table.csv:3: 3 columns where the header has 4"),
    "too many cells": (f"{HEADER}a,b,c,1,2\n".encode(), "table.csv:2: 5 columns where the header has 4"),
    "archive": (b"PK\x03\x04 rest", "this is a zip archive (an .xlsx sheet is one too); unpack it, or save the sheet as CSV"),
    "bytes": (bytes(range(256)) * 10, "no column for the text of the query"),
    "NUL in an id": (b"query_id,query,title,grade\nq\x001,a,b,1\n", "table.csv:2: query id q\\x001 contains a NUL byte"),
    "high grade": (f"{HEADER}a,b,c,5000\n".encode(), "table.csv:2: grade 5000 is above the limit of 1000"),
    "mixed grades": (f"{HEADER}a,b,c,1\nd,e,f,good\n".encode(), "--grade-map '1=?,good=?'"),
    "decimal grades": (f"{HEADER}a,b,c,2.5\nd,e,f,1.0\n".encode(), "--grade-map 2.5=5,1.0=2"),
    "conflict": (f"{HEADER}a,b,c,1\na,b,c,2\n".encode(), "table.csv:3: document d"),
    "lone surrogate": (
        b'{"query": "a\\ud800", "text": "b", "grade": 1}\n{}\n',
        "the text of a\\ud800 contains a lone",
    ),
    "lone surrogate in a name": (b'{"que\\ud800ry": "a"}\n{}\n', "table.csv:1: the name of a column contains a lone surrogate"),
    "rows that are no objects": (b"[1, 2]\n", "a number where an object was expected"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_table_that_cannot_be_read_is_refused_with_its_line(case: str, tmp_path: Path) -> None:
    content, message = HOSTILE[case]
    assert message in refusal(content, tmp_path)


@pytest.mark.slow
def test_a_cell_of_ten_megabytes_is_read(tmp_path: Path) -> None:
    long = "y" * 10_000_000
    found = imported(f'{HEADER}a,b,"{long}",1\n', tmp_path)
    assert [len(one.text) for one in found.dataset.corpus.values()] == [len(long)]


@pytest.mark.slow
def test_a_cell_of_seventy_megabytes_is_refused(tmp_path: Path) -> None:
    long = "y" * 10_000_000
    assert "table.csv:2: the line is over 64 MiB" in refusal(f'{HEADER}a,b,"{long * 7}",1\n', tmp_path)
    lines = ("z" * 999 + "\n") * 70_000
    assert "table.csv:2: the line is over 64 MiB" in refusal(f'{HEADER}a,b,"{lines}",1\n', tmp_path)


def test_quotes_line_breaks_and_formulas_are_text(tmp_path: Path) -> None:
    text = f'{HEADER}"=1+1","=HYPERLINK(""x"")","a\r\nb, c",1\na 5" pipe,#tag,x,0\n'
    dataset = imported(text, tmp_path).dataset
    assert [query.text for query in dataset.queries.values()] == ["=1+1", 'a 5" pipe']
    assert [(one.title, one.text) for one in dataset.corpus.values()] == [('=HYPERLINK("x")', "a\r\nb, c"), ("#tag", "x")]


def test_rows_without_a_part_are_dropped_with_counts_and_first_lines(tmp_path: Path) -> None:
    rows = [",b,c,1", "q,,,1", "q,b,c,", "q,b,c,NaN", "q,b,c,null", "q,b,c,1", "q,b,c,1", " ,b,c,1"]
    found = imported(HEADER + "\n".join(rows) + "\n", tmp_path)
    assert dropped(found, "rows") == ["2 without a query (first at line 2)", "1 without a document (first at line 3)"]
    assert dropped(found, "judgements") == ["3 without a grade (first at line 4)", "1 exact repeats"]
    assert {count.part: (count.read, count.kept) for count in found.report.counts} == {
        "rows": (8, 5),
        "judgements": (5, 1),
        "queries": (1, 1),
        "documents": (1, 1),
    }


def test_a_second_text_is_counted_and_a_second_grade_chosen_by_rule(tmp_path: Path) -> None:
    text = "query_id,query,doc_id,title,grade\n1,a,d1,T,1\n1,b,d1,T2,3\n1,a,d2,,2\n"
    assert "document d1 has two grades for query 1: 1 (at line 2) and 3" in refusal(text, tmp_path)
    found = imported(text, tmp_path, on_conflict="max")
    assert found.dataset.qrels == {"1": {"d1": 3, "d2": 2}}
    assert found.dataset.corpus["d1"].title == "T"
    assert dropped(found, "judgements") == ["1 second grades of a pair (--on-conflict max)"]
    assert dropped(found, "documents") == ["1 without a title or text (first at line 4)"]
    assert "1 query with more than one text; the first of each is kept" in found.report.notes
    assert "1 document with more than one text; the first of each is kept" in found.report.notes


def test_ids_with_white_space_are_kept_inside_and_trimmed_outside(tmp_path: Path) -> None:
    text = 'query_id,query,doc_id,title,grade\n q 1 ,a,"d\t1",T,1\nq2,b,d 2,T2,0\n'
    found = imported(text, tmp_path, path=tmp_path / "out")
    assert rp.read_dataset(tmp_path / "out").qrels == {"q 1": {"d\t1": 1}, "q2": {"d 2": 0}}
    assert "white space around 1 id is removed" in found.report.notes
    note = "ids with white space inside (1 query id, 2 document ids) are kept; TREC files cannot hold them"
    assert note in found.report.notes


def test_rows_that_repeat_a_query_and_a_document_count_their_ids_again(tmp_path: Path) -> None:
    text = "qid,query,doc_id,text,label\n 1,cats,a ,Cats purr,1\n 1,cats,,Cats hiss,0\n,dogs,b,Dogs,1\n"
    once, twice = (imported(text + text.partition("\n")[2] * again, tmp_path).report.notes for again in (0, 1))
    assert "white space around 3 ids is removed" in once
    assert "white space around 6 ids is removed" in twice
    assert next(note for note in twice if "no query id" in note).startswith("2 rows have no query id, others have one")
    assert next(note for note in twice if "no document id" in note).startswith("2 rows have no document id, others have one")


def test_true_is_no_id_after_a_row_with_1_either(tmp_path: Path) -> None:
    rows = [{"query_id": key, "query": "cats", "doc_id": "d", "title": "T", "grade": 1} for key in (1, 1, True)]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError, match=r"t\.jsonl:3: query id True is bool"):
        rp.import_dataset(tmp_path / "t.jsonl")


def test_cells_of_other_types_become_text_and_fields(tmp_path: Path) -> None:
    rows = {
        "query": ["a"],
        "description": [["one", None, "two"]],
        "grade": [True],
        "when": [pandas.Timestamp("2020-01-02")],
        "price": [2.5],
        "nothing": [float("nan")],
        "more": [{"a": [1]}],
    }
    found = rp.import_dataset(pandas.DataFrame(rows), tmp_path / "out")
    (document,) = found.dataset.corpus.values()
    assert document.text == "one\ntwo"
    assert document.fields == {"when": "2020-01-02T00:00:00", "price": 2.5, "more": {"a": [1]}}
    assert rp.read_dataset(tmp_path / "out").fingerprint() == found.dataset.fingerprint()
    assert list(found.dataset.qrels.values()) == [{document.id: 1}]


def test_a_key_that_comes_late_is_a_field(tmp_path: Path) -> None:
    rows = [{"query": "a", "text": f"text {number}", "grade": 1} for number in range(2000)]
    rows[-1]["brand"] = "Acme"
    found = imported("".join(json.dumps(row) + "\n" for row in rows), tmp_path)
    assert found.report.columns["document fields"] == "brand"
    assert [one.fields for one in found.dataset.corpus.values()][-1] == {"brand": "Acme"}


def test_integer_ids_are_text_and_float_ids_are_refused() -> None:
    frame = pandas.DataFrame({"query_id": [1, 2], "query": ["a", "b"], "doc_id": [7, 8], "title": ["T", "U"], "label": [1, 0]})
    assert rp.import_dataset(frame).dataset.qrels == {"1": {"7": 1}, "2": {"8": 0}}
    with pytest.raises(InputError, match=r"table:1: document id 7\.0 is a float"):
        rp.import_dataset(frame.astype({"doc_id": float}))
    with pytest.raises(InputError, match="a lazy frame has no rows yet"):
        rp.import_dataset(polars.DataFrame({"a": [1]}).lazy())


def test_tables_that_share_ids_are_joined(tmp_path: Path) -> None:
    (tmp_path / "query.csv").write_text("query_id\tquery\tquery_class\n0\tred shoes\tShoes\n1\twool hat\tHats\n")
    (tmp_path / "product.csv").write_text("product_id\tproduct_name\tproduct_description\n7\tRed\ta shoe\n8\tHat\t\n")
    (tmp_path / "label.csv").write_text(
        "id\tquery_id\tproduct_id\tlabel\n0\t0\t7\tExact\n1\t1\t8\tPartial\n2\t1\t7\tIrrelevant\n"
    )
    paths = [tmp_path / name for name in ("query.csv", "product.csv", "label.csv")]
    with pytest.raises(InputError, match=r"Exact \(1\), Partial \(1\), Irrelevant \(1\)"):
        rp.import_dataset(paths)
    dataset = rp.import_dataset(paths, grade_map={"Exact": 2, "Partial": 1, "Irrelevant": 0}).dataset
    assert dataset.qrels == {"0": {"7": 2}, "1": {"8": 1, "7": 0}}
    assert {key: one.title for key, one in dataset.corpus.items()} == {"7": "Red", "8": "Hat"}
    assert dataset.queries["1"].fields == {"query_class": "Hats"}
    assert rp.import_dataset(tmp_path, grade_map={"Exact": 2, "Partial": 1, "Irrelevant": 0}).dataset.qrels == dataset.qrels


def test_a_named_column_may_be_in_one_of_several_tables_and_errors_name_the_table(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("queries.csv", "products.csv", "labels.csv", "times.csv")]
    texts = ("qid,term\n1,cats\n", "sku,name,score\nA,Cat,0.7\n", "qid,sku,label\n1,A,good\n9,B,bad\n", "day,seconds\n1,2\n")
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    with pytest.raises(InputError, match=r"labels\.csv:2: grade \"good\" is not an integer") as caught:
        rp.import_dataset(paths[:3], query_column="term")
    assert "queries.csv" not in str(caught.value)
    found = rp.import_dataset(paths[:3], query_column="term", grade_map={"good": 1, "bad": 0})
    assert found.dataset.corpus["A"].fields == {"score": "0.7"}
    assert dropped(found, "queries") == ["1 without a text (first at line 3)"]
    assert "1 judged query without a text, such as 9" in found.report.notes
    with pytest.raises(InputError, match=r"queries\.csv:1: no column is called word; columns: qid, term, sku"):
        rp.import_dataset(paths[:3], query_column="word")
    with pytest.raises(InputError, match=r"times\.csv:1: no column for a query or a document; columns: day, seconds"):
        rp.import_dataset(paths, query_column="term")


def test_fractions_in_a_column_of_scores_are_not_guessed_to_be_grades(tmp_path: Path) -> None:
    text = "query,title,score\ncats,Cat,12.83\ncats,Dog,3\n"
    assert refusal(text, tmp_path).startswith("table.csv:1: score may hold grades or the scores of a system, such as 12.83; if")
    assert refusal(text, tmp_path, grade_column="score").startswith('table.csv:2: grade "12.83" is not an integer')
    assert imported("query,title,score\ncats,Cat,1.0\n", tmp_path).report.columns["grade"] == "score"


def test_rows_without_an_id_beside_rows_with_one_are_noted(tmp_path: Path) -> None:
    text = "qid,query,doc_id,text,label\n1,cats,a,Cats purr,1\n1,cats,,Cats purr,0\n"
    notes = imported(text, tmp_path).report.notes
    assert notes[1:] == ("1 row has no document id, others have one: a document with and without an id is counted as two",)


def test_queries_alone_are_a_dataset_without_documents_and_judgements(tmp_path: Path) -> None:
    found = imported("id,query\n7,red shoes\n8,wool hat\n", tmp_path)
    assert {key: one.text for key, one in found.dataset.queries.items()} == {"7": "red shoes", "8": "wool hat"}
    assert not found.dataset.is_judged
    assert not found.dataset.has_documents
    assert [note.partition(":")[0] for note in found.report.notes] == ["no judgements", "no documents"]


def test_documents_alone_ask_for_a_table_of_queries(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="columns: id, title, text; name it: query_column=COLUMN, or add a table of queries"):
        imported("id,title,text\n7,Shoe,A red shoe\n", tmp_path)


def test_a_fault_that_only_import_can_mend_says_so_where_a_dataset_is_read(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("foo,title,grade\na,b,1\n")
    with pytest.raises(InputError) as caught:
        rp.read_dataset(tmp_path / "t.csv")
    fix = "import it first, with rankproof import or import_dataset; name it: --query-column COLUMN"
    assert fix in caught.value.command_line_text


CELLS = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=8)


@examples(60)
@given(st.lists(st.tuples(CELLS, CELLS, CELLS, st.sampled_from(["0", "1", "2", ""])), min_size=1, max_size=8))
def test_any_cells_are_kept_or_counted_and_read_back_alike(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("cells")
    frame = pandas.DataFrame(rows, columns=["query", "title", "text", "grade"])
    if not any(query.strip() for query, _, _, _ in rows):
        with pytest.raises(InputError, match="no rows"):
            rp.import_dataset(frame)
        return
    found = rp.import_dataset(frame, folder / "out", on_conflict="max")
    again = rp.read_dataset(folder / "out")
    assert again.fingerprint() == found.dataset.fingerprint()
    counts = {count.part: count for count in found.report.counts}
    assert counts["rows"].read == len(rows)
    kept = sum(map(len, found.dataset.qrels.values()))
    assert kept == (counts["judgements"].kept if "judgements" in counts else 0)
    assert json.loads((folder / "out" / "import.json").read_text(encoding="utf-8"))["counts"][0]["read"] == len(rows)


def many_rows(documents: int) -> str:
    """Rows in which each document comes three times, far apart, and every tenth has another text the last time."""
    rows = [
        f"q {at % 7},d{at},title {at},text {at}{' changed' if turn == 2 and at % 10 == 0 else ''},{turn % 2}"
        for turn in range(3)
        for at in range(documents)
    ]
    rows.insert(5, "q 1,empty,,,1")
    return "query,doc_id,title,text,grade\n" + "\n".join(rows) + "\n"


@pytest.mark.parametrize("size", sampled([7, 1, 100], 3))
@pytest.mark.parametrize("most_in_memory", [0, 500, 1 << 25])
def test_partitions_on_disk_give_the_same_import(
    tmp_path: Path, size: int, most_in_memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    (tmp_path / "t.csv").write_text(many_rows(60))
    options = ImportOptions(on_conflict="max")
    whole = import_source(tmp_path / "t.csv", options)
    storage = CorpusStorage(tmp_path / "cache", size, most_in_memory)
    parts = import_source(tmp_path / "t.csv", options, storage=storage)
    assert parts.report == whole.report
    assert "6 documents with more than one text; the first of each is kept" in parts.report.notes
    assert list(parts.dataset.corpus.values()) == list(whole.dataset.corpus.values())
    assert [one.line for one in parts.dataset.corpus.values()] == [one.line for one in whole.dataset.corpus.values()]
    assert parts.dataset.fingerprint() == whole.dataset.fingerprint()
    assert len(parts.dataset.corpus.partitions) == -(-60 // size)
    assert len(list(temporary.iterdir())) == (most_in_memory < 1000)
    del parts
    assert not list(temporary.iterdir())


def test_an_import_that_fails_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    (tmp_path / "t.csv").write_text(many_rows(60) + "q,d9,one cell too many,text,1,2\n")
    with pytest.raises(InputError, match=r"t\.csv:183: 6 columns"):
        import_source(tmp_path / "t.csv", ImportOptions(on_conflict="max"), storage=CorpusStorage(None, 10, 0))
    assert not list(temporary.iterdir())


def two_files(folder: Path, products: str, queries: str, **options: Any) -> rp.types.Imported:
    """The import of a table of pairs whose queries have no ids, and of a table of queries."""
    (folder / "products.csv").write_text(f"search_term,product_title,label\n{products}")
    (folder / "queries.csv").write_text(f"query_id,query,kind,weight\n{queries}")
    return rp.import_dataset([folder / "products.csv", folder / "queries.csv"], **options)


def test_a_query_without_an_id_is_the_query_of_the_same_text_that_has_one(tmp_path: Path) -> None:
    pairs = "red hat,Hat,1\nred hat ,Shoe,0\nsock,Sock,1\n"
    found = two_files(tmp_path, pairs, "w1,red hat,head,10\nw2,sock,tail,2\nw3,shoe,tail,1\n")
    queries = found.dataset.queries
    assert {key: (query.text, query.fields["kind"]) for key, query in queries.items()} == {
        "w1": ("red hat", "head"),
        "w2": ("sock", "tail"),
        "w3": ("shoe", "tail"),
    }
    assert queries.weights == {"w1": 10, "w2": 2, "w3": 1}
    assert {query: len(docs) for query, docs in found.dataset.qrels.items()} == {"w1": 2, "w2": 1}
    assert "2 queries without an id in one file and with an id in another: joined by the exact text" in found.report.notes


def test_a_list_of_queries_takes_the_ids_of_a_table_of_pairs(tmp_path: Path) -> None:
    (tmp_path / "searches.txt").write_text("red hat\nnew shoes for children\n")
    (tmp_path / "pairs.csv").write_text("query_id,query,title,label\nw1,red hat,Hat,1\n")
    found = rp.import_dataset([tmp_path / "searches.txt", tmp_path / "pairs.csv"])
    assert [query.text for query in found.dataset.queries.values()] == ["red hat", "new shoes for children"]
    assert "w1" in found.dataset.queries
    assert "1 row has the text of a query that no file gives an id" in found.report.notes


def test_a_text_with_two_ids_cannot_be_joined(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"products\.csv:2: the query red hat has two ids, w1 and w2; keep one of them"):
        two_files(tmp_path, "red hat,Hat,1\n", "w1,red hat,head,10\nw2,red hat,tail,2\n")
    assert len(two_files(tmp_path, "sock,Sock,1\n", "w1,hat,a,1\nw2,hat,a,1\nw3,sock,a,1\n").dataset.queries) == 3


def test_a_query_without_a_weight_is_named_by_its_text_too(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"query q[0-9a-f]{16} \(blue sock\) has no weight, but others have one"):
        two_files(tmp_path, "blue sock,Sock,1\n", "w1,red hat,head,10\n").dataset.queries.weights  # noqa: B018


def test_a_map_of_grades_without_a_column_of_grades_is_refused(tmp_path: Path) -> None:
    text = "suchwort,title,text,relevanz\nhut,Hut,Ein Hut,exact\n"
    what = "no column is recognised as the grade; columns: suchwort, title, text, relevanz; name it:"
    options: dict[str, Any] = {"query_column": "suchwort", "grade_map": {"exact": 3}}
    assert refusal(text, tmp_path, **options) == f"table.csv:1: --grade-map is given, but {what} --grade-column COLUMN"
    with pytest.raises(InputError, match=f"grade_map= is given, but {what} grade_column=COLUMN"):
        imported(text, tmp_path, **options)
    assert len(imported(text, tmp_path, grade_column="relevanz", **options).dataset.qrels) == 1


def test_missing_columns_are_noted_with_the_option_that_names_them(tmp_path: Path) -> None:
    view = str(imported("query,doc_id\ncats,a\n", tmp_path)).replace("\n", " ")
    assert "no column for the grade among query, doc_id; name it: grade_column=COLUMN" in view
    assert "no column for a title or text among query, doc_id; name it: text_column=COLUMN" in view
