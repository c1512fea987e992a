"""Malformed and unusual files, each with the error message that it must give."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from typing import Any

import pytest
import zstandard

GOOD_QRELS = b"q1 0 d1 1\nq1 0 d2 0\n"
GOOD_RUN = b"q1 Q0 d1 1 2.0 t\nq1 Q0 d2 2 1.0 t\n"


def rows(*, cut: int | None = None, **columns: Any) -> Callable[[], bytes]:
    """A Parquet file of these columns, made when it is asked for; `cut` leaves out its end."""

    def made() -> bytes:
        pa = pytest.importorskip("pyarrow")
        sink = pa.BufferOutputStream()
        pytest.importorskip("pyarrow.parquet").write_table(pa.table(columns), sink)
        return bytes(sink.getvalue().to_pybytes()[:cut])

    return made


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


def zstd_long(data: bytes) -> bytes:
    """A frame that says, as one of `zstd --long=30` does, that its reader must keep a gibibyte."""
    frame = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    packed = bytearray(frame.compress(data) + frame.flush())
    packed[5] = (30 - 10) << 3
    return bytes(packed)


def score(token: str) -> bytes:
    return f"q1 Q0 d1 1 {token} t\n".encode()


def grade(token: str) -> bytes:
    return f"q1 0 d1 {token}\n".encode()


BAD_RUNS: dict[str, tuple[str, bytes | Callable[[], bytes], str]] = {
    "a nul byte in an id": ("r.txt", b"q1 Q0 d1 1 2 t\nq\x00 Q0 d2 2 1 t\n", r"r\.txt:2: query id q\\x00 contains a NUL byte; "),
    "a nul byte in an id in csv": (
        "r.csv",
        b"qid,docid,score\nq1,d\x00,2\n",
        r"r\.csv:2: document id d\\x00 contains a NUL byte",
    ),
    "a nul byte in an id in parquet": (
        "r.parquet",
        rows(qid=["q1", "q1"], docid=["d1", "d\x00"], score=[1.0, 2.0]),
        r"r\.parquet:2: document id d\\x00 contains a NUL byte",
    ),
    "bom in the middle": ("r.txt", b"q1 Q0 d1 1 2.0 t\n\xef\xbb\xbfq1 Q0 d2 2 x t\n", r'r\.txt:2: score "x"'),
    "a lone bom": ("r.txt", b"\xef\xbb\xbf", r"r\.txt: no rows"),
    "nul bytes instead of a score": ("r.txt", b"q1 Q0 d1 1 \x00\x00 t\n", r'r\.txt:1: score "\\x00\\x00" is not a decimal'),
    "nothing but nul bytes": ("r.txt", b"\x00" * 3000, r"r\.txt:1: 1 columns where a run has 6"),
    "an empty file called gz": ("r.txt.gz", b"", r"r\.txt\.gz: the file is empty"),
    "gzip of nothing": ("r.txt.gz", gzip.compress(b""), r"r\.txt\.gz: the file is empty"),
    "zstd of nothing": ("r.zst", zstd(b""), r"r\.zst: the file is empty"),
    "gzip header alone": ("r.gz", b"\x1f\x8b", r"r\.gz: the gzip stream ends early, after 0 lines"),
    "truncated gzip": ("r.gz", gzip.compress(GOOD_RUN)[:-5], r"r\.gz: the gzip stream ends early, after 2 lines"),
    "truncated zstd": ("r.zst", zstd(GOOD_RUN * 9)[:-3], r"r\.zst: the zstd stream ends early, after \d+ lines"),
    "corrupt gzip": ("r.gz", gzip.compress(GOOD_RUN)[:10] + b"\xff" * 40, r"r\.gz: the gzip data is corrupt after \d+ lines"),
    "gzip with a wrong checksum": (
        "r.gz",
        gzip.compress(GOOD_RUN)[:-8] + b"\0" * 8,
        r"r\.gz: the gzip data is corrupt after \d+ lines \(incorrect data check\)",
    ),
    "corrupt zstd": ("r.zst", zstd(GOOD_RUN)[:8] + b"\xff" * 40, r"r\.zst: the zstd data is corrupt"),
    "zstd with a window of a gibibyte": (
        "r.zst",
        zstd_long(GOOD_RUN),
        r"r\.zst: the zstd data needs a window of more than 128 MiB; decompress it with zstd -d --long=31",
    ),
    "garbage after gzip": ("r.gz", gzip.compress(GOOD_RUN) + b"garbage", r"r\.gz: the file has other bytes after the gzip data"),
    "garbage after zstd": ("r.zst", zstd(GOOD_RUN) + b"garbage", r"r\.zst: the file has other bytes after the zstd data"),
    "a second gzip member cut": (
        "r.gz",
        gzip.compress(GOOD_RUN) + gzip.compress(b"q2 Q0 d1 1 1.0 t\n")[:-9],
        r"r\.gz: the gzip stream ends early, after \d lines",
    ),
    "csv with only a header": ("r.csv", b"query_id,doc_id,score\n", r"r\.csv: a header and no rows"),
    "tsv with blanks for tabs": (
        "r.tsv",
        b"query-id  corpus-id  score\nq1  d1  1\n",
        r"r\.tsv:1: only one column found, and it contains spaces",
    ),
    "csv whose names nobody knows": ("r.csv", b"question,doc,score\nq1,d1,1\n", r"a query may be called query_id, .*, query, q$"),
    "csv without a header": ("r.csv", b"q1,d1,2.0\nq1,d2,1.0\n", r"r\.csv:1: no query column; found q1, d1, 2\.0"),
    "csv without a score": ("r.csv", b"query_id,doc_id,rank\nq1,d1,1\n", r"r\.csv:1: no score column; .*--order rank"),
    "csv of qrels": ("r.csv", b"query_id,doc_id,relevance\nq1,d1,1\n", r"r\.csv:1: columns of qrels .* swapped"),
    "csv with a column twice": ("r.csv", b"query_id,doc_id,score,score\nq1,d1,1,2\n", r"r\.csv:1: column score occurs twice"),
    "csv with a short row": ("r.csv", b"query_id,doc_id,score\nq1,d1,1\nq1,d2\n", r"r\.csv:3: 2 columns where the header has 3"),
    "csv with a long row": ("r.csv", b"query_id,doc_id,score\nq1,d1,1,5\n", r"r\.csv:2: 4 columns where the header has 3"),
    "csv with text after a quote": ("r.csv", b'query_id,doc_id,score\nq1,"d1"x,1\n', r"r\.csv:2: text follows a closing quote"),
    "csv whose quote opens late": (
        "r.csv",
        b'query_id,doc_id,score\nq1,"d\n1",2\nq1,"d2,1\nq1,d3,1\n',
        r"r\.csv:4: a quote is not closed",
    ),
    "csv with a field over a mebibyte": (
        "r.csv",
        b'query_id,doc_id,score\nq1,"' + b"x\n" * 600_000 + b'",1\n',
        r"r\.csv:2: the field is over 1 MiB",
    ),
    "csv with spaces before the score": ("r.csv", b"query_id,doc_id,score\nq1, d1, 1\n", r'r\.csv:2: score " 1" is not'),
    "csv with a hash that may be an id": ("r.csv", b"query_id,doc_id,score\n#q1,d1,1\n", r"r\.csv:2: the line begins with #"),
    "json empty array": ("r.json", b"[]", r"r\.json: no rows"),
    "json empty object": ("r.json", b"{}", r"r\.json: no rows"),
    "json number for a query": ("r.json", b'{"q1": 3}', r"r\.json:1: query q1 must map document ids to a number, found a number"),
    "json key twice": ("r.json", b'{"q1": {"d1": 1,\n "d1": 2}}', r'r\.json:2:2: key "d1" occurs twice in one object'),
    "json query twice": ("r.json", b'{"q1": {"d1": 1},\n\n"q1": {"d2": 2}}', r'r\.json:3:1: key "q1" occurs twice'),
    "json infinity": ("r.json", b'{"q1": {"d1": -Infinity}}', r"r\.json:1:15: -Infinity is not valid JSON"),
    "json beyond double": ("r.json", b'{"q1": {"d1": 1e400}}', r"r\.json:1: score .* outside the range"),
    "json endless digits": (
        "r.json",
        b'{"q1":\n{"d1": ' + b"9" * 5000 + b"}}",
        r"r\.json:2:8: a number has more than 4300 digits",
    ),
    "json true": ("r.json", b'{"q1": {"d1": true}}', r"r\.json:1: score of document d1 for query q1 is bool"),
    "json empty id": ("r.json", b'{"q1": {"": 1}}', r"r\.json:1: empty document id"),
    "json lone surrogate": ("r.json", b'{"q1": {"\\ud800": 1}}', r"r\.json:1: document id .* lone surrogate"),
    "truncated json": ("r.json", b'{"q1": {"d1": 1,', r"r\.json:1:\d+: not JSON"),
    "json not utf-8": ("r.json", b'{"q1":\n {"d\xe9": 1}}', r"r\.json:2: byte 0xe9 at column 5 is not UTF-8"),
    "json text": ("r.json", b'["a", "b"]', r"r\.json:1: text where an object was expected"),
    "json rows with a bad one": (
        "r.json",
        b'[{"qid": "q1", "docid": "d1", "score": 1},\n{"qid": "q1", "docid": 1.5, "score": 1}]',
        r"r\.json:2: document id 1\.5 is a float",
    ),
    "json rows with a duplicate": (
        "r.json",
        b'\n[\n{"qid": "q1", "docid": "d1", "score": 1}, {"qid": "q1",\n"docid": "d2", "score": 1},'
        b'\n{"qid": "q1", "docid": "d1", "score": 2}]',
        r"r\.json:5: document d1 appears twice for query q1 \(first at line 3; scores 1\.0 and 2\.0\)",
    ),
    "jsonl with arrays": ("r.jsonl", b'["q1", "d1", 1]\n["q1", "d2", 1]\n', r"r\.jsonl:1: a list where an object was expected"),
    "jsonl without a score": ("r.jsonl", b'{"qid": "q1", "docid": "d1"}\n', r"r\.jsonl:1: no score column; found qid, docid"),
    "jsonl null id": ("r.jsonl", b'{"qid": null, "docid": "d1", "score": 1}\n', r"r\.jsonl:1: null query id"),
    "jsonl nan": (
        "r.jsonl",
        b'{"qid": "q", "docid": "d", "score": 1}\n{"qid": "q", "docid": "e", "score": NaN}\n',
        r"r\.jsonl:2:37: NaN",
    ),
    "jsonl duplicate": (
        "r.jsonl",
        b'{"qid": "q1", "docid": "d1", "score": 1}\n' * 2,
        r"r\.jsonl:2: document d1 appears twice for query q1 \(first at line 1",
    ),
    "parquet null id": (
        "r.parquet",
        rows(qid=["q1", "q1"], docid=["d1", None], score=[1.0, 2.0]),
        r":2: null document id",
    ),
    "parquet null score": (
        "r.parquet",
        rows(qid=["q1"], docid=["d1"], score=[None]),
        r"r\.parquet:1: .*score",
    ),
    "parquet float ids": (
        "r.parquet",
        rows(qid=["q1"], docid=[12.0], score=[1.0]),
        r":1: document id 12\.0 is a float; pandas",
    ),
    "parquet nested ids": (
        "r.parquet",
        rows(qid=["q1"], docid=[["d1"]], score=[1.0]),
        r"document column .* holds list",
    ),
    "parquet text scores": (
        "r.parquet",
        rows(qid=["q1"], docid=["d1"], score=["1.0"]),
        r"r\.parquet:?1?: .*score",
    ),
    "parquet infinite score": (
        "r.parquet",
        rows(qid=["q1"], docid=["d1"], score=[float("inf")]),
        r"r\.parquet:1: score",
    ),
    "parquet nan score": (
        "r.parquet",
        rows(qid=["q1"], docid=["d1"], score=[float("nan")]),
        r"r\.parquet:1: score nan",
    ),
    "parquet empty id": (
        "r.parquet",
        rows(qid=["q1"], docid=[""], score=[1.0]),
        r"r\.parquet:1: empty document id",
    ),
    "parquet duplicate": (
        "r.parquet",
        rows(qid=["q1", "q1"], docid=["d1", "d1"], score=[1.0, 2.0]),
        r"r\.parquet:2: document d1 appears twice",
    ),
    "parquet wrong columns": (
        "r.parquet",
        rows(a=["q1"], b=["d1"]),
        r"r\.parquet: no query column; found a, b",
    ),
    "parquet without rows": (
        "r.parquet",
        rows(qid=[], docid=[], score=[]),
        r"r\.parquet: ",
    ),
    "truncated parquet": (
        "r.parquet",
        rows(qid=["q1"], docid=["d1"], score=[1.0], cut=-30),
        r"r\.parquet: not a complete Parquet file",
    ),
    "a line of three megabytes": ("r.txt", b"q1 Q0 d1 1 2.0 t\n" + b"x" * 3_000_000, r"r\.txt:2: the line is over 1 MiB"),
    "utf-32": ("r.txt", GOOD_RUN.decode().encode("utf-32"), r"r\.txt: this is UTF-32 text; save it as UTF-8"),
    "utf-16 without a mark": (
        "r.txt",
        GOOD_RUN.decode().encode("utf-16-le"),
        r"r\.txt:1: query id q\\x001\\x00 contains a NUL byte; .*--encoding utf-16",
    ),
    "a zip archive": ("r.txt", b"PK\x03\x04" + b"\0" * 40, r"r\.txt: this is a zip archive"),
    "a bzip2 file": ("r.txt", b"BZh91AY&SY" + b"\0" * 40, r"r\.txt: this is bzip2-compressed"),
    "a pickle": ("r.pkl", b"\x80\x04\x95\x00", r"r\.pkl: this is a Python pickle, which is never opened"),
    "an arabic score": ("r.txt", score("١٢"), r'r\.txt:1: score "١٢" is not a decimal number'),
    "a full-width score": ("r.txt", score("１.5"), r'r\.txt:1: score "１\.5" is not'),
    "a decimal comma": ("r.txt", score("1,5"), r'r\.txt:1: score "1,5" is not'),
    "a decimal comma in csv": ("r.csv", b"query_id\tdoc_id\tscore\nq1\td1\t1,5\n", r'r\.csv:2: score "1,5" has a decimal comma'),
    "a score beyond double": ("r.txt", score("1e400"), r"r\.txt:1: score 1e400 is outside the range"),
    "a score with two signs": ("r.txt", score("--5"), r'r\.txt:1: score "--5" is not'),
    "a score without exponent": ("r.txt", score("1e"), r'r\.txt:1: score "1e" is not'),
    "a score of one point": ("r.txt", score("."), r'r\.txt:1: score "\." is not'),
    "a hexadecimal score": ("r.txt", score("0x10"), r'r\.txt:1: score "0x10" is not'),
    "an underscore in a score": ("r.txt", score("1_0"), r'r\.txt:1: score "1_0" is not'),
    "nan as a score": ("r.txt", score("NaN"), r"r\.txt:1: score NaN is not finite"),
}

BAD_QRELS: dict[str, tuple[str, bytes, str]] = {
    "a nul byte in an id": ("q.txt", b"q1 0 d1 1\nq1 0 d\0x 1\n", r"q\.txt:2: document id d\\x00x contains a NUL byte; "),
    "a nul byte in an id in csv": ("q.csv", b"query_id,doc_id,rel\nq\0,d1,1\n", r"q\.csv:2: query id q\\x00 contains a NUL"),
    "a nul byte in an id in json": ("q.json", b'{"q1":\n{"d\\u0000": 1}}', r"q\.json:2: document id d\\x00 contains a NUL"),
    "a nul byte in an id in jsonl": (
        "q.jsonl",
        b'{"query_id": 1, "doc_id": "2\\u0000", "rel": 1}\n',
        r"q\.jsonl:1: document id 2\\x00 contains a NUL",
    ),
    "labels": (
        "q.csv",
        b"query_id,doc_id,rel\nq1,d0,1\nq1,d1,Exact\nq1,d2,Odd one\nq1,d3,Exact\n",
        r"q\.csv:3: grade \"Exact\" is not an integer; grades found: Exact \(2\), Odd one \(1\), 1 \(1\); "
        r"map them, with an integer for each \?: --grade-map '1=\?,Exact=\?,Odd one=\?'",
    ),
    "labels before a conflict": (
        "q.txt",
        grade("Exact") + grade("0.5") + grade("1") + grade("2"),
        r'q\.txt:1: grade "Exact" is not an integer; grades found: Exact \(1\), 0\.5 \(1\), 1 \(1\), 2 \(1\); ',
    ),
    "labels after a conflict": ("q.txt", grade("1") + grade("2") + grade("Exact"), r"q\.txt:2: document d1 has two grades"),
    "a conflict before another error": ("q.txt", grade("1") + grade("2") + b"q1 0\n", r"q\.txt:2: document d1 has two grades"),
    "an arabic grade": ("q.txt", grade("٣"), r'q\.txt:1: grade "٣" is not an integer'),
    "a grade that is missing": ("q.txt", b"q1 0 d1 \n", r"q\.txt:1: 3 columns where qrels have 4"),
    "an empty grade in csv": ("q.csv", b"query_id,doc_id,rel\nq1,d1,\n", r"q\.csv:2: empty grade; fill it in"),
    "a blank grade in csv": ("q.csv", b"query_id,doc_id,rel\nq1,d1, \n", r"q\.csv:2: empty grade; fill it in"),
    "a grade with an exponent": ("q.txt", grade("1e3"), r'q\.txt:1: grade "1e3" is not an integer'),
    "two grades for a pair": (
        "q.txt",
        grade("1") + grade("2") + b"q2 0 d1 1\nq2 0 d1 3\nq2 0 d1 2\n",
        r"q\.txt:2: document d1 has two grades for query q1: 1 \(at line 1\) and 2 \(2 pairs have two grades\); "
        r"remove the wrong ones, or pass --on-conflict max, min, first or last",
    ),
    "two grades in jsonl": (
        "q.jsonl",
        b'{"query_id": 1, "doc_id": 2, "rel": 1}\n{"query_id": 1, "doc_id": "2", "rel": 3}\n',
        r"q\.jsonl:2: document 2 has two grades",
    ),
    "a fraction in json": ("q.json", b'{"q1": {"d1": 0.5}}', r'q\.json:1: grade "0\.5" is not an integer'),
    "a letter without a map": ("q.csv", b"query_id,doc_id,esci_label\nq1,d1,E\n", r'q\.csv:2: grade "E" .*--grade-map E=3\n'),
    "two grades in a json array": (
        "q.json",
        b'[{"qid": "q1", "docid": "d1", "rel": 1},\n\n{"qid": "q1", "docid": "d1",\n"rel": 2}]',
        r"q\.json:3: document d1 has two grades for query q1: 1 \(at line 1\) and 2",
    ),
    "a null grade": ("q.json", b'{"q1": {"d1": null}}', r"q\.json:1: null grade"),
    "a list of documents": ("q.json", b'{"q1": ["d1"]}', r"q\.json:1: query q1 must map document ids to an integer grade"),
    "a run in csv": ("q.csv", b"query_id,doc_id,rank,score\nq1,d1,1,2.5\n", r"q\.csv:1: columns of a run .* swapped"),
}


GOOD_RUNS: dict[str, tuple[str, bytes]] = {
    "carriage returns alone": ("r.txt", GOOD_RUN.replace(b"\n", b"\r")),
    "no line end at the end": ("r.txt", GOOD_RUN.rstrip()),
    "a mark inside a tag": ("r.txt", GOOD_RUN.replace(b" t\n", " t\ufeff\n".encode())),
    "comments and blank lines": ("r.txt", b"# a comment\n\n" + GOOD_RUN + b"\n  \n# the end"),
    "gzip under another name": ("r.txt", gzip.compress(GOOD_RUN)),
    "gzip with zero padding": ("r.gz", gzip.compress(GOOD_RUN) + b"\0" * 512),
    "many gzip members": ("r.gz", b"".join(gzip.compress(line) for line in GOOD_RUN.splitlines(keepends=True))),
    "many zstd frames": ("r.txt", b"".join(zstd(line) for line in GOOD_RUN.splitlines(keepends=True))),
    "csv with quotes and crlf": ("r.txt", b'"query_id","doc_id","score"\r\n"q1","d1","2"\r\n\r\n"q1","d2","1"\r\n'),
    "csv with a mark and other columns": (
        "r.csv",
        "\ufeffsystem,Query ID,text,Doc-ID,Score\nx,q1,hello,d1,2\nx,q1,,d2,1\n".encode(),
    ),
    "csv with text of the query": ("r.csv", b"query,qid,docno,sim\nwhat,q1,d1,2\nwhat,q1,d2,1\n"),
    "csv with a comment": ("r.csv", b"# made by hand\nqid,docid,score\nq1,d1,2\n# more\nq1,d2,1\n"),
    "tsv": ("r.txt", b"qid\tdocid\tscore\nq1\td1\t2\nq1\td2\t1\n"),
    "json over many lines": ("r.txt", b'{\n  "q1": {\n    "d1": 2,\n    "d2": 1\n  }\n}\n'),
    "json rows": ("r.json", b'[{"qid": "q1", "docid": "d1", "score": 2}, {"qid": "q1", "docid": "d2", "score": 1}]'),
    "jsonl of one line": ("r.jsonl", b'{"qid": "q1", "docid": "d1", "score": 2, "rank": 1}'),
    "jsonl called json": ("r.json", b'{"qid": "q1", "docid": "d1", "score": 2}\n{"score": 1, "docid": "d2", "qid": "q1"}\n'),
}
