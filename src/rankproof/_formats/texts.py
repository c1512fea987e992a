"""Documents, queries and answers in JSONL."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import repeat
from types import MappingProxyType
from typing import Any, TypeVar, get_args

from rankproof._data.answers import (
    ANSWER_FIELDS,
    NUGGETS_FIELD,
    URL_FIELDS,
    Answer,
    Answers,
    AnswerState,
    AnswerUsage,
    SearchCall,
    is_abstention,
)
from rankproof._data.corpus import Corpus, Document, TextRecord
from rankproof._data.dataset import Queries, Query, checked_weight
from rankproof._data.row_errors import row_error
from rankproof._data.validation import checked_id, made_id
from rankproof._formats.columns import TEXT_ID_NAMES, TEXT_NAMES, names_for_message, normalised_name
from rankproof._formats.json import json_line, parsed_lines
from rankproof._formats.rows import id_of_value, json_type_name
from rankproof._io.escape import escape_json
from rankproof._io.file_errors import file_error
from rankproof._io.open import BOM, numbered_text_lines, read_all_bytes
from rankproof._io.streams import ByteSource
from rankproof._io.strict_json import JsonObject, plain_record
from rankproof.errors import InputError, closest_name, for_message

MAX_TEXT_BYTES = 1 << 26
_Record = TypeVar("_Record", bound=TextRecord)


def read_queries(source: ByteSource) -> Queries:
    """The queries of a JSONL file, of a table (CSV, TSV, Parquet), or of a text file with a query on each line.

    A query of a table or text file without an id gets one made from its text.
    """
    from rankproof._formats.source_table import is_query_list, is_table_file, open_table

    if not is_table_file(source) and not is_query_list(source):
        return build_queries(parsed_lines(source, limit=MAX_TEXT_BYTES), source.name)
    table = open_table(source)
    queries = {query.line: query for query in map(_query_of_row, table.rows(), repeat(source.name))}
    if table.untyped:
        queries = with_parsed_fields(queries, table.names)
    return check_not_empty(Queries(queries.values(), source=source.name))


def _query_of_row(numbered: tuple[int, Mapping[str, Any]], source: str) -> Query:
    """The query of a row of a table, whose columns are called like the keys of JSONL; an empty cell is no field."""
    line, row = numbered
    filled = {name: value for name, value in row.items() if value is not None and value != ""}
    plain = {normalised_name(name): name for name in filled}
    text = next((filled[plain[name]] for name in TEXT_NAMES if name in plain), None)
    if isinstance(text, str) and plain.keys().isdisjoint(TEXT_ID_NAMES["query"]):
        filled = {"_id": made_id("query", [text.strip()]), **filled}
    return record_of_item(filled, Query, "query", source, line)


_Key = TypeVar("_Key")
_TEXT_FIELDS = {*ANSWER_FIELDS, *URL_FIELDS, NUGGETS_FIELD}
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?", re.ASCII)


def with_parsed_fields(queries: Mapping[_Key, Query], names: Iterable[str]) -> dict[_Key, Query]:
    """The queries with these fields as numbers, or as true and false, where every text is one; answers stay texts."""
    changed = dict(queries)
    for name in (name for name in names if name not in _TEXT_FIELDS):
        texts = {key: text for key, query in changed.items() if isinstance(text := query.fields.get(name), str)}
        parsed = {key: _parsed_cell(text) for key, text in texts.items()}
        if not any(isinstance(value, str) for value in parsed.values()):
            for key, value in parsed.items():
                changed[key] = replace(changed[key], fields=MappingProxyType({**changed[key].fields, name: value}))
    return changed


def _parsed_cell(text: str) -> str | int | float | bool:
    """The number that a text is, or true or false; other texts, and digits that may be an id (007), as they are."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if not _NUMBER.fullmatch(text):
        return text
    return int(text) if text.lstrip("-").isdecimal() else float(text)


def read_weights(source: ByteSource) -> dict[str, float]:
    """The weights in lines of query and weight, separated by a tab, comma or space, or in queries.jsonl."""
    if read_all_bytes(source)[:3].lstrip(BOM).lstrip().startswith(b"{"):
        stated = read_queries(source).weights
        if stated is None:
            first = next(iter(read_queries(source).values()))
            raise row_error("weight-none", source=source.name, line=1, query=first.id)
        return stated
    weights: dict[str, float] = {}
    for line, text in numbered_text_lines(source):
        row = text.strip()
        if row and not row.startswith("#") and not (not weights and normalised_name(row).endswith("weight")):
            query, weight = _weight_row(row, source.name, line)
            if query in weights:
                raise row_error("id-twice", source=source.name, line=line, column="query", token=query, first="an earlier line")
            weights[query] = weight
    if not weights:
        raise row_error("no-rows", source=source.name)
    return weights


def _weight_row(row: str, source: str, line: int) -> tuple[str, float]:
    cells = [cell.strip() for cell in row.split(next((mark for mark in "\t," if mark in row), None))]
    if len(cells) != 2:
        raise row_error("weight-columns", source=source, line=line, found=len(cells))
    query, text = cells
    try:
        value: float | str = float(text)
    except ValueError:
        value = text
    return checked_id(query, "query", source=source, line=line), checked_weight(value, query, source=source, line=line)


def build_corpus(items: Iterable[tuple[int, Any]], source: str) -> Corpus:
    """The documents of items like {"_id": "d1", "title": "…", "text": "…"}, each with its line."""
    return check_not_empty(Corpus(_records(items, Document, "document", source), source=source))


def build_queries(items: Iterable[tuple[int, Any]], source: str) -> Queries:
    """The queries of items like {"_id": "q1", "text": "…"}, each with its line."""
    return check_not_empty(Queries(_records(items, Query, "query", source), source=source))


def text_blocks(texts: Mapping[str, TextRecord]) -> Iterator[bytes]:
    """The records as lines of BEIR JSONL."""
    for record in texts.values():
        yield json_line({"_id": record.id, "title": record.title, "text": record.text, **record.fields})


def _records(items: Iterable[tuple[int, Any]], make: type[_Record], column: str, source: str) -> Iterator[_Record]:
    return (record_of_item(item, make, column, source, line) for line, item in items)


def record_of_item(item: Any, make: type[_Record], column: str, source: str, line: int) -> _Record:
    """The record of an item like {"_id": "d1", "title": "…", "text": "…"}; the other keys are its fields."""
    if not isinstance(item, dict):
        expected = '{"_id": …, "text": …}'
        raise file_error("json-shape", source=source, line=line, kind=json_type_name(item), expected=expected)
    rest = dict(item)
    key = _pop_first_key(rest, TEXT_ID_NAMES[column])
    if key is None:
        raise file_error("text-missing", source=source, line=line, what="id", found=names_for_message(tuple(item)), name="_id")
    identity = id_of_value(item[key], column, source=source, line=line)
    title = _pop_first_key(rest, ("title",))
    text = _pop_first_key(rest, TEXT_NAMES)
    if text is None:
        raise file_error("text-missing", source=source, line=line, what="text", found=names_for_message(tuple(item)), name="text")
    return make(
        id=identity,
        text=_text(item[text], "text", identity, source, line),
        title="" if title is None or item[title] is None else _text(item[title], "title", identity, source, line),
        fields=MappingProxyType(rest),
        line=line,
    )


def _pop_first_key(rest: dict[str, Any], names: tuple[str, ...]) -> str | None:
    """Removes the first known key from `rest` and returns it."""
    plain = {normalised_name(key): key for key in rest}
    key = next((plain[name] for name in names if name in plain), None)
    if key is not None:
        del rest[key]
    return key


def _text(value: object, role: str, identity: str, source: str, line: int) -> str:
    if not isinstance(value, str):
        raise file_error("text-type", source=source, line=line, role=role, token=identity, kind=json_type_name(value))
    try:
        value.encode()
    except UnicodeEncodeError:
        raise file_error("text-surrogate", source=source, line=line, role=role, token=identity) from None
    return value


_Texts = TypeVar("_Texts", Corpus, Queries)


def check_not_empty(texts: _Texts) -> _Texts:
    """The texts; none is an error."""
    if not texts:
        raise row_error("no-rows", source=texts.source)
    return texts


REPEAT = "repeat"
_QUERY_KEYS = ("query", "_id", "query_id", "id")
_TEXT_KEYS = ("answer", "text")
_EXAMPLE = '{"query": "q1", "answer": "Paris", "cited": ["d1"]}'


def read_answers(source: ByteSource, known: Collection[str] | None = None) -> Answers:
    """The answers of a file; a repeated query, or one that is not known, is an error with its line."""
    answers: dict[str, Answer] = {}
    repeats: dict[str, list[Answer]] = {}
    lines: dict[str, int] = {}
    for line, item in parsed_lines(source, limit=MAX_TEXT_BYTES):
        if not isinstance(item, dict):
            raise file_error("json-shape", source=source.name, line=line, kind=json_type_name(item), expected=_EXAMPLE)
        query = _query(item, source.name, line)
        if query in answers and is_repeat(item, query, len(repeats.get(query, ())) + 2, source.name, line):
            repeats.setdefault(query, []).append(_answer(item, query, source.name, line))
            continue
        if query in answers:
            raise row_error("id-twice", source=source.name, line=line, column="query", token=query, first=f"line {lines[query]}")
        if known is not None and query not in known:
            raise _unknown_query_error(query, known, source.name, line)
        answers[query], lines[query] = _answer(item, query, source.name, line), line
    if not answers:
        raise row_error("no-rows", source=source.name)
    return Answers(answers, source=source.name, repeats=repeats)


def is_repeat(item: Mapping[str, Any], query: str, number: int, source: str, line: int) -> bool:
    """Whether the answer has the next repeat number of its query; no number is False, and another one an error."""
    stated = item.get(REPEAT)
    if stated is not None and stated != number:
        raise _field_error(REPEAT, query, stated, f"write {number}: the answers of a query are numbered 1, 2, 3 …", source, line)
    return stated is not None


def answer_blocks(systems: Iterable[tuple[str, Answers]]) -> Iterator[bytes]:
    """The answers of every system, one a line; `given` is null where the passages of an answer are not known.

    A further answer to a query has its number, from 2, in `repeat`.
    """
    import json

    for system, answers in systems:
        for query, number, answer in answers.with_repeats():
            passages = None if answer.given is None else list(answer.given)
            repeat = {REPEAT: number} if number > 1 else {}
            parts = {"answer": answer.text, "cited": list(answer.cited), "given": passages, "state": answer.state}
            if answer.usage is not None:
                parts["usage"] = plain_record(answer.usage)
            if answer.searches is not None:
                parts["searches"] = plain_record(answer.searches)
            line = json.dumps({"system": system, "query": query, **repeat, **parts}, ensure_ascii=False)
            yield escape_json(line).encode() + b"\n"


def _query(item: dict[str, Any], source: str, line: int) -> str:
    key = next((name for name in _QUERY_KEYS if name in item), None)
    if key is None:
        raise file_error(
            "text-missing", source=source, line=line, what="query", found=names_for_message(tuple(item)), name="query"
        )
    return id_of_value(item[key], "query", source=source, line=line)


def _answer(item: dict[str, Any], query: str, source: str, line: int) -> Answer:
    state: AnswerState = item.get("state", "answered")
    if state not in get_args(AnswerState):
        raise _field_error("state", query, state, f"write one of {', '.join(get_args(AnswerState))}", source, line)
    key = next((name for name in _TEXT_KEYS if name in item), None)
    if key is None and state == "answered":
        raise file_error(
            "text-missing", source=source, line=line, what="answer", found=names_for_message(tuple(item)), name="answer"
        )
    value = "" if key is None else item[key]
    if value is None:
        value, state = "", "abstained" if state == "answered" else state
    if not isinstance(value, str):
        raise file_error("text-type", source=source, line=line, role="answer", token=query, kind=json_type_name(value))
    if any("\ud800" <= char <= "\udfff" for char in value):
        raise file_error("text-surrogate", source=source, line=line, role="answer", token=query)
    if state == "answered" and (not value.strip() or ("state" not in item and is_abstention(value))):
        state = "abstained"
    cited, passages = (_ids(item, name, query, source, line) for name in ("cited", "given"))
    values = JsonObject(item, source, line=line)
    usage = values.member("usage", AnswerUsage) if isinstance(item.get("usage"), dict) else None
    searches = None if item.get("searches") is None else values.member("searches", tuple[SearchCall, ...])
    return Answer(value, tuple(dict.fromkeys(cited or ())), passages, state, usage, searches)


def _ids(item: dict[str, Any], name: str, query: str, source: str, line: int) -> tuple[str, ...] | None:
    value = item.get(name)
    if value is None:
        return None
    if not isinstance(value, list):
        raise _field_error(name, query, value, 'write a list of document ids, such as ["d1"]', source, line)
    return tuple(id_of_value(id, "document", source=source, line=line) for id in value)


def _field_error(name: str, query: str, value: object, fix: str, source: str, line: int) -> InputError:
    return InputError(f"{name} of query {for_message(query)} is {for_message(repr(value))}", fix=fix, source=source, line=line)


def _unknown_query_error(query: str, known: Collection[str], source: str, line: int) -> InputError:
    near = closest_name(query, known)
    fix = f"did you mean {for_message(near)}?" if near else "use the ids of the queries file"
    return InputError(f"no query has the id {for_message(query)}", fix=fix, source=source, line=line)
