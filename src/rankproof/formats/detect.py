"""Which format a file has, told by what it holds; its suffix only decides where the content allows several."""

from __future__ import annotations

import re

from ..data.refusals import refusal
from ..data.source import Source
from .columns import is_header
from .faults import fault
from .lines import BOM, UTF16_MARKS
from .opening import PARQUET_MAGIC, first_bytes
from .table import format_of_suffix

SHORT_HEAD_BYTES = 1 << 12
HEAD_BYTES = 1 << 16
_JSON_START = re.compile(rb'\{\s*(?:["}]|\Z)|\[\s*(?:[\[{"\]\-0-9tfn]|\Z)')
_LINE = re.compile(rb"[^\r\n]+")
_DELIMITERS = {b"\t": "tsv", b",": "csv", b";": "csv", b"|": "csv"}

# Where in the file, which bytes, what such a file is, and what to give instead.
_FOREIGN = (
    (0, b"\xff\xfe\x00\x00", "UTF-32 text", "save it as UTF-8, or say --encoding utf-32"),
    (0, b"\x00\x00\xfe\xff", "UTF-32 text", "save it as UTF-8, or say --encoding utf-32"),
    (0, b"PK\x03\x04", "a zip archive (an .xlsx sheet is one too)", "unpack it, or save the sheet as CSV in UTF-8"),
    (0, b"BZh", "bzip2-compressed", "unpack it, or compress it with gzip or zstd"),
    (0, b"\xfd7zXZ", "xz-compressed", "unpack it, or compress it with gzip or zstd"),
    (0, b"7z\xbc\xaf", "a 7-Zip archive", "unpack it, or compress it with gzip or zstd"),
    (257, b"ustar", "a tar archive", "unpack it and name a file of it"),
    (0, b"ARROW1", "an Arrow IPC file", "write it as Parquet"),
    (0, b"SQLite format 3\x00", "an SQLite database", "export the table as CSV"),
    (0, b"\x80\x04", "a Python pickle, which is never opened", "write it as JSON, CSV or Parquet"),
    (0, b"\x80\x05", "a Python pickle, which is never opened", "write it as JSON, CSV or Parquet"),
    (0, b"%PDF-", "a PDF", "name the file of rows"),
)


def detect(source: Source) -> str:
    """The name of the source's format; an empty file and one of a kind that we do not read are refused."""
    head = _head(source)
    if not head:
        raise refusal("empty", source=source.name)
    if head.startswith(PARQUET_MAGIC):
        return "parquet"
    _refuse_foreign(head, source.name)
    suffix = format_of_suffix(source.name)
    text = head.removeprefix(BOM)
    line, rest = _first_row(text)
    if _JSON_START.match(line):
        return _json_or_jsonl(line, rest, suffix)
    return _delimited(line, suffix) or "trec"


def is_split_by(source: Source, delimiter: str) -> bool:
    """Whether the first row is a header between such delimiters."""
    line, _ = _first_row(_head(source).removeprefix(BOM))
    return _is_header(line, delimiter.encode())


def _head(source: Source) -> bytes:
    """The start of the source: a little where that holds the first row and more, else more of it."""
    head = first_bytes(source.open, SHORT_HEAD_BYTES)
    whole = len(head) < SHORT_HEAD_BYTES or _first_row(head.removeprefix(BOM))[1]
    return head if whole else first_bytes(source.open, HEAD_BYTES)


def _is_header(line: bytes, delimiter: bytes) -> bool:
    if delimiter not in line:
        return False
    names = [field.strip(b'" ').decode(errors="replace") for field in line.split(delimiter)]
    return is_header(names)


def _refuse_foreign(head: bytes, name: str) -> None:
    for offset, magic, what, instead in _FOREIGN:
        if head.startswith(magic, offset):
            raise fault("foreign", source=name, what=what, instead=instead)
    if head.startswith(UTF16_MARKS):
        raise refusal("utf16", source=name)


def _first_row(text: bytes) -> tuple[bytes, bytes]:
    """The first line that is neither blank nor a comment, and what follows it."""
    for found in _LINE.finditer(text):
        line = found.group()
        if line.strip() and not line.startswith(b"#"):
            return line.strip(b" "), text[found.end() :]
    return b"", b""


def _json_or_jsonl(line: bytes, rest: bytes, suffix: str | None) -> str:
    if suffix == "jsonl":
        return suffix
    import json

    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return "json"
    if rest.strip():
        return "jsonl"
    row = isinstance(value, dict) and is_header(tuple(value)) and not any(isinstance(cell, dict) for cell in value.values())
    return "jsonl" if row else "json"


def _delimited(line: bytes, suffix: str | None) -> str | None:
    """A table where the line names a query and a document, or where it is no row of TREC text and looks like one of a table."""
    for delimiter, name in _DELIMITERS.items():
        if _is_header(line, delimiter):
            return name
    columns = len(line.split())
    if columns == 4 or columns >= 6:
        return None
    if suffix in ("csv", "tsv"):
        return suffix
    lone = columns == 1 and max(line.count(b","), line.count(b";")) >= 2
    return "csv" if lone else None
