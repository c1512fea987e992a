"""Reads tensors from a safetensors file as float32, one at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rankproof._data.arrays import Matrix
from rankproof._extras import extra
from rankproof._io.files import unreadable_file_error
from rankproof.errors import ExternalError, escape_invisible, for_message

_NUMPY_TYPES: dict[str, type[np.generic]] = {"F32": np.float32, "F16": np.float16, "BF16": np.uint16}


@dataclass(frozen=True, eq=False, slots=True)
class Weights:
    """The tensors of one file, by name."""

    path: Path
    header: Mapping[str, Any]
    data: np.memmap[Any, np.dtype[np.uint8]]

    def __contains__(self, name: str) -> bool:
        return name in self.header

    def tensor(self, name: str) -> Matrix:
        """The tensor as float32, whatever its type in the file."""
        entry = self.header[name]
        kind, (start, end) = entry["dtype"], entry["data_offsets"]
        if kind not in _NUMPY_TYPES:
            raise ExternalError(
                escape_invisible(
                    f"{self.path}: tensor {for_message(name)} has type {kind}; convert it to {' or '.join(_NUMPY_TYPES)}"
                )
            )
        values = np.asarray(self.data[start:end]).view(_NUMPY_TYPES[kind]).reshape(entry["shape"])
        if kind == "BF16":
            return (values.astype(np.uint32) << 16).view(np.float32)
        return values.astype(np.float32, copy=False)


def open_weights(path: Path) -> Weights:
    """The file, checked by the safetensors library."""
    with extra("retrieval"):
        from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np"):
            pass
        with open(path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(length))
        data = np.memmap(path, dtype=np.uint8, mode="r", offset=8 + length)
    except (SafetensorError, ValueError) as error:
        raise ExternalError(escape_invisible(f"{path}: not a complete safetensors file ({error}); download it again")) from None
    except OSError as error:
        raise unreadable_file_error(path, error) from None
    header.pop("__metadata__", None)
    return Weights(path, header, data)


Spelling = Callable[[str], tuple[str, ...]]


@dataclass(frozen=True, eq=False, slots=True)
class TensorReader:
    """Reads tensors by their names in this code, under any spelling that the file uses, and checks their shapes."""

    weights: Weights
    spellings: Spelling
    config_file: str = "config.json"

    def has(self, name: str) -> bool:
        """Whether the file has the tensor under any spelling."""
        return any(spelling in self.weights for spelling in self.spellings(name))

    def take(self, name: str, *shape: int | None) -> Matrix:
        """The tensor, checked; None in the shape allows any size."""
        tensor = self.weights.tensor(self._found(name))
        fits = len(tensor.shape) == len(shape) and all(want in (None, got) for want, got in zip(shape, tensor.shape, strict=True))
        if not fits:
            wanted = " x ".join("any" if size is None else str(size) for size in shape)
            got = " x ".join(map(str, tensor.shape))
            raise ExternalError(
                escape_invisible(
                    f"{self.weights.path}: tensor {name} is {got}, but {self.config_file} gives {wanted}; "
                    "use weights and settings of the same model"
                )
            )
        if not np.isfinite(tensor).all():
            raise ExternalError(
                escape_invisible(f"{self.weights.path}: tensor {name} has NaN or infinite values; download the file again")
            )
        return tensor

    def _found(self, name: str) -> str:
        spellings = self.spellings(name)
        for spelling in spellings:
            if spelling in self.weights:
                return spelling
        raise ExternalError(
            escape_invisible(
                f"{self.weights.path}: no tensor {spellings[0]}; use complete weights of the model in {self.config_file}"
            )
        )
