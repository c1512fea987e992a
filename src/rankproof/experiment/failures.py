"""What the world can do to the cache, said so that the reader knows what to do."""

from __future__ import annotations

import errno
from pathlib import Path

from ..errors import WorldError, visible

_DENIED = (errno.EACCES, errno.EPERM, errno.EROFS)
_ELSEWHERE = "choose another folder with --cache FOLDER, or pass --no-cache"


def cache_failure(path: Path, error: OSError) -> WorldError:
    """The error for a cache file that could not be read or written; what was whole before stays whole."""
    reason = error.strerror or str(error)
    if error.errno in _DENIED:
        return WorldError(visible(f"{path}: the cache cannot be written ({reason}); {_ELSEWHERE}"))
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return WorldError(visible(f"{path}: {reason}; free some space and run again, finished work is kept; or {_ELSEWHERE}"))
    return WorldError(visible(f"{path}: the cache failed ({reason}); {_ELSEWHERE}"))


def cache_damage(path: Path, kept: str) -> WorldError:
    """The error for a cache file whose checksum does not hold."""
    return WorldError(visible(f"{path}: the cache file is damaged (its checksum does not hold); {kept}; run again to go on"))
