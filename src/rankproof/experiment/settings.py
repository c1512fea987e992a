"""How an experiment is run: where work is kept, on how many threads, and who hears of progress."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from ..asking.budget import Budget
from ..data.checks import whole
from ..errors import UsageError
from ..formats.opening import path_text
from ..places import cache_home
from ..stages.base import Progress


@dataclass(frozen=True, slots=True)
class Settings:
    """`cache` None keeps nothing beyond the process; `threads` are for building, queries are asked one at a time.

    `budget` is the most that asking language models may cost.
    """

    cache: str | os.PathLike[str] | None = field(default_factory=cache_home)
    threads: int = 1
    progress: Progress = field(default=lambda label, done, total: None)
    budget: Budget = field(default_factory=Budget)

    def __post_init__(self) -> None:
        whole("threads", self.threads)
        if self.cache is not None:
            object.__setattr__(self, "cache", Path(path_text(self.cache)).expanduser().absolute())
        if not callable(self.progress):
            raise UsageError(f"progress is a {type(self.progress).__name__}", fix="give a function of label, done and total")

    @property
    def home(self) -> Path | None:
        """The cache folder as an absolute path, None where nothing is to be kept."""
        return None if self.cache is None else Path(self.cache)
