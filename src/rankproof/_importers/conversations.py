"""Conversations in RAG logs: each answer of the assistant as a row of its own, with its session and its turn.

Read are `messages` of OpenAI's API, `turns` of DeepEval and the multi-turn samples of ragas. A turn is a question of the user and
the last text of the assistant before the next question; what tools returned in between are its contexts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from rankproof._data.answers import HISTORY_FIELD, SEARCHES_FIELD, SESSION_FIELD, TURN_FIELD
from rankproof._data.validation import made_id
from rankproof._formats.columns import normalised_name
from rankproof._formats.source_table import SourceTable
from rankproof._importers.cells import items_in, object_in

_CONVERSATION_COLUMNS = ("messages", "turns", "conversation", "user_input", "input", "question")
"""The columns that may hold the messages of a conversation."""
_SESSION_COLUMNS = ("session_id", "session", "conversation_id", "thread_id", "id", "_id")
_CONTEXT_KEYS = ("retrieved_contexts", "retrieval_context", "retrievalcontext", "contexts", "context")
_REFERENCE_KEYS = ("reference", "expected_output", "expected_outcome", "expectedoutcome", "ground_truth")
_ROLES: Mapping[str, str] = {
    **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(("assistant", "ai", "model"), "assistant"),
    **dict.fromkeys(("tool", "function"), "tool"),
    **dict.fromkeys(("system", "developer"), "system"),
}
_QUERY_ARGUMENTS = ("query", "q", "question", "search_query", "input", "text")
"""The arguments of a search tool that say what it searches for."""
_SAMPLED_ROWS = 20
_LISTS_OF_RESULTS = ("results", "documents", "contexts", "chunks", "hits", "passages", "matches")
_TURN_COLUMNS = ("id", "question", "answer", "contexts", "reference", SESSION_FIELD, TURN_FIELD, HISTORY_FIELD, SEARCHES_FIELD)


@dataclass(slots=True)
class _Turn:
    """A question and what followed it; None is what the conversation does not say."""

    question: str
    history: tuple[str, ...]
    searches: list[str] = field(default_factory=list)
    contexts: list[Any] | None = None
    answer: str | None = None
    reference: Any = None

    def add_contexts(self, contexts: Any) -> None:
        """Adds what one search retrieved; a passage that an earlier search of the turn retrieved counts once."""
        every = self.contexts or []
        self.contexts = [*every, *(context for context in contexts if context not in every)]


def with_turns(table: SourceTable) -> SourceTable:
    """The table with a row for each turn in place of each conversation; a table without conversations as it is."""
    known = {normalised_name(name): name for name in reversed(table.names)}
    columns = [known[name] for name in _CONVERSATION_COLUMNS if name in known]
    if not columns or not any(_are_conversations(row, columns) for _, row in islice(table.rows(), _SAMPLED_ROWS)):
        return table
    # What a conversation says of all its turns; what a turn says itself has columns of its own.
    own = {*columns, *(known[name] for name in (*_CONTEXT_KEYS, *_REFERENCE_KEYS, *_SESSION_COLUMNS) if name in known)}
    others = [name for name in table.names if name not in own]
    every = all(_are_conversations(row, columns) for _, row in table.rows())
    names = tuple(dict.fromkeys((*_TURN_COLUMNS, *(others if every else table.names))))
    return SourceTable(table.source, names, lambda: _rows(table, columns, others))


def _are_conversations(row: Mapping[str, Any], columns: Sequence[str]) -> bool:
    return any(_is_conversation(row.get(column)) for column in columns)


def _rows(table: SourceTable, columns: Sequence[str], others: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    sessions: dict[str, int] = {}
    for line, row in table.rows():
        column = next((column for column in columns if _is_conversation(row.get(column))), None)
        if column is None:
            yield line, row
            continue
        kept = {name: row[name] for name in others if name in row}
        for turn_row in _turn_rows(row, column, sessions):
            yield line, {**kept, **turn_row}


def _turn_rows(row: Mapping[str, Any], column: str, sessions: dict[str, int]) -> Iterator[dict[str, Any]]:
    """The rows of one conversation. Its contexts belong to each turn, its reference to the last one."""
    turns = list(_turns(items_in(row[column])))
    session = _session(row, turns, sessions)
    contexts, reference = _first(row, _CONTEXT_KEYS), _first(row, _REFERENCE_KEYS)
    if turns and turns[-1].reference is None:
        turns[-1].reference = reference
    for number, turn in enumerate(turns, start=1):
        yield {
            "id": f"{session}/{number}",
            "question": turn.question,
            "answer": turn.answer,
            "contexts": contexts if turn.contexts is None else turn.contexts,
            "reference": turn.reference,
            SESSION_FIELD: session,
            TURN_FIELD: number,
            HISTORY_FIELD: list(turn.history),
            SEARCHES_FIELD: turn.searches,
        }


def _turns(messages: Sequence[Any]) -> Iterator[_Turn]:
    """The turns in their order; what the assistant says before the first question belongs to none."""
    turn, history = None, list[str]()
    for message in messages:
        role, text = _role(message), _text(message)
        if role == "user":
            if turn is not None:
                yield turn
            turn = _Turn(text, tuple(history))
        elif turn is not None and role == "tool":
            turn.add_contexts(_results(message, text))
        elif turn is not None and role == "assistant":
            _add_reply(turn, message, text)
        if role in ("user", "assistant") and text.strip():
            history.append(f"{role}: {text.strip()}")
    if turn is not None:
        yield turn


def _add_reply(turn: _Turn, message: Mapping[str, Any], text: str) -> None:
    """Adds what a message of the assistant says, searches for, and was given."""
    turn.searches += _searches(message)
    own = _first(message, _CONTEXT_KEYS)
    if own is not None:
        turn.add_contexts(items_in(own))
    reference = _first(message, _REFERENCE_KEYS)
    turn.reference = turn.reference if reference is None else reference
    turn.answer = text if text.strip() else turn.answer


def _session(row: Mapping[str, Any], turns: Sequence[_Turn], sessions: dict[str, int]) -> str:
    """The id of the conversation, or one made from its questions; a repeated id gets a number."""
    named = _first(row, _SESSION_COLUMNS)
    session = made_id("session", [turn.question for turn in turns]) if named is None or not str(named).strip() else str(named)
    sessions[session] = sessions.get(session, 0) + 1
    return session if sessions[session] == 1 else f"{session}-{sessions[session]}"


def _is_conversation(value: Any) -> bool:
    """Whether the value is a list of messages, each with a role that is known."""
    messages = items_in(value)
    return bool(messages) and all(isinstance(message, dict) and _role(message) is not None for message in messages)


def _role(message: Mapping[str, Any]) -> str | None:
    name = message.get("role", message.get("type"))
    return _ROLES.get(name.lower()) if isinstance(name, str) else None


def _text(message: Mapping[str, Any]) -> str:
    """The text of a message, whose parts of other kinds, such as pictures, are left out."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = items_in(content)
    texts = (part if isinstance(part, str) else part.get("text", "") for part in parts if isinstance(part, str | dict))
    return "\n".join(text for text in texts if isinstance(text, str))


def _results(message: Mapping[str, Any], text: str) -> Sequence[Any]:
    """The passages that a tool returned: of a list, its items; of an object, those of its list; any other text is one passage."""
    own = _first(message, _CONTEXT_KEYS)
    if own is not None:
        return items_in(own)
    plain = object_in(text)
    if plain is not None:
        listed = next((plain[key] for key in _LISTS_OF_RESULTS if isinstance(plain.get(key), list)), None)
        return [text] if listed is None else listed
    listed = items_in(text)
    return listed or ([text] if text.strip() else [])


def _searches(message: Mapping[str, Any]) -> Iterator[str]:
    """What the calls of tools in a message search for."""
    for call in items_in(message.get("tool_calls", message.get("tools_called"))):
        if not isinstance(call, dict):
            continue
        function: Mapping[str, Any] = nested if isinstance(nested := call.get("function"), dict) else call
        arguments = next((function[key] for key in ("arguments", "args", "input_parameters", "input") if key in function), None)
        values = object_in(arguments) or {}
        query = next((values[name] for name in _QUERY_ARGUMENTS if isinstance(values.get(name), str)), None)
        yield query if query is not None else json.dumps(values, ensure_ascii=False)


def _first(row: Mapping[str, Any], keys: Sequence[str]) -> Any:
    """The first value that is not missing under one of the keys, whose case and spaces do not matter."""
    plain = {normalised_name(name): value for name, value in row.items() if isinstance(name, str)}
    return next((plain[key] for key in keys if plain.get(key) not in (None, "")), None)
