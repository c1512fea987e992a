"""Rerankers on your own servers: TEI, Infinity and vLLM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from rankproof._registry import Option
from rankproof.stages._rerank_apis.scorer import BaseURL, Batch, RerankAPI
from rankproof.stages._rerank_apis.wire import TEI, RerankShape

RawScores = Annotated[bool, Option("true for the scores of the model before the sigmoid")]


@dataclass(frozen=True)
class TEIRerank(RerankAPI):
    """A server with text-embeddings-inference, `/rerank`; it serves one model, and `model` names it in the results.

    Without `truncate` it refuses a text that is too long.
    """

    base_url: BaseURL = "http://localhost:8080"
    batch: Batch = 32
    raw_scores: RawScores = False
    truncate: Annotated[bool, Option("true to let the server cut texts that are too long")] = False
    title: ClassVar[str] = "TEI"
    reports_tokens: ClassVar[bool] = False

    @property
    def shape(self) -> RerankShape:
        """Its own."""
        return TEI

    def parameters(self) -> Mapping[str, Any]:
        """The scale of scores, and whether texts are cut; the reply has no texts."""
        return {"raw_scores": self.raw_scores, "truncate": self.truncate, "return_text": False}


@dataclass(frozen=True)
class InfinityRerank(RerankAPI):
    """A server with Infinity, `/rerank`."""

    base_url: BaseURL = "http://localhost:7997"
    raw_scores: RawScores = False
    title: ClassVar[str] = "Infinity"

    def parameters(self) -> Mapping[str, Any]:
        """The scale of scores; the reply has no texts."""
        return {"raw_scores": self.raw_scores, "return_documents": False}


@dataclass(frozen=True)
class VLLMRerank(RerankAPI):
    """A server with vLLM, `/v1/rerank`; its replies always have the texts, so a request has fewer of them by default.

    Without `truncate_prompt_tokens` it refuses a pair that is too long.
    """

    base_url: BaseURL = "http://localhost:8000/v1"
    batch: Batch = 100
    truncate_prompt_tokens: Annotated[
        int, Option("where the server cuts a pair, in tokens; -1: at the limit of the model, 0: nowhere", least=-1)
    ] = 0
    title: ClassVar[str] = "vLLM"

    def parameters(self) -> Mapping[str, Any]:
        """Where pairs are cut."""
        return {"truncate_prompt_tokens": self.truncate_prompt_tokens} if self.truncate_prompt_tokens else {}

    def read_tokens(self) -> int:
        """Where pairs are cut, if it is known."""
        return max(self.truncate_prompt_tokens, 0)
