"""The systems' values by band, always beside what chance gives."""

from __future__ import annotations

from collections.abc import Mapping

from ...errors import shown
from ...evaluation import MeasureResult
from ..baselines.chance import chance_of
from ..baselines.references import references_of
from ..counts import Counts, counts_of
from ..evidence import Evidence
from ..measured import measured
from ..table import Column, Item, Table
from .bands import Profile, is_of_answers


def bands_table(evidence: Evidence, profile: Profile, references: Mapping[str, str] | None = None) -> Table | None:
    """Every system's value and band in the measures of the profile that rankings have; None where it has no such measure."""
    roles = references_of(evidence) if references is None else references
    names = _shown_measures(profile)
    if not names:
        return None
    values, counts = measured(evidence, names), counts_of(evidence)
    measures = {name: one.measure for name, one in next(iter(values.values())).items()}
    chances = [chance_of(evidence, measure, counts.common) for measure in measures.values()]
    rows = [_row(system, counts, profile, each) for system, each in values.items()]
    random: list[Item] = ["random ranking", *counts.cell(None)]
    for chance in chances:
        random += [None if chance is None else chance.value, None]
    return Table(
        name=f"bands {profile.name}",
        title=f"Bands of the profile {profile.name}: {counts}",
        columns=(
            *(Column("system"), *counts.column),
            *(column for name in names for column in (Column(name, "value"), Column(f"{name} band"))),
        ),
        rows=tuple(rows) if None in chances else (tuple(random), *rows),
        sentences=(
            *(f"{name}: {', '.join(map(str, profile.measures[name]))}." for name in names),
            *(f"{role}: {shown(name)}." for role, name in roles.items()),
            f"Source: {profile.source}.",
            "A band is a rule of thumb: how hard the queries are and how large the corpus is decide what a value means,"
            " so read it beside the baselines.",
        ),
        facts={**counts.facts, "profile": profile.name, "source": profile.source},
    )


def _shown_measures(profile: Profile) -> list[str]:
    """One of those that have the same name and bands, for which the cutoff makes no difference to the source: the last."""
    names = [name for name in profile.measures if not is_of_answers(name)]
    same = {(name.partition("@")[0], profile.measures[name]): name for name in names}
    return list(same.values())


def _row(system: str, counts: Counts, profile: Profile, values: Mapping[str, MeasureResult]) -> tuple[Item, ...]:
    items: list[Item] = [system, *counts.cell(system)]
    for name, one in values.items():
        band = profile.band(name, one.value)
        items += [one.value, None if band is None else band.name]
    return tuple(items)
