"""Conversations in RAG logs: each answer of the assistant as a row of its own, with its session and its turn.

Read are `messages` of OpenAI's API, `turns` of DeepEval and the multi-turn samples of ragas. A turn is a question of the user and
the last text of the assistant before the next question; what tools returned in between are its contexts.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from rankproof._data.answers import HISTORY_FIELD, SESSION_FIELD, TURN_FIELD
from rankproof._data.validation import made_id
from rankproof._formats.columns import normalised_name
from rankproof._formats.source_table import SourceTable
from rankproof._importers.cells import is_count, items_in, list_in_text, object_in
from rankproof._importers.messages import message_role, message_text, plain_messages
from rankproof._importers.search_tools import SearchTools

_CONVERSATION_COLUMNS = ("messages", "turns", "conversation", "user_input", "input", "question")
"""The columns that may hold the messages of a conversation."""
_SESSION_COLUMNS = (
    *(SESSION_FIELD, "session_id", "sessionid", "conversation_id", "conversationid", "conversation", "conv_id"),
    *("thread_id", "threadid", "thread", "chat_id", "chatid", "chat_session_id", "dialogue_id", "dialog_id"),
)
_TURN_NUMBERS = (TURN_FIELD, "turn_index", "turn_id", "turn_number")
_HISTORY_COLUMNS = ("chat_history", HISTORY_FIELD, "conversation_history", "message_history", "previous_messages")
_IDS = ("id", "_id")
_CONTEXT_KEYS = ("retrieved_contexts", "retrieval_context", "retrievalcontext", "contexts", "context")
_REFERENCE_CONTEXTS = "reference_contexts"
_REFERENCE_KEYS = (
    "reference",
    "expected_output",
    "expected_outcome",
    "expectedoutcome",
    "ground_truth",
    "expected",
    "expected_answer",
)
_QUERY_ARGUMENTS = ("query", "q", "question", "search_query", "input", "text")
"""The arguments of a search tool that say what it searches for."""
_SAMPLED_ROWS = 20
_LISTS_OF_RESULTS = ("results", "documents", "contexts", "chunks", "hits", "passages", "matches")
_TURN_COLUMNS = (
    *("id", "question", "answer", "contexts", "reference", "reference_contexts", SESSION_FIELD, TURN_FIELD, HISTORY_FIELD),
    *("searches", "tokens_in", "tokens_out"),
)
_CALL_IDS = ("id", "call_id", "tool_call_id", "tool_use_id")
_USAGE = ("usage_metadata", "usage", "token_usage")
_TOKENS = {"tokens_in": ("input_tokens", "prompt_tokens"), "tokens_out": ("output_tokens", "completion_tokens")}
"""The tokens of a message of the assistant: in LangChain's `usage_metadata`, or in the usage of the API."""


@dataclass(slots=True)
class _Call:
    """A call of a tool; `contexts` is None before its result, and `is_search` says whether they are contexts of the answer."""

    id: str | None
    query: str
    tokens: float | None
    is_search: bool = True
    contexts: list[Any] | None = None


@dataclass(slots=True)
class _Turn:
    """A question and what followed it; None is what the conversation does not say."""

    question: str
    history: tuple[str, ...]
    calls: list[_Call] = field(default_factory=list)
    contexts: list[Any] | None = None
    answer: str | None = None
    reference: Any = None
    reference_contexts: Any = None
    tokens: dict[str, float] = field(default_factory=dict)

    def add_contexts(self, contexts: Any) -> None:
        """Adds what one search retrieved; a passage that an earlier search of the turn retrieved counts once."""
        every = self.contexts or []
        self.contexts = [*every, *(context for context in contexts if context not in every)]

    def add_result(self, message: Mapping[str, Any], contexts: Sequence[Any], tools: SearchTools) -> None:
        """Adds the result of the call that the message names, else of the first call without one, else of an unknown call."""
        id = _call_id(message)
        waiting = [call for call in self.calls if call.contexts is None]
        named = [call for call in waiting if id is not None and call.id == id]
        call = next(iter((*named, *waiting)), None)
        if call is None:
            tool = message.get("name")
            is_search = tools.are_searched_by(tool if isinstance(tool, str) else None)
            self.calls.append(call := _Call(id, "", self.all_tokens, is_search))
        call.contexts = list(contexts)
        if call.is_search:
            self.add_contexts(contexts)

    @property
    def searches(self) -> list[dict[str, Any]]:
        """The calls that searched, as a log has them."""
        return [
            {"query": call.query, "contexts": call.contexts or [], "tokens": call.tokens} for call in self.calls if call.is_search
        ]

    @property
    def all_tokens(self) -> float | None:
        """The tokens of the language model until now; None if no message says them."""
        return sum(self.tokens.values()) if self.tokens else None


def session_column(names: Collection[str]) -> str | None:
    """The column that says of which conversation a row is."""
    return _column_called(names, _SESSION_COLUMNS)


def turn_column(names: Collection[str]) -> str | None:
    """The column that says which turn of its conversation a row is."""
    return _column_called(names, _TURN_NUMBERS)


def history_column(names: Collection[str]) -> str | None:
    """The column of what came before the question."""
    return _column_called(names, _HISTORY_COLUMNS)


def _column_called(names: Collection[str], known: Sequence[str]) -> str | None:
    plain = {normalised_name(name): name for name in reversed([*names])}
    return next((plain[name] for name in known if name in plain), None)


def session_by_history(history: Any, question: str) -> str:
    """A session for the questions whose histories start with the same message; a question without history starts one."""
    plain = list_in_text(history) if isinstance(history, str) else history
    messages = plain.split("\n") if isinstance(plain, str) else [_text_of(message) for message in items_in(plain)]
    first = next((text for text in map(str.strip, messages) if text), question)
    return made_id("session", [first.removeprefix("user: ")])


def _text_of(message: Any) -> str:
    """The text of a message of a history: a text, an object with a role, or a question with its answer; empty for a system."""
    if isinstance(message, dict):
        return "" if message_role(message) == "system" else message_text(message)
    return str(message[0] if isinstance(message, list | tuple) and message else message)


def with_turns(table: SourceTable, tools: SearchTools, costs: Collection[str]) -> SourceTable:
    """The table with a row for each turn in place of each conversation; a table without conversations as it is.

    The columns of costs have those of the whole conversation: its turns share them equally.
    """
    known = {normalised_name(name): name for name in reversed(table.names)}
    columns = [known[name] for name in _CONVERSATION_COLUMNS if name in known]
    if not columns or not any(_are_conversations(row, columns) for _, row in islice(table.rows(), _SAMPLED_ROWS)):
        return table
    # What a conversation says of all its turns; what a turn says itself has columns of its own.
    own = {
        *columns,
        *(
            known[name]
            for name in (*_CONTEXT_KEYS, *_REFERENCE_KEYS, _REFERENCE_CONTEXTS, *_SESSION_COLUMNS, *_IDS)
            if name in known
        ),
    }
    others = [name for name in table.names if name not in own]
    every = all(_are_conversations(row, columns) for _, row in table.rows())
    stated = {
        name for _, row in _rows(table, columns, others, SearchTools(), costs) for name, value in row.items() if value is not None
    }
    names = tuple(dict.fromkeys((*filter(stated.__contains__, _TURN_COLUMNS), *(others if every else table.names))))
    return SourceTable(table.source, names, lambda: _rows(table, columns, others, tools, costs))


def _are_conversations(row: Mapping[str, Any], columns: Sequence[str]) -> bool:
    return any(_is_conversation(row.get(column)) for column in columns)


def _rows(
    table: SourceTable, columns: Sequence[str], others: Sequence[str], tools: SearchTools, costs: Collection[str]
) -> Iterator[tuple[int, dict[str, Any]]]:
    sessions: dict[str, int] = {}
    for line, row in table.rows():
        column = next((column for column in columns if _is_conversation(row.get(column))), None)
        if column is None:
            yield line, row
            continue
        kept = {name: row[name] for name in others if name in row}
        turns = list(_turn_rows(row, column, sessions, tools))
        kept |= {name: _share(kept[name], len(turns)) for name in costs if name in kept}
        for turn_row in turns:
            yield line, {**kept, **turn_row}


def _share(value: Any, turns: int) -> Any:
    """The part of a cost of a conversation that one turn has; what is no number as it is."""
    if turns < 2 or isinstance(value, bool):
        return value
    try:
        return float(value) / turns
    except (TypeError, ValueError, OverflowError):
        return value


def _turn_rows(row: Mapping[str, Any], column: str, sessions: dict[str, int], tools: SearchTools) -> Iterator[dict[str, Any]]:
    """The rows of one conversation. Its contexts belong to each turn, its reference to the last one."""
    turns = list(_turns(items_in(row[column]), tools))
    session = _session(row, turns, sessions)
    contexts, reference = _first(row, _CONTEXT_KEYS), _first(row, _REFERENCE_KEYS)
    if turns and turns[-1].reference is None:
        turns[-1].reference = reference
    if turns and turns[-1].reference_contexts is None:
        turns[-1].reference_contexts = _first(row, (_REFERENCE_CONTEXTS,))
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
            "reference_contexts": turn.reference_contexts,
            "searches": turn.searches if any(turn.calls for turn in turns) else None,
            **turn.tokens,
        }


def last_turn(messages: Sequence[Any], tools: SearchTools) -> _Turn | None:
    """The last question of the messages, and what followed it; None if they have no question."""
    return next(iter([*_turns(messages, tools)][-1:]), None)


def _turns(messages: Sequence[Any], tools: SearchTools) -> Iterator[_Turn]:
    """The turns in their order; what the assistant says before the first question belongs to none."""
    turn, history = None, list[str]()
    for message in plain_messages(messages):
        role, text = message_role(message), message_text(message)
        if role == "user":
            if turn is not None:
                yield turn
            turn = _Turn(text, tuple(history))
        elif turn is not None and role == "tool":
            turn.add_result(message, _results(message, text), tools)
        elif turn is not None and role == "assistant":
            _add_reply(turn, message, text, tools)
        if role in ("user", "assistant") and text.strip():
            history.append(f"{role}: {text.strip()}")
    if turn is not None:
        yield turn


def _add_reply(turn: _Turn, message: Mapping[str, Any], text: str, tools: SearchTools) -> None:
    """Adds what a message of the assistant says, searches for, and was given."""
    for name, count in _tokens(message).items():
        turn.tokens[name] = turn.tokens.get(name, 0) + count
    for id, tool, query in _calls(message):
        turn.calls.append(_Call(id, query, turn.all_tokens, tools.are_searched_by(tool)))
    own = _first(message, _CONTEXT_KEYS)
    if own is not None:
        turn.add_contexts(items_in(own))
    reference = _first(message, _REFERENCE_KEYS)
    turn.reference = turn.reference if reference is None else reference
    turn.reference_contexts = message.get(_REFERENCE_CONTEXTS, turn.reference_contexts)
    turn.answer = text if text.strip() else turn.answer


def _session(row: Mapping[str, Any], turns: Sequence[_Turn], sessions: dict[str, int]) -> str:
    """The id of the conversation, or one made from its questions; a repeated id gets a number."""
    named = _first(row, (*(name for name in _SESSION_COLUMNS if name not in _CONVERSATION_COLUMNS), *_IDS))
    session = made_id("session", [turn.question for turn in turns]) if named is None or not str(named).strip() else str(named)
    sessions[session] = sessions.get(session, 0) + 1
    return session if sessions[session] == 1 else f"{session}-{sessions[session]}"


def _is_conversation(value: Any) -> bool:
    """Whether the value is a list of messages, each with a role that is known."""
    messages = items_in(value)
    return bool(messages) and all(isinstance(message, dict) and message_role(message) is not None for message in messages)


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


def _calls(message: Mapping[str, Any]) -> Iterator[tuple[str | None, str | None, str]]:
    """The id of each call of a tool in a message, the tool, and what it searches for."""
    for call in items_in(message.get("tool_calls", message.get("tools_called"))):
        if not isinstance(call, dict):
            continue
        function: Mapping[str, Any] = nested if isinstance(nested := call.get("function"), dict) else call
        arguments = next((function[key] for key in ("arguments", "args", "input_parameters", "input") if key in function), None)
        values = object_in(arguments) or {}
        query = next((values[name] for name in _QUERY_ARGUMENTS if isinstance(values.get(name), str)), None)
        name = function.get("name")
        plain = query if query is not None else json.dumps(values, ensure_ascii=False)
        yield _call_id(call), name if isinstance(name, str) else None, plain


def _call_id(message: Mapping[str, Any]) -> str | None:
    named = next((message[key] for key in reversed(_CALL_IDS) if isinstance(message.get(key), str)), None)
    return named or None


def _tokens(message: Mapping[str, Any]) -> dict[str, float]:
    """The tokens of the prompt and the reply of a message that says them."""
    places = (message, object_in(message.get("response_metadata")) or {})
    usage = next((inside for place in places for key in _USAGE if (inside := object_in(place.get(key))) is not None), {})
    counts = {name: next((usage[key] for key in keys if is_count(usage.get(key))), None) for name, keys in _TOKENS.items()}
    return {name: count for name, count in counts.items() if count is not None}


def _first(row: Mapping[str, Any], keys: Sequence[str]) -> Any:
    """The first value that is not missing under one of the keys, whose case and spaces do not matter."""
    plain = {normalised_name(name): value for name, value in row.items() if isinstance(name, str)}
    return next((plain[key] for key in keys if plain.get(key) not in (None, "")), None)
