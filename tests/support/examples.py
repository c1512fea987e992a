"""How many examples hypothesis draws: all of them, or a tenth with `--hypothesis-profile=fast` (`make test`)."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, Phase, settings

FULL, FAST = 100, 20
"""Examples of a test that names no number."""


def register_profiles() -> None:
    """The profiles; how fast a machine is, or how busy, is no property of the code. Mutants need no smallest example."""
    common: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
    settings.register_profile("full", max_examples=FULL, **common)
    settings.register_profile("fast", max_examples=FAST, **common)
    quick: dict[str, Any] = {"derandomize": True, "database": None, "phases": (Phase.explicit, Phase.generate)}
    settings.register_profile("mutants", max_examples=FAST, **common, **quick)
    settings.load_profile("full")


def examples(count: int, **more: Any) -> settings:
    """So many examples in the full profile, a tenth of them in the fast one, but at least 10."""
    fast = settings().max_examples == FAST
    return settings(max_examples=min(count, max(10, count // 10)) if fast else count, **more)
