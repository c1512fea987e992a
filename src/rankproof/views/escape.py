"""Foreign text made harmless, one function for each place where it is shown."""

from __future__ import annotations

import re

from ..errors import visible

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_QUOTED = re.compile("[\",']")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_JSON_HIDDEN = re.compile("[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
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
}


def for_terminal(text: str) -> str:
    """No control character, direction mark or invisible character reaches the terminal."""
    return visible(text)


def for_csv(text: str) -> str:
    """A cell that no spreadsheet takes for a formula (OWASP: a leading apostrophe) and no reader splits."""
    plain = _CONTROL.sub(lambda found: visible(found[0]), text)
    safe = f"'{plain}" if text.startswith(_FORMULA_STARTS) else plain
    return '"' + safe.replace('"', '""') + '"' if _QUOTED.search(safe) or safe != safe.strip() else safe


def for_json(document: str) -> str:
    """A JSON document whose invisible characters and lone surrogates are written as \\u escapes; it means the same."""
    return _JSON_HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


def for_markdown(text: str) -> str:
    """Text inside a table cell: no markup, no HTML, no cell border."""
    return "".join(_MARKDOWN.get(char, char) for char in visible(text))


def for_latex(text: str) -> str:
    """Text that LaTeX sets as it stands."""
    return _DASHES.sub("-{}", "".join(_LATEX.get(char, char) for char in visible(text)))


def for_trec(query: str) -> str:
    """A query id in trec_eval's layout; one that is called `all` stays apart from the summary rows."""
    return "query:all" if query == "all" else visible(query)
