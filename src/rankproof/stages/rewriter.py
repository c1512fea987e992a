"""What a language model is asked to make of a query, and who asks it once for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

from ..asking.desk import Desk
from ..asking.fence import DATA_RULE, fenced
from ..asking.prompt import filled
from ..asking.query_reply import query_in
from ..asking.reading import json_in
from ..asking.spoken import text_of
from ..asking.tally import Sums
from ..data.queries import Query
from ..models.chat.port import Ask, Message, Reply

if TYPE_CHECKING:
    from .rewrite import Rewrite

Mode = Literal["rewrite", "expand"]
SYSTEM = "You prepare queries for a search engine; you never answer them. " + DATA_RULE
REWRITE = """Rewrite the search query below so that a search engine finds the documents that answer it. Keep its meaning, \
its names and its numbers, mend spelling, write out abbreviations, leave out small talk.
Reply with JSON only: {"query": "…"}

{query}"""
EXPAND = """Name up to eight words or short terms that documents which answer the search query below are likely to hold \
and that the query lacks: synonyms, technical terms, other word forms; separate them by blanks.
Reply with JSON only: {"query": "…"}

{query}"""
PROMPTS: Mapping[Mode, str] = {"rewrite": REWRITE, "expand": EXPAND}
SCHEMA = '{"type":"object","properties":{"query":{"type":"string"}},"required":["query"],"additionalProperties":false}'
MOST_WORDS = 32
"""Of what the model adds; a query that is longer itself may be rewritten as long as it is."""


def ask_of(query: Query, prompt: str, max_tokens: int) -> Ask:
    """What the model is asked."""
    text = filled(prompt, query=fenced([query.text], labels=["query"]))
    return Ask((Message("system", SYSTEM), Message("user", text)), max_tokens, SCHEMA)


def meaning(query: Query, mode: Mode, reply: Reply) -> str:
    """The query that a reply stands for."""
    made = query_in(json_in(text_of(reply)), "query", max(MOST_WORDS, len(query.text.split())))
    return made if mode == "rewrite" else f"{query.text} {made}"


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A query as it was given, as it is asked below, and what asking for that came to."""

    given: Query
    query: Query
    tally: Sums


class Rewriter:
    """Rewrites each query once at one desk; safe for several threads, each with queries of its own.

    The desk remembers what came of it: a searcher must tell of the very asks that the queries below came from, failed ones too.
    """

    def __init__(self, stage: Rewrite, desk: Desk) -> None:
        self._stage, self._asker = stage, desk.asker(stage.model, "rewrite")
        self._done = desk.remembered(stage, dict[tuple[str, str], Rewritten])

    def rewritten(self, query: Query) -> Rewritten:
        """The query as it is asked below; as it is where it has no word or the model makes nothing of it."""
        key = query.id, query.text
        if key not in self._done:
            self._done[key] = self._asked(query)
        return self._done[key]

    def done(self) -> list[Rewritten]:
        """All so far, by the ids of the queries."""
        return [self._done[key] for key in sorted(self._done)]

    def _asked(self, query: Query) -> Rewritten:
        tally, stage = Sums(), self._stage
        if not query.text.strip():
            return Rewritten(query, query, tally)
        tally.count("rewritten")
        ask = ask_of(query, stage.prompt, stage.max_tokens)
        text = self._asker.read(ask, partial(meaning, query, stage.mode), tally, attempts=stage.attempts)
        return Rewritten(query, query if text is None else replace(query, text=text), tally)
