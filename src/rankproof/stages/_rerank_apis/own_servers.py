"""Rerankers on your own servers: TEI, Infinity and vLLM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from rankproof._registry import Option
from rankproof.stages._rerank_apis.scorer import BaseURL, BatchSize, RerankAPI
from rankproof.stages._rerank_apis.wire import TEI, RerankShape

RawScores = Annotated[bool, Option("true for the scores of the model before the sigmoid")]


@dataclass(frozen=True)
class TEIRerank(RerankAPI):
    """A server with text-embeddings-inference, `/rerank`; it serves one model, and `model` names it in the results.

    It refuses requests of more than 32 documents by default, and without `truncate` texts that are too long.
    """

    base_url: BaseURL = "http://127.0.0.1:8080"
    batch_size: BatchSize = 32
    raw_scores: RawScores = False
    truncate: Annotated[bool, Option("whether the server cuts long texts; false: it refuses them")] = True
    api: ClassVar[str] = "TEI"
    is_own_server: ClassVar[bool] = True
    reports_tokens: ClassVar[bool] = False

    @property
    def shape(self) -> RerankShape:
        """Its own."""
        return TEI

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

    Without `truncate_prompt_tokens` it refuses a pair that is too long.
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
