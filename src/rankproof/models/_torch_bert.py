"""Encoders and cross-encoders of the BERT family in torch, for GPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from rankproof._data.arrays import FloatArray, Matrix, normalise_rows, read_only
from rankproof._data.identity import library_versions
from rankproof.models._device import Placement, available_cores
from rankproof.models._onnx.config import ACTIVATIONS, BertConfig
from rankproof.models._onnx.folder import ModelFolder, Pooling
from rankproof.models._onnx.weights import TensorReader, open_weights
from rankproof.models._tokenizer import BatchTokenizer, TokenizerFile
from rankproof.models._torch_batches import BatchedNetwork, BatchPlan, Output


class BertLayer(nn.Module):  # type: ignore[misc]  # torch is not followed
    """Self-attention and a feed-forward network, each with a residual connection and a layer norm after it."""

    def __init__(self, shape: BertConfig, tensors: TensorReader, layer: int) -> None:
        super().__init__()
        names = {part: name.format(layer) for part, name in shape.family.layer.items()}
        width, wide = shape.hidden, shape.intermediate_size
        self.heads, self.activation = shape.heads, shape.activation
        self.attend = _joined_linear([_linear(tensors, names[part], width, width) for part in ("query", "key", "value")])
        self.attended = _linear(tensors, names["attended"], width, width)
        self.attended_norm = _layer_norm(tensors, names["attended_norm"], width, shape.epsilon)
        self.widen = _linear(tensors, names["widen"], width, wide)
        self.narrow = _linear(tensors, names["narrow"], wide, width)
        self.norm = _layer_norm(tensors, names["norm"], width, shape.epsilon)

    def forward(self, states: Tensor, mask: Tensor | None) -> Tensor:
        """The states after the layer; positions where the mask is False are not read."""
        parts = self.attend(states).unflatten(-1, (3, self.heads, -1))
        query, key, value = (part.transpose(1, 2) for part in parts.unbind(2))
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        states = self.attended_norm(self.attended(mixed.transpose(1, 2).flatten(2)) + states)
        return self.norm(self.narrow(_activation(self.widen(states), self.activation)) + states)


class BertNet(nn.Module):  # type: ignore[misc]  # torch is not followed
    """The embeddings and layers of a model folder, and the classifier's head if asked for."""

    def __init__(self, folder: ModelFolder, *, head: bool) -> None:
        super().__init__()
        shape, tensors = folder.shape, TensorReader(open_weights(folder.weights), folder.shape.family.spellings)
        size, self.shape, self.typed = shape.embedding, shape, head and folder.uses_token_types()
        self.words = nn.Parameter(_tensor(tensors, "embeddings.word_embeddings.weight", shape.vocabulary, size))
        places = _tensor(tensors, "embeddings.position_embeddings.weight", shape.positions, size)
        name = "embeddings.token_type_embeddings.weight"
        types = _tensor(tensors, name, shape.types, size) if shape.types else torch.zeros(1, size)
        self.first_position = shape.padding + 1 if shape.family.counts_positions else 0
        self.places = nn.Parameter(places if self.typed else places + types[0])
        self.types = nn.Parameter(types)
        self.embedding_norm = _layer_norm(tensors, "embeddings.LayerNorm", size, shape.epsilon)
        self.project = _linear(tensors, "embeddings_project", size, shape.hidden) if size != shape.hidden else nn.Identity()
        self.layers = nn.ModuleList(BertLayer(shape, tensors, layer) for layer in range(shape.layers))
        if head:
            inner, self.bend, outer = shape.family.head
            self.inner = _linear(tensors, inner, shape.hidden, shape.hidden)
            self.outer = _linear(tensors, outer, shape.hidden, shape.labels)

    def forward(self, ids: Tensor, types: Tensor, mask: Tensor | None) -> Tensor:
        """The last hidden states, texts x positions x dimensions."""
        states = functional.embedding(ids, self.words)
        if self.typed:
            states = states + functional.embedding(types, self.types)
        states = states + self.places[self.first_position : self.first_position + ids.shape[1]]
        states = self.project(self.embedding_norm(states))
        for layer in self.layers:
            states = layer(states, mask)
        return states

    def logits(self, states: Tensor) -> Tensor:
        """One number per label."""
        logits: Tensor = self.outer(_activation(self.inner(states[:, 0]), self.bend))
        return logits


def _tensor(tensors: TensorReader, name: str, *shape: int) -> Tensor:
    return torch.from_numpy(np.array(tensors.take(name, *shape)))


def _linear(tensors: TensorReader, name: str, inputs: int, outputs: int) -> nn.Linear:
    return _linear_of(_tensor(tensors, f"{name}.weight", outputs, inputs), _tensor(tensors, f"{name}.bias", outputs))


def _linear_of(weight: Tensor, bias: Tensor) -> nn.Linear:
    made = nn.Linear(weight.shape[1], weight.shape[0], device="meta")
    made.weight, made.bias = nn.Parameter(weight), nn.Parameter(bias)
    return made


def _joined_linear(parts: Sequence[nn.Linear]) -> nn.Linear:
    """One layer that computes all of them."""
    return _linear_of(torch.cat([part.weight.detach() for part in parts]), torch.cat([part.bias.detach() for part in parts]))


def _layer_norm(tensors: TensorReader, name: str, size: int, epsilon: float) -> nn.LayerNorm:
    made = nn.LayerNorm(size, eps=epsilon, device="meta")
    made.weight, made.bias = (nn.Parameter(_tensor(tensors, f"{name}.{part}", size)) for part in ("weight", "bias"))
    return made


def _activation(states: Tensor, name: str) -> Tensor:
    if name in ("tanh", "relu"):
        return torch.tanh(states) if name == "tanh" else torch.relu(states)
    return functional.gelu(states, approximate=ACTIVATIONS[name])


def pool_mean(states: Tensor, real: Tensor) -> Tensor:
    """The mean of the real positions in float32, of length 1."""
    counted = real.unsqueeze(-1)
    return functional.normalize((states.float() * counted).sum(1) / counted.sum(1), dim=-1)


def pool_first(states: Tensor, real: Tensor) -> Tensor:
    """The first position in float32, of length 1."""
    return functional.normalize(states[:, 0].float(), dim=-1)


POOLINGS: Mapping[Pooling, Output] = {"mean": pool_mean, "cls": pool_first}
TEXT_TOKENS, TEXT_STEP = 16_384, 8
PAIR_TOKENS, PAIR_STEP = 8_192, 64


class TorchBertEncoder:
    """A loaded encoder of the BERT family, run by torch."""

    def __init__(
        self,
        folder: ModelFolder,
        tokenizer: TokenizerFile,
        placement: Placement,
        *,
        max_tokens: int,
        pooling: Pooling,
        facts: Mapping[str, Any],
        tokens_per_batch: int = TEXT_TOKENS,
    ) -> None:
        self.batch_invariant = not placement.on_gpu
        self._tokenizer, self._size, self._pooling = tokenizer, folder.shape.hidden, pooling
        self._batch_tokenizer = BatchTokenizer(tokenizer, threads=available_cores())
        plan = BatchPlan(tokens_per_batch, TEXT_STEP, max_tokens)
        self._network = BatchedNetwork(
            BertNet(folder, head=False), placement, plan, POOLINGS[pooling], padding=folder.shape.padding
        )
        self._facts = {**facts, **placement.facts()}

    def encode(self, texts: Sequence[str]) -> Matrix:
        """One row per text."""
        return read_only(self._network.rows(self._batch_tokenizer.ahead(texts), len(texts), self._size))

    def tokens(self, texts: Sequence[str]) -> list[Matrix]:
        """For each text one row per token, special tokens included."""
        return [read_only(normalise_rows(rows)) for rows in self._network.states(self._batch_tokenizer.texts(texts), self._size)]

    def cut(self, texts: Sequence[str]) -> int:
        """The number of truncated texts."""
        return sum(int(tokens.cut.sum()) for tokens in self._batch_tokenizer.ahead(texts))

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens read of each text, special tokens included."""
        lengths: list[int] = self._batch_tokenizer.texts(texts).lengths.tolist()
        return lengths

    def unknown(self, texts: Sequence[str]) -> tuple[int, int]:
        """The numbers of unknown tokens and of all tokens."""
        return self._tokenizer.unknown(texts)

    def facts(self) -> Mapping[str, Any]:
        """Library, sizes, limits, device and source, as JSON."""
        return {"library": torch_bert_versions(), "dimensions": self._size, "pooling": self._pooling, **self._facts}


class TorchBertCrossEncoder:
    """A loaded cross-encoder of the BERT family, run by torch; with two labels the score is the second logit minus the first."""

    def __init__(
        self,
        folder: ModelFolder,
        tokenizer: TokenizerFile,
        placement: Placement,
        *,
        max_tokens: int,
        facts: Mapping[str, Any],
        tokens_per_batch: int = PAIR_TOKENS,
    ) -> None:
        net = BertNet(folder, head=True)
        self._labels = folder.shape.labels
        self._batch_tokenizer = BatchTokenizer(tokenizer, threads=available_cores())
        plan = BatchPlan(tokens_per_batch, PAIR_STEP, max_tokens)
        self._network = BatchedNetwork(
            net, placement, plan, lambda states, real: net.logits(states).float(), padding=folder.shape.padding
        )
        self._facts = {**facts, **placement.facts()}

    def scores(self, query: str, passages: Sequence[str]) -> FloatArray:
        """One score per passage."""
        logits = self.logits(query, passages)
        return read_only(logits[:, 0] if self._labels == 1 else logits[:, 1] - logits[:, 0])

    def logits(self, query: str, passages: Sequence[str]) -> FloatArray:
        """One row per passage, one column per label."""
        pairs = self._batch_tokenizer.pairs(query, passages)
        return self._network.rows(iter([pairs]), len(passages), self._labels).astype(np.float64)

    def cut(self, query: str, passages: Sequence[str]) -> int:
        """The number of truncated pairs."""
        return int(self._batch_tokenizer.pairs(query, passages).cut.sum())

    def facts(self) -> Mapping[str, Any]:
        """Library, limits, device and source, as JSON."""
        return {"library": torch_bert_versions(), **self._facts}


def torch_bert_versions() -> str:
    """The versions of the libraries."""
    return library_versions("torch", "tokenizers")
