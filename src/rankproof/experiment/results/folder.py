"""The results folder: a climb as plain files that any tool can read, written whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress

from ...data.run import Run
from ...errors import InputError
from ...formats.atomic import write_blocks
from ...formats.beir import BEIR
from ...formats.harmless import for_json
from ...formats.opening import StrPath, path_text
from ...formats.texts_format import text_blocks
from ...formats.writing import write_run
from ..rung import Climb
from .answers import ANSWERS, blocks_of
from .answers import SUMMARY as ANSWERS_SUMMARY
from .answers import TABLE as ANSWERS_TABLE
from .answers_summary import answers_summary
from .answers_table import answers_csv
from .digests import digest_of
from .document import FORMAT, document, written
from .files import EXPERIMENT, QRELS, QUERIES, RESULT, RUNS, SNIPPETS
from .load import load
from .names import file_names
from .strangers import refuse_strangers
from .swap import check_place, replaced_folder
from .tables import chunks_csv, per_query_csv, summary_csv

__all__ = ["check_folder", "load", "save"]

SUMMARY = "summary.csv"
PER_QUERY = "per_query.csv"
CHUNKS = "chunks.csv"
REPORT = "report.html"
"""Not written here: the page is made from the folder."""
_OF_ANSWERS = (ANSWERS, ANSWERS_TABLE, ANSWERS_SUMMARY)
_BEGINNING = 4096


def save(climb: Climb, path: StrPath, *, findings: Sequence[str] = ()) -> str:
    """Writes the climb as the folder at the path, in place of an older one of ours; gives the path.

    `findings` are sentences about answers that stand in their summary.
    """
    goal = path_text(path)
    with replaced_folder(goal, _may_replace) as folder:
        os.mkdir(os.path.join(folder, RUNS))
        files = dict(_runs(climb, folder))
        pages = {SUMMARY: summary_csv(climb), PER_QUERY: per_query_csv(climb), EXPERIMENT: climb.experiment}
        if climb.chunks:
            pages[CHUNKS] = chunks_csv(climb, climb.chunks)
        answered = any(rung.answers is not None for rung in climb.rungs)
        if answered:
            summary = json.dumps(answers_summary(climb, findings), ensure_ascii=False, indent=1, allow_nan=False)
            pages |= {ANSWERS_TABLE: answers_csv(climb), ANSWERS_SUMMARY: f"{for_json(summary)}\n"}
            write_blocks(os.path.join(folder, ANSWERS), blocks_of(climb))
        for name, text in pages.items():
            write_blocks(os.path.join(folder, name), [text.encode(errors="backslashreplace")])
        write_blocks(os.path.join(folder, QRELS), BEIR.qrels_blocks(climb.qrels))
        write_blocks(os.path.join(folder, QUERIES), text_blocks(climb.texts))
        write_blocks(os.path.join(folder, SNIPPETS), _snippets(climb))
        read_again = (QRELS, QUERIES, SNIPPETS, EXPERIMENT, *((ANSWERS,) if answered else ()), *files.values())
        digests = {name: digest_of(folder, name) for name in read_again}
        result = written(document(climb, per_query=True, files=files) | {"sha256": digests})
        write_blocks(os.path.join(folder, RESULT), [result.encode(errors="backslashreplace")])
    return goal


def check_folder(path: StrPath) -> None:
    """Refuses, before any work is done, a place at which `save` would refuse to write."""
    check_place(path_text(path), _may_replace)


def is_results_folder(path: str) -> bool:
    """Whether the folder's result.json begins as ours does."""
    try:
        with open(os.path.join(path, RESULT), "rb") as file:
            return f'"format": "{FORMAT}"'.encode() in file.read(_BEGINNING)
    except OSError:
        return False


def _may_replace(path: str) -> bool:
    """Whether it is a results folder; one with other files in it is refused, for they would be lost."""
    ours = is_results_folder(path)
    if ours:
        refuse_strangers(path, (SUMMARY, PER_QUERY, CHUNKS, REPORT, EXPERIMENT, QRELS, QUERIES, SNIPPETS, *_OF_ANSWERS))
    return ours


def _runs(climb: Climb, folder: str) -> Iterator[tuple[str, str]]:
    """Where each run lies."""
    for name, plain in file_names(rung.name for rung in climb.rungs).items():
        yield name, _run_file(climb.rung(name).run, folder, f"{RUNS}/{plain}")


def _run_file(run: Run, folder: str, start: str) -> str:
    """The run as TREC text, or as JSONL where TREC text cannot hold an id; only JSON can say that nothing was found."""
    *others, last = ("trec", "jsonl") if len(run.docs) else ("json",)
    for kind in others:
        with suppress(InputError):
            write_run(run, os.path.join(folder, f"{start}.{kind}.gz"), kind)
            return f"{start}.{kind}.gz"
    write_run(run, os.path.join(folder, f"{start}.{last}.gz"), last)
    return f"{start}.{last}.gz"


def _snippets(climb: Climb) -> Iterator[bytes]:
    for doc, text in climb.snippets.items():
        known = {"title": climb.titles, "url": climb.urls}
        more = {name: values[doc] for name, values in known.items() if doc in values}
        yield for_json(json.dumps({"_id": doc, "text": text, **more}, ensure_ascii=False)).encode() + b"\n"
