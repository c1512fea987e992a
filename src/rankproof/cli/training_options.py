"""The options that make a recipe of a training; what is usual comes from the recipe itself."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .values import at_least_one, number, whole

if TYPE_CHECKING:
    from ..lab.training.recipe import Recipe

_OPTIONS = (
    ("parameters", at_least_one, "N", "numbers that each net learns, within 1 %%"),
    ("width", at_least_one, "N", "dimensions of a vector"),
    ("depth", at_least_one, "N", "layers of a net"),
    ("heads", at_least_one, "N", "heads of each attention"),
    ("characters", at_least_one, "N", "how many characters of a text are read"),
    ("batch", at_least_one, "N", "pairs in a step"),
    ("learning_rate", number, "X", "the learning rate at its highest"),
    ("temperature", number, "X", "the temperature: cosines are divided by it"),
    ("real_share", number, "X", "the share of a batch that is judged pairs; the others are crops"),
    ("crops", whole, "N", "pieces of each document that are taught as queries"),
    ("negatives", whole, "N", "documents found by BM25 from which a pair's hard negative is drawn"),
)


def add_recipe(group: argparse._ArgumentGroup) -> None:
    """The budget, the net, and how it learns."""
    from ..lab.training.recipe import Recipe
    from ..models.trial.shape import BODIES

    usual = Recipe()
    budget = f"{usual.operations:.0e}".replace("+", "")
    group.add_argument(
        "--operations",
        type=number,
        metavar="X",
        help=f"the budget of a training in floating-point operations ({budget}; with --steps none)",
    )
    group.add_argument("--steps", type=whole, metavar="N", help="the budget in steps; 0 saves untrained nets (no limit)")
    group.add_argument("--body", choices=BODIES, help=f"the kind of layers ({usual.body})")
    for option, kind, metavar, words in _OPTIONS:
        name = f"--{option.replace('_', '-')}"
        group.add_argument(name, type=kind, metavar=metavar, help=f"{words} ({getattr(usual, option)})")


def recipe_of(args: argparse.Namespace) -> Recipe:
    """The recipe of what was given; a budget in steps alone is no budget in operations."""
    from ..lab.training.recipe import Recipe

    asked = ("operations", "steps", "body", *(option for option, *_ in _OPTIONS))
    given = {name: value for name in asked if (value := getattr(args, name)) is not None}
    return Recipe(**({"operations": None} if "steps" in given else {}) | given)
