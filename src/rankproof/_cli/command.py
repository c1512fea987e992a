"""A verb of the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankproof._cli.terminal import Terminal


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command of the CLI: its arguments, and a function that runs it and returns the exit code.

    `usage` follows the verb's name in the usage line; it has the word RESULTS if the verb reads a results folder. `help_tail`
    returns the end of the help page where that takes time to make. `can_fail` says that the verb exits with 3 where a check
    fails. `summary` is the line of a verb of another package in `rankproof --help`; the registry has those of this package.
    """

    usage: str
    examples: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, Terminal], int]
    summary: str = ""
    can_fail: bool = False
    help_tail: Callable[[], str] | None = None
