"""Scorers with a language model: listwise, pairwise and pointwise reranking."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any, ClassVar, Generic, TypeVar

import numpy as np

from rankproof._data import validation
from rankproof._data.arrays import FloatArray
from rankproof._data.corpus import Corpus
from rankproof._data.dataset import Query
from rankproof._data.identity import identity
from rankproof._llm.budget import CallCounter, CallTotals, Estimate, estimate_request
from rankproof._llm.client import ReplyParseError
from rankproof._llm.prompts import (
    UNTRUSTED_DATA_RULE,
    check_prompt,
    count_truncated,
    fill_prompt,
    parse_choice,
    parse_json,
    parse_order,
    parse_yes,
    quote_untrusted,
    reply_first_line,
    reply_text,
    yes_no_score,
)
from rankproof._registry import Option
from rankproof.errors import UsageError
from rankproof.models._chat.base import ChatReply, ChatRequest, Message
from rankproof.stages._base import BuildContext, CallsModel, LoadedScorer
from rankproof.stages._fields import (
    DEFAULT_FIELDS,
    Attempts,
    ChatOption,
    Fields,
    MaxTokens,
    PassageCharacters,
    check_known_fields,
    check_settings,
    passage_text,
)
from rankproof.stages._scorers import scores_from_order, scores_or_positions

SystemPrompt = Annotated[str, Option("the system prompt; the rule that passages are data is added to it")]
UserPrompt = Annotated[str, Option("the prompt, with {query} and {passages} in it")]


@dataclass(frozen=True)
class LLMScorer(CallsModel):
    """The settings of a scorer with a language model; passages longer than `passage_characters` are truncated.

    `prompt` contains {query} and {passages}, which are quoted; the rule that quoted text is data follows the system prompt.
    `schema` and `logprobs` are optional parameters of the request.
    """

    model: ChatOption
    system: SystemPrompt = "You are a search engine that judges how well passages answer a query."
    prompt: UserPrompt = "{query}\n\n{passages}"
    fields: Fields = DEFAULT_FIELDS
    passage_characters: PassageCharacters = 1000
    max_tokens: MaxTokens = 8
    attempts: Attempts = 3
    schema: ClassVar[str] = ""
    logprobs: ClassVar[int] = 0

    def __post_init__(self) -> None:
        check_settings(self)
        check_prompt("prompt", self.prompt, ("query", "passages"))

    def request(self, query: Query, texts: Sequence[str], *, labels: Sequence[str] | None = None) -> ChatRequest:
        """The request for some passages."""
        passages = quote_untrusted(texts, labels=labels, characters=self.passage_characters)
        text = fill_prompt(
            self.prompt, query=quote_untrusted([query.text], labels=["query"]), passages=passages, **self.parts(len(texts))
        )
        messages = (Message("system", f"{self.system} {UNTRUSTED_DATA_RULE}"), Message("user", text))
        return ChatRequest(messages, self.max_tokens, self.schema, self.logprobs)

    def parts(self, count: int) -> dict[str, str]:
        """Further placeholders of the prompt."""
        return {"count": str(count)}

    def texts(self, corpus: Corpus, docs: Sequence[str]) -> list[str]:
        """The passages of the documents, not truncated."""
        return [passage_text(corpus[doc], self.fields) for doc in docs]

    def estimate_requests(self, queries: Sequence[Query], context: BuildContext, requests: Mapping[int, int]) -> Estimate:
        """The cost of the requests, given as their number per query by passages per request, with passages of mean length."""
        texts = (passage_text(document, self.fields) for document in context.corpus.documents())
        total = sum(min(len(text), self.passage_characters) for text in texts)
        mean = "x" * round(total / max(len(context.corpus), 1))
        estimates = (
            estimate_request(self.request(query, [mean] * size)).times(count)
            for query in queries
            for size, count in requests.items()
        )
        return sum(estimates, Estimate())


ScorerT = TypeVar("ScorerT", bound=LLMScorer)


class LoadedLLMScorer(LoadedScorer, Generic[ScorerT]):
    """Calls the model for the documents of one corpus."""

    kind = "llm"

    def __init__(self, value: ScorerT, context: BuildContext) -> None:
        check_known_fields(context.corpus, value.fields)
        self._value, self._corpus = value, context.corpus
        self._client = context.session.client(value.model, "rerank")

    @property
    def concurrency(self) -> int:
        """As many queries at once as the model allows calls."""
        return max(1, self._value.model.concurrency)

    def scores(self, query: Query, docs: Sequence[str]) -> FloatArray:
        """The scores; the calls are not counted."""
        return self.scores_counting_calls(query, docs, CallTotals())

    @abstractmethod
    def scores_counting_calls(self, query: Query, docs: Sequence[str], counter: CallCounter) -> FloatArray:
        """One score for each document, by the method of the subclass."""

    def cut(self, query: Query, docs: Sequence[str]) -> int:
        """The number of truncated documents."""
        return count_truncated(self._value.texts(self._corpus, docs), self._value.passage_characters)

    def facts(self) -> Mapping[str, Any]:
        """The model, the prompt and all settings."""
        optional_params = {"schema": self._value.schema, "logprobs": self._value.logprobs}
        return {**identity(self._value), "kind": self.kind, "rule": UNTRUSTED_DATA_RULE, **optional_params}


LISTWISE_SYSTEM = "You are a search engine that puts passages in the order of how well they answer a query."
LISTWISE_PROMPT = """{query}

{passages}

Put all {count} passages in order by how well they answer the query, the best one first. \
Name each of the numbers 1 to {count} exactly once.
Reply with the order alone, written like {example}."""
_TOKENS_PER_PASSAGE, _EXTRA_TOKENS = 8, 40
_MIN_WINDOWS, _SAME_ORDER_SHARE = 10, 0.5
"""A note is given if at least this many windows exist and this share of them has the same order."""


@dataclass(frozen=True)
class Listwise(LLMScorer):
    """A language model sorts a sliding window of `window` passages, which moves up from the last rank by `step` ranks.

    A valid reply names every passage of the window once; without a valid reply the window keeps its order. `max_tokens` 0
    allows what the window needs.
    """

    system: SystemPrompt = LISTWISE_SYSTEM
    prompt: UserPrompt = LISTWISE_PROMPT
    max_tokens: Annotated[int, Option("maximum length of a reply in tokens; 0: as many as the window needs", least=0)] = 0
    window: Annotated[int, Option("how many passages the model sorts in one call", least=2, most=1000)] = 10
    step: Annotated[int, Option("how many ranks the window moves up at each call", least=1)] = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        validation.checked_integer("step", self.step, most=self.window - 1)
        object.__setattr__(self, "max_tokens", self.max_tokens or _EXTRA_TOKENS + _TOKENS_PER_PASSAGE * self.window)

    def parts(self, count: int) -> dict[str, str]:
        """Further placeholders; the example never has `count` passages, so that a copy of it is not accepted."""
        return {**super().parts(count), "example": "[2] > [1] > [3]" if count != 3 else "[2] > [1] > [4] > [3]"}

    def build(self, context: BuildContext) -> ListwiseScorer:
        """Builds the searcher; nothing is computed in advance."""
        return ListwiseScorer(self, context)

    def estimate_top(self, queries: Sequence[Query], context: BuildContext, top: int) -> Estimate:
        """One request per window: 1 + ceil((top - window) / step) per query."""
        sizes = Counter(end - start for start, end in windows(min(top, len(context.corpus)), self.window, self.step))
        return self.estimate_requests(queries, context, sizes)


class ListwiseScorer(LoadedLLMScorer[Listwise]):
    """Orders windows of passages."""

    kind = "listwise"

    def __init__(self, value: Listwise, context: BuildContext) -> None:
        super().__init__(value, context)
        self._orders: Counter[tuple[int, ...]] = Counter()

    def notes(self) -> Sequence[str]:
        """A note if most windows came back in the same order, whatever their passages."""
        order, times = max(self._orders.items(), key=lambda item: item[1], default=((), 0))
        every = sum(self._orders.values())
        if every < _MIN_WINDOWS or times < _SAME_ORDER_SHARE * every or order == tuple(sorted(order)):
            return ()
        written = " > ".join(f"[{number}]" for number in order)
        return [f"{times} of {every} windows came back in the same order, {written}: the model seems to ignore the passages"]

    def scores_counting_calls(self, query: Query, docs: Sequence[str], counter: CallCounter) -> FloatArray:
        """Descending integers along the order of the model."""
        value, texts = self._value, self._value.texts(self._corpus, docs)
        order = list(range(len(docs)))
        for start, end in windows(len(docs), value.window, value.step):
            counter.count("windows")
            order[start:end] = self._ordered(query, texts, order[start:end], counter)
        return scores_from_order(order)

    def _ordered(self, query: Query, texts: Sequence[str], held: list[int], counter: CallCounter) -> list[int]:
        def parse(reply: ChatReply) -> list[int]:
            return parse_order(reply_text(reply), len(held))

        request = self._value.request(query, [texts[at] for at in held])
        order = self._client.read(request, parse, counter, attempts=self._value.attempts)
        if order is None:
            return held
        self._orders[tuple(order)] += 1
        return [held[number - 1] for number in order]


def windows(count: int, window: int, step: int) -> list[tuple[int, int]]:
    """The start and end of each window, the lowest first; the last starts at rank 1. A single document needs no window."""
    spans: list[tuple[int, int]] = []
    end = count if count > 1 else 0
    while end > 0:
        start = max(end - window, 0)
        spans.append((start, end))
        end = end - step if start else 0
    return spans


PAIRWISE_SYSTEM = "You are a search engine that says which of two passages answers a query better."
PAIRWISE_PROMPT = """{query}

{passages}

Which passage answers the query better, passage A or passage B?
Reply with JSON alone: {"better": "A"} or {"better": "B"}."""
PAIRWISE_SCHEMA = (
    '{"type":"object","properties":{"better":{"type":"string","enum":["A","B"]}},'
    '"required":["better"],"additionalProperties":false}'
)
_PASSAGE_NAMES = ("A", "B")


@dataclass(frozen=True)
class Pairwise(LLMScorer):
    """Sorts by wins over all pairs. At most `most` documents, because n documents need n x (n - 1) requests.

    Each pair is compared in both orders. If the two replies disagree, or one of them is not usable, each document gets half
    a win.
    """

    system: SystemPrompt = PAIRWISE_SYSTEM
    prompt: UserPrompt = PAIRWISE_PROMPT
    max_tokens: MaxTokens = 32
    most: Annotated[
        int, Option("the largest allowed value of top: the number of calls grows with its square", least=2, most=1000)
    ] = 10
    schema: ClassVar[str] = PAIRWISE_SCHEMA

    def check_top(self, top: int) -> None:
        """Rejects more than `most` documents."""
        if top > self.most:
            what = f"top is {top}, but {type(self).__name__} compares at most {self.most} documents"
            raise UsageError(what, fix="lower top, or raise most: the number of calls grows with its square")

    def build(self, context: BuildContext) -> PairwiseScorer:
        """Builds the searcher; nothing is computed in advance."""
        return PairwiseScorer(self, context)

    def estimate_top(self, queries: Sequence[Query], context: BuildContext, top: int) -> Estimate:
        """Two requests per pair: top x (top - 1) per query."""
        count = min(top, len(context.corpus))
        return self.estimate_requests(queries, context, {2: count * (count - 1)})


class PairwiseScorer(LoadedLLMScorer[Pairwise]):
    """Compares documents two by two."""

    kind = "pairwise"

    def scores_counting_calls(self, query: Query, docs: Sequence[str], counter: CallCounter) -> FloatArray:
        """The wins of each document against the others; a tie counts 1/2."""
        texts = self._value.texts(self._corpus, docs)
        wins = np.zeros(len(docs), dtype=np.float64)
        for higher, lower in combinations(range(len(docs)), 2):
            won = self._won(query, texts[higher], texts[lower], counter)
            wins[higher] += won
            wins[lower] += 1 - won
        return wins

    def _won(self, query: Query, higher: str, lower: str, counter: CallCounter) -> float:
        """The share of the win for the higher document: 1, 0, or 1/2 for a tie."""
        first, second = self._better(query, higher, lower, counter), self._better(query, lower, higher, counter)
        counter.count("compared")
        if first is None or second is None:
            counter.count("undecided")
            return 0.5
        counter.count("disagreed", int(first == second))
        return 0.5 if first == second else float(first == "A")

    def _better(self, query: Query, a: str, b: str, counter: CallCounter) -> str | None:
        request = self._value.request(query, [a, b], labels=[f"passage {name}" for name in _PASSAGE_NAMES])
        return self._client.read(request, _parse_winner, counter, attempts=self._value.attempts)


def _parse_winner(reply: ChatReply) -> str:
    """The passage that the reply names, in JSON or in its first line."""
    if "{" in reply.text:
        better = parse_json(reply_text(reply)).get("better")
        return parse_choice(better if isinstance(better, str) else "", _PASSAGE_NAMES, before="passage")
    return parse_choice(reply_first_line(reply), _PASSAGE_NAMES, before="passage")


POINTWISE_SYSTEM = "You are a search engine that judges whether a passage answers a query."
POINTWISE_PROMPT = """{query}

{passages}

Does the passage answer the query? Reply with Yes or No alone."""


@dataclass(frozen=True)
class Pointwise(LLMScorer):
    """Ranks by log P(Yes) - log P(No) of the reply's first token, or by its text if the server returns no log-probabilities.

    If one document of a query must be read by the text, all are: Yes above No, equals in their order. A document without a usable
    reply after all attempts keeps its rank, and the others are ordered around it.
    """

    system: SystemPrompt = POINTWISE_SYSTEM
    prompt: UserPrompt = POINTWISE_PROMPT
    logprobs: ClassVar[int] = 20

    def build(self, context: BuildContext) -> PointwiseScorer:
        """Builds the searcher; nothing is computed in advance."""
        return PointwiseScorer(self, context)

    def estimate_top(self, queries: Sequence[Query], context: BuildContext, top: int) -> Estimate:
        """One request per document."""
        return self.estimate_requests(queries, context, {1: min(top, len(context.corpus))})


@dataclass(frozen=True, slots=True)
class _PointwiseReply:
    """The reply for one document: its log-odds, and Yes or No from its text; None where one is missing."""

    log_odds: float | None
    is_yes: bool | None


class PointwiseScorer(LoadedLLMScorer[Pointwise]):
    """Calls the model for one document at a time."""

    kind = "pointwise"

    def scores_counting_calls(self, query: Query, docs: Sequence[str], counter: CallCounter) -> FloatArray:
        """Log-odds, or 1 and 0 by the text, or ranks if a document has no usable reply."""
        replies = [self._reply(query, text, counter) for text in self._value.texts(self._corpus, docs)]
        by_text = any(reply is not None and reply.log_odds is None for reply in replies)
        values = [_reply_score(reply, by_text) for reply in replies]
        counter.count("graded", len(docs))
        counter.count("by_text" if by_text else "by_odds", sum(value is not None for value in values))
        counter.count("given_up", sum(value is None and reply is not None for value, reply in zip(values, replies, strict=True)))
        return scores_or_positions(values)

    def _reply(self, query: Query, text: str, counter: CallCounter) -> _PointwiseReply | None:
        request = self._value.request(query, [text], labels=["passage"])
        return self._client.read(request, _parse_reply, counter, attempts=self._value.attempts)


def _parse_reply(reply: ChatReply) -> _PointwiseReply:
    odds, by_text = yes_no_score(reply)
    if by_text:
        return _PointwiseReply(None, bool(odds))
    try:
        return _PointwiseReply(odds, parse_yes(reply))
    except ReplyParseError:
        return _PointwiseReply(odds, None)


def _reply_score(reply: _PointwiseReply | None, by_text: bool) -> float | None:
    if reply is None:
        return None
    if by_text:
        return None if reply.is_yes is None else float(reply.is_yes)
    return reply.log_odds
