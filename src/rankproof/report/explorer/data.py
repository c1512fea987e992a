"""The explorer's data in columns: names once, numbers as they are, documents by their place in one list."""

from __future__ import annotations

from typing import Any

from ...experiment.rung import Climb


def explorer_data(climb: Climb) -> dict[str, Any]:
    """Systems, measures, queries and values; see docs/report.md for the shape."""
    return {"systems": [rung.name for rung in climb.rungs], "queries": list(climb.queries)}
