"""Queries put into segments: by a field, by length, by the number of relevant documents, or by a file."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..errors import InputError, shown

if TYPE_CHECKING:
    from ..analysis.evidence import Evidence
    from ..analysis.segments.groups import Grouping

_HEADERS = ("query", "query_id", "query-id", "qid", "_id", "id")


def add_by(group: argparse._ArgumentGroup) -> None:
    """The options that say what a segment is."""
    group.add_argument(
        "--by",
        action="append",
        metavar="FIELD",
        help="a field of the queries, length, or relevant (how many relevant documents); repeatable",
    )
    group.add_argument("--by-file", metavar="FILE", help="a CSV file with a query and its segment a line")


def groupings(evidence: Evidence, args: argparse.Namespace) -> Iterator[Grouping]:
    """What was asked for; where nothing was, the category, or the length, or the number of relevant documents."""
    from ..analysis.segments.groups import by_list, default_by, grouped

    names = args.by or ([] if args.by_file else [default_by(evidence)])
    yield from (grouped(evidence, name) for name in dict.fromkeys(names))
    if args.by_file:
        listed = read_segments(args.by_file, args.delimiter, args.encoding)
        yield by_list(evidence, listed, os.path.basename(args.by_file))


def read_segments(path: str, delimiter: str | None, encoding: str) -> dict[str, str]:
    """Query to segment; a header line may stand first, and an empty segment means none."""
    from ..formats.delimited import checked_delimiter, split_rows
    from ..formats.lines import numbered_text
    from ..formats.opening import open_source

    source = open_source(path, encoding=encoding)
    parted = checked_delimiter(delimiter) or ("\t" if path.endswith((".tsv", ".tsv.gz")) else ",")
    found: dict[str, tuple[str, int]] = {}
    for at, (line, fields, comment) in enumerate(split_rows(numbered_text(source), parted, source.name)):
        if comment or (at == 0 and fields[0].strip().lower() in _HEADERS):
            continue
        query, segment = _pair(fields, source.name, line)
        earlier = found.setdefault(query, (segment, line))
        if earlier[0] != segment:
            what = f"query {shown(query)} is in {shown(segment)} here and in {shown(earlier[0])} on line {earlier[1]}"
            raise InputError(what, fix="put each query into one segment", source=source.name, line=line)
    if not found:
        raise InputError("there is no query", fix="write a query and its segment a line: q1,timing", source=source.name)
    return {query: segment for query, (segment, _) in found.items()}


def _pair(fields: list[str], source: str, line: int) -> tuple[str, str]:
    if len(fields) != 2:
        what = f"{len(fields)} columns where a query and its segment are 2"
        raise InputError(what, fix="write q1,timing, or name the delimiter with --delimiter", source=source, line=line)
    return fields[0].strip(), fields[1].strip()
