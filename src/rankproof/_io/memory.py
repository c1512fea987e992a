"""The memory that this process can still take, and the errors for input that needs more."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Final

from rankproof._io.file_errors import file_error
from rankproof.errors import InputError

if sys.platform != "win32":
    import resource

_PROC: Final = "/proc"
_CGROUPS: Final = "/sys/fs/cgroup"
# Small files skip the look at free memory, which reads several files of the system.
_FIRST_LOOK: Final = 1 << 23
_LOOKS: Final = 64
_HELD_PER_FREE: Final = 3
_UNLIMITED: Final = 1 << 60
_limit_guard = threading.Lock()
"""The limit is one of the process: a thread that enters before another leaves would restore the limit of that one."""


def free_memory() -> int | None:
    """The bytes that this process can take: of the machine, its container and its limits; None where that is unknown."""
    if sys.platform == "win32":
        return None
    bounds = [*_machine_bounds(), *_container_bounds(), *_limit_bounds()]
    return max(0, min(bounds)) if bounds else None


def check_memory(needed: int, source: str) -> None:
    """Refuses a file that needs more memory than is free."""
    free = free_memory() if needed > _FIRST_LOOK else None
    if free is not None and needed > free:
        raise memory_error(source, free)


def memory_error(source: str, free: int | None = None) -> InputError:
    """The error for a file that needs more memory than is free."""
    return file_error("memory", source=source, free=_megabytes(free_memory() if free is None else free))


@contextmanager
def memory_errors_of(source: str) -> Iterator[None]:
    """Makes a failed allocation in the block an error of the file."""
    try:
        yield
    except MemoryError:
        raise memory_error(source) from None


class MemoryWatch:
    """Stops the reading of a file when this process holds three quarters of the memory that it can have.

    Free memory is looked up each time that a 64th of it was read, so a reader that keeps 16 times what it reads is stopped too.
    """

    def __init__(self, source: str) -> None:
        self._source, self._left = source, _FIRST_LOOK

    def add(self, count: int) -> None:
        """Counts bytes that were read."""
        self._left -= count
        if self._left <= 0:
            self._look()

    def _look(self) -> None:
        free = free_memory()
        if free is not None and _held_memory() > _HELD_PER_FREE * free:
            raise memory_error(self._source, free)
        self._left = max(1 << 22, (free or _UNLIMITED) // _LOOKS)


class MemoryLimit:
    """Makes allocations in its `with` blocks fail beyond three quarters of the free memory, as an error of the file.

    It is for libraries that allocate before their caller can know the size, and has an effect on Linux alone.
    """

    def __init__(self, source: str) -> None:
        self._source, self._free = source, free_memory()
        self._most = None if self._free is None else _virtual_memory()[1] + self._free // 4 * _HELD_PER_FREE

    def __enter__(self) -> None:
        if sys.platform == "linux" and self._most is not None:
            _limit_guard.acquire()
            self._before = resource.getrlimit(resource.RLIMIT_DATA)
            soft, hard = self._before
            resource.setrlimit(resource.RLIMIT_DATA, (min(filter(_is_limit, (self._most, soft, hard))), hard))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if sys.platform == "linux" and self._most is not None:
            resource.setrlimit(resource.RLIMIT_DATA, self._before)
            _limit_guard.release()
        if isinstance(error, MemoryError):
            raise memory_error(self._source, self._free) from None


def _is_limit(value: int) -> bool:
    return value >= 0


def _megabytes(count: int | None) -> str:
    return f"{(count or 0) / 1e6:,.0f} MB"


def _machine_bounds() -> Iterator[int]:
    if sys.platform != "linux":
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") - _held_memory()
    for line in _lines(f"{_PROC}/meminfo"):
        if line.startswith("MemAvailable:"):
            yield int(line.split()[1]) * 1024


def _container_bounds() -> Iterator[int]:
    """What each control group of this process, and each above it, leaves: version 2, then version 1."""
    for line in _lines(f"{_PROC}/self/cgroup"):
        _, controllers, place = line.split(":", 2)
        if not controllers:
            yield from _group_bounds(_CGROUPS, place, "memory.max", "memory.current", ("active_file", "inactive_file"))
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", ("total_active_file", "total_inactive_file"))
            yield from _group_bounds(f"{_CGROUPS}/memory", place, *names)


def _group_bounds(root: str, place: str, limit: str, usage: str, reclaimable: tuple[str, ...]) -> Iterator[int]:
    parts = [part for part in place.split("/") if part]
    # In a container, the path is that of the host, and the container's own group is the root.
    for count in range(len(parts), -1, -1):
        group = os.path.join(root, *parts[:count])
        most, used = (next(_numbers(os.path.join(group, name)), None) for name in (limit, usage))
        if most is not None and used is not None and most < _UNLIMITED:
            yield most - used + _cached(os.path.join(group, "memory.stat"), reclaimable)


def _numbers(path: str) -> Iterator[int]:
    return (int(line) for line in _lines(path) if line.isdigit())


def _cached(path: str, names: tuple[str, ...]) -> int:
    """The bytes of files in the group's memory, which the system frees when it needs them."""
    rows = (line.split() for line in _lines(path))
    return sum(int(row[1]) for row in rows if len(row) == 2 and row[0] in names)


def _limit_bounds() -> Iterator[int]:
    if sys.platform == "linux":
        size, data = _virtual_memory()
        for kind, used in ((resource.RLIMIT_AS, size), (resource.RLIMIT_DATA, data)):
            if _is_limit(limit := resource.getrlimit(kind)[0]):
                yield limit - used


def _virtual_memory() -> tuple[int, int]:
    """The bytes of all mappings of this process, and of those that it can write."""
    size, _, _, _, _, data, _ = _pages()
    return size, data


def _held_memory() -> int:
    """The bytes of memory that this process holds, without mapped files."""
    if sys.platform == "linux":
        _, resident, shared, *_ = _pages()
        return resident - shared
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _pages() -> list[int]:
    counts = next(_lines(f"{_PROC}/self/statm"), "0 0 0 0 0 0 0")
    return [int(count) * os.sysconf("SC_PAGE_SIZE") for count in counts.split()]


def _lines(path: str) -> Iterator[str]:
    """The lines of a file of the system; none if it cannot be read."""
    with suppress(OSError), open(path, encoding="ascii", errors="replace") as file:
        yield from (line.rstrip("\n") for line in file)
