"""The rows of RAG logs in files: tables, and JSON objects of known tools that hold the rows under a key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rankproof._data.text import pluralise
from rankproof._formats.json import JsonContent
from rankproof._formats.source_table import SourceTable
from rankproof._importers.base import ImportSource
from rankproof.errors import InputError, for_message

_LISTS = ("results", "examples", "predictions", "testcases", "test_cases", "goldens")
"""The key of the rows in a JSON object: of RAGChecker, LlamaIndex and DeepEval."""
_CONVERSATIONS = ("conversationaltestcases", "conversational_test_cases", "conversationalgoldens", "conversational_goldens")
"""The keys of conversations in DeepEval's JSON objects, which are no single questions."""


def log_table(source: ImportSource, path: str) -> SourceTable:
    """The rows of the file, also where a JSON object has them under a key of a known tool."""
    if source.format_of(path) != "json" or not isinstance(source.json_of(path).value, dict):
        return source.table_of(path)
    content = source.json_of(path)
    if (table := _haystack_table(content)) is not None:
        return table
    found = [key for key, value in content.value.items() if key.lower() in _LISTS and _are_objects(value)]
    return rows_under(content, found[0]) if len(found) == 1 else source.table_of(path)


def rows_under(content: JsonContent, *path: str) -> SourceTable:
    """The objects of the list at the path, with the line of each."""
    rows = content.value
    for key in path:
        rows = rows[key]
    names = tuple(dict.fromkeys(name for row in rows for name in row))
    return SourceTable(content.source, names, lambda: zip(content.lines_inside(path), rows, strict=True))


def _haystack_table(content: JsonContent) -> SourceTable | None:
    """The inputs of an EvaluationRunResult of Haystack, which are columns; the name of the run is the system."""
    name, inputs = content.value.get("run_name"), content.value.get("inputs")
    if not isinstance(name, str) or not isinstance(inputs, dict) or not inputs:
        return None
    columns = list(inputs.values())
    if not all(isinstance(one, list) for one in columns) or len({len(one) for one in columns}) != 1:
        what = "inputs are no lists of one length"
        raise InputError(what, fix="write the inputs of the EvaluationRunResult as they are", source=content.source, line=1)
    first = next(iter(inputs))
    rows = [dict(zip(inputs, cells, strict=True), system=name) for cells in zip(*columns, strict=True)]
    names = tuple(dict.fromkeys((*inputs, "system")))
    return SourceTable(content.source, names, lambda: zip(content.lines_inside(("inputs", first)), rows, strict=True))


def conversations(source: ImportSource) -> Iterator[tuple[str, int]]:
    """The files with conversations beside their rows, and how many."""
    for path in source.plain_files:
        value = source.json_of(path).value if source.format_of(path) == "json" else None
        for key, one in value.items() if isinstance(value, dict) else ():
            if key.lower() in _CONVERSATIONS and isinstance(one, list) and one:
                yield path, len(one)


def joined_by_place(examples: SourceTable, predictions: SourceTable) -> SourceTable:
    """Each prediction with the example at its place."""
    asked, given = list(examples.rows()), list(predictions.rows())
    if len(asked) != len(given):
        what = f"{pluralise(len(given), 'prediction')} for {pluralise(len(asked), 'example')} of {for_message(examples.source)}"
        fix = "specify the predictions of these examples, one for each and in their order"
        raise InputError(what, fix=fix, source=predictions.source)
    rows = [(line, {**example, **row}) for (_, example), (line, row) in zip(asked, given, strict=True)]
    names = tuple(dict.fromkeys((*examples.names, *predictions.names)))
    return SourceTable(predictions.source, names, lambda: iter(rows))


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)
