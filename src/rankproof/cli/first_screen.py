"""A first screen: what of many tables people read first, and how they get the rest."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..analysis.table import Table

_MORE = "shown in part; --details has every row and column, and so have --format json and csv"


def add_details(group: argparse._ArgumentGroup) -> None:
    """The option that asks for everything."""
    group.add_argument("--details", action="store_true", help="every table with all rows and columns, as JSON and CSV have them")


def is_first(args: argparse.Namespace) -> bool:
    """Whether a person reads, who did not ask for everything."""
    return args.format == "table" and not args.details


def first_screen(tables: Sequence[Table]) -> list[Table]:
    """The tables at a glance, with a note that there is more."""
    brief = [table.at_a_glance() for table in tables]
    kept = [table for table in brief if table is not None]
    return [replace(kept[0], notes=(*kept[0].notes, _MORE)), *kept[1:]] if kept else []
