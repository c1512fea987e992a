"""The errors of rankproof; each class has the exit code of the command line.

RankproofError
├── InputError     2  a file or value is wrong: where, what, and what to do
├── UsageError     2  a command or call is wrong: what, and what to do
└── ExternalError  1  a disk, network, database or library failed
    └── MissingExtraError  a library of an extra is not installed
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re

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
    """The type of a value with its article, such as "an int"; a class is named itself."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


def closest_name(name: str, known: Iterable[str], min_similarity: float = 0.6) -> str | None:
    """The most similar known name, for "did you mean"; None where none is similar."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name[:MAX_NAME_LENGTH], list(known), n=1, cutoff=min_similarity)), None)


_SWITCHES = (
    "--ask-again",
    "--judged-only",
    "--lower-is-better",
    "--skip-missing",
    "--strict",
    "--unjudged",
    "--with-corpus",
    "-J",
)
_OTHER_PROGRAMS = ("pip ", "zstd ", "ray start", "rankproof serve", "rankproof convert")
"""Messages with the command line of another program keep it."""
_OTHER_NAMES = {
    "-J": "judged_only",
    "-M": "depth",
    "-m": "measures",
    "-o": "path",
    "--bot": "bots",
    "--by-file": "by={query: segment}",
    "--click": "clicks",
    "--from": "importer",
    "--guardrail": "guardrails",
    "--max-drop": "max_drops",
    "--metric": "metrics",
    "--share": "shares",
    "--threshold": "thresholds",
    "--set": "settings",
    "--name": "{name: …}",
}
_LOG_ROLES = ("session", "user", "time", "system", "rank", "doc", "action", "variant", "value", "query")
"""With the column of such a role, `--set` is the argument `columns` of `online` and `sample_queries`."""
_VALUE = (
    r"'[^']*'|[^\s=;()]+=[^\s;()]*[^\s;(),]|score|rank|utf-[0-9]+|latin-1|keep-[a-z]+|error|max|min|first|last|run|qrels"
    r'|[A-Z]+|[0-9.]+|"[^"]*"|[A-Za-z]+@[0-9]+|(?<=--from )[a-z0-9-]+|(?<=--test )[a-z-]+|(?<=-column )[^\s;,()]+'
)
_VERB = r"(?:(?:rankproof )?\b(?P<verb>audit|judge|compare|run|gate) )?"
_FLAG = rf"(?<![\w-])(?P<flag>--[a-z]+(?:-[a-z]+)*|-[JMmo])(?![\w-])(?: (?P<value>{_VALUE})(?=[\s;,)]|\.?$))?"


def in_python(text: str) -> str:
    """A message with the options of the command line as arguments: `--order rank` becomes `order="rank"`."""
    if "-" not in text or any(program in text for program in _OTHER_PROGRAMS):
        return text
    import re

    return re.sub(_VERB + _FLAG, _as_argument, text)


def _as_argument(match: re.Match[str]) -> str:
    flag, value, verb = match["flag"], match["value"], match["verb"]
    name = _OTHER_NAMES.get(flag, flag.removeprefix("--").replace("-", "_"))
    if flag in ("--name", "--by-file"):
        shown = name
    elif flag == "--set" and value is not None and "=" in value:
        first = value.strip("'").partition("=")[0]
        shown = f"{'columns' if first in _LOG_ROLES else name}={_python_settings(value)}"
    elif flag in _SWITCHES:
        shown = f"{name}=True" if value is None else f"{name}=True {value}"
    else:
        shown = f"{name}={_python_value(value or '')}"
    return f"{verb}({shown})" if verb else shown


def _python_value(value: str) -> str:
    if value == "''":
        return '""'
    plain = value.strip("'")
    if "=" in plain:
        pairs = (pair.rpartition("=") for pair in plain.split(","))
        return "{" + ", ".join(f'"{label}": {_python_number(number)}' for label, _, number in pairs) + "}"
    is_shown = not plain or plain[0] == '"' or plain.isupper() or plain.replace(".", "").isdigit()
    return plain if is_shown else f'"{plain}"'


def _python_settings(value: str) -> str:
    """The settings as a mapping; a comma separates two before a role, or a name with a place for its value, as in `a=X,b=Y`."""
    import re

    parts = re.split(rf",(?=(?:{'|'.join(_LOG_ROLES)})=|[a-z-]+=[A-Z]+(?:,|$))", value.strip("'"))
    pairs = (pair.partition("=") for pair in parts)
    return "{" + ", ".join(f'"{key}": {_python_number(number)}' for key, _, number in pairs) + "}"


def _python_number(value: str) -> str:
    """The value, in quotes unless it is a number or a place for one."""
    return value if value == "?" or value.lstrip("+-").isdigit() else f'"{value}"'


class RankproofError(Exception):
    """The base class of all errors of rankproof.

    The message names arguments of functions; `command_line_text` is the same with the options of the command line.
    """

    exit_code = 1

    def __init__(self, message: str = "") -> None:
        self.command_line_text = message
        super().__init__(in_python(message))

    def __reduce__(self) -> tuple[object, ...]:
        return _unpickled_error, (type(self), self.args, self.__dict__)


def _unpickled_error(kind: type[RankproofError], args: tuple[object, ...], state: dict[str, object]) -> RankproofError:
    """The error as it was, without a call of its constructor: workers send errors to the process that shows them."""
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(state)
    return error


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
