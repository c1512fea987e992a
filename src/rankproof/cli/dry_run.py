"""`rankproof run --dry-run`: what the run would ask of language models, before it asks."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .terminal import Terminal

if TYPE_CHECKING:
    from ..analysis.table import Table
    from ..asking.budget import Budget
    from ..experiment import Experiment
    from ..experiment.prices import Price, Prices

_NO_PRICE = "no price given"
_TOTAL = "all together"


def show_prices(experiment: Experiment, args: argparse.Namespace, terminal: Terminal) -> None:
    """The table to standard output, what it leaves out beside it."""
    from ..experiment.priced import refuse_unpriced_systems
    from ..experiment.prices import prices_of
    from ..views.analysis import VIEWS

    if args.budget is not None:
        refuse_unpriced_systems(experiment.systems, args.budget)
    table = _table(prices_of(experiment), args.budget)
    terminal.show(VIEWS[args.format]([table], terminal.look()))
    for note in table.notes:
        terminal.note(note)


def _table(prices: Prices, budget: Budget | None) -> Table:
    from ..analysis.table import Column, Table

    columns = (
        Column("system"),
        Column("asks", about="the language models that it asks"),
        Column("calls", "count", "requests"),
        Column("tokens in", "count", "tokens that the models would read, about four characters each"),
        Column("tokens out", "count", "the most that the replies may have"),
        Column("money", about="at the prices of the models' settings"),
    )
    rows = [_row(name, price) for name, price in prices.systems.items()]
    asks = sum(bool(price.models) for price in prices.systems.values())
    notes = (
        "an estimate: failed requests and replies of no use are asked for again and come on top; replies that are kept from an "
        "earlier run cost nothing",
    )
    return Table(
        name="prices",
        title=f"What {prices.queries} queries would ask of language models; nothing was asked, nothing was written",
        columns=columns,
        rows=tuple([*rows, _row(_TOTAL, prices.total)] if asks else rows),
        sentences=_sentences(prices, budget),
        notes=notes if asks else (),
        strong=frozenset({len(rows)}) if asks else frozenset(),
    )


def _row(name: str, price: Price) -> tuple[str | int | None, ...]:
    if not price.models:
        return name, "none", 0, 0, 0, None
    said = price.estimate
    return name, ", ".join(price.models), said.calls, said.tokens_in, said.tokens_out, _money(price)


def _money(price: Price) -> str:
    if price.is_priced:
        return f"{price.money:.4f}"
    return f"{price.money:.4f}, and more" if price.money else _NO_PRICE


def _sentences(prices: Prices, budget: Budget | None) -> tuple[str, ...]:
    """Whether it all fits into the budget."""
    if not prices.total.models:
        return ("No system asks a language model.",)
    if budget is None:
        return ()
    said = prices.total.estimate
    needs = {"calls": said.calls, "tokens": said.tokens_in + said.tokens_out, "money": prices.total.money}
    over = [f"{name} ({need:g} of {limit:g})" for name, need in needs.items() if need > (limit := _limit(budget, name))]
    return (f"The budget may not cover it: {', '.join(over)}." if over else "The budget covers it, if no request fails.",)


def _limit(budget: Budget, name: str) -> float:
    limit: float | None = getattr(budget, name)
    return float("inf") if limit is None else limit
