"""What the answers to queries should be, as the queries' own fields say it."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ..errors import InputError, shown
from .queries import Query
from .texts import Texts

TEXTS = ("answers", "answer")
URLS = ("expected_urls", "expected_url", "urls")
ANSWERABLE = "answerable"
_LONGEST_LIST = 100_000


@dataclass(frozen=True, slots=True)
class Reference:
    """Any of `answers` is right; where there is none, the right thing is to abstain. `urls` are where the answer stands."""

    answers: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()

    @property
    def wanted(self) -> tuple[str, ...]:
        """What an answer is held against: an empty text where there is no answer."""
        return self.answers or ("",)


class References(Mapping[str, Reference]):
    """Query id to reference; `without` are the queries that say nothing, `lists_as_text` those whose list was written as text."""

    __slots__ = ("_found", "lists_as_text", "without")

    def __init__(self, found: Mapping[str, Reference], *, without: Sequence[str] = (), lists_as_text: Sequence[str] = ()) -> None:
        self._found = MappingProxyType(dict(found))
        self.without, self.lists_as_text = tuple(without), tuple(lists_as_text)

    def __getitem__(self, query: str) -> Reference:
        return self._found[query]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def given_references(values: Mapping[str, Reference | str | Sequence[str]]) -> References:
    """References by query, each a text or a list of them, read by the same rules as the field `answers` of a query."""
    plain = {query: one for query, one in values.items() if not isinstance(one, Reference)}
    read = references_of(Texts([Query(query, "", fields={TEXTS[0]: one}) for query, one in plain.items()]))
    own = {query: one for query, one in values.items() if isinstance(one, Reference)}
    found = {query: own[query] if query in own else read[query] for query in values if query in own or query in read}
    return References(found, without=read.without, lists_as_text=read.lists_as_text)


def references_of(queries: Texts[Query]) -> References:
    """The references in the fields `answers` or `answer`, else the URLs in `expected_urls`, `expected_url` or `urls`.

    A field is always a list: one text alone is a list of one, a list inside a list gives its members, and a text that is a list
    as Python or JSON writes it is read as that list. An empty list, an empty text, and `answerable` false: there is no answer;
    no URL says only that nobody wrote one down.
    """
    found: dict[str, Reference] = {}
    lists: dict[str, None] = {}
    for key, query in queries.items():
        texts = [text for name in TEXTS for text in _members(query, name, queries.source, lists)]
        urls = [url for name in URLS for url in _members(query, name, queries.source, lists)]
        has_texts = any(query.fields.get(name) is not None for name in TEXTS)
        answerable = query.fields.get(ANSWERABLE)
        if answerable is not None and not isinstance(answerable, bool):
            raise _wrong(query, ANSWERABLE, answerable, queries.source, "write true or false")
        if has_texts or urls or answerable is False:
            said = texts if has_texts else urls
            found[key] = Reference(() if answerable is False else _distinct(said), _distinct(urls))
    return References(found, without=[key for key in queries if key not in found], lists_as_text=tuple(lists))


def _members(query: Query, name: str, source: str, lists: dict[str, None]) -> Iterator[str]:
    """The texts in a field, those of lists inside it as well; blank ones are none."""
    waiting = [query.fields.get(name)]
    while waiting:
        value = waiting.pop(0)
        as_list = _as_list(value)
        if as_list is not None:
            lists[query.id] = None
            value = as_list
        if isinstance(value, list | tuple):
            waiting = [*value, *waiting]
        elif isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool)):
            yield from filter(str.strip, (str(value),))
        elif value is not None:
            raise _wrong(query, name, value, source, "write a text, or a list of texts")


def _as_list(value: Any) -> list[str] | None:
    """The list of texts that a text stands for, as str() of a list gives it; None for any other."""
    text = value.strip() if isinstance(value, str) else ""
    if not (text.startswith("[") and text.endswith("]")) or len(text) > _LONGEST_LIST:
        return None
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        if isinstance(found, list) and found and all(isinstance(one, str) for one in found):
            return found
    return None


def _distinct(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text.strip() for text in texts))


def _wrong(query: Query, name: str, value: object, source: str, fix: str) -> InputError:
    what = f"{name} of query {shown(query.id)} is {shown(repr(value))}"
    return InputError(what, fix=fix, source=source, line=query.line)
