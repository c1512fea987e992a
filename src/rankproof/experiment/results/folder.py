"""The results folder: a climb as plain files that any tool can read, written whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
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
from .digests import digest_of
from .document import FORMAT, document, written
from .load import EXPERIMENT, QRELS, QUERIES, RESULT, RUNS, SNIPPETS, load
from .names import file_names
from .strangers import refuse_strangers
from .swap import check_place, replaced_folder
from .tables import per_query_csv, summary_csv

__all__ = ["check_folder", "load", "save"]

SUMMARY = "summary.csv"
PER_QUERY = "per_query.csv"
_BEGINNING = 4096


def save(climb: Climb, path: StrPath) -> str:
    """Writes the climb as the folder at the path, in place of an older one of ours; gives the path."""
    goal = path_text(path)
    with replaced_folder(goal, _may_replace) as folder:
        os.mkdir(os.path.join(folder, RUNS))
        files = dict(_runs(climb, folder))
        pages = {SUMMARY: summary_csv(climb), PER_QUERY: per_query_csv(climb), EXPERIMENT: climb.experiment}
        for name, text in pages.items():
            write_blocks(os.path.join(folder, name), [text.encode(errors="backslashreplace")])
        write_blocks(os.path.join(folder, QRELS), BEIR.qrels_blocks(climb.qrels))
        write_blocks(os.path.join(folder, QUERIES), text_blocks(climb.texts))
        write_blocks(os.path.join(folder, SNIPPETS), _snippets(climb))
        digests = {name: digest_of(folder, name) for name in (QRELS, QUERIES, SNIPPETS, EXPERIMENT, *files.values())}
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
        refuse_strangers(path, (SUMMARY, PER_QUERY, EXPERIMENT, QRELS, QUERIES, SNIPPETS))
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
        yield for_json(json.dumps({"_id": doc, "text": text}, ensure_ascii=False)).encode() + b"\n"
