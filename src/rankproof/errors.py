"""One tree of errors; each class carries the exit code that the command line ends with.

RankproofError
├── InputError      2  a file or value is wrong: where, what, and what to do
├── UsageError      2  a command or call is wrong: what, and what to do
└── WorldError      1  disk, network, database or model failed
    └── MissingExtraError  a library that an extra installs is not there
"""

from __future__ import annotations

from collections.abc import Iterable

MAX_SHOWN_LENGTH = 80
MAX_NAME_LENGTH = 100
_SHOWN_TAIL = 30


def is_hidden(char: str) -> bool:
    """Whether nobody can see the character: controls, direction marks, lone surrogates, unassigned ones; a blank is seen."""
    if char.isprintable():
        return False
    from unicodedata import category

    return category(char) != "Zs"


def escape_invisible(text: str) -> str:
    """The text with control, direction and invisible characters written as escapes, so that no terminal obeys them."""
    if text.isprintable():
        return text
    return "".join(char.encode("unicode_escape").decode() if is_hidden(char) else char for char in text)


def for_message(text: str) -> str:
    """An id or value as a message shows it: visible, and cut in the middle when it is very long: names differ at their end."""
    safe = escape_invisible(text)
    return safe if len(safe) <= MAX_SHOWN_LENGTH else f"{safe[: MAX_SHOWN_LENGTH - _SHOWN_TAIL]}…{safe[-_SHOWN_TAIL:]}"


def closest_name(name: str, known: Iterable[str], min_similarity: float = 0.6) -> str | None:
    """The known name that is most like this one, for "did you mean"; None where none is."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name[:MAX_NAME_LENGTH], list(known), n=1, cutoff=min_similarity)), None)


class RankproofError(Exception):
    """Anything that rankproof refuses or cannot do."""

    exit_code = 1


class InputError(RankproofError):
    """A file or value is wrong; reads `source:line: what; fix`."""

    exit_code = 2

    def __init__(self, what: str, *, fix: str, source: str = "", line: int | None = None, column: int | None = None) -> None:
        self.what, self.fix, self.source, self.line, self.column = what, fix, source, line, column
        place = ":".join(str(part) for part in (source, line, column) if part is not None)
        where = f"{place}: " if source else ""
        super().__init__(escape_invisible(f"{where}{what}; {fix}"))


class UsageError(RankproofError):
    """A command or call is wrong; reads `what; fix`."""

    exit_code = 2

    def __init__(self, what: str, *, fix: str) -> None:
        self.what, self.fix = what, fix
        super().__init__(escape_invisible(f"{what}; {fix}"))


class ExternalError(RankproofError):
    """Disk, network, database or model failed."""


class MissingExtraError(ExternalError):
    """A library that an extra installs is not there; the message names the command that brings it."""

    def __init__(self, library: str, extra: str) -> None:
        self.library, self.extra = library, extra
        super().__init__(f"{library} is not installed; run: pip install 'rankproof[{extra}]'")
