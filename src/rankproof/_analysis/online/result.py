"""`OnlineResult`: what a log of live search says, as a decision and tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rankproof._analysis.decision.record import Decision
from rankproof._analysis.online.evidence import LogKind
from rankproof._data.table import CellValue, Table
from rankproof._data.view import View, ViewedTables

ResultKind = LogKind | Literal["value", "history"]
KIND_NAMES: Mapping[ResultKind, str] = {
    "interleaving": "interleaving",
    "ab": "A/B test",
    "one": "one ranking system",
    "value": "what rankings would have got",
    "history": "past experiments",
}


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class OnlineResult(ViewedTables):
    """What users did: the kind of the log, the decision (None with one system), and tables, the answer first.

    `facts` say how many sessions, users and events count and from when to when; `notes` what was dropped and what is unusual.
    `answer` are the sentences of a result without a decision, about rankings that were not shown or past experiments.
    """

    kind: ResultKind
    decision: Decision | None
    tables: tuple[Table, ...]
    notes: tuple[str, ...] = ()
    facts: Mapping[str, CellValue] = field(default_factory=dict)
    answer: tuple[str, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """The decision in words, the answer first."""
        return self.answer if self.decision is None else self.decision.sentences

    def table(self, name: str) -> Table | None:
        """The table of that name, None if there is none."""
        return next((table for table in self.tables if table.name == name), None)

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON."""
        return {
            "kind": self.kind,
            "facts": dict(self.facts),
            "answer": list(self.answer),
            "decision": None if self.decision is None else self.decision.to_dict(),
            "tables": {table.name: table.records() for table in self.tables},
            "notes": list(self.notes),
        }

    def _view(self) -> View:
        return View(f"OnlineResult: {KIND_NAMES[self.kind]}", self.tables, self.sentences, self.notes)
