"""Splits a page into fences, hidden code and prose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

_OPENING = re.compile(r"^```(?P<language>[\w-]*)(?P<rest>[^`]*)$")
_UNSEEN = re.compile(r"^<!--(?P<language>python|console)$")
_TITLE = re.compile(r'\btitle="([^"]+)"')
_FIRST = re.compile(r"\bfirst=(\d+)")
_NOT_RUN = re.compile(r"<!-- not run: [^>]+ -->\s*$")


@dataclass(frozen=True, slots=True)
class Piece:
    """Some lines of a page; `language` is empty for prose. `text` leaves out the lines that open and close a fence."""

    line: int
    text: str
    language: str = ""
    opening: str = ""
    closing: str = ""
    is_run: bool = True

    @property
    def is_prose(self) -> bool:
        """Whether it is neither fence nor unseen code."""
        return not self.opening

    @property
    def is_unseen(self) -> bool:
        """Whether it stands in a comment."""
        return self.opening.startswith("<!--")

    @property
    def title(self) -> str | None:
        """The name of the file that the fence shows."""
        found = _TITLE.search(self.opening)
        return found[1] if found else None

    @property
    def has_times(self) -> bool:
        """Whether times may differ in it."""
        return self.opening.split()[1:2] == ["times"]

    @property
    def most_lines(self) -> int | None:
        """How many lines of a command's output are shown."""
        found = _FIRST.search(self.opening)
        return int(found[1]) if found else None

    def whole(self, text: str) -> str:
        """The piece with another body."""
        return self.opening + text + self.closing


def pieces_of(page: str) -> Iterator[Piece]:
    """The pieces, in order; joined, they are the page."""
    lines = page.splitlines(keepends=True)
    prose, at = "", 0
    while at < len(lines):
        opened = _OPENING.match(lines[at].rstrip("\n")) or _UNSEEN.match(lines[at].rstrip("\n"))
        if opened is None:
            prose += lines[at]
            at += 1
            continue
        yield Piece(at - prose.count("\n") + 1, prose)
        end = _end(lines, at, "-->" if opened.re is _UNSEEN else "```")
        body, is_run = "".join(lines[at + 1 : end]), _NOT_RUN.search(prose) is None
        yield Piece(at + 1, body, opened["language"] or "text", lines[at], lines[end], is_run)
        prose, at = "", end + 1
    yield Piece(at - prose.count("\n") + 1, prose)


def typed_and_written(text: str) -> Iterator[tuple[bool, str]]:
    """What of a console is typed (True) and what a program wrote, in turns."""
    goes_on, marked = False, []
    for line in text.splitlines(keepends=True):
        is_typed = goes_on or line.startswith("$ ")
        goes_on = is_typed and line.endswith("\\\n")
        marked.append((is_typed, line))
    for is_typed, lines in groupby(marked, key=lambda pair: pair[0]):
        yield is_typed, "".join(line for _, line in lines)


def _end(lines: list[str], start: int, mark: str) -> int:
    for at in range(start + 1, len(lines)):
        if lines[at].rstrip() == mark:
            return at
    raise ValueError(f"line {start + 1}: {lines[start].strip()} is never closed")
