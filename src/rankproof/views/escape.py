"""Foreign text made harmless, one function for each place where it is shown."""

from __future__ import annotations

import re

from ..errors import visible
from ..formats.harmless import for_csv, for_json

__all__ = ["for_csv", "for_json", "for_latex", "for_markdown", "for_terminal"]

_MARKDOWN = {char: f"\\{char}" for char in "\\`*_[]|~$#"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
_DASHES = re.compile("-(?=-)")
_LATEX = {char: f"\\{char}" for char in "{}$&#_%"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "{''}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    # At the start of a row, \\ and \midrule would take these for their own arguments.
    "[": "{[}",
    "*": "{*}",
}


def for_terminal(text: str) -> str:
    """No control character, direction mark or invisible character reaches the terminal."""
    return visible(text)


def for_markdown(text: str) -> str:
    """Text inside a table cell: no markup, no HTML, no cell border."""
    return "".join(_MARKDOWN.get(char, char) for char in visible(text))


def for_latex(text: str) -> str:
    """Text that LaTeX sets as it stands."""
    return _DASHES.sub("-{}", "".join(_LATEX.get(char, char) for char in visible(text)))
