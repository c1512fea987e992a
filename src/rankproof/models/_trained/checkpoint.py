"""Reads, writes and checks the folder of a trained encoder: weights, tokenizer and checkpoint.json."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypedDict, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np
from numpy.typing import NDArray

from rankproof._data import format_versions
from rankproof._extras import extra
from rankproof._io.files import check_writable_folder, file_sha256, unreadable_file_error, write_folder_atomically
from rankproof._io.strict_json import read_json_object
from rankproof.errors import ExternalError, InputError, UsageError, escape_invisible, for_message
from rankproof.models._onnx.weights import TensorReader, open_weights
from rankproof.models._trained.shape import NetShape, tensor_sizes
from rankproof.models._trained.tokenizers import TOKENIZER_FILE, Tokenizer, open_trained_tokenizer, tokenizer_files

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
