"""How many queries each system's means run over: one number for all, or one for each where missing queries are left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import shown
from .evidence import Evidence
from .table import Column
from .wording import counted


@dataclass(frozen=True, slots=True)
class Counts:
    """System to the queries that its means run over, and all queries that were asked."""

    queries: Mapping[str, tuple[str, ...]]
    everything: tuple[str, ...]

    @property
    def differ(self) -> bool:
        """Whether the systems' means run over different queries."""
        return len(set(self.queries.values())) > 1

    @property
    def common(self) -> tuple[str, ...]:
        """The queries that all means run over, or all that were asked where they differ."""
        return self.everything if self.differ else next(iter(self.queries.values()))

    @property
    def column(self) -> tuple[Column, ...]:
        """A column for n, where it takes one."""
        return (Column("n", "count", "queries that the mean runs over"),) if self.differ else ()

    def cell(self, system: str | None) -> tuple[int, ...]:
        """The cell of that column for a system; for none, of a row over the common queries."""
        chosen = self.common if system is None else self.queries[system]
        return (len(chosen),) if self.differ else ()

    def of(self, system: str) -> str:
        """A system's n in words."""
        return f"n = {len(self.queries[system])}"

    @property
    def facts(self) -> dict[str, Any]:
        """The same for JSON."""
        each = {system: len(queries) for system, queries in self.queries.items()}
        return {"n": len(self.common), **({"n_by_system": each} if self.differ else {})}

    @property
    def said(self) -> tuple[str, ...]:
        """A sentence with each system's n, where a table has no place for a column."""
        each = ", ".join(f"{shown(system)} {len(queries)}" for system, queries in self.queries.items())
        return (f"Queries that a system lacks are left out of its means: n = {each}.",) if self.differ else ()

    def __str__(self) -> str:
        sizes = sorted({len(queries) for queries in self.queries.values()})
        return f"n = {counted(sizes[0], 'query', 'queries')}" if len(sizes) == 1 else f"n = {sizes[0]} to {sizes[-1]} queries"


def counts_of(evidence: Evidence) -> Counts:
    """The counts of an evidence's systems; all measures of a system run over the same queries."""
    firsts = {system.name: next(iter(system.measures.values())) for system in evidence.result.systems}
    return Counts({name: one.query_ids for name, one in firsts.items()}, evidence.result.queries)
