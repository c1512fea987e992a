"""Quality bands of measures: profiles from TOML, and the table of systems by band."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import as_file, files
from itertools import pairwise
from typing import Any

from rankproof._analysis.baselines import reference_systems
from rankproof._analysis.chance import chance_values
from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.values import QueryCounts, measure_results, query_counts
from rankproof._data.table import CellValue, Column, Table
from rankproof._evaluation.result import MeasureResult
from rankproof._io.toml_file import KeyPath, TomlFile, read_toml
from rankproof.errors import UsageError, for_message
from rankproof.measures._answers import AnswerMeasure
from rankproof.measures._base import BinaryMeasure, Measure
from rankproof.measures._parse import parse_measure


@dataclass(frozen=True, slots=True)
class QualityBand:
    """A named band with its lower bound, which a value must reach, or exceed if it is strict."""

    name: str
    bound: float
    strict: bool = False

    def holds(self, value: float) -> bool:
        """Whether the value is high enough."""
        return value > self.bound if self.strict else value >= self.bound

    def __str__(self) -> str:
        return f"{self.name} {'above' if self.strict else 'from'} {self.bound:g}"


Bands = tuple[QualityBand, ...]


@dataclass(frozen=True, slots=True)
class BandProfile:
    """Bands by measure, lowest first, with their source."""

    name: str
    source: str
    measures: Mapping[str, Bands]

    def bands_of(self, measure: Measure | str) -> Bands | None:
        """The bands of a measure for any relevance threshold; None if the profile has none."""
        return self.measures.get(_without_rel(measure))

    def band(self, measure: Measure | str, value: float) -> QualityBand | None:
        """The band of a value; None if the profile has none for it."""
        bands = self.bands_of(measure)
        return None if bands is None else band_of(value, bands)


def band_of(value: float, bands: Bands) -> QualityBand | None:
    """The highest band whose lower bound the value reaches; None below all of them."""
    return next((band for band in reversed(bands) if band.holds(value)), None)


def is_answer_measure(measure: str) -> bool:
    """Whether the measure evaluates answers instead of rankings."""
    return isinstance(parse_measure(measure), AnswerMeasure)


def _without_rel(measure: Measure | str) -> str:
    return str(replace(measure, rel=None) if isinstance(measure, BinaryMeasure) else measure)


_EXAMPLE = 'write a table [name.measures."Success@5"] with Poor = 0 and Good = 0.8'


def profiles_from_toml(file: TomlFile) -> dict[str, BandProfile]:
    """Every profile of the file by name."""
    if not file.values:
        raise file.error((), "the file has no profile", _EXAMPLE)
    return {name: _profile(file, name, table) for name, table in file.values.items()}


def _profile(file: TomlFile, name: str, table: Any) -> BandProfile:
    if not isinstance(table, dict):
        raise file.error((name,), f"{for_message(name)} is not a profile", _EXAMPLE)
    for key in table:
        if key not in ("source", "measures"):
            raise file.unknown((name, key), "unknown key", key, ("source", "measures"))
    source, measures = table.get("source"), table.get("measures")
    if not isinstance(source, str) or not source.strip():
        raise file.error((name, "source"), f"{for_message(name)} has no source", 'add the source of the bands: source = "…"')
    if not isinstance(measures, dict) or not measures:
        raise file.error((name, "measures"), f"{for_message(name)} has no measure", _EXAMPLE)
    return BandProfile(name, source, _measures(file, (name, "measures"), measures))


def _measures(file: TomlFile, path: KeyPath, tables: Mapping[str, Any]) -> dict[str, Bands]:
    found: dict[str, Bands] = {}
    for key, table in tables.items():
        full = _measure(file, (*path, key), key)
        if full in found:
            raise file.error((*path, key), f"{for_message(key)} means {full}, which already has bands", "remove one of the two")
        found[full] = _bands(file, (*path, key), table)
    return found


def _measure(file: TomlFile, path: KeyPath, name: str) -> str:
    """The measure's full name."""
    try:
        return str(parse_measure(name))
    except UsageError as error:
        raise file.error(path, error.what, error.fix) from None


def _bands(file: TomlFile, path: KeyPath, table: Any) -> Bands:
    if not isinstance(table, dict) or not table:
        raise file.error(path, f"{for_message(str(path[-1]))} has no band", "add bands such as Poor = 0 and Good = 0.8")
    bands = tuple(_band(file, (*path, name), name, bound) for name, bound in table.items())
    for lower, higher in pairwise(bands):
        if not (lower.bound, lower.strict) < (higher.bound, higher.strict):
            what = f"{for_message(higher.name)} does not begin above {for_message(lower.name)}"
            raise file.error((*path, higher.name), what, "write the lowest band first, each bound above the one before")
    return bands


def _band(file: TomlFile, path: KeyPath, name: str, bound: Any) -> QualityBand:
    strict = isinstance(bound, dict) and set(bound) == {"above"}
    number = bound["above"] if strict else bound
    if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
        raise file.error(path, f"{for_message(name)} has no lower bound", "write a number, or { above = 0.65 }")
    return QualityBand(name, float(number), strict)


@lru_cache(maxsize=1)
def builtin_profiles() -> Mapping[str, BandProfile]:
    """Every built-in profile by name."""
    with as_file(files(__package__).joinpath("bands.toml")) as path:
        return profiles_from_toml(read_toml(str(path)))


def bands_table(inputs: AnalysisInput, profile: BandProfile, references: Mapping[str, str] | None = None) -> Table | None:
    """The value and band of every system in the ranking measures of the profile; None if it has no such measure."""
    roles = reference_systems(inputs) if references is None else references
    names = _shown_measures(profile)
    if not names:
        return None
    values, counts = measure_results(inputs, names), query_counts(inputs)
    measures = {name: one.measure for name, one in next(iter(values.values())).items()}
    chances = [chance_values(inputs, measure, counts.common) for measure in measures.values()]
    rows = [_row(system, counts, profile, each) for system, each in values.items()]
    random: list[CellValue] = ["random ranking", *counts.cell(None)]
    for chance in chances:
        random += [None if chance is None else chance.value, None]
    return Table(
        name=f"bands {profile.name}",
        title=f"Quality bands of the profile {profile.name}: {counts}",
        columns=(
            *(Column("system"), *counts.column),
            *(column for name in names for column in (Column(name, "value"), Column(f"{name} band"))),
        ),
        rows=tuple(rows) if None in chances else (tuple(random), *rows),
        sentences=(
            *(f"{name}: {', '.join(map(str, profile.measures[name]))}." for name in names),
            *(f"{role}: {for_message(name)}." for role, name in roles.items()),
            f"Source: {profile.source}.",
            "A band is a rule of thumb: values depend on the queries and the corpus size, so compare them with the baselines.",
        ),
        facts={**counts.facts, "profile": profile.name, "source": profile.source},
    )


def _shown_measures(profile: BandProfile) -> list[str]:
    """The ranking measures of the profile; of those with the same name and bands but another cutoff only the last."""
    names = [name for name in profile.measures if not is_answer_measure(name)]
    same = {(name.partition("@")[0], profile.measures[name]): name for name in names}
    return list(same.values())


def _row(system: str, counts: QueryCounts, profile: BandProfile, values: Mapping[str, MeasureResult]) -> tuple[CellValue, ...]:
    items: list[CellValue] = [system, *counts.cell(system)]
    for name, one in values.items():
        band = profile.band(name, one.value)
        items += [one.value, None if band is None else band.name]
    return tuple(items)
