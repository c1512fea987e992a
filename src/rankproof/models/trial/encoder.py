"""A trained encoder at work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..._extras import extra
from ...data.arrays import Matrix, frozen
from ...data.versions import behind
from .checkpoint import Checkpoint
from .ids import Ids
from .net import device_named, net_with
from .shape import parameters

_TOKENS_AT_ONCE = 16_384


class TrialEncoder:
    """The net of a checkpoint."""

    def __init__(self, checkpoint: Checkpoint, *, threads: int, device: str, told: Mapping[str, Any]) -> None:
        with extra("torch"):
            import torch

        torch.set_num_threads(threads)
        self._shape, self._tokenizer, self._card = checkpoint.shape, checkpoint.tokenizer, checkpoint.card
        self._device, self._told = device_named(device), told
        self._net = net_with(checkpoint.shape, checkpoint.state).to(self._device)

    def encode(self, texts: Sequence[str]) -> Matrix:
        """One row a text, zeros where it has no token; the batches follow from the list, so the same list gives the same bits."""
        with extra("torch"):
            import torch

        ids = self._tokenizer.ids([self._shape.read(text) for text in texts])
        rows = np.zeros((len(texts), self._shape.width), dtype=np.float32)
        with torch.inference_mode():
            for batch in by_length([len(one) for one in ids]):
                read = torch.from_numpy(padded([ids[place] for place in batch])).to(self._device)
                rows[batch] = self._net(read).cpu().numpy()
        return frozen(rows)

    def cut(self, texts: Sequence[str]) -> int:
        """How many of the texts have more characters than are read."""
        return sum(len(text) > self._shape.characters for text in texts)

    def facts(self) -> Mapping[str, Any]:
        """What a reader should know; the length is one of characters, the same for each tokenizer."""
        steps = self._card.get("steps")
        return {
            "library": library(),
            "dimensions": self._shape.width,
            "max_tokens": None,
            "max_characters": self._shape.characters,
            "precision": "fp32",
            "device": self._device.type,
            "tokenizer": self._shape.kind,
            "parameters": parameters(self._shape),
            "training": f"contrastive, {steps} steps" if self._card.get("trained") is True else "none",
            **self._told,
        }


def by_length(lengths: Sequence[int]) -> Iterator[list[int]]:
    """The places of the texts, the longest first, so many at a time that padded they stay within the bound; empty ones not."""
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lambda place: -lengths[place]):
        if not lengths[place]:
            break
        if batch and (len(batch) + 1) * lengths[batch[0]] > _TOKENS_AT_ONCE:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def padded(ids: Sequence[Ids]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The sequences as rows of one array, filled up with 0 to the longest."""
    found = np.zeros((len(ids), max(map(len, ids), default=0)), dtype=np.int64)
    for row, one in zip(found, ids, strict=True):
        row[: len(one)] = one
    return found


def library() -> str:
    """Which versions make the numbers."""
    return behind("torch", "tokenizers")
