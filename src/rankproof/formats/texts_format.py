"""Documents and queries in JSONL: an id, a text, perhaps a title, and whatever fields there are besides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from ..data.corpus import Corpus, Document
from ..data.queries import Queries, Query
from ..data.refusals import refusal
from ..data.source import Source
from ..data.texts import TextRecord
from .columns import TEXT_IDS, TEXT_NAMES, listed, plain_name
from .faults import fault
from .jsonl_format import json_line, objects
from .values import id_of_value, kind_name

MAX_TEXT_BYTES = 1 << 26
_Record = TypeVar("_Record", bound=TextRecord)


def read_corpus(source: Source) -> Corpus:
    """The documents of `corpus.jsonl`."""
    return corpus_of(objects(source, limit=MAX_TEXT_BYTES), source.name)


def read_queries(source: Source) -> Queries:
    """The queries of `queries.jsonl`."""
    return queries_of(objects(source, limit=MAX_TEXT_BYTES), source.name)


def corpus_of(items: Iterable[tuple[int, Any]], source: str) -> Corpus:
    """The documents of numbered items like {"_id": "d1", "title": "…", "text": "…"}."""
    return _refuse_nothing(Corpus(_records(items, Document, "document", source), source=source))


def queries_of(items: Iterable[tuple[int, Any]], source: str) -> Queries:
    """The queries of numbered items like {"_id": "q1", "text": "…"}."""
    return _refuse_nothing(Queries(_records(items, Query, "query", source), source=source))


def text_blocks(texts: Mapping[str, TextRecord]) -> Iterator[bytes]:
    """The records as lines of BEIR's JSONL."""
    for record in texts.values():
        yield json_line({"_id": record.id, "title": record.title, "text": record.text, **record.fields})


def _records(items: Iterable[tuple[int, Any]], make: type[_Record], column: str, source: str) -> Iterator[_Record]:
    for line, item in items:
        if not isinstance(item, dict):
            expected = '{"_id": …, "text": …}'
            raise fault("json-shape", source=source, line=line, kind=kind_name(item), expected=expected)
        yield _record(item, make, column, source, line)


def _record(item: dict[str, Any], make: type[_Record], column: str, source: str, line: int) -> _Record:
    rest = dict(item)
    key = _taken(rest, TEXT_IDS[column])
    if key is None:
        raise fault("text-missing", source=source, line=line, what="id", found=listed(tuple(item)), name="_id")
    identity = id_of_value(item[key], column, source=source, line=line)
    title = _taken(rest, ("title",))
    text = _taken(rest, TEXT_NAMES)
    if text is None:
        raise fault("text-missing", source=source, line=line, what="text", found=listed(tuple(item)), name="text")
    return make(
        id=identity,
        text=_text(item[text], "text", identity, source, line),
        title="" if title is None or item[title] is None else _text(item[title], "title", identity, source, line),
        fields=MappingProxyType(rest),
        line=line,
    )


def _taken(rest: dict[str, Any], names: tuple[str, ...]) -> str | None:
    """The best-named key, taken out of what is left."""
    plain = {plain_name(key): key for key in rest}
    key = next((plain[name] for name in names if name in plain), None)
    if key is not None:
        del rest[key]
    return key


def _text(value: object, role: str, identity: str, source: str, line: int) -> str:
    if not isinstance(value, str):
        raise fault("text-type", source=source, line=line, role=role, token=identity, kind=kind_name(value))
    try:
        value.encode()
    except UnicodeEncodeError:
        raise fault("text-surrogate", source=source, line=line, role=role, token=identity) from None
    return value


_Texts = TypeVar("_Texts", Corpus, Queries)


def _refuse_nothing(texts: _Texts) -> _Texts:
    if not texts:
        raise refusal("no-rows", source=texts.source)
    return texts
