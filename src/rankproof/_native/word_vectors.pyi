import numpy as np
from numpy.typing import NDArray

def vocabulary(codes: NDArray[np.int32], bytes: NDArray[np.int32], merges: NDArray[np.int32], /) -> object: ...
def sums(
    vocabulary: object, text: bytes, bounds: NDArray[np.int64], table: NDArray[np.float32], width: int, /
) -> tuple[bytes, bytes]: ...
