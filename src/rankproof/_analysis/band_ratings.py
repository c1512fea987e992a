"""The band and rating of a value with its interval, and what the bands that systems reach mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from rankproof._analysis.bands import BandProfile, Bands, QualityBand, band_of
from rankproof._data.table import CellValue, Column, Table, TableSummary
from rankproof._evaluation.result import MeasureResult
from rankproof._statistics.intervals import Interval
from rankproof.measures._base import Measure

TOO_FEW = "too few queries"


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
    """The rating of the band; a value below every band is rated as the lowest."""
    return (band_of(value, bands) or bands[0]).rating or ""


def describe_bands(profile: BandProfile, bands: Bands, percent: str) -> str:
    """The bands in one sentence, with their ratings."""
    texts = ", ".join(f"{band} ({band.rating})" if band.rating else str(band) for band in bands)
    return (
        f"Bands of the profile {profile.name}: {texts}. In brackets: what else is within the {percent} interval."
        " A band is a rule of thumb."
    )


def reached_bands(
    profile: BandProfile, values: Mapping[str, Mapping[str, MeasureResult]], names: Sequence[str]
) -> dict[tuple[str, QualityBand], list[str]]:
    """The systems in each band of each measure that some system reaches, lowest band first."""
    found: dict[tuple[str, QualityBand], list[str]] = {}
    for name in names:
        for band in profile.measures[name]:
            systems = [system for system, each in values.items() if profile.band(name, each[name].value) == band]
            if systems:
                found[name, band] = systems
    return found


def meanings_table(profile: BandProfile, reached: Mapping[tuple[str, QualityBand], Sequence[str]]) -> Table | None:
    """What each band that a system reaches means, and what to do next; None if the profile does not say it."""
    rows: list[tuple[CellValue, ...]] = [
        (measure, band.name, ", ".join(systems), band.means or None, band.next_step or None)
        for (measure, band), systems in reached.items()
        if band.means or band.next_step
    ]
    if not rows:
        return None
    columns = (
        *(Column("measure"), Column("band"), Column("systems")),
        *(Column("meaning", about="for a product"), Column("what to do next")),
    )
    title = f"What the bands of the profile {profile.name} mean"
    return Table(
        f"band meanings {profile.name}", title, columns, tuple(rows), facts={"profile": profile.name}, summary=TableSummary()
    )
