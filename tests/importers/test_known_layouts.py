"""The sample in the layouts of BEIR, MTEB, MS MARCO and TREC is the sample again; ESCI and topics in their own forms."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rankproof as rp
from rankproof._cli.main import main
from rankproof._data.corpus import Corpus, Document
from rankproof._data.dataset import Dataset, Queries, Query
from rankproof._importers.folder import write_imported
from rankproof.errors import InputError, UsageError


def plain_sample() -> Dataset:
    """The sample without further fields, which lines of id and text cannot hold."""
    whole = rp.read_dataset("sample")
    corpus = Corpus(Document(key, " ".join(f"{one.title} {one.text}".split())) for key, one in whole.corpus.items())
    queries = Queries(Query(key, one.text) for key, one in whole.queries.items())
    return Dataset("sample", corpus, queries, whole.qrels)


def rows_of(dataset: Dataset) -> Iterator[tuple[str, str, int]]:
    return ((query, doc, grade) for query, docs in dataset.qrels.items() for doc, grade in docs.items())


def write_table(path: Path, columns: dict[str, list[Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


def write_mteb(folder: Path, dataset: Dataset, prefix: str = "", qrels: str = "default") -> None:
    texts: dict[str, list[Any]] = {"corpus": [*dataset.corpus.values()], "queries": [*dataset.queries.values()]}
    for part, rows in texts.items():
        columns = {
            "_id": [one.id for one in rows],
            "title": [one.title for one in rows],
            "text": [one.text for one in rows],
        }
        half = len(rows) // 2
        for at, part_of in enumerate((slice(0, half), slice(half, None))):
            name = f"{prefix}{part}/{part}-0000{at}-of-00002.parquet"
            write_table(folder / name, {name: values[part_of] for name, values in columns.items()})
    queries, docs, grades = (list(one) for one in zip(*rows_of(dataset), strict=True))
    columns = {"query-id": queries, "corpus-id": docs, "score": [float(grade) for grade in grades]}
    write_table(folder / f"{prefix}{qrels}/test-00000-of-00001.parquet", columns)


def write_msmarco(folder: Path, dataset: Dataset) -> None:
    folder.mkdir(parents=True)
    (folder / "collection.tsv").write_text("".join(f"{key}\t{one.text}\n" for key, one in dataset.corpus.items()))
    (folder / "queries.dev.tsv").write_text("".join(f"{key}\t{one.text}\n" for key, one in dataset.queries.items()))
    (folder / "qrels.dev.tsv").write_text("".join(f"{query}\t0\t{doc}\t{grade}\n" for query, doc, grade in rows_of(dataset)))


def write_trec(folder: Path, dataset: Dataset) -> None:
    write_msmarco(folder, dataset)
    (folder / "queries.dev.tsv").unlink()
    form = "<top>\n<num> Number: {0}\n<title> {1}\n<desc> Description:\nIt\n</top>\n"
    topics = (form.format(key, one.text) for key, one in dataset.queries.items())
    (folder / "topics.txt").write_text("\n".join(topics))


def write_beir(folder: Path, dataset: Dataset) -> None:
    write_imported(rp.types.Imported(dataset, rp.types.ImportReport("test", "sample", ())), str(folder))


LAYOUTS: dict[str, Callable[[Path, Dataset], None]] = {
    "mteb": write_mteb,
    "msmarco": write_msmarco,
    "beir": write_beir,
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_sample_in_every_layout_is_the_sample(layout: str, tmp_path: Path) -> None:
    dataset = plain_sample()
    LAYOUTS[layout](tmp_path / "there", dataset)
    imported = rp.import_dataset(tmp_path / "there")
    assert imported.report.importer == ("trec" if layout == "msmarco" else layout)
    assert imported.dataset.fingerprint() == dataset.fingerprint()
    assert rp.read_dataset(tmp_path / "there").fingerprint() == dataset.fingerprint()


def test_topics_keep_their_other_fields(tmp_path: Path) -> None:
    dataset = plain_sample()
    write_trec(tmp_path / "there", dataset)
    imported = rp.import_dataset(tmp_path / "there")
    assert {key: one.text for key, one in imported.dataset.queries.items()} == {
        key: one.text for key, one in dataset.queries.items()
    }
    assert {one.fields["desc"] for one in imported.dataset.queries.values()} == {"It"}
    assert imported.dataset.qrels.fingerprint() == dataset.qrels.fingerprint()


def test_only_judged_documents_are_kept_if_asked_for(tmp_path: Path) -> None:
    dataset = plain_sample()
    write_msmarco(tmp_path / "there", dataset)
    with open(tmp_path / "there" / "collection.tsv", "a", encoding="utf-8") as collection:
        collection.write("other\tno query has it\n")
    assert "other" in rp.import_dataset(tmp_path / "there").dataset.corpus
    imported = rp.import_dataset(tmp_path / "there", settings={"corpus": "judged"})
    assert set(imported.dataset.corpus) == {doc for _, doc, _ in rows_of(dataset)}
    dropped = next(part.dropped for part in imported.report.counts if part.part == "documents")
    assert dropped == (rp.types.Dropped("not in the qrels", 1, len(dataset.corpus) + 1),)
    with pytest.raises(UsageError, match=r'corpus is some; write settings={"corpus": "judged"}'):
        rp.import_dataset(tmp_path / "there", settings={"corpus": "some"})


def test_a_split_of_several_is_chosen_by_name(tmp_path: Path) -> None:
    write_msmarco(tmp_path / "there", plain_sample())
    (tmp_path / "there" / "queries.dev.small.tsv").write_text("1\tred pan\n")
    (tmp_path / "there" / "qrels.dev.small.tsv").write_text("1\t0\t7\t1\n")
    with pytest.raises(InputError, match=r"2 files of q\w+; choose one with split=, or specify the files: .*dev\.small \("):
        rp.import_dataset(tmp_path / "there")
    assert list(rp.import_dataset(tmp_path / "there", split="dev.small").dataset.queries) == ["1"]


def test_documents_of_msmarco_have_url_title_and_body(tmp_path: Path) -> None:
    (tmp_path / "msmarco-docs.tsv").write_text("D1\thttps://a.example\tTitle\tBody text\nD2\thttps://b.example\t\t\n")
    (tmp_path / "queries.tsv").write_text("1\tfirst query\n\n2\n3\tthird\n")
    (tmp_path / "qrels.txt").write_text("1 0 D1 1\n1 0 D1 1\n3 0 D2 0\n")
    imported = rp.import_dataset([tmp_path / name for name in ("msmarco-docs.tsv", "queries.tsv", "qrels.txt")])
    document = imported.dataset.corpus["D1"]
    assert (document.title, document.text, document.fields) == ("Title", "Body text", {"url": "https://a.example"})
    shown = str(imported)
    assert "1 without a text (first at line 3)" in shown
    assert "1 exact repeats" in shown
    (tmp_path / "msmarco-docs.tsv").write_text("D1\thttps://a.example\tTitle\tBody text\n" * 30 + "D2\ttwo\tthree\n")
    with pytest.raises(InputError, match=r"msmarco-docs\.tsv:31: 3 columns where documents have 2"):
        rp.import_dataset([tmp_path / name for name in ("msmarco-docs.tsv", "queries.tsv", "qrels.txt")])


CLASSIC = """\
<top>
<head> Tipster Topic Description
<num> Number:  051
<dom> Domain:  International Economics
<title> Topic:  Airbus &amp; Subsidies
<desc> Description:
Document will discuss
government assistance.
<narr> Narrative: A relevant document
</top>
<top>
<num> Number: 052
<desc> Description: no title
</top>
"""
XML = """\
<?xml version="1.0"?>
<topics task="COVID">
  <topic number="1">
    <query>coronavirus origin</query>
    <question>what is the origin</question>
    <narrative>seeking range & origin</narrative>
  </topic>
  <topic number="2">a patient with fever</topic>
</topics>
"""


def test_classic_topics_are_read_with_the_ids_of_their_qrels(tmp_path: Path) -> None:
    (tmp_path / "topics.51-100").write_text(CLASSIC)
    (tmp_path / "qrels.51-100").write_text("51 0 AP1 1\n52 0 AP2 0\n")
    imported = rp.import_dataset([tmp_path / "topics.51-100", tmp_path / "qrels.51-100"])
    assert {key: one.text for key, one in imported.dataset.queries.items()} == {"51": "Airbus & Subsidies"}
    assert imported.dataset.queries["51"].fields["desc"] == "Document will discuss government assistance."
    assert not imported.dataset.has_documents
    assert "1 without title (first at line 11)" in str(imported)
    both = rp.import_dataset(tmp_path / "topics.51-100", settings={"fields": "title,desc"})
    assert both.dataset.queries["052"].text == "no title"
    assert both.dataset.queries["051"].text.startswith("Airbus & Subsidies Document will")
    with pytest.raises(InputError, match="no topic has summary; fields: head, dom, title, desc, narr; choose with settings="):
        rp.import_dataset(tmp_path / "topics.51-100", settings={"fields": "summary"})


def test_topics_in_xml_have_their_number_as_an_attribute(tmp_path: Path) -> None:
    (tmp_path / "topics.xml").write_text(XML)
    imported = rp.import_dataset(tmp_path / "topics.xml")
    assert {key: one.text for key, one in imported.dataset.queries.items()} == {
        "1": "coronavirus origin",
        "2": "a patient with fever",
    }
    assert imported.dataset.queries["1"].fields == {"desc": "what is the origin", "narr": "seeking range & origin"}
    (tmp_path / "topics.xml").write_text("<top>\n<title> no number\n</top>\n")
    with pytest.raises(InputError, match=r"topics\.xml:1: the topic has no number; write <num> 301"):
        rp.import_dataset(tmp_path / "topics.xml")


def test_a_subset_of_mteb_is_chosen_by_name(tmp_path: Path) -> None:
    dataset = plain_sample()
    for subset in ("en", "de"):
        write_mteb(tmp_path, dataset, f"{subset}-", "qrels")
    with pytest.raises(InputError, match=r'2 subsets; choose one of de, en with settings={"subset": "NAME"}'):
        rp.import_dataset(tmp_path)
    imported = rp.import_dataset(tmp_path, settings={"subset": "de"})
    assert imported.dataset.fingerprint() == dataset.fingerprint()
    with pytest.raises(InputError, match="no qrels of split dev; splits: test; choose one with split="):
        rp.import_dataset(tmp_path, settings={"subset": "de"}, split="dev")


def test_mteb_in_jsonl_with_judgements_in_default_is_judged(tmp_path: Path) -> None:
    (tmp_path / "default").mkdir()
    (tmp_path / "corpus.jsonl").write_text(json.dumps({"_id": "d1", "title": "", "text": "red pan"}) + "\n")
    (tmp_path / "queries.jsonl").write_text(json.dumps({"_id": "q1", "text": "pan"}) + "\n")
    (tmp_path / "default" / "test.jsonl").write_text(json.dumps({"query-id": "q1", "corpus-id": "d1", "score": 2}) + "\n")
    assert rp.read_dataset(tmp_path).qrels == {"q1": {"d1": 2}}


EXAMPLES: dict[str, list[Any]] = {
    "query_id": [1, 1, 1, 2, 3],
    "query": ["red shoes", "red shoes", "red shoes", "wool hat", "chapeau"],
    "product_id": ["P1", "P2", "P9", "P2", "P1"],
    "product_locale": ["us", "us", "us", "us", "es"],
    "esci_label": ["E", "Substitute", "I", "C", "E"],
    "small_version": [1, 1, 1, 0, 1],
    "split": ["test", "test", "test", "test", "test"],
}
PRODUCTS: dict[str, list[Any]] = {
    "product_id": ["P1", "P2", "P3", "P1"],
    "product_title": ["Red shoe", "Blue hat", "Green", "Zapato"],
    "product_description": ["a shoe", None, "x", "rojo"],
    "product_bullet_point": ["red", "warm", None, None],
    "product_brand": ["Acme", None, None, None],
    "product_locale": ["us", "us", "us", "es"],
}


@pytest.fixture
def esci(tmp_path: Path) -> Path:
    write_table(tmp_path / "esci" / "examples.parquet", EXAMPLES)
    write_table(tmp_path / "esci" / "products.parquet", PRODUCTS)
    return tmp_path / "esci"


def test_esci_joins_examples_and_products_of_one_locale(esci: Path) -> None:
    with pytest.raises(InputError, match=r"of several locales: us \(4\), es \(1\); choose one, as in settings="):
        rp.import_dataset(esci)
    imported = rp.import_dataset(esci, settings={"locale": "us"})
    assert imported.report.importer == "esci"
    assert imported.dataset.qrels == {"1": {"P1": 100, "P2": 10, "P9": 0}, "2": {"P2": 1}}
    assert {key: (one.title, one.text) for key, one in imported.dataset.corpus.items()} == {
        "P1": ("Red shoe", "a shoe\nred"),
        "P2": ("Blue hat", "warm"),
        "P3": ("Green", "x"),
    }
    assert imported.dataset.corpus["P1"].fields == {"product_brand": "Acme"}
    shown = str(imported)
    assert "1 of locale es (first at line 5)" in shown
    assert "1 without a title or text (first at line 3)" in shown


def test_esci_has_a_small_version_a_split_and_a_judged_corpus(esci: Path, capsys: pytest.CaptureFixture[str]) -> None:
    imported = rp.import_dataset(esci, settings={"locale": "us", "small-version": "yes", "corpus": "judged"})
    assert set(imported.dataset.queries) == {"1"}
    assert set(imported.dataset.corpus) == {"P1", "P2"}
    with pytest.raises(InputError, match="no example of split train and locale us"):
        rp.import_dataset(esci, settings={"locale": "us"}, split="train")
    with pytest.raises(UsageError, match="small-version is maybe"):
        rp.import_dataset(esci, settings={"locale": "us", "small-version": "maybe"})
    assert main(["import", str(esci), "--set", "locale=us", "--grade-map", "E=3,S=2,C=1,I=0"]) == 0
    assert "gains of the ESCI paper" not in capsys.readouterr().err


def test_esci_in_one_table_needs_no_products(tmp_path: Path) -> None:
    joined = {**EXAMPLES, "product_title": ["Red shoe", "Blue hat", "Old", "Blue hat", "Zapato"]}
    write_table(tmp_path / "joined.parquet", joined)
    imported = rp.import_dataset(tmp_path / "joined.parquet", settings={"locale": "us"})
    assert {one.title for one in imported.dataset.corpus.values()} == {"Red shoe", "Blue hat", "Old"}
    write_table(tmp_path / "alone.parquet", EXAMPLES)
    with pytest.raises(InputError, match="no table of products; add a file with the columns product_id, product_locale"):
        rp.import_dataset(tmp_path / "alone.parquet", settings={"locale": "us"})


def test_ir_datasets_are_imported_with_their_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import ir_datasets

    row = SimpleNamespace
    fake = SimpleNamespace(
        **{f"has_{part}": lambda: True for part in ("docs", "queries", "qrels")},
        docs_iter=lambda: iter([row(doc_id="d1", text="red pan", _asdict=lambda: {"doc_id": "d1", "text": "red pan"})]),
        queries_iter=lambda: iter([row(query_id="q1", text="pan", _asdict=lambda: {"query_id": "q1", "text": "pan"})]),
        qrels_iter=lambda: iter([row(query_id="q1", doc_id="d1", relevance=1)]),
    )
    monkeypatch.setattr(ir_datasets, "load", lambda name: fake)
    imported = rp.import_dataset("irds:tiny", tmp_path / "tiny")
    assert imported.report.notes == (f"read by ir_datasets {ir_datasets.__version__}",)
    assert rp.read_dataset(tmp_path / "tiny").fingerprint() == imported.dataset.fingerprint()


@pytest.mark.parametrize("value", ["True", "1", "1.0"])
def test_the_small_version_of_esci_in_csv_is_a_number_or_a_boolean(tmp_path: Path, value: str) -> None:
    head = "query_id,query,product_id,product_locale,product_title,esci_label,small_version\n"
    (tmp_path / "e.csv").write_text(f"{head}1,hat,P1,us,Hat,E,{value}\n2,cap,P2,us,Cap,E,0\n")
    imported = rp.import_dataset(tmp_path / "e.csv", settings={"small-version": "yes"})
    assert list(imported.dataset.queries) == ["1"]


def test_a_query_of_mteb_without_a_text_is_counted(tmp_path: Path) -> None:
    write_table(tmp_path / "corpus" / "corpus.parquet", {"_id": ["a"], "title": [""], "text": ["x"]})
    write_table(tmp_path / "queries" / "queries.parquet", {"_id": ["1", "2"], "text": ["x", None]})
    write_table(tmp_path / "qrels" / "test.parquet", {"query-id": ["1", "2"], "corpus-id": ["a", "a"], "score": [1, 1]})
    imported = rp.import_dataset(tmp_path)
    assert "1 without a text (first at line 2)" in str(imported)
    assert imported.report.notes == ("1 judged query without a text, such as 2",)


@pytest.mark.parametrize("name", ["mteb", "autorag"])
def test_a_table_of_another_kind_is_refused_where_the_importer_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "t.csv").write_text("query,text,label\na,b,1\n")
    with pytest.raises(InputError, match=r"t\.csv: no (files of corpus|table of questions)"):
        rp.import_dataset(tmp_path / "t.csv", importer=name)


def test_candidates_of_msmarco_are_no_documents_and_files_that_are_not_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "queries.dev.tsv").write_text("1\tfirst query\n")
    (tmp_path / "qrels.dev.tsv").write_text("1\t0\t7\t1\n9\t0\t7\t1\n")
    (tmp_path / "top1000.dev").write_text("1\t7\tfirst query\tthe passage\n")
    imported = rp.import_dataset(tmp_path)
    assert not imported.dataset.has_documents
    assert imported.report.notes == ("not read: top1000.dev", "1 judged query without a text, such as 9")


def test_qrels_whose_first_line_has_a_cell_twice_are_no_table_and_two_grades_are_counted(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("queries.tsv", "qrels.tsv")]
    paths[0].write_text("1\tcats\n2\tdogs\n")
    paths[1].write_text("1\t0\ta\t1\n1\t0\ta\t2\n2\t0\tb\t1\n")
    imported = rp.import_dataset(paths, on_conflict="max")
    assert imported.dataset.qrels == {"1": {"a": 2}, "2": {"b": 1}}
    (count,) = (one for one in imported.report.counts if one.part == "judgements")
    assert (count.read, count.kept) == (3, 2)
    assert set(rp.import_dataset(paths[0]).dataset.queries) == {"1", "2"}
    (tmp_path / "table.csv").write_text("query,query\ncats,dogs\n")
    with pytest.raises(InputError, match=r"table\.csv:1: column query occurs twice"):
        rp.import_dataset([paths[0].rename(tmp_path / "lines.tsv"), tmp_path / "table.csv"])


def test_a_topic_that_is_not_closed_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "topics.txt").write_text("<top>\n<num> 1\n<title> cats\n</top>\n<top>\n<num> 2\n<title> dogs\n")
    with pytest.raises(InputError, match=r"topics\.txt:5: the topic is not closed; write </top>"):
        rp.import_dataset(tmp_path / "topics.txt")
