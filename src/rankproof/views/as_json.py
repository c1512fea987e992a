"""JSON: full precision, ids as they are, one measure a line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..evaluation import MeasureResult, Result, SystemResult
from .escape import for_json
from .look import Look


def render(result: Result, look: Look) -> str:
    """The result as one JSON object."""
    systems = ",\n".join(_system(system, look) for system in result.systems)
    return for_json(f'{{"queries": {len(result.queries)}, "systems": [\n{systems}\n]}}\n')


def _system(system: SystemResult, look: Look) -> str:
    measures = ",\n".join(f"    {_dump(name)}: {_dump(_measure(one, look))}" for name, one in system.measures.items())
    notes = ",\n".join(f"    {_dump({'code': note.code, 'count': note.count, 'text': note.text})}" for note in system.notes)
    listed = f"[\n{notes}\n  ]" if notes else "[]"
    return f'  {{"name": {_dump(system.name)}, "measures": {{\n{measures}\n  }}, "notes": {listed}}}'


def _measure(one: MeasureResult, look: Look) -> Mapping[str, Any]:
    shown = {"value": one.value, "summary": one.summary, "queries": one.queries}
    return shown | {"per_query": one.per_query} if look.per_query else shown


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
