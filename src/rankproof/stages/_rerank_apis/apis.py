"""The rerank APIs of providers (Cohere, Jina, Voyage, mixedbread) and your own servers, and what all of them share."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar

from rankproof._data.arrays import FloatArray
from rankproof._data.dataset import Query
from rankproof._data.identity import NOT_IN_IDENTITY, identity
from rankproof._data.validation import ApiKeyEnv
from rankproof._llm.budget import CallCounter, CallTotals, Estimate
from rankproof._llm.client import MAX_CONSECUTIVE_FAILURES
from rankproof._registry import Option
from rankproof.errors import UsageError, for_message
from rankproof.models._api.settings import ApiModel, ModelRequestError, PaidModel
from rankproof.models._chat.base import estimate_tokens, max_tokens_of
from rankproof.stages._base import BuildContext, LoadedScorer
from rankproof.stages._fields import DEFAULT_FIELDS, Fields, check_known_fields, passage_text
from rankproof.stages._rerank_apis.wire import (
    COHERE,
    MIXEDBREAD,
    PLAIN,
    TEI,
    VOYAGE,
    RerankClient,
    RerankConnection,
    RerankReply,
    RerankRequest,
    estimate_pairs,
)
from rankproof.stages._scorers import scores_or_positions

BaseURL = Annotated[str, Option("the address of the server")]
BatchSize = Annotated[int, Option("the most documents of one request", least=1, most=10_000)]
LISTWISE_MODELS = frozenset({"jina-reranker-v3", "jina-reranker-v3.5", "jinaai/jina-reranker-v3", "jinaai/jina-reranker-v3.5"})
"""Models that read all documents of a request together, by their exact names on Jina's API and on the model hub."""
_TOO_LARGE = (413, 422)
_BYTES_PER_TOKEN = 3
"""For the limit of a request in tokens: fewer bytes than a token usually has, so that the limit holds."""


@dataclass(frozen=True)
class RerankAPI(ApiModel):
    """A reranker behind an API: it scores the documents of a query in requests of at most `batch_size` documents.

    A document without text is not sent and ranks last. If a request has no valid reply after all retries, its documents keep
    their rank. A listwise model reads all documents of a request together, so its requests are never split.
    """

    fields: Fields = DEFAULT_FIELDS
    max_tokens: Annotated[
        int | None, Option("how many tokens of a query and a document the model reads (default: by the API, if known)", least=1)
    ] = None
    batch_size: BatchSize = 1000
    listwise: Annotated[
        bool | None,
        Option("true if scores depend on the other documents of the request (default: by the exact name of the model)"),
    ] = None
    shape = PLAIN
    """How the API writes requests and replies."""
    api: ClassVar[str] = ""
    reports_tokens: ClassVar[bool] = True
    bills_searches: ClassVar[bool] = False

    @property
    def paid_model(self) -> PaidModel:
        """The model with its prices."""
        return self

    @property
    def is_listwise(self) -> bool:
        """Whether a score depends on the other documents of the request."""
        return self.model in LISTWISE_MODELS if self.listwise is None else self.listwise

    def parameters(self) -> Mapping[str, Any]:
        """The parameters of a request beside model, query and documents."""
        return {}

    @property
    def may_cut(self) -> bool:
        """Whether the API may cut a document that is too long without saying so; else it rejects it."""
        return True

    def read_tokens(self) -> int:
        """How many tokens of a query and a document the API reads; 0 if this is not known."""
        return 0

    def max_request_tokens(self) -> int:
        """The most tokens of one request, with those of the query for each document; 0 for no limit."""
        return 0

    def check_top(self, top: int) -> None:
        """Rejects more documents than a listwise model can read in one request."""
        if self.is_listwise and top > self.batch_size:
            limit = f"is listwise and one request has at most {self.batch_size} documents"
            fix = "lower top to that, or raise batch_size; scores of different requests of a listwise model are not comparable"
            raise UsageError(f"top is {top}, but {for_message(self.model)} {limit}", fix=fix)

    def load(self, *, threads: int = 1) -> RerankConnection:
        """A connection; nothing is sent."""
        return RerankConnection(self)

    def endpoint(self) -> RerankAPI:
        """The settings that change a reply to the same request; those that choose the documents have their defaults."""
        return replace(self, fields=DEFAULT_FIELDS, max_tokens=None, batch_size=type(self).batch_size, listwise=None)

    def build(self, context: BuildContext) -> LoadedRerankAPI:
        """Builds the scorer; nothing is sent."""
        return LoadedRerankAPI(self, context)

    def batches(self, query: str, texts: Sequence[str], size: int) -> Iterator[range]:
        """The positions of the texts of each request: at most `size` of them, and no more tokens than the API takes."""
        start, tokens, most = 0, 0, 0 if self.is_listwise else self.max_request_tokens()
        for at, text in enumerate(texts):
            more = (max_tokens_of(query) + max_tokens_of(text)) // _BYTES_PER_TOKEN + 1
            if at > start and (at - start >= size or 0 < most < tokens + more):
                yield range(start, at)
                start, tokens = at, 0
            tokens += more
        if texts:
            yield range(start, len(texts))

    def estimate_top(self, queries: Sequence[Query], context: BuildContext, top: int) -> Estimate:
        """The cost of scoring `top` passages of mean length for every query."""
        corpus = context.corpus
        total = sum(len(passage_text(document, self.fields)) for document in corpus.documents())
        texts = ["x" * round(total / max(len(corpus), 1))] * min(top, len(corpus))
        requests = (
            RerankRequest(query.text, tuple(texts[part.start : part.stop]))
            for query in queries
            for part in self.batches(query.text, texts, self.batch_size)
        )
        return sum(map(estimate_pairs, requests), Estimate())


class LoadedRerankAPI(LoadedScorer):
    """Asks the API for the scores of documents of one corpus."""

    def __init__(self, api: RerankAPI, context: BuildContext) -> None:
        check_known_fields(context.corpus, api.fields)
        self._api, self._corpus = api, context.corpus
        endpoint, session = api.endpoint(), context.session
        self._client = session.model_client(endpoint, "rerank", lambda cache: RerankClient(endpoint, session, cache), RerankReply)
        self._lock = threading.Lock()
        self._models: set[str] = set()
        self._size = api.batch_size
        self._has_reply, self._single_rejections = False, 0
        self._last_failure = ""

    @property
    def concurrency(self) -> int:
        """As many queries at once as the API allows calls."""
        return max(1, self._api.concurrency)

    def scores(self, query: Query, docs: Sequence[str]) -> FloatArray:
        """The scores; the calls are not counted."""
        return self.scores_counting_calls(query, docs, CallTotals())

    def scores_counting_calls(self, query: Query, docs: Sequence[str], counter: CallCounter) -> FloatArray:
        """The scores of the API; documents of a request without a valid reply keep their rank."""
        api = self._api
        texts = [passage_text(self._corpus[doc], api.fields) for doc in docs]
        sent = [at for at, text in enumerate(texts) if text.strip()] if query.text.strip() else []
        counter.count("long_documents", sum(self._is_long(query.text, texts[at]) for at in sent))
        scores = self._batched(query.text, [texts[at] for at in sent], counter)
        # Documents that are not sent rank below all others.
        values: list[float | None] = [min((score for score in scores if score is not None), default=1.0) - 1.0] * len(docs)
        for at, score in zip(sent, scores, strict=True):
            values[at] = score
        return scores_or_positions(values)

    def _batched(self, query: str, texts: Sequence[str], counter: CallCounter) -> list[float | None]:
        """One score for each text, None where a request failed."""
        scores: list[float | None] = []
        for part in self._api.batches(query, texts, self._size):
            scores += self._asked(RerankRequest(query, tuple(texts[part.start : part.stop])), counter)
        return scores

    def _asked(self, request: RerankRequest, counter: CallCounter) -> list[float | None]:
        """The scores of one request; one that is too large for the server is split."""
        try:
            reply = self._client.request(request, counter)
        except ModelRequestError as error:
            if error.status in _TOO_LARGE and self._may_split(len(request.texts)):
                return self._split(request, counter)
            self._last_failure = str(error)
            counter.count("score_requests")
            counter.count("failed")
            counter.count("refused", int(not error.retryable))
            return [None] * len(request.texts)
        counter.count("score_requests")
        counter.count("search_units", reply.units)
        with self._lock:
            self._has_reply = True
            self._models.add(reply.model)
        return list(reply.scores)

    def _may_split(self, count: int) -> bool:
        """Whether a smaller request may succeed; a server that rejected many single documents rejects all."""
        with self._lock:
            self._single_rejections += count == 1
            is_hopeless = not self._has_reply and self._single_rejections >= MAX_CONSECUTIVE_FAILURES
        return count > 1 and not self._api.is_listwise and not is_hopeless

    def _split(self, request: RerankRequest, counter: CallCounter) -> list[float | None]:
        """The scores of both halves; if both succeed, later requests are as small as they."""
        half = -(-len(request.texts) // 2)
        scores = [
            score
            for texts in (request.texts[:half], request.texts[half:])
            for score in self._asked(replace(request, texts=texts), counter)
        ]
        if None not in scores:
            with self._lock:
                self._size = min(self._size, half)
        return scores

    def _is_long(self, query: str, text: str) -> bool:
        """Whether the API probably cuts the document."""
        limit = self._api.max_tokens or self._api.read_tokens()
        return self._api.may_cut and 0 < limit < estimate_tokens(query) + estimate_tokens(text)

    def facts(self) -> Mapping[str, Any]:
        """The API, its address, the model with all settings, and the names of the model that the server reported."""
        api = self._api
        about = {"kind": "rerank API", "api": api.api, "address": api.base_url, "is_listwise": api.is_listwise}
        return {**identity(api), **about, "reported_models": sorted(filter(None, self._models))}

    def notes(self) -> Sequence[str]:
        """Notes on listwise scores, on what the server does not report, and on requests that were too large or failed."""
        api, size = self._api, self._size
        is_limit_known = api.max_tokens or api.read_tokens()
        notes = {
            f"{for_message(api.model)} is listwise: a score depends on the other documents of its request, so it changes with "
            "the number of documents that are reranked": api.is_listwise,
            f"{api.api} reports no tokens: they are estimated at four bytes per token": not api.reports_tokens,
            f"{api.api} may cut long documents without saying so, and max_tokens is not set: whether documents were cut is "
            "unknown": api.may_cut and not is_limit_known,
            "the server rejected requests of more documents, so they were split: "
            f"set batch_size = {size} to send fewer requests": size < api.batch_size,
            f"the last failed request: {self._last_failure}": bool(self._last_failure),
        }
        return [note for note, is_given in notes.items() if is_given]


@dataclass(frozen=True)
class CohereRerank(RerankAPI):
    """Cohere's API `/v2/rerank`; it bills search units: a query with up to 100 documents of about 500 tokens.

    It cuts documents at `max_tokens_per_doc` without saying so.
    """

    base_url: BaseURL = "https://api.cohere.com"
    api_key_env: ApiKeyEnv = field(default="COHERE_API_KEY", metadata=NOT_IN_IDENTITY)
    price_search: Annotated[float, Option("price of 1,000 search units", least=0, most=1e6)] = field(
        default=0.0, metadata=NOT_IN_IDENTITY
    )
    price_in: float = field(default=0.0, init=False, repr=False, metadata=NOT_IN_IDENTITY)
    max_tokens_per_doc: Annotated[int, Option("where the API cuts a document, in tokens", least=1)] = 4096
    shape = COHERE
    api: ClassVar[str] = "Cohere"
    reports_tokens: ClassVar[bool] = False
    bills_searches: ClassVar[bool] = True

    def parameters(self) -> Mapping[str, Any]:
        """Where documents are cut."""
        return {"max_tokens_per_doc": self.max_tokens_per_doc}

    def read_tokens(self) -> int:
        """The limit of a document."""
        return self.max_tokens_per_doc


@dataclass(frozen=True)
class JinaRerank(RerankAPI):
    """Jina's API `/v1/rerank`; the model jina-reranker-v3 is listwise."""

    base_url: BaseURL = "https://api.jina.ai/v1"
    api_key_env: ApiKeyEnv = field(default="JINA_API_KEY", metadata=NOT_IN_IDENTITY)
    api: ClassVar[str] = "Jina"

    def parameters(self) -> Mapping[str, Any]:
        """The reply has no texts."""
        return {"return_documents": False}


_VOYAGE_LIMITS = {
    "rerank-2.5": 32_000,
    "rerank-2.5-lite": 32_000,
    "rerank-2": 16_000,
    "rerank-2-lite": 8_000,
    "rerank-1": 8_000,
    "rerank-lite-1": 4_000,
}
"""The tokens of a query with a document, from Voyage's API reference."""
_VOYAGE_REQUEST_LIMITS = {"rerank-1": 300_000, "rerank-lite-1": 300_000}
"""The tokens of a request, with those of the query for each document; 600,000 for other models."""


@dataclass(frozen=True)
class VoyageRerank(RerankAPI):
    """Voyage's API `/v1/rerank`; with `truncation` it cuts what is too long, without it the request is rejected."""

    base_url: BaseURL = "https://api.voyageai.com/v1"
    api_key_env: ApiKeyEnv = field(default="VOYAGE_API_KEY", metadata=NOT_IN_IDENTITY)
    batch_size: Annotated[int, Option("the most documents of one request", least=1, most=1000)] = 1000
    truncation: Annotated[bool, Option("true to let the API cut texts that are too long")] = True
    shape = VOYAGE
    api: ClassVar[str] = "Voyage"

    def parameters(self) -> Mapping[str, Any]:
        """Whether texts are cut; the reply has no texts."""
        return {"return_documents": False, "truncation": self.truncation}

    @property
    def may_cut(self) -> bool:
        """As `truncation` says."""
        return self.truncation

    def max_request_tokens(self) -> int:
        """The limit of the API."""
        return _VOYAGE_REQUEST_LIMITS.get(self.model, 600_000)

    def read_tokens(self) -> int:
        """The limit of the model, if its name is known."""
        return _VOYAGE_LIMITS.get(self.model, 0)


@dataclass(frozen=True)
class MixedbreadRerank(RerankAPI):
    """Mixedbread's API `/v1/reranking`; it cuts documents that are too long for the model."""

    base_url: BaseURL = "https://api.mixedbread.com/v1"
    api_key_env: ApiKeyEnv = field(default="MXBAI_API_KEY", metadata=NOT_IN_IDENTITY)
    shape = MIXEDBREAD
    api: ClassVar[str] = "mixedbread"

    def parameters(self) -> Mapping[str, Any]:
        """The reply has no texts."""
        return {"return_input": False}


RawScores = Annotated[bool, Option("true for the scores of the model before the sigmoid")]


@dataclass(frozen=True)
class TEIRerank(RerankAPI):
    """A server with text-embeddings-inference, `/rerank`; it serves one model, and `model` names it in the results.

    It rejects requests of more than 32 documents by default, and without `truncate` texts that are too long.
    """

    base_url: BaseURL = "http://127.0.0.1:8080"
    batch_size: BatchSize = 32
    raw_scores: RawScores = False
    truncate: Annotated[bool, Option("whether the server cuts long texts; false: it rejects them")] = True
    shape = TEI
    api: ClassVar[str] = "TEI"
    is_own_server: ClassVar[bool] = True
    reports_tokens: ClassVar[bool] = False

    @property
    def may_cut(self) -> bool:
        """As `truncate` says."""
        return self.truncate

    def parameters(self) -> Mapping[str, Any]:
        """The scale of scores, and whether texts are cut; the reply has no texts."""
        return {"raw_scores": self.raw_scores, "truncate": self.truncate, "return_text": False}


@dataclass(frozen=True)
class InfinityRerank(RerankAPI):
    """A server with Infinity, `/rerank`."""

    base_url: BaseURL = "http://127.0.0.1:7997"
    raw_scores: RawScores = False
    api: ClassVar[str] = "Infinity"
    is_own_server: ClassVar[bool] = True

    def parameters(self) -> Mapping[str, Any]:
        """The scale of scores; the reply has no texts."""
        return {"raw_scores": self.raw_scores, "return_documents": False}


@dataclass(frozen=True)
class VLLMRerank(RerankAPI):
    """A server with vLLM, `/v1/rerank`; its replies always have the texts, so a request has fewer of them by default.

    Without `truncate_prompt_tokens` it rejects a pair that is too long.
    """

    base_url: BaseURL = "http://127.0.0.1:8000/v1"
    batch_size: BatchSize = 100
    truncate_prompt_tokens: Annotated[
        int, Option("where the server cuts a pair, in tokens; -1: at the limit of the model, 0: nowhere", least=-1)
    ] = 0
    api: ClassVar[str] = "vLLM"
    is_own_server: ClassVar[bool] = True

    @property
    def may_cut(self) -> bool:
        """Whether `truncate_prompt_tokens` is set."""
        return self.truncate_prompt_tokens != 0

    def parameters(self) -> Mapping[str, Any]:
        """Where pairs are cut."""
        return {"truncate_prompt_tokens": self.truncate_prompt_tokens} if self.truncate_prompt_tokens else {}

    def read_tokens(self) -> int:
        """Where pairs are cut, if it is known."""
        return max(self.truncate_prompt_tokens, 0)
