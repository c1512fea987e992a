"""What a paired test can see: the least difference at a power, and the queries that a difference would take.

Both are one equation (Guenther 1981), n = ((z(1 - alpha/2) + z(power)) * deviation / difference)^2 + z(1 - alpha/2)^2 / 2, whose
last term is what the t-test asks for beyond the normal distribution.
"""

from __future__ import annotations

import math

from .distributions import normal_quantile

POWER = 0.8


def detectable(deviation: float, n: int, alpha: float, power: float = POWER) -> float | None:
    """The least difference that a two-sided test of n queries finds with this power; None where no difference is."""
    z = normal_quantile(1 - alpha / 2)
    left = n - z * z / 2
    return (z + normal_quantile(power)) * deviation / math.sqrt(left) if left > 0 else None


def needed(difference: float, deviation: float, alpha: float, power: float = POWER) -> int | None:
    """How many queries such a difference takes to be found with this power; None where it is 0."""
    if difference == 0:
        return None
    z = normal_quantile(1 - alpha / 2)
    ratio = deviation / abs(difference)
    return max(2, math.ceil(((z + normal_quantile(power)) * ratio) ** 2 + z * z / 2))
