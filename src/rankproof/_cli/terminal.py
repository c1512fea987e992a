"""The terminal: results go to standard output, notes and progress to standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TextIO

from rankproof._data.text import MinorNote, pluralise
from rankproof._render.formats import RenderOptions
from rankproof.errors import ExternalError, escape_invisible

STDOUT = (None, "-")
_LEAST_WIDTH = 40
_USUAL_WIDTH = 80
_DIGITS = 5
_NOTE = "note: "
_NOTE_LINES = 10


@dataclass(frozen=True, slots=True)
class Terminal:
    """Writes results to standard output and everything else to standard error; `quiet` leaves out notes.

    Minor notes, and others that do not fit in ten lines, are held back and counted unless `all_notes` is set.
    """

    quiet: bool = False
    verbose: bool = False
    all_notes: bool = False
    _held: dict[str, None] = field(default_factory=dict)

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
        if isinstance(text, MinorNote) and not self.all_notes:
            self._held[text] = None
            return
        lines = [f"{_NOTE}{escape_invisible(text)}"]
        if _is_tty(sys.stderr) or os.environ.get("COLUMNS"):
            from rankproof._render.terminal import wrapped

            lines = wrapped(lines[0], stream_width(sys.stderr))
        if _is_tty(sys.stderr) and _wants_colour():
            lines[0] = f"\x1b[33m{_NOTE}\x1b[0m{lines[0].removeprefix(_NOTE)}"
        sys.stderr.writelines(f"{line}\n" for line in lines)

    def notes(self, texts: Iterable[str]) -> None:
        """Writes each note once; those that do not fit in ten lines are held back."""
        lines, width = 0, stream_width(sys.stderr)
        for text in dict.fromkeys(texts):
            lines += 0 if isinstance(text, MinorNote) else -(-len(text) // (width - len(_NOTE)))
            if lines > _NOTE_LINES and not self.all_notes:
                self._held[text] = None
            else:
                self.note(text)

    def count_held_notes(self) -> None:
        """Says how many notes were held back."""
        if self._held and not self.quiet:
            self.say(f"{_NOTE}{pluralise(len(self._held), 'more note')}, shown by --notes")

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
