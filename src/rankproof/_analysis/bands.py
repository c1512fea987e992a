"""Quality bands of measures: named, sourced profiles, built in or from a TOML file."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import as_file, files
from itertools import pairwise
from typing import Any, Literal, get_args

from rankproof._io.toml_file import KeyPath, TomlFile, read_toml
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
