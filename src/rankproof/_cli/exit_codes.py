"""Exit codes and error lines, SIGTERM, closed pipes."""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from rankproof.errors import RankproofError, escape_invisible


def prepare_streams() -> None:
    """Makes both streams write UTF-8 unless PYTHONIOENCODING says otherwise; other characters are escaped."""
    asked = os.environ.get("PYTHONIOENCODING", "").partition(":")[0]
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding=None if asked else "utf-8", errors="backslashreplace")


def flush_output() -> None:
    """Flushes standard output while an error, such as a full disk, can still be reported."""
    with until_pipe_closes():
        if sys.stdout is not None:
            sys.stdout.flush()


@contextmanager
def until_pipe_closes() -> Iterator[None]:
    """Writes no more if the reader of standard output has ended; the command goes on, as its exit code may tell something."""
    try:
        yield
    except BrokenPipeError:
        abandon_output()


def abandon_output() -> None:
    """Redirects standard output to the null device, so that the interpreter's last flush cannot fail."""
    with suppress(OSError, ValueError, AttributeError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


INTERRUPTED = 130
TERMINATED = 143


class TerminatedError(KeyboardInterrupt):
    """The process received SIGTERM."""


def report_error(error: BaseException, *, verbose: bool) -> int:
    """Writes the error to standard error and returns the exit code."""
    if isinstance(error, SystemExit):
        return _exit_code(error)
    if isinstance(error, BrokenPipeError):
        abandon_output()
        return 0
    code, line = _code_and_line(error)
    _print_error(line)
    if verbose and _is_internal(error):
        _print_error(escaped_traceback(error))
    if isinstance(error, OSError):
        abandon_output()
    return code


def signal_exit_code(stop: KeyboardInterrupt) -> int:
    """The exit code of a command that a signal stopped, as shells count it."""
    return TERMINATED if isinstance(stop, TerminatedError) else INTERRUPTED


def _exit_code(error: SystemExit) -> int:
    return error.code if isinstance(error.code, int) else 0 if error.code is None else 1


def _code_and_line(error: BaseException) -> tuple[int, str]:
    if isinstance(error, RankproofError):
        return error.exit_code, error.command_line_text
    if isinstance(error, KeyboardInterrupt):
        return signal_exit_code(error), "interrupted"
    if isinstance(error, OSError):
        return 1, _os_error_text(error)
    if isinstance(error, MemoryError):
        return 1, "not enough memory; evaluate fewer files at once, or free some memory"
    return 1, escape_invisible(f"internal error: {type(error).__name__}: {error}; please report it with -v")


def _os_error_text(error: OSError) -> str:
    where = f"{error.filename}: " if isinstance(error.filename, str) else "standard output: "
    return escape_invisible(f"{where}{error.strerror or error}; check the disk, the path and its permissions")


def _is_internal(error: BaseException) -> bool:
    return not isinstance(error, RankproofError | KeyboardInterrupt | OSError)


def escaped_traceback(error: BaseException) -> str:
    """The traceback with control characters escaped."""
    return "\n".join(escape_invisible(line) for part in traceback.format_exception(error) for line in part.splitlines())


def _print_error(line: str) -> None:
    """Writes a line to standard error; if that is closed or full, nothing can be reported."""
    try:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        return


@contextmanager
def handle_sigterm() -> Iterator[None]:
    """Raises TerminatedError on SIGTERM within the block; only in the main thread, and not over another handler."""
    import signal
    import threading

    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return

    received = False

    def terminate(number: int, frame: FrameType | None) -> None:
        nonlocal received
        received = True
        # A second signal must not interrupt the clean-up.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise TerminatedError

    signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    except KeyboardInterrupt:
        # Ray raises its own error for any signal.
        if received:
            raise TerminatedError from None
        raise
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
