"""The steps of a ladder as JUnit XML: a case for each system and measure, failed where it is surely worse than the one below."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..analysis.compare.pairs import turned
from ..analysis.gate.decide import Gate
from ..analysis.gate.decision import Decision
from ..analysis.table import Item, Table
from ..analysis.wording import p_words
from ..errors import shown
from ..experiment.rung import Climb, Rung
from .junit import as_junit


def as_steps_junit(climb: Climb, details: Table | None) -> str:
    """The document; `details` is what `compare` gives, None where nothing could be compared."""
    rows = {} if details is None else {_key(row): row for row in details.records()}
    decisions = tuple(decision for rung in climb.rungs for decision in _decisions(climb, rung, rows))
    made = str(climb.provenance.get("made") or "1970-01-01T00:00:00Z")
    return as_junit(Gate(decisions, climb.notes), name=f"rankproof export {climb.name}", made=made)


def _decisions(climb: Climb, rung: Rung, rows: Mapping[tuple[str, frozenset[str]], Mapping[str, Item]]) -> Iterator[Decision]:
    for measure, value in climb.result.means[rung.name].items():
        row = rows.get((measure, frozenset((rung.name, rung.over or ""))))
        if row is None or rung.over is None:
            sentence = f"{shown(rung.name)}: {measure} is {value:.4f}"
            yield Decision("system", rung.name, True, sentence, measure)
            continue
        verdict = str(row["verdict"])
        own = verdict if row["system"] == rung.name else turned(verdict)
        below, p = climb.result.means[rung.over][measure], row["p"]
        told = f"{measure} is {value:.4f}, that of {shown(rung.over)} {below:.4f} ({p_words(p if isinstance(p, float) else 1.0)})"
        yield Decision("drop", rung.name, own != "worse", f"{shown(rung.name)} is {own}: {told}", measure)


def _key(row: Mapping[str, Item]) -> tuple[str, frozenset[str]]:
    return str(row["measure"]), frozenset((str(row["system"]), str(row["other"])))
