"""Escaping of text for terminals, CSV, JSON, Markdown, LaTeX and HTML."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rankproof.errors import escape_invisible, is_hidden

if TYPE_CHECKING:
    from markupsafe import Markup


_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_QUOTED = re.compile("[\",']")
_NOT_ASCII = re.compile("[^\\x00-\\x7e]")


def escape_csv(text: str) -> str:
    """A CSV cell: quoted where needed, invisible characters escaped, and a formula marked as text by an apostrophe (OWASP)."""
    plain = escape_invisible(text)
    safe = f"'{plain}" if text.startswith(_FORMULA_STARTS) else plain
    return '"' + safe.replace('"', '""') + '"' if _QUOTED.search(safe) or safe != safe.strip() else safe


def escape_json(document: str) -> str:
    """The JSON document with invisible characters and lone surrogates as \\u escapes."""
    import json

    return _NOT_ASCII.sub(lambda match: json.dumps(match[0])[1:-1] if is_hidden(match[0]) else match[0], document)


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
    # At the start of a row, \\ and \midrule would read these as their arguments.
    "[": "{[}",
    "*": "{*}",
}


def for_terminal(text: str) -> str:
    """The text without control characters, direction marks and invisible characters."""
    return escape_invisible(text)


def for_markdown(text: str) -> str:
    """The text for a table cell, without markup, HTML and cell borders."""
    return "".join(_MARKDOWN.get(char, char) for char in escape_invisible(text))


_SPACE = "&#8203;"
"""A zero-width space: it parts what GitHub would make a mention, reference or link of, also after escapes are resolved."""
_REFERENCES = re.compile(
    r"(?<![A-Za-z0-9])@(?=\S)|@(?=[\w-]+\.\w)|#(?=\d)|(?i:GH-)(?=\d)"
    r"|(?i:https?|ftp|mailto|xmpp):(?=\S)|(?i:www)(?=\.)|:(?=[\w+-]+:)"
)
_LINE_START = re.compile(r"^(?:[-+](?=\s|$)|-(?=-)|=|\d{1,9}(?=[.)](?:\s|$)))")


def for_github(text: str) -> str:
    """The text for a comment on GitHub: as for Markdown, and without mentions, references, links and emoji names."""
    escaped = _without_references(text.strip(), for_markdown)
    return _LINE_START.sub(lambda match: f"{match[0]}\\" if match[0].isdigit() else f"\\{match[0]}", escaped)


def for_github_html(text: str) -> str:
    """The text for HTML in a comment on GitHub, without mentions, references and links."""
    from html import escape

    return _without_references(text.strip(), lambda part: escape(escape_invisible(part)))


def _without_references(text: str, escape: Callable[[str], str]) -> str:
    parts, at = [], 0
    for match in _REFERENCES.finditer(text):
        parts += [escape(text[at : match.end()]), _SPACE]
        at = match.end()
    return "".join([*parts, escape(text[at:])])


def for_latex(text: str) -> str:
    """The text with LaTeX's special characters escaped."""
    return _DASHES.sub("-{}", "".join(_LATEX.get(char, char) for char in escape_invisible(text)))


_ESCAPES = {ord(char): f"\\u{ord(char):04x}" for char in "<>&"}


def json_block(value: Any) -> Markup:
    """The value for a <script type="application/json"> element, the same bytes for the same value."""
    import json

    from markupsafe import Markup

    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return Markup(text.translate(_ESCAPES))
