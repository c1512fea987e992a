"""Files as opened: source, format by content, name; where a dataset folder has its files, and names of known datasets."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rankproof._data.grades import GradeMap
from rankproof._data.qrels import Qrels
from rankproof._data.row_errors import OnConflict, row_error
from rankproof._data.run import Run
from rankproof._data.validation import Order, ReadOptions
from rankproof._formats.columns import Kind, checked_delimiter, is_header
from rankproof._formats.registry import COMPRESSED_SUFFIXES, format_named, format_of_suffix, own_format_of_suffix, system_name
from rankproof._formats.rows import ParseOptions
from rankproof._io.file_errors import file_error
from rankproof._io.memory import memory_errors_of
from rankproof._io.open import BOM, PARQUET_MAGIC, UTF16_MARKS, StrPath, first_bytes, open_source, path_text
from rankproof._io.streams import HEAD_BYTES, ByteSource, ProgressCallback
from rankproof.errors import InputError, for_message

if TYPE_CHECKING:
    from rankproof._formats.arrow import RowStream, StreamColumns

LONG_HEAD_BYTES = 1 << 16
_JSON_START = re.compile(rb'\{\s*(?:["}]|\Z)|\[\s*(?:[\[{"\]\-0-9tfn]|\Z)')
_LINE = re.compile(rb"[^\r\n]+")
_DELIMITERS = {b"\t": "tsv", b",": "csv", b";": "csv", b"|": "csv"}

# Offset in the file, bytes there, what such a file is, and what to do.
_UNSUPPORTED_TYPES = (
    (0, b"\xff\xfe\x00\x00", "UTF-32 text", "save it as UTF-8; if all files are UTF-32, specify --encoding utf-32"),
    (0, b"\x00\x00\xfe\xff", "UTF-32 text", "save it as UTF-8; if all files are UTF-32, specify --encoding utf-32"),
    (0, b"PK\x03\x04", "a zip archive (an .xlsx sheet is one too)", "unpack it, or save the sheet as CSV in UTF-8"),
    (0, b"BZh", "bzip2-compressed", "unpack it, or compress it with gzip or zstd"),
    (0, b"\xfd7zXZ", "xz-compressed", "unpack it, or compress it with gzip or zstd"),
    (0, b"7z\xbc\xaf", "a 7-Zip archive", "unpack it, or compress it with gzip or zstd"),
    (257, b"ustar", "a tar archive", "unpack it and specify one of its files"),
    (0, b"ARROW1", "an Arrow IPC file", "write it as Parquet"),
    (0, b"SQLite format 3\x00", "an SQLite database", "export the table as CSV"),
    (0, b"\x80\x04", "a Python pickle, which is never opened", "write it as JSON, CSV or Parquet"),
    (0, b"\x80\x05", "a Python pickle, which is never opened", "write it as JSON, CSV or Parquet"),
    (0, b"%PDF-", "a PDF", "extract the data and save it as CSV in UTF-8"),
)


def detect(source: ByteSource) -> str:
    """The name of the source's format; an empty file and one of an unsupported kind are errors."""
    container, line = detect_container(source)
    if container is not None:
        return container
    suffix = own_format_of_suffix(source.name)
    if _is_trec_row(line):
        return _table_with_header(line) or "trec"
    return _delimited_format(line, suffix) or (format_of_suffix(source.name) if suffix is None else None) or "trec"


def detect_container(source: ByteSource) -> tuple[str | None, bytes]:
    """`parquet`, `json` or `jsonl`, None for other text, and the first row; empty and unsupported files are errors."""
    head = _head(source)
    if not head:
        raise row_error("empty", source=source.name)
    if head.startswith(PARQUET_MAGIC):
        return "parquet", b""
    _check_supported(head, source.name)
    line, rest = _first_row(head.removeprefix(BOM))
    if _JSON_START.match(line):
        return _json_or_jsonl(line, rest, own_format_of_suffix(source.name)), line
    return None, line


def has_delimited_header(source: ByteSource, delimiter: str) -> bool:
    """Whether the first row is a header with this delimiter."""
    line, _ = _first_row(_head(source).removeprefix(BOM))
    return _is_header(line, delimiter.encode(errors="surrogatepass"))


def _head(source: ByteSource) -> bytes:
    """The start of the source: 4 KiB where that holds more than the first row, else 64 KiB."""
    head = first_bytes(source.open, HEAD_BYTES) if source.head is None else source.head
    whole = len(head) < HEAD_BYTES or _first_row(head.removeprefix(BOM))[1]
    return head if whole else first_bytes(source.open, LONG_HEAD_BYTES)


def _is_header(line: bytes, delimiter: bytes) -> bool:
    if delimiter not in line:
        return False
    names = [field.strip(b'" ').decode(errors="replace") for field in line.split(delimiter)]
    return is_header(names)


def _check_supported(head: bytes, name: str) -> None:
    for offset, magic, what, instead in _UNSUPPORTED_TYPES:
        if head.startswith(magic, offset):
            raise file_error("foreign", source=name, what=what, instead=instead)
    if head.startswith(UTF16_MARKS):
        raise row_error("utf16", source=name)


def _first_row(text: bytes) -> tuple[bytes, bytes]:
    """The first line that is neither blank nor a comment, and the text after it."""
    for match in _LINE.finditer(text):
        line = match.group()
        if line.strip() and not line.startswith(b"#"):
            return line.strip(b" "), text[match.end() :]
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


def _is_trec_row(line: bytes) -> bool:
    columns = len(line.split())
    return columns == 4 or columns >= 6


def _table_with_header(line: bytes) -> str | None:
    """The format of a table whose header is the line, which then names a query and a document."""
    return next((name for delimiter, name in _DELIMITERS.items() if _is_header(line, delimiter)), None)


def _delimited_format(line: bytes, suffix: str | None) -> str | None:
    """The format of a table, where the line is a header or looks like one, or the suffix says so."""
    if table_format := _table_with_header(line):
        return table_format
    if suffix in ("csv", "tsv"):
        return suffix
    lone = len(line.split()) == 1 and max(line.count(b","), line.count(b";")) >= 2
    return "csv" if lone else None


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """A source, the name of its format, and the name of a run in it."""

    source: ByteSource
    format: str
    name: str
    delimiter: str | None = None

    def qrels(self, *, grade_map: GradeMap | None = None, on_conflict: OnConflict = "error") -> Qrels:
        """The judgements in it."""
        options = ParseOptions(self.delimiter, grade_map, on_conflict=on_conflict)
        with memory_errors_of(self.source.name):
            return format_named(self.format).read_qrels(self.source, options)

    def run(self, *, name: str | None = None, read_options: ReadOptions | None = None) -> Run:
        """The run in it with every row, duplicates included; alignment resolves and counts them."""
        options = ParseOptions(self.delimiter, read_options=read_options or ReadOptions())
        with memory_errors_of(self.source.name):
            return format_named(self.format).read_run(self.source, name or self.name, options)

    def run_stream(self, order: Order = "score") -> tuple[RowStream, StreamColumns] | None:
        """The run in it as an Arrow stream for alignment, None for a format without one."""
        stream = getattr(format_named(self.format), "run_stream", None)
        return None if stream is None else stream(self.source, order)

    def kind(self) -> Kind | None:
        """Whether it holds a run or qrels, None where its content does not say."""
        return format_named(self.format).kind(self.source, ParseOptions(self.delimiter))


def open_file(
    path: StrPath,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    progress: ProgressCallback | None = None,
) -> OpenedFile:
    """The file at the path, its format detected by content unless it is named.

    A delimiter applies if the format is named or the first line is a header with it, so that the delimiter of a run does not
    affect qrels of another format.
    """
    if format is not None:
        format_named(format)
    char = checked_delimiter(delimiter)
    source = open_source(path, encoding=encoding, progress=progress)
    name = system_name(path_text(path))
    if format is None and char is not None and has_delimited_header(source, char):
        return OpenedFile(source, "csv", name, char)
    return OpenedFile(source, format or detect(source), name, char if format is not None else None)


IRDS_PREFIX = "irds:"
SAMPLE = "sample"
"""The name of the built-in dataset."""
SAMPLE_RUN_PREFIX = f"{SAMPLE}:"


def is_irds_name(path: str) -> bool:
    """Whether the path is the name of a dataset of ir_datasets."""
    return path.startswith(IRDS_PREFIX)


def qrels_file(path: str) -> str:
    """The file of judgements: the path itself, or the one in the folder at the path."""
    if not os.path.isdir(path):
        return path
    return qrels_path(path)


DEFAULT_SPLIT = "test"
_SUFFIXES = ("tsv", "jsonl", "txt", "csv")
_QUERY_SUFFIXES = ("jsonl", "csv", "tsv", "txt")
_CORPUS_FILE = re.compile(
    rf"corpus(?P<part>-.*)?\.(?P<suffix>jsonl|parquet|csv|tsv)(?:{'|'.join(map(re.escape, COMPRESSED_SUFFIXES))})?"
)


def query_names(split: str) -> list[str]:
    return [f"{stem}.{suffix}" for suffix in _QUERY_SUFFIXES for stem in (f"queries.{split}", "queries")]


def corpus_files(folder: str) -> list[str]:
    """The files of the folder's documents: one called corpus, or parts such as corpus-1.jsonl.zst, sorted by name."""
    collections: dict[str, list[str]] = {}
    for name in sorted(os.listdir(folder)):
        if match := _CORPUS_FILE.fullmatch(name):
            # Parts of one suffix belong together; any other file is a collection of its own.
            key = match["suffix"] if match["part"] else name
            collections.setdefault(key, []).append(_plain_file(folder, os.path.join(folder, name)))
    files, *others = collections.values() or [[]]
    if others:
        fix = "move one of them to another folder; the parts of a collection are all called corpus-…, with one suffix"
        raise InputError(f"the folder also has {for_message(os.path.basename(others[0][0]))}", fix=fix, source=files[0])
    return files


def _plain_file(folder: str, path: str) -> str:
    from rankproof._io.files import check_folder_file

    check_folder_file(path, folder)
    return path


def is_unjudged(folder: str, split: str) -> bool:
    """Whether the folder has no file of judgements, of this split or another."""
    return find_file(folder, _qrels_names(split)) is None and not _qrels_files(folder)


def other_qrels(folder: str, *, split: str = DEFAULT_SPLIT) -> list[str]:
    """The files in the folder with judgements of other splits."""
    own = find_file(folder, _qrels_names(split))
    return [path for path in _qrels_files(folder) if own is None or os.path.realpath(path) != os.path.realpath(own)]


def _qrels_files(folder: str) -> list[str]:
    endings = tuple(f".{suffix}{packed}" for suffix in _SUFFIXES for packed in ("", *COMPRESSED_SUFFIXES))
    beside = os.path.join(folder, "qrels")
    listed = [os.path.join(beside, name) for name in sorted(os.listdir(beside))] if os.path.isdir(beside) else []
    listed += [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.startswith("qrels.")]
    return [_plain_file(folder, path) for path in listed if path.endswith(endings)]


def qrels_path(folder: str, *, split: str = DEFAULT_SPLIT) -> str:
    """The file in the folder with the judgements of the split; a file without a split in its name is of `test`."""
    return existing_file(folder, _qrels_names(split), "qrels")


def _qrels_names(split: str) -> list[str]:
    stems = (f"qrels/{split}", f"qrels.{split}", *(("qrels",) if split == DEFAULT_SPLIT else ()))
    return [f"{stem}.{suffix}" for suffix in _SUFFIXES for stem in stems]


def find_file(folder: str, names: Iterable[str]) -> str | None:
    """The first file of these names in the folder, compressed or not."""
    paths = (os.path.join(folder, name + suffix) for name in names for suffix in ("", *COMPRESSED_SUFFIXES))
    return next((_plain_file(folder, path) for path in paths if os.path.exists(path)), None)


def existing_file(folder: str, names: Sequence[str], what: str) -> str:
    path = find_file(folder, names)
    if path is None:
        code = "folder-lacks-qrels" if what == "qrels" else "folder-lacks"
        raise file_error(code, source=folder, what=what, expected=names[0])
    return path
