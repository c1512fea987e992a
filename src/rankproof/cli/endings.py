"""How a command ends when something stops it: the exit code, and one line that says why."""

from __future__ import annotations

import sys
import traceback

from ..errors import RankproofError, visible
from .streams import abandon_output

INTERRUPTED = 130
TERMINATED = 143


class TerminatedError(KeyboardInterrupt):
    """The system asked the process to end, as an interrupt does."""


def ended_by(error: BaseException, *, verbose: bool) -> int:
    """Says on standard error what stopped the command, and gives its exit code."""
    if isinstance(error, SystemExit):
        return _exit_code(error)
    if isinstance(error, BrokenPipeError):
        abandon_output()
        return 0
    code, line = _code_and_line(error)
    _say(line)
    if verbose and _is_ours(error):
        _say(escaped_trace(error))
    if isinstance(error, OSError):
        abandon_output()
    return code


def stop_code(stop: KeyboardInterrupt) -> int:
    """The exit code of a command that was stopped from outside, as shells count it."""
    return TERMINATED if isinstance(stop, TerminatedError) else INTERRUPTED


def _exit_code(error: SystemExit) -> int:
    return error.code if isinstance(error.code, int) else 0 if error.code is None else 1


def _code_and_line(error: BaseException) -> tuple[int, str]:
    if isinstance(error, RankproofError):
        return error.exit_code, str(error)
    if isinstance(error, KeyboardInterrupt):
        return stop_code(error), "interrupted"
    if isinstance(error, OSError):
        return 1, _world(error)
    if isinstance(error, MemoryError):
        return 1, "not enough memory; evaluate fewer files at once, or free some memory"
    return 1, visible(f"internal error: {type(error).__name__}: {error}; please report it with -v")


def _world(error: OSError) -> str:
    where = f"{error.filename}: " if isinstance(error.filename, str) else "standard output: "
    return visible(f"{where}{error.strerror or error}; check the disk, the path and its permissions")


def _is_ours(error: BaseException) -> bool:
    return not isinstance(error, RankproofError | KeyboardInterrupt | OSError)


def escaped_trace(error: BaseException) -> str:
    """The traceback, so that no terminal obeys it."""
    return "\n".join(visible(line) for part in traceback.format_exception(error) for line in part.splitlines())


def _say(line: str) -> None:
    """Standard error may be closed or full as well; then there is nobody left to tell."""
    try:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        return
