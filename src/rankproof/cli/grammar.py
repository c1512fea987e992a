"""What can be typed after `rankproof`, read off the parsers: verbs, their options, and what each option takes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Literal

from .main import VERBS
from .parsing import parser_of

Takes = Literal["nothing", "choice", "file", "measures", "text"]
_FILES = ("EXPERIMENT.toml", "FILE", "FOLDER", "IN", "OUT", "RUN")


@dataclass(frozen=True, slots=True)
class Argument:
    """An option (or, without spellings, what stands free) and what follows it."""

    spellings: tuple[str, ...]
    takes: Takes
    words: tuple[str, ...]
    summary: str


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb with all that it takes."""

    name: str
    summary: str
    arguments: tuple[Argument, ...]

    @property
    def options(self) -> tuple[Argument, ...]:
        """The arguments that begin with a dash."""
        return tuple(argument for argument in self.arguments if argument.spellings)

    @property
    def free(self) -> Argument:
        """What stands free; every verb has one such."""
        return next(argument for argument in self.arguments if not argument.spellings)


def grammar() -> list[Verb]:
    """Every verb, in the order of the help page."""
    return [_verb(name, summary) for name, summary in VERBS.items()]


def _verb(name: str, summary: str) -> Verb:
    parser = parser_of(name, summary, import_module(f"rankproof.cli.{name}"))
    actions = [action for action in parser._actions if action.help != argparse.SUPPRESS]
    return Verb(name, summary, tuple(map(_argument, actions)))


def _argument(action: argparse.Action) -> Argument:
    takes, words = _taken(action)
    return Argument(tuple(action.option_strings), takes, tuple(words), str(action.help or ""))


def _taken(action: argparse.Action) -> tuple[Takes, Sequence[str]]:
    if action.nargs == 0:
        return "nothing", ()
    if action.choices:
        return "choice", [str(choice) for choice in action.choices]
    if action.metavar == "MEASURES":
        from ..measures import ANSWER_MEASURES, MEASURES

        return "measures", tuple(dict.fromkeys((*MEASURES, *ANSWER_MEASURES)))
    if action.metavar == "FORMAT":
        from ..formats import FORMATS

        return "choice", tuple(FORMATS)
    return ("file", ()) if action.metavar in _FILES else ("text", ())
