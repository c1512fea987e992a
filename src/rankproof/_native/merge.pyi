from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Ids = list[tuple[NDArray[np.int64], NDArray[np.uint8]]]
Hits = tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]

def merge(given: list[tuple[Sequence[str], int, NDArray[np.float64]]], times_found: bool, /) -> tuple[list[str], bytes]: ...
def merge_hits(ids: Ids, parts: list[Hits], queries: int, result: Hits, /) -> None: ...
def hit_ids(ids: Ids, hits: Hits, queries: int, is_shared: bool, /) -> list[list[str]]: ...
