"""Several evidences as one, where they are about the same data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ..errors import UsageError, shown
from ..evaluation import Result
from .evidence import Evidence


def different_data(one: tuple[str, str], other: tuple[str, str]) -> str | None:
    """What differs, with its fingerprints, given those of judgements and dataset; None where nothing is known to."""
    for what, mine, theirs in zip(("judgements", "datasets"), one, other, strict=True):
        if mine and theirs and mine != theirs:
            return f"fingerprints of {what}: {shown(mine[:12])} and {shown(theirs[:12])}"
    return None


def joined(found: Sequence[Evidence]) -> Evidence:
    """All as one, systems named after their experiment where names meet; refused where they are not about the same data."""
    first, *others = found
    for other in others:
        _refuse_different(first, other)
    if not others:
        return first
    times = Counter(name for one in found for name in one.systems)
    names = [{name: f"{one.name}/{name}" if times[name] > 1 else name for name in one.systems} for one in found]
    new = Counter(name for one in names for name in one.values())
    if twice := [name for name, count in new.items() if count > 1]:
        raise UsageError(f"two systems are called {shown(twice[0])}", fix="name each folder with --name")
    parts = [_renamed(one, each) for one, each in zip(found, names, strict=True)]
    return replace(
        first,
        name=f"{', '.join(one.name for one in found[:-1])} and {found[-1].name}",
        result=Result(first.result.queries, tuple(system for one in parts for system in one.result.systems)),
        runs={name: run for one in parts for name, run in one.runs.items()},
        snippets={doc: text for one in reversed(parts) for doc, text in one.snippets.items()},
        rungs=tuple(rung for one in parts for rung in one.rungs),
    )


def _refuse_different(first: Evidence, other: Evidence) -> None:
    names = f"{shown(first.name)} and {shown(other.name)}"
    prints = [(one.qrels_fingerprint, one.fingerprint) for one in (first, other)]
    if differs := different_data(*prints):
        raise UsageError(
            f"{names} are about different data ({differs})", fix="compare systems on the same documents, queries and judgements"
        )
    if first.rel != other.rel:
        raise UsageError(
            f"{names} were evaluated with --rel {first.rel} and {other.rel}", fix="say which grade counts for both: --rel"
        )
    if first.result.queries != other.result.queries:
        raise UsageError(f"{names} were asked different queries", fix="run both on the same queries")


def _renamed(one: Evidence, names: dict[str, str]) -> Evidence:
    systems = tuple(replace(system, name=names[system.name]) for system in one.result.systems)
    return replace(
        one,
        result=Result(one.result.queries, systems),
        runs={names[name]: run for name, run in one.runs.items()},
        rungs=tuple(replace(rung, name=names[rung.name], over=rung.over and names[rung.over]) for rung in one.rungs),
    )
