"""A result shown in the format asked for, with its notes beside it."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import TYPE_CHECKING

from .output import write_or_show
from .terminal import STDOUT, Terminal

if TYPE_CHECKING:
    from ..evaluation import Note, Result

MACHINES = "machine-judgements"
_VIEWS = {"table": "as_text"}


def show_result(result: Result, args: argparse.Namespace, terminal: Terminal) -> None:
    """Renders the result to standard output or to the file asked for, then says the notes."""
    view = import_module(f"rankproof.views.{_VIEWS.get(args.format, f'as_{args.format}')}")
    text: str = view.render(result, terminal.look(per_query=args.per_query, to_file=args.output not in STDOUT, rel=args.rel))
    write_or_show(text, args.output, terminal)
    for line in note_lines(result):
        terminal.note(line)


def note_lines(result: Result) -> list[str]:
    """Each note once, after the names of the systems that have it."""
    owners: dict[Note, list[str]] = {}
    for system in result.systems:
        for note in system.notes:
            owners.setdefault(note, []).append(system.name)
    everyone = len(result.systems)
    return [f"{_who(names, everyone)}{note.text}" for note, names in owners.items()]


def note_judges(result: Result, terminal: Terminal) -> None:
    """Says where judgements were made by machines, beside analyses that leave other notes to `eval`."""
    notes = (note for system in result.systems for note in system.notes if note.code == MACHINES)
    for text in dict.fromkeys(note.text for note in notes):
        terminal.note(text)


def _who(names: list[str], everyone: int) -> str:
    if everyone == 1:
        return ""
    return "all systems: " if len(names) == everyone else f"{', '.join(names)}: "
