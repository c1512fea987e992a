"""The table of `rankproof run --dry-run`: the estimated calls of models and search engines of each system."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rankproof._cli.execution_options import storage_options
from rankproof._cli.terminal import Terminal

if TYPE_CHECKING:
    from rankproof._data.table import Table
    from rankproof._experiment.estimate import CostEstimate, SystemCost
    from rankproof._experiment.experiment import Experiment
    from rankproof._llm.budget import Budget

_NO_PRICE = "no price given"
_TOTAL = "total"
_NOTE = (
    "an estimate: failed requests and unusable responses are repeated and cost more; "
    "responses cached by an earlier run cost nothing"
)


def show_cost_estimate(experiment: Experiment, args: argparse.Namespace, terminal: Terminal) -> None:
    """Shows the estimate and its notes."""
    from rankproof._experiment.checks import check_systems_have_prices
    from rankproof._experiment.estimate import estimate_cost
    from rankproof._render.table import TABLE_RENDERERS

    if args.budget is not None:
        check_systems_have_prices(experiment.systems, args.budget)
    table = _table(estimate_cost(experiment, storage_options(args), repeats=args.run_repeats), args.budget)
    terminal.show(TABLE_RENDERERS[args.format]([table], terminal.render_options()))
    for note in table.notes:
        terminal.note(note)


def _table(cost: CostEstimate, budget: Budget | None) -> Table:
    from rankproof._data.table import Column, Table

    columns = (
        Column("system"),
        Column("models", about="the models and search engines that it calls"),
        Column("calls", "count", "requests to them"),
        Column("tokens in", "count", "input tokens, about four bytes each"),
        Column("tokens out", "count", "the most output tokens that the responses may have"),
        Column("money", about="at the prices in the models' settings"),
    )
    rows = [_row(name, system) for name, system in cost.systems.items()]
    calls_models = any(system.models for system in cost.systems.values())
    return Table(
        name="prices",
        title=f"Estimated calls of models and search engines for {cost.queries} queries (dry run)",
        columns=columns,
        rows=tuple([*rows, _row(_TOTAL, cost.total)] if calls_models else rows),
        sentences=_sentences(cost, budget),
        notes=(_NOTE,) if calls_models else (),
        highlighted=frozenset({len(rows)}) if calls_models else frozenset(),
    )


def _row(name: str, system: SystemCost) -> tuple[str | int | None, ...]:
    if not system.models:
        return name, "none", 0, 0, 0, None
    estimate = system.estimate
    return name, ", ".join(system.models), estimate.calls, estimate.tokens_in, estimate.tokens_out, _money(system)


def _money(system: SystemCost) -> str | None:
    if not system.estimate.tokens_in:
        return None
    if system.is_priced:
        return f"{system.money:.4f}"
    return f"{system.money:.4f}, and more" if system.money else _NO_PRICE


def _sentences(cost: CostEstimate, budget: Budget | None) -> tuple[str, ...]:
    """Whether the estimate is within the budget."""
    if not cost.total.models:
        return ("No system calls a language model, a model API or a search engine.",)
    if budget is None:
        return ()
    estimate = cost.total.estimate
    needs = {"calls": estimate.calls, "tokens": estimate.tokens_in + estimate.tokens_out, "money": cost.total.money}
    over = [f"{name} ({need:g} of {limit:g})" for name, need in needs.items() if need > (limit := _limit(budget, name))]
    if over:
        return (f"The estimate exceeds the budget: {', '.join(over)}.",)
    return ("The estimate is within the budget, if no request has to be repeated.",)


def _limit(budget: Budget, name: str) -> float:
    limit: float | None = getattr(budget, name)
    return float("inf") if limit is None else limit
