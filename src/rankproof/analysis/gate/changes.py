"""Changes since the baseline: paired query by query, tested, corrected for how many are tested together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...measures import parse
from ..statistics.correction import CORRECTIONS
from ..statistics.flips import randomisation_p
from ..statistics.paired import differences
from .settings import GateSettings


@dataclass(frozen=True, slots=True)
class Change:
    """One measure of one system before and now, on the queries that both have; `p` is two-sided.

    `is_worse` is None where nothing changed on any query.
    """

    before: float
    now: float
    difference: float
    n: int
    p: float
    is_worse: bool | None


def change_of(
    measure: str, before: Mapping[str, float], now: Mapping[str, float], queries: Iterable[str], settings: GateSettings
) -> Change:
    """The change on the queries that both have, by the sign-flip randomisation test; p is not corrected yet."""
    shared = sorted(query for query in queries if query in before and query in now)
    pairs = np.array([[now[query], before[query]] for query in shared], dtype=np.float64).reshape(-1, 2)
    apart = differences(pairs[:, 0], pairs[:, 1])
    mean = math.fsum(apart.tolist()) / max(len(shared), 1)
    sign = -1.0 if parse(measure).higher_is_better is False else 1.0
    p = float(randomisation_p(pairs, settings.samples, settings.seed)[0, 1]) if apart.any() else 1.0
    return Change(
        before=math.fsum(pairs[:, 1].tolist()) / max(len(shared), 1),
        now=math.fsum(pairs[:, 0].tolist()) / max(len(shared), 1),
        difference=mean,
        n=len(shared),
        p=p,
        is_worse=sign * mean < 0 if apart.any() else None,
    )


def corrected(changes: Sequence[Change]) -> list[Change]:
    """The changes with Holm's correction over all of them."""
    if not changes:
        return []
    p = CORRECTIONS["holm"](np.array([change.p for change in changes])).tolist()
    return [replace(change, p=value) for change, value in zip(changes, p, strict=True)]
