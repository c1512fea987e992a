"""Documents from files in one pass: tables, and lines of JSON, read in C where they are usual and in Python where not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from rankproof._data.arrays import has_native_scanner
from rankproof._data.corpus import Corpus, Document
from rankproof._data.partition_builder import DocumentChunk, with_checked_ids
from rankproof._data.row_errors import row_error
from rankproof._formats.columns import TEXT_ID_NAMES, TEXT_NAMES
from rankproof._formats.source_table import is_table_file, open_table
from rankproof._formats.texts import MAX_TEXT_BYTES, check_not_empty, record_of_item
from rankproof._io import strict_json
from rankproof._io.corpus_store import CorpusStorage, CorpusWriter, find_corpus, writing_corpus
from rankproof._io.open import BOM, UTF16_MARKS, decode_line, open_source, read_progress
from rankproof._io.streams import ByteSource, read_blocks

_ID_NAMES = "".join(f"{name}\0" for name in TEXT_ID_NAMES["document"]).encode()
_TEXT_NAMES = "".join(f"{name}\0" for name in TEXT_NAMES).encode()


def read_corpus(source: ByteSource) -> Corpus:
    """The documents of a JSONL file."""
    return _read_sources([source], (), source.name, CorpusStorage())


def store_documents(records: Iterable[Document], source: str, storage: CorpusStorage) -> Corpus:
    """The corpus of these documents, which are not kept as Python objects; an empty corpus is allowed."""
    with writing_corpus(storage, (), source) as writer:
        for record in with_checked_ids(records, source):
            writer.add(record)
        return writer.corpus(source)


def read_corpus_files(paths: Sequence[str], storage: CorpusStorage) -> Corpus:
    """The documents of JSONL files in their order; partitions that an earlier pass has stored are found again."""
    sources = [
        open_source(path, progress=report) for path, report in zip(paths, read_progress(paths, storage.progress), strict=True)
    ]
    name = ", ".join(source.name for source in sources)
    return find_corpus(storage, paths, name) or _read_sources(sources, paths, name, storage)


def _read_sources(sources: Sequence[ByteSource], paths: Sequence[str], name: str, storage: CorpusStorage) -> Corpus:
    with writing_corpus(storage, paths, name) as writer:
        for source in sources:
            writer.begin_file(source.name)
            (_read_rows if is_table_file(source) else _read_lines)(source, writer)
        return check_not_empty(writer.corpus(name))


def _read_rows(source: ByteSource, writer: CorpusWriter) -> None:
    """Adds the rows of a table, whose columns are called like the keys of JSONL; an empty cell is no field."""
    for line, row in open_table(source).rows():
        document = record_of_item(row, Document, "document", source.name, line)
        filled = {name: value for name, value in document.fields.items() if value is not None and value != ""}
        writer.add(replace(document, fields=filled))


def _read_lines(source: ByteSource, writer: CorpusWriter) -> None:
    line, native = 1, has_native_scanner()
    for data in _whole_lines(source):
        # Only a block this large can have a line that is too long.
        at, scan = 0, native and len(data) <= MAX_TEXT_BYTES
        while at < len(data):
            end, line = _add_scanned(data, at, line, writer) if scan else (at, line)
            at, line = (end, line) if end > at else _add_plain(data, at, line, source.name, writer)


def _add_scanned(data: bytes, at: int, line: int, writer: CorpusWriter) -> tuple[int, int]:
    """Adds the usual lines from there on; returns where they end and the number of the next line."""
    from rankproof._native import documents

    end, line, columns, lines, hashes, digest = documents.scan(data, at, line, *writer.room, _ID_NAMES, _TEXT_NAMES)
    texts = [(columns[place], np.frombuffer(columns[place + 1], dtype=np.int64)) for place in range(0, len(columns), 2)]
    numbers, keys = np.frombuffer(lines, dtype=np.int64), np.frombuffer(hashes, dtype=np.uint64)
    writer.add_chunk(DocumentChunk(texts, numbers, keys, int.from_bytes(digest, "little")))
    return end, line


def _add_plain(data: bytes, at: int, line: int, source: str, writer: CorpusWriter) -> tuple[int, int]:
    """Adds what lies before the next line feed: one line, or several that end in CR."""
    end = data.find(b"\n", at) + 1 or len(data)
    for text in data[at:end].splitlines(keepends=True):
        document = _document(text, line, source)
        if document is not None:
            writer.add(document)
        line += 1
    return end, line


def _document(text: bytes, line: int, source: str) -> Document | None:
    """The document of a line, None where it is blank or a comment."""
    if len(text) > MAX_TEXT_BYTES and len(text.rstrip(b"\r\n")) > MAX_TEXT_BYTES:
        raise row_error("long-text", source=source, line=line)
    plain = decode_line(text, line, source)
    if not plain.strip() or plain.startswith("#"):
        return None
    item = strict_json.parse_strict_json(plain.rstrip("\r\n"), source=source, line=line)
    return record_of_item(item, Document, "document", source, line)


def _whole_lines(source: ByteSource) -> Iterator[bytes]:
    """The text in blocks of whole lines, without a byte-order mark; a line that is too long may be incomplete."""
    stream = source.open()
    held, size, begun = list[bytes](), 0, False
    try:
        for block in read_blocks(stream):
            held.append(block)
            size += len(block)
            if not begun and size >= len(BOM):
                held, begun = [_without_mark(b"".join(held), source.name)], True
            # A CR at the end of a block may be the first half of CRLF.
            cut = held[-1].rfind(b"\n") + 1 or held[-1].rfind(b"\r", 0, -1) + 1
            if begun and (cut or size > MAX_TEXT_BYTES + len(b"\r\n")):
                rest = held[-1][cut:] if cut else b""
                yield b"".join((*held[:-1], held[-1][:cut] if cut else held[-1]))
                held, size = [rest], len(rest)
    finally:
        stream.close()
    if not begun and not held:
        raise row_error("empty", source=source.name)
    yield b"".join(held) if begun else _without_mark(b"".join(held), source.name)


def _without_mark(start: bytes, source: str) -> bytes:
    if start.startswith(UTF16_MARKS):
        raise row_error("utf16", source=source)
    return start.removeprefix(BOM)
