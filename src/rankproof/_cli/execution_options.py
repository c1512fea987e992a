"""How `rankproof run` runs: threads, cluster, cache, budget, the estimated cost, and whether code of the file may run."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from rankproof._cli.flags import add_flags
from rankproof._cli.terminal import Terminal
from rankproof._experiment.options import ExecutionArguments
from rankproof.errors import UsageError, escape_invisible, for_message

if TYPE_CHECKING:
    from rankproof._cli.terminal import Terminal
    from rankproof._data.table import Table
    from rankproof._executors.base import Progress
    from rankproof._experiment.estimate import CostEstimate, SystemCost
    from rankproof._experiment.experiment import Experiment
    from rankproof._experiment.run import RunOptions
    from rankproof._io.corpus_store import CorpusStorage
    from rankproof._io.named_code import NamedCode
    from rankproof._llm.budget import Budget


def add_execution_options(parser: argparse.ArgumentParser) -> None:
    """Adds the group."""
    how = parser.add_argument_group("execution")
    add_flags(how, ExecutionArguments, ("jobs", "budget"))
    how.add_argument(
        "--dry-run", action="store_true", help="estimate the calls to models and search engines without running them"
    )
    add_flags(how, ExecutionArguments, ("on", "latency_queries", "partition_size", "cache"))
    how.add_argument("--no-cache", action="store_true", help="do not use the cache")
    add_flags(how, ExecutionArguments, ("cache_limit", "run_repeats", "ask_again", "strict"))


def run_options(args: argparse.Namespace, progress: Progress) -> RunOptions:
    """The options of the run that the arguments give."""
    from rankproof._experiment.run import RunOptions
    from rankproof._llm.budget import Budget

    storage = storage_options(args)
    return RunOptions(
        cache=storage.home,
        threads=args.jobs,
        progress=progress,
        budget=args.budget or Budget(),
        repeats=args.run_repeats,
        ask_again=args.ask_again,
        strict=args.strict,
        on=args.on,
        cache_limit=args.cache_limit,
        latency_queries=args.latency_queries,
        partition_size=storage.partition_size,
    )


def storage_options(args: argparse.Namespace) -> CorpusStorage:
    """How documents are kept, by the options of cache and partitions."""
    from pathlib import Path

    from rankproof._io.corpus_store import CorpusStorage
    from rankproof._io.paths import cache_home

    if args.no_cache and args.cache is not None:
        raise UsageError("--cache and --no-cache contradict each other", fix="leave out one of them")
    if args.no_cache and args.cache_limit is not None:
        raise UsageError("--cache-limit and --no-cache contradict each other", fix="leave out one of them")
    if args.cache == "":
        raise UsageError("--cache has no folder", fix="specify one, or leave out --cache")
    home = None if args.no_cache else cache_home() if args.cache is None else Path(args.cache).expanduser().absolute()
    return CorpusStorage(home, args.partition_size)


def add_trust_option(parser: argparse._ActionsContainer) -> None:
    """Adds the option."""
    text = "run Python code that the experiment file names (module:name, trust_remote_code) without asking"
    parser.add_argument("--trust", action="store_true", help=text)


def read_trusted_experiment(path: str, args: argparse.Namespace, terminal: Terminal) -> Experiment:
    """The experiment of the file; code that it names is imported only if the user trusts it, and by a dry run never."""
    from rankproof._experiment.config_read import read_experiment, read_without_imports

    experiment, code = read_without_imports(path)
    if not code.names:
        return experiment
    if args.dry_run:
        terminal.note(f"{for_message(path)} names Python code, which a dry run does not import: {_phrase(code)}")
        return experiment
    if args.trust or code.is_trusted() or _asked(code):
        code.trust()
        return read_experiment(path)
    what = f"{for_message(path)} names Python code that was not trusted before: {_phrase(code)}"
    raise UsageError(what, fix="read that code, then add --trust")


def _phrase(code: NamedCode) -> str:
    return ", ".join(escape_invisible(name) for name in code.names)


def _asked(code: NamedCode) -> bool:
    """Whether the user says yes; no where nobody can be asked."""
    if sys.stdin is None or sys.stderr is None or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    files = "".join(f"\n  {escape_invisible(str(path))}" for path in code.modules())
    sys.stderr.write(f"{for_message(code.source)} runs Python code with your rights: {_phrase(code)}{files}\nRun it? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


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
