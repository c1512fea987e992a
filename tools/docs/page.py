"""Recomputes the output, numbers and tables of one page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .pieces import Piece, pieces_of, typed_and_written
from .session import ExampleError, Session
from .strict import refuse_unknown
from .times import near, settled

_NUMBER = re.compile(r"(?P<old>[-+]?\d[\d,]*(?:\.\d+)?)(?P<mark>%?(?:\*\*)?<!--(?P<kind>[=~]) (?P<code>.+?) -->)")
_TABLE = re.compile(r"(?P<mark><!--table (?P<code>.+?) -->\n)(?P<old>(?:\|.*\n)*)")
_AGO = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?=%?(?:\*\*)?<!--~ )")
_OUTPUT = "``` { .text .output .no-copy }\n"
_TRACES = re.compile(r"<!--[=~] .+? -->|<!--table .+? -->\n|<!-- not run: [^>]+ -->\n")


def fresh_page(page: str, session: Session, *, keep_times: bool) -> str:
    """The page with fresh output, and numbers by what its code has left; `keep_times` leaves alone what differs in times only."""
    pieces, output = list(pieces_of(page)), None
    shown = []
    for piece in pieces:
        with _located(piece):
            refuse_unknown(piece, (_NUMBER, _TABLE))
            new, output = _fresh_fence(piece, session, output)
        same = keep_times and piece.has_times and settled(new) == settled(piece.text)
        shown.append(piece.whole(piece.text if same else new))
    for at, piece in enumerate(pieces):
        if piece.is_prose:
            with _located(piece):
                shown[at] = _fresh_prose(piece.text, session, keep_times=keep_times)
    return "".join(shown)


@contextmanager
def _located(piece: Piece) -> Iterator[None]:
    """Says at which line of the page an example failed."""
    try:
        yield
    except Exception as error:
        raise ExampleError(f"line {piece.line}: {type(error).__name__}: {error}") from error


def built(page: str) -> str:
    """The page as the site has it: without directives and unseen code."""
    return "".join(
        _TRACES.sub("", piece.text) if piece.is_prose else _shown_fence(piece) for piece in pieces_of(page) if not piece.is_unseen
    )


def _shown_fence(piece: Piece) -> str:
    """The fence; what a command or Python writes stands in a fence of its own, which has nothing to copy."""
    if piece.language == "output":
        return f"{_OUTPUT}{piece.text}{piece.closing}"
    opening = re.sub(r" (?:times|first=\d+)\b", "", piece.opening)
    if piece.language != "console":
        return opening + piece.text + piece.closing
    return "\n".join(
        f"{opening if is_command else _OUTPUT}{text}{piece.closing}" for is_command, text in typed_and_written(piece.text)
    )


def differs(old: str, new: str) -> bool:
    """Whether two texts of a page differ in more than times."""
    before, after = list(pieces_of(old)), list(pieces_of(new))
    return len(before) != len(after) or any(map(_piece_differs, before, after))


def _piece_differs(old: Piece, new: Piece) -> bool:
    if old.has_times:
        return settled(old.text) != settled(new.text)
    if _AGO.sub("", old.text) != _AGO.sub("", new.text):
        return True
    return not all(map(near, _AGO.findall(old.text), _AGO.findall(new.text)))


def _fresh_fence(piece: Piece, session: Session, output: str | None) -> tuple[str, str | None]:
    """What stands in the fence now, and what the next one of output is to show."""
    if piece.is_prose:
        return piece.text, None if piece.text.strip() else output
    if piece.title is not None:
        Path(piece.title).parent.mkdir(parents=True, exist_ok=True)
        Path(piece.title).write_text(piece.text, encoding="utf-8")
    elif piece.language == "python" and piece.is_run:
        return piece.text, session.run_python(piece.text)
    elif piece.language == "console" and piece.is_run:
        new = session.run_console(piece.text, piece.most_lines)
        return (piece.text if piece.is_unseen else new), None
    elif piece.language == "output":
        if output is None:
            raise ExampleError("a fence of output follows no python")
        return output, None
    return piece.text, None


def _fresh_prose(text: str, session: Session, *, keep_times: bool) -> str:
    def number(match: re.Match[str]) -> str:
        new = _like(match["old"], session.value(match["code"]))
        same = match["kind"] == "~" and keep_times and near(match["old"], new)
        return (match["old"] if same else new) + match["mark"]

    def table(match: re.Match[str]) -> str:
        return match["mark"] + str(session.value(match["code"])).rstrip("\n") + "\n"

    return _TABLE.sub(table, _NUMBER.sub(number, text))


def _like(old: str, value: float) -> str:
    """The value written as the old number is: sign, thousands and decimals."""
    decimals = len(old.partition(".")[2])
    sign = "+" if old.startswith("+") else ""
    return f"{value:{sign}{',' if ',' in old else ''}.{decimals}f}"
