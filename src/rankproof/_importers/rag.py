"""RAG logs: questions, retrieved contexts, answers and references, in the shapes of several tools, told by their fields.

Each log is a system. The questions of all logs are the queries, and the texts of contexts the documents.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankproof._data.answers import ANSWER_FIELDS, ANSWERABLE_FIELD, AnswerState
from rankproof._data.text import pluralise
from rankproof._data.validation import checked_id
from rankproof._formats.columns import COLUMN_NAMES, normalised_name
from rankproof._formats.source_table import SourceTable
from rankproof._importers.base import Imported, ImportOptions, ImportSource
from rankproof._importers.builder import plain_fields
from rankproof._importers.cells import TableCell, list_in_text
from rankproof._importers.rag_merge import Context, LogMerge, Sample, rows_of
from rankproof._io.strict_json import lines_inside
from rankproof.errors import InputError, for_message

IMPORTER = "rag"
_NAMES: Mapping[str, tuple[str, ...]] = {
    "question": ("user_input", "question", "query", "input", "prompt"),
    "retrieved contexts": ("retrieved_contexts", "retrieval_context", "retrievalcontext", "retrieved_context", "contexts"),
    "ids of retrieved contexts": ("retrieved_context_ids", "context_ids"),
    "reference contexts": ("reference_contexts", "expected_chunks"),
    "ids of reference contexts": ("reference_context_ids",),
    "answer": ("response", "answer", "actual_output", "actualoutput", "output"),
    "reference answer": (
        *("answers", "reference", "ground_truth", "ground_truths", "expected_output", "expectedoutput"),
        *("gt_answer", "reference_answer", "expected_response"),
    ),
    "citations": ("cited",),
    "nuggets": ("nuggets",),
    "state": ("state",),
    "answerable": (ANSWERABLE_FIELD,),
    "query id": ("query_id", "question_id", "qid", "_id", "id"),
    "system": ("system", "app_name", "app_id"),
    "version of the system": ("app_version",),
}
"""What a column holds, and its names in the logs of ragas, DeepEval, TruLens, LlamaIndex, RAGChecker and rankproof."""
_CONTENTS = (
    *("retrieved contexts", "ids of retrieved contexts", "reference contexts", "ids of reference contexts"),
    *("answer", "reference answer"),
)
_RETRIEVED = ("retrieved contexts", "ids of retrieved contexts")
_LISTS = ("results", "examples", "predictions", "testcases", "test_cases")
"""The key of the rows in a JSON object: of RAGChecker, LlamaIndex and DeepEval."""
_GRADES = COLUMN_NAMES["grade"][:-1]
_QUERY_FIELDS = ("synthesizer_name", "persona_name", "query_style", "query_length", "evolution_type")
_HOP = re.compile(r"<[0-9]+-hop>\n\n")
_MESSAGES = re.compile(r"\[\s*(?:\{|HumanMessage\()")
_TEXT_KEYS = ("text", "context", "content", "page_content")
_ID_KEYS = ("doc_id", "id", "_id", "source")
_SCORE_KEYS = ("expected_score", "expect_score")
_LONGEST_NAME = 100


class RagImporter:
    """Each file is the log of one system, named after the file; the same question in two logs is one query."""

    has_grades = False
    settings: Mapping[str, str] = {}

    def detect(self, source: ImportSource) -> bool:
        """Whether every table has a column of questions and one of contexts, answers or references."""
        try:
            tables = _tables(source).values()
            return bool(tables) and all(map(_is_log, tables))
        except InputError:
            return False

    def read(self, source: ImportSource, options: ImportOptions) -> Imported:
        """The logs as one dataset with a run and the answers of each system."""
        return merged_logs(_tables(source), source)


def merged_logs(tables: Mapping[str, SourceTable], source: ImportSource) -> Imported:
    """The tables of logs, by the names of their systems, as one dataset."""
    merge = LogMerge(IMPORTER, source)
    for name, table in tables.items():
        _LogReader(table, name, merge).read()
    return merge.imported()


def is_rag_log(source: ImportSource) -> bool:
    """Whether every file is a RAG log with answers or retrieved contexts; a file that is no table is an error."""
    tables = list(_tables(source).values())
    every = bool(tables) and all(_is_log(one) and not {"answer", *_RETRIEVED}.isdisjoint(_columns(one)) for one in tables)
    return every and not _are_queries_and_answers(tables)


def _are_queries_and_answers(tables: Sequence[SourceTable]) -> bool:
    """Whether the questions of all tables but the first are ids of the first."""
    first, *others = tables
    key = _columns(first).get("query id")
    if key is None or not others:
        return False
    ids = {str(row.get(key)) for _, row in first.rows()}
    return all(str(row.get(_columns(one)["question"])) in ids for one in others for _, row in one.rows())


def _tables(source: ImportSource) -> dict[str, SourceTable]:
    """The table of each log by the name of its system; predictions of LlamaIndex are joined with their examples."""
    if source.frame is not None and source.table is not None:
        return {source.stem: source.table}
    tables = {name: log_table(source, path) for path, name in source.system_names.items()}
    predictions = {name: table for name, table in tables.items() if _are_predictions(table)}
    examples = [table for name, table in tables.items() if name not in predictions]
    if not predictions or len(examples) != 1:
        return tables
    return {name: _joined(examples[0], table) for name, table in predictions.items()}


def log_table(source: ImportSource, path: str) -> SourceTable:
    """The rows of the file, also where a JSON object has them under a key of a known tool."""
    if source.format_of(path) != "json" or not isinstance(source.json_of(path).value, dict):
        return source.table_of(path)
    content = source.json_of(path)
    found = [key for key, value in content.value.items() if key.lower() in _LISTS and _are_objects(value)]
    if len(found) != 1:
        return source.table_of(path)
    (key,) = found
    rows = content.value[key]
    names = tuple(dict.fromkeys(name for row in rows for name in row))
    return SourceTable(content.source, names, lambda: zip(lines_inside(content.text, (key,)), rows, strict=True))


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def _are_predictions(table: SourceTable) -> bool:
    """Whether these are answers and contexts without their questions."""
    roles = _columns(table)
    return "answer" in roles and "question" not in roles


def _joined(examples: SourceTable, predictions: SourceTable) -> SourceTable:
    """Each prediction with the example at its place."""
    asked, given = list(examples.rows()), list(predictions.rows())
    if len(asked) != len(given):
        what = f"{pluralise(len(given), 'prediction')} for {pluralise(len(asked), 'example')} of {for_message(examples.source)}"
        fix = "specify the predictions of these examples, one for each and in their order"
        raise InputError(what, fix=fix, source=predictions.source)
    rows = [(line, {**example, **row}) for (_, example), (line, row) in zip(asked, given, strict=True)]
    names = tuple(dict.fromkeys((*examples.names, *predictions.names)))
    return SourceTable(predictions.source, names, lambda: iter(rows))


def _is_log(table: SourceTable) -> bool:
    """Whether there is a question and something to measure, and no column of grades, which only pairs have."""
    roles = _columns(table)
    has_grades = any(normalised_name(name) in _GRADES for name in table.names)
    return "question" in roles and any(role in roles for role in _CONTENTS) and not has_grades


def _columns(table: SourceTable) -> dict[str, str]:
    """What a column holds, and the column's name."""
    known = {normalised_name(name): name for name in table.names}
    found = {role: [known[name] for name in names if name in known] for role, names in _NAMES.items()}
    roles = {role: names[0] for role, names in found.items() if names}
    # `context` holds the ideal contexts of a DeepEval test case, and the retrieved ones of other logs.
    if "context" in known:
        roles.setdefault("reference contexts" if "input" in known else "retrieved contexts", known["context"])
    # The test sets of ragas 0.1 call the reference contexts `contexts`.
    if "evolution_type" in known and "answer" not in roles and "retrieved contexts" in roles:
        roles["reference contexts"] = roles.pop("retrieved contexts")
    return roles


class _LogReader:
    """Reads the samples of one log."""

    def __init__(self, table: SourceTable, name: str, merge: LogMerge) -> None:
        self._table, self._name, self._merge = table, name, merge
        self._columns = _columns(table)
        if not self._has_system_names():
            self._columns.pop("system", None)
        self._calls = [] if "retrieved contexts" in self._columns else [one for one in table.names if one.endswith("_calls")]
        self._fields = {name: name for name in table.names if name in _QUERY_FIELDS}
        self._hops = self._single = 0
        for role, column in self._columns.items():
            merge.columns.setdefault(role, {})[column] = None
        known = {*self._columns.values(), *self._fields, *self._calls}
        merge.unused.update({name: None for name in table.names if name not in known})

    def read(self) -> None:
        """Adds the samples with a question to their system; other rows are counted."""
        logs: dict[str, dict[str, Sample]] = {}
        for line, row in self._table.rows():
            system = self._system(row, line)
            own = logs.setdefault(system, {})
            part = rows_of(system)
            self._merge.counts.read(part)
            question = self._cell(row, "question", line)
            if question.is_missing or not str(question.value).strip():
                self._merge.counts.drop(part, "without a question", line=line)
            elif isinstance(question.value, list | tuple) or _MESSAGES.match(str(question.value)):
                self._merge.counts.drop(part, "with a conversation of several messages", line=line)
            else:
                sample = self._sample(row, line)
                if own.setdefault(sample.question, sample) is not sample:
                    self._merge.counts.drop(part, "with the same question as an earlier row", line=line)
        for system, samples in logs.items():
            self._merge.add(system, samples, self._table.source)
        self._add_notes(sum(map(len, logs.values())))

    def _add_notes(self, samples: int) -> None:
        if self._hops:
            self._merge.notes.append(
                f"{self._name}: {pluralise(self._hops, 'mark')} such as <1-hop> removed from reference contexts"
            )
        if self._single and self._single == samples:
            column = for_message(self._columns["retrieved contexts"])
            self._merge.notes.append(
                f"{self._name}: every {column} is one text and counts as one context; write several as a JSON list"
            )

    def _has_system_names(self) -> bool:
        """Whether the column of systems has names and not, say, prompts."""
        column = self._columns.get("system")
        if column is None:
            return False
        values = [row.get(column) for _, row in self._table.rows()]
        return all(isinstance(one, str) and one.strip() and len(one) <= _LONGEST_NAME and "\n" not in one for one in values)

    def _system(self, row: Mapping[str, Any], line: int) -> str:
        if "system" not in self._columns:
            return self._name
        parts = (self._cell(row, role, line).text() for role in ("system", "version of the system"))
        return " ".join(part.strip() for part in parts if part)

    def _sample(self, row: Mapping[str, Any], line: int) -> Sample:
        return Sample(
            line,
            (self._cell(row, "question", line).text() or "").strip(),
            self._contexts(row, "retrieved contexts", line),
            self._contexts(row, "reference contexts", line),
            self._answer(row, line),
            self._references(row, line),
            {**plain_fields(row, self._fields), **self._answerable(row, line), **self._nuggets(row, line)},
            id=self._query_id(row, line),
            cited=self._cell(row, "citations", line).texts() or (),
            state=self._state(row, line),
        )

    def _answer(self, row: Mapping[str, Any], line: int) -> str | None:
        """The answer; None where it is missing or blank."""
        found = self._cell(row, "answer", line).text()
        return found if found is not None and found.strip() else None

    def _references(self, row: Mapping[str, Any], line: int) -> tuple[str, ...] | None:
        """The reference answers; an empty list in our own field says that there is no answer, in others nothing."""
        cell = self._cell(row, "reference answer", line)
        found = tuple(filter(str.strip, cell.texts_or_text() or ()))
        says_none = normalised_name(cell.column) == ANSWER_FIELDS[0] and isinstance(cell.value, list) and not cell.value
        return found if found or says_none else None

    def _contexts(self, row: Mapping[str, Any], role: str, line: int) -> tuple[Context, ...] | None:
        """The contexts by text, by id, or by both, which then are as many."""
        cell, id_cell = self._cell(row, role, line), self._cell(row, f"ids of {role}", line)
        if role == "retrieved contexts":
            self._single += isinstance(cell.value, str) and isinstance(list_in_text(cell.value), str) and not cell.is_missing
            if not cell.column and self._calls:
                return self._called_contexts(row, line)
        items = _objects_in(cell)
        if items is not None:
            return tuple(one for at, item in enumerate(items) if (one := _context_of(item, at, cell)) is not None)
        texts, ids = cell.texts(), id_cell.ids()
        if texts is not None and role == "reference contexts":
            self._hops += sum(1 for text in texts if _HOP.match(text))
            texts = tuple(_HOP.sub("", text, count=1) if _HOP.match(text) else text for text in texts)
        if texts is None:
            return None if ids is None else tuple(Context(id=one) for one in ids)
        texts = tuple(map(str.strip, texts))
        if ids is None:
            return tuple(map(Context, texts))
        if len(ids) != len(texts):
            what = f"has {pluralise(len(ids), 'id')} and {cell.column} {pluralise(len(texts), 'text')}"
            raise id_cell.error(what, "give every context one id, or leave the ids out")
        return tuple(map(Context, texts, ids))

    def _called_contexts(self, row: Mapping[str, Any], line: int) -> tuple[Context, ...] | None:
        """The contexts that a feedback function of TruLens was called with."""
        for name in self._calls:
            calls = [call.get("args") for call in _items(row.get(name)) if isinstance(call, dict)]
            given = [args.get("context", args.get("source")) for args in calls if isinstance(args, dict)]
            texts = [text for one in given for text in (one if isinstance(one, list) else [one]) if text is not None]
            if texts:
                return tuple(map(Context, map(str.strip, TableCell(texts, name, self._table.source, line).texts() or ())))
        return None

    def _query_id(self, row: Mapping[str, Any], line: int) -> str | None:
        found = self._cell(row, "query id", line).text()
        return None if found is None else checked_id(found, "query", source=self._table.source, line=line)

    def _state(self, row: Mapping[str, Any], line: int) -> AnswerState | None:
        cell = self._cell(row, "state", line)
        found = cell.text()
        if found is not None and found not in ("answered", "abstained", "failed"):
            raise cell.error(f"is {for_message(found)}", "write answered, abstained or failed")
        return found  # type: ignore[return-value]

    def _answerable(self, row: Mapping[str, Any], line: int) -> dict[str, Any]:
        cell = self._cell(row, "answerable", line)
        if cell.is_missing:
            return {}
        plain = {"true": True, "false": False}.get(str(cell.value).lower())
        if plain is None:
            raise cell.error(f"is {for_message(str(cell.value))}", "write true or false")
        return {ANSWERABLE_FIELD: plain}

    def _nuggets(self, row: Mapping[str, Any], line: int) -> dict[str, Any]:
        cell = self._cell(row, "nuggets", line)
        if cell.is_missing:
            return {}
        found = [{"text": item} if isinstance(item, str) else item for item in _items(cell.value)]
        for item in found:
            if not isinstance(item, dict) or not isinstance(item.get("text"), str) or not item["text"].strip():
                raise cell.error("is no list of nuggets", 'write [{"text": "…", "importance": "vital"}]')
            if item.get("importance", "vital") not in ("vital", "okay"):
                raise cell.error(f"has the importance {for_message(str(item['importance']))}", "write vital or okay")
            if not item.get("confirmed", True):
                raise cell.error(
                    f"has a draft that no person has confirmed: {for_message(item['text'])}",
                    'read it and write "confirmed": true, or remove it',
                )
        return {"nuggets": found}

    def _cell(self, row: Mapping[str, Any], role: str, line: int) -> TableCell:
        name = self._columns.get(role, "")
        return TableCell(row.get(name), name, self._table.source, line)


def _items(value: Any) -> Sequence[Any]:
    """The items of a list, also of one in JSON text; none of any other value."""
    plain = list_in_text(value) if isinstance(value, str) else value
    return list(plain) if isinstance(plain, list | tuple | np.ndarray) else []


def _objects_in(cell: TableCell) -> Sequence[Any] | None:
    """The items of a list that has objects; None for any other value."""
    items = _items(cell.value)
    return items if any(isinstance(item, dict) for item in items) else None


def _context_of(item: Any, at: int, cell: TableCell) -> Context | None:
    """The context of an item, which is an object with a text and maybe an id, or a text; None where its score is 0."""
    place = TableCell(item, f"{cell.column}[{at}]", cell.source, cell.line)
    if not isinstance(item, dict):
        return Context((place.text() or "").strip())
    if any(isinstance(item.get(key), int | float) and item[key] <= 0 for key in _SCORE_KEYS):
        return None
    text, key = (next((item[name] for name in names if item.get(name) is not None), None) for names in (_TEXT_KEYS, _ID_KEYS))
    if text is None and key is None:
        raise place.error("has no text", 'write {"doc_id": "d1", "text": "…"}, or the text alone')
    ids = TableCell([key], place.column, cell.source, cell.line).ids() if key not in (None, "") else None
    plain = TableCell(text, place.column, cell.source, cell.line).text() if text is not None else None
    return Context(None if plain is None and text is None else (plain or "").strip(), ids[0] if ids else None)


RAG = RagImporter()
