"""Standard output and error: UTF-8 whatever the locale says, and never a crash for a character or a closed pipe."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress


def prepare_streams() -> None:
    """Both streams write UTF-8 unless PYTHONIOENCODING says otherwise; what cannot be written is escaped."""
    asked = os.environ.get("PYTHONIOENCODING", "").partition(":")[0]
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding=None if asked else "utf-8", errors="backslashreplace")


def flush_output() -> None:
    """Brings out what is still in the buffer, so that a full disk is noticed while it can be reported."""
    if sys.stdout is not None:
        sys.stdout.flush()


def abandon_output() -> None:
    """Points standard output at nothing, so that the interpreter's last flush cannot fail as well."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
