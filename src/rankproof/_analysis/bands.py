"""Quality bands of measures: named, sourced profiles, the band of a value with its interval, and what the bands mean."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import as_file, files
from itertools import pairwise
from typing import Any, Literal, get_args

from rankproof._analysis.baselines import reference_systems
from rankproof._analysis.chance import chance_values
from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.values import QueryCounts, measure_results, query_counts
from rankproof._data.table import CellValue, Column, Table, TableSummary
from rankproof._evaluation.result import MeasureResult
from rankproof._io.toml_file import KeyPath, TomlFile, read_toml
from rankproof._statistics.intervals import Interval
from rankproof.errors import UsageError, for_message
from rankproof.measures._answers import AnswerMeasure
from rankproof.measures._base import BinaryMeasure, Measure
from rankproof.measures._parse import parse_measure, parse_measures

Rating = Literal["good", "weak", "failing"]
"""What a band says in one word."""


@dataclass(frozen=True, slots=True)
class QualityBand:
    """A named band with its lower bound, which a value must reach, or exceed if it is strict.

    `means` says what the band means for a product, `next_step` what to do next; both are sentences, empty if not known.
    """

    name: str
    bound: float
    strict: bool = False
    rating: Rating | None = None
    means: str = ""
    next_step: str = ""

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

    def only(self, measures: Iterable[Measure]) -> BandProfile | None:
        """The profile with the bands of these measures alone; None if it has none of them."""
        known = {_without_rel(measure) for measure in measures}
        chosen = {name: bands for name, bands in self.measures.items() if name in known}
        return replace(self, measures=chosen) if chosen else None

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


_EXAMPLE = 'write [name] with source = "…", then a table [name.measures."Success@5"] with Poor = 0 and Good = 0.8'


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
    bands_of: dict[str, Bands] = {}
    for key, table in tables.items():
        for measure in _parsed_measures(file, (*path, key), key):
            full = str(measure)
            if full in bands_of:
                what = f"{for_message(key)} means {full}, which already has bands"
                raise file.error((*path, key), what, "remove one of the two")
            bands_of[full] = _bands(file, (*path, key), table, measure.range)
    return bands_of


def _parsed_measures(file: TomlFile, path: KeyPath, names: str) -> list[Measure]:
    """Measures separated by commas, without a relevance threshold."""
    try:
        measures = parse_measures(names)
    except UsageError as error:
        raise file.error(path, error.what, error.fix) from None
    for measure in measures:
        if str(measure) != _without_rel(measure):
            what = f"{measure} has a relevance threshold, but bands hold for any threshold"
            raise file.error(path, what, f"write {_without_rel(measure)}")
    return measures


def _bands(file: TomlFile, path: KeyPath, table: Any, within: tuple[float, float]) -> Bands:
    if not isinstance(table, dict) or not table:
        raise file.error(path, f"{for_message(str(path[-1]))} has no band", "add bands such as Poor = 0 and Good = 0.8")
    bands = tuple(_band(file, (*path, name), name, bound, within) for name, bound in table.items())
    for lower, higher in pairwise(bands):
        if not (lower.bound, lower.strict) < (higher.bound, higher.strict):
            what = f"{for_message(higher.name)} does not begin above {for_message(lower.name)}"
            raise file.error((*path, higher.name), what, "write the lowest band first, each bound above the one before")
    for lower, higher in pairwise(band for band in bands if band.rating is not None):
        if _RATINGS.index(higher.rating) < _RATINGS.index(lower.rating):
            what = f"{for_message(higher.name)} is {higher.rating}, but {for_message(lower.name)} below it is {lower.rating}"
            fix = "rate a higher band at least as well: failing, weak, then good"
            raise file.error((*path, higher.name, "rating"), what, fix)
    return bands


_RATINGS: tuple[Rating | None, ...] = ("failing", "weak", "good")
_BOUNDS = ("from", "above")
_BAND_KEYS = (*_BOUNDS, "rating", "means", "next")


def _band(file: TomlFile, path: KeyPath, name: str, value: Any, within: tuple[float, float]) -> QualityBand:
    """The band of a number, or of a table with one of the keys from and above."""
    if not name.strip():
        raise file.error(path, "a band has an empty name", "name it, for example Good = 0.8")
    table = value if isinstance(value, dict) else {"from": value}
    for key in table:
        if key not in _BAND_KEYS:
            raise file.unknown((*path, key), "unknown key", key, _BAND_KEYS)
    bound, strict = _bound(file, path, table, within)
    rating = table.get("rating")
    if rating is not None and rating not in get_args(Rating):
        what = f"the rating of {for_message(name)} is {for_message(str(rating))}"
        raise file.error((*path, "rating"), what, f"choose from: {', '.join(get_args(Rating))}")
    means, next_step = (_sentence(file, (*path, key), table.get(key)) for key in ("means", "next"))
    return QualityBand(name, bound, strict, rating, means, next_step)


def _bound(file: TomlFile, path: KeyPath, table: Mapping[str, Any], within: tuple[float, float]) -> tuple[float, bool]:
    """The lower bound in the range of the measure, and whether a value must exceed it."""
    name, (low, high) = for_message(str(path[-1])), within
    keys = [key for key in _BOUNDS if key in table]
    if not keys:
        raise file.error(path, f"{name} has no lower bound", "write a number, or { above = 0.65 }")
    if len(keys) == 2:
        raise file.error(path, f"{name} has both from and above", "remove one of the two")
    value = table[keys[0]]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise file.error(path, f"the lower bound of {name} is not a number", "write a number without quotes, such as 0.65")
    number = _as_float(value)
    if not low <= number <= high or not math.isfinite(number):
        what = f"the lower bound of {name} is {number:g}, but {for_message(str(path[-2]))} is from {low:g} to {high:g}"
        percent = "; 80% is 0.80" if within == (0.0, 1.0) else ""
        raise file.error(path, what, f"write a number in this range{percent}")
    return number, keys[0] == "above"


def _as_float(number: float) -> float:
    """The number as a float; an integer that is too large for one is infinite."""
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _sentence(file: TomlFile, path: KeyPath, text: Any) -> str:
    """The text without the full stop at its end; empty without a text."""
    if text is None:
        return ""
    if not isinstance(text, str) or not text.strip() or "\n" in text.strip():
        raise file.error(
            path, f"{for_message(str(path[-1]))} is not a line of text", "write one sentence in quotes, or leave it out"
        )
    return text.strip().removesuffix(".")


@lru_cache(maxsize=1)
def builtin_profiles() -> Mapping[str, BandProfile]:
    """Every built-in profile by name."""
    with as_file(files(__package__).joinpath("bands.toml")) as path:
        return profiles_from_toml(read_toml(str(path)))


def requested_profiles(
    bands: str | os.PathLike[str] | None = None, names: str | Sequence[str] | None = None
) -> list[BandProfile]:
    """The profiles in the file `bands`, by default the built-in ones; with `names` only those of these names."""
    profiles = builtin_profiles() if bands is None else profiles_from_toml(read_toml(bands))
    chosen = [names] if isinstance(names, str) else list(names or profiles)
    for name in chosen:
        if name not in profiles:
            raise UsageError(
                f"no profile is called {for_message(str(name))}", fix=f"choose from: {', '.join(map(for_message, profiles))}"
            )
    return [profile for name, profile in profiles.items() if name in chosen]


TOO_FEW = "too few queries"
NO_RATING = "no rating"


def profile_for(measure: Measure | str, profiles: Iterable[BandProfile]) -> BandProfile | None:
    """The first profile with bands for the measure; None if there is none."""
    return next((profile for profile in profiles if profile.bands_of(measure) is not None), None)


def has_ratings(bands: Bands) -> bool:
    """Whether every band has a rating."""
    return all(band.rating for band in bands)


def band_text(bands: Bands, value: float, interval: Interval | None) -> str:
    """The band of the value; in brackets the bands within its interval, if there are several."""
    return _with_range(_name(bands, value), _ends(bands, interval, _name))


def rating_text(bands: Bands, value: float, interval: Interval | None, *, enough: bool) -> str:
    """The rating of the value; in brackets the ratings within its interval, if there are several."""
    return _with_range(_rating(bands, value), _ends(bands, interval, _rating)) if enough else TOO_FEW


def is_failing(bands: Bands, interval: Interval | None) -> bool:
    """Whether the whole interval is failing."""
    return interval is not None and _rating(bands, interval[1]) == "failing"


def _ends(bands: Bands, interval: Interval | None, word: Callable[[Bands, float], str]) -> tuple[str, str] | None:
    return None if interval is None else (word(bands, interval[0]), word(bands, interval[1]))


def _with_range(own: str, ends: tuple[str, str] | None) -> str:
    if ends is None:
        return f"{own} (no interval)"
    return own if ends[0] == ends[1] else f"{own} ({ends[0]} to {ends[1]})"


def _name(bands: Bands, value: float) -> str:
    band = band_of(value, bands)
    return f"below {bands[0].name}" if band is None else band.name


def _rating(bands: Bands, value: float) -> str:
    """The rating of the band; a value below every band has none."""
    band = band_of(value, bands)
    return NO_RATING if band is None or band.rating is None else band.rating


def describe_bands(profile: BandProfile, bands: Bands, percent: str) -> str:
    """The bands in one sentence, with their ratings."""
    texts = ", ".join(f"{band} ({band.rating})" if band.rating else str(band) for band in bands)
    what = "band and rating" if has_ratings(bands) else "band"
    return (
        f"Bands of the profile {profile.name}: {texts}. In brackets: lowest to highest {what} within the {percent} interval."
        " A band is a rule of thumb."
    )


def describe_missing_bands(measure: Measure, profiles: Sequence[BandProfile]) -> tuple[str, ...]:
    """A note that none of these profiles has bands for the measure, with a measure that has them."""
    if not profiles or profile_for(measure, profiles) is not None:
        return ()
    names = [for_message(profile.name) for profile in profiles]
    whose = f"the profile {names[0]} has" if len(names) == 1 else f"the profiles {', '.join(names)} have"
    rated = rated_measure([name for profile in profiles for name in profile.measures])
    return (f"{whose} no bands for {measure}; choose another measure, such as -m {rated}",)


def rated_measure(measures: Sequence[str]) -> str:
    """The measure that rates segments: Success@5 if it is among these, else the first."""
    return "Success@5" if "Success@5" in measures else measures[0]


def reached_bands(
    profile: BandProfile, values: Mapping[str, Mapping[str, MeasureResult]], names: Sequence[str]
) -> dict[tuple[str, QualityBand], list[str]]:
    """The systems in each band of each measure that some system reaches, lowest band first."""
    reached: dict[tuple[str, QualityBand], list[str]] = {}
    for name in names:
        for band in profile.measures[name]:
            systems = [system for system, value in values.items() if profile.band(name, value[name].value) == band]
            if systems:
                reached[name, band] = systems
    return reached


def meanings_table(profile: BandProfile, reached: Mapping[tuple[str, QualityBand], Sequence[str]]) -> Table | None:
    """What each band that a system reaches means, and what to do next; None if the profile does not say it."""
    rows: list[tuple[CellValue, ...]] = [
        (f"{measure} {band.name}", ", ".join(systems), band.means or None, band.next_step or None)
        for (measure, band), systems in reached.items()
        if band.means or band.next_step
    ]
    if not rows:
        return None
    columns = (Column("band", about="measure and band"), Column("systems"), Column("meaning"), Column("what to do next"))
    title = f"What the bands of the profile {profile.name} mean"
    return Table(
        f"band meanings {profile.name}", title, columns, tuple(rows), facts={"profile": profile.name}, summary=TableSummary()
    )


def bands_tables(inputs: AnalysisInput, profile: BandProfile, references: Mapping[str, str] | None = None) -> list[Table]:
    """The value and band of every system in the ranking measures of the profile, and what these bands mean.

    Empty if the profile has no such measure; without the second table if it does not say what its bands mean.
    """
    roles = reference_systems(inputs) if references is None else references
    names = _shown_measures(profile)
    if not names:
        return []
    values, counts = measure_results(inputs, list(names)), query_counts(inputs)
    measures = {name: result.measure for name, result in next(iter(values.values())).items()}
    chances = [chance_values(inputs, measure, counts.common) for measure in measures.values()]
    rows = [_row(system, counts, profile, value) for system, value in values.items()]
    random: list[CellValue] = ["random ranking", *counts.cell(None)]
    for chance in chances:
        random += [None if chance is None else chance.value, None]
    columns = (
        *(Column("system"), *counts.column),
        *(column for name in names for column in (Column(name, "value"), Column(f"{name} band"))),
    )
    rows = rows if None in chances else [tuple(random), *rows]
    banded = tuple(at for at, row in enumerate(rows) if row[0] in values)
    shown = Table(
        name=f"bands {profile.name}",
        title=f"Quality bands of the profile {profile.name}: {counts}",
        columns=columns,
        rows=tuple(rows),
        sentences=(
            *(f"{', '.join(same)}: {', '.join(map(str, profile.measures[name]))}." for name, same in names.items()),
            *(f"{role}: {for_message(name)}." for role, name in roles.items()),
            f"Source: {profile.source}.",
            "A band is a rule of thumb: values depend on the queries and the corpus size, so compare them with the baselines.",
        ),
        facts={**counts.facts, "profile": profile.name, "source": profile.source},
        summary=TableSummary(tuple(column.name for column in columns), banded, ()),
    )
    meanings = meanings_table(profile, reached_bands(profile, values, list(names)))
    return [shown] if meanings is None else [shown, meanings]


def _shown_measures(profile: BandProfile) -> dict[str, list[str]]:
    """The ranking measures of the profile, each with the names that have its bands.

    A measure without a cutoff is left out beside the same measure with one cutoff and the same bands, as RR beside RR@10.
    """
    names = [name for name in profile.measures if not is_answer_measure(name)]
    names_of = {name: [name] for name in names}
    for name in names:
        cut = [other for other in names if other.startswith(f"{name}@") and profile.measures[other] == profile.measures[name]]
        if len(cut) == 1:
            names_of[cut[0]] = [*names_of.pop(name), *names_of[cut[0]]]
    return names_of


def _row(system: str, counts: QueryCounts, profile: BandProfile, values: Mapping[str, MeasureResult]) -> tuple[CellValue, ...]:
    items: list[CellValue] = [system, *counts.cell(system)]
    for name, value in values.items():
        band = profile.band(name, value.value)
        items += [value.value, None if band is None else band.name]
    return tuple(items)
