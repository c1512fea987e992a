"""RAG logs: questions, retrieved contexts, answers and references, in the shapes of several tools, told by their fields.

Each log is a system. The questions of all logs are the queries, and the texts of contexts the documents.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Any

from rankproof._data.answers import (
    ANSWER_FIELDS,
    ANSWERABLE_FIELD,
    HISTORY_FIELD,
    SESSION_FIELD,
    TURN_FIELD,
    AnswerState,
)
from rankproof._data.text import pluralise
from rankproof._data.validation import checked_id
from rankproof._formats.columns import COLUMN_NAMES, normalised_name
from rankproof._formats.source_table import SourceTable
from rankproof._importers.base import Imported, ImportOptions, ImportSource
from rankproof._importers.builder import plain_fields
from rankproof._importers.cells import (
    SETTING,
    SETTING_HELP,
    THIRDS,
    TableCell,
    Thresholds,
    is_count,
    items_in,
    list_in_text,
    object_in,
    thresholds_of,
)
from rankproof._importers.conversations import history_column, session_by_history, session_column, turn_column, with_turns
from rankproof._importers.log_costs import COSTS, NUMBERS, cost_columns, group_columns, usage_of, with_usage
from rankproof._importers.rag_merge import Context, LoggedSearch, LogMerge, Sample, rows_of
from rankproof._importers.rag_tables import (
    COLUMN_SETTINGS,
    CONTENTS,
    RETRIEVED,
    ROLE_NAMES,
    check_log_columns,
    context_of_text,
    contexts_of_objects,
    id_keys,
    joined_by_place,
    log_columns,
    log_table,
    named_columns,
    printed_contexts,
    split_at_bars,
    with_asked_references,
)
from rankproof._importers.search_tools import SEARCH_TOOLS, SEARCH_TOOLS_HELP, SearchTools
from rankproof._importers.spans import rows_of_traces
from rankproof.errors import InputError, for_message

IMPORTER = "rag"
_SAVED_BY_DEEPEVAL = {"input", "expected_output", "context", "source_file"}
"""Columns of the datasets that DeepEval saves; in CSV and JSONL it joins contexts with bars."""
_GRADES = COLUMN_NAMES["grade"][:-1]
_QUERY_FIELDS = ("synthesizer_name", "persona_name", "query_style", "query_length", "evolution_type", "generated_by")
_HOP = re.compile(r"<[0-9]+-hop>\n\n")
_MESSAGES = re.compile(r"\[\s*(?:\{|HumanMessage\()")
_TURN_FIELDS = (SESSION_FIELD, TURN_FIELD, HISTORY_FIELD)
_LONGEST_NAME = 100
_SAMPLED_ROWS = 20
_KNOWN = {"context", "evolution_type", *(name for names in ROLE_NAMES.values() for name in names)}


class RagImporter:
    """Each file is the log of one system, named after the file; the same question in two logs is one query.

    The id of a row names its question. Without ids, rows of a log with the same question are repeats of one question;
    in sessions, its turn or the questions before it count too.
    """

    has_grades = False
    settings: Mapping[str, str] = {
        **COLUMN_SETTINGS,
        SETTING: f"{SETTING_HELP}, for scores of reference contexts (0,1/3,2/3)",
        SEARCH_TOOLS: SEARCH_TOOLS_HELP,
    }

    def detect(self, source: ImportSource) -> bool:
        """Whether every table has a column of questions and one of contexts, answers or references."""
        try:
            tables = _tables(source).values()
            return bool(tables) and all(map(_is_log, tables))
        except InputError:
            return False

    def read(self, source: ImportSource, options: ImportOptions) -> Imported:
        """The logs as one dataset with a run and the answers of each system."""
        how, named = thresholds_of(options, THIRDS), named_columns(options.settings)
        tools, notes = SearchTools.of_settings(options.settings), list[str]()
        tables = _tables(source, named, tools, notes)
        return merged_logs(tables, source, thresholds=how, named=named, tools=tools, notes=notes)


def merged_logs(
    tables: Mapping[str, SourceTable],
    source: ImportSource,
    importer: str = IMPORTER,
    *,
    thresholds: Thresholds = THIRDS,
    fields: Collection[str] = _QUERY_FIELDS,
    named: Mapping[str, str] | None = None,
    tools: SearchTools | None = None,
    notes: Sequence[str] = (),
) -> Imported:
    """The tables of logs, by the names of their systems, as one dataset.

    `fields` are the columns that describe questions, and `named` has columns by what they hold, if their names do not tell.
    `tools` are those of the conversations and traces among them, `notes` what was read of these.
    """
    if importer == IMPORTER:
        check_log_columns(tables.values(), named or {})
    merge = LogMerge(importer, source, thresholds)
    keys = id_keys(tables.values(), named or {})
    for name, table in tables.items():
        _LogReader(table, name, merge, fields, named or {}, keys).read()
    if tools is not None:
        tools.check()
        merge.notes.extend(filter(None, [*notes, tools.note()]))
    return merge.imported()


def is_known_column(name: str) -> bool:
    """Whether a log would take the column of this name for something else than a field of the question."""
    plain = normalised_name(name)
    return not plain or plain in _KNOWN or plain.endswith("_calls")


def is_rag_log(source: ImportSource) -> bool:
    """Whether every file is a RAG log, one at least with answers or retrieved contexts; a file that is no table is an error."""
    tables = list(_tables(source).values())
    measured = any(not {"answer", *RETRIEVED}.isdisjoint(log_columns(table, {})) for table in tables)
    return measured and all(map(_is_log, tables)) and not _are_queries_and_answers(tables)


def _are_queries_and_answers(tables: Sequence[SourceTable]) -> bool:
    """Whether the questions of all tables but the first are ids of the first."""
    first, *others = tables
    key = log_columns(first, {}).get("query id")
    if key is None or not others:
        return False
    ids = {str(row.get(key)) for _, row in first.rows()}
    return all(str(row.get(log_columns(other, {})["question"])) in ids for other in others for _, row in other.rows())


def _tables(
    source: ImportSource,
    named: Mapping[str, str] | None = None,
    tools: SearchTools | None = None,
    notes: list[str] | None = None,
) -> dict[str, SourceTable]:
    """The table of each log by the name of its system; predictions of LlamaIndex are joined with their examples."""
    called = tools or SearchTools()
    if source.frame is not None and source.table is not None:
        return {source.stem: _read_table(source.table, named or {}, called)}
    tables = {
        name: rows_of_traces(source, path, called, notes) or _read_table(log_table(source, path), named or {}, called)
        for path, name in source.system_names.items()
    }
    predictions = {name: table for name, table in tables.items() if _are_predictions(table, named or {})}
    examples = [table for name, table in tables.items() if name not in predictions]
    if not predictions or len(examples) != 1:
        return with_asked_references(tables, named or {}, notes)
    return {name: joined_by_place(examples[0], table) for name, table in predictions.items()}


def _read_table(table: SourceTable, named: Mapping[str, str], tools: SearchTools) -> SourceTable:
    """The table with the numbers of its objects of usage, and with a row for each turn of a conversation."""
    plain = with_usage(table)
    roles = log_columns(plain, named)
    return with_turns(plain, tools, [roles[role] for role in NUMBERS if role in roles])


def _are_predictions(table: SourceTable, named: Mapping[str, str]) -> bool:
    """Whether these are answers and contexts without their questions."""
    roles = log_columns(table, named)
    return "answer" in roles and "question" not in roles


def _is_log(table: SourceTable) -> bool:
    """Whether there is a question and something to measure, and no column of grades, which only pairs have."""
    roles = log_columns(table, {})
    has_grades = any(normalised_name(name) in _GRADES for name in table.names)
    return "question" in roles and any(role in roles for role in CONTENTS) and not has_grades and not _asks_objects(table)


def _asks_objects(table: SourceTable) -> bool:
    """Whether the questions are objects of free keys, as in the exports of other tools."""
    column = log_columns(table, {})["question"]
    return any(object_in(row.get(column)) is not None for _, row in islice(table.rows(), _SAMPLED_ROWS))


class _LogReader:
    """Reads the samples of one log."""

    def __init__(
        self,
        table: SourceTable,
        name: str,
        merge: LogMerge,
        fields: Collection[str],
        named: Mapping[str, str],
        id_keys: Sequence[str],
    ) -> None:
        self._table, self._name, self._merge, self._id_keys = table, name, merge, id_keys
        self._columns = log_columns(table, named)
        if not self._has_system_names():
            self._columns.pop("system", None)
            self._columns.pop("version of the system", None)
        has_contexts = "retrieved contexts" in self._columns
        self._calls = [] if has_contexts else [column for column in table.names if column.endswith("_calls")]
        self._fields = {name: name for name in table.names if name in fields or name in _TURN_FIELDS}
        session, turn = session_column(table.names), turn_column(table.names)
        if session is not None:
            self._fields |= {session: SESSION_FIELD} | ({} if turn is None else {turn: TURN_FIELD})
        self._history = history_column(table.names) if session is None else None
        self._some_retrieve = TURN_FIELD in table.names and any(
            row.get(TURN_FIELD) is not None and row.get("contexts") is not None for _, row in table.rows()
        )
        self._costs = cost_columns(table, self._columns)
        for role in COSTS:
            if role not in self._costs:
                self._columns.pop(role, None)
        self._groups = group_columns(table, table.names, {*self._columns.values(), *self._fields, *self._calls})
        self._fields |= self._groups
        merge.groups.update(dict.fromkeys(self._groups))
        self._hops = self._single = self._printed = 0
        self._is_saved = {*map(normalised_name, table.names)} >= _SAVED_BY_DEEPEVAL
        for role, column in self._columns.items():
            merge.columns.setdefault(role, {})[column] = None
        known = {*self._columns.values(), *self._fields, *self._calls, self._history}
        merge.unused.update({name: None for name in table.names if name not in known})

    def read(self) -> None:
        """Adds the samples with a question to their system; other rows are counted."""
        logs: dict[str, list[Sample]] = {}
        for line, row in self._table.rows():
            system = self._system(row, line)
            own = logs.setdefault(system, [])
            part = rows_of(system)
            self._merge.counts.read(part)
            question = self._cell(row, "question", line)
            if question.is_missing or not str(question.value).strip():
                self._merge.counts.drop(part, "without a question", line=line)
            elif isinstance(question.value, list | tuple) or _MESSAGES.match(str(question.value)):
                self._merge.counts.drop(part, "with a conversation of several messages", line=line)
            elif self._some_retrieve and row.get(TURN_FIELD) is not None and row.get("contexts") is None:
                self._merge.counts.drop(part, "of turns that retrieved nothing", line=line)
            else:
                own.append(self._sample(row, line))
        for system, samples in logs.items():
            self._merge.add(system, samples, self._table.source, has_answers="answer" in self._columns)
        self._add_notes(sum(map(len, logs.values())))

    def _add_notes(self, samples: int) -> None:
        if self._hops:
            self._merge.notes.append(
                f"{self._name}: {pluralise(self._hops, 'mark')} such as <1-hop> removed from reference contexts"
            )
        if self._printed:
            self._merge.notes.append(
                f"{self._name}: {pluralise(self._printed, 'document')} as Python prints them, with texts cut off: only the ids"
                " are kept; export them with Document.to_dict as JSON"
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
        return all(
            isinstance(value, str) and value.strip() and len(value) <= _LONGEST_NAME and "\n" not in value for value in values
        )

    def _system(self, row: Mapping[str, Any], line: int) -> str:
        if "system" not in self._columns:
            return self._name
        parts = (self._cell(row, role, line).text() for role in ("system", "version of the system"))
        return " ".join(part.strip() for part in parts if part)

    def _sample(self, row: Mapping[str, Any], line: int) -> Sample:
        searches, retrieved = self._searches(row, line), self._contexts(row, "retrieved contexts", line)
        if searches and self._columns.keys().isdisjoint(RETRIEVED):
            retrieved = tuple(dict.fromkeys(context for search in searches for context in search.returned))
        return Sample(
            line,
            (self._cell(row, "question", line).text() or "").strip(),
            retrieved,
            self._contexts(row, "reference contexts", line),
            self._answer(row, line),
            self._references(row, line),
            {
                **self._session(row, line),
                **plain_fields(row, self._fields),
                **self._answerable(row, line),
                **self._nuggets(row, line),
            },
            id=self._query_id(row, line),
            cited=self._cell(row, "citations", line).texts() or (),
            state=self._state(row, line),
            usage=usage_of(row, self._costs, self._table.source, line),
            searches=searches,
        )

    def _session(self, row: Mapping[str, Any], line: int) -> dict[str, str]:
        """The session of a row that has a history and no id of a session."""
        if self._history is None:
            return {}
        return {
            SESSION_FIELD: session_by_history(row.get(self._history), (self._cell(row, "question", line).text() or "").strip())
        }

    def _searches(self, row: Mapping[str, Any], line: int) -> tuple[LoggedSearch, ...] | None:
        """The calls of search tools: texts, or objects with a query, what they returned, the tokens and the time until then."""
        cell = self._cell(row, "searches", line)
        return None if cell.is_missing else tuple(self._search(item, cell) for item in items_in(cell.value))

    def _search(self, item: Any, cell: TableCell) -> LoggedSearch:
        parts: Mapping[str, Any] = {"query": item} if isinstance(item, str) else (object_in(item) or {})
        # The column of searches is made where the rows are conversations.
        column = "result of a tool" if HISTORY_FIELD in self._table.names else f"{cell.column}.contexts"
        returned = TableCell(parts.get("contexts", []), column, cell.source, cell.line)
        query, numbers = parts.get("query"), [parts.get(name) for name in ("tokens", "elapsed_ms")]
        if not isinstance(query, str) or not all(number is None or is_count(number) for number in numbers):
            example = '[{"query": "…", "contexts": ["…"], "tokens": 120, "elapsed_ms": 800}]'
            raise cell.error("is no list of searches", f"write {example}, or the queries")
        contexts = contexts_of_objects(returned, self._id_keys)
        if contexts is None:
            contexts = tuple(context_of_text(text, returned) for text in returned.texts() or ())
        tokens, elapsed_ms = (None if number is None else float(number) for number in numbers)
        return LoggedSearch(query, contexts, tokens, elapsed_ms)

    def _answer(self, row: Mapping[str, Any], line: int) -> str | None:
        """The answer; None where it is missing or blank."""
        answer = self._cell(row, "answer", line).text()
        return answer if answer is not None and answer.strip() else None

    def _references(self, row: Mapping[str, Any], line: int) -> tuple[str, ...] | None:
        """The reference answers; an empty list in our own field says that there is no answer, in others nothing."""
        cell = self._cell(row, "reference answer", line)
        references = tuple(filter(str.strip, cell.texts_or_text() or ()))
        says_none = normalised_name(cell.column) == ANSWER_FIELDS[0] and isinstance(cell.value, list) and not cell.value
        return references if references or says_none else None

    def _contexts(self, row: Mapping[str, Any], role: str, line: int) -> tuple[Context, ...] | None:
        """The contexts by text, by id, or by both, which then are as many."""
        cell, id_cell = self._cell(row, role, line), self._cell(row, f"ids of {role}", line)
        if self._is_saved:
            cell = split_at_bars(cell)
        if role == "retrieved contexts":
            self._single += isinstance(cell.value, str) and isinstance(list_in_text(cell.value), str) and not cell.is_missing
            if not cell.column and self._calls:
                return self._called_contexts(row, line)
        if (contexts := contexts_of_objects(cell, self._id_keys)) is not None:
            return contexts
        if (contexts := printed_contexts(cell)) is not None:
            self._printed += len(contexts)
            return contexts
        texts, ids = cell.texts(), id_cell.ids()
        if texts is not None and role == "reference contexts":
            self._hops += sum(1 for text in texts if _HOP.match(text))
            texts = tuple(_HOP.sub("", text, count=1) if _HOP.match(text) else text for text in texts)
        if texts is None:
            return None if ids is None else tuple(Context(id=id_) for id_ in ids)
        if ids is None:
            return tuple(context_of_text(text, cell) for text in texts)
        texts = tuple(map(str.strip, texts))
        if len(ids) != len(texts):
            what = f"has {pluralise(len(ids), 'id')} and {cell.column} {pluralise(len(texts), 'text')}"
            raise id_cell.error(what, "give every context one id, or leave the ids out")
        return tuple(map(Context, texts, ids))

    def _called_contexts(self, row: Mapping[str, Any], line: int) -> tuple[Context, ...] | None:
        """The contexts that a feedback function of TruLens was called with."""
        for name in self._calls:
            calls = [call.get("args") for call in items_in(row.get(name)) if isinstance(call, dict)]
            arguments = [args.get("context", args.get("source")) for args in calls if isinstance(args, dict)]
            texts = [
                text
                for argument in arguments
                for text in (argument if isinstance(argument, list) else [argument])
                if text is not None
            ]
            if texts:
                return tuple(map(Context, map(str.strip, TableCell(texts, name, self._table.source, line).texts() or ())))
        return None

    def _query_id(self, row: Mapping[str, Any], line: int) -> str | None:
        id = self._cell(row, "query id", line).text()
        return None if id is None else checked_id(id, "query", source=self._table.source, line=line)

    def _state(self, row: Mapping[str, Any], line: int) -> AnswerState | None:
        cell = self._cell(row, "state", line)
        state = cell.text()
        if state is not None and state not in ("answered", "abstained", "failed"):
            raise cell.error(f"is {for_message(state)}", "write answered, abstained or failed")
        return state  # type: ignore[return-value]

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
        nuggets = [{"text": item} if isinstance(item, str) else item for item in items_in(cell.value)]
        for item in nuggets:
            if not isinstance(item, dict) or not isinstance(item.get("text"), str) or not item["text"].strip():
                raise cell.error("is no list of nuggets", 'write [{"text": "…", "importance": "vital"}]')
            if item.get("importance", "vital") not in ("vital", "okay"):
                raise cell.error(f"has the importance {for_message(str(item['importance']))}", "write vital or okay")
            if not item.get("confirmed", True):
                raise cell.error(
                    f"has a draft that no person has confirmed: {for_message(item['text'])}",
                    'read it and write "confirmed": true, or remove it',
                )
        return {"nuggets": nuggets}

    def _cell(self, row: Mapping[str, Any], role: str, line: int) -> TableCell:
        name = self._columns.get(role, "")
        return TableCell(row.get(name), name, self._table.source, line)


RAG = RagImporter()
