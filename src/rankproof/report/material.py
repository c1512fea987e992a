"""What the sections draw on: a climb, and what the analysis says of it, each computed once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ..analysis.evidence import Evidence, evidence_of_climb
from ..experiment.rung import Climb


@dataclass(frozen=True, eq=False)
class Material:
    """A climb under analysis."""

    climb: Climb

    @cached_property
    def evidence(self) -> Evidence:
        """The climb as the analysis takes it."""
        return evidence_of_climb(self.climb)
