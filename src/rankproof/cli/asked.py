"""What the verbs that ask a language model share: the desk where it is asked, and how their tables are shown."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import UsageError
from .terminal import Terminal

if TYPE_CHECKING:
    from ..analysis.table import Table
    from ..asking.desk import Desk

FORMATS = ("table", "json", "csv", "markdown")


def desk_of(args: argparse.Namespace) -> Desk:
    """Where the model is asked; a plan opens no journal, nor does whoever asks nobody."""
    from pathlib import Path

    from ..asking.desk import Desk
    from ..experiment.replies import Books
    from ..places import cache_home

    if args.cache == "":
        raise UsageError("--cache names no folder", fix="name one, or leave out --cache")
    home = cache_home() if args.cache is None else Path(args.cache).expanduser().absolute()
    return Desk(None if args.dry_run else Books(home), args.budget)


def show_asked(tables: Sequence[Table], written: str, args: argparse.Namespace, terminal: Terminal) -> None:
    """The tables, their notes, and what was written unless that was only planned."""
    from ..views.analysis import VIEWS

    terminal.show(VIEWS[args.format](tables, terminal.look()))
    for note in dict.fromkeys(note for table in tables for note in table.notes):
        terminal.note(note)
    if not args.dry_run:
        terminal.note(written)
