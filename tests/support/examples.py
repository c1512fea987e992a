"""How many examples a test has: fewer with `--hypothesis-profile=reduced` or `fast` than in `make test-all`, which has all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

FULL, REDUCED, FAST, MUTANTS = 100, 40, 10, 30
"""Examples of a test that names no number."""
_SHARE = {REDUCED: 0.4, FAST: 0.1, MUTANTS: 0.4}
_LEAST = {REDUCED: 10, FAST: 3, MUTANTS: 10}
"""The share of the examples that a test names, and the fewest of it."""


def register_profiles() -> None:
    """The profiles; how fast a machine is, or how busy, is no property of the code. Mutants need no smallest example."""
    common: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
    settings.register_profile("full", max_examples=FULL, **common)
    settings.register_profile("reduced", max_examples=REDUCED, **common)
    settings.register_profile("fast", max_examples=FAST, **common)
    quick: dict[str, Any] = {"derandomize": True, "database": None, "phases": (Phase.explicit, Phase.generate)}
    settings.register_profile("mutants", max_examples=MUTANTS, **common, **quick)
    settings.load_profile("full")


def examples(count: int, **more: Any) -> settings:
    """So many examples in the full profile, a share of them in the others."""
    chosen = settings().max_examples
    fewest = max(_LEAST.get(chosen, count), round(count * _SHARE.get(chosen, 1)))
    return settings(max_examples=min(count, fewest), **more)


def crossed(columns: Mapping[str, Sequence[str]]) -> list[Any]:
    """Each row with each of its columns; not slow are a row with one column in turn, and the first row with every column."""
    return [
        pytest.param(row, column, marks=[] if at == 0 or at % len(names) == place else [pytest.mark.slow])
        for at, (row, names) in enumerate(columns.items())
        for place, column in enumerate(names)
    ]


def sampled(values: Iterable[Any], every: int) -> list[Any]:
    """All values as parameters of a test; not slow is every so many, from the first on."""
    return [pytest.param(value, marks=[] if at % every == 0 else [pytest.mark.slow]) for at, value in enumerate(values)]
