"""The rerank APIs: those of providers (Cohere, Jina, Voyage, mixedbread) and your own servers (TEI, Infinity, vLLM)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from rankproof._data.identity import NOT_IN_IDENTITY
from rankproof._data.validation import ApiKeyEnv
from rankproof._registry import Option
from rankproof.stages._rerank_apis.scorer import BaseURL, BatchSize, RerankAPI
from rankproof.stages._rerank_apis.wire import COHERE, MIXEDBREAD, TEI, VOYAGE


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
