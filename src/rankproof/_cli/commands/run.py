"""Rankproof run."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankproof._cli.arg_types import budget_limits, name_list, nonnegative_int, positive_int
from rankproof._cli.command import Command
from rankproof._cli.exit_codes import signal_exit_code
from rankproof._cli.output import note_lines
from rankproof._cli.parser import unknown_name_error
from rankproof._cli.terminal import Terminal
from rankproof.errors import UsageError, escape_invisible

if TYPE_CHECKING:
    from rankproof._data.table import Table
    from rankproof._experiment.estimate import CostEstimate, SystemCost
    from rankproof._experiment.experiment import Experiment
    from rankproof._experiment.run import RunOptions
    from rankproof._llm.budget import Budget
    from rankproof._results.experiment_result import ExperimentResult
    from rankproof.stages._base import Progress, Stage


USAGE = "[EXPERIMENT.toml] [--dataset FOLDER] [-o FOLDER] [options]"
EXAMPLES = """\
examples:
  rankproof run                                     the default ladder on the built-in sample
  rankproof run --dataset scifact                   the default ladder on your documents
  rankproof init && rankproof run experiment.toml   your own systems
  rankproof run --systems bm25,hybrid-rrf --limit 50 -m nDCG@10,R@100
  rankproof run experiment.toml --dry-run           what it would ask of language models
  rankproof run experiment.toml --budget calls=500,tokens=2000000,money=1.50

a dataset is a folder with corpus.jsonl, queries.jsonl and qrels, or irds:NAME; what is finished is
kept, so that the same command goes on where it was stopped"""
FORMATS = ("table", "json", "csv", "markdown")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to climb, on what, and where the results go."""
    parser.add_argument("experiment", nargs="?", metavar="EXPERIMENT.toml", help="the experiment file (the default ladder)")
    what = parser.add_argument_group("what to run")
    what.add_argument("--dataset", metavar="FOLDER", help="the documents, queries and judgements (the built-in sample)")
    what.add_argument("--split", metavar="NAME", help="which file of judgements (test)")
    what.add_argument("--systems", type=name_list, metavar="A,B…", help="only these systems, and those that they are made of")
    what.add_argument("-m", "--measures", action="append", metavar="MEASURES", help="comma separated, repeatable: nDCG@10,RR")
    what.add_argument("--limit", type=positive_int, metavar="N", help="ask so many of the judged queries only")
    what.add_argument("--seed", type=nonnegative_int, metavar="N", help="draws the queries of --limit (0)")
    what.add_argument("--collapse", metavar="FIELD", help="documents are chunks: rank and judge what this field names, as url")
    what.add_argument("--pool", type=positive_int, metavar="N", help="collapse the first N chunks of a ranking only (all)")
    how = parser.add_argument_group("how to run it")
    how.add_argument("-j", "--jobs", type=positive_int, default=1, metavar="N", help="threads for indexing and encoding (1)")
    how.add_argument("--cache", metavar="FOLDER", help="where finished work is kept (see rankproof cache)")
    how.add_argument("--no-cache", action="store_true", help="neither use nor keep finished work")
    how.add_argument("--budget", type=budget_limits, metavar="LIMITS", help="the most that language models may cost (no limit)")
    how.add_argument("--dry-run", action="store_true", help="say what language models would be asked, and end")
    out = parser.add_argument_group("what to show")
    out.add_argument("-o", "--output", metavar="FOLDER", help="the results folder (rankproof-results/NAME-DATE-TIME)")
    out.add_argument("--no-report", action="store_true", help="leave out report.html, the page with everything")
    out.add_argument("--format", choices=FORMATS, default="table", help="how to show the ladder (table)")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Climbs, saves, shows."""
    import gc
    import os

    from rankproof._cli.commands.report import write_report_page
    from rankproof._cli.exit_codes import handle_sigterm
    from rankproof._cli.progress import RunProgress
    from rankproof._results.document import REPORT_FILE
    from rankproof._results.folder import save_results

    # The command starts without a collector of garbage; work of minutes needs one.
    gc.enable()
    experiment = build_experiment(args, terminal)
    if args.dry_run:
        show_cost_estimate(experiment, args, terminal)
        return 0
    try:
        with handle_sigterm(), results_folder(args.output, experiment.name) as folder:
            with RunProgress(terminal) as progress:
                results = _run_experiment(experiment, args, progress)
            save_results(results, folder, findings=_findings(results))
            if not args.no_report:
                write_report_page(results, os.path.join(folder, REPORT_FILE))
    except KeyboardInterrupt as stop:
        kept = "nothing was kept (--no-cache)" if args.no_cache else "run the same command again to go on"
        terminal.say(f"stopped; {kept}")
        return signal_exit_code(stop)
    show_results(results, folder, args, terminal)
    return 0


def _findings(results: ExperimentResult) -> list[str]:
    """What the answers show, in words."""
    if results.answers is None:
        return []
    from rankproof._analysis.answers.quality import answer_findings_from_results
    from rankproof._cli.options import known_profiles

    return answer_findings_from_results(results, known_profiles()["rag"])


def _run_experiment(experiment: Experiment, args: argparse.Namespace, progress: Progress) -> ExperimentResult:
    from rankproof._experiment.run import run_experiment

    return run_experiment(experiment, _settings(args, progress))


def _settings(args: argparse.Namespace, progress: Progress) -> RunOptions:
    from rankproof._experiment.run import RunOptions
    from rankproof._io.paths import cache_home
    from rankproof._llm.budget import Budget

    if args.no_cache and args.cache is not None:
        raise UsageError("--cache and --no-cache contradict each other", fix="leave out one of them")
    if args.cache == "":
        raise UsageError("--cache names no folder", fix="name one, or leave out --cache")
    home = None if args.no_cache else cache_home() if args.cache is None else args.cache
    return RunOptions(cache=home, threads=args.jobs, progress=progress, budget=args.budget or Budget())


_NO_PRICE_TEXT = "no price given"
_TOTAL = "all together"


def show_cost_estimate(experiment: Experiment, args: argparse.Namespace, terminal: Terminal) -> None:
    """The table to standard output, what it leaves out beside it."""
    from rankproof._experiment.checks import check_systems_have_prices
    from rankproof._experiment.estimate import estimate_cost
    from rankproof._render.table import TABLE_RENDERERS

    if args.budget is not None:
        check_systems_have_prices(experiment.systems, args.budget)
    table = _table(estimate_cost(experiment), args.budget)
    terminal.show(TABLE_RENDERERS[args.format]([table], terminal.render_options()))
    for note in table.notes:
        terminal.note(note)


def _table(prices: CostEstimate, budget: Budget | None) -> Table:
    from rankproof._data.table import Column, Table

    columns = (
        Column("system"),
        Column("requests", about="the language models that it asks"),
        Column("calls", "count", "requests"),
        Column("tokens in", "count", "tokens that the models would read, about four characters each"),
        Column("tokens out", "count", "the most that the replies may have"),
        Column("money", about="at the prices of the models' settings"),
    )
    rows = [_cost_row(name, price) for name, price in prices.systems.items()]
    asks = sum(bool(price.models) for price in prices.systems.values())
    notes = (
        "an estimate: failed requests and replies of no use are asked for again and come on top; replies that are kept from an "
        "earlier run cost nothing",
    )
    return Table(
        name="prices",
        title=f"What {prices.queries} queries would ask of language models; nothing was asked, nothing was written",
        columns=columns,
        rows=tuple([*rows, _cost_row(_TOTAL, prices.total)] if asks else rows),
        sentences=_sentences(prices, budget),
        notes=notes if asks else (),
        highlighted=frozenset({len(rows)}) if asks else frozenset(),
    )


def _cost_row(name: str, price: SystemCost) -> tuple[str | int | None, ...]:
    if not price.models:
        return name, "none", 0, 0, 0, None
    said = price.estimate
    return name, ", ".join(price.models), said.calls, said.tokens_in, said.tokens_out, _money(price)


def _money(price: SystemCost) -> str:
    if price.is_priced:
        return f"{price.money:.4f}"
    return f"{price.money:.4f}, and more" if price.money else _NO_PRICE_TEXT


def _sentences(prices: CostEstimate, budget: Budget | None) -> tuple[str, ...]:
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


def build_experiment(args: argparse.Namespace, terminal: Terminal) -> Experiment:
    """The experiment of the file, or the default ladder, with what the options say instead."""
    experiment = _read(args.experiment) if args.experiment is not None else _default_experiment(args, terminal)
    changes: dict[str, Any] = {
        "dataset": _dataset(args.dataset),
        "split": args.split,
        "limit": args.limit,
        "seed": args.seed,
        "measures": args.measures,
        "collapse": args.collapse,
        "pool": args.pool,
        "systems": None if args.systems is None else select_systems(experiment.systems, args.systems),
    }
    return replace(experiment, **{name: value for name, value in changes.items() if value is not None})


def select_systems(systems: Mapping[str, Stage], names: Sequence[str]) -> dict[str, Stage]:
    """The named systems and those among the others that they are made of, in the ladder's order."""
    from rankproof._experiment.experiment import stage_with_inputs

    for name in names:
        if name not in systems:
            raise unknown_name_error("system", name, systems, see="the experiment's systems: " + ", ".join(systems))
    wanted = {part for name in names for part in stage_with_inputs(systems[name])[:-1]}
    return {name: stage for name, stage in systems.items() if name in names or stage in wanted}


def _read(path: str) -> Experiment:
    from rankproof._experiment.config_read import read_experiment

    if not path:
        raise UsageError("the experiment file has no name", fix="name it, or leave it out for the default ladder")
    return read_experiment(path)


def _default_experiment(args: argparse.Namespace, terminal: Terminal) -> Experiment:
    import os

    from rankproof._experiment.experiment import Experiment, default_systems, missing_weights

    systems = default_systems()
    whole = default_systems(wordllama=True, minilm=True)
    if any(systems.get(name) != whole[name] for name in args.systems or whole if name in whole):
        terminal.note(missing_weights())
    name = "sample" if args.dataset is None else os.path.basename(os.path.abspath(args.dataset))
    return Experiment(systems, name=name or "experiment")


def _dataset(path: str | None) -> str | None:
    """The dataset as a place that stays the same wherever the results are read."""
    import os

    from rankproof._experiment.experiment import SAMPLE
    from rankproof._formats.read import is_irds_name

    if path is None or path == SAMPLE or is_irds_name(path):
        return path
    if not os.path.isdir(path):
        raise UsageError(f"{path} is no folder", fix="name a dataset: a folder with corpus.jsonl, queries.jsonl and qrels")
    return os.path.abspath(path)


RESULTS_HOME = "rankproof-results"


@contextmanager
def results_folder(asked: str | None, name: str) -> Iterator[str]:
    """The folder; one that was not asked for is made at once, so that it is taken, and vanishes where nothing was written."""
    from rankproof._results.folder import check_results_folder

    if asked == "":
        raise UsageError("the results folder has no name", fix="name one, or leave out -o")
    if asked is not None:
        check_results_folder(asked)
        yield asked
        return
    folder = create_results_folder(name)
    try:
        yield folder
    finally:
        with suppress(OSError):
            os.rmdir(folder)
            os.rmdir(RESULTS_HOME)


def create_results_folder(name: str) -> str:
    """A new empty folder in `rankproof-results`, named by the experiment and the time, and a number where that is taken."""
    from datetime import datetime

    from rankproof._io.paths import file_name

    first = os.path.join(RESULTS_HOME, f"{file_name(name)}-{datetime.now():%Y%m%d-%H%M%S}")
    folder, number = first, 1
    while not _create_folder(folder):
        number += 1
        folder = f"{first}-{number}"
    return folder


def _create_folder(folder: str) -> bool:
    try:
        os.makedirs(RESULTS_HOME, exist_ok=True)
        os.mkdir(folder)
    except OSError as error:
        if isinstance(error, FileExistsError) and os.path.isdir(RESULTS_HOME):
            return False
        fix = "name a folder that this user can write with -o"
        raise UsageError(f"{folder} cannot be made ({error.strerror})", fix=fix) from None
    return True


def show_results(results: ExperimentResult, folder: str, args: argparse.Namespace, terminal: Terminal) -> None:
    """The ladder to standard output; notes and the way to the results beside it."""
    from rankproof._render import systems
    from rankproof._results.document import REPORT_FILE

    views = {
        "table": systems.render_systems,
        "json": systems.systems_json,
        "csv": systems.systems_csv,
        "markdown": systems.systems_markdown,
    }
    terminal.show(views[args.format](results, terminal.render_options()))
    for line in (
        *results.notes,
        *_result_notes(results),
        *_cached_times_notes(results),
        *note_lines(results.result),
        *_answer_notes(results),
    ):
        terminal.note(line)
    if not terminal.quiet:
        parts = "summary.csv, per_query.csv (each query), runs/ (each ranking), result.json (all)"
        page = "" if args.no_report else f"; open {escape_invisible(os.path.join(folder, REPORT_FILE))} in a browser to see them"
        terminal.say(f"results in {escape_invisible(folder)}: {parts}{page}")


def _answer_notes(results: ExperimentResult) -> list[str]:
    return [] if results.answers is None else note_lines(results.answers)


def _cached_times_notes(results: ExperimentResult) -> list[str]:
    """Times are those of the run that took them, which may be of another day and another load."""
    kept = [system_run for system_run in results.system_runs if system_run.from_cache]
    if not kept:
        return []
    first, last = min(system_run.computed for system_run in kept), max(system_run.computed for system_run in kept)
    when = first if first == last else f"{first} to {last}"
    whose = "all systems" if len(kept) == len(results.system_runs) else ", ".join(system_run.name for system_run in kept)
    return [f"times of {whose} are those of an earlier run ({when}), from the cache; --no-cache takes them anew"]


def _result_notes(results: ExperimentResult) -> list[str]:
    return [f"{system_run.name}: {note}" for system_run in results.system_runs for note in system_run.notes]


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
