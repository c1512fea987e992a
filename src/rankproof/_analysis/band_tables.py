"""The tables of bands: systems by band, and what the bands mean."""

from __future__ import annotations

from collections.abc import Mapping

from rankproof._analysis.band_ratings import meanings_table, reached_bands
from rankproof._analysis.bands import BandProfile, is_answer_measure
from rankproof._analysis.baselines import reference_systems
from rankproof._analysis.chance import chance_values
from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.values import QueryCounts, measure_results, query_counts
from rankproof._data.table import CellValue, Column, Table
from rankproof._evaluation.result import MeasureResult
from rankproof.errors import for_message


def bands_tables(inputs: AnalysisInput, profile: BandProfile, references: Mapping[str, str] | None = None) -> list[Table]:
    """The value and band of every system in the ranking measures of the profile, and what these bands mean.

    Empty if the profile has no such measure; without the second table if it does not say what its bands mean.
    """
    roles = reference_systems(inputs) if references is None else references
    names = _shown_measures(profile)
    if not names:
        return []
    values, counts = measure_results(inputs, names), query_counts(inputs)
    measures = {name: one.measure for name, one in next(iter(values.values())).items()}
    chances = [chance_values(inputs, measure, counts.common) for measure in measures.values()]
    rows = [_row(system, counts, profile, each) for system, each in values.items()]
    random: list[CellValue] = ["random ranking", *counts.cell(None)]
    for chance in chances:
        random += [None if chance is None else chance.value, None]
    shown = Table(
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
    meanings = meanings_table(profile, reached_bands(profile, values, names))
    return [shown] if meanings is None else [shown, meanings]


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
