"""`rankproof import`, `import_dataset`, and datasets that are read from a table directly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rankproof as rp
from rankproof._cli.main import main
from rankproof.errors import InputError, UsageError

PRODUCTS = """\
search_term,product_title,description,label
red shoes,"Red ""Runner"" shoe","light, red
shoe",Exact
red shoes,Blue shoe,a blue shoe,Irrelevant
wool hat,Wool hat,warm hat,Exact
wool hat,Red runner,,
,Lost,no query,Exact
"""
GRADES = {"Exact": 1, "Irrelevant": 0}


@pytest.fixture
def products(tmp_path: Path) -> Path:
    path = tmp_path / "products.csv"
    path.write_text(PRODUCTS, encoding="utf-8")
    return path


def test_a_table_becomes_a_folder_that_reads_back_alike(products: Path, tmp_path: Path) -> None:
    imported = rp.import_dataset(products, tmp_path / "shop", grade_map=GRADES)
    again = rp.read_dataset(tmp_path / "shop")
    assert again.fingerprint() == imported.dataset.fingerprint()
    assert [query.text for query in again.queries.values()] == ["red shoes", "wool hat"]
    first = next(iter(again.corpus.values()))
    assert (first.title, first.text) == ('Red "Runner" shoe', "light, red\nshoe")
    assert sum(map(len, again.qrels.values())) == 3


def test_the_command_shows_columns_and_counts_and_writes_them(
    products: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "shop"
    assert main(["import", str(products), "--grade-map", "Exact=1,Irrelevant=0", "-o", str(folder)]) == 0
    shown = capsys.readouterr()
    assert "columns: query = search_term, title = product_title, text = description, grade = label" in shown.out
    assert "1 without a query (first at line 7)" in shown.out
    assert "1 without a grade (first at line 6)" in shown.out
    assert f"next: rankproof run --dataset {folder}" in shown.err
    report = json.loads((folder / "import.json").read_text(encoding="utf-8"))
    assert report["fingerprint"] == rp.read_dataset(folder).fingerprint()
    rows = next(part for part in report["counts"] if part["part"] == "rows")
    assert rows == {
        "part": "rows",
        "read": 5,
        "kept": 4,
        "dropped": [{"reason": "without a query", "count": 1, "first_line": 7}],
    }


def test_labels_without_a_map_are_listed_with_a_map_to_paste(products: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", str(products)]) == 2
    error = capsys.readouterr().err
    assert "grades found: Exact (2), Irrelevant (1)" in error
    assert "--grade-map Exact=3,Irrelevant=0" in error


def test_a_dataset_is_read_from_the_table_directly(products: Path) -> None:
    dataset = rp.read_dataset(products, grade_map=GRADES)
    assert dataset.name == "products"
    assert len(dataset.corpus) == 4
    assert dataset.notes[0].startswith("columns: query = search_term")


def test_a_table_is_read_from_standard_input(products: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open(products, encoding="utf-8") as stream:
        monkeypatch.setattr("sys.stdin", stream)
        imported = rp.import_dataset("-", grade_map=GRADES)
    assert imported.dataset.name == "stdin"
    assert imported.dataset.fingerprint() == rp.read_dataset(products, grade_map=GRADES).fingerprint()


def test_an_older_import_is_replaced_and_another_folder_is_not(products: Path, tmp_path: Path) -> None:
    rp.import_dataset(products, tmp_path / "shop", grade_map=GRADES)
    rp.import_dataset(products, tmp_path / "shop", grade_map={"Exact": 2, "Irrelevant": 0})
    assert max(max(docs.values()) for docs in rp.read_dataset(tmp_path / "shop").qrels.values()) == 2
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    with pytest.raises(UsageError, match="mine exists and is not a folder of an import alone"):
        rp.import_dataset(products, tmp_path / "mine")
    products.rename(tmp_path / "shop" / "products.csv")
    with pytest.raises(UsageError, match="shop exists and is not a folder of an import alone"):
        rp.import_dataset(tmp_path / "shop" / "products.csv", tmp_path / "shop", grade_map=GRADES)
    assert (tmp_path / "shop" / "products.csv").exists()


def test_a_source_of_no_kind_is_refused_with_the_names_of_the_importers(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="not recognised as a dataset; name the importer") as caught:
        rp.import_dataset(tmp_path / "empty")
    assert "elasticsearch, opensearch, ubi, table; the help of rankproof import says" in str(caught.value)
    assert "--from NAME" in caught.value.command_line_text
    with pytest.raises(InputError, match=r"no-such\.csv: file not found"):
        rp.import_dataset(tmp_path / "no-such.csv")
    with pytest.raises(UsageError, match="no importer is called ragas9; choose from: "):
        rp.import_dataset(tmp_path / "empty", importer="ragas9")


def test_settings_and_options_that_the_importer_lacks_are_refused(products: Path) -> None:
    with pytest.raises(UsageError, match="the importer table has no setting locale; choose from: query-fields"):
        rp.import_dataset(products, settings={"locale": "us"})
    with pytest.raises(UsageError, match=r"no table has a split in its name, as in qrels-test\.csv; leave out split="):
        rp.read_dataset(products, split="dev")
    rp.import_dataset(products, products.parent / "shop", grade_map=GRADES)
    with pytest.raises(UsageError, match="grade_column=: the importer beir knows its columns; leave it out"):
        rp.import_dataset(products.parent / "shop", grade_column="label")


def test_a_map_of_grades_is_refused_for_a_log_that_has_none(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"user_input": "red pan", "retrieved_contexts": ["A red pan."], "reference_contexts": ["A red pan."]}\n')
    assert rp.import_dataset(log).report.importer == "rag"
    with pytest.raises(UsageError, match=r"the importer rag has no grades: .*; leave out grade_map="):
        rp.import_dataset(log, grade_map={"good": 2})
    with pytest.raises(UsageError, match="leave out on_conflict="):
        rp.import_dataset(log, on_conflict="max")


def shop(folder: Path, **others: str | bytes) -> Path:
    """A folder of tables, with further files by name."""
    tables = {
        "products.csv": "product_id,title\nd1,Red shoe\nd2,Hat\n",
        "queries.csv": "query_id,query\nq1,red shoes\nq2,hats\n",
    }
    for name, content in {**tables, **others}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


QRELS = "query_id,product_id,grade\nq1,d1,1\n"


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("qrels.csv", b"", "the file is empty"),
        ("qrels.csv", b"query_id,product_id,grade,grade\nq1,d1,1,1\n", "grade"),
        ("qrels.tsv", QRELS.encode("utf-16"), "UTF-16"),
        ("qrels.csv.gz", b"\x1f\x8b\x08", "gzip"),
        ("qrels.jsonl", b'{"query_id": \n', "JSON"),
        ("qrels.json", b'[{"query_id": ', "JSON"),
        ("qrels.parquet", b"PAR1", "Parquet"),
    ],
)
def test_a_damaged_table_in_a_folder_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: bytes, what: str
) -> None:
    folder = shop(tmp_path / "shop", **{name: content})
    assert main(["import", str(folder)]) == 2
    message = capsys.readouterr().err
    assert str(folder / name) in message
    assert what.lower() in message.replace(str(folder / name), "").lower()


def test_a_json_list_of_rows_in_a_folder_is_a_table_and_an_object_is_not(tmp_path: Path) -> None:
    rows = '[{"query_id": "q1", "product_id": "d1", "grade": 1}]'
    imported = rp.import_dataset(shop(tmp_path / "shop", **{"qrels.json": rows, "about.json": '{"version": 1}'}))
    assert imported.dataset.qrels == {"q1": {"d1": 1}}
    assert "not read, as they are no tables: about.json" in imported.report.notes


def test_other_text_files_in_a_folder_are_not_lists_of_queries(tmp_path: Path) -> None:
    texts = {"README.txt": "Our shop\nof shoes\n", "LICENSE": "free", "Searches.TXT": "blue coat\nred shoes of wool\n"}
    imported = rp.import_dataset(shop(tmp_path / "shop", **texts, **{"qrels.csv": QRELS}))
    found = sorted(query.text for query in imported.dataset.queries.values())
    assert found == ["blue coat", "hats", "red shoes", "red shoes of wool"]
    assert "not read, as they are no tables: LICENSE, README.txt" in imported.report.notes


TRAIN, TEST = QRELS, QRELS.replace("q1,d1", "q2,d2")


@pytest.mark.parametrize("form", ["qrels/{}.csv", "qrels-{}.csv", "{}_qrels.tsv", "{}/labels.csv", "qrels-{}-0-of-1.csv"])
def test_the_split_chooses_among_the_tables_of_a_folder(tmp_path: Path, form: str) -> None:
    train, test = form.format("train"), form.format("test")
    folder = shop(tmp_path / "shop", **{train: TRAIN, test: TEST})
    for split, pairs, other in (("test", {"q2": {"d2": 1}}, f"{train} (train)"), ("train", {"q1": {"d1": 1}}, f"{test} (test)")):
        imported = rp.import_dataset(folder, split=split)
        assert imported.dataset.qrels == pairs
        assert len(imported.dataset.queries) == 2
        note = f"not read, as they are of another split than {split}: {other}"
        assert any(one.startswith(note) for one in imported.report.notes)


def test_a_split_that_a_folder_lacks_is_an_error_that_lists_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shop(tmp_path / "shop", **{"qrels-train.csv": TRAIN, "qrels-validation.csv": TEST})
    assert main(["import", str(folder)]) == 2
    message = f"{folder}: no table of split test; splits: train, validation; choose one of them, as in --split train"
    assert message in capsys.readouterr().err
    assert main(["import", str(folder), "--split", "train"]) == 0


def test_named_files_of_one_split_need_no_choice(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop", **{"qrels-train.csv": TRAIN})
    paths = [folder / name for name in ("products.csv", "queries.csv", "qrels-train.csv")]
    assert rp.import_dataset(paths).dataset.qrels == {"q1": {"d1": 1}}
    with pytest.raises(InputError, match="no table of split dev; splits: train"):
        rp.import_dataset(paths, split="dev")


def test_a_source_of_queries_and_files_that_are_not_read_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    (folder / "pages").mkdir(parents=True)
    (folder / "queries.tsv").write_text("q1\tred shoes\nq2\tblue shoes\n")
    for at in range(8):
        (folder / f"page{at}.md").write_text("# Shoes\nRed shoes.\n")
    with pytest.raises(InputError, match=r"no document and no judgement; not read.*page0\.md.*, …; write the documents as lines"):
        rp.import_dataset(folder)
