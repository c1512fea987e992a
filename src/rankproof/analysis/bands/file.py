"""Profiles of bands from a TOML page that was read; whatever is wrong with one is told with its line."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from ...errors import UsageError, shown
from ...experiment.toml.lines import KeyPath
from ...experiment.toml.page import Page
from ...measures import parse
from .bands import Band, Bands, Profile

_EXAMPLE = 'write [name.measures."Success@5"] and below it Poor = 0, Good = 0.8'


def profiles_of(page: Page) -> dict[str, Profile]:
    """Every profile of the page by its name."""
    if not page.values:
        raise page.error((), "there is no profile", _EXAMPLE)
    return {name: _profile(page, name, table) for name, table in page.values.items()}


def _profile(page: Page, name: str, table: Any) -> Profile:
    if not isinstance(table, dict):
        raise page.error((name,), f"{shown(name)} is no profile", _EXAMPLE)
    for key in table:
        if key not in ("source", "measures"):
            raise page.unknown((name, key), "unknown key", key, ("source", "measures"))
    source, measures = table.get("source"), table.get("measures")
    if not isinstance(source, str) or not source.strip():
        raise page.error((name, "source"), f"{shown(name)} has no source", 'say where its bands come from: source = "…"')
    if not isinstance(measures, dict) or not measures:
        raise page.error((name, "measures"), f"{shown(name)} has no measure", _EXAMPLE)
    return Profile(name, source, _measures(page, (name, "measures"), measures))


def _measures(page: Page, path: KeyPath, tables: Mapping[str, Any]) -> dict[str, Bands]:
    found: dict[str, Bands] = {}
    for key, table in tables.items():
        full = _measure(page, (*path, key), key)
        if full in found:
            raise page.error((*path, key), f"{shown(key)} is {full}, which has bands already", "remove one of the two")
        found[full] = _bands(page, (*path, key), table)
    return found


def _measure(page: Page, path: KeyPath, name: str) -> str:
    """The measure's full name."""
    try:
        return str(parse(name))
    except UsageError as error:
        raise page.error(path, error.what, error.fix) from None


def _bands(page: Page, path: KeyPath, table: Any) -> Bands:
    if not isinstance(table, dict) or not table:
        raise page.error(path, f"{shown(str(path[-1]))} has no band", "write bands below it, as in Poor = 0 and Good = 0.8")
    bands = tuple(_band(page, (*path, name), name, bound) for name, bound in table.items())
    for lower, higher in pairwise(bands):
        if not (lower.bound, lower.strict) < (higher.bound, higher.strict):
            what = f"{shown(higher.name)} does not begin above {shown(lower.name)}"
            raise page.error((*path, higher.name), what, "write the lowest band first, each bound above the one before")
    return bands


def _band(page: Page, path: KeyPath, name: str, bound: Any) -> Band:
    strict = isinstance(bound, dict) and set(bound) == {"above"}
    number = bound["above"] if strict else bound
    if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
        raise page.error(path, f"{shown(name)} has no lower bound", "write a number, or { above = 0.65 }")
    return Band(name, float(number), strict)
