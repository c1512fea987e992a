"""A folder written whole or not at all: beside its place first, then renamed into it."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import RankproofError, UsageError, WorldError, visible
from ...formats.atomic import sync_folder

RESULTS = "results folder"
_WRONG = (errno.ENOENT, errno.ENOTDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.EACCES, errno.EPERM, errno.EROFS)


def check_place(path: str, may_replace: Callable[[str], bool], *, kind: str = RESULTS) -> None:
    """Refuses a path at which something else lies than an empty folder or one that may be replaced, which is of that kind."""
    if not path or "\0" in path:
        raise UsageError(f"the {kind} has no name", fix="name a folder")
    if _is_around_us(path):
        raise UsageError(f"{path} is the folder that this command runs in", fix="name a folder in it, as in results")
    if os.path.lexists(path) and not _is_empty(path) and not may_replace(path):
        raise UsageError(f"{path} exists and is no {kind}", fix="name a folder that does not exist yet")
    above = os.path.dirname(os.path.realpath(path))
    while not os.path.lexists(above):
        above = os.path.dirname(above)
    if not os.path.isdir(above) or not os.access(above, os.W_OK):
        raise UsageError(f"{path} cannot be made in {above}", fix="name a folder that this user can write")


@contextmanager
def replaced_folder(path: str, may_replace: Callable[[str], bool], *, kind: str = RESULTS) -> Iterator[str]:
    """A new folder to write into; when the block ends it takes the place of what is at the path, else it vanishes."""
    check_place(path, may_replace, kind=kind)
    target = os.path.realpath(path)
    beside = f"{_hidden(target)}-{os.urandom(8).hex()}.tmp"
    try:
        recover(target)
        os.makedirs(beside)
        yield beside
        sync_folder(beside)
        _put(beside, target)
    except OSError as error:
        raise _unmakeable(path, error) from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def recover(target: str) -> None:
    """Puts the old folder back where a kill came between its being set aside and the new one's taking its place."""
    old = f"{_hidden(target)}.old"
    if os.path.isdir(old) and not os.path.lexists(target):
        os.rename(old, target)


def _put(beside: str, target: str) -> None:
    if _is_empty(target) and os.name == "nt":
        os.rmdir(target)
    if not os.path.lexists(target) or _is_empty(target):
        os.rename(beside, target)
    else:
        old = f"{_hidden(target)}.old"
        shutil.rmtree(old, ignore_errors=True)
        os.rename(target, old)
        try:
            os.rename(beside, target)
        except BaseException:
            os.rename(old, target)
            raise
        shutil.rmtree(old, ignore_errors=True)
    sync_folder(os.path.dirname(target))


def _hidden(target: str) -> str:
    return os.path.join(os.path.dirname(target), f".rankproof-{os.path.basename(target)}")


def _is_around_us(path: str) -> bool:
    """Whether it is the working directory or one above it, which would be gone from under whoever stands there."""
    try:
        return Path.cwd().is_relative_to(os.path.realpath(path))
    except OSError:
        return False


def _is_empty(path: str) -> bool:
    try:
        return not os.listdir(path)
    except OSError:
        return False


def _unmakeable(path: str, error: OSError) -> RankproofError:
    reason = error.strerror or str(error)
    if error.errno in _WRONG:
        return UsageError(f"{path} cannot be made ({reason})", fix="name a folder that this user can write")
    return WorldError(visible(f"{path}: cannot be written ({reason}); free space or check the disk"))
