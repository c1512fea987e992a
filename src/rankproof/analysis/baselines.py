"""Baselines: every system beside chance, title-only and full-text BM25, the best order of its pool, and the oracle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import shown
from .baselines_gain import Gain, brief
from .baselines_known import chance_notes, check_documents, references_of
from .baselines_standing import Standing, standings_of
from .baselines_values import main_measure, refuse_no_share, shares
from .evidence import Evidence
from .table import Column, Item, Table

RANDOM, ORACLE = "random ranking", "oracle"


def baselines(
    evidence: Evidence, measures: Sequence[str] | None = None, references: Mapping[str, str] | None = None
) -> list[Table]:
    """A table for each of the measures (the first, where none is named), then one with a row for each measure of all.

    `references` names the systems that are baselines; without it they are found among the rungs.
    """
    check_documents(evidence)
    roles = references_of(evidence) if references is None else dict(references)
    asked = [refuse_no_share(evidence, name) for name in measures or [main_measure(evidence)]]
    standings = standings_of(evidence, list(dict.fromkeys([*asked, *shares(evidence)])), roles)
    return [*(_table(standings[name], evidence) for name in asked), _overview(list(standings.values()), len(asked))]


def _table(standing: Standing, evidence: Evidence) -> Table:
    rows = [_row(name, value, standing) for name, value in standing.systems.items()]
    chance = [] if standing.chance is None else [_row(RANDOM, standing.chance, standing)]
    last = _row(ORACLE, standing.ceiling.oracle, standing)
    size = "unknown" if evidence.documents is None else str(evidence.documents)
    return Table(
        name=f"baselines {standing.measure}",
        title=f"Baselines of {standing.measure}: n = {standing.queries} queries, {size} documents",
        columns=_columns(standing),
        rows=(*chance, *rows, last),
        sentences=(*_worse(standing), *_sentences(standing), _legend(standing)),
        notes=chance_notes(evidence),
        facts={
            "queries": standing.queries,
            "documents": evidence.documents,
            "measure": standing.measure,
            "baselines": dict(standing.roles),
        },
    )


def _columns(standing: Standing) -> tuple[Column, ...]:
    over = [
        column
        for role in standing.roles
        for column in (
            Column(f"pp/{_short(role)}", "points", f"percentage points above {role}"),
            Column(f"%/{_short(role)}", "share", f"the gain relative to {role}'s value"),
        )
    ]
    return (
        *(Column("system"), Column("value", "value", f"the mean {standing.measure}")),
        *_random_column(standing),
        *over,
        Column("pool", "value", "the value if what it retrieved stood in the best order"),
        Column("pp left", "points", "what the best order of its pool would add, in percentage points"),
    )


def _random_column(standing: Standing) -> list[Column]:
    about = "percentage points above the expected value of a random ranking"
    return [] if standing.chance is None else [Column("pp/random", "points", about)]


def _short(role: str) -> str:
    return role.partition("-")[0]


def _legend(standing: Standing) -> str:
    over = [f"{_short(role)}: {role} ({shown(name)})" for role, name in standing.roles.items()]
    chance = [] if standing.chance is None else ["random: the expected value of a random ranking"]
    bases = f"pp/X: percentage points gained over X; %/X: the same relative to X's value; {'; '.join([*chance, *over])}. "
    return (
        f"{bases if chance or over else ''}pool: the best order of the"
        " documents that the system retrieved; pp left: what that order would add; oracle: the best order of all judged."
    )


def _row(name: str, value: float, standing: Standing) -> tuple[Item, ...]:
    chance = [] if standing.chance is None else [None if name == RANDOM else Gain(value, standing.chance).points]
    pool = standing.ceiling.pools.get(name)
    over: list[Item] = []
    for system in standing.roles.values():
        gain = None if name in (RANDOM, system) else Gain(value, standing.systems[system])
        over += [None, None] if gain is None else [gain.points, gain.relative]
    return (
        *(name, value),
        *chance,
        *over,
        pool,
        None if pool is None else Gain(pool, value).points,
    )


def _worse(standing: Standing) -> list[str]:
    chance = standing.chance
    return [
        f"WORSE THAN RANDOM: {shown(name)} has {standing.measure} {brief(value)}, a random ranking {brief(chance)}."
        for name, value in standing.systems.items()
        if chance is not None and value < chance
    ]


def _sentences(standing: Standing) -> tuple[str, str]:
    best, value, pool = standing.best, standing.systems[standing.best], standing.ceiling.pools[standing.best]
    said = [f"{value / standing.chance:.3g} times a random ranking ({brief(standing.chance)})"] if standing.chance else []
    said += [
        f"{Gain(value, base)} over {role} ({brief(base)})"
        for role, base in standing.references.items()
        if standing.roles[role] != best
    ]
    beside = f", {'; '.join(said)}" if said else ""
    return (
        f"{shown(best)} has the best {standing.measure}: {brief(value)}{beside}.",
        f"The best order of what {shown(best)} retrieved would give {brief(pool)}: {Gain(pool, value).points:+.1f} pp lie in the"
        f" order of its documents, {Gain(standing.ceiling.oracle, pool).points:+.1f} pp in documents that it did not retrieve.",
    )


def _overview(standings: Sequence[Standing], told: int) -> Table:
    """One row a measure; what is worse than random is said for those measures that have no table of their own."""
    roles = list(standings[0].roles)
    columns = (
        *(Column("measure"), Column("n", "count"), Column("random", "value", "expected value of a random ranking")),
        *(Column(role, "value") for role in roles),
        *(Column("best system"), Column("its value", "value"), Column("pool", "value", "the best order of its documents")),
        Column("oracle", "value", "the best order of all judged documents"),
    )
    rows = [
        (
            *(each.measure, each.queries, each.chance, *(each.references[role] for role in roles), each.best),
            *(each.systems[each.best], each.ceiling.pools[each.best], each.ceiling.oracle),
        )
        for each in standings
    ]
    worse = [said for each in standings[told:] for said in _worse(each)]
    return Table("baselines", "Every measure beside its baselines", columns, tuple(rows), tuple(worse))
