"""What a decision on live traffic rests on, besides values and differences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from rankproof._statistics.intervals import Interval

LogKind = Literal["interleaving", "ab", "one"]


@dataclass(frozen=True, slots=True)
class SessionsNeeded:
    """How many sessions decide: with the same difference as now, and with a chance of 80%; None where no number does.

    `per_day` is the traffic of the last week of the log, None without times.
    """

    same: int | None
    likely: int | None
    per_day: float | None


@dataclass(frozen=True, slots=True)
class GuardrailCheck:
    """The change of a guardrail metric of a system; `holds` is None if the interval includes the limit."""

    text: str
    system: str
    difference: float
    ci: Interval
    holds: bool | None
    is_fraction: bool

    @property
    def known_ci(self) -> Interval | None:
        """The interval, None if there are too few users for one."""
        return self.ci if math.isfinite(self.ci[0]) else None


@dataclass(frozen=True, slots=True)
class LiveEvidence:
    """What users did: the kind of the experiment, its users, and how many sessions prefer the first system or its rival.

    `method` is that of the interleaving, empty for an A/B test. `adjusted` is whether sessions before the experiment reduce the
    noise.
    """

    kind: LogKind
    users: int
    method: str = ""
    adjusted: bool = False
    needed: SessionsNeeded | None = None
    guardrails: tuple[GuardrailCheck, ...] = ()
