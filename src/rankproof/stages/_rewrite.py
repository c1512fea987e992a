"""Rewrite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

from rankproof._data.dataset import Query
from rankproof._data.identity import identity
from rankproof._data.ordering import Ranking
from rankproof._llm.budget import Estimate, estimate_request
from rankproof._llm.call_counts import CallTotals
from rankproof._llm.parsing import parse_json, parse_query, reply_text
from rankproof._llm.prompts import UNTRUSTED_DATA_RULE, check_prompt, fill_prompt, quote_untrusted
from rankproof._llm.session import LLMSession, map_concurrent
from rankproof._registry import Option
from rankproof.errors import escape_invisible
from rankproof.models._chat.base import ChatModel, ChatReply, ChatRequest, Message
from rankproof.stages._base import BuildContext, Cost, QueryTimer, Stage
from rankproof.stages._fields import Attempts, ChatOption, MaxTokens, check

RewriteMode = Literal["rewrite", "expand"]
REWRITE_SYSTEM = "You prepare queries for a search engine; you never answer them. " + UNTRUSTED_DATA_RULE
REWRITE_PROMPT = """Rewrite the search query below so that a search engine finds the documents that answer it. Keep its meaning, \
its names and its numbers, mend spelling, write out abbreviations, leave out small talk.
Reply with JSON only: {"query": "…"}

{query}"""
EXPAND_PROMPT = """Name up to eight words or short terms that documents which answer the search query below are likely to hold \
and that the query lacks: synonyms, technical terms, other word forms; separate them by blanks.
Reply with JSON only: {"query": "…"}

{query}"""
REWRITE_PROMPTS: Mapping[RewriteMode, str] = {"rewrite": REWRITE_PROMPT, "expand": EXPAND_PROMPT}
REWRITE_SCHEMA = '{"type":"object","properties":{"query":{"type":"string"}},"required":["query"],"additionalProperties":false}'
MAX_QUERY_WORDS = 32
"""Of what the model adds; a query that is longer itself may be rewritten as long as it is."""


def rewrite_request(query: Query, prompt: str, max_tokens: int) -> ChatRequest:
    """What the model is asked."""
    text = fill_prompt(prompt, query=quote_untrusted([query.text], labels=["query"]))
    return ChatRequest((Message("system", REWRITE_SYSTEM), Message("user", text)), max_tokens, REWRITE_SCHEMA)


def parse_rewrite(query: Query, mode: RewriteMode, reply: ChatReply) -> str:
    """The query that a reply stands for."""
    made = parse_query(parse_json(reply_text(reply)), "query", max(MAX_QUERY_WORDS, len(query.text.split())))
    return made if mode == "rewrite" else f"{query.text} {made}"


@dataclass(frozen=True, slots=True)
class RewrittenQuery:
    """A query as it was given, as it is asked below, and what asking for that came to."""

    original: Query
    query: Query
    counter: CallTotals


class Rewriter:
    """Rewrites each query once at one desk; safe for several threads, each with queries of its own.

    The desk remembers what came of it: a searcher must tell of the very asks that the queries below came from, failed ones too.
    """

    def __init__(self, stage: Rewrite, session: LLMSession) -> None:
        self._stage, self._client = stage, session.client(stage.model, "rewrite")
        self._done = session.memoised(stage, dict[tuple[str, str], RewrittenQuery])

    def rewrite(self, query: Query) -> RewrittenQuery:
        """The query as it is asked below; as it is where it has no word or the model makes nothing of it."""
        key = query.id, query.text
        if key not in self._done:
            self._done[key] = self._request_rewrite(query)
        return self._done[key]

    def rewrites(self) -> list[RewrittenQuery]:
        """All so far, by the ids of the queries."""
        return [self._done[key] for key in sorted(self._done)]

    def _request_rewrite(self, query: Query) -> RewrittenQuery:
        counter, stage = CallTotals(), self._stage
        if not query.text.strip():
            return RewrittenQuery(query, query, counter)
        counter.count("rewritten")
        request = rewrite_request(query, stage.prompt, stage.max_tokens)
        text = self._client.read(request, partial(parse_rewrite, query, stage.mode), counter, attempts=stage.attempts)
        return RewrittenQuery(query, query if text is None else replace(query, text=text), counter)


_SHOWN_EXAMPLES = 5
_QUERIES_PER_BLOCK = 4
"""Asks for each lane between two looks at how far it is."""


@dataclass(frozen=True)
class Rewrite:
    """The stage below, asked what the model makes of each query: another wording (`rewrite`), or more words (`expand`).

    A prompt holds {query}; "" stands for the mode's own. A query that the model makes nothing of is asked as it is, and counted.
    """

    stage: Annotated[Stage, Option("the system that searches with the rewritten query", key="of")]
    model: ChatOption
    mode: Annotated[RewriteMode, Option("rewrite replaces the query, expand adds words to it")] = "rewrite"
    prompt: Annotated[str, Option("the prompt, with {query} in it; empty for the default of the mode")] = ""
    max_tokens: MaxTokens = 100
    attempts: Attempts = 3
    kind: ClassVar[Literal["rewrite"]] = "rewrite"

    def __post_init__(self) -> None:
        check(self)
        object.__setattr__(self, "prompt", self.prompt or REWRITE_PROMPTS[self.mode])
        check_prompt("prompt", self.prompt, ("query",))

    @property
    def depth(self) -> int:
        """As many as the stage below keeps."""
        return self.stage.depth

    @property
    def chat(self) -> ChatModel:
        """The model that rewrites."""
        return self.model

    def inputs(self) -> tuple[Stage, ...]:
        """The stage that is asked."""
        return (self.stage,)

    def estimate(self, queries: Sequence[Query], context: BuildContext) -> Estimate:
        """One ask for every query that has a word."""
        return sum(
            (estimate_request(rewrite_request(query, self.prompt, self.max_tokens)) for query in queries if query.text.strip()),
            Estimate(),
        )

    def input_queries(self, context: BuildContext, queries: Sequence[Query]) -> Sequence[Query]:
        """The queries as the stage below is asked them."""
        rewriter, concurrency, found = Rewriter(self, context.session), max(1, self.model.concurrency), []
        for start in range(0, len(queries), _QUERIES_PER_BLOCK * concurrency):
            found += map_concurrent(
                context.session, rewriter.rewrite, queries[start : start + _QUERIES_PER_BLOCK * concurrency], concurrency
            )
            context.progress(f"{self.mode}: asking", len(found), len(queries))
        return [each.query for each in found]

    def build(self, context: BuildContext) -> RewriteSearcher:
        """Nothing is made in advance."""
        return RewriteSearcher(self, Rewriter(self, context.session))


class RewriteSearcher:
    """Passes on what the stage below found for the rewritten query, and tells what rewriting came to."""

    def __init__(self, stage: Rewrite, rewriter: Rewriter) -> None:
        self._stage, self._rewriter = stage, rewriter

    @property
    def concurrency(self) -> int:
        """As many as the model answers at once."""
        return max(1, self._stage.model.concurrency)

    def search(self, query: Query, inputs: Sequence[Ranking], timer: QueryTimer) -> Ranking:
        """The ranking below."""
        made = self._rewriter.rewrite(query)
        counter = timer.counter("generate")
        for name, count in made.counter.counts.items():
            counter.count(name, count)
        counter.add_seconds(made.counter.seconds)
        return inputs[0]

    def cost(self) -> Cost:
        """Nothing is indexed."""
        return Cost()

    def facts(self) -> Mapping[str, Any]:
        """The model, the mode, and the first queries before and after."""
        first = self._rewriter.rewrites()[:_SHOWN_EXAMPLES]
        examples = [{"query": escape_invisible(one.original.text), "asked": escape_invisible(one.query.text)} for one in first]
        return {"model": identity(self._stage.model), "mode": self._stage.mode, "examples": examples}

    def notes(self) -> Sequence[str]:
        """Nothing to say: what asking came to is counted query by query."""
        return ()

    def close(self) -> None:
        """Nothing is open."""
