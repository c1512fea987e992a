"""The file formats by name, one line each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._formats.columns import Kind
from rankproof._formats.rows import ParseOptions
from rankproof._io.paths import is_pattern, pattern_name
from rankproof._io.streams import ByteSource
from rankproof._registry import Component, Registry
from rankproof.errors import UsageError, for_message

COMPRESSED_SUFFIXES = (".gz", ".zst")


class FileFormat(Protocol):
    """What a format does; blocks are the bytes of a file in order.

    `keeps_judge_labels` says that its qrels can name the judge of each judgement, `keeps_empty_queries` that its runs can hold a
    query without documents. A format whose runs can be read as an Arrow stream also has `run_stream(source, order)`. A format of
    another package also has `suffixes`, such as (".xml",).
    """

    keeps_judge_labels: bool
    keeps_empty_queries: bool

    def read_qrels(self, source: ByteSource, options: ParseOptions) -> Qrels: ...

    def read_run(self, source: ByteSource, name: str, options: ParseOptions) -> Run: ...

    def kind(self, source: ByteSource, options: ParseOptions) -> Kind | None: ...

    def run_blocks(self, run: Run) -> Iterator[bytes]: ...

    def qrels_blocks(self, qrels: Qrels) -> Iterator[bytes]: ...


@dataclass(frozen=True, slots=True)
class FormatComponent(Component):
    """A format by its name, with the suffixes of its files."""

    suffixes: tuple[str, ...] = ()


_COMPONENTS = (
    FormatComponent(
        "trec",
        "rankproof._formats.trec:TREC",
        "columns separated by white space: 4 in qrels, 6 in a run",
        suffixes=(".trec", ".run", ".qrels", ".qrel", ".txt", ".res"),
    ),
    FormatComponent("beir", "rankproof._formats.csv:BEIR", "BEIR qrels: query-id, corpus-id, score, separated by tabs"),
    FormatComponent("csv", "rankproof._formats.csv:CSV", "a table with a header, separated by commas", suffixes=(".csv",)),
    FormatComponent("tsv", "rankproof._formats.csv:TSV", "a table with a header, separated by tabs", suffixes=(".tsv", ".tab")),
    FormatComponent(
        "json", "rankproof._formats.json:JSON", "{query: {document: number}}, or an array of rows", suffixes=(".json",)
    ),
    FormatComponent("jsonl", "rankproof._formats.json:JSONL", "one JSON object per line", suffixes=(".jsonl", ".ndjson")),
    FormatComponent("parquet", "rankproof._formats.arrow:PARQUET", "a Parquet table", "parquet", suffixes=(".parquet", ".pq")),
)
FORMATS: Registry[FileFormat] = Registry("format", "rankproof.formats", _COMPONENTS)
_OWN_SUFFIXES = {suffix: component.name for component in _COMPONENTS for suffix in component.suffixes}


def format_named(name: str) -> FileFormat:
    """The format of that name."""
    if not isinstance(name, str) or name not in FORMATS:
        raise UsageError(f"no format is called {for_message(str(name))}", fix=f"choose one of {', '.join(FORMATS)}")
    format: FileFormat = FORMATS[name]
    return format


def own_format_of_suffix(path: str) -> str | None:
    """The format of this package with the file's suffix, which may be followed by one of compression."""
    return _OWN_SUFFIXES.get(_suffix(path))


def format_of_suffix(path: str) -> str | None:
    """The format with the file's suffix, of this package or of another."""
    suffix = _suffix(path)
    return _OWN_SUFFIXES.get(suffix) or (_other_suffixes().get(suffix) if suffix else None)


def _suffix(path: str) -> str:
    stem, suffix = os.path.splitext(path.lower())
    return os.path.splitext(stem)[1] if suffix in COMPRESSED_SUFFIXES else suffix


@cache
def _other_suffixes() -> dict[str, str]:
    """The suffixes of formats of other packages, all of which are imported."""
    return {suffix: name for name in FORMATS.entry_points() for suffix in getattr(FORMATS[name], "suffixes", ())}


def system_name(path: str) -> str:
    """The name of a run: the name of its file without known suffixes."""
    if path == "-":
        return "stdin"
    if is_pattern(path):
        path = pattern_name(path)
    name = os.path.basename(path.rstrip("/")) or path
    while True:
        stem, suffix = os.path.splitext(name)
        if not stem or (suffix.lower() not in _OWN_SUFFIXES and suffix.lower() not in COMPRESSED_SUFFIXES):
            return name
        name = stem
