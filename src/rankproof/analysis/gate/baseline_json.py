"""A baseline as JSON text and back; a damaged or foreign text is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...data.arrays import FloatArray
from ...errors import InputError, UsageError
from ...experiment.results.values import Values
from ...formats import strict_json
from ...formats.harmless import for_json
from ...measures import parse
from .baseline import Baseline, Blessed

FORMAT = "rankproof-baseline"
SCHEMA = 1
_AGAIN = "the file is damaged or was changed: bless a baseline again"


def written(baseline: Baseline) -> str:
    """The baseline as JSON, numbers at full precision."""
    plain = {
        "format": FORMAT,
        "schema": SCHEMA,
        "rankproof": baseline.version,
        "made": baseline.made,
        "name": baseline.name,
        "fingerprint": baseline.fingerprint,
        "qrels_fingerprint": baseline.qrels_fingerprint,
        "rel": baseline.rel,
        "reading": dict(baseline.reading),
        "systems": [_plain_system(system) for system in baseline.systems],
    }
    return for_json(json.dumps(plain, ensure_ascii=False, indent=1, allow_nan=False)) + "\n"


def parsed(text: str, source: str) -> Baseline:
    """The baseline that the text holds."""
    values = Values(strict_json.parse(text, source=source), source)
    if values.plain.get("format") != FORMAT:
        raise values.error("this is no baseline", "name a file that `rankproof bless` wrote")
    try:
        return _baseline(values)
    except InputError as error:
        raise InputError(error.what, fix=error.fix if "schema" in error.what else _AGAIN, source=source) from None


def _baseline(values: Values) -> Baseline:
    if values.count("schema") != SCHEMA:
        raise values.error(
            f"schema {values.count('schema')} where this rankproof knows {SCHEMA}", "use the rankproof that wrote it"
        )
    systems = tuple(map(_system, values.each("systems")))
    names = {system.name for system in systems}
    if not systems or len(names) < len(systems) or len({tuple(system.measures) for system in systems}) > 1:
        raise values.error("systems are missing, have the same name, or different measures")
    return Baseline(
        name=values.text("name"),
        fingerprint=values.text("fingerprint"),
        qrels_fingerprint=values.text("qrels_fingerprint"),
        rel=values.count("rel"),
        reading=values.inside("reading").plain,
        systems=systems,
        version=values.text("rankproof"),
        made=values.text("made"),
    )


def _plain_system(system: Blessed) -> dict[str, Any]:
    measures = {
        name: {"value": parse(name).summarise(_array(per_query)), "per_query": dict(per_query)}
        for name, per_query in system.measures.items()
    }
    return {"name": system.name, "missing": sorted(system.missing), "measures": measures}


def _array(per_query: Mapping[str, float]) -> FloatArray:
    return np.fromiter(per_query.values(), np.float64)


def _system(values: Values) -> Blessed:
    measures = values.inside("measures")
    if not measures.plain:
        raise measures.error("a system has no measure")
    found = {name: _per_query(measures.inside(name), name) for name in measures.plain}
    if len({frozenset(per_query) for per_query in found.values()}) > 1 or not any(found.values()):
        raise measures.error("measures have no queries, or different ones")
    return Blessed(values.text("name"), found, frozenset(values.texts("missing")))


def _per_query(values: Values, name: str) -> Mapping[str, float]:
    each = values.inside("per_query")
    numbers = {query: each.number(query) for query in each.plain}
    if not all(map(math.isfinite, numbers.values())):
        raise values.error(f"{name} has a value that is no finite number")
    try:
        told = parse(name).summarise(_array(numbers))
    except UsageError as error:
        raise values.error(error.what) from None
    if told != values.number("value"):
        raise values.error(f"{name} is {values.number('value')}, and its queries give {told}")
    return numbers
