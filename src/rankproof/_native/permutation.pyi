import numpy as np
from numpy.typing import NDArray

def sums(numbers: NDArray[np.int64], columns: int, key: int, first: int, count: int, /) -> bytes: ...
