"""The options of every verb that asks chance: how sure, by how many samples, corrected how."""

from __future__ import annotations

import argparse

from .values import at_least_one, number, whole

CORRECTIONS = ("holm", "bonferroni", "bh", "none")


def add_sampling(group: argparse._ArgumentGroup, *, samples: int, of: str) -> None:
    """How rare chance must make a claim, and how chance is drawn: that many samples, of flips or deals."""
    group.add_argument("--alpha", type=number, default=0.05, metavar="A", help="the rate of errors that is allowed (0.05)")
    group.add_argument("--samples", type=at_least_one, default=samples, metavar="N", help=f"how many random {of} ({samples})")
    group.add_argument("--seed", type=whole, default=0, metavar="N", help="of everything random (0)")


def add_correction(group: argparse._ArgumentGroup) -> None:
    """How p-values are raised where there are many tests."""
    group.add_argument("--correction", choices=CORRECTIONS, default="holm", help="for many tests (holm)")
