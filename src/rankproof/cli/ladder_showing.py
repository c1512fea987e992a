"""A climb shown in the format asked for, with its notes, and where to look next."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from ..errors import visible
from .showing import note_lines
from .terminal import Terminal

if TYPE_CHECKING:
    from ..experiment import Climb


def show_climb(climb: Climb, folder: str, args: argparse.Namespace, terminal: Terminal) -> None:
    """The ladder to standard output; notes and the way to the results beside it."""
    from ..experiment.results.folder import REPORT
    from ..views import ladder, ladder_machine

    views = {
        "table": ladder.render,
        "json": ladder_machine.as_json,
        "csv": ladder_machine.as_csv,
        "markdown": ladder_machine.as_markdown,
    }
    terminal.show(views[args.format](climb, terminal.look()))
    for line in (*climb.notes, *_remarks(climb), *_remembered(climb), *note_lines(climb.result), *_of_answers(climb)):
        terminal.note(line)
    if not terminal.quiet:
        parts = "summary.csv, per_query.csv (each query), runs/ (each ranking), result.json (all)"
        page = "" if args.no_report else f"; open {visible(os.path.join(folder, REPORT))} in a browser to see them"
        terminal.say(f"results in {visible(folder)}: {parts}{page}")


def _of_answers(climb: Climb) -> list[str]:
    return [] if climb.answers is None else note_lines(climb.answers)


def _remembered(climb: Climb) -> list[str]:
    """Times are those of the run that took them, which may be of another day and another load."""
    kept = [rung for rung in climb.rungs if rung.from_cache]
    if not kept:
        return []
    first, last = min(rung.computed for rung in kept), max(rung.computed for rung in kept)
    when = first if first == last else f"{first} to {last}"
    whose = "all systems" if len(kept) == len(climb.rungs) else ", ".join(rung.name for rung in kept)
    return [f"times of {whose} are those of an earlier run ({when}), from the cache; --no-cache takes them anew"]


def _remarks(climb: Climb) -> list[str]:
    return [f"{rung.name}: {note}" for rung in climb.rungs for note in rung.notes]
