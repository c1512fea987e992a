"""How a ranking is to be read, where the caller wants it otherwise than by default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Order = Literal["score", "rank"]
OnDuplicate = Literal["error", "keep-best", "keep-first", "keep-last"]


@dataclass(frozen=True, slots=True)
class Reading:
    """Order, ties and duplicates; depth and judged_only are trec_eval's -M and -J, float32 is its version 9."""

    order: Order = "score"
    lower_is_better: bool = False
    float32: bool = False
    on_duplicate: OnDuplicate = "error"
    depth: int | None = None
    judged_only: bool = False
    threads: int = 1
