"""What several stages cost together: vectors that they share are made, and lie in memory, once."""

from __future__ import annotations

from collections.abc import Iterable

from ..stages.base import Cost


def together(costs: Iterable[Cost]) -> Cost:
    """The sum, with everything shared in it once."""
    seconds, size = 0.0, 0
    shared: dict[str, tuple[float, int]] = {}
    for cost in costs:
        seconds += cost.seconds - sum(part[0] for part in cost.shared.values())
        size += cost.bytes - sum(part[1] for part in cost.shared.values())
        for key, part in cost.shared.items():
            known = shared.get(key, (0.0, 0))
            shared[key] = max(known[0], part[0]), max(known[1], part[1])
    return Cost(seconds + sum(part[0] for part in shared.values()), size + sum(part[1] for part in shared.values()), shared)
