"""A saved baseline and its JSON file."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rankproof._analysis.inputs import AnalysisInput, checked_system, different_data
from rankproof._data import format_versions
from rankproof._data.arrays import FloatArray
from rankproof._io import strict_json
from rankproof._io.escape import escape_json
from rankproof._io.strict_json import JsonObject
from rankproof.errors import InputError, UsageError, for_message
from rankproof.measures._parse import parse_measure


@dataclass(frozen=True, eq=False, slots=True)
class SavedValues:
    """One system: measure to query to value, and the judged queries missing from its run."""

    name: str
    measures: Mapping[str, Mapping[str, float]]
    missing: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False, slots=True)
class Baseline:
    """Saved values of systems, with the data, read options, version and time.

    `fingerprint` is that of the dataset, empty for run files.
    """

    name: str
    fingerprint: str
    qrels_fingerprint: str
    rel: int
    read_options: Mapping[str, Any]
    systems: tuple[SavedValues, ...]
    version: str
    made: str

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures, the same for every system."""
        return tuple(self.systems[0].measures)


def make_baseline(inputs: AnalysisInput, *, version: str, made: str, systems: Collection[str] = ()) -> Baseline:
    """A baseline of all systems, or of the named ones."""
    chosen = chosen_systems(inputs, systems)
    return Baseline(
        name=inputs.name,
        fingerprint=inputs.fingerprint,
        qrels_fingerprint=inputs.qrels_fingerprint,
        rel=inputs.rel,
        read_options=reading_facts(inputs),
        systems=tuple(saved_values(inputs, name) for name in chosen),
        version=version,
        made=made,
    )


def chosen_systems(inputs: AnalysisInput, names: Collection[str]) -> tuple[str, ...]:
    """The named systems, or all."""
    wanted = {checked_system(inputs, name) for name in names}
    return tuple(name for name in inputs.systems if not wanted or name in wanted)


def saved_values(inputs: AnalysisInput, name: str) -> SavedValues:
    """The values of one system, and the judged queries missing from its run; a question without a value has no answer."""
    values = inputs.result.per_query(name)
    if any(parse_measure(measure).kind == "answer" for measure in values):
        return SavedValues(name, values)
    return SavedValues(name, values, frozenset(inputs.result.queries).difference(inputs.runs[name].queries))


def reading_facts(inputs: AnalysisInput) -> dict[str, Any]:
    """The read options that values depend on."""
    return {name: value for name, value in asdict(inputs.read_options).items() if name != "threads"}


def check_same_data(inputs: AnalysisInput, baseline: Baseline) -> None:
    """Checks that the baseline has the same data, relevance threshold and read options."""
    prints = [(one.qrels_fingerprint, one.fingerprint) for one in (baseline, inputs)]
    if differs := different_data(*prints):
        raise UsageError(
            f"the baseline {for_message(baseline.name)} was saved with other data than {for_message(inputs.name)} ({differs})",
            fix="use the documents, queries and judgements of the baseline, or save a new baseline",
        )
    if baseline.rel != inputs.rel:
        raise UsageError(
            f"the baseline was saved with --rel {baseline.rel}, this run has --rel {inputs.rel}", fix="use the same --rel"
        )
    if dict(baseline.read_options) != reading_facts(inputs):
        raise UsageError("the baseline was saved with other read options", fix="use the same read options as when it was saved")


FORMAT = "rankproof-baseline"
_SAVE_AGAIN = "the file is damaged or was edited: save the baseline again with `rankproof save-baseline`"


def baseline_json(baseline: Baseline) -> str:
    """The baseline as JSON, numbers at full precision."""
    plain = {
        "format": FORMAT,
        "schema": format_versions.BASELINE,
        "rankproof": baseline.version,
        "made": baseline.made,
        "name": baseline.name,
        "fingerprint": baseline.fingerprint,
        "qrels_fingerprint": baseline.qrels_fingerprint,
        "rel": baseline.rel,
        "read_options": dict(baseline.read_options),
        "systems": [_system_json(system) for system in baseline.systems],
    }
    return escape_json(json.dumps(plain, ensure_ascii=False, indent=1, allow_nan=False)) + "\n"


def parse_baseline(text: str, source: str) -> Baseline:
    """Parses a baseline."""
    values = JsonObject(strict_json.parse_strict_json(text, source=source), source)
    if values.plain.get("format") != FORMAT:
        raise values.error("this is not a baseline", "pass a file that `rankproof save-baseline` wrote")
    try:
        return _baseline(values)
    except InputError as error:
        raise InputError(error.what, fix=error.fix if "format version" in error.what else _SAVE_AGAIN, source=source) from None


def _baseline(values: JsonObject) -> Baseline:
    if (found := values.count("schema")) != (known := format_versions.BASELINE):
        fix = format_versions.other_version_fix(found, known, "run rankproof save-baseline again")
        raise values.error(format_versions.other_version(found, known), fix)
    systems = tuple(map(_system, values.each("systems")))
    names = {system.name for system in systems}
    if not systems or len(names) < len(systems) or len({tuple(system.measures) for system in systems}) > 1:
        raise values.error("systems are missing, have the same name, or have different measures")
    return Baseline(
        name=values.text("name"),
        fingerprint=values.text("fingerprint"),
        qrels_fingerprint=values.text("qrels_fingerprint"),
        rel=values.count("rel"),
        read_options=values.inside("read_options").plain,
        systems=systems,
        version=values.text("rankproof"),
        made=values.text("made"),
    )


def _system_json(system: SavedValues) -> dict[str, Any]:
    measures = {
        name: {"value": parse_measure(name).summarise(_values_json(per_query)), "per_query": dict(per_query)}
        for name, per_query in system.measures.items()
    }
    return {"name": system.name, "missing": sorted(system.missing), "measures": measures}


def _values_json(per_query: Mapping[str, float]) -> FloatArray:
    return np.fromiter(per_query.values(), np.float64)


def _system(values: JsonObject) -> SavedValues:
    measures = values.inside("measures")
    if not measures.plain:
        raise measures.error("a system has no measure")
    found = {name: _per_query(measures.inside(name), name) for name in measures.plain}
    if len({frozenset(per_query) for per_query in found.values()}) > 1 or not any(found.values()):
        raise measures.error("the measures of a system have values for different queries, or no values at all")
    return SavedValues(values.text("name"), found, frozenset(values.texts("missing")))


def _per_query(values: JsonObject, name: str) -> Mapping[str, float]:
    each = values.inside("per_query")
    numbers = {query: each.number(query) for query in each.plain}
    if not all(map(math.isfinite, numbers.values())):
        raise values.error(f"{name} has a value that is not a finite number")
    try:
        summary = parse_measure(name).summarise(_values_json(numbers))
    except UsageError as error:
        raise values.error(error.what) from None
    if summary != values.number("value"):
        raise values.error(f"{name} is {values.number('value')}, but its queries give {summary}")
    return numbers
