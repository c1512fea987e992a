"""A command of the command line."""

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

    `usage` follows the name in the usage line; it contains the word RESULTS if the command reads a results folder. The first
    three of `examples` are what people do with the command. `help_tail` returns the end of the help page if that takes time to
    make, in full for --help-all. `can_fail` says that the command exits with 3 if a check fails. `summary` is the line of a
    command of another package in `rankproof --help`; the registry has the lines of this package.
    """

    usage: str
    examples: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, Terminal], int]
    summary: str = ""
    can_fail: bool = False
    help_tail: Callable[[bool], str] | None = None
