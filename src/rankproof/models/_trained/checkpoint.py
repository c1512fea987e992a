"""Checkpoint folder, trial.json."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankproof._data import format_versions
from rankproof._extras import extra
from rankproof._io.files import file_sha256, unreadable_file_error
from rankproof._io.folders import check_writable_folder, write_folder_atomically
from rankproof._io.strict_json import read_json_object
from rankproof.errors import ExternalError, InputError, UsageError, escape_invisible, for_message
from rankproof.models._onnx.weights import TensorReader, open_weights
from rankproof.models._trained.shape import NetShape, tensor_sizes
from rankproof.models._trained.tokenizers import TOKENIZER_FILE, Tokenizer, open_trained_tokenizer, tokenizer_files

_BOOLEAN_KEYS = ("trained",)
_COUNT_KEYS = ("steps", "seed", "examples")
_NUMBER_KEYS = ("operations", "tokens_per_document", "seconds")
_OBJECT_KEYS = ("recipe", "data")
_TEXT_LIST_KEYS = ("queries", "texts")


def invalid_metadata_key(metadata: Mapping[str, Any]) -> str | None:
    """The name of the first part that is not what it should be, None where all are."""
    for names, is_right in (
        (_BOOLEAN_KEYS, _is_boolean),
        (_COUNT_KEYS, _is_count),
        (_NUMBER_KEYS, _is_number),
        (_OBJECT_KEYS, _is_object),
    ):
        for name in names:
            if name in metadata and not is_right(metadata[name]):
                return name
    if not all(_is_loss(pair) for pair in _list(metadata, "losses")):
        return "losses"
    data = metadata.get("data", {})
    return next((f"data.{name}" for name in _TEXT_LIST_KEYS if not all(isinstance(one, str) for one in _list(data, name))), None)


def _list(parts: Mapping[str, Any], name: str) -> list[Any]:
    """The list of that name, empty where there is none; something else is a list that holds no right part."""
    found = parts.get(name, [])
    return found if isinstance(found, list) else [None]


def _is_loss(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and _is_count(value[0]) and _is_number(value[1])


def _is_boolean(value: Any) -> bool:
    return isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


StateDict = Mapping[str, NDArray[np.float32]]


def initialise_network(shape: NetShape, seed: int) -> Any:
    """A torch module whose weights follow from the seed alone; no other random numbers of torch are touched.

    It takes ids as a tensor of sequences x tokens, padded with 0, and gives rows of length 1, or zeros where a sequence is empty.
    """
    with extra("torch"):
        from rankproof.models._trained.torch_net import initialise_torch_network

    return initialise_torch_network(shape, seed)


def load_network(shape: NetShape, state: StateDict) -> Any:
    """The net with these weights, for reading."""
    with extra("torch"):
        from rankproof.models._trained.torch_net import load_torch_network

    return load_torch_network(shape, state)


def torch_device(name: str) -> Any:
    """Torch's device of that name, which must be there."""
    with extra("torch"):
        import torch

    if name == "cuda" and not torch.cuda.is_available():
        raise UsageError("there is no GPU that torch can use", fix="choose the device cpu")
    return torch.device(name)


METADATA_FILE, CHECKPOINT_WEIGHTS = "trial.json", "model.safetensors"
_TRAIN_AGAIN = "train it again with: rankproof tokenizers train"


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A folder, checked but for its weights, which are read where they are asked for; `card` tells of the training."""

    folder: Path
    shape: NetShape
    tokenizer: Tokenizer
    metadata: Mapping[str, Any] = field(repr=False)

    @cached_property
    def state(self) -> StateDict:
        """Every tensor by its name, of the size that the shape says and finite."""
        weights, sizes = open_weights(self.folder / CHECKPOINT_WEIGHTS), tensor_sizes(self.shape)
        if more := sorted(set(weights.header) - set(sizes)):
            raise _checkpoint_error(
                self.folder / CHECKPOINT_WEIGHTS, f"tensor {for_message(more[0])} is none of the shape in {METADATA_FILE}"
            )
        taker = TensorReader(weights, lambda name: (name,), said=METADATA_FILE)
        return {name: taker.take(name, *size) for name, size in sizes.items()}

    def check_weights(self) -> None:
        """Refuses weights that are damaged or of another shape."""
        _ = self.state

    def digests(self) -> dict[str, str]:
        """The sha256 of each file, by its name."""
        return {name: file_sha256(self.folder / name) for name in (METADATA_FILE, CHECKPOINT_WEIGHTS, *self.tokenizer.files())}


def save_checkpoint(folder: str | Path, net: Any, shape: NetShape, tokenizer: Tokenizer, metadata: Mapping[str, Any]) -> None:
    """The folder, whole or not at all; a checkpoint that is there already is never replaced."""
    with extra("retrieval"):
        from safetensors.numpy import save

    state = {name: np.ascontiguousarray(values.detach().float().cpu().numpy()) for name, values in net.state_dict().items()}
    if any(not np.isfinite(values).all() for values in state.values()):
        raise ExternalError(
            escape_invisible(f"{folder}: the weights are not finite, so nothing was written; train with a lower learning rate")
        )
    told = {"format": format_versions.CHECKPOINT, "shape": asdict(shape), "card": dict(metadata)}
    try:
        text = json.dumps(told, indent=1, ensure_ascii=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise UsageError(f"the card cannot be written as JSON ({error})", fix="leave out what is no plain finite value") from None
    check_checkpoint_folder(folder)
    write_folder_atomically(
        _absolute_folder(folder),
        {**tokenizer.files(), CHECKPOINT_WEIGHTS: save(state), METADATA_FILE: text.encode()},
        METADATA_FILE,
    )


def check_checkpoint_folder(folder: str | Path) -> None:
    """Refuses a folder in which no checkpoint can be written."""
    check_writable_folder(_absolute_folder(folder), METADATA_FILE, (CHECKPOINT_WEIGHTS, TOKENIZER_FILE))


def is_complete_checkpoint(folder: str | Path) -> bool:
    """Whether a checkpoint was written there to its end."""
    return (_absolute_folder(folder) / METADATA_FILE).is_file()


def open_checkpoint(folder: str | Path) -> Checkpoint:
    """The checkpoint; what is missing, cut or does not belong together is named."""
    path = _absolute_folder(folder)
    for name in (METADATA_FILE, CHECKPOINT_WEIGHTS):
        if not (path / name).is_file():
            raise InputError(f"no {name}", source=str(path), fix="name a folder that rankproof tokenizers train wrote")
    told = _read_metadata(path / METADATA_FILE)
    shape = _read_shape(path / METADATA_FILE, told.get("shape"))
    metadata = told.get("card")
    if not isinstance(metadata, dict):
        raise _checkpoint_error(path / METADATA_FILE, "there is no card")
    if wrong := invalid_metadata_key(metadata):
        raise _checkpoint_error(path / METADATA_FILE, f"the card's part {wrong} is not what training writes")
    return Checkpoint(path, shape, _read_tokenizer(path, shape), metadata)


def _absolute_folder(folder: str | Path) -> Path:
    return Path(folder).expanduser().absolute()


def _read_metadata(path: Path) -> dict[str, Any]:
    told = read_json_object(path)
    if told.get("format") != format_versions.CHECKPOINT:
        raise _checkpoint_error(
            path, f"format {for_message(str(told.get('format')))}, and this version reads {format_versions.CHECKPOINT}"
        )
    return told


def _read_shape(path: Path, told: Any) -> NetShape:
    """The shape, whose sizes are bounded before anything is made of them."""
    if not isinstance(told, dict):
        raise _checkpoint_error(path, "there is no shape")
    try:
        return NetShape(**told)
    except TypeError:
        names = ", ".join(sorted(map(str, told)))
        raise _checkpoint_error(path, f"the shape has the parts {for_message(names)}") from None
    except UsageError as error:
        raise _checkpoint_error(path, error.what) from None


def _read_tokenizer(path: Path, shape: NetShape) -> Tokenizer:
    files = {name: _read_bytes(path / name) for name in tokenizer_files(shape.kind) if (path / name).is_file()}
    try:
        tokenizer = open_trained_tokenizer(shape.kind, files)
    except ExternalError as error:
        raise ExternalError(escape_invisible(f"{path}: {error}")) from None
    if tokenizer.vocabulary != shape.vocabulary:
        sizes = f"the tokenizer has {tokenizer.vocabulary} tokens, and the shape says {shape.vocabulary}"
        raise _checkpoint_error(path / METADATA_FILE, f"{sizes}: do they belong together?")
    return tokenizer


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise unreadable_file_error(path, error) from None


def _checkpoint_error(path: Path, what: str) -> InputError:
    return InputError(what, source=str(path), fix=_TRAIN_AGAIN)
