import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

def network(
    embedding: int, hidden: int, intermediate: int, heads: int, layers: int, activation: int, epsilon: float, /
) -> object: ...
def fill(network: object, layer: int, part: int, weight: Floats, bias: Floats, /) -> None: ...
def run(network: object, embedded: Floats, kernel: int, /) -> bytes: ...
