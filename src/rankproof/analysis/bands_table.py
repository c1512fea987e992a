"""The systems' values by band, always beside what chance gives."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import shown
from .bands import Profile
from .bands_file import ANSWER_MEASURES
from .baselines_known import chance_of, references_of
from .baselines_values import measured
from .evidence import Evidence
from .table import Column, Item, Table


def bands_table(evidence: Evidence, profile: Profile, references: Mapping[str, str] | None = None) -> Table | None:
    """Every system's value and band in the measures of the profile that rankings have; None where it has no such measure."""
    roles = references_of(evidence) if references is None else references
    names = _shown_measures(profile)
    if not names:
        return None
    values = measured(evidence, names)
    first = next(iter(values.values()))
    chances = [chance_of(evidence, first[name].measure, first[name].query_ids) for name in names]
    rows = [_row(system, profile, {name: one.value for name, one in each.items()}) for system, each in values.items()]
    random: list[Item] = ["random ranking"]
    for chance in chances:
        random += [None if chance is None else chance.value, None]
    count = first[names[0]].queries
    return Table(
        name=f"bands {profile.name}",
        title=f"Bands of the profile {profile.name}: n = {count} queries",
        columns=(
            Column("system"),
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
        facts={"queries": count, "profile": profile.name, "source": profile.source},
    )


def _shown_measures(profile: Profile) -> list[str]:
    """One of those that have the same name and bands, for which the cutoff makes no difference to the source: the last."""
    names = [name for name in profile.measures if name not in ANSWER_MEASURES]
    same = {(name.partition("@")[0], profile.measures[name]): name for name in names}
    return list(same.values())


def _row(system: str, profile: Profile, values: Mapping[str, float]) -> tuple[Item, ...]:
    items: list[Item] = [system]
    for name, value in values.items():
        band = profile.band(name, value)
        items += [value, None if band is None else band.name]
    return tuple(items)
