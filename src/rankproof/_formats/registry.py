"""The shelf of file formats: their names, suffixes, and where each is read and written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast

from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._formats.columns import Kind
from rankproof._formats.rows import ParseOptions
from rankproof._io.streams import ByteSource
from rankproof.errors import UsageError, for_message

COMPRESSED_SUFFIXES = (".gz", ".zst")


class FileFormat(Protocol):
    """What a format can do; blocks are the bytes of a file in order.

    One whose runs alignment can take as an Arrow stream has `run_stream(source, order)` besides.
    """

    def read_qrels(self, source: ByteSource, options: ParseOptions) -> Qrels: ...

    def read_run(self, source: ByteSource, name: str, options: ParseOptions) -> Run: ...

    def kind(self, source: ByteSource, options: ParseOptions) -> Kind | None: ...

    def run_blocks(self, run: Run) -> Iterator[bytes]: ...

    def qrels_blocks(self, qrels: Qrels) -> Iterator[bytes]: ...


@dataclass(frozen=True, slots=True)
class FormatComponent:
    """One format; its module is loaded when it is first needed."""

    name: str
    module: str
    value: str
    suffixes: tuple[str, ...]

    def load(self) -> FileFormat:
        return cast(FileFormat, getattr(import_module(f".{self.module}", __package__), self.value))


FORMATS: dict[str, FormatComponent] = {
    entry.name: entry
    for entry in (
        FormatComponent("trec", "trec", "TREC", (".trec", ".run", ".qrels", ".qrel", ".txt", ".res")),
        FormatComponent("beir", "beir", "BEIR", ()),
        FormatComponent("csv", "csv", "CSV", (".csv",)),
        FormatComponent("tsv", "csv", "TSV", (".tsv", ".tab")),
        FormatComponent("json", "json", "JSON", (".json",)),
        FormatComponent("jsonl", "json", "JSONL", (".jsonl", ".ndjson")),
        FormatComponent("parquet", "parquet", "PARQUET", (".parquet", ".pq")),
    )
}
KEEPS_JUDGE_LABELS = ("trec", "csv", "tsv", "beir", "jsonl")
"""Formats of qrels that have a place for who judged."""
_FORMAT_OF_SUFFIX = {suffix: entry.name for entry in FORMATS.values() for suffix in entry.suffixes}


def format_named(name: str) -> FileFormat:
    """The format of that name."""
    if not isinstance(name, str) or name not in FORMATS:
        raise UsageError(f"no format is called {for_message(str(name))}", fix=f"choose one of {', '.join(FORMATS)}")
    return FORMATS[name].load()


def format_of_suffix(path: str) -> str | None:
    """The format that the file's name speaks of, compression left aside."""
    stem, suffix = os.path.splitext(path.lower())
    if suffix in COMPRESSED_SUFFIXES:
        suffix = os.path.splitext(stem)[1]
    return _FORMAT_OF_SUFFIX.get(suffix)


def system_name(path: str) -> str:
    """What a run is called after its file: the file's name without known suffixes."""
    if path == "-":
        return "stdin"
    name = os.path.basename(path.rstrip("/")) or path
    while True:
        stem, suffix = os.path.splitext(name)
        if not stem or (suffix.lower() not in _FORMAT_OF_SUFFIX and suffix.lower() not in COMPRESSED_SUFFIXES):
            return name
        name = stem
