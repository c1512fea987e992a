"""TREC text as a file format: read by `trec`, written so that the same values are read back."""

from __future__ import annotations

from collections.abc import Iterator

from ..data.qrels import Judgement, Qrels
from ..data.refusals import MAX_LINE_BYTES
from ..data.run import Run
from ..data.source import Source
from . import trec
from .columns import Kind
from .faults import fault
from .grades import grade_of_text
from .native_rows import native_qrels, native_run
from .ranked import ranked_rows
from .rows import Options, qrels_of, run_of

_SPACE = frozenset(" \t\n\r\x0b\x0c")


class TrecFormat:
    """Columns between white space: four in qrels, six in a run."""

    def read_qrels(self, source: Source, options: Options) -> Qrels:
        found = native_qrels(source) if options.grade_map is None else None
        return qrels_of(_judgements(source, options), source=source.name) if found is None else found

    def read_run(self, source: Source, name: str, options: Options) -> Run:
        found = native_run(source, name, ranked=options.reading.order == "rank")
        return self._plain_run(source, name, options) if found is None else found

    def _plain_run(self, source: Source, name: str, options: Options) -> Run:
        return run_of(trec.run_rows(source), name=name, source=source.name, reading=options.reading)

    def kind(self, source: Source, options: Options) -> Kind | None:
        found = len(next(trec.numbered_lines(source), (0, b""))[1].split())
        kinds: dict[int, Kind] = {4: "qrels", 6: "run"}
        return kinds.get(min(found, 6))

    def run_blocks(self, run: Run) -> Iterator[bytes]:
        tag = _tag(run)
        for row in ranked_rows(run):
            _refuse_unwritable(row.query, row.doc)
            yield _line(row.query, row.doc, f"{row.query} Q0 {row.doc} {row.rank} {row.score!r} {tag}\n")

    def qrels_blocks(self, qrels: Qrels) -> Iterator[bytes]:
        for query, docs in qrels.items():
            for doc, grade in docs.items():
                _refuse_unwritable(query, doc)
                mark = qrels.marks.get((query, doc), "0")
                yield _line(query, doc, f"{query} {mark} {doc} {grade}\n")


def _judgements(source: Source, options: Options) -> Iterator[Judgement]:
    if options.grade_map is None:
        return trec.qrels_rows(source)

    def mapped(token: bytes, *, source: str, line: int | None) -> int:
        return grade_of_text(token.decode(), options.grade_map, source=source, line=line)

    return trec.qrels_rows(source, mapped)


def _tag(run: Run) -> str:
    """The rest of the line: the run's one tag as it is, else the run's name in one word."""
    if len(run.tags) == 1:
        return run.tags[0].replace("\r", " ").replace("\n", " ").strip(" \t\x0b\x0c") or "run"
    return "_".join(run.name.split()) or "run"


def _refuse_unwritable(query: str, doc: str) -> None:
    for column, text in (("query", query), ("document", doc)):
        if not _SPACE.isdisjoint(text):
            raise fault("unwritable-id", column=column, token=text, reason="holds white space")
    if query.startswith(("#", "\ufeff")):
        raise fault("unwritable-id", column="query", token=query, reason="begins with # or a byte-order mark")


def _line(query: str, doc: str, text: str) -> bytes:
    line = text.encode()
    if len(line) > MAX_LINE_BYTES:
        raise fault("unwritable-line", query=query, doc=doc)
    return line


TREC = TrecFormat()
