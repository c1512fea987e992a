"""How many threads numpy's matrix products may use."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from .._extras import extra


def blas_threads(count: int) -> AbstractContextManager[Any]:
    """Limits them while the block runs, so that a query's time is that of one thread, and does not wait for busy cores."""
    with extra("retrieval"):
        from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[Any] = threadpool_limits(limits=count, user_api="blas")
    return limits
