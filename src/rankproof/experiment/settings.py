"""How an experiment is run: where work is kept, on how many threads, and who hears of progress."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ..places import cache_home
from ..stages.base import Progress


@dataclass(frozen=True, slots=True)
class Settings:
    """`cache` None keeps nothing beyond the process; `threads` are for building, queries are always asked one at a time."""

    cache: Path | None = field(default_factory=cache_home)
    threads: int = 1
    progress: Progress = field(default=lambda label, done, total: None)
