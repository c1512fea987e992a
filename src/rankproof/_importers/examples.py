"""Examples of LangSmith and Phoenix: objects of inputs, outputs and metadata, whose keys are the user's.

The usual keys are known; settings name others. The rows become those of a RAG log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from rankproof._data.text import encodable
from rankproof._formats.columns import names_for_message
from rankproof._formats.source_table import SourceTable, open_frame
from rankproof._importers.base import Imported, ImportOptions, ImportSource
from rankproof._importers.cells import items_in, object_in
from rankproof._importers.rag import is_known_column, merged_logs
from rankproof._importers.rag_tables import log_table
from rankproof._importers.spans import rows_of_traces
from rankproof.errors import InputError, UsageError, for_message

_ANSWERS = ("answer", "response", "output", "result", "actual_output", "generation", "prediction", "text", "content")
_CONTEXTS = ("contexts", "retrieved_contexts", "documents", "retrieved_documents", "source_documents", "docs", "context")
_IDS = ("context_ids", "retrieved_context_ids", "retrieved_ids", "doc_ids", "document_ids")
_KEYS: Mapping[str, tuple[str, ...]] = {
    "question": ("question", "query", "user_input", "user_query", "input", "prompt", "text", "messages"),
    "contexts": _CONTEXTS,
    "context_ids": _IDS,
    "reference_contexts": (
        *("reference_contexts", "expected_contexts", "expected_documents", "ground_truth_documents", "relevant_documents"),
        *("gold_contexts", *_CONTEXTS),
    ),
    "reference_context_ids": (
        *("reference_context_ids", "expected_doc_ids", "relevant_doc_ids", "relevant_ids", "relevant_docs", "expected_ids"),
        *("gold_ids", *_IDS),
    ),
    "response": _ANSWERS,
    "reference": (
        *("reference", "reference_answer", "expected_answer", "expected_output", "expected", "ground_truth", "label"),
        *_ANSWERS,
    ),
}
"""The column of a RAG log, and the usual keys of its value, the likeliest first."""
_SETTINGS = {
    "question": "question",
    "contexts": "contexts",
    "reference-contexts": "reference_contexts",
    "answer": "response",
    "reference": "reference",
}
_SAMPLED_ROWS = 20
_FRAME_INDEX = "example_id"
_RUN_KEYS = ("run_id", "run_type", "trace_id", "reference_outputs", "reference_example_id", "reference_example")
_ID_KEYS = ("reference_example_id", "example_id", "id", "run_id")


@dataclass(slots=True)
class _Reading:
    """How the values of one import were found: the place of each column, and the keys that were not used."""

    columns: dict[str, dict[str, None]] = field(default_factory=dict)
    fields: dict[str, None] = field(default_factory=dict)
    unused: dict[str, None] = field(default_factory=dict)


class ExamplesImporter:
    """Rows with an object of inputs, one of outputs, and one of metadata; outputs of examples are references."""

    has_grades = False
    settings: Mapping[str, str] = {
        **{name: f"the key of the {name.replace('-', ' ')}, such as question or inputs.question" for name in _SETTINGS},
        "outputs": "what the outputs are: reference (of examples) or answer (of runs), if it cannot be told",
    }

    def __init__(self, name: str, inputs: str, outputs: str) -> None:
        self.name, self._inputs, self._outputs = name, inputs, outputs

    def detect(self, source: ImportSource) -> bool:
        """Whether every file has rows with an object of inputs, which are not the steps of traces."""
        if any(rows_of_traces(source, path) is not None for path in source.plain_files):
            return False
        tables = self._tables(source).values()
        return bool(tables) and all(map(self._is_one, tables))

    def read(self, source: ImportSource, options: ImportOptions) -> Imported:
        """The rows as RAG logs."""
        tables = self._tables(source)
        for table in tables.values():
            if not self._is_one(table):
                what = f"no object {self._inputs} in the rows, and no columns such as {self._inputs}.question"
                raise InputError(what, fix="specify another file, or leave out --from", source=table.source, line=1)
        reading = _Reading()
        logs = {name: self._log(table, options, reading) for name, table in tables.items()}
        imported = merged_logs(logs, source, self.name, fields=reading.fields)
        columns = {role: " or ".join(places) for role, places in reading.columns.items()}
        unused = (f"keys that are not used: {names_for_message(tuple(reading.unused))}",) if reading.unused else ()
        report = replace(imported.report, columns=columns, notes=(*imported.report.notes, *unused))
        return replace(imported, report=report)

    def _tables(self, source: ImportSource) -> dict[str, SourceTable]:
        if source.frame is None:
            return {name: log_table(source, path) for path, name in source.system_names.items()}
        frame = source.frame
        if getattr(getattr(frame, "index", None), "name", None) == _FRAME_INDEX:
            frame = frame.reset_index()
        return {source.stem: open_frame(frame, source.name)}

    def _is_one(self, table: SourceTable) -> bool:
        if any(name.startswith(f"{self._inputs}.") for name in table.names):
            return True
        rows = [row for _, row in islice(table.rows(), _SAMPLED_ROWS)] if self._inputs in table.names else []
        return bool(rows) and any(object_in(row.get(self._inputs)) is not None for row in rows)

    def _log(self, table: SourceTable, options: ImportOptions, reading: _Reading) -> SourceTable:
        """The rows of a RAG log."""
        holds = options.settings.get("outputs", "answer" if any(name in table.names for name in _RUN_KEYS) else "reference")
        if holds not in ("answer", "reference"):
            raise UsageError(f"outputs is {for_message(holds)}", fix="write --set outputs=answer or --set outputs=reference")
        rows = [(line, self._row(row, holds, options, reading)) for line, row in table.rows()]
        names = tuple(dict.fromkeys(name for _, row in rows for name in row))
        return SourceTable(table.source, names, lambda: iter(rows))

    def _row(self, row: Mapping[str, Any], holds: str, options: ImportOptions, reading: _Reading) -> dict[str, Any]:
        """The row as one of a RAG log."""
        sections = {name: _section(row, name) for name in (self._inputs, self._outputs, "reference_outputs", "metadata") if name}
        used: set[str] = set()
        made: dict[str, Any] = {}
        for column, order in _places(self._inputs, self._outputs, holds).items():
            for place, value in _candidates(column, order, sections, options):
                if place not in used:
                    made[column] = _plain(column, value)
                    used.add(place)
                    reading.columns.setdefault(column.replace("_", " "), {})[place] = None
                    break
        made["_id"] = next((row[name] for name in _ID_KEYS if row.get(name) not in (None, "")), None)
        for section, values in sections.items():
            for key in (key for key, value in values.items() if f"{section}.{key}" not in used and value not in (None, "")):
                if section == "metadata":
                    name = encodable(f"metadata_{key}".rstrip("_") if is_known_column(key) else key)
                    made[name] = values[key]
                    reading.fields[name] = None
                else:
                    reading.unused[f"{section}.{key}"] = None
        return made


def _places(inputs: str, outputs: str, holds: str) -> dict[str, tuple[str, ...]]:
    """The objects in which the value of each column may be."""
    if holds == "answer":
        references = ("reference_outputs", "metadata")
        return {
            **{"question": (inputs,), "response": (outputs,), "reference": references},
            **dict.fromkeys(("reference_contexts", "reference_context_ids"), references),
            **dict.fromkeys(("contexts", "context_ids"), (outputs, inputs)),
        }
    return {
        **{"question": (inputs,), "reference": (outputs,)},
        **dict.fromkeys(("reference_contexts", "reference_context_ids"), (outputs, "metadata")),
        **dict.fromkeys(("contexts", "context_ids"), (inputs,)),
    }


def _section(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The object of that name, or the columns that begin with it; a value that is no object is under the key ""."""
    value = row.get(name)
    inside = object_in(value)
    if inside is not None:
        return dict(inside)
    columns = {key.removeprefix(f"{name}."): cell for key, cell in row.items() if key.startswith(f"{name}.")}
    return columns if columns or value is None or value == "" else {"": value}


def _candidates(
    column: str, order: tuple[str, ...], sections: Mapping[str, Mapping[str, Any]], options: ImportOptions
) -> Iterator[tuple[str, Any]]:
    """The places of values that may be the column's, the likeliest first."""
    setting = next((name for name, keyword in _SETTINGS.items() if keyword == column), "")
    named = options.settings.get(setting)
    for section, values in sections.items() if named is not None else ():
        key = str(named).removeprefix(f"{section}.")
        if values.get(key) is not None:
            yield f"{section}.{key}", values[key]
    for section in order if named is None else ():
        values = sections.get(section, {})
        known = {key.lower(): key for key in values}
        for name in (keyword for keyword in _KEYS[column] if keyword in known and values[known[keyword]] is not None):
            yield f"{section}.{known[name]}", values[known[name]]
        texts = [key for key, value in values.items() if isinstance(value, str) and value]
        if len(texts) == 1 and column in ("question", "response", "reference"):
            yield f"{section}.{texts[0]}" if texts[0] else section, values[texts[0]]


def _plain(column: str, value: Any) -> Any:
    """A question of one message as text, and documents of LangChain as objects with a text and an id."""
    if column == "question":
        return _only_message(value)
    if "contexts" in column and (items := items_in(value)):
        return [_document(item) for item in items]
    return value


def _only_message(value: Any) -> Any:
    """The text of the only message of a user; any other value as it is."""
    asked = [
        item for item in items_in(value) if isinstance(item, dict) and item.get("role", item.get("type")) in ("user", "human")
    ]
    others = [item for item in items_in(value) if not isinstance(item, dict) or item.get("role", item.get("type")) == "assistant"]
    return asked[0].get("content") if len(asked) == 1 and not others else value


def _document(item: Any) -> Any:
    """A document that LangChain wrote as a constructor, as its fields."""
    inside = item.get("kwargs") if isinstance(item, dict) and item.get("type") == "constructor" else None
    return inside if isinstance(inside, dict) else item


LANGSMITH = ExamplesImporter("langsmith", "inputs", "outputs")
PHOENIX = ExamplesImporter("phoenix", "input", "output")
