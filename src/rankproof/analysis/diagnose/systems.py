"""Diagnosis: what the values of each system and segment point at, and whether chance would have done better."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import shown
from ...measures import parse
from ..baselines.chance import Chance, chance_notes, chance_of
from ..baselines.luck import said_of_luck, verdict
from ..counts import counts_of
from ..evidence import Evidence
from ..measured import measured
from ..table import Column, Glance, Item, Table
from ..wording import brief
from .near import near
from .rules import FEW, NEEDED, RULES, TEN, diagnosis, explained, fired

_NEAR = Column("near", about="bounds so near that other queries could give another diagnosis")
PerQuery = Mapping[str, Mapping[str, float]]
"""Measure to query to value."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The values of a system over some queries, and those of a random ranking where they are known.

    `unlucky` is how likely a random ranking is to have as few successes in the first ten, or fewer.
    """

    system: str
    n: int
    values: Mapping[str, float]
    chance: Mapping[str, float]
    unlucky: float | None

    @property
    def worse(self) -> list[str]:
        """The measures in which chance does better."""
        return [name for name, value in self.values.items() if value < self.chance.get(name, -1.0)]

    @property
    def near(self) -> str | None:
        """The bounds that are too near for the diagnosis to be sure."""
        return "; ".join(map(str, near(self.values, self.n))) or None

    @property
    def words(self) -> str:
        """What the values point at."""
        return "; ".join([*([verdict(self.unlucky)] if self.worse else []), diagnosis(self.values)])


def findings(evidence: Evidence, groups: Mapping[str, Sequence[str]]) -> list[dict[str, Finding]]:
    """For each system what it shows over each group of queries; groups of which it has no query are left out."""
    values = measured(evidence, NEEDED)
    queries = evidence.result.queries
    chances = {name: dict(zip(queries, each.values.tolist(), strict=True)) for name, each in _chances(evidence, queries).items()}
    found = []
    for system, ones in values.items():
        each = {name: one.per_query for name, one in ones.items()}
        chosen = {name: tuple(query for query in group if query in each[TEN]) for name, group in groups.items()}
        found.append({name: finding_of(system, ids, each, chances) for name, ids in chosen.items() if ids})
    return found


def finding_of(system: str, queries: Sequence[str], values: PerQuery, chances: PerQuery) -> Finding:
    """The means of values and chances over the queries."""
    means = {name: math.fsum(each[query] for query in queries) / len(queries) for name, each in values.items()}
    chance = {name: Chance(np.array([each[query] for query in queries])) for name, each in chances.items()}
    unlucky = chance[TEN].of_at_most(round(means[TEN] * len(queries))) if TEN in chance else None
    return Finding(system, len(queries), means, {name: each.value for name, each in chance.items()}, unlucky)


def _chances(evidence: Evidence, queries: tuple[str, ...]) -> dict[str, Chance]:
    """What a random ranking gives over the queries; nothing where the size of the corpus is not known."""
    found = {name: chance_of(evidence, parse(name).with_rel(evidence.rel), queries) for name in NEEDED}
    return {name: chance for name, chance in found.items() if chance is not None}


def systems_tables(evidence: Evidence) -> tuple[Table, Table]:
    """Each system's values and what they point at, with the numbers that fired each rule; then the rules themselves."""
    found, counts = [each[""] for each in findings(evidence, {"": evidence.result.queries})], counts_of(evidence)
    rows: list[tuple[Item, ...]] = [values_row(each.system, each.n, each.values, each.words, each.near) for each in found]
    chances = _chances(evidence, counts.common)
    if chances:
        means = {name: each.value for name, each in chances.items()}
        rows.insert(0, values_row("random ranking", len(counts.common), means, "expected value", None))
    table = Table(
        name="diagnosis",
        title=f"What the values point at: {counts}",
        columns=(Column("system"), *values_columns()),
        rows=tuple(rows),
        sentences=(*(said for each in found for said in _worse_said(each)), *_systems_said(found)),
        notes=chance_notes(evidence),
        facts={**counts.facts, "documents": evidence.documents},
        verdict_first=True,
        glance=Glance(("system", *(column.name for column in counts.column), FEW, "diagnosis"), tuple(range(len(rows)))),
    )
    return table, _rules_table(found)


def values_columns() -> tuple[Column, ...]:
    """The columns of n, the values that rules look at, and what they point at."""
    return (Column("n", "count"), *(Column(name, "value") for name in NEEDED), Column("diagnosis"), _NEAR)


def values_row(name: str, n: int, values: Mapping[str, float], words: str, near_to: str | None) -> tuple[Item, ...]:
    """The cells of those columns behind a name."""
    return (name, n, *(values[measure] for measure in NEEDED), words, near_to)


def _systems_said(found: Sequence[Finding]) -> list[str]:
    said = explained({shown(each.system): each.values for each in found})
    silent = [shown(each.system) for each in found if not fired(each.values)]
    unsure = [f"{shown(each.system)} ({each.near})" for each in found if each.near]
    said += [f"No rule fires for {', '.join(silent)}: the values lie between the rules."] if silent else []
    said += [f"Near a bound, so that other queries could give another diagnosis: {'; '.join(unsure)}."] if unsure else []
    return said


def _worse_said(found: Finding) -> list[str]:
    if not found.worse:
        return []
    numbers = ", ".join(f"{name} {brief(found.values[name])} against {brief(found.chance[name])}" for name in found.worse)
    lead = f"{verdict(found.unlucky)}: {shown(found.system)} is below the expected value of a random ranking"
    return [f"{lead}: {numbers} (n = {found.n}{said_of_luck(found.unlucky)})."]


def _rules_table(found: Sequence[Finding]) -> Table:
    rows = tuple(
        (
            rule.name,
            ", ".join(map(str, rule.conditions)),
            ", ".join(each.system for each in found if rule in fired(each.values)) or None,
            rule.source,
        )
        for rule in RULES
    )
    columns = (Column("rule"), Column("fires where"), Column("fired for"), Column("source"))
    return Table("rules", "The rules of diagnosis", columns, rows)
