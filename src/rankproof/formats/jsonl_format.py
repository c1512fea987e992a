"""JSONL: one object a line, its fields named as columns are; qrels like those of seed 001 have `rel`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..data.marks import PEOPLE
from ..data.qrels import Qrels
from ..data.refusals import MAX_LINE_BYTES
from ..data.run import Run
from ..data.source import Source
from . import records, strict_json
from .columns import Kind, kind_by_names
from .lines import numbered_text
from .ranked import ranked_rows
from .rows import Options, qrels_of, run_of


def objects(source: Source, *, limit: int = MAX_LINE_BYTES) -> Iterator[tuple[int, Any]]:
    """The value of every line that is neither blank nor a comment, with its number."""
    for line, text in numbered_text(source, limit=limit):
        if text.strip() and not text.startswith("#"):
            yield line, strict_json.parse(text.rstrip("\r\n"), source=source.name, line=line)


class JsonLinesFormat:
    """One row a line."""

    def read_qrels(self, source: Source, options: Options) -> Qrels:
        return qrels_of(records.judgements(objects(source), source.name, options), source=source.name)

    def read_run(self, source: Source, name: str, options: Options) -> Run:
        rows = records.run_rows(objects(source), source.name, options)
        return run_of(rows, name=name, source=source.name, reading=options.reading)

    def kind(self, source: Source, options: Options) -> Kind | None:
        first = next(objects(source), (0, None))[1]
        return kind_by_names(tuple(first)) if isinstance(first, dict) else None

    def run_blocks(self, run: Run) -> Iterator[bytes]:
        tag = {"tag": run.tags[0]} if len(run.tags) == 1 else {}
        for row in ranked_rows(run):
            yield json_line({"query_id": row.query, "doc_id": row.doc, "rank": row.rank, "score": row.score, **tag})

    def qrels_blocks(self, qrels: Qrels) -> Iterator[bytes]:
        for query, docs in qrels.items():
            for doc, grade in docs.items():
                mark = {"judged_by": qrels.marks.get((query, doc), PEOPLE)} if qrels.marks else {}
                yield json_line({"query_id": query, "doc_id": doc, "rel": grade, **mark})


def json_line(record: dict[str, Any]) -> bytes:
    """One line of JSONL, with its end."""
    import json

    return json.dumps(record, ensure_ascii=False, allow_nan=False).encode() + b"\n"


JSONL = JsonLinesFormat()
