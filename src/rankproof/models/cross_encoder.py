"""Any cross-encoder of the BERT family, from a folder or the hub, by the written graph."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import WorldError, visible
from .from_weights import FromWeights, opened_tokenizer
from .graph_cache import graph_of
from .model_folder import open_folder
from .onnx_pairs import OnnxPairScorer
from .onnx_session import Session
from .settings import PrecisionOption, TokenLimit, check, check_source
from .sources import folder_of


@dataclass(frozen=True, slots=True)
class CrossEncoder(FromWeights):
    """A sequence classifier of one or two labels; a pair is cut at `max_tokens`, the longer text first."""

    precision: PrecisionOption = "fp32"
    max_tokens: TokenLimit = 512

    def __post_init__(self) -> None:
        check_source(self.source)
        check(self)

    def load(self, *, threads: int = 1) -> OnnxPairScorer:
        """The model ready to run; its graph is written first where it is not in the cache."""
        folder = open_folder(folder_of(self.source))
        if folder.shape.labels not in (1, 2):
            raise WorldError(
                visible(f"{folder.path}: a classifier of {folder.shape.labels} labels; a cross-encoder has one or two")
            )
        revision, length = folder.revision(), min(self.max_tokens, folder.shape.longest)
        tokenizer = opened_tokenizer(folder, length)
        session = Session(graph_of(folder, revision, self.precision, head=True))
        told = {"max_tokens": length, "precision": self.precision, "revision": revision, "source": self.source}
        return OnnxPairScorer(session, tokenizer, threads=threads, told={**told, "labels": folder.shape.labels})
