"""The errors of rankproof; each class has the exit code of the command line.

RankproofError
├── InputError     2  a file or value is wrong: where, what, and what to do
├── UsageError     2  a command or call is wrong: what, and what to do
└── ExternalError  1  a disk, network, database or library failed
    └── MissingExtraError  a library of an extra is not installed
"""

from __future__ import annotations

from collections.abc import Iterable

MAX_SHOWN_LENGTH = 80
MAX_NAME_LENGTH = 100
_SHOWN_TAIL = 30


def is_hidden(char: str) -> bool:
    """Whether the character is invisible: a control, direction mark, lone surrogate or unassigned one, but not a space."""
    if char.isprintable():
        return False
    from unicodedata import category

    return category(char) != "Zs"


def escape_invisible(text: str) -> str:
    """The text with control, direction and invisible characters as escapes, so that they cannot affect a terminal."""
    if text.isprintable():
        return text
    return "".join(char.encode("unicode_escape").decode() if is_hidden(char) else char for char in text)


def for_message(text: str) -> str:
    """An id or value for a message: invisible characters escaped, and a long one cut in the middle, as ids differ at the end."""
    safe = escape_invisible(text)
    return safe if len(safe) <= MAX_SHOWN_LENGTH else f"{safe[: MAX_SHOWN_LENGTH - _SHOWN_TAIL]}…{safe[-_SHOWN_TAIL:]}"


def type_phrase(value: object) -> str:
    """The type of a value with its article, such as "an int"."""
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


def closest_name(name: str, known: Iterable[str], min_similarity: float = 0.6) -> str | None:
    """The most similar known name, for "did you mean"; None where none is similar."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name[:MAX_NAME_LENGTH], list(known), n=1, cutoff=min_similarity)), None)


class RankproofError(Exception):
    """The base class of all errors of rankproof."""

    exit_code = 1


class InputError(RankproofError):
    """A file or value is wrong; the message is `source:line: what; fix`."""

    exit_code = 2

    def __init__(self, what: str, *, fix: str, source: str = "", line: int | None = None, column: int | None = None) -> None:
        self.what, self.fix, self.source, self.line, self.column = what, fix, source, line, column
        place = ":".join(str(part) for part in (source, line, column) if part is not None)
        where = f"{place}: " if source else ""
        super().__init__(escape_invisible(f"{where}{what}; {fix}"))


class UsageError(RankproofError):
    """A command or call is wrong; the message is `what; fix`."""

    exit_code = 2

    def __init__(self, what: str, *, fix: str) -> None:
        self.what, self.fix = what, fix
        super().__init__(escape_invisible(f"{what}; {fix}"))


class ExternalError(RankproofError):
    """A disk, network, database or library failed."""


class MissingExtraError(ExternalError):
    """A library of an extra is not installed; the message names the command that installs it."""

    def __init__(self, library: str, extra: str) -> None:
        self.library, self.extra = library, extra
        super().__init__(f"{library} is not installed; run: pip install 'rankproof[{extra}]'")
