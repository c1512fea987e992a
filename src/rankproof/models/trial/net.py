"""The net of a shape and its device; torch is imported where one of them is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._extras import extra
from ...errors import UsageError
from .shape import Shape

State = Mapping[str, NDArray[np.float32]]


def net_of(shape: Shape, seed: int) -> Any:
    """A torch module whose weights follow from the seed alone; no other random numbers of torch are touched.

    It takes ids as a tensor of sequences x tokens, padded with 0, and gives rows of length 1, or zeros where a sequence is empty.
    """
    with extra("torch"):
        from .torch_net import initialised

    return initialised(shape, seed)


def net_with(shape: Shape, state: State) -> Any:
    """The net with these weights, for reading."""
    with extra("torch"):
        from .torch_net import filled

    return filled(shape, state)


def device_named(name: str) -> Any:
    """Torch's device of that name, which must be there."""
    with extra("torch"):
        import torch

    if name == "cuda" and not torch.cuda.is_available():
        raise UsageError("there is no GPU that torch can use", fix="choose the device cpu")
    return torch.device(name)
