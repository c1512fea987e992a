"""Writes and reads the replies of search engines in a results folder, one file for each system."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import fields
from typing import get_args

from rankproof._data.replies import RecordedReply, ReplyState
from rankproof._formats.json import json_line, parsed_lines
from rankproof._formats.texts import MAX_TEXT_BYTES
from rankproof._io.files import write_blocks
from rankproof._io.open import open_source
from rankproof._io.paths import file_names
from rankproof._io.strict_json import JsonObject
from rankproof._results.document import DAMAGED_FIX, REPLIES_FOLDER
from rankproof._results.experiment_result import ExperimentResult
from rankproof.errors import for_message


def replies_files(names: Iterable[str]) -> dict[str, str]:
    """The file of each system, with a slash on every operating system."""
    return {name: f"{REPLIES_FOLDER}/{plain}.jsonl" for name, plain in file_names(names).items()}


def write_replies(results: ExperimentResult, folder: str) -> Iterator[str]:
    """Writes the replies of each system that is a search engine; gives its file."""
    files = replies_files(system_run.name for system_run in results.system_runs)
    for system_run in results.system_runs:
        if system_run.replies is not None:
            os.makedirs(os.path.join(folder, REPLIES_FOLDER), exist_ok=True)
            lines = (json_line({"query": query, **reply.plain()}) for query, reply in system_run.replies.items())
            write_blocks(os.path.join(folder, *files[system_run.name].split("/")), lines)
            yield files[system_run.name]


def read_replies(folder: str, names: Iterable[str], listed: Collection[str]) -> dict[str, Mapping[str, RecordedReply]]:
    """The replies of each system whose file is listed in result.json."""
    return {name: _read(os.path.join(folder, *file.split("/"))) for name, file in replies_files(names).items() if file in listed}


def _read(path: str) -> dict[str, RecordedReply]:
    found: dict[str, RecordedReply] = {}
    known = {field.name for field in fields(RecordedReply)}
    for line, item in parsed_lines(open_source(path), limit=MAX_TEXT_BYTES):
        values = JsonObject(item, path, line=line)
        query = values.text("query")
        values.choice("state", get_args(ReplyState))
        if query in found or set(values.plain) - {"query"} != known:
            raise values.error(f"query {for_message(query)} is there twice, or its reply has other keys", DAMAGED_FIX)
        found[query] = RecordedReply.from_json({name: values.plain[name] for name in known})
    return found
