"""Where rankproof keeps what it can make again: weights, vectors, finished stages."""

from __future__ import annotations

import os
import sys
from pathlib import Path

VARIABLE = "RANKPROOF_CACHE"


def cache_home() -> Path:
    """The folder that RANKPROOF_CACHE names, else `rankproof` in the user's cache folder; it need not exist yet."""
    if asked := os.environ.get(VARIABLE):
        return Path(asked).expanduser().absolute()
    return _user_cache() / "rankproof"


def _user_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
