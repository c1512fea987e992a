"""Baselines: every system beside chance, title-only and full-text BM25, the best order of its pool, and the oracle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...errors import shown
from ..evidence import Evidence
from ..gains import Increase
from ..measured import main_measure, refuse_no_share, shares
from ..table import Column, Item, Table
from ..wording import brief
from .chance import chance_notes
from .luck import said_of_luck, verdict
from .references import check_documents, references_of
from .standing import Standing, standings_of

RANDOM, ORACLE = "random ranking", "oracle"
_RANDOM = Column("random", "value", "expected value of a random ranking")
_OVER_RANDOM = Column("pp/random", "points", "percentage points above the expected value of a random ranking")


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
        title=f"Baselines of {standing.measure}: {standing.counts}, {size} documents",
        columns=_columns(standing),
        rows=(*chance, *rows, last),
        sentences=(*_worse(standing), *_sentences(standing), _legend(standing)),
        notes=chance_notes(evidence),
        facts={
            **standing.counts.facts,
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
        *(Column("system"), *standing.counts.column, Column("value", "value", f"the mean {standing.measure}")),
        *([] if standing.chance is None else [_OVER_RANDOM]),
        *over,
        Column("pool", "value", "the value if what it retrieved stood in the best order"),
        Column("pp left", "points", "what the best order of its pool would add, in percentage points"),
    )


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
    pool = standing.ceiling.pools.get(name)
    over: list[Item] = []
    if standing.chance is not None:
        over.append(None if name == RANDOM else Increase(value, standing.chances.get(name, standing.chance)).points)
    for system in standing.roles.values():
        gain = None if name in (RANDOM, system) else Increase(value, standing.systems[system])
        over += [None, None] if gain is None else [gain.points, gain.relative]
    n = standing.counts.cell(name if name in standing.systems else None)
    return (name, *n, value, *over, pool, None if pool is None else Increase(pool, value).points)


def _worse(standing: Standing) -> list[str]:
    said = []
    for name in standing.below_chance:
        value, chance, luck = standing.systems[name], standing.chances[name], standing.luck.get(name)
        numbers = f"{shown(name)} has {standing.measure} {brief(value)}, a random ranking {brief(chance)}"
        said.append(f"{verdict(luck)}: {numbers} ({standing.counts.of(name)}{said_of_luck(luck)}).")
    return said


def _sentences(standing: Standing) -> tuple[str, str]:
    best, value, pool = standing.best, standing.systems[standing.best], standing.ceiling.pools[standing.best]
    chance = standing.chances.get(best)
    said = [f"{value / chance:.3g} times a random ranking ({brief(chance)})"] if chance else []
    said += [
        f"{Increase(value, base)} over {role} ({brief(base)})"
        for role, base in standing.references.items()
        if standing.roles[role] != best
    ]
    beside = f", {'; '.join(said)}" if said else ""
    beside += " (whether that is more than chance: rankproof compare)" if any(" over " in each for each in said) else ""
    order, more = Increase(pool, value).points, Increase(standing.ceiling.oracle, pool).points
    return (
        f"{standing.best_said}: {brief(value)}{beside}.",
        f"The best order of what {shown(best)} retrieved would give {brief(pool)}: {order:+.1f} pp lie in the order of its"
        f" documents, {more:+.1f} pp in documents that it did not retrieve.",
    )


def _overview(standings: Sequence[Standing], told: int) -> Table:
    """One row a measure; what is worse than random is said for those measures that have no table of their own."""
    roles = list(standings[0].roles)
    columns = (
        *(Column("measure"), Column("n", "count", "queries of the best system's mean, and of random"), _RANDOM),
        *(Column(role, "value") for role in roles),
        *(Column("best system"), Column("its value", "value"), Column("pool", "value", "the best order of its documents")),
        Column("oracle", "value", "the best order of all judged documents"),
    )
    rows = [
        (
            *(each.measure, len(each.counts.queries[each.best]), each.chances.get(each.best)),
            *(each.references[role] for role in roles),
            *(" = ".join(each.best_names), each.systems[each.best], each.ceiling.pools[each.best], each.ceiling.oracle),
        )
        for each in standings
    ]
    worse = [said for each in standings[told:] for said in _worse(each)]
    return Table("baselines", "Every measure beside its baselines", columns, tuple(rows), tuple(worse))
