"""What an importer takes and returns: the source, the options, the dataset, and the counts of what was read, kept and dropped."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from rankproof._data.answers import Answers
from rankproof._data.dataset import Dataset
from rankproof._data.grades import GradeMap
from rankproof._data.qrels import Qrels
from rankproof._data.row_errors import OnConflict
from rankproof._data.run import Run
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import pluralise
from rankproof._data.view import View, ViewedTables
from rankproof._formats.columns import TEXT_ID_NAMES, TEXT_NAMES, normalised_name
from rankproof._formats.json import JsonContent
from rankproof._formats.registry import format_of_suffix, system_name
from rankproof._formats.source_table import SourceTable, is_query_list, open_frame, open_table, table_format
from rankproof._formats.texts import MAX_TEXT_BYTES
from rankproof._io.corpus_store import CorpusStorage
from rankproof._io.files import check_folder_file
from rankproof._io.open import STDIN, numbered_text_lines, open_source, read_progress
from rankproof._io.streams import ByteSource
from rankproof.errors import InputError, UsageError, for_message

_DEEPEST_FOLDER = 3
_DATASET_FILE = re.compile(r"(queries(\..+)?|corpus)\.jsonl(\.gz|\.zst)?")
_DATASET_TABLE = re.compile(r"(queries|corpus)(?:[.-].+)?\.(?:csv|tsv|txt)(?:\.gz|\.zst)?")
_QUERY_LIST = re.compile(r"(queries|searches)\.txt(\.gz|\.zst)?", re.IGNORECASE)
_TABLE_FORMATS = ("csv", "tsv", "jsonl", "parquet")


@dataclass(frozen=True)
class ImportSource:
    """What is imported: files and folders, or a data frame; `storage` keeps the documents."""

    paths: tuple[str, ...] = ()
    frame: Any = None
    delimiter: str | None = None
    encoding: str = "utf-8"
    storage: CorpusStorage = field(default_factory=CorpusStorage)

    @property
    def name(self) -> str:
        """The source for messages."""
        return ", ".join(self.paths) or "table"

    @property
    def stem(self) -> str:
        """The name of the dataset: that of the first file or folder without its suffix."""
        if not self.paths:
            return "table"
        return system_name(self.paths[0] if self.paths[0] == STDIN else os.path.abspath(self.paths[0]))

    @cached_property
    def files(self) -> Mapping[str, str]:
        """Every file by its name, those of a folder by their path in it."""
        files: dict[str, str] = {}
        for path in self.paths:
            if os.path.isdir(path):
                files.update(_files_in(path))
            else:
                files[os.path.basename(path)] = path
        return files

    @property
    def file(self) -> str | None:
        """The path of the only file; None where a folder, several files or a frame are given."""
        return self.paths[0] if len(self.paths) == 1 and not os.path.isdir(self.paths[0]) else None

    @property
    def plain_files(self) -> tuple[str, ...]:
        """The paths if all of them are files, else none."""
        return self.paths if all(path == STDIN or os.path.isfile(path) for path in self.paths) else ()

    @cached_property
    def system_names(self) -> Mapping[str, str]:
        """The name of the system behind each file: the file's without suffix; files of one name are told apart by folders."""
        names = [system_name(path) for path in self.plain_files]
        return {
            path: name if names.count(name) == 1 else f"{os.path.basename(os.path.dirname(os.path.abspath(path)))}-{name}"
            for name, path in zip(names, self.plain_files, strict=True)
        }

    def format_of(self, path: str) -> str:
        """How the file is written: parquet, json, jsonl or text."""
        return table_format(self._source_of(path))

    def lines_of(self, path: str) -> Iterator[tuple[int, str]]:
        """The lines of the file with their endings and numbers."""
        return numbered_text_lines(self._source_of(path), limit=MAX_TEXT_BYTES)

    def json_of(self, path: str) -> JsonContent:
        """The value in a file of one JSON value, read once."""
        if path not in self._contents:
            self._contents[path] = JsonContent(self._source_of(path), nan_is_null=True)
        return self._contents[path]

    def table_of(self, path: str, delimiter: str | None = None) -> SourceTable:
        """The table in the file; a file that is no table is an error. The delimiter is detected unless one is given."""
        char = self.delimiter or delimiter
        if (path, char) not in self._tables:
            self._tables[path, char] = open_table(self._source_of(path), char)
        return self._tables[path, char]

    @cached_property
    def table(self) -> SourceTable | None:
        """The table in the frame or the only file; None where there is none."""
        if self.frame is not None:
            return open_frame(self.frame, self.name)
        if self.file is None or (self.format_of(self.file) == "json" and not isinstance(self.json, list)):
            return None
        return self.table_of(self.file)

    @cached_property
    def is_query_list(self) -> bool:
        """Whether the only file is a list of queries, one on each line."""
        return self.file is not None and self.delimiter is None and is_query_list(self._source_of(self.file))

    @cached_property
    def tables(self) -> Mapping[str, SourceTable]:
        """The tables among the files, by name; a file with the suffix of a table that cannot be read is an error."""
        return {name: self.table_of(path) for name, path in self.files.items() if self._is_table(name, path)}

    def _is_table(self, name: str, path: str) -> bool:
        """Whether a file is a table by its suffix, or a list of queries, which in a folder has the name of one."""
        suffix = format_of_suffix(name)
        if suffix == "json" and len(self.files) > 1:
            return self.format_of(path) != "json" or self.json_of(path).is_array
        may_be_list = path in self.paths or _QUERY_LIST.fullmatch(os.path.basename(name))
        return suffix in _TABLE_FORMATS or bool(may_be_list and is_query_list(self._source_of(path)))

    @cached_property
    def json(self) -> Any:
        """The value in the only file if that is one JSON value, else None."""
        if self.file is None or self.format_of(self.file) != "json":
            return None
        return self.json_of(self.file).value

    def _source_of(self, path: str) -> ByteSource:
        """The file at the path, opened once: standard input cannot be opened again, and a pipe is waited for."""
        if path not in self._opened:
            (report,) = read_progress([path], self.storage.progress)
            try:
                self._opened[path] = open_source(path, encoding=self.encoding, progress=report)
            except InputError as error:
                self._opened[path] = error
        source = self._opened[path]
        if isinstance(source, InputError):
            raise source
        return source

    @cached_property
    def _opened(self) -> dict[str, ByteSource | InputError]:
        return {}

    @cached_property
    def _contents(self) -> dict[str, JsonContent]:
        return {}

    @cached_property
    def _tables(self) -> dict[tuple[str, str | None], SourceTable]:
        return {}


def is_dataset_folder(path: str) -> bool:
    """Whether the path is a folder with queries in the form of rankproof and BEIR: JSONL, or a table with the same names."""
    if not os.path.isdir(path):
        return False
    names = os.listdir(path)
    if any(map(_DATASET_FILE.fullmatch, names)):
        return "default" not in names
    tables = [(match[1], os.path.join(path, name)) for name in sorted(names) if (match := _DATASET_TABLE.fullmatch(name))]
    return {part for part, _ in tables} == {"queries", "corpus"} and all(_has_text_columns(table, part) for part, table in tables)


def _has_text_columns(path: str, part: str) -> bool:
    """Whether a table has columns of ids and texts that are called like the keys of JSONL, or is a list of queries."""
    try:
        source = open_source(path)
        names = {*map(normalised_name, open_table(source).names)}
    except InputError:
        return False
    ids = TEXT_ID_NAMES["query" if part == "queries" else "document"]
    is_list = part == "queries" and is_query_list(source)
    return is_list or not (names.isdisjoint(ids) or names.isdisjoint(TEXT_NAMES))


def _files_in(folder: str) -> dict[str, str]:
    files = {}
    for place, folders, names in os.walk(folder):
        within = os.path.relpath(place, folder)
        depth = 0 if within == os.curdir else within.count(os.sep) + 1
        folders[:] = sorted(name for name in folders if not name.startswith(".")) if depth < _DEEPEST_FOLDER else []
        for name in sorted(names):
            path = os.path.join(place, name)
            check_folder_file(path, folder)
            files[os.path.relpath(path, folder).replace(os.sep, "/")] = path
    return files


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """The options of an import; `settings` are those of the importer, by name.

    The columns of a table are named if they are not recognised by name; several columns of text are joined.
    """

    query_column: str | None = None
    query_id_column: str | None = None
    doc_id_column: str | None = None
    title_column: str | None = None
    text_column: tuple[str, ...] = ()
    grade_column: str | None = None
    weight_column: str | None = None
    grade_map: GradeMap | None = None
    on_conflict: OnConflict = "error"
    split: str = "test"
    settings: Mapping[str, str] = field(default_factory=dict)

    def switch(self, name: str) -> bool:
        """The setting as yes or no; no where it is not given."""
        value = self.settings.get(name, "no").lower()
        if value not in ("yes", "no", "true", "false"):
            raise UsageError(f"{name} is {for_message(value)}", fix=f"write --set {name}=yes or --set {name}=no")
        return value in ("yes", "true")

    @property
    def named_columns(self) -> list[str]:
        """The options that name a column."""
        names = [name for name in self.__slots__ if name.endswith("_column")]
        return [f"--{name.replace('_', '-')}" for name in names if getattr(self, name)]

    @property
    def is_judged_only(self) -> bool:
        """Whether the setting `corpus` chooses only judged documents."""
        value = self.settings.get("corpus", "all")
        if value not in ("all", "judged"):
            raise UsageError(f"corpus is {for_message(value)}", fix="write --set corpus=judged or --set corpus=all")
        return value == "judged"


class Importer(Protocol):
    """One kind of source; `settings` has the importer's own options, each with its description.

    `detect` says whether the content is of this kind, by file names, columns and keys, without reading all of it.
    """

    settings: Mapping[str, str]

    def detect(self, source: ImportSource) -> bool: ...

    def read(self, source: ImportSource, options: ImportOptions) -> Imported: ...


@dataclass(frozen=True, slots=True)
class Dropped:
    """How many items were dropped for one reason, and the line of the first."""

    reason: str
    count: int
    line: int | None = None

    def __str__(self) -> str:
        where = "" if self.line is None else f" (first at line {self.line})"
        return f"{self.count} {self.reason}{where}"


@dataclass(frozen=True, slots=True)
class PartCount:
    """How many rows, queries, documents or judgements were read and kept."""

    part: str
    read: int
    dropped: tuple[Dropped, ...] = ()

    @property
    def kept(self) -> int:
        """Those that were not dropped."""
        return self.read - sum(drop.count for drop in self.dropped)


class ImportCounts:
    """Counts what an importer reads and drops, part by part."""

    def __init__(self) -> None:
        self._read: dict[str, int] = {}
        self._dropped: dict[str, dict[str, Dropped]] = {}

    def read(self, part: str, count: int = 1) -> None:
        """Counts what was read."""
        self._read[part] = self._read.get(part, 0) + count

    def drop(self, part: str, reason: str, *, line: int | None = None, count: int = 1) -> None:
        """Counts what was read and not kept; the reason continues "12 …", as in "without a grade"."""
        reasons = self._dropped.setdefault(part, {})
        earlier = reasons.get(reason, Dropped(reason, 0, line))
        reasons[reason] = Dropped(reason, earlier.count + count, earlier.line)

    def include(self, parts: Iterable[PartCount]) -> None:
        """Counts what another reader read and dropped."""
        for count in parts:
            self.read(count.part, count.read)
            for why in count.dropped:
                self.drop(count.part, why.reason, line=why.line, count=why.count)

    def read_judgements(self, qrels: Qrels) -> None:
        """Counts the judgements of a file that was read whole."""
        self.read("judgements", sum(map(len, qrels.values())) + qrels.repeats + qrels.conflicts)
        self.drop_repeats(qrels)
        if qrels.conflicts:
            self.drop("judgements", f"second grades of a pair (--on-conflict {qrels.on_conflict})", count=qrels.conflicts)

    def drop_repeats(self, qrels: Qrels) -> None:
        """Counts the judgements that repeat another one."""
        if qrels.repeats:
            self.drop("judgements", "exact repeats", count=qrels.repeats)

    def parts(self) -> tuple[PartCount, ...]:
        """The counts so far."""
        return tuple(PartCount(part, read, tuple(self._dropped.get(part, {}).values())) for part, read in self._read.items())


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import read, kept and dropped; `columns` maps each role to its column, `notes` are remarks."""

    importer: str
    source: str
    counts: tuple[PartCount, ...]
    columns: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def sentences(self) -> tuple[str, ...]:
        """The columns and what was dropped, in words."""
        dropped = (f"{count.part}: {', '.join(map(str, count.dropped))}, dropped" for count in self.counts if count.dropped)
        return (*self._columns_sentence(), *dropped, *self.notes)

    def table(self) -> Table:
        """The counts of each part, with the reasons for what was dropped."""
        columns = (Column("part"), Column("read", "count"), Column("kept", "count"), Column("dropped", "count"), Column("why"))
        rows = tuple(self._row(count) for count in self.counts)
        return Table("import", f"{self.source} as {self.importer}", columns, rows, self._columns_sentence(), self.notes)

    def _columns_sentence(self) -> tuple[str, ...]:
        columns = ", ".join(f"{role} = {for_message(name)}" for role, name in self.columns.items())
        return (f"columns: {columns}",) if columns else ()

    def _row(self, count: PartCount) -> tuple[CellValue, ...]:
        return count.part, count.read, count.kept, count.read - count.kept, ", ".join(map(str, count.dropped))

    def document(self) -> dict[str, Any]:
        """The report as JSON."""
        counts = [
            {
                "part": count.part,
                "read": count.read,
                "kept": count.kept,
                "dropped": [{"reason": why.reason, "count": why.count, "first_line": why.line} for why in count.dropped],
            }
            for count in self.counts
        ]
        parts = {"importer": self.importer, "source": self.source, "columns": dict(self.columns)}
        return {**parts, "counts": counts, "notes": list(self.notes)}


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Imported(ViewedTables):
    """A dataset, the rankings and answers that came with it, and what was read, kept and dropped.

    `contexts` has the text of each passage that an answer was given, by id.
    """

    dataset: Dataset
    report: ImportReport
    runs: Mapping[str, Run] = field(default_factory=dict)
    answers: Mapping[str, Answers] = field(default_factory=dict)
    contexts: Mapping[str, str] = field(default_factory=dict)

    def _view(self) -> View:
        table = self.report.table()
        return View(f"Imported: {self.dataset.name}", (table,), notes=self.report.notes)


def whole_dataset(dataset: Dataset, importer: str, source: ImportSource, notes: Sequence[str] = ()) -> Imported:
    """The import of a dataset that a reader of `_formats` gives whole: it refuses what it cannot keep, but for repeats."""
    counts = ImportCounts()
    counts.read("documents", len(dataset.corpus))
    counts.read("queries", len(dataset.queries))
    counts.read_judgements(dataset.qrels)
    remarks = (*notes, *dataset.qrels.grade_notes(), *missing_parts(dataset))
    return Imported(dataset, ImportReport(importer, source.name, counts.parts(), notes=remarks))


def missing_parts(dataset: Dataset) -> Iterator[str]:
    """Says how many judged queries have no text, and how many judged documents the corpus lacks."""
    if missing := dataset.missing_queries():
        have = pluralise(len(missing), "judged query", "judged queries")
        yield f"{have} without a text, such as {for_message(missing[0])}"
    if missing := dataset.missing_documents():
        yield f"{pluralise(len(missing), 'judged document')} not in the corpus, such as {for_message(missing[0])}"
