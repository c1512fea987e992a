"""Changes queries before a search: rewritten or expanded by a language model, or by RM3 with terms of the top documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import islice
from typing import Annotated, Any, ClassVar, Literal

from rankproof._data.dataset import Query
from rankproof._data.identity import identity
from rankproof._data.ordering import Ranking
from rankproof._data.text import pluralise
from rankproof._llm.budget import CallTotals, Estimate, estimate_request
from rankproof._llm.prompts import (
    UNTRUSTED_DATA_RULE,
    check_prompt,
    fill_prompt,
    parse_json,
    parse_query,
    quote_untrusted,
    reply_text,
)
from rankproof._llm.session import LLMSession, map_concurrent
from rankproof._registry import Option
from rankproof.errors import UsageError, escape_invisible, type_phrase
from rankproof.models._chat.base import ChatReply, ChatRequest, Message
from rankproof.stages._analyzer import WORD_ANALYZER
from rankproof.stages._base import BuildContext, CallsModel, OneInput, QueryTimer, Searcher, Stage
from rankproof.stages._bm25 import BM25, BM25Searcher
from rankproof.stages._fields import Attempts, ChatOption, MaxTokens, check_settings, check_stage, passage_text

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
        self._done = session.make_once(stage, dict[tuple[str, str], RewrittenQuery])

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


MIN_TERM_LENGTH, MAX_TERM_LENGTH = 2, 20
TermWeights = dict[str, float]


def feedback_terms(terms: Iterable[str], is_common: Callable[[str], bool], most: int) -> TermWeights:
    """P(t|d) over the most frequent feedback terms of a document."""
    counts = {term: float(count) for term, count in Counter(terms).items() if _is_feedback_term(term)}
    rare = (pair for pair in top_weighted(counts, len(counts)).items() if not is_common(pair[0]))
    return normalise_weights(dict(islice(rare, most)))


def relevance_model(documents: Sequence[Mapping[str, float]], scores: Sequence[float], most: int) -> TermWeights:
    """P(t|R) of the terms with the largest weights, from P(t|d) and the score of each feedback document."""
    model: TermWeights = {}
    for document, score in zip(documents, scores, strict=True):
        for term, share in document.items():
            model[term] = model.get(term, 0.0) + share * score
    return normalise_weights(top_weighted(model, most))


def interpolate(query: Sequence[str], model: Mapping[str, float], weight: float) -> TermWeights:
    """weight x P(t|q) + (1 - weight) x P(t|R), times the number of query terms, so that weight 1 is the original query.

    A model without terms leaves the query unchanged.
    """
    counts = Counter(query)
    if not model:
        return {term: float(count) for term, count in counts.items()}
    terms = dict.fromkeys([*counts, *model])
    return {term: weight * counts[term] + (1 - weight) * len(query) * model.get(term, 0.0) for term in terms}


def top_weighted(weights: Mapping[str, float], most: int) -> TermWeights:
    """The terms with the largest weights, largest first; ties in alphabetical order."""
    return dict(sorted(weights.items(), key=lambda pair: (-pair[1], pair[0]))[:most])


def normalise_weights(weights: Mapping[str, float]) -> TermWeights:
    """The weights divided by their sum."""
    total = sum(weights.values())
    return {term: weight / total for term, weight in weights.items()} if total else {}


def _is_feedback_term(term: str) -> bool:
    return MIN_TERM_LENGTH <= len(term) <= MAX_TERM_LENGTH and term.isalnum()


_CACHED_DOCUMENTS = 4096
_CACHED_TERMS = 65_536


@dataclass(frozen=True)
class RM3(OneInput):
    """Adds `terms` words from the first `docs` documents of a BM25 stage to the query; `weight` is the weight of the original.

    The index and its settings are those of the BM25 stage. Terms that occur in more than the fraction
    `common` of all documents are not used. Weight 1 gives the ranking of the BM25 stage.
    """

    stage: Annotated[BM25, Option("the bm25 system whose index is searched again", key="of")]
    docs: Annotated[int, Option("number of top documents to take words from", least=1)] = 10
    terms: Annotated[int, Option("how many words are added to the query", least=1)] = 10
    weight: Annotated[float, Option("weight of the original query, from 0 to 1", least=0, most=1)] = 0.5
    common: Annotated[float, Option("words in more than this share of all documents are left out", least=0, most=1)] = 0.1
    kind: ClassVar[Literal["rewrite"]] = "rewrite"

    def __post_init__(self) -> None:
        check_stage("stage", self.stage)
        if not isinstance(self.stage, BM25):
            what = f"stage is {type_phrase(self.stage)}"
            raise UsageError(what, fix="pass a BM25 stage: RM3 searches its index again")
        if self.stage.tokens != WORD_ANALYZER:
            raise UsageError(
                f"RM3 adds words to a query, but its stage has tokens {self.stage.tokens}",
                fix=f'choose tokens = "{WORD_ANALYZER}"',
            )
        check_settings(self)

    def build(self, context: BuildContext) -> RM3Searcher:
        """Indexes the passages with the settings of the BM25 stage."""
        return RM3Searcher(self, self.stage.build(context))


class RM3Searcher(Searcher):
    """Searches the index of the BM25 stage with weighted terms."""

    def __init__(self, stage: RM3, first: BM25Searcher) -> None:
        self._stage, self._first = stage, first
        self._examples: dict[str, TermWeights] = {}
        self._without_feedback: set[str] = set()
        self._terms_of = lru_cache(_CACHED_DOCUMENTS)(self._document)
        self._is_common = lru_cache(_CACHED_TERMS)(self._is_common_term)

    def search(self, query: Query, inputs: Sequence[Ranking], timer: QueryTimer) -> Ranking:
        """The documents with a term of the expanded query, best first."""
        docs, scores = inputs[0]
        if self._stage.weight == 1 or not docs:
            return docs, scores
        with timer.part("search"):
            return self._first.search_weighted(self.expanded_terms(query, inputs[0]))

    def search_all(self, queries: Sequence[Query]) -> list[Ranking]:
        """The same rankings by two batches: the feedback is taken from the merged rankings of the first."""
        self._examples.clear()
        rankings = self._first.search_all(queries)
        if self._stage.weight == 1:
            return rankings
        answered = [at for at, (docs, _) in enumerate(rankings) if docs]
        again = self._first.search_all_weighted([self.expanded_terms(queries[at], rankings[at]) for at in answered])
        for at, ranking in zip(answered, again, strict=True):
            rankings[at] = ranking
        return rankings

    def expanded_terms(self, query: Query, inputs: Ranking) -> TermWeights:
        """The terms of the expanded query with their weights, largest first."""
        docs, scores = inputs[0][: self._stage.docs], inputs[1][: self._stage.docs].tolist()
        model = relevance_model([self._terms_of(doc) for doc in docs], scores, self._stage.terms)
        if not model:
            self._without_feedback.add(query.id)
        expanded = interpolate(self._first.terms.tokenize(query.text), model, self._stage.weight)
        expanded = top_weighted(expanded, len(expanded))
        if query.id in self._examples or len(self._examples) < _SHOWN_EXAMPLES:
            self._examples[query.id] = expanded
        return expanded

    def _document(self, doc: str) -> TermWeights:
        text = passage_text(self._first.corpus[doc], self._stage.stage.fields)
        return feedback_terms(self._first.terms.tokenize(text), self._is_common, self._stage.terms)

    def _is_common_term(self, term: str) -> bool:
        return self._first.frequencies([term])[0] > self._stage.common * self._first.totals.documents

    def facts(self) -> Mapping[str, Any]:
        """The settings, and the first expanded queries."""
        stage = self._stage
        shown = {query: {term: round(weight, 4) for term, weight in terms.items()} for query, terms in self._examples.items()}
        return {
            "library": stage.stage.revision(),
            **{"docs": stage.docs, "terms": stage.terms, "weight": stage.weight, "common": stage.common},
            "examples": shown,
        }

    def notes(self) -> Sequence[str]:
        """A note on queries without feedback terms."""
        many = len(self._without_feedback)
        singular, more = (
            "query has no feedback terms and was not expanded",
            "queries have no feedback terms and were not expanded",
        )
        return [pluralise(many, singular, more)] if many else []
