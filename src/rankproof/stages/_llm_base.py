"""What scorers with a language model share: settings, requests, estimates and truncation."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Generic, TypeVar

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._data.corpus import Corpus
from rankproof._data.dataset import Query
from rankproof._data.identity import identity
from rankproof._llm.budget import Estimate, estimate_request
from rankproof._llm.call_counts import CallCounter, CallTotals
from rankproof._llm.prompts import UNTRUSTED_DATA_RULE, check_prompt, count_truncated, fill_prompt, quote_untrusted
from rankproof._registry import Option
from rankproof.models._chat.base import ChatRequest, Message
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


def scores_from_order(order: Sequence[int]) -> FloatArray:
    """Descending integers along the order; `order` has the positions of the documents, best first."""
    scores = np.empty(len(order), dtype=np.float64)
    scores[list(order)] = np.arange(len(order), 0, -1)
    return scores


def scores_or_positions(values: Sequence[float | None]) -> FloatArray:
    """The values if all are known; else ranks, where each document without a value keeps its rank."""
    known = {at: value for at, value in enumerate(values) if value is not None}
    if len(known) == len(values):
        return np.array(values, dtype=np.float64)
    best = iter(sorted(known, key=lambda at: -known[at]))
    return scores_from_order([next(best) if at in known else at for at in range(len(values))])
