"""What other tools' values come to, in words."""

from __future__ import annotations

from ...errors import shown
from ..evidence import Evidence
from .rows import OURS, Row

DEFAULT = ("nDCG@10", "RR@10", "R@100", "P@10", "AP")
"""Measures that every tool has."""


def sentences(evidence: Evidence, rows: list[Row], unknown: list[str]) -> list[str]:
    """Whether the winner changes, which value is furthest from ours, and the measures that no other tool has."""
    theirs = [row for row in rows if row.furthest is not None]
    said = _verdict(rows) if len(evidence.systems) > 1 else []
    if theirs:
        row = max(theirs, key=lambda row: row.furthest.distance if row.furthest else 0.0)
        assert row.furthest is not None
        value, ours = (f"{each:.4f}" for each in (row.furthest.theirs, row.furthest.ours))
        why = f": {row.differs}" if row.differs else ""
        said.append(f"Furthest from ours: {row.convention} of {shown(row.furthest.system)}, {value} for {ours}{why}.")
    if unknown:
        known = f"; ask for {', '.join(DEFAULT)}" if len(unknown) == len(evidence.result.systems[0].measures) else ""
        said.append(f"No other tool's convention is known here for {', '.join(unknown)}{known}.")
    return said


def _verdict(rows: list[Row]) -> list[str]:
    """Whether the winner changes, of the rows that have one; nothing where there is none."""
    others = [row for row in rows if not row.convention.startswith(f"{OURS} ")]
    telling = [row for row in others if row.changes is not None]
    changed = [f"{row.convention}: {row.winner}" for row in telling if row.changes]
    refused = _silent([row for row in others if row.changes is None])
    if changed:
        return [f"The winner changes by {len(changed)} of {len(telling)} conventions{refused}: {'; '.join(changed)}."]
    return [f"None of {len(telling)} conventions of other tools{refused} changes the winner."] if telling else []


def _silent(rows: list[Row]) -> str:
    """How many conventions name no winner, and why."""
    refused = sum(None in row.values for row in rows)
    counts = {"with a run refused": refused, "with ties undefined": len(rows) - refused}
    told = ", ".join(f"{count} more {why}" for why, count in counts.items() if count)
    return f" ({told})" if told else ""
