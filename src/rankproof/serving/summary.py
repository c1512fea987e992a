"""An experiment in a line: what the list shows of it."""

from __future__ import annotations

from dataclasses import dataclass

from ..analysis.evidence import evidence_of_climb
from ..analysis.measured import best_of, shares
from ..errors import UsageError
from ..experiment.rung import Climb


@dataclass(frozen=True, slots=True)
class Summary:
    """Who, of what, when; the best system by the main measure; `fingerprint` is the dataset's, `judged` the judgements'."""

    name: str
    dataset: str
    made: str
    systems: tuple[str, ...]
    queries: int
    measure: str
    best: str
    value: float
    fingerprint: str
    judged: str

    @property
    def data(self) -> tuple[str, str]:
        """What two experiments must have in common to be compared."""
        return self.judged, self.fingerprint


def summary_of(climb: Climb) -> Summary:
    """The climb in a line."""
    measure = _main(climb)
    values = {system.name: system.measures[measure] for system in climb.result.systems}
    best = best_of(values)
    return Summary(
        name=climb.name,
        dataset=str(climb.provenance.get("dataset") or ""),
        made=str(climb.provenance.get("made") or ""),
        systems=tuple(rung.name for rung in climb.rungs),
        queries=len(climb.result.queries),
        measure=measure,
        best=best,
        value=values[best].value,
        fingerprint=climb.fingerprint,
        judged=climb.qrels.fingerprint(),
    )


def _main(climb: Climb) -> str:
    """The first measure that is a share of 1, or the first of all."""
    try:
        return shares(evidence_of_climb(climb))[0]
    except UsageError:
        return next(iter(climb.result.systems[0].measures))
