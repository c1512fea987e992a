"""Weights out of a safetensors file, as float32 and only where they are asked for."""

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
        """The tensor as float32, whatever its precision on disk."""
        entry = self.header[name]
        kind, (start, end) = entry["dtype"], entry["data_offsets"]
        if kind not in _NUMPY_TYPES:
            raise ExternalError(
                escape_invisible(f"{self.path}: tensor {for_message(name)} is {kind}; {' '.join(_NUMPY_TYPES)} can be read")
            )
        values = np.asarray(self.data[start:end]).view(_NUMPY_TYPES[kind]).reshape(entry["shape"])
        if kind == "BF16":
            return (values.astype(np.uint32) << 16).view(np.float32)
        return values.astype(np.float32, copy=False)


def open_weights(path: Path) -> Weights:
    """The file, checked: its header covers it whole, as the safetensors library sees it."""
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
        raise ExternalError(escape_invisible(f"{path}: no whole safetensors file ({error}); get it anew")) from None
    except OSError as error:
        raise unreadable_file_error(path, error) from None
    header.pop("__metadata__", None)
    return Weights(path, header, data)


Spelling = Callable[[str], tuple[str, ...]]


@dataclass(frozen=True, eq=False, slots=True)
class TensorReader:
    """Takes tensors by their names in this code, under whichever spelling the file has, and checks their shapes."""

    weights: Weights
    spellings: Spelling
    said: str = "config.json"

    def has(self, name: str) -> bool:
        """Whether the file has it under any spelling."""
        return any(spelling in self.weights for spelling in self.spellings(name))

    def take(self, name: str, *shape: int | None) -> Matrix:
        """The tensor; None in the shape stands for any size."""
        tensor = self.weights.tensor(self._found(name))
        fits = len(tensor.shape) == len(shape) and all(want in (None, got) for want, got in zip(shape, tensor.shape, strict=True))
        if not fits:
            wanted = " x ".join("any" if size is None else str(size) for size in shape)
            got = " x ".join(map(str, tensor.shape))
            raise ExternalError(
                escape_invisible(f"{self.weights.path}: {name} is {got}, and {self.said} says {wanted}; do they belong together?")
            )
        if not np.isfinite(tensor).all():
            raise ExternalError(
                escape_invisible(f"{self.weights.path}: tensor {name} has numbers that are not finite; get it anew")
            )
        return tensor

    def _found(self, name: str) -> str:
        spellings = self.spellings(name)
        for spelling in spellings:
            if spelling in self.weights:
                return spelling
        raise ExternalError(
            escape_invisible(
                f"{self.weights.path}: there is no tensor {spellings[0]}; is it a whole model of the kind in {self.said}?"
            )
        )
