"""Documents read in C have the values, errors and fingerprint of those read in Python, in memory and on file."""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from rankproof._data import partition_builder
from rankproof._data.corpus import Corpus, Document
from rankproof._formats import documents, texts
from rankproof._formats.documents import read_corpus, read_corpus_files
from rankproof._formats.json import parsed_lines
from rankproof._io.corpus_store import CorpusStorage
from rankproof._io.streams import ByteSource
from rankproof.errors import ExternalError, InputError, RankproofError

Outcome = tuple[Any, ...] | str
FILES = count()

SPACES = st.sampled_from(["", " ", "\t", "  "])
NUMBERS = st.sampled_from(
    [
        *(
            "0",
            "-0",
            "7",
            "-12",
            "007",
            "1.5",
            "-0.5",
            "0.1",
            "10.0",
            "1.50",
            "0.0001",
            "0.00001",
            "1e5",
            "1E-3",
            "-0.0",
            "1.",
            ".5",
        ),
        *("+1", "NaN", "Infinity", "-Infinity", "123456789012345678", "1234567890123456789", "0.1234567890123456"),
        *("100000000000000.5", "-", "--1", "1.2.3", "0x10"),
    ]
)
STRINGS = st.text(max_size=6).map(lambda text: json.dumps(text, ensure_ascii=False)) | st.text(max_size=6).map(json.dumps)
ODD_STRINGS = st.sampled_from(
    [
        *(r'"\ud83d\ude00"', r'"\ud800"', r'"\udc00x"', r'"\u0000"', r'"\/"', r'"\x"', r'"\u12g4"', '"\x01"', '"\x7f"', '"a'),
        *(r'"\ud800A"', r'"\ud800\u0041"', '""'),
    ]
)
SCALARS = STRINGS | ODD_STRINGS | NUMBERS | st.sampled_from(["true", "false", "null", "nul", "True"])
KEYS = st.sampled_from(
    [
        *(
            '"_id"',
            '"id"',
            '"docid"',
            '"doc-id"',
            '"DocID"',
            '" id"',
            '"title"',
            '"Title"',
            '"text"',
            '"contents"',
            '"body"',
            '"url"',
        ),
        *('"a"', '"b"', '"é"', '""', r'"te\u0078t"', '"x y"', "a"),
    ]
)


def objects(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    member = st.builds(lambda key, one, value, other: f"{key}{one}:{other}{value}", KEYS, SPACES, values, SPACES)
    return st.lists(member, max_size=4).map(lambda parts: "{" + ",".join(parts) + "}")


def arrays(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(lambda parts, space: f"[{space}{f'{space},'.join(parts)}]", st.lists(values, max_size=3), SPACES)


VALUES = st.recursive(SCALARS, lambda inner: objects(inner) | arrays(inner), max_leaves=5)
IDS = st.sampled_from(['"d1"', '"d2"', '"d3"', '"ä"', "7", "-3", '"7"', '""', r'"\u0000"', "1.0", "null", "true", r'"d\u0031"'])
MORE = st.builds(lambda key, value: f', "{key}": {value}', st.sampled_from(["metadata", "url", "z", "a", "b"]), VALUES)
USUAL = st.builds(
    lambda key, identity, title, text, more: f'{{"{key}": {identity}, "title": {title}, "text": {text}{"".join(more)}}}',
    st.sampled_from(["_id", "id", "docid"]),
    IDS | STRINGS,
    STRINGS | st.just("null"),
    STRINGS,
    st.lists(MORE, max_size=3),
)
ODD_LINES = st.sampled_from(["", "  ", "# a comment", "[]", "7", "\u2028", "{}", '{"_id": "d1"}x']) | st.text(max_size=8)
LINES = st.lists(USUAL | objects(VALUES) | ODD_LINES, max_size=6)
FILE_TEXTS = st.builds(
    lambda lines, ending, last: (ending.join(lines) + last).encode(errors="surrogatepass"),
    LINES,
    st.sampled_from(["\n", "\r\n", "\r", "\n\n"]),
    st.sampled_from(["", "\n", "\r"]),
)
CUTS = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 3), st.binary(max_size=2)), max_size=2)


def bent(data: bytes, cuts: list[tuple[int, int, bytes]]) -> bytes:
    for at, removed, added in cuts:
        data = data[:at] + added + data[at + removed :]
    return data


def outcome(read: Callable[[], Corpus]) -> Outcome:
    """The values, lines, keys and fingerprint of the documents, or the error."""
    try:
        corpus = read()
    except RankproofError as error:
        return f"{type(error).__name__} {error}"
    found = list(corpus.values())
    assert all(corpus[one.id] == one for one in found)
    lines = [one.line for one in found]
    return (found, lines, [json.dumps(dict(one.fields)) for one in found], corpus.fingerprint())


@contextmanager
def reading(*, native: bool, block: int = 1 << 20) -> Iterator[None]:
    """Reads in C or in Python, in blocks of that many bytes."""
    with (
        mock.patch.object(documents, "has_native_scanner", return_value=native),
        mock.patch.object(partition_builder, "has_native_scanner", return_value=native),
        mock.patch.object(documents, "read_blocks", lambda stream: iter(lambda: portion(stream, block), b"")),
    ):
        yield


def portion(stream: Any, size: int) -> bytes:
    buffer = bytearray(size)
    return bytes(buffer[: stream.readinto(memoryview(buffer)) or 0])


def defined(data: bytes) -> Outcome:
    """What the documents are by definition: the lines parsed one by one, and checked one by one."""
    source = ByteSource("made", lambda: io.BytesIO(data))
    return outcome(lambda: texts.build_corpus(parsed_lines(source, limit=texts.MAX_TEXT_BYTES), "made"))


@pytest.mark.slow
@given(FILE_TEXTS, CUTS, st.integers(1, 40), st.booleans())
@example(b"\xef\xbb\xbf" + b'{"_id": "d", "text": "t"}', [], 1, True)
@example(b"\xff\xfe{\x00", [], 1, True)
@example(b'{"_id": "d", "text": "t"}\r{"_id": "e", "text": "u"}\r\n{"_id": "d", "text": ""}', [], 5, True)
@example(b'{"_id":"d","text":"t","z":1,"a":{"y":[1,{"k":2,"b":"\xc3\xa9\x7f\\/"}],"b":null}}\n', [], 9, True)
@example(b'{"_id":"d","text":"t"}\n{"_id":"d","text":"u"}\n{"_id":"e"}\n', [], 9, True)
def test_scanned_documents_are_those_of_the_plain_reader(
    data: bytes, cuts: list[tuple[int, int, bytes]], block: int, native: bool
) -> None:
    content = bent(data, cuts)
    with reading(native=native, block=block):
        assert outcome(lambda: read_corpus(ByteSource("made", lambda: io.BytesIO(content)))) == defined(content)


@given(FILE_TEXTS, CUTS, st.integers(1, 4), st.sampled_from([0, 20, 1 << 20]), st.booleans())
def test_partitions_in_memory_and_on_file_change_nothing(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, cuts: list[tuple[int, int, bytes]], size: int, most: int, native: bool
) -> None:
    content = bent(data, cuts)
    path = tmp_path_factory.getbasetemp() / f"documents-{next(FILES)}.jsonl"
    path.write_bytes(content)
    home = tmp_path_factory.getbasetemp() / "corpora-of-documents"
    with reading(native=native):
        found = outcome(lambda: read_corpus_files([str(path)], CorpusStorage(home, size, most)))
    expected = defined(content)
    path.unlink()
    assert found == (expected.replace("made", str(path)) if isinstance(expected, str) else expected)
    assert not list(home.glob("corpora/.*"))


def test_a_usual_line_is_scanned_in_c() -> None:
    """Guards the differential test: without this, a scanner that stops at every line would pass it."""
    lines = [
        b'{"_id": "d1", "title": "T", "text": "caf\xc3\xa9 \\u00e9\\n", "metadata": {}}\n',
        b"\r\n",
        b'{"contents":"x","docid":12,"price":1.25,"tags":["b","a"],"more":{"z":null,"a":true}}\r\n',
    ]
    with mock.patch.object(documents, "_document", side_effect=AssertionError("read in Python")):
        corpus = read_corpus(ByteSource("made", lambda: io.BytesIO(b"".join(lines))))
    assert list(corpus) == ["d1", "12"]
    assert corpus["12"].fields == {"price": 1.25, "tags": ["b", "a"], "more": {"z": None, "a": True}}
    assert list(corpus["12"].fields) == ["price", "tags", "more"]


def document_lines(size: int, start: int = 0) -> bytes:
    return b"".join(b'{"_id": "d%d", "text": "text of %d"}\n' % (at, at) for at in range(start, start + size))


def aged(path: Path, data: bytes) -> str:
    """Writes the file, and waits until a change of it shows in its times."""
    import time

    path.write_bytes(data)
    time.sleep(0.06)
    return str(path)


def test_stored_partitions_are_found_again_until_the_file_changes(tmp_path: Path) -> None:
    storage = CorpusStorage(tmp_path / "cache", 10, 0)
    path = aged(tmp_path / "c.jsonl", document_lines(25))
    first = read_corpus_files([path], storage)
    assert [len(one) for one in first.partitions] == [10, 10, 5]
    with mock.patch.object(documents, "_read_sources", side_effect=AssertionError("read again")):
        assert outcome(lambda: read_corpus_files([path], storage)) == outcome(lambda: first)
    aged(tmp_path / "c.jsonl", document_lines(25).replace(b"text of 7", b"text or 7"))
    assert read_corpus_files([path], storage)["d7"].text == "text or 7"
    assert first["d7"].text == "text of 7"


def test_a_corpus_without_a_cache_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    path = aged(tmp_path / "c.jsonl", document_lines(25))
    corpus = read_corpus_files([path], CorpusStorage(None, 10, 0))
    assert len(list((tmp_path / "temporary").iterdir())) == 1
    kept = corpus.partitions[1]
    del corpus
    assert kept.document(0).id == "d10"
    del kept
    assert not list((tmp_path / "temporary").iterdir())


def test_a_file_that_changes_while_it_is_read_is_read_again_next_time(tmp_path: Path) -> None:
    storage = CorpusStorage(tmp_path / "cache", 10, 0)
    path = aged(tmp_path / "c.jsonl", document_lines(25))
    read = documents._read_lines

    def read_and_change(*args: Any) -> None:
        read(*args)
        aged(tmp_path / "c.jsonl", document_lines(26))

    with mock.patch.object(documents, "_read_lines", read_and_change):
        assert len(read_corpus_files([path], storage)) == 25
    assert len(read_corpus_files([path], storage)) == 26


@pytest.mark.parametrize("damage", ["cut", "changed", "lost"])
def test_a_corpus_with_a_damaged_index_is_made_again(tmp_path: Path, damage: str) -> None:
    path = aged(tmp_path / "c.jsonl", document_lines(25))
    storage = CorpusStorage(tmp_path / "cache", 10, 0)
    read_corpus_files([path], storage)
    (index,) = (tmp_path / "cache").glob("corpora/*/index.arrays")
    content = index.read_bytes()
    index.write_bytes(content[:-9] if damage == "cut" else content[:-9] + b"damaged!!")
    if damage == "lost":
        index.unlink()
    else:
        with pytest.raises(ExternalError, match=r"the cache file is corrupt .*; it was removed; run again to continue"):
            read_corpus_files([path], storage)
    assert len(read_corpus_files([path], storage)) == 25
    assert index.read_bytes() == content


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["lost", "cut", "changed"])
def test_a_damaged_partition_is_told_or_made_again(tmp_path: Path, damage: str) -> None:
    path = aged(tmp_path / "c.jsonl", document_lines(25))
    storage = CorpusStorage(tmp_path / "cache", 10, 0)
    code = (
        "import sys\nfrom pathlib import Path\nfrom rankproof._formats.documents import read_corpus_files\n"
        "from rankproof._io.corpus_store import CorpusStorage\n"
        "corpus = read_corpus_files([sys.argv[1]], CorpusStorage(Path(sys.argv[2]), 10, 0))\n"
        "print(corpus['d12'].text)\n"
    )
    read_corpus_files([path], storage)
    (part,) = (tmp_path / "cache").glob("corpora/*/000001.arrays")
    content = part.read_bytes()
    part.write_bytes({"lost": b"", "cut": content[:-9], "changed": content.replace(b"text of 12", b"text or 12")}[damage])
    if damage == "lost":
        part.unlink()

    def run() -> str:
        done = subprocess.run(
            [sys.executable, "-c", code, path, str(tmp_path / "cache")], capture_output=True, text=True, timeout=60
        )
        return done.stdout + done.stderr.strip().rpartition("\n")[2]

    corrupt = "the cache file is corrupt (checksum mismatch); it was removed; run again"
    assert (corrupt if damage == "changed" else "text of 12") in run()
    assert run() == "text of 12\n"


FULL_DISK = """
import resource, sys
from pathlib import Path
from rankproof._formats.documents import read_corpus_files
from rankproof._io.corpus_store import CorpusStorage
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
read_corpus_files([sys.argv[1]], CorpusStorage(Path(sys.argv[2]), 10, 0))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on the size of a file")
@pytest.mark.parametrize("most", [100, 2500])
def test_a_full_disk_in_the_middle_of_a_partition_leaves_nothing_half(tmp_path: Path, most: int) -> None:
    lines = document_lines(25) + b'{"_id": "long", "text": "%s"}\n' % (b"word " * 2000)
    path, home = aged(tmp_path / "c.jsonl", lines), tmp_path / "cache"
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, path, str(home), str(most)], capture_output=True, text=True, timeout=60
    )
    assert "ExternalError" in done.stderr
    assert "File too large" in done.stderr
    assert [one.name for one in home.rglob("*") if one.is_file()] == ["lock"]
    assert len(read_corpus_files([path], CorpusStorage(home, 10, 0))) == 26


def test_a_broken_line_far_into_the_file_is_told_with_its_line(tmp_path: Path) -> None:
    path = aged(tmp_path / "c.jsonl", document_lines(40_000) + b'{"_id": "x", "text": 7}\n' + document_lines(5, 50_000))
    with pytest.raises(InputError, match=r"c\.jsonl:40001: the text of x is a number, not text; write it as text"):
        read_corpus_files([path], CorpusStorage(tmp_path / "cache", 1000, 0))
    assert [one.name for one in (tmp_path / "cache").rglob("*") if one.is_file()] == ["lock"]


@pytest.mark.parametrize("ending", [b"\n", b"\r", b""])
@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("block", [50, 200, 1000])
def test_a_line_that_is_too_long_is_an_error_with_its_line(
    ending: bytes, native: bool, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "MAX_TEXT_BYTES", 100)
    long = b'{"_id": "x", "text": "%s"}' % (b"word " * 30)
    for content, line in ((document_lines(3) + long + ending, 4), (long + ending + document_lines(3), 1)):
        with reading(native=native, block=block), pytest.raises(InputError, match=rf"made:{line}: the line is over 64 MiB"):
            read_corpus(ByteSource("made", lambda content=content: io.BytesIO(content)))  # type: ignore[misc]


@pytest.mark.parametrize("size", [7, 100])
def test_an_id_of_another_partition_is_an_error_with_both_lines(tmp_path: Path, size: int) -> None:
    lines = document_lines(50) + document_lines(1, 30) + document_lines(1, 3) + b"broken\n"
    path = aged(tmp_path / "c.jsonl", lines)
    with pytest.raises(InputError, match=r"c\.jsonl:51: document d30 occurs twice \(first at line 31\)"):
        read_corpus_files([path], CorpusStorage(tmp_path / "cache", size, 0))


def test_ids_of_equal_hash_are_different_ids(tmp_path: Path) -> None:
    path = aged(tmp_path / "c.jsonl", document_lines(25))
    with reading(native=False), mock.patch.object(partition_builder, "id_hash", lambda key: len(key)):
        from rankproof._data import arrays

        with mock.patch.object(arrays, "id_hash", lambda key: len(key)):
            corpus = read_corpus_files([path], CorpusStorage(None, 10, 0))
            assert [corpus[f"d{at}"].text for at in range(25)] == [f"text of {at}" for at in range(25)]
            assert "d99" not in corpus


def compressed(data: bytes, suffix: str) -> bytes:
    return gzip.compress(data) if suffix == ".gz" else zstandard.compress(data) if suffix == ".zst" else data


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_parts_are_read_in_the_order_of_their_names(tmp_path: Path, suffix: str) -> None:
    paths = []
    for number in range(3):
        path = tmp_path / f"corpus-{number}.jsonl{suffix}"
        paths.append(aged(path, compressed(document_lines(10, 10 * number), suffix)))
    corpus = read_corpus_files(paths, CorpusStorage(tmp_path / "cache", 7, 0))
    assert list(corpus) == [f"d{at}" for at in range(30)]
    assert corpus["d25"].line == 6
    assert corpus.fingerprint() == read_corpus(ByteSource("all", lambda: io.BytesIO(document_lines(30)))).fingerprint()


def test_an_id_of_another_file_is_an_error_with_both_places(tmp_path: Path) -> None:
    one, other = aged(tmp_path / "corpus-1.jsonl", document_lines(3)), aged(tmp_path / "corpus-2.jsonl", document_lines(3, 2))
    with pytest.raises(InputError, match=r"corpus-2\.jsonl:1: document d2 occurs twice \(first at .*corpus-1\.jsonl:3\)"):
        read_corpus_files([one, other], CorpusStorage(None))


ROWS = [{"_id": "d1", "title": "T", "text": "one, two", "url": "u"}, {"_id": "d2", "title": "", "text": "three", "url": ""}]
WANTED = [Document("d1", "one, two", "T", {"url": "u"}), Document("d2", "three")]


@pytest.mark.parametrize("name", ["c.csv", "c.tsv", "c.csv.gz", "c.parquet", "c.jsonl.zst"])
def test_a_table_gives_the_documents_of_its_rows(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "c.parquet":
        pq.write_table(pa.Table.from_pylist([{**row, "url": row["url"] or None} for row in ROWS]), path)
    else:
        char = "\t" if ".tsv" in name else ","
        cells = [list(ROWS[0]), *(list(row.values()) for row in ROWS)]
        table = "".join(char.join(f'"{cell}"' for cell in row) + "\n" for row in cells)
        lines = "".join(json.dumps({key: value for key, value in row.items() if key != "url" or value}) + "\n" for row in ROWS)
        path.write_bytes(compressed((lines if "jsonl" in name else table).encode(), path.suffix))
    assert list(read_corpus_files([str(path)], CorpusStorage(tmp_path / "cache")).values()) == WANTED


def test_rows_by_id_are_the_same_in_c_and_in_python() -> None:
    corpus = Corpus(Document(key, "") for key in ("b", "a", "ab", "ba", "é", "a" * 9, "a" * 9 + "b", "\U0001f600", "\uffff"))
    with reading(native=False):
        assert partition_builder.rows_by_id(corpus.partitions[0].ids).tolist() == corpus.partitions[0].order.tolist()


def test_wrong_arguments_of_the_scanner_are_refused() -> None:
    native = pytest.importorskip("rankproof._native.documents")
    for start, rows, names in ((-1, 1, b"a\0"), (9, 1, b"a\0"), (0, -1, b"a\0"), (0, 1, b"a"), (0, 1, b"a\0" * 65)):
        with pytest.raises(ValueError, match="the start, the limit or the names are wrong"):
            native.scan(b"{}\n", start, 1, rows, 10, names, b"text\0")
    for offsets in ([0, 9], [-1, 0], [1, 0], []):
        with pytest.raises(ValueError, match="the offsets are wrong"):
            native.order(np.array(offsets, dtype=np.int64), b"abc")


def test_progress_is_of_the_megabytes_of_all_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [aged(tmp_path / f"corpus-{part}.jsonl", document_lines(30_000, part * 30_000)) for part in range(3)]
    sizes = [os.path.getsize(path) for path in paths]
    told: list[tuple[str, int, int]] = []
    storage = CorpusStorage(None, progress=lambda *args: told.append(args))
    read_corpus_files(paths, storage)
    assert not told
    monkeypatch.setattr("rankproof._io.open._LARGE_BYTES", sum(sizes))
    read_corpus_files(paths, storage)
    assert {label for label, *_ in told} == {"reading 3 files (MB)"}
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert told[-1][1:] == (sum(sizes) // 10**6, sum(sizes) // 10**6)
    assert told[-1][2] > 2


KILLED = """
import os, signal, sys
from pathlib import Path
from rankproof._formats import documents
from rankproof._io import corpus_store
write = corpus_store.write_partition
def write_and_die(path, builder):
    write(path, builder)
    if builder.number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
corpus_store.write_partition = write_and_die
home = Path(sys.argv[2]) if len(sys.argv) > 2 else None
documents.read_corpus_files([sys.argv[1]], corpus_store.CorpusStorage(home, 10, 0))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
@pytest.mark.parametrize("cached", [True, False])
def test_the_next_read_removes_what_a_killed_read_left(tmp_path: Path, cached: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    path, temporary, home = aged(tmp_path / "c.jsonl", document_lines(25)), tmp_path / "temporary", tmp_path / "cache"
    temporary.mkdir()
    argv = [sys.executable, "-c", KILLED, path, *([str(home)] if cached else [])]
    done = subprocess.run(argv, env={**os.environ, "TMPDIR": str(temporary)}, timeout=60)
    assert done.returncode == -signal.SIGKILL
    place = home / "corpora" if cached else temporary
    (left,) = place.iterdir()
    assert sorted(one.name for one in left.iterdir()) == ["000000.arrays", "000001.arrays"]
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    corpus = read_corpus_files([path], CorpusStorage(home if cached else None, 10, 0))
    assert not left.exists()
    (kept,) = place.iterdir()
    read_corpus_files([aged(tmp_path / "other.jsonl", document_lines(25))], CorpusStorage(home if cached else None, 10, 0))
    assert kept.exists()
    assert corpus["d24"].text == "text of 24"
