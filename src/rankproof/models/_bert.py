"""Encoders and cross-encoders of the BERT family, run by onnxruntime."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from rankproof._data.identity import NOT_IN_IDENTITY, library_versions
from rankproof._data.validation import check_options
from rankproof._registry import Option
from rankproof.errors import ExternalError, UsageError, escape_invisible
from rankproof.models._base import OwnTokenLimit, Precision, PrecisionOption, Source, TokenLimit, check_source
from rankproof.models._download.hub import is_local, model_folder_of
from rankproof.models._onnx.folder import ModelFolder, Pooling, cached_graph, open_model_folder
from rankproof.models._onnx.runtime import OnnxCrossEncoder, OnnxEncoder, OnnxSession
from rankproof.models._tokenizer import TokenizerFile


@dataclass(frozen=True, slots=True)
class BertModel:
    """A model by its folder with safetensors or its hub name; the place of the weights is not part of its identity."""

    source: Source = field(metadata=NOT_IN_IDENTITY)

    def revision(self) -> str:
        """A sha256 of weights, tokenizer and settings, and the versions of the libraries that run them."""
        return onnx_revision(open_model_folder(model_folder_of(self.source)).revision())

    def is_ready(self) -> bool:
        """Whether the model can be loaded without a network."""
        return is_local(self.source)


def onnx_revision(weights: str) -> str:
    """The revision of the weights and the versions of the libraries that run them."""
    return f"{weights}, {library_versions('onnxruntime', 'tokenizers')}"


def open_bert_tokenizer(folder: ModelFolder, length: int) -> TokenizerFile:
    """The tokenizer that truncates at `length` tokens; an error if it does not fit the weights."""
    if length > folder.shape.max_positions:
        raise UsageError(
            f"{folder.path} has positions for {folder.shape.max_positions} tokens, not {length}", fix="lower max_tokens"
        )
    tokenizer = TokenizerFile(folder.tokenizer, max_tokens=length, lowers=folder.lowers())
    if tokenizer.size() > folder.shape.vocabulary:
        sizes = f"{tokenizer.size()} tokens, but config.json gives {folder.shape.vocabulary}"
        raise ExternalError(escape_invisible(f"{folder.tokenizer}: {sizes}; use files of the same model"))
    return tokenizer


@dataclass(frozen=True, slots=True)
class Bert(BertModel):
    """A BERT encoder from a folder or the Hugging Face Hub; length and pooling default to those of the model."""

    precision: PrecisionOption = "int8"
    max_tokens: OwnTokenLimit = None
    pooling: Annotated[Pooling | None, Option("how token vectors become one: mean or cls (default: that of the model)")] = None

    def __post_init__(self) -> None:
        check_source(self.source)
        check_options(self)

    def load(self, *, threads: int = 1) -> OnnxEncoder:
        """The loaded model; its ONNX graph is written first if it is not cached."""
        folder = open_model_folder(model_folder_of(self.source))
        length, pooling = self.max_tokens or folder.max_tokens(), self.pooling or folder.pooling()
        return load_bert_encoder(folder, folder.revision(), self.precision, length, pooling, source=self.source, threads=threads)


def load_bert_encoder(
    folder: ModelFolder, revision: str, precision: Precision, length: int, pooling: Pooling, *, source: str, threads: int
) -> OnnxEncoder:
    """The encoder of a model folder."""
    tokenizer = open_bert_tokenizer(folder, length)
    session = OnnxSession(cached_graph(folder, revision, precision, head=False))
    facts: dict[str, Any] = {"max_tokens": length, "precision": precision, "revision": revision, "source": source}
    facts |= {"prompts": folder.prompts()} if folder.prompts() else {}
    return OnnxEncoder(session, tokenizer, size=folder.shape.hidden, pooling=pooling, threads=threads, facts=facts)


@dataclass(frozen=True, slots=True)
class CrossEncoder(BertModel):
    """A BERT cross-encoder with one or two labels; a pair is truncated at `max_tokens`, the longer text first."""

    precision: PrecisionOption = "fp32"
    max_tokens: TokenLimit = 512

    def __post_init__(self) -> None:
        check_source(self.source)
        check_options(self)

    def load(self, *, threads: int = 1) -> OnnxCrossEncoder:
        """The loaded model; its ONNX graph is written first if it is not cached."""
        folder = open_model_folder(model_folder_of(self.source))
        if folder.shape.labels not in (1, 2):
            raise ExternalError(
                escape_invisible(
                    f"{folder.path}: a classifier with {folder.shape.labels} labels; use a cross-encoder with one or two"
                )
            )
        revision, length = folder.revision(), min(self.max_tokens, folder.shape.max_positions)
        tokenizer = open_bert_tokenizer(folder, length)
        session = OnnxSession(cached_graph(folder, revision, self.precision, head=True))
        facts = {"max_tokens": length, "precision": self.precision, "revision": revision, "source": self.source}
        return OnnxCrossEncoder(session, tokenizer, threads=threads, facts={**facts, "labels": folder.shape.labels})
