"""The settings, versions and facts that differ between two results."""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rankproof._analysis.changes.changes import Changes
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import pluralise
from rankproof._results.experiment_result import ExperimentResult

_RUN_FACTS = ("created", "seconds")
"""Facts that differ between any two runs; they are listed last."""
_MAX_DEPTH = 8


def settings_table(changes: Changes) -> Table:
    """A row for each setting, version or fact with another value."""
    before, after = _settings(changes.before, changes.after)
    rows = [(where, name, old, new) for where, name, old, new in _different(before, after)]
    rows.sort(key=lambda row: row[1] in _RUN_FACTS)
    many = sum(row[1] not in _RUN_FACTS for row in rows)
    counted = f"{pluralise(many, 'setting, version or fact differs', 'settings, versions and facts differ')}."
    columns = (
        Column("of", about="experiment: the experiment file, system: its stage if there is no file, run: how it was run"),
        Column("setting"),
        Column(changes.labels[0]),
        Column(changes.labels[1]),
    )
    cells: tuple[tuple[CellValue, ...], ...] = tuple(rows)
    none = "The experiment file, versions and facts are the same."
    return Table("settings", "Settings that changed", columns, cells, (counted if many else none,))


def experiment_diff(changes: Changes) -> str:
    """The experiment files as a unified diff; empty if they are equal."""
    before, after = (results.experiment.splitlines() for results in (changes.before, changes.after))
    lines = difflib.unified_diff(before, after, *changes.labels, lineterm="", n=2)
    return "\n".join(lines)


Settings = dict[tuple[str, str], str]
"""Where a setting is from and its name, to its value as text."""


def _settings(before: ExperimentResult, after: ExperimentResult) -> tuple[Settings, Settings]:
    files = [_parsed(source.experiment) for source in (before, after)]
    both: list[Settings] = []
    for results, file in zip((before, after), files, strict=True):
        settings = {("experiment", name): value for name, value in _flat(file)} if None not in files else _stages(results)
        settings |= {("run", name): value for name, value in _flat(results.provenance)}
        settings |= {("run", "fingerprint"): results.fingerprint, ("run", "rel"): str(results.rel)}
        both.append(settings)
    return both[0], both[1]


def _stages(results: ExperimentResult) -> Settings:
    return {
        ("system", f"{run.name}.{name}" if name else run.name): value
        for run in results.system_runs
        for name, value in _flat(run.stage)
    }


def _parsed(experiment: str) -> dict[str, Any] | None:
    """The experiment file; None if there is none, or it is not TOML."""
    try:
        return tomllib.loads(experiment) or None
    except (tomllib.TOMLDecodeError, RecursionError):
        return None


def _flat(value: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Each value with the names that lead to it, joined by dots; what is nested deeper is one value."""
    if isinstance(value, Mapping) and value and depth < _MAX_DEPTH:
        for key, inner in value.items():
            yield from _flat(inner, f"{name}.{key}" if name else str(key), depth + 1)
    elif isinstance(value, float) and name in _RUN_FACTS:
        yield name, f"{value:.4g}"
    elif value is not None:
        yield name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def _different(before: Settings, after: Settings) -> Iterator[Sequence[str | None]]:
    for key in dict.fromkeys((*before, *after)):
        if before.get(key) != after.get(key):
            yield (*key, before.get(key), after.get(key))
