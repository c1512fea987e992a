"""What a budget of money needs: the prices of the models that systems ask, before anything is asked."""

from __future__ import annotations

from collections.abc import Mapping

from ..asking.budget import Budget, refuse_unpriced
from ..errors import UsageError, shown
from ..stages.abilities import Priced
from ..stages.base import Stage
from .extent import parts_of


def refuse_unpriced_systems(systems: Mapping[str, Stage], budget: Budget) -> None:
    """Refuses the first system that asks a model without a price, where the budget is of money."""
    for name, stage in systems.items():
        for part in parts_of(stage):
            chat = part.chat if isinstance(part, Priced) else None
            try:
                if chat is not None:
                    refuse_unpriced(budget, chat)
            except UsageError as error:
                raise UsageError(f"system {shown(name)}: {error.what}", fix=error.fix) from None
