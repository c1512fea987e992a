"""The array types that rows and values are kept in."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Matrix = NDArray[np.float32]
_Item = TypeVar("_Item", bound=np.generic)


def frozen(array: NDArray[_Item]) -> NDArray[_Item]:
    """The same array, made read-only."""
    array.flags.writeable = False
    return array
