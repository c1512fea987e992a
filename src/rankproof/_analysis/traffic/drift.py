"""Whether a sample of queries still stands for the traffic: how much of a new log is in queries that were not asked before."""

from __future__ import annotations

import base64
import binascii
import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rankproof._data.arrays import BoolArray, DrawnWeight, IntArray
from rankproof._data.dataset import CHANCE_FIELD, Queries
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import percent, pluralise
from rankproof._data.validation import made_id
from rankproof._data.view import View, ViewedTables
from rankproof._importers.search_log.log import SearchLog
from rankproof._importers.search_log.personal_data import personal_data
from rankproof._importers.ubi_log import normalised_query
from rankproof._io.strict_json import JsonObject

_HASH_BYTES = 6
"""Two of a million queries have the same 48 bits with a chance of 0.2%."""
_SIGNIFICANT, _POWER = 1.96, 0.84
LEAST_SESSIONS = 100


@dataclass(frozen=True, eq=False, slots=True)
class TrafficRecord:
    """What a sample remembers of its log: hashes of the queries of the first half, and the unseen share of the second half."""

    known: bytes
    unseen: float
    error: float
    sessions: int

    @classmethod
    def of(cls, queries: Iterable[str], unseen: float, error: float, sessions: int) -> TrafficRecord:
        """The record of normalised queries."""
        return cls(b"".join(sorted(map(query_hash, queries))), unseen, error, sessions)

    def knows(self, queries: Iterable[str]) -> list[bool]:
        """Whether each normalised query was asked in the first half."""
        known = {self.known[at : at + _HASH_BYTES] for at in range(0, len(self.known), _HASH_BYTES)}
        return [query_hash(query) in known for query in queries]

    def document(self) -> dict[str, Any]:
        """The record as JSON."""
        known = base64.b64encode(self.known).decode("ascii")
        return {"known": known, "unseen": self.unseen, "error": self.error, "sessions": self.sessions}


@dataclass(frozen=True, slots=True)
class TrafficDocument:
    """The record of a sample in `sample.json`."""

    known: str
    unseen: float
    error: float
    sessions: int

    def record(self, values: JsonObject) -> TrafficRecord:
        """The record; text that is no base64 of hashes is an error."""
        try:
            known = base64.b64decode(self.known, validate=True)
        except (ValueError, binascii.Error):
            known = b"?"
        if len(known) % _HASH_BYTES or not (0 <= self.unseen <= 1 and self.error >= 0):
            raise values.error("the record of the traffic was changed")
        return TrafficRecord(known, self.unseen, self.error, self.sessions)


def query_hash(query: str) -> bytes:
    """The first bytes of a sha256: enough to recognise a query, not to read it."""
    return hashlib.sha256(query.encode("utf-8", "surrogatepass")).digest()[:_HASH_BYTES]


def halves_of(log: SearchLog, counted: BoolArray) -> tuple[BoolArray, BoolArray]:
    """The sessions of the first and second half of a log by time, or in the order of the log without times."""
    times = log.sessions.time
    order = np.argsort(times, kind="stable") if np.isfinite(times).all() else np.arange(len(times))
    order = order[counted[order]]
    first = np.zeros(len(times), dtype=bool)
    first[order[: len(order) // 2]] = True
    return first, counted & ~first


def unseen_traffic(query: IntArray, is_unseen: BoolArray) -> tuple[float, float]:
    """The share of sessions in unseen queries, and its standard error by query, as sessions of one query come together."""
    if not len(query):
        return 0.0, 0.0
    sizes = np.bincount(query, minlength=len(is_unseen)).astype(np.float64)
    share = float(sizes[is_unseen].sum() / sizes.sum())
    residuals = sizes * (is_unseen - share)
    return share, math.sqrt(float(residuals @ residuals)) / float(sizes.sum())


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class SampleCheck(ViewedTables):
    """Whether a sample still stands for a later log; `weights` are those of its queries by the traffic of that log."""

    stands: bool
    answer: tuple[str, ...]
    tables: tuple[Table, ...]
    notes: tuple[str, ...]
    weights: Mapping[str, float]
    facts: Mapping[str, CellValue] = field(default_factory=dict)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The answer first."""
        return self.answer

    def to_dict(self) -> dict[str, Any]:
        """The check as JSON."""
        return {
            "stands": self.stands,
            "facts": dict(self.facts),
            "answer": list(self.answer),
            "tables": {table.name: table.records() for table in self.tables},
            "notes": list(self.notes),
        }

    def _view(self) -> View:
        return View("SampleCheck", self.tables, self.answer, self.notes)


def check_sample(log: SearchLog, queries: Queries, record: TrafficRecord) -> SampleCheck:
    """Compares the new traffic with the second half of the log from which the sample was drawn."""
    names = [normalised_query(text) for text in log.queries]
    personal = np.array([personal_data(text) is not None for text in log.queries], dtype=bool)
    query = log.sessions.query.astype(np.int64)
    counted = (query >= 0) & ~personal[np.maximum(query, 0)]
    query = query[counted]
    unseen, error = unseen_traffic(query, ~np.array(record.knows(names), dtype=bool))
    change, apart = unseen - record.unseen, math.hypot(error, record.error)
    score = change / apart if apart else 0.0
    stands = score <= _SIGNIFICANT
    weights = _new_weights(queries, names, np.bincount(query, minlength=len(names)).astype(np.int64))
    columns = (Column("log"), Column("sessions", "count"), Column("in new queries", "share"), Column("standard error", "share"))
    rows = (
        ("of the sample, second half", record.sessions // 2, record.unseen, record.error),
        ("this log", len(query), unseen, error),
    )
    table = Table("drift", "Traffic in queries that the first half of the old log did not have", columns, rows)
    gone = len(queries) - len(weights)
    missing = pluralise(gone, "query of the sample was", "queries of the sample were")
    notes = [f"{missing} not asked in this log"] if gone else []
    if len(query) < LEAST_SESSIONS:
        notes.append(f"{pluralise(len(query), 'session')} with a query show little: use the log of a month")
    facts: dict[str, CellValue] = {"change": change, "error": apart, "score": score}
    return SampleCheck(
        stands, (_verdict(stands, unseen, record.unseen, change, apart),), (table,), (*notes, *log.dropped()), weights, facts
    )


def _verdict(stands: bool, unseen: float, before: float, change: float, error: float) -> str:
    interval = f"95% CI [{100 * (change - _SIGNIFICANT * error):+.1f}, {100 * (change + _SIGNIFICANT * error):+.1f}]"
    apart = f"{100 * change:+.1f} pp, {interval}"
    now = f"{percent(unseen)} of the traffic is in queries that are new, and {percent(before)} was normal ({apart})"
    if not stands:
        return f"The set no longer stands: {now}. Draw a new one: rankproof sample LOG."
    if not error:
        return f"The set still stands: {now}."
    found = percent((_SIGNIFICANT + _POWER) * error)
    power = f"A change of {found} of the traffic is found with a chance of 80%, a smaller one less often."
    return f"The set still stands: {now}. {power}"


def _new_weights(queries: Queries, names: list[str], sessions: IntArray) -> dict[str, float]:
    """The traffic of each query of the sample in the new log over its chance; queries without traffic are left out."""
    by_id = {made_id("query", [name]): int(count) for name, count in zip(names, sessions.tolist(), strict=True) if count}
    weights = dict[str, float]()
    for key, query in queries.items():
        chance = float(query.fields.get(CHANCE_FIELD, 1.0))
        if key in by_id:
            weights[key] = DrawnWeight(by_id[key] / chance, chance)
    return weights
