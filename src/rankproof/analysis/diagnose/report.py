"""The whole diagnosis of some evidence, from the values down to single queries."""

from __future__ import annotations

from collections.abc import Sequence

from ..baselines.ceilings import ceilings
from ..baselines.references import check_documents
from ..counts import counts_of
from ..evidence import Evidence
from ..measured import best_of, deepest_recall, main_measure, measured
from ..segments.groups import Grouping
from ..table import Table
from .failed import failed_table, failures, failures_table
from .ladder import Step, gains_table, matters_table
from .moves import moves_table
from .segments import segments_tables
from .systems import systems_tables

CUTOFF = 10
SHOWN, FEW_SHOWN = 10, 5


def diagnose(
    evidence: Evidence,
    groupings: Sequence[Grouping] = (),
    *,
    system: str | None = None,
    cutoff: int = CUTOFF,
    most: int = SHOWN,
    rules: bool = False,
) -> list[Table]:
    """Systems and segments by the rules, the stages of a ladder where there is one, and the failed queries of one system.

    Without a name it is the best system. `rules` adds the rules themselves, with the systems for which each fired.
    """
    check_documents(evidence)
    measure = main_measure(evidence)
    chosen = system or best_of({name: each[measure] for name, each in measured(evidence, [measure]).items()})
    failed = {name: failures(evidence, name, cutoff) for name in evidence.systems}
    systems, rules_table = systems_tables(evidence)
    return [
        systems,
        *([rules_table] if rules else []),
        *(table for grouping in groupings for table in segments_tables(evidence, grouping)),
        *(ladder_tables(evidence, measure, cutoff) if evidence.rungs else []),
        failures_table(failed, cutoff),
        failed_table(evidence, failed[chosen], cutoff, most),
    ]


def ladder_tables(evidence: Evidence, measure: str, cutoff: int) -> list[Table]:
    """What each rung gains, what it does to the relevant documents, and which measure matters at its stage."""
    means = evidence.result.means
    steps = [Step(rung.name, rung.kind, means[rung.name], rung.over) for rung in evidence.rungs]
    recall = deepest_recall(evidence.result)
    ceiling = ceilings(evidence, [measure])[measure]
    return [
        gains_table(steps, measure, recall, counts_of(evidence)),
        moves_table(evidence, measure, ceiling, cutoff),
        matters_table(steps),
    ]
