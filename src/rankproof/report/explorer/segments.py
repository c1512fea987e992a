"""What queries can be filtered by: their fields that have few values, and their length."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ...analysis.evidence import evidence_of_climb
from ...analysis.segments.groups import by_length
from ...data.references import ANSWERABLE, TEXTS, URLS
from ...experiment.rung import Climb

MOST = 40
_NO_SEGMENT = frozenset((*TEXTS, *URLS, ANSWERABLE, "length"))


def segments_of(climb: Climb) -> list[dict[str, Any]]:
    """Each field with its values and, for every query, which of them it has (-1 for none)."""
    groups = by_length(evidence_of_climb(climb)).segments
    ways: dict[str, Mapping[str, str]] = {name: _values(climb, name) for name in _names(climb)}
    ways["length"] = {query: name for name, queries in groups.items() for query in queries}
    return [_encoded(climb, name, found) for name, found in ways.items() if 1 < len(set(found.values())) <= MOST]


def _names(climb: Climb) -> list[str]:
    names = {name for query in climb.queries if query in climb.texts for name in climb.texts[query].fields}
    return sorted(names - _NO_SEGMENT, key=lambda name: (name != "category", name))


def _values(climb: Climb, name: str) -> dict[str, str]:
    words = ((query, _word(climb.texts[query].fields.get(name))) for query in climb.queries if query in climb.texts)
    return {query: word for query, word in words if word is not None}


def _word(value: object) -> str | None:
    if isinstance(value, str):
        return value if value.strip() else None
    return json.dumps(value) if isinstance(value, bool | int | float) else None


def _encoded(climb: Climb, name: str, found: Mapping[str, str]) -> dict[str, Any]:
    values = sorted(set(found.values()))
    places = {value: at for at, value in enumerate(values)}
    return {"name": name, "values": values, "of": [places[found[query]] if query in found else -1 for query in climb.queries]}
