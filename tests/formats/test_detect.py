"""Detection of formats by content, and names of runs by file."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from rankproof._formats.detect import detect, open_file
from rankproof._formats.registry import system_name
from rankproof._io.streams import ByteSource
from rankproof.errors import InputError, UsageError

CONTENT: dict[str, tuple[str, bytes]] = {
    "trec run": ("trec", b"q1 Q0 d1 1 2.0 t\n"),
    "trec qrels between tabs": ("trec", b"q1\t0\td1\t1\n"),
    "trec after comments": ("trec", b"# query_id,doc_id,score\n\nq1 0 d1 1\n"),
    "trec with commas in ids": ("trec", b"a,b Q0 c,d 1 2.0 t\n"),
    "trec with braces in ids": ("trec", b"{q1} Q0 d1 1 2.0 t\n"),
    "blank": ("trec", b"\n \n"),
    "csv": ("csv", b"query_id,doc_id,score\n"),
    "csv with other names": ("csv", b"Topic,DocNo,Similarity,extra\n"),
    "csv with semicolons": ("csv", b"query_id;doc_id;score\n"),
    "csv without a header": ("csv", b"q1,d1,2.0\n"),
    "tsv of beir": ("tsv", b"query-id\tcorpus-id\tscore\n"),
    "tsv with quotes": ("tsv", b'"qid"\t"docid"\t"rel"\n'),
    "json": ("json", b'{"q1": {"d1": 1}}'),
    "json over lines": ("json", b'{\n "q1": {\n  "d1": 1}}'),
    "json with a mark": ("json", b'\xef\xbb\xbf {"q1": {}}'),
    "json array": ("json", b'[{"qid": "1"}]'),
    "json whose queries are called like columns": ("json", b'{"query": {"doc": 1}, "doc": {"d1": 2}}'),
    "jsonl": ("jsonl", b'{"qid": "1"}\n{"qid": "2"}\n'),
    "jsonl of one row": ("jsonl", b'{"query_id": "1", "doc_id": "2", "score": 1}\n'),
    "jsonl with a bad second line": ("jsonl", b'{"query_id": "1"}\n{"query_'),
    "parquet": ("parquet", b"PAR1\x15\x04"),
}


@pytest.mark.parametrize("case", CONTENT)
def test_a_format_is_detected_by_content(case: str) -> None:
    name, data = CONTENT[case]
    assert detect(ByteSource("file", lambda: io.BytesIO(data))) == name


def test_a_suffix_decides_only_where_the_content_allows_several() -> None:
    for data, expected in ((b"a,b\n", "csv"), (b"q1 0 d1 1\n", "trec"), (b'{"q": 1}', "json")):
        assert detect(ByteSource("file.csv", lambda data=data: io.BytesIO(data))) == expected  # type: ignore[misc]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("bm25.run", "bm25"),
        ("runs/bm25.txt.gz", "bm25"),
        ("/a/b/dense.v1.2.trec.zst", "dense.v1.2"),
        ("x.jsonl", "x"),
        ("x.tar.gz", "x.tar"),
        ("X.RUN.GZ", "X"),
        (".run", ".run"),
        ("run", "run"),
        ("-", "stdin"),
        ("/dev/fd/63", "63"),
    ],
)
def test_a_run_is_named_after_its_file(path: str, name: str) -> None:
    assert system_name(path) == name


def test_a_delimiter_for_the_run_does_not_affect_qrels(tmp_path: Path) -> None:
    (tmp_path / "q.json").write_text('{"q1": {"d1": 1}}')
    (tmp_path / "q.tsv").write_text("qid\tdocid\trel\nq1\td1\t1\n")
    (tmp_path / "r.csv").write_text("qid;docid;score\nq1;d1;2.5\n")
    found = [open_file(tmp_path / name, delimiter=";") for name in ("q.json", "q.tsv", "r.csv")]
    assert [(file.format, file.delimiter) for file in found] == [("json", None), ("tsv", None), ("csv", ";")]
    assert found[2].run().scores.tolist() == [2.5]
    assert dict(found[1].qrels()["q1"]) == {"d1": 1}


@pytest.mark.parametrize("delimiter", ["", "ab", "a", "1", '"', "\n", "#"])
def test_an_invalid_delimiter_is_rejected(delimiter: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be a delimiter"):
        open_file(tmp_path / "r.csv", delimiter=delimiter)


def test_a_tab_may_be_written_in_letters(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("qid\tdocid\tscore\nq1\td1\t2.5\n")
    assert open_file(tmp_path / "r.csv", format="csv", delimiter="\\t").run().docs == ("d1",)


def test_an_unknown_format_is_rejected_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no format is called xml; choose one of trec, beir, csv, tsv, json, jsonl, parquet"):
        open_file(tmp_path / "r", format="xml")


@pytest.mark.parametrize(("text", "query"), [("q1 d1 2\nq1 d2 0\n", "q1"), ("q 1\td 1\t2\nq 1\td2\t0\n", "q 1")])
def test_three_columns_without_a_header_are_beir_only_by_name(text: str, query: str, tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text(text)
    with pytest.raises(InputError, match="columns where qrels have 4"):
        open_file(tmp_path / "q.txt").qrels()
    assert list(open_file(tmp_path / "q.txt", format="beir").qrels()[query].values()) == [2, 0]


def test_beir_by_name_still_reads_its_header(tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    assert dict(open_file(tmp_path / "q.tsv", format="beir").qrels()["q1"]) == {"d1": 1}
    assert open_file(tmp_path / "q.tsv", format="beir").run().scores.tolist() == [1.0]


def test_beir_without_a_header_rejects_other_numbers_of_columns(tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_text("q1\td1\t1\nq1\td1\n")
    with pytest.raises(InputError, match=r"q\.tsv:2: 2 columns where BEIR rows have 3"):
        open_file(tmp_path / "q.tsv", format="beir").qrels()
