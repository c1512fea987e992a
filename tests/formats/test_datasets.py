"""Datasets in folders and of ir_datasets, and their conversion."""

from __future__ import annotations

import gzip
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rankproof._api.datasets import convert
from rankproof._formats.read import read_qrels
from rankproof._importers.registry import read_dataset, read_documents
from rankproof.errors import ExternalError, InputError, MissingExtraError, UsageError
from support.shared_data import collection

CORPUS: list[dict[str, Any]] = [
    {"_id": "d1", "title": "T", "text": "one", "url": "http://x"},
    {"_id": 2, "title": None, "text": ""},
]
QUERIES: list[dict[str, Any]] = [{"_id": "q1", "text": "what", "category": "short", "answers": ["a", "b"]}]


def lines(records: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def make_folder(folder: Path, qrels: str = "qrels/test.tsv") -> Path:
    (folder / "qrels").mkdir(parents=True)
    (folder / "corpus.jsonl.gz").write_bytes(gzip.compress(lines(CORPUS)))
    (folder / "queries.jsonl").write_bytes(lines(QUERIES))
    text = (
        '{"query_id": "q1", "doc_id": "d1", "rel": 1}\n' if qrels.endswith("jsonl") else "query-id\tcorpus-id\tscore\nq1\td1\t1\n"
    )
    (folder / qrels).write_text(text)
    return folder


@pytest.mark.parametrize("qrels", ["qrels/test.tsv", "qrels.tsv", "qrels.jsonl"])
def test_all_parts_of_a_folder_are_read(qrels: str, tmp_path: Path) -> None:
    dataset = read_dataset(make_folder(tmp_path / "nice", qrels))
    assert dataset.name == "nice"
    assert [(doc.id, doc.title, doc.text, dict(doc.fields)) for doc in dataset.corpus.values()] == [
        ("d1", "T", "one", {"url": "http://x"}),
        ("2", "", "", {}),
    ]
    assert dict(dataset.queries["q1"].fields) == {"category": "short", "answers": ["a", "b"]}
    assert dict(dataset.qrels["q1"]) == {"d1": 1}


@pytest.mark.parametrize(
    "files", [["corpus.jsonl"], ["corpus-1.jsonl", "corpus-2.jsonl"], ["corpus-a.jsonl.gz", "corpus-b.jsonl.gz"]]
)
def test_the_documents_of_a_folder_may_be_in_parts(files: list[str], tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "set")
    whole = read_dataset(folder)
    (folder / "corpus.jsonl.gz").unlink()
    size = len(CORPUS) // len(files)
    for at, name in enumerate(files):
        part = lines(CORPUS[at * size : (at + 1) * size])
        (folder / name).write_bytes(gzip.compress(part) if name.endswith(".gz") else part)
    parts = read_dataset(folder)
    assert list(parts.corpus.values()) == list(whole.corpus.values())
    assert parts.fingerprint() == whole.fingerprint()
    assert list(read_documents(folder / "corpus*").values()) == list(whole.corpus.values())


def test_the_documents_of_a_folder_may_be_a_table(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "set")
    (folder / "corpus.jsonl.gz").unlink()
    (folder / "corpus.csv").write_text("_id,title,text,url\nd1,T,one,http://x\n2,,,\n")
    assert [(doc.id, doc.title, doc.text, dict(doc.fields)) for doc in read_dataset(folder).corpus.values()] == [
        ("d1", "T", "one", {"url": "http://x"}),
        ("2", "", "", {}),
    ]


@pytest.mark.parametrize(
    ("content", "what", "fix"),
    [
        (b'{"_id": "d1", "text": "caf\xe9"}\n', "byte 0xe9 at column 27 is not UTF-8", "save it as UTF-8"),
        ('{"_id": "d1", "text": ""}\n'.encode("utf-16"), "the file is UTF-16", "save it as UTF-8"),
        (b'{"_id": "d\\u0000", "text": ""}\n', "contains a NUL byte", "fix the program that wrote it"),
    ],
)
@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl"])
def test_the_fix_for_texts_in_another_encoding_names_no_option(
    tmp_path: Path, name: str, content: bytes, what: str, fix: str
) -> None:
    folder = make_folder(tmp_path / "set")
    (folder / "corpus.jsonl.gz").unlink()
    (folder / "corpus.jsonl").write_bytes(lines(CORPUS))
    (folder / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_dataset(folder)
    assert what in caught.value.what
    assert (caught.value.source, caught.value.fix) == (str(folder / name), fix)


def test_a_folder_serves_as_qrels(tmp_path: Path) -> None:
    assert dict(read_qrels(make_folder(tmp_path / "set"))["q1"]) == {"d1": 1}


def test_another_split_is_chosen_by_name(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "set")
    (folder / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td2\t3\n")
    assert dict(read_dataset(folder, split="dev").qrels["q1"]) == {"d2": 3}


def test_a_fingerprint_ignores_the_order_of_lines_and_sees_every_change(tmp_path: Path) -> None:
    first = make_folder(tmp_path / "a")
    second = make_folder(tmp_path / "b")
    (second / "corpus.jsonl.gz").write_bytes(lines(CORPUS[::-1]))
    assert read_dataset(first).fingerprint() == read_dataset(second).fingerprint()
    prints = {read_dataset(first).fingerprint()}
    for name, content in (
        ("corpus.jsonl.gz", lines([{**CORPUS[0], "text": "two"}, CORPUS[1]])),
        ("queries.jsonl", lines([{**QUERIES[0], "category": "long"}])),
        ("qrels/test.tsv", b"query-id\tcorpus-id\tscore\nq1\td1\t2\n"),
    ):
        (second / name).write_bytes(content)
        prints.add(read_dataset(second).fingerprint())
    assert len(prints) == 4


def test_judged_documents_and_queries_missing_from_the_folder_are_listed(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "set")
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td9\t1\nq7\td1\t1\n")
    dataset = read_dataset(folder)
    assert (dataset.missing_documents(), dataset.missing_queries()) == (("d9",), ("q7",))


BAD = {
    "no queries": ("queries.jsonl", None, "the folder has no queries; add queries.test.jsonl"),
    "an id twice": ("queries.jsonl", lines(QUERIES * 2), r"queries\.jsonl:2: query q1 occurs twice \(first at line 1\)"),
    "no id": ("queries.jsonl", lines([{"text": "x"}]), r"queries\.jsonl:1: no id field; found text; add it as _id"),
    "no text": ("corpus.jsonl.gz", lines([{"_id": "d1"}]), r"corpus\.jsonl\.gz:1: no text field; found _id"),
    "text that is none": (
        "queries.jsonl",
        lines([{"_id": "q1", "text": 3}]),
        r"queries\.jsonl:1: the text of q1 is a number, not text",
    ),
    "a lone surrogate": (
        "queries.jsonl",
        b'{"_id": "q1", "text": "\\ud800"}',
        r"queries\.jsonl:1: the text of q1 contains a lone surrogate",
    ),
    "a list": ("queries.jsonl", b"[1]\n[2]\n", r"queries\.jsonl:1: a list where an object was expected"),
    "nothing": ("queries.jsonl", b"\n\n", r"queries\.jsonl: no rows"),
    "no common query": ("qrels/test.tsv", b"query-id\tcorpus-id\tscore\nq9\td1\t1\n", r"no judged query is among the queries"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_broken_folder_is_rejected_with_line_and_fix(case: str, tmp_path: Path) -> None:
    name, content, words = BAD[case]
    folder = make_folder(tmp_path / "set")
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    with pytest.raises(InputError, match=words):
        read_dataset(folder)


def test_a_folder_needs_only_queries(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "set")
    (folder / "qrels" / "test.tsv").unlink()
    unjudged = read_dataset(folder)
    assert (unjudged.is_judged, unjudged.has_documents, len(unjudged.queries)) == (False, True, 1)
    with pytest.raises(InputError, match=r"queries\.jsonl: the dataset has no judgements; add qrels/test\.tsv, or run"):
        unjudged.require("documents", "judgements")
    (folder / "corpus.jsonl.gz").unlink()
    bare = read_dataset(folder)
    assert (bare.is_judged, bare.has_documents) == (False, False)
    with pytest.raises(InputError, match=r"queries\.jsonl: the dataset has no documents; add corpus\.jsonl"):
        bare.require("documents")


def test_judgements_without_documents_are_read(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "set")
    (folder / "corpus.jsonl.gz").unlink()
    dataset = read_dataset(folder).require("judgements")
    assert (dataset.has_documents, dataset.missing_documents()) == (False, ())


@pytest.mark.parametrize("other", ["qrels/dev.tsv", "qrels.dev.tsv"])
def test_a_folder_with_judgements_of_another_split_only_is_refused(other: str, tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "set")
    (folder / "qrels" / "test.tsv").rename(folder / other)
    with pytest.raises(InputError, match=r"the folder has no qrels; add qrels/test\.tsv"):
        read_dataset(folder)


def test_a_dataset_without_documents_and_judgements_is_converted_without_them(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "set")
    (folder / "qrels" / "test.tsv").unlink()
    (folder / "corpus.jsonl.gz").unlink()
    convert(folder, tmp_path / "copy")
    assert [path.name for path in (tmp_path / "copy").iterdir()] == ["queries.jsonl"]


def test_the_sample_is_converted_to_a_folder(tmp_path: Path) -> None:
    convert("sample", tmp_path / "copy")
    assert read_dataset(tmp_path / "copy").fingerprint() == read_dataset("sample").fingerprint()


def test_a_file_or_missing_path_is_not_a_dataset(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("x")
    with pytest.raises(InputError, match="x:1: no column for the text of the query; columns: x; import it first"):
        read_dataset(tmp_path / "x")
    with pytest.raises(InputError, match="file not found"):
        read_dataset(tmp_path / "y")


def test_real_collections_are_read_as_they_count_themselves() -> None:
    for name in ("cosqa", "cranfield", "scifact", "xquad-en"):
        folder = collection(name)
        stats = json.loads((folder / "stats.json").read_text(encoding="utf-8"))
        dataset = read_dataset(folder)
        assert (len(dataset.corpus), len(dataset.queries)) == (stats["docs"], stats["queries"]), name
        assert sum(map(len, dataset.qrels.values())) == stats["judgements"], name
        assert len(dataset.missing_documents()) == stats["qrels_missing_doc"], name


def test_a_dataset_is_converted_to_a_beir_folder_and_is_the_same(tmp_path: Path) -> None:
    source = make_folder(tmp_path / "a", "qrels.jsonl")
    done = convert(source, tmp_path / "b")
    assert (done.kind, done.format, done.queries, done.rows) == ("dataset", "beir", 1, 2)
    assert read_dataset(tmp_path / "b").fingerprint() == read_dataset(source).fingerprint()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
    with pytest.raises(UsageError, match="exists"):
        convert(source, tmp_path / "b")


def test_a_folder_converts_to_its_qrels_if_the_target_is_a_file(tmp_path: Path) -> None:
    assert convert(make_folder(tmp_path / "a"), tmp_path / "q.qrels").kind == "qrels"
    assert (tmp_path / "q.qrels").read_text() == "q1 0 d1 1\n"


def test_a_run_is_not_in_a_dataset(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no run"):
        convert(make_folder(tmp_path / "a"), tmp_path / "r.run", kind="run")


def test_numbers_alone_do_not_distinguish_a_run_from_qrels(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"q1": {"d1": 1}}')
    with pytest.raises(InputError, match=r"x\.json: cannot tell whether this is a run or qrels; pass kind="):
        convert(tmp_path / "x.json", tmp_path / "y.csv")
    assert convert(tmp_path / "x.json", tmp_path / "y.csv", kind="qrels").rows == 1
    assert (tmp_path / "y.csv").read_text() == "query_id,doc_id,relevance\nq1,d1,1\n"


def test_letters_are_mapped_while_converting(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("query_id,product_id,esci_label\n1,B0,E\n1,B1,I\n")
    convert(tmp_path / "x.csv", tmp_path / "y.qrels", grade_map={"E": 3, "I": 0})
    assert (tmp_path / "y.qrels").read_text() == "1 0 B0 3\n1 0 B1 0\n"


def test_queries_without_documents_that_a_format_loses_are_counted(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"q1": {"d1": 1.5}, "q2": {}}')
    assert convert(tmp_path / "x.json", tmp_path / "y.run").lost_queries == 1
    assert convert(tmp_path / "x.json", tmp_path / "z.json").lost_queries == 0


def test_a_dataset_of_ir_datasets_is_read(tmp_path: Path) -> None:
    ir_datasets = pytest.importorskip("ir_datasets")
    (tmp_path / "docs.tsv").write_text("d1\tone\nd2\ttwo\n")
    (tmp_path / "queries.tsv").write_text("q1\twhat\n")
    (tmp_path / "qrels").write_text("q1 0 d1 2\n")
    made = ir_datasets.create_dataset(
        docs_tsv=str(tmp_path / "docs.tsv"), queries_tsv=str(tmp_path / "queries.tsv"), qrels_trec=str(tmp_path / "qrels")
    )
    ir_datasets.registry.register("rankproof-made", made)
    dataset = read_dataset("irds:rankproof-made")
    assert [doc.text for doc in dataset.corpus.values()] == ["one", "two"]
    assert dataset.queries["q1"].text == "what"
    assert dict(read_qrels("irds:rankproof-made")["q1"]) == {"d1": 2}


def fake_library(monkeypatch: pytest.MonkeyPatch, **parts: object) -> None:
    def load(name: str) -> object:
        if name != "known":
            raise KeyError(name)
        return SimpleNamespace(has_docs=lambda: False, has_queries=lambda: False, has_qrels=lambda: True, **parts)

    monkeypatch.setitem(sys.modules, "ir_datasets", SimpleNamespace(load=load))


def offline() -> None:
    raise ConnectionError("HTTPSConnectionPool: max retries exceeded\nmore")


def test_ir_datasets_offline_is_an_external_error_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_library(monkeypatch, qrels_iter=offline)
    with pytest.raises(
        ExternalError, match=r"irds:known: .* could not download it \(HTTPSConnectionPool: max retries exceeded\); check"
    ):
        read_qrels("irds:known")


def test_an_unknown_name_and_a_missing_part_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_library(monkeypatch)
    with pytest.raises(InputError, match="ir_datasets has no dataset nothing"):
        read_qrels("irds:nothing")
    with pytest.raises(InputError, match="known of ir_datasets has no queries"):
        read_dataset("irds:known")


def test_without_ir_datasets_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'rankproof\[datasets\]'"):
        read_qrels("irds:vaswani")


def test_a_missing_split_is_never_replaced_by_another(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "set")
    with pytest.raises(InputError, match="qrels"):
        read_dataset(folder, split="train")


def test_a_split_has_its_own_queries_if_they_are_in_their_own_file(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "set")
    (folder / "queries.train.jsonl").write_text('{"_id": "t1", "text": "a training query"}\n')
    (folder / "qrels.train.tsv").write_text("query-id\tcorpus-id\tscore\nt1\td1\t1\n")
    dataset = read_dataset(folder, split="train")
    assert list(dataset.queries) == ["t1"]
    assert dict(dataset.qrels["t1"]) == {"d1": 1}


@pytest.mark.parametrize("more", ["corpus-1.jsonl", "corpus-2.jsonl.zst", "corpus-b.parquet", "corpus.csv", "corpus.jsonl"])
def test_documents_in_two_collections_are_refused(more: str, tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "set")
    (folder / more).write_bytes(lines(CORPUS))
    first, second = sorted(["corpus.jsonl.gz", more])
    with pytest.raises(InputError, match=rf"{first}: the folder also has {second}; move one of them"):
        read_dataset(folder)


@pytest.mark.skipif(os.name == "nt", reason="needs named pipes")
@pytest.mark.parametrize("name", ["corpus.jsonl", "corpus-1.jsonl", "queries.jsonl", "qrels/test.tsv"])
def test_a_named_pipe_in_a_dataset_folder_is_refused_and_a_link_is_followed(name: str, tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "set")
    (folder / "corpus.jsonl.gz").rename(tmp_path / "elsewhere.gz")
    (folder / "corpus.jsonl.gz").symlink_to(tmp_path / "elsewhere.gz")
    assert len(read_dataset(folder).corpus) == len(CORPUS)
    (folder / "corpus.jsonl.gz").unlink()
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    with pytest.raises(InputError, match=f"{Path(name).name}: is a named pipe, not a file"):
        read_dataset(folder)
