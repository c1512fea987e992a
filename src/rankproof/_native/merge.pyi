from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

def merge(given: list[tuple[Sequence[str], int, NDArray[np.float64]]], times_found: bool, /) -> tuple[list[str], bytes]: ...
