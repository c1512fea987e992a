"""Runs trained encoders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np

from rankproof._data.arrays import Matrix, read_only
from rankproof._data.identity import NOT_IN_IDENTITY, library_versions
from rankproof._data.validation import check_options
from rankproof._extras import extra
from rankproof._io.files import combined_sha256
from rankproof._registry import Option
from rankproof.errors import InputError, UsageError
from rankproof.models._device import DeviceOption, Placement, check_device, place
from rankproof.models._trained.checkpoint import METADATA_FILE, Checkpoint, open_checkpoint
from rankproof.models._trained.shape import parameter_count
from rankproof.models._trained.tokenizers import Ids, parse_tokenizer_kind

_TOKENS_PER_BATCH = 16_384


class LoadedTrainedEncoder:
    """The network of a checkpoint."""

    def __init__(self, checkpoint: Checkpoint, *, threads: int, placement: Placement, facts: Mapping[str, Any]) -> None:
        with extra("torch"):
            import torch

            from rankproof.models._trained.torch_net import load_network

        torch.set_num_threads(threads)
        self._shape, self._tokenizer, self._metadata = checkpoint.shape, checkpoint.tokenizer, checkpoint.metadata
        self.trained_prompts = checkpoint.prompts
        self._device, self._facts = torch.device(placement.device), {**placement.facts(), **facts}
        self._net = load_network(checkpoint.shape, checkpoint.state).to(self._device)

    def encode(self, texts: Sequence[str]) -> Matrix:
        """One row per text, zeros for a text without tokens; the same list of texts gives the same bits."""
        with extra("torch"):
            import torch

        ids = self._tokenizer.ids([self._shape.read(text) for text in texts])
        rows = np.zeros((len(texts), self._shape.width), dtype=np.float32)
        with torch.inference_mode():
            for batch in batches_by_length([len(id_) for id_ in ids]):
                padded = torch.from_numpy(pad_ids([ids[at] for at in batch])).to(self._device)
                rows[batch] = self._net(padded).cpu().numpy()
        return read_only(rows)

    def cut(self, texts: Sequence[str]) -> int:
        """The number of truncated texts."""
        return sum(len(text) > self._shape.characters for text in texts)

    def facts(self) -> Mapping[str, Any]:
        """Library versions, sizes, training and source, as JSON; the limit is in characters for every tokenizer."""
        steps, prompts = self._metadata.get("steps"), {key: text for key, text in self.trained_prompts._asdict().items() if text}
        return {
            "library": trained_versions(),
            "dimensions": self._shape.width,
            "max_tokens": None,
            "max_characters": self._shape.characters,
            "tokenizer": self._shape.kind,
            "parameters": parameter_count(self._shape),
            "training": f"contrastive, {steps} steps" if self._metadata.get("trained") is True else "none",
            **({"prompts": prompts} if prompts else {}),
            **self._facts,
        }


def batches_by_length(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Batches of text indices, longest first, within the token limit after padding; empty texts are left out."""
    batch: list[int] = []
    for at in sorted(range(len(lengths)), key=lambda at: -lengths[at]):
        if not lengths[at]:
            break
        if batch and (len(batch) + 1) * lengths[batch[0]] > _TOKENS_PER_BATCH:
            yield batch
            batch = []
        batch.append(at)
    if batch:
        yield batch


def pad_ids(ids: Sequence[Ids]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The sequences as rows of one array, padded with 0."""
    rows = np.zeros((len(ids), max(map(len, ids), default=0)), dtype=np.int64)
    for row, id_ in zip(rows, ids, strict=True):
        row[: len(id_)] = id_
    return rows


def trained_versions() -> str:
    """The versions of the libraries."""
    return library_versions("torch", "tokenizers")


_NUMBERS_VERSION = 1
"""Raised when the network gives other values for the same weights."""


@dataclass(frozen=True, slots=True)
class TrainedEncoder:
    """A trained encoder by its folder, which is not part of its identity; the revision has the kind of device."""

    source: Annotated[str, Option("a folder written by rankproof tokenizers train", role="source")] = field(
        metadata=NOT_IN_IDENTITY
    )
    device: DeviceOption = field(default="auto", metadata=NOT_IN_IDENTITY)
    gives_tokens: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not isinstance(self.source, str) or not self.source or "\0" in self.source:
            raise UsageError(f"{self.source!r} is not a checkpoint", fix="specify a folder written by rankproof tokenizers train")
        check_options(self)
        check_device(self.device)

    def load(self, *, threads: int = 1) -> LoadedTrainedEncoder:
        """The loaded encoder, on its device."""
        checkpoint = self.checkpoint()
        facts = {"source": self.source, "revision": _checkpoint_digest(checkpoint)}
        return LoadedTrainedEncoder(checkpoint, threads=threads, placement=self.placement(), facts=facts)

    def placement(self) -> Placement:
        """The device on this machine; the network runs in float32 on every device."""
        return place(self.device, "fp32", on_cpu="fp32")

    def revision(self) -> str:
        """A sha256 of the files in the folder, the versions of the libraries that run them, and the kind of device."""
        return f"{_checkpoint_digest(self.checkpoint())}, {trained_versions()}, {self.placement().kind}"

    def is_ready(self) -> bool:
        """Whether torch is installed and the checkpoint exists."""
        return find_spec("torch") is not None and (Path(self.source).expanduser() / METADATA_FILE).is_file()

    def checkpoint(self) -> Checkpoint:
        """The opened checkpoint."""
        return open_checkpoint(self.source)


@dataclass(frozen=True, slots=True)
class BpeEncoder(TrainedEncoder):
    """A trained encoder with a BPE tokenizer."""

    def checkpoint(self) -> Checkpoint:
        """The opened checkpoint; another tokenizer is an error."""
        checkpoint = open_checkpoint(self.source)
        if parse_tokenizer_kind(checkpoint.shape.kind).family != "bpe":
            raise InputError(
                f"its tokenizer is {checkpoint.shape.kind}",
                source=self.source,
                fix="write trained:FOLDER, or specify the folder of a bpe encoder",
            )
        return checkpoint


def _checkpoint_digest(checkpoint: Checkpoint) -> str:
    return f"{combined_sha256(dict(sorted(checkpoint.digests().items())))}.{_NUMBERS_VERSION}"
