"""How many examples a test has: all of them, or fewer in `make test` (`--hypothesis-profile=fast`, and no slow ones)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

FULL, FAST, MUTANTS = 100, 10, 20
"""Examples of a test that names no number."""
_LEAST = {FAST: 3, MUTANTS: 10}
"""Examples of a test that names a small number."""


def register_profiles() -> None:
    """The profiles; how fast a machine is, or how busy, is no property of the code. Mutants need no smallest example."""
    common: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
    settings.register_profile("full", max_examples=FULL, **common)
    settings.register_profile("fast", max_examples=FAST, **common)
    quick: dict[str, Any] = {"derandomize": True, "database": None, "phases": (Phase.explicit, Phase.generate)}
    settings.register_profile("mutants", max_examples=MUTANTS, **common, **quick)
    settings.load_profile("full")


def examples(count: int, **more: Any) -> settings:
    """So many examples in the full profile, a tenth of them in the others, but at least 3 or 10."""
    least = _LEAST.get(settings().max_examples, count)
    return settings(max_examples=min(count, max(least, count // 10)), **more)


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
