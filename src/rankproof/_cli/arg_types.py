"""Converters from the text of an argument to its value."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, get_args

from rankproof._data.row_errors import OnConflict, OnDuplicate
from rankproof.errors import UsageError, for_message

if TYPE_CHECKING:
    from rankproof._llm.budget import Budget


_TABS = ("tab", "\\t")
_DIGITS = 18


def add_on_duplicate_option(parser: argparse._ActionsContainer) -> None:
    """Adds the option for documents that occur twice in a ranking."""
    parser.add_argument(
        "--on-duplicate",
        choices=get_args(OnDuplicate),
        default="error",
        help="what to do if a query lists a document twice (default: error)",
    )


def add_judgement_options(parser: argparse._ActionsContainer, *, on_conflict: OnConflict | None = "error") -> None:
    """Adds the options for grades: the map of labels, and what to do with a pair that has two grades."""
    parser.add_argument("--grade-map", type=grade_map, metavar="A=N,…", help="grades of named labels: E=3,S=2,C=1,I=0")
    parser.add_argument(
        "--on-conflict",
        choices=get_args(OnConflict),
        default=on_conflict,
        help="which grade to keep if a document is judged twice with two grades (default: error)",
    )


def judgement_options(args: argparse.Namespace) -> dict[str, Any]:
    """The arguments of `read_qrels` and `read_dataset` for the options of judgements."""
    return {"grade_map": args.grade_map, "on_conflict": args.on_conflict}


def single_character(text: str) -> str:
    """A delimiter."""
    delimiter = "\t" if text in _TABS else text
    if len(delimiter) != 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not one character (write 'tab' for a tab character)")
    return delimiter


def named_setting(text: str) -> tuple[str, str]:
    """A name and its value."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{for_message(repr(text))} is not NAME=VALUE, such as question=ask")
    return name, value


def positive_int(text: str) -> int:
    """A whole number from 1 that fits in 64 bits."""
    if not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS and int(text)):
        raise argparse.ArgumentTypeError(
            f"{for_message(repr(text))} is not a whole number of at least 1 and at most {_DIGITS} digits"
        )
    return int(text)


def any_float(text: str) -> float:
    """A number."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{for_message(repr(text))} is not a number such as 0.05") from None


def float_list(text: str) -> list[float]:
    """Numbers separated by commas."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers, as in 1,2.5") from None


def grade_map(text: str) -> dict[str, int]:
    """The grade of each label, as in E=3,S=2,C=1,I=0."""
    from rankproof._data.grades import parse_grade_map

    return parse_grade_map(text)


def query_ids(path: str, encoding: str) -> tuple[str, ...]:
    """The ids in a file, one per line before any tab; blank lines and comments are skipped."""
    from rankproof._formats.trec import numbered_lines
    from rankproof._io.open import open_source

    lines = numbered_lines(open_source(path, encoding=encoding))
    return tuple(dict.fromkeys(line.split(b"\t")[0].strip().decode() for _, line in lines))


def first_few(ids: Sequence[str], most: int = 5) -> str:
    """The number of ids and the first few of them."""
    from rankproof._data.text import first_ids

    return f"{len(ids)} ({first_ids(ids, most)})"


def budget_limits(text: str) -> Budget:
    """The most that language models may cost, as in calls=500,tokens=2000000,money=1.50."""
    from rankproof._llm.budget import parse_budget

    return parse_budget(text)


def byte_size(text: str) -> int:
    """A size in bytes, as in 20GB."""
    from rankproof._io.cache_items import checked_size

    try:
        return checked_size("size", text)
    except UsageError:
        raise argparse.ArgumentTypeError(f"{for_message(repr(text))} is not a size such as 20GB, 500MB or 1.5TB") from None


def system_cost(text: str) -> tuple[str, float]:
    """The name of a system and its cost, as in bm25=1.4."""
    name, equals, number = text.rpartition("=")
    try:
        cost = float(number)
    except ValueError:
        cost = -1.0
    if not equals or not name or not 0 <= cost < float("inf"):
        raise argparse.ArgumentTypeError(f"{for_message(repr(text))} is not a system and its cost, as in bm25=1.4")
    return name, cost


def name_list(text: str) -> list[str]:
    """Names separated by commas."""
    found = [part.strip() for part in text.split(",") if part.strip()]
    if not found:
        raise argparse.ArgumentTypeError(f"{for_message(repr(text))} names nothing")
    return found


def nonnegative_int(text: str) -> int:
    """A whole number from 0."""
    if not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS):
        raise argparse.ArgumentTypeError(
            f"{for_message(repr(text))} is not a whole number of at least 0 and at most {_DIGITS} digits"
        )
    return int(text)


def nonnegative_ints(text: str) -> list[int]:
    """Whole numbers from 0, separated by commas."""
    return [nonnegative_int(part.strip()) for part in text.split(",")]
