"""Answers of systems, and the reference answers of queries."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain
from types import MappingProxyType
from typing import Any, Literal, get_args

from rankproof._data.claims import Importance, Nugget
from rankproof._data.dataset import Query, Texts
from rankproof._data.text import clip_text, pluralise
from rankproof._data.validation import checked_id
from rankproof._data.view import View, Viewed, collection_view
from rankproof.errors import InputError, UsageError, for_message, type_phrase


@dataclass(frozen=True, slots=True)
class AnswerUsage:
    """The time, tokens and money of one answer; None where it is not known.

    `tokens` are those of prompts and replies together; where it is None, they are the sum of `tokens_in` and `tokens_out`.
    `model` is the language model that wrote the answer.
    """

    latency_ms: float | None = None
    tokens_in: float | None = None
    tokens_out: float | None = None
    tokens: float | None = None
    cost: float | None = None
    model: str | None = None

    @property
    def all_tokens(self) -> float | None:
        """The tokens of prompts and replies; None unless both are known."""
        if self.tokens is not None or self.tokens_in is None or self.tokens_out is None:
            return self.tokens
        return self.tokens_in + self.tokens_out

    @property
    def is_known(self) -> bool:
        """Whether anything is known."""
        return any(getattr(self, field.name) is not None for field in fields(self))


def mean_known(values: Iterable[float | None]) -> float | None:
    """The mean; None if there are no values, or one is not known."""
    every = list(values)
    known = [value for value in every if value is not None]
    return math.fsum(known) / len(known) if known and len(known) == len(every) else None


AnswerState = Literal["answered", "abstained", "failed", "missing"]
ABSTAIN_PHRASE = "NO ANSWER"
"""The text of an answer that abstains, unless another phrase is set."""


@dataclass(frozen=True, slots=True)
class SearchCall:
    """A call of a search tool for an answer: its query, and the ids of the passages that it returned, best first.

    `tokens` are those of the language model from the question until the call, `elapsed_ms` is the time until it returned; None
    where they are not known.
    """

    query: str
    returned: tuple[str, ...] = ()
    tokens: float | None = None
    elapsed_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer.

    `given` are the ids of the passages that it was generated from, best first: None if they are not known, empty if nothing was
    retrieved. `cited` are those that it cites. The state is `abstained` if the passages do not contain an answer, `failed` if
    generating it failed, and `missing` if there is none. `usage` is what it cost, and `searches` are the calls of search tools,
    None where they are not known; equal answers may differ in both.
    """

    text: str
    cited: tuple[str, ...] = ()
    given: tuple[str, ...] | None = None
    state: AnswerState = "answered"
    usage: AnswerUsage | None = field(default=None, compare=False)
    searches: tuple[SearchCall, ...] | None = field(default=None, compare=False)

    @property
    def searched(self) -> tuple[str, ...] | None:
        """The passages of all searches, or those that it was generated from; None if neither are known."""
        return self.given if self.searches is None else tuple(doc for search in self.searches for doc in search.returned)


class Answers(Viewed, Mapping[str, Answer]):
    """Query id to answer, in input order.

    `repeats` has the further answers to a query that was asked more than once; its value is the mean over all of them.
    """

    __slots__ = ("_answers", "given_known", "repeats", "source")

    given_known: bool
    """Whether every answer that did not fail lists its passages, even if there are none."""

    def __init__(
        self, answers: Mapping[str, Answer], *, source: str = "", repeats: Mapping[str, Sequence[Answer]] | None = None
    ) -> None:
        _check_answers(answers, repeats or {})
        self._answers = MappingProxyType({checked_id(query, "query", source=source): answer for query, answer in answers.items()})
        self.given_known = all(answer.given is not None or answer.state == "failed" for answer in answers.values())
        self.source = source
        self.repeats: Mapping[str, tuple[Answer, ...]] = MappingProxyType(
            {query: tuple(further) for query, further in (repeats or {}).items() if further}
        )

    def with_repeats(self) -> Iterator[tuple[str, int, Answer]]:
        """Every answer with its query and its number from 1, repeats after the first."""
        for query, first in self.items():
            yield from ((query, number, answer) for number, answer in enumerate((first, *self.repeats.get(query, ())), start=1))

    @property
    def usages(self) -> tuple[AnswerUsage, ...]:
        """What every answer cost, repeats included; empty if none says it."""
        usages = [answer.usage for _, _, answer in self.with_repeats()]
        return tuple(usage or AnswerUsage() for usage in usages) if any(usages) else ()

    def __getitem__(self, query: str) -> Answer:
        return self._answers[query]

    def __iter__(self) -> Iterator[str]:
        return iter(self._answers)

    def __len__(self) -> int:
        return len(self._answers)

    def _view(self) -> View:
        rows = ((query, answer.state, clip_text(answer.text)) for query, answer in self.items())
        title = f"Answers {self.source}: {pluralise(len(self), 'query', 'queries')}"
        return collection_view(title, {"query": "text", "state": "text", "answer": "text"}, rows, len(self))


def _check_answers(answers: object, repeats: object) -> None:
    """Raises an error if they are no mappings to Answer values."""
    for value in (answers, repeats):
        if not isinstance(value, Mapping):
            raise UsageError(f"answers cannot be {type_phrase(value)}", fix="pass {query: Answer(text)}")
    further = repeats.values() if isinstance(repeats, Mapping) else ()
    for answer in chain(answers.values() if isinstance(answers, Mapping) else (), *further):
        if not isinstance(answer, Answer):
            raise UsageError(f"an answer is {type_phrase(answer)}", fix="pass {query: Answer(text)}")


def repeats_note(system: str, answers: Answers) -> str | None:
    """What is said about the repeats of a system; None where it has none."""
    count = sum(map(len, answers.repeats.values()))
    if not count:
        return None
    have = pluralise(count, "answer repeats", "answers repeat")
    return f"{system}: {have} a question: its value is the mean over its answers, its cause of a low F1 that of the first"


def unranked_note(system: str, answers: Answers) -> str | None:
    """Why a system of which some contexts are known has no rankings; None where all or none are known."""
    unknown = [query for query, answer in answers.items() if answer.given is None and answer.state != "failed"]
    if not unknown or all(answer.given is None for answer in answers.values()):
        return None
    share = f"{len(unknown)} of {pluralise(len(answers), 'query', 'queries')}"
    first = for_message(unknown[0])
    return f"{system}: no rankings, as the contexts of {share} are null, first {first}; write [] where nothing was retrieved"


def passages_of(answers: Iterable[Answer]) -> list[str]:
    """The ids of all given and cited passages, each once."""
    return list(dict.fromkeys(passage for answer in answers for passage in (*(answer.given or ()), *answer.cited)))


def as_answer(value: Answer | str) -> Answer:
    """The value as an answer; a text that is empty or equals ABSTAIN_PHRASE abstains."""
    if isinstance(value, Answer):
        return value
    if not isinstance(value, str):
        raise UsageError(f"an answer is {type_phrase(value)}", fix="pass text, or an Answer")
    return Answer(value, state="abstained" if is_abstention(value) else "answered")


def is_abstention(text: str, phrase: str = ABSTAIN_PHRASE) -> bool:
    """Whether the text is blank or equals the phrase, apart from case, spaces and punctuation."""
    words, expected = (re.findall(r"\w+", side.casefold()) for side in (text, phrase))
    return not text.strip() or (bool(expected) and words == expected)


ANSWER_FIELDS = ("answers", "answer")
URL_FIELDS = ("expected_urls", "expected_url", "urls")
ANSWERABLE_FIELD = "answerable"
NUGGETS_FIELD = "nuggets"
SESSION_FIELD, TURN_FIELD = "session", "turn"
"""The conversation of a question, and its place there from 1."""
HISTORY_FIELD = "history"
"""What was said before a question."""
NO_SEGMENT_FIELDS = frozenset(
    (*ANSWER_FIELDS, *URL_FIELDS, ANSWERABLE_FIELD, NUGGETS_FIELD, SESSION_FIELD, HISTORY_FIELD, "length")
)
"""The fields of a query that do not name a segment."""
_MAX_LIST_LENGTH = 100_000


NO_ANSWER = ("",)
"""The text to compare an answer with where there is no answer."""


@dataclass(frozen=True, slots=True)
class Reference:
    """The accepted answers of a query; if there are none, a system should abstain. `urls` are pages that contain the answer."""

    answers: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()

    @property
    def expected_texts(self) -> tuple[str, ...]:
        """The texts to compare an answer with: one empty text where there is no answer."""
        return self.answers or NO_ANSWER


class References(Viewed, Mapping[str, Reference]):
    """References by query id. `queries_without` has the ids without one, `lists_as_text` those whose list of answers is text."""

    __slots__ = ("_found", "lists_as_text", "queries_without")

    def __init__(
        self, references: Mapping[str, Reference], *, queries_without: Sequence[str] = (), lists_as_text: Sequence[str] = ()
    ) -> None:
        self._found = MappingProxyType(dict(references))
        self.queries_without, self.lists_as_text = tuple(queries_without), tuple(lists_as_text)

    def __getitem__(self, query: str) -> Reference:
        return self._found[query]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def _view(self) -> View:
        rows = ((query, clip_text(" | ".join(reference.expected_texts))) for query, reference in self.items())
        title = f"References: {pluralise(len(self), 'query', 'queries')}"
        return collection_view(title, {"query": "text", "references": "text"}, rows, len(self))


def references_from_values(values: Mapping[str, Reference | str | Sequence[str]]) -> References:
    """References by query, each a text or a list of texts, read by the same rules as the field `answers` of a query."""
    plain = {query: value for query, value in values.items() if not isinstance(value, Reference)}
    read = references_from_queries(Texts([Query(query, "", fields={ANSWER_FIELDS[0]: text}) for query, text in plain.items()]))
    own = {query: value for query, value in values.items() if isinstance(value, Reference)}
    references = {query: own[query] if query in own else read[query] for query in values if query in own or query in read}
    return References(references, queries_without=read.queries_without, lists_as_text=read.lists_as_text)


def references_from_queries(queries: Texts[Query]) -> References:
    """The references in the fields `answers` or `answer`, else the URLs in `expected_urls`, `expected_url` or `urls`.

    A text is a list of one, a nested list is flattened, and a text that is a list in Python or JSON is read as that list. An
    empty list, an empty text, or `answerable` false means that there is no answer; a missing URL means only that none is known.
    """
    references: dict[str, Reference] = {}
    lists: dict[str, None] = {}
    for key, query in queries.items():
        texts = [text for name in ANSWER_FIELDS for text in _field_texts(query, name, queries.source, lists)]
        urls = [url for name in URL_FIELDS for url in _field_texts(query, name, queries.source, lists)]
        has_texts = any(query.fields.get(name) is not None for name in ANSWER_FIELDS)
        answerable = query.fields.get(ANSWERABLE_FIELD)
        if answerable is not None and not isinstance(answerable, bool):
            raise _field_error(query, ANSWERABLE_FIELD, answerable, queries.source, "write true or false")
        if has_texts or urls or answerable is False:
            answers = texts if has_texts else urls
            references[key] = Reference(() if answerable is False else _distinct(answers), _distinct(urls))
    return References(references, queries_without=[key for key in queries if key not in references], lists_as_text=tuple(lists))


def nuggets_from_queries(queries: Texts[Query]) -> dict[str, tuple[Nugget, ...]]:
    """The nuggets in the field `nuggets`: a list of texts, or of objects with `text` and `importance` (vital or okay)."""
    nuggets = {}
    for key, query in queries.items():
        value = query.fields.get(NUGGETS_FIELD)
        if value is not None:
            items = value if isinstance(value, list | tuple) else [value]
            nuggets[key] = tuple(_nugget(query, item, queries.source) for item in items)
    return nuggets


def _nugget(query: Query, item: object, source: str) -> Nugget:
    plain = {"text": item} if isinstance(item, str) else item
    if isinstance(plain, dict) and isinstance(text := plain.get("text"), str) and text.strip():
        importance: Importance = plain.get("importance") or "vital"
        if importance in get_args(Importance):
            return Nugget(text, importance)
    fix = 'write a list such as [{"text": "Paris is the capital", "importance": "vital"}]; importance is vital or okay'
    raise _field_error(query, NUGGETS_FIELD, item, source, fix)


def _field_texts(query: Query, name: str, source: str, lists: dict[str, None]) -> Iterator[str]:
    """The texts in a field and in lists inside it, without blank ones."""
    waiting = [query.fields.get(name)]
    while waiting:
        value = waiting.pop(0)
        as_list = _parse_list_text(value)
        if as_list is not None:
            lists[query.id] = None
            value = as_list
        if isinstance(value, list | tuple):
            waiting = [*value, *waiting]
        elif isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool)):
            yield from filter(str.strip, (str(value),))
        elif value is not None:
            raise _field_error(query, name, value, source, "write a string, or a list of strings")


def _parse_list_text(value: Any) -> list[str] | None:
    """The list of texts in a text that is a list in JSON or Python; None for any other text."""
    text = value.strip() if isinstance(value, str) else ""
    if not (text.startswith("[") and text.endswith("]")) or len(text) > _MAX_LIST_LENGTH:
        return None
    import ast
    import json

    for read in (json.loads, ast.literal_eval):
        try:
            items = read(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        if isinstance(items, list) and items and all(isinstance(item, str) for item in items):
            return items
    return None


def _distinct(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text.strip() for text in texts))


def _field_error(query: Query, name: str, value: object, source: str, fix: str) -> InputError:
    what = f"{name} of query {for_message(query.id)} is {for_message(repr(value))}"
    return InputError(what, fix=fix, source=source, line=query.line)
