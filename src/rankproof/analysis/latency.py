"""Where the time of a query goes."""

from __future__ import annotations

from ..data.time_parts import PARTS
from ..experiment.rung import Rung


def stage_means(rung: Rung) -> dict[str, float]:
    """The mean of each stage in ms, in the order of the work; together they are the mean of the whole."""
    return {part: rung.time_of(part)["mean"] for part in PARTS}
