"""A file that one process at a time may write; the system lets go of it when the process ends, however it ends."""

from __future__ import annotations

import sys


def try_lock(handle: int) -> bool:
    """Whether the file is ours now."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
