"""The terminal: results go to standard output, notes and progress to standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TextIO

from rankproof._render.formats import RenderOptions
from rankproof.errors import ExternalError, escape_invisible

STDOUT = (None, "-")
_LEAST_WIDTH = 40
_USUAL_WIDTH = 80
_DIGITS = 5


@dataclass(frozen=True, slots=True)
class Terminal:
    """Writes results to standard output and everything else to standard error; `quiet` leaves out notes."""

    quiet: bool = False
    verbose: bool = False

    def show(self, text: str) -> None:
        """Writes a result."""
        if sys.stdout is None:
            raise ExternalError("standard output is closed; open it, or write to a file with -o")
        sys.stdout.write(text)
        sys.stdout.flush()

    def show_bytes(self, blocks: Iterable[bytes]) -> None:
        """Writes a result in bytes."""
        self.show("")
        for block in blocks:
            sys.stdout.buffer.write(block)
        sys.stdout.buffer.flush()

    def note(self, text: str) -> None:
        """Writes a note."""
        if self.quiet or sys.stderr is None:
            return
        label, line = "note: ", escape_invisible(text)
        if _is_tty(sys.stderr):
            import textwrap

            line = textwrap.fill(line, stream_width(sys.stderr) - len(label), break_long_words=False).replace(
                "\n", f"\n{' ' * len(label)}"
            )
            label = f"\x1b[33m{label}\x1b[0m" if _wants_colour() else label
        sys.stderr.write(f"{label}{line}\n")

    def notes(self, texts: Sequence[str], *, every: bool = False, more: str = "shown by --details") -> None:
        """Writes several notes: every one, or at most ten lines; `more` says where the others are."""
        from rankproof._render.comparison import note_lines_within

        if every:
            for text in texts:
                self.note(text)
        elif not self.quiet and sys.stderr is not None:
            for line in note_lines_within([escape_invisible(text) for text in texts], stream_width(sys.stderr), more):
                sys.stderr.write(f"{line}\n")

    def say(self, text: str) -> None:
        """Writes text that is neither a result nor a note."""
        if sys.stderr is not None:
            sys.stderr.write(f"{text}\n")

    def render_options(
        self, *, per_query: bool = False, to_file: bool = False, rel: int = 1, summary: bool = True
    ) -> RenderOptions:
        """How to render a table for its destination."""
        tty = not to_file and _is_tty(sys.stdout)
        colour = tty and _wants_colour()
        width = stream_width(sys.stdout)
        return RenderOptions(per_query, width, wrap=tty, colour=colour, verbose=self.verbose, rel=rel, summary=summary)


def stream_width(stream: TextIO | None) -> int:
    """The columns of the terminal: COLUMNS if it is a number, else as the terminal says, else 80."""
    asked = os.environ.get("COLUMNS", "")
    if asked.isascii() and asked.isdecimal() and len(asked) <= _DIGITS and int(asked):
        return max(int(asked), _LEAST_WIDTH)
    try:
        return max(os.get_terminal_size(stream.fileno() if stream else 1).columns, _LEAST_WIDTH)
    except (OSError, ValueError):
        return _USUAL_WIDTH


def _is_tty(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def _wants_colour() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
