"""What a tracking store is told of each system: parameters, metrics, tags, and a table of its queries."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from ..evaluation import Result
from ..experiment.results.document import document, written
from ..experiment.results.tables import per_query_csv
from ..experiment.rung import Climb, Rung
from ..version import __version__
from ..views.long_rows import costs_of
from .names import LONGEST_TAG, cut, flat, legal

Value = TypeVar("Value")
ID = "rankproof.id"
"""The tag by which an entry is known again."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One system of a climb; `made` is when, in milliseconds since 1970, None where that is not known."""

    system: str
    params: Mapping[str, str]
    metrics: Mapping[str, float]
    tags: Mapping[str, str]
    table: str
    made: int | None


def entries_of(climb: Climb) -> list[Entry]:
    """An entry for each rung; the same results give the same ids."""
    whole = hashlib.sha256(written(document(climb, per_query=True)).encode(errors="backslashreplace")).hexdigest()
    return [_entry(climb, rung, whole) for rung in climb.rungs]


def _entry(climb: Climb, rung: Rung, whole: str) -> Entry:
    own = hashlib.sha256(f"{whole} {rung.name}".encode(errors="backslashreplace")).hexdigest()
    metrics = {**_means(climb.result, rung.name), **_means(climb.chunks, rung.name, "chunks "), **_costs(rung)}
    metrics |= _means(climb.answers, rung.name, "answers ")
    params = flat({"kind": rung.kind, "over": rung.over or "", "rel": climb.rel, "stage": dict(rung.stage)})
    return Entry(
        system=rung.name,
        params=_named(params),
        metrics=_named(metrics),
        tags={name: cut(text, LONGEST_TAG) for name, text in _tags(climb, rung, own).items()},
        table=per_query_csv(_alone(climb, rung)),
        made=_milliseconds(str(climb.provenance.get("made") or "")),
    )


def _means(result: Result | None, system: str, before: str = "") -> dict[str, float]:
    if result is None or system not in result.means:
        return {}
    (own,) = (one.measures for one in result.systems if one.name == system)
    return {f"{before}{name}": float(one.value) for name, one in own.items() if one.queries}


def _costs(rung: Rung) -> dict[str, float]:
    """What the system costs, without the times of stages that it does not have."""
    return {name: value for name, value in costs_of(rung).items() if value or "_ms_" not in name}


def _named(values: Mapping[str, Value]) -> dict[str, Value]:
    names = legal(values)
    return {names[name]: value for name, value in values.items()}


def _tags(climb: Climb, rung: Rung, own: str) -> dict[str, str]:
    provenance = flat({"provenance": dict(climb.provenance)})
    return {
        ID: own,
        "rankproof.version": __version__,
        "rankproof.experiment": climb.name,
        "rankproof.system": rung.name,
        "rankproof.fingerprint": climb.fingerprint,
        "rankproof.qrels": climb.qrels.fingerprint(),
        "rankproof.queries": str(len(climb.result.queries)),
        "mlflow.source.name": "rankproof",
        **{f"rankproof.{name}": text for name, text in _named(provenance).items()},
    }


def _alone(climb: Climb, rung: Rung) -> Climb:
    """The climb with this system only."""
    systems = tuple(system for system in climb.result.systems if system.name == rung.name)
    return replace(climb, rungs=(rung,), result=replace(climb.result, systems=systems))


def _milliseconds(made: str) -> int | None:
    try:
        return int(datetime.fromisoformat(made).timestamp() * 1000)
    except ValueError:
        return None
