"""Rewrites or expands queries with a language model before they are searched."""

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
from rankproof.models._chat.base import ChatReply, ChatRequest, Message
from rankproof.stages._base import BuildContext, CallsModel, OneInput, QueryTimer, Searcher, Stage
from rankproof.stages._fields import Attempts, ChatOption, MaxTokens, check_settings

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
"""The most words of a rewritten query; a longer query may keep its length."""


def rewrite_request(query: Query, prompt: str, max_tokens: int) -> ChatRequest:
    """The request for a query."""
    text = fill_prompt(prompt, query=quote_untrusted([query.text], labels=["query"]))
    return ChatRequest((Message("system", REWRITE_SYSTEM), Message("user", text)), max_tokens, REWRITE_SCHEMA)


def parse_rewrite(query: Query, mode: RewriteMode, reply: ChatReply) -> str:
    """The rewritten query in a reply."""
    made = parse_query(parse_json(reply_text(reply)), "query", max(MAX_QUERY_WORDS, len(query.text.split())))
    return made if mode == "rewrite" else f"{query.text} {made}"


@dataclass(frozen=True, slots=True)
class RewrittenQuery:
    """A query before and after rewriting, and the counts of the calls."""

    original: Query
    query: Query
    counter: CallTotals


class Rewriter:
    """Rewrites each query once in a session; safe for threads that work on different queries.

    The session keeps the results, so that a searcher reports the calls that its queries came from, failed ones included.
    """

    def __init__(self, stage: Rewrite, session: LLMSession) -> None:
        self._stage, self._client = stage, session.client(stage.model, "rewrite")
        self._done = session.memoised(stage, dict[tuple[str, str], RewrittenQuery])

    def rewrite(self, query: Query) -> RewrittenQuery:
        """The rewritten query; unchanged if it is blank or the model gives no usable reply."""
        key = query.id, query.text
        if key not in self._done:
            self._done[key] = self._request_rewrite(query)
        return self._done[key]

    def rewrites(self) -> list[RewrittenQuery]:
        """All rewritten queries so far, sorted by id."""
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
"""Calls per thread between two progress reports."""


@dataclass(frozen=True)
class Rewrite(OneInput, CallsModel):
    """Runs the input stage with queries that a language model rewrote (`rewrite`) or extended (`expand`).

    The prompt contains {query}; "" is the default of the mode. A query without a usable reply is searched unchanged and counted.
    """

    stage: Annotated[Stage, Option("the system that searches with the rewritten query", key="of")]
    model: ChatOption
    mode: Annotated[RewriteMode, Option("rewrite replaces the query, expand adds words to it")] = "rewrite"
    prompt: Annotated[str, Option("the prompt, with {query} in it; empty for the default of the mode")] = ""
    max_tokens: MaxTokens = 100
    attempts: Attempts = 3
    kind: ClassVar[Literal["rewrite"]] = "rewrite"
    needs_documents: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_settings(self)
        object.__setattr__(self, "prompt", self.prompt or REWRITE_PROMPTS[self.mode])
        check_prompt("prompt", self.prompt, ("query",))

    def estimate(self, queries: Sequence[Query], context: BuildContext) -> Estimate:
        """One request for every query that is not blank."""
        return sum(
            (estimate_request(rewrite_request(query, self.prompt, self.max_tokens)) for query in queries if query.text.strip()),
            Estimate(),
        )

    def input_queries(self, context: BuildContext, queries: Sequence[Query]) -> Sequence[Query]:
        """The rewritten queries."""
        rewriter, concurrency, rewritten = Rewriter(self, context.session), max(1, self.model.concurrency), []
        for start in range(0, len(queries), _QUERIES_PER_BLOCK * concurrency):
            rewritten += map_concurrent(
                context.session, rewriter.rewrite, queries[start : start + _QUERIES_PER_BLOCK * concurrency], concurrency
            )
            context.progress(f"{self.mode}: calling the model", len(rewritten), len(queries))
        return [pair.query for pair in rewritten]

    def build(self, context: BuildContext) -> RewriteSearcher:
        """Builds the searcher; nothing is computed in advance."""
        return RewriteSearcher(self, Rewriter(self, context.session))


class RewriteSearcher(Searcher):
    """Passes on the ranking of the rewritten query, and counts the calls of rewriting."""

    def __init__(self, stage: Rewrite, rewriter: Rewriter) -> None:
        self._stage, self._rewriter = stage, rewriter

    @property
    def concurrency(self) -> int:
        """How many calls the model allows at once."""
        return max(1, self._stage.model.concurrency)

    def search(self, query: Query, inputs: Sequence[Ranking], timer: QueryTimer) -> Ranking:
        """The ranking of the input stage."""
        made = self._rewriter.rewrite(query)
        counter = timer.counter("generate")
        for name, count in made.counter.counts.items():
            counter.count(name, count)
        counter.add_seconds(made.counter.seconds)
        return inputs[0]

    def facts(self) -> Mapping[str, Any]:
        """The model, the mode, and the first queries before and after."""
        first = self._rewriter.rewrites()[:_SHOWN_EXAMPLES]
        pairs = [(escape_invisible(pair.original.text), escape_invisible(pair.query.text)) for pair in first]
        examples = [{"query": query, "rewritten": rewritten} for query, rewritten in pairs]
        return {"model": identity(self._stage.model), "mode": self._stage.mode, "examples": examples}
