"""Rungs, put together from what their stages and all stages below them gave."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..data.answers import Answers
from ..data.identity import identity, kind_name
from ..stages.base import Stage
from .costs import together
from .levels import Levels
from .rung import Rung
from .rungs import kind_of, over_of
from .standing import Standing


def rungs_of(
    systems: Mapping[str, Stage], standings: Mapping[str, Standing], levels: Levels, facts: Mapping[str, Any]
) -> tuple[Rung, ...]:
    """One for each system, in their order."""
    over, runs = over_of(systems, levels.result), levels.runs
    named = {id(standing) for standing in standings.values()}
    rungs = []
    for name, stage in systems.items():
        own, every = standings[name].outcome, tuple(standings[name].every())
        cost = together(each.outcome.cost for each in every)
        times = _summed([each.outcome.times for each in every])
        rungs.append(
            Rung(
                name=name,
                kind=kind_of(stage),
                stage=identity(stage),
                run=runs[name],
                times={**times, "total": np.sum(list(times.values()), axis=0)},
                index_seconds=cost.seconds,
                index_bytes=cost.bytes,
                throughput=own.throughput,
                over=over[name],
                facts={**own.facts, **facts},
                notes=(*own.notes, *dict.fromkeys(_notes_below(standings[name], named))),
                computed=own.computed,
                from_cache=own.from_cache,
                counts=_summed([each.outcome.counts for each in every]),
                money=sum(each.money() for each in every),
                answers=None if own.answers is None else Answers(dict(zip(runs[name].queries, own.answers, strict=True))),
            )
        )
    return tuple(rungs)


def _notes_below(standing: Standing, named: Collection[int]) -> Iterator[str]:
    """What stages below it say that have no rung of their own to say it at."""
    for each in standing.every():
        if each is not standing and id(each) not in named:
            yield from (f"{kind_name(type(each.stage))}: {note}" for note in each.outcome.notes)


def _summed(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """By name, the arrays of all added."""
    return {name: np.sum([part[name] for part in parts], axis=0) for name in parts[-1]}
