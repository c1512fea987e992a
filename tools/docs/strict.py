"""Rejects directives and fences in pages that would be silently ignored."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .pieces import Piece
from .session import ExampleError

_REMARK = re.compile(r"<!-- (?:not run: [^>]+|shown: [^>]+|end) -->")
_CODE = re.compile(r"`[^`\n]*`")
_TILDES = re.compile(r"^\s*~~~.*$", re.MULTILINE)
_INDENTED = re.compile(r"^\s+```\s*\{?\s*\.?(?:py|console|output).*$", re.MULTILINE | re.IGNORECASE)
_OPENING = re.compile(r'```(?P<language>[a-z]*)(?P<times> times)?(?P<first> first=\d+)?(?: title="[^"]+")?\n')
_VALUE = re.compile(r"(?<![\d.])0?\.\d{3,4}(?![\d.])")
_RUN = ("python", "console", "output")


def refuse_unknown(piece: Piece, understood: Iterable[re.Pattern[str]]) -> None:
    """Refuses comments that are no directive, fences or languages that would not be run, and values that nothing computes."""
    if piece.is_prose:
        _refuse_prose(piece.text, understood)
    elif not piece.is_unseen:
        _refuse_fence(piece.opening)
        if piece.language == "text" and piece.title is None and piece.is_run and _VALUE.search(piece.text):
            raise ExampleError(
                "this fence shows values and is not run; use ```console, or put <!-- not run: REASON --> before it"
            )


def _refuse_prose(text: str, understood: Iterable[re.Pattern[str]]) -> None:
    left = _CODE.sub("", text)
    for directive in (*understood, _REMARK):
        left = directive.sub("", left)
    if "<!--" in left:
        comment = left[left.index("<!--") :].partition("\n")[0]
        raise ExampleError(f"unknown directive, or no number before it: {comment}")
    for pattern in (_TILDES, _INDENTED):
        if found := pattern.search(text):
            raise ExampleError(f"use a fence of three backticks without indentation: {found[0].strip()}")


def _refuse_fence(opening: str) -> None:
    known = _OPENING.fullmatch(opening)
    if known is None:
        raise ExampleError(f'only times, first=LINES or title="NAME" may follow the language: {opening.strip()}')
    language = known["language"]
    if language not in _RUN and language.startswith(("py", "ipy", "consol", "out", "shell")):
        raise ExampleError(f"{language} is not run; use {', '.join(_RUN[:-1])} or {_RUN[-1]}")
    if known["first"] and language != "console":
        raise ExampleError(f"first=LINES is allowed for console only: {opening.strip()}")
    if known["times"] and language not in _RUN[1:]:
        raise ExampleError(f"times is allowed for console and output only: {opening.strip()}")
