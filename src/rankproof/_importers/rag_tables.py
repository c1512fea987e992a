"""The rows of RAG logs in files: tables, JSON objects of known tools that hold the rows under a key, and what columns hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from rankproof._data.answers import ANSWERABLE_FIELD, SESSION_FIELD, TURN_FIELD
from rankproof._data.text import pluralise
from rankproof._formats.columns import names_for_message, normalised_name
from rankproof._formats.json import JsonContent
from rankproof._formats.source_table import SourceTable
from rankproof._importers.base import ImportSource
from rankproof._importers.cells import TableCell, items_in, list_in_text
from rankproof._importers.conversations import session_column, turn_column
from rankproof._importers.rag_merge import Context
from rankproof.errors import InputError, for_message

_LISTS = (
    *("results", "examples", "predictions", "testcases", "test_cases", "goldens"),
    *("conversationaltestcases", "conversational_test_cases", "conversationalgoldens", "conversational_goldens"),
)
"""The key of the rows in a JSON object: of RAGChecker, LlamaIndex and DeepEval."""


ROLE_NAMES: Mapping[str, tuple[str, ...]] = {
    "question": ("user_input", "question", "query", "input", "prompt", "questions", "queries"),
    "retrieved contexts": (
        *("retrieved_contexts", "retrieval_context", "retrievalcontext", "retrieved_context", "contexts"),
        "retrieved_documents",
    ),
    "ids of retrieved contexts": ("retrieved_context_ids", "context_ids"),
    "reference contexts": ("reference_contexts", "expected_chunks", "ground_truth_documents"),
    "ids of reference contexts": ("reference_context_ids",),
    "answer": ("response", "answer", "actual_output", "actualoutput", "output", "predicted_answers", "predicted_answer"),
    "reference answer": (
        *("answers", "reference", "ground_truth", "ground_truths", "expected_output", "expectedoutput"),
        *("gt_answer", "reference_answer", "expected_response", "ground_truth_answers", "true_answers"),
        *("expected", "expected_answer"),
    ),
    "searches": ("searches",),
    "citations": ("cited",),
    "nuggets": ("nuggets",),
    "state": ("state",),
    "answerable": (ANSWERABLE_FIELD,),
    "query id": ("query_id", "question_id", "qid", "_id", "id"),
    "system": ("system", "app_name", "app_id"),
    "version of the system": ("app_version",),
    "time in milliseconds": (
        "latency_ms",
        "latencyms",
        "response_time_ms",
        "duration_ms",
        "elapsed_ms",
        "time_ms",
        "total_time_ms",
    ),
    "time in seconds": (
        *("latency", "latency_s", "latency_seconds", "response_time", "response_time_s", "duration", "duration_s"),
        *("duration_seconds", "elapsed", "elapsed_s", "time_s", "completion_time", "completiontime"),
    ),
    "tokens of prompts": ("tokens_in", "prompt_tokens", "input_tokens", "prompt_eval_count"),
    "tokens of replies": ("tokens_out", "completion_tokens", "output_tokens", "eval_count"),
    "tokens": ("tokens", "total_tokens", "n_tokens", "token_count"),
    "money": ("cost", "cost_usd", "total_cost", "token_cost", "tokencost", "price"),
    "language model": ("model", "model_name", "llm", "deployment"),
}
"""What a column holds, and its names in the logs of ragas, DeepEval, TruLens, LlamaIndex, Haystack, RAGChecker and rankproof."""
RETRIEVED = ("retrieved contexts", "ids of retrieved contexts")
CONTENTS = (*RETRIEVED, "reference contexts", "ids of reference contexts", "answer", "reference answer")
_SETTINGS: Mapping[str, str] = {
    "question": "question",
    "answer": "answer",
    "contexts": "retrieved contexts",
    "context-ids": "ids of retrieved contexts",
    "reference": "reference answer",
    "reference-contexts": "reference contexts",
    "reference-context-ids": "ids of reference contexts",
    "cited": "citations",
    "id": "query id",
    "system": "system",
    "latency-ms": "time in milliseconds",
    "latency-s": "time in seconds",
    "tokens-in": "tokens of prompts",
    "tokens-out": "tokens of replies",
    "tokens": "tokens",
    "cost": "money",
    "model": "language model",
}
"""The settings that name a column, and what it holds."""
_MAIN_SETTINGS = {
    "question": ("question",),
    "answer": ("answer",),
    "contexts": RETRIEVED,
    "reference": ("reference answer", "reference contexts", "ids of reference contexts"),
}
"""The settings without which there is little to measure, and what their columns hold."""
COLUMN_SETTINGS = {name: f"the column of the {role}, if not recognised by name" for name, role in _SETTINGS.items()}


def named_columns(settings: Mapping[str, str]) -> dict[str, str]:
    """The columns that the settings name, by what they hold."""
    return {role: settings[name] for name, role in _SETTINGS.items() if name in settings}


def log_columns(table: SourceTable, named: Mapping[str, str]) -> dict[str, str]:
    """What a column holds, and the column's name; `named` has the columns that settings name, by role."""
    known = {normalised_name(name): name for name in table.names}
    columns = {role: [known[name] for name in names if name in known] for role, names in ROLE_NAMES.items()}
    roles = {role: names[0] for role, names in columns.items() if names}
    # `context` holds the ideal contexts of a DeepEval test case, and the retrieved ones of other logs.
    if "context" in known:
        roles.setdefault("reference contexts" if "input" in known else "retrieved contexts", known["context"])
    # Beside a predicted answer, `answer` is the true one: the inputs of a Haystack run.
    if predicted := [known[name] for name in ("predicted_answers", "predicted_answer") if name in known]:
        roles["answer"] = predicted[0]
        if "answer" in known:
            roles.setdefault("reference answer", known["answer"])
    # The test sets of ragas 0.1 call the reference contexts `contexts`.
    if "evolution_type" in known and "answer" not in roles and "retrieved contexts" in roles:
        roles["reference contexts"] = roles.pop("retrieved contexts")
    own = {role: column for role, column in named.items() if column in table.names}
    return {**{role: column for role, column in roles.items() if column not in own.values()}, **own}


def check_log_columns(tables: Iterable[SourceTable], named: Mapping[str, str]) -> None:
    """Raises an error for a named column that no log has, and for a log without questions or anything to measure."""
    logs = list(tables)
    for role, column in named.items():
        if logs and not any(column in table.names for table in logs):
            raise _columns_error(f"no column is called {for_message(column)}", logs[0], "name one of them with --set")
        if role == "question" and column in {name(table.names) for table in logs for name in (session_column, turn_column)}:
            what = f"{for_message(column)} says where a question was asked, and is none"
            raise _columns_error(what, logs[0], "leave it out: references are joined by conversation and turn, or by id")
    for table in logs:
        roles = log_columns(table, named)
        missing = [name for name, held in _MAIN_SETTINGS.items() if roles.keys().isdisjoint(held)]
        if "question" in missing or roles.keys().isdisjoint(CONTENTS):
            settings = ",".join(f"{name}=COLUMN" for name in missing)
            what = f"no column is recognised as the {' or the '.join(missing)}"
            raise _columns_error(what, table, f"name those that the log has: --set {settings}")


def _columns_error(what: str, table: SourceTable, fix: str) -> InputError:
    return InputError(f"{what}; columns: {names_for_message(table.names)}", fix=fix, source=table.source, line=1)


def log_table(source: ImportSource, path: str) -> SourceTable:
    """The rows of the file, also where a JSON object has them under a key of a known tool."""
    if source.format_of(path) != "json" or not isinstance(source.json_of(path).value, dict):
        return source.table_of(path)
    content = source.json_of(path)
    if (table := _haystack_table(content)) is not None:
        return table
    lists = [key for key, value in content.value.items() if key.lower() in _LISTS and _are_objects(value)]
    conversations = [key for key in lists if key.lower().startswith("conversational")]
    if not lists or len(conversations) > 1 or len(lists) - len(conversations) > 1:
        return source.table_of(path)
    return _joined([rows_under(content, key) for key in lists])


def _joined(tables: Sequence[SourceTable]) -> SourceTable:
    """The rows of the tables, one after the other."""
    names = tuple(dict.fromkeys(name for table in tables for name in table.names))
    return SourceTable(tables[0].source, names, lambda: (row for table in tables for row in table.rows()))


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
    if not all(isinstance(column, list) for column in columns) or len({len(column) for column in columns}) != 1:
        what = "inputs are no lists of one length"
        raise InputError(what, fix="write the inputs of the EvaluationRunResult as they are", source=content.source, line=1)
    first = next(iter(inputs))
    rows = [dict(zip(inputs, cells, strict=True), system=name) for cells in zip(*columns, strict=True)]
    names = tuple(dict.fromkeys((*inputs, "system")))
    return SourceTable(content.source, names, lambda: zip(content.lines_inside(("inputs", first)), rows, strict=True))


def joined_by_place(examples: SourceTable, predictions: SourceTable) -> SourceTable:
    """Each prediction with the example at its place."""
    asked, predicted = list(examples.rows()), list(predictions.rows())
    if len(asked) != len(predicted):
        what = (
            f"{pluralise(len(predicted), 'prediction')} for {pluralise(len(asked), 'example')} of {for_message(examples.source)}"
        )
        fix = "specify the predictions of these examples, one for each and in their order"
        raise InputError(what, fix=fix, source=predictions.source)
    rows = [(line, {**example, **row}) for (_, example), (line, row) in zip(asked, predicted, strict=True)]
    names = tuple(dict.fromkeys((*examples.names, *predictions.names)))
    return SourceTable(predictions.source, names, lambda: iter(rows))


@dataclass(frozen=True, slots=True)
class _QuestionColumns:
    """The columns that say which question a row asks: its id, or its conversation and turn."""

    id: str | None
    session: str | None
    turn: str | None

    @classmethod
    def of(cls, table: SourceTable, named: Mapping[str, str]) -> _QuestionColumns:
        return cls(log_columns(table, named).get("query id"), session_column(table.names), turn_column(table.names))

    def __bool__(self) -> bool:
        return self.id is not None or (self.session is not None and self.turn is not None)

    def keys(self, row: Mapping[str, Any]) -> list[str]:
        """The names of the question of a row: `SESSION/TURN`, then its id."""
        id, session, turn = self.values(row)
        return [*([f"{session}/{turn}"] if session and turn else []), *([id] if id else [])]

    def values(self, row: Mapping[str, Any]) -> tuple[str, str, str]:
        """The id, the session and the turn; empty where the row does not say."""
        id, session, turn = ("" if name is None or row.get(name) is None else str(row[name]) for name in astuple(self))
        return id, session, turn


def with_asked_references(
    tables: Mapping[str, SourceTable], named: Mapping[str, str], notes: list[str] | None
) -> dict[str, SourceTable]:
    """The tables, with the questions of the logs in those that have references by id, or by conversation and turn, alone."""
    without = {name for name, table in tables.items() if _are_references(table, named)}
    logs = [table for name, table in tables.items() if name not in without and "question" in log_columns(table, named)]
    if not without or not logs:
        return dict(tables)
    asked: dict[str, dict[str, Any]] = {}
    for log in logs:
        place, column = _QuestionColumns.of(log, named), log_columns(log, named)["question"]
        for _, row in log.rows():
            own = dict(zip(("_id", SESSION_FIELD, TURN_FIELD), place.values(row), strict=True))
            for key in place.keys(row):
                known = asked.setdefault(
                    key, {"question": row.get(column), **{name: value for name, value in own.items() if value}}
                )
                if known["question"] != row.get(column):
                    what = f"{for_message(key)} is another question in another log"
                    raise InputError(what, fix="write the questions beside the references", source=log.source)
    return {name: _asked(table, asked, named, notes) if name in without else table for name, table in tables.items()}


def _are_references(table: SourceTable, named: Mapping[str, str]) -> bool:
    """Whether there are references alone, and what names their questions; the queries of a dataset have texts of their own."""
    if "text" in map(normalised_name, table.names):
        return False
    roles = log_columns(table, named)
    has_references = not roles.keys().isdisjoint(_MAIN_SETTINGS["reference"])
    return (
        has_references and roles.keys().isdisjoint(("question", "answer", *RETRIEVED)) and bool(_QuestionColumns.of(table, named))
    )


def _asked(
    table: SourceTable, asked: Mapping[str, Mapping[str, Any]], named: Mapping[str, str], notes: list[str] | None
) -> SourceTable:
    """The references with their questions; those of other questions are left out, and counted."""
    place, rows, others = _QuestionColumns.of(table, named), list[tuple[int, dict[str, Any]]](), list[str]()
    columns = [name for name in table.names if name not in astuple(place)]
    for line, row in table.rows():
        key = next(iter(place.keys(row)), "")
        if key in asked:
            rows.append((line, {**{name: row.get(name) for name in columns}, **asked[key]}))
        else:
            others.append(key)
    if not rows or any(key.endswith("/0") for key in others):
        what = f"no log has the question {for_message(others[0] if others else '')}"
        fix = "name questions by the ids of the logs, or by conversation and turn, counted from 1 in conversations"
        raise InputError(what, fix=fix, source=table.source)
    if others and notes is not None:
        notes.append(f"{for_message(table.source)}: {pluralise(len(others), 'reference')} of questions that no log asks")
    names = tuple(dict.fromkeys(name for _, row in rows for name in row))
    return SourceTable(table.source, names, lambda: iter(rows))


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


_TEXT_KEYS = ("text", "context", "content", "page_content", "chunk", "passage", "snippet", "body")
ID_KEYS = ("doc_id", "chunk_id", "passage_id", "document_id", "id", "_id", "source", "url")
"""The keys of objects that may hold the id of a context, the likeliest first."""
_SCORE_KEYS = ("expected_score", "expect_score")
"""How relevant a chunk is, in the ground truth of TruLens."""
_BAR = "|"
_MARKED = re.compile(r"deepeval_source=(?P<source>.*?),deepeval_context=(?P<context>.*)", re.DOTALL)
"""A context with its source in a dataset that DeepEval saves."""
_PRINTED_DOCUMENT = re.compile(r"(?:^\[|\), )Document\(id=([^,\s)]+)")
"""A document of Haystack as Python prints it, with at most 100 characters of its text."""


def id_keys(tables: Iterable[SourceTable], named: Mapping[str, str]) -> tuple[str, ...]:
    """The keys of ids of contexts; one whose values have several texts, such as the file of a chunk, comes last."""
    texts: dict[str, dict[Any, str]] = {key: {} for key in ID_KEYS}
    shared = set[str]()
    for table in tables:
        roles = log_columns(table, named)
        columns = [roles[role] for role in ("retrieved contexts", "reference contexts") if role in roles]
        for _, row in table.rows():
            for item in (item for column in columns for item in items_in(row.get(column)) if isinstance(item, dict)):
                text = _first(item, _TEXT_KEYS)
                for key in texts.keys() & item.keys() if isinstance(text, str) else ():
                    if texts[key].setdefault(str(item[key]), text.strip()) != text.strip():
                        shared.add(key)
    return tuple(sorted(ID_KEYS, key=shared.__contains__))


def contexts_of_objects(cell: TableCell, keys: Sequence[str] = ID_KEYS) -> tuple[Context, ...] | None:
    """The contexts of a list that has objects, with the first of the keys as the id; None for any other value."""
    items = items_in(cell.value)
    if not any(isinstance(item, dict) for item in items):
        return None
    return tuple(_context_of(item, at, cell, keys) for at, item in enumerate(items))


def printed_contexts(cell: TableCell) -> tuple[Context, ...] | None:
    """The documents of Haystack in a cell of a CSV file by their ids, as their texts are cut off; None for any other value."""
    text = cell.value.strip() if isinstance(cell.value, str) else ""
    if not text.startswith("[Document(id="):
        return None
    ids = TableCell(_PRINTED_DOCUMENT.findall(text), cell.column, cell.source, cell.line).ids()
    return tuple(Context(id=id) for id in ids or ())


def split_at_bars(cell: TableCell) -> TableCell:
    """The cell of a dataset that DeepEval saved, whose contexts are joined with bars, as a list."""
    if not isinstance(cell.value, str) or cell.is_missing or isinstance(list_in_text(cell.value), list):
        return cell
    return TableCell(cell.value.split(_BAR), cell.column, cell.source, cell.line)


def context_of_text(text: str, cell: TableCell) -> Context:
    """The context of a text, whose source is its id if DeepEval wrote one."""
    match = _MARKED.fullmatch(text)
    if match is None:
        return Context(text.strip())
    ids = TableCell([match["source"].strip()], cell.column, cell.source, cell.line).ids() if match["source"].strip() else None
    return Context(match["context"].strip(), ids[0] if ids else None)


def _first(item: Mapping[str, Any], keys: Sequence[str]) -> Any:
    return next((item[name] for name in keys if item.get(name) is not None), None)


def _context_of(item: Any, at: int, cell: TableCell, keys: Sequence[str]) -> Context:
    """The context of an item, which is an object with a text and maybe an id and a score, or a text."""
    place = TableCell(item, f"{cell.column}[{at}]", cell.source, cell.line)
    if not isinstance(item, dict):
        return context_of_text(place.text() or "", place)
    text, key = _first(item, _TEXT_KEYS), _first(item, keys)
    if text is None and key is None:
        raise place.error(
            f"has no text; keys: {names_for_message(tuple(item))}", 'write {"id": "d1", "text": "…"}, or the text alone'
        )
    ids = TableCell([key], place.column, cell.source, cell.line).ids() if key not in (None, "") else None
    plain = TableCell(text, place.column, cell.source, cell.line).text() if text is not None else None
    return Context(
        None if plain is None and text is None else (plain or "").strip(), ids[0] if ids else None, _score(item, place)
    )


def _score(item: dict[str, Any], place: TableCell) -> float | None:
    """How relevant the context is; None where the object does not say."""
    value = _first(item, _SCORE_KEYS)
    if value is None:
        return None
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, bool) or not isinstance(plain, int | float) or not 0 <= plain <= _HIGHEST_SCORE:
        raise place.error(f"has a score that is no number from 0 to {_HIGHEST_SCORE}", "write a number from 0 to 1")
    return float(plain)


_HIGHEST_SCORE = 1000
