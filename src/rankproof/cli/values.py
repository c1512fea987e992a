"""What options are made of: text from the command line as the values they stand for."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, get_args

from ..data.reading import OnDuplicate
from ..errors import shown

if TYPE_CHECKING:
    from ..asking.budget import Budget

_TABS = ("tab", "\\t")
_DIGITS = 18


def add_on_duplicate(parser: argparse._ActionsContainer) -> None:
    """The option that says what becomes of a document that stands twice."""
    choices = get_args(OnDuplicate)
    parser.add_argument("--on-duplicate", choices=choices, default="error", help="a document twice for one query (error)")


def one_character(text: str) -> str:
    """A delimiter."""
    delimiter = "\t" if text in _TABS else text
    if len(delimiter) != 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not one character (write tab for a tab)")
    return delimiter


def at_least_one(text: str) -> int:
    """A whole number from 1, as far as 64 bits surely go."""
    if not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS and int(text)):
        raise argparse.ArgumentTypeError(f"{shown(repr(text))} is not a whole number of at least 1 and at most {_DIGITS} digits")
    return int(text)


def number(text: str) -> float:
    """A number."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{shown(repr(text))} is not a number, as in 0.05") from None


def numbers(text: str) -> list[float]:
    """Numbers between commas."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers, as in 1,2.5") from None


def grade_map(text: str) -> dict[str, int]:
    """Labels of grades and what each is worth, as in E=3,S=2,C=1,I=0."""
    from ..formats.grades import parse_grade_map

    return parse_grade_map(text)


def query_ids(path: str, encoding: str) -> tuple[str, ...]:
    """The ids in a file, one a line, up to a tab where there is one; blank lines and comments are left out."""
    from ..formats.opening import open_source
    from ..formats.trec import numbered_lines

    lines = numbered_lines(open_source(path, encoding=encoding))
    return tuple(dict.fromkeys(line.split(b"\t")[0].strip().decode() for _, line in lines))


def first_few(ids: Sequence[str], most: int = 5) -> str:
    """How many ids there are, and the first of them, fit to be shown."""
    from ..analysis.wording import few

    return f"{len(ids)} ({few(ids, most)})"


def budget(text: str) -> Budget:
    """The most that asking language models may cost, as in calls=500,tokens=2000000,money=1.50."""
    from ..asking.budget import parse_budget

    return parse_budget(text)


def names(text: str) -> list[str]:
    """Names between commas."""
    found = [part.strip() for part in text.split(",") if part.strip()]
    if not found:
        raise argparse.ArgumentTypeError(f"{shown(repr(text))} names nothing")
    return found


def whole(text: str) -> int:
    """A whole number from 0."""
    if not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS):
        raise argparse.ArgumentTypeError(f"{shown(repr(text))} is not a whole number of at most {_DIGITS} digits")
    return int(text)


def whole_numbers(text: str) -> list[int]:
    """Whole numbers from 0 between commas."""
    return [whole(part.strip()) for part in text.split(",")]
