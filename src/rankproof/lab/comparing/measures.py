"""The measures of a comparison, and their plain names."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import UsageError
from ...measures import parse_many

DEFAULT = ("nDCG@10", "R@10", "RR", "R@1", "R@5", "P@1", "P@5", "P@10", "Success@10")
PLAIN_NAMES = {
    "R@1": "recall@1",
    "R@5": "recall@5",
    "R@10": "recall@10",
    "RR": "mrr",
    "P@1": "precision@1",
    "P@5": "precision@5",
    "P@10": "precision@10",
}
"""Those that every comparison has, and their plain names."""


def measures_of(asked: Sequence[str] | None) -> list[str]:
    """The measures asked for, the first of which is the main one, and behind them those that every comparison has."""
    found = dict.fromkeys(str(one) for one in parse_many([*(asked or DEFAULT), *PLAIN_NAMES]))
    first = parse_many([next(iter(found))])[0]
    if not first.is_share or first.higher_is_better is False:
        raise UsageError(f"{first} cannot be the main measure", fix="name first one that is a mean from 0 to 1, such as nDCG@10")
    if strange := [name for name in found if parse_many([name])[0].summary != "mean"]:
        raise UsageError(f"{strange[0]} is no mean over queries", fix="leave it out")
    return list(found)


def plain_name(measure: str) -> str:
    """The column of a measure."""
    return PLAIN_NAMES.get(measure, measure)
