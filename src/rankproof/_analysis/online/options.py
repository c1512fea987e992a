"""What `online` compares, by what, and since when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rankproof._importers.search_log.options import CLICKS
from rankproof._statistics.options import USUAL_USERS

if TYPE_CHECKING:
    from rankproof._statistics.decision_rule import Margin

USUAL_MARGIN = 0.01
USUAL_PRIMARY = "FirstClickRR"


@dataclass(frozen=True, slots=True)
class OnlineOptions:
    """How the sessions of a log are compared; the names are those of the arguments of `online`.

    `since` is in seconds since 1970. `shares` are the parts of the users that variants should have, equal ones if empty.
    """

    experiment: str | None = None
    baseline: str | None = None
    primary: str = USUAL_PRIMARY
    metrics: tuple[str, ...] = ()
    guardrails: tuple[str, ...] = ()
    margin: Margin | None = None
    clicks: tuple[str, ...] = CLICKS
    since: float | None = None
    by: tuple[str, ...] = ()
    expect: int = USUAL_USERS
    costs: Mapping[str, float] = field(default_factory=dict)
    shares: Mapping[str, float] = field(default_factory=dict)
