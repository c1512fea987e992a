"""The whole diagnosis of some evidence, from the values down to single queries."""

from __future__ import annotations

from collections.abc import Sequence

from .baselines_known import check_documents
from .baselines_oracle import ceilings
from .baselines_values import best_of, main_measure, measured
from .diagnose import segments_tables, systems_tables
from .diagnose_failed import failed_table, failures, failures_table
from .evidence import Evidence
from .segments_groups import Grouping
from .stages_of_a_ladder import Step, gains_table, matters_table
from .stages_of_a_ladder_moves import moves_table
from .table import Table

CUTOFF = 10
SHOWN = 10


def diagnose(
    evidence: Evidence,
    groupings: Sequence[Grouping] = (),
    *,
    system: str | None = None,
    cutoff: int = CUTOFF,
    most: int = SHOWN,
) -> list[Table]:
    """Rules by system and segment, the stages of a ladder where there is one, and the failed queries of one system (the best)."""
    check_documents(evidence)
    measure = main_measure(evidence)
    chosen = system or best_of({name: each[measure] for name, each in measured(evidence, [measure]).items()})
    failed = {name: failures(evidence, name, cutoff) for name in evidence.systems}
    return [
        *systems_tables(evidence),
        *(table for grouping in groupings for table in segments_tables(evidence, grouping)),
        *(ladder_tables(evidence, measure, cutoff) if evidence.rungs else []),
        failures_table(failed, cutoff),
        failed_table(evidence, failed[chosen], cutoff, most),
    ]


def ladder_tables(evidence: Evidence, measure: str, cutoff: int) -> list[Table]:
    """What each rung gains, what it does to the relevant documents, and which measure matters at its stage."""
    means = evidence.result.means
    steps = [Step(rung.name, rung.kind, means[rung.name], rung.over) for rung in evidence.rungs]
    recall = _deepest_recall(evidence)
    ceiling = ceilings(evidence, [measure])[measure]
    return [
        gains_table(steps, measure, recall, len(evidence.result.queries)),
        moves_table(evidence, measure, ceiling, cutoff),
        matters_table(steps),
    ]


def _deepest_recall(evidence: Evidence) -> str | None:
    measures = evidence.result.systems[0].measures
    found = [name for name, one in measures.items() if one.measure.name == "R"]
    return max(found, key=lambda name: measures[name].measure.parameters()["cutoff"] or 0, default=None)
