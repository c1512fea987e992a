"""What the world can do to the cache, said so that the reader knows what to do."""

from __future__ import annotations

import errno
from pathlib import Path

from ..errors import WorldError, visible

_DENIED = (errno.EACCES, errno.EPERM, errno.EROFS)
ELSEWHERE = "choose another cache folder: --cache FOLDER, or the variable RANKPROOF_CACHE (in Python Settings(cache=...))"
BROKEN = "its checksum does not hold"


def cache_failure(path: Path, error: OSError) -> WorldError:
    """The error for a cache file that could not be read or written; what was whole before stays whole."""
    reason = error.strerror or str(error)
    if error.errno in _DENIED:
        return WorldError(visible(f"{path}: the cache cannot be written ({reason}); {ELSEWHERE}"))
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return WorldError(visible(f"{path}: {reason}; free some space and run again, finished work is kept; or {ELSEWHERE}"))
    return WorldError(visible(f"{path}: the cache failed ({reason}); {ELSEWHERE}"))


def cache_damage(path: Path, what: str, done: str) -> WorldError:
    """The error for a cache file that is not as it was written: what is wrong with it, and what was done about it."""
    return WorldError(visible(f"{path}: the cache file is damaged ({what}); {done}; run again to go on"))
