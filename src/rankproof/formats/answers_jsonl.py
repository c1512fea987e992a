"""Answers from elsewhere: JSONL with a query, its answer and perhaps what the answer cites a line."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from typing import Any, get_args

from ..data.answers import Answer, Answers, State, abstains
from ..data.refusals import refusal
from ..data.source import Source
from ..errors import InputError, nearest, shown
from .columns import listed
from .faults import fault
from .harmless import for_json
from .jsonl_format import objects
from .texts_format import MAX_TEXT_BYTES
from .values import id_of_value, kind_name

_QUERY = ("query", "_id", "query_id", "id")
_TEXT = ("answer", "text")
_EXAMPLE = '{"query": "q1", "answer": "Paris", "cited": ["d1"]}'


def read_answers(source: Source, known: Collection[str] | None = None) -> Answers:
    """The answers of a file; a query that stands twice, or is not among the known ones, is refused with its line."""
    found: dict[str, Answer] = {}
    lines: dict[str, int] = {}
    says_given = True
    for line, item in objects(source, limit=MAX_TEXT_BYTES):
        if not isinstance(item, dict):
            raise fault("json-shape", source=source.name, line=line, kind=kind_name(item), expected=_EXAMPLE)
        query = _query(item, source.name, line)
        if query in found:
            raise refusal("id-twice", source=source.name, line=line, column="query", token=query, first=f"line {lines[query]}")
        if known is not None and query not in known:
            raise _unknown(query, known, source.name, line)
        found[query], lines[query] = _answer(item, query, source.name, line), line
        says_given = says_given and (item.get("given") is not None or found[query].state == "failed")
    if not found:
        raise refusal("no-rows", source=source.name)
    return Answers(found, source=source.name, says_given=says_given)


def answer_blocks(systems: Iterable[tuple[str, Answers]]) -> Iterator[bytes]:
    """Every system's answers, a line each."""
    for system, answers in systems:
        for query, one in answers.items():
            parts = {"answer": one.text, "cited": list(one.cited), "given": list(one.given), "state": one.state}
            line = json.dumps({"system": system, "query": query, **parts}, ensure_ascii=False)
            yield for_json(line).encode() + b"\n"


def _query(item: dict[str, Any], source: str, line: int) -> str:
    key = next((name for name in _QUERY if name in item), None)
    if key is None:
        raise fault("text-missing", source=source, line=line, what="query", found=listed(tuple(item)), name="query")
    return id_of_value(item[key], "query", source=source, line=line)


def _answer(item: dict[str, Any], query: str, source: str, line: int) -> Answer:
    state: State = item.get("state", "answered")
    if state not in get_args(State):
        raise _wrong("state", query, state, f"write one of {', '.join(get_args(State))}", source, line)
    key = next((name for name in _TEXT if name in item), None)
    if key is None and state == "answered":
        raise fault("text-missing", source=source, line=line, what="answer", found=listed(tuple(item)), name="answer")
    value = "" if key is None else item[key]
    if value is None:
        value, state = "", "abstained" if state == "answered" else state
    if not isinstance(value, str):
        raise fault("text-type", source=source, line=line, role="answer", token=query, kind=kind_name(value))
    if any("\ud800" <= char <= "\udfff" for char in value):
        raise fault("text-surrogate", source=source, line=line, role="answer", token=query)
    if state == "answered" and (not value.strip() or ("state" not in item and abstains(value))):
        state = "abstained"
    return Answer(value, _ids(item, "cited", query, source, line), _ids(item, "given", query, source, line), state)


def _ids(item: dict[str, Any], name: str, query: str, source: str, line: int) -> tuple[str, ...]:
    value = item.get(name)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise _wrong(name, query, value, 'write a list of document ids, as ["d1"]', source, line)
    return tuple(dict.fromkeys(id_of_value(one, "document", source=source, line=line) for one in value))


def _wrong(name: str, query: str, value: object, fix: str, source: str, line: int) -> InputError:
    return InputError(f"{name} of query {shown(query)} is {shown(repr(value))}", fix=fix, source=source, line=line)


def _unknown(query: str, known: Collection[str], source: str, line: int) -> InputError:
    near = nearest(query, known)
    fix = f"did you mean {shown(near)}?" if near else "answer queries of the queries file, by their ids"
    return InputError(f"no query has the id {shown(query)}", fix=fix, source=source, line=line)
