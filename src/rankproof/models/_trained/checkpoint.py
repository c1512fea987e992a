"""Trained encoders and the folder format of their checkpoints."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple, TypedDict, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np
from numpy.typing import NDArray

from rankproof._data import format_versions
from rankproof._data.arrays import Matrix, read_only
from rankproof._data.identity import NOT_IN_IDENTITY, library_versions
from rankproof._data.validation import check_options
from rankproof._extras import extra
from rankproof._io.files import (
    check_writable_folder,
    combined_sha256,
    file_sha256,
    unreadable_file_error,
    write_folder_atomically,
)
from rankproof._io.strict_json import read_json_object
from rankproof._registry import Option
from rankproof.errors import ExternalError, InputError, UsageError, escape_invisible, for_message
from rankproof.models._device import DeviceOption, Placement, check_device, place
from rankproof.models._onnx.config import TensorReader, open_weights
from rankproof.models._trained.shape import NetShape, parameter_count, tensor_sizes
from rankproof.models._trained.tokenizers import (
    TOKENIZER_FILE,
    Ids,
    Tokenizer,
    open_trained_tokenizer,
    parse_tokenizer_kind,
    tokenizer_files,
)

StateDict = Mapping[str, NDArray[np.float32]]


class DataMetadata(TypedDict, total=False):
    """The training queries: their ids, and the digests of their texts."""

    queries: list[str]
    texts: list[str]


class PromptMetadata(TypedDict, total=False):
    """The prompts of the training, left out where there are none; the other settings are not checked."""

    query_prompt: str
    passage_prompt: str


class TrainingMetadata(TypedDict, total=False):
    """What training records; further keys are not checked."""

    trained: bool
    steps: int
    seed: int
    examples: int
    flops: float
    tokens_per_document: float
    tokens_per_query: float
    seconds: float
    training_config: PromptMetadata
    data: DataMetadata
    losses: list[tuple[int, float]]


def invalid_metadata_key(value: Any, kind: Any = TrainingMetadata, key: str = "") -> str | None:
    """The first key whose value does not have its type, None if every key is valid."""
    if not is_typeddict(kind):
        return None if _has_type(value, kind) else key
    if not isinstance(value, dict):
        return key
    present = ((name, hint) for name, hint in get_type_hints(kind).items() if name in value)
    keys = (invalid_metadata_key(value[name], hint, f"{key}.{name}" if key else name) for name, hint in present)
    return next((name for name in keys if name is not None), None)


def _has_type(value: Any, kind: Any) -> bool:
    """Whether a JSON value has the type: counts are not negative, numbers are finite, tuples are lists."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is list:
        return isinstance(value, list) and all(_has_type(item, inner[0]) for item in value)
    if origin is tuple:
        return isinstance(value, list) and len(value) == len(inner) and all(map(_has_type, value, inner))
    if kind is int:
        return type(value) is int and value >= 0
    if kind is float:
        return type(value) in (int, float) and math.isfinite(value)
    return type(value) is (origin or kind)


class Prompts(NamedTuple):
    """The texts before each query and each passage."""

    query: str = ""
    passage: str = ""


METADATA_FILE, CHECKPOINT_WEIGHTS = "checkpoint.json", "model.safetensors"
_TRAIN_AGAIN = "train it again with: rankproof tokenizers train"


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A checked folder; the weights are read and checked on first use. `metadata` describes the training."""

    folder: Path
    shape: NetShape
    tokenizer: Tokenizer
    metadata: Mapping[str, Any] = field(repr=False)

    @property
    def prompts(self) -> Prompts:
        """The prompts that the encoder was trained with."""
        config = self.metadata.get("training_config", {})
        return Prompts(config.get("query_prompt", ""), config.get("passage_prompt", ""))

    @cached_property
    def state(self) -> StateDict:
        """Every tensor by its name, with the size that the shape gives and finite values."""
        weights, sizes = open_weights(self.folder / CHECKPOINT_WEIGHTS), tensor_sizes(self.shape)
        if more := sorted(set(weights.header) - set(sizes)):
            raise _checkpoint_error(
                self.folder / CHECKPOINT_WEIGHTS, f"tensor {for_message(more[0])} does not belong to the shape in {METADATA_FILE}"
            )
        reader = TensorReader(weights, lambda name: (name,), config_file=METADATA_FILE)
        return {name: reader.take(name, *size) for name, size in sizes.items()}

    def check_weights(self) -> None:
        """Raises an error for weights that are damaged or have another shape."""
        _ = self.state

    def digests(self) -> dict[str, str]:
        """The sha256 of each file, by its name."""
        return {name: file_sha256(self.folder / name) for name in (METADATA_FILE, CHECKPOINT_WEIGHTS, *self.tokenizer.files())}


def save_checkpoint(folder: str | Path, net: Any, shape: NetShape, tokenizer: Tokenizer, metadata: Mapping[str, Any]) -> None:
    """Writes the folder atomically; an existing checkpoint is never replaced."""
    with extra("retrieval"):
        from safetensors.numpy import save

    state = {name: np.ascontiguousarray(values.detach().float().cpu().numpy()) for name, values in net.state_dict().items()}
    if any(not np.isfinite(values).all() for values in state.values()):
        raise ExternalError(
            escape_invisible(f"{folder}: the weights are not finite, so nothing was written; train with a lower learning rate")
        )
    document = {"format": format_versions.CHECKPOINT, "shape": asdict(shape), "metadata": dict(metadata)}
    try:
        text = json.dumps(document, indent=1, ensure_ascii=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise UsageError(f"the metadata cannot be written as JSON ({error})", fix="use JSON types and finite numbers") from None
    check_checkpoint_folder(folder)
    write_folder_atomically(
        _absolute_folder(folder),
        {**tokenizer.files(), CHECKPOINT_WEIGHTS: save(state), METADATA_FILE: text.encode()},
        METADATA_FILE,
    )


def check_checkpoint_folder(folder: str | Path) -> None:
    """Raises an error for a folder in which no checkpoint can be written."""
    check_writable_folder(_absolute_folder(folder), METADATA_FILE, (CHECKPOINT_WEIGHTS, TOKENIZER_FILE))


def is_complete_checkpoint(folder: str | Path) -> bool:
    """Whether the folder holds a completely written checkpoint."""
    return (_absolute_folder(folder) / METADATA_FILE).is_file()


def open_checkpoint(folder: str | Path) -> Checkpoint:
    """The checkpoint; a missing, damaged or mismatched file is named in the error."""
    path = _absolute_folder(folder)
    for name in (METADATA_FILE, CHECKPOINT_WEIGHTS):
        if not (path / name).is_file():
            raise InputError(f"no {name}", source=str(path), fix="specify a folder written by rankproof tokenizers train")
    document = _read_document(path / METADATA_FILE)
    shape = _read_shape(path / METADATA_FILE, document.get("shape"))
    metadata = document.get("metadata")
    if not isinstance(metadata, dict):
        raise _checkpoint_error(path / METADATA_FILE, "no metadata")
    if wrong := invalid_metadata_key(metadata):
        raise _checkpoint_error(path / METADATA_FILE, f"the value of metadata.{wrong} is not valid")
    return Checkpoint(path, shape, _read_tokenizer(path, shape), metadata)


def _absolute_folder(folder: str | Path) -> Path:
    return Path(folder).expanduser().absolute()


def _read_document(path: Path) -> dict[str, Any]:
    document = read_json_object(path)
    known = range(format_versions.OLDEST_CHECKPOINT, format_versions.CHECKPOINT + 1)
    if type(version := document.get("format")) is not int or version not in known:
        readable = " and ".join(map(str, known))
        raise _checkpoint_error(path, f"format {for_message(str(version))}, this version reads {readable}")
    return document


def _read_shape(path: Path, values: Any) -> NetShape:
    """The shape; its sizes are checked before anything is allocated."""
    if not isinstance(values, dict):
        raise _checkpoint_error(path, "no shape")
    try:
        return NetShape(**values)
    except TypeError:
        keys = ", ".join(sorted(map(str, values)))
        raise _checkpoint_error(path, f"missing or unknown keys in shape: found {for_message(keys)}") from None
    except UsageError as error:
        raise _checkpoint_error(path, error.what) from None


def _read_tokenizer(path: Path, shape: NetShape) -> Tokenizer:
    files = {name: _read_bytes(path / name) for name in tokenizer_files(shape.kind) if (path / name).is_file()}
    try:
        tokenizer = open_trained_tokenizer(shape.kind, files)
    except ExternalError as error:
        raise ExternalError(escape_invisible(f"{path}: {error}")) from None
    if tokenizer.vocabulary != shape.vocabulary:
        sizes = f"the tokenizer has {tokenizer.vocabulary} tokens, but the shape has {shape.vocabulary}"
        raise _checkpoint_error(path / METADATA_FILE, sizes)
    return tokenizer


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise unreadable_file_error(path, error) from None


def _checkpoint_error(path: Path, what: str) -> InputError:
    return InputError(what, source=str(path), fix=_TRAIN_AGAIN)


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
