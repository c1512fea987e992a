"""The band and rating of a value with its interval, systems by band, and what the bands mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from rankproof._analysis.bands import BandProfile, Bands, QualityBand, band_of, is_answer_measure
from rankproof._analysis.baselines import reference_systems
from rankproof._analysis.chance import chance_values
from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.values import QueryCounts, measure_results, query_counts
from rankproof._data.table import CellValue, Column, Table, TableSummary
from rankproof._evaluation.result import MeasureResult
from rankproof._statistics.intervals import Interval
from rankproof.errors import for_message
from rankproof.measures._base import Measure

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
