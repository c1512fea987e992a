"""Bands: names for values, by profiles that say where they come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ...measures import AnswerMeasure, Binary, Measure, parse


@dataclass(frozen=True, slots=True)
class Band:
    """A name and its lower bound, which must be reached, or passed where it is strict."""

    name: str
    bound: float
    strict: bool = False

    def holds(self, value: float) -> bool:
        """Whether the value is high enough."""
        return value > self.bound if self.strict else value >= self.bound

    def __str__(self) -> str:
        return f"{self.name} {'above' if self.strict else 'from'} {self.bound:g}"


Bands = tuple[Band, ...]


@dataclass(frozen=True, slots=True)
class Profile:
    """Bands by the name of the measure, lowest first, and where they were found."""

    name: str
    source: str
    measures: Mapping[str, Bands]

    def bands_of(self, measure: Measure | str) -> Bands | None:
        """The bands of a measure, whatever grade counts as relevant; None where the profile has none."""
        return self.measures.get(_plain(measure))

    def band(self, measure: Measure | str, value: float) -> Band | None:
        """The band of a value; None where the profile has none for it."""
        bands = self.bands_of(measure)
        return None if bands is None else band_of(value, bands)


def band_of(value: float, bands: Bands) -> Band | None:
    """The highest band whose lower bound the value reaches; None below all of them."""
    return next((band for band in reversed(bands) if band.holds(value)), None)


def is_of_answers(measure: str) -> bool:
    """Whether the measure is one of answers and not of rankings."""
    return isinstance(parse(measure), AnswerMeasure)


def _plain(measure: Measure | str) -> str:
    return str(replace(measure, rel=None) if isinstance(measure, Binary) else measure)
