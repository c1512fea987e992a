"""`rankproof tune`: finds parameters by nested cross-validation over queries."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

from rankproof._cli.execution_options import add_trust_option, read_trusted_experiment
from rankproof._cli.flags import add_flags, name_list, settings_by_name
from rankproof._cli.inputs import add_input_options
from rankproof._cli.parser import Command
from rankproof._cli.terminal import (
    STDOUT,
    Terminal,
    add_details_option,
    add_format_option,
    add_output_option,
    check_output,
    is_summary_view,
    summary_tables,
    write_or_show,
)
from rankproof._experiment.options import ExecutionArguments
from rankproof.errors import UsageError, for_message

if TYPE_CHECKING:
    from rankproof._api.values import Tuning
    from rankproof._tune.parameters import Space
    from rankproof._tune.tuning import TuningPlan


USAGE = "QRELS RUN RUN… | --config EXPERIMENT.toml [--system NAME] [--vary KEY=VALUES] [options]"
EXAMPLES = """\
examples:
  rankproof tune qrels.txt bm25.run dense.run
  rankproof tune qrels.txt bm25.run dense.run --method all --norm all -m RR@10
  rankproof tune qrels.txt a.run b.run c.run d.run --method combsum --search coordinate
  rankproof tune data/scifact bm25.run dense.run --dataset data/scifact -o tuned.toml
  rankproof tune --config experiment.toml --system bm25 -o tuned.toml
  rankproof tune --config experiment.toml --system bm25 --vary k1=0.6:2.4:0.3 --vary b=0.3,0.5,0.75
  rankproof tune --config experiment.toml --system hybrid --vary weights=grid --vary bm25.k1
  rankproof tune --config experiment.toml --system reranked --vary weight=0:1:0.1 --vary top --dry-run

The settings are chosen on training queries and measured on held-out queries: folds × repeats.
Values of --vary: a list a,b,c, a range low:high:step, for weights also grid or grid:STEP; without
values, the usual ones. How the gain is measured: docs/fusion.md"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the inputs, the parameters, the validation and the output."""
    from rankproof._api.tune import tune

    out = add_input_options(parser, "output", "the judgements and then two or more runs to fuse")
    add_format_option(out)
    add_output_option(out, "write the tuned system as an experiment file (TOML)")
    out.add_argument("--trials", metavar="FILE", help="write all trials: CSV, or JSON if the file ends in .json")
    add_flags(out, tune, ["dataset"])
    add_details_option(out)
    what = parser.add_argument_group("parameters")
    what.add_argument("--config", metavar="EXPERIMENT.toml", help="tune a system of this experiment file")
    add_flags(what, tune, ("system", "vary", "method", "norm", "step"), method=None, norm=None, step=None, vary=[])
    validation = parser.add_argument_group("search and validation")
    add_flags(validation, tune, ("search", "folds", "repeats", "seed"))
    validation.add_argument("--dry-run", action="store_true", help="say how many trials there are, and stop")
    add_trust_option(validation)
    how = parser.add_argument_group("execution, with --config")
    add_flags(how, ExecutionArguments, ("jobs", "cache"))
    how.add_argument("--no-cache", action="store_true", help="do not use the cache")
    add_flags(how, ExecutionArguments, ["budget"])
    unset = ("on", "cache_limit", "latency_queries", "partition_size", "run_repeats", "ask_again", "strict")
    how.set_defaults(**{name: setting.default for name, setting in settings_by_name(ExecutionArguments).items() if name in unset})


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Tunes the fusion of the runs, or the system of the experiment."""
    import gc

    from rankproof._tune.tuning import TuningPlan

    # The command starts without the garbage collector; long work needs it.
    gc.enable()
    plan = TuningPlan(args.search, args.folds, args.repeats, args.seed)
    for path in (args.output, args.trials):
        _check_file(path, [*args.files, args.config])
    tuning = _tune_system(args, plan, terminal) if args.config is not None else _tune_runs(args, plan, terminal)
    if tuning is not None:
        _show(tuning, args, terminal)
    return 0


def _check_file(path: str | None, inputs: Sequence[str | None]) -> None:
    """Refuses, before any work is done, an output that is an input or has no folder."""
    check_output(path, inputs)
    if path not in STDOUT and not os.path.isdir(os.path.dirname(os.path.abspath(str(path)))):
        raise UsageError(f"{for_message(str(path))} is in a folder that does not exist", fix="specify a folder that exists")


_ONLY_RUNS = ("files", "name", "method", "norm", "step", "dataset", "rel", "depth", "judged_only", "queries", "weights", "order")
_ONLY_SYSTEMS = ("system", "jobs", "cache", "no_cache", "budget")


def _refuse(args: argparse.Namespace, names: Sequence[str], what: str, fix: str) -> None:
    """Refuses options that the input does not use."""
    for name in names:
        if getattr(args, name) != args.parser.get_default(name) and getattr(args, name):
            subject = "run files are" if name == "files" else f"--{name.replace('_', '-')} is"
            raise UsageError(f"{subject} {what}", fix=fix)


def _measure(args: argparse.Namespace) -> str:
    from rankproof.measures._parse import parse_measures

    names: list[str] = args.measures or ["nDCG@10"]
    if len(parse_measures(names)) > 1:
        raise UsageError("one measure chooses the settings", fix="name one with -m")
    return names[0]


def _tune_runs(args: argparse.Namespace, plan: TuningPlan, terminal: Terminal) -> Tuning | None:
    from rankproof._api.tuning import FusionChoices, tune_runs
    from rankproof._cli.options import evaluate_options
    from rankproof._evaluation.user_forms import name_runs_uniquely
    from rankproof._tune.tuning import tunable_measure

    _refuse(args, _ONLY_SYSTEMS, "for a system of an experiment file", "name the file with --config, or leave it out")
    if len(args.files) < 3:
        raise UsageError(
            "there are fewer than two runs", fix="specify the judgements and then two or more runs, or --config FILE"
        )
    fusion = FusionChoices(
        name_list(args.method or "rrf"),
        name_list(args.norm or "min-max"),
        _vary(args.vary),
        0.1 if args.step is None else args.step,
    )
    qrels, *runs = args.files
    if args.dry_run:
        _say_trials(fusion.space(len(runs)), plan, terminal)
        return None
    dataset = _runs_dataset(args)
    args.rel = args.rel or 1
    named = name_runs_uniquely(runs, args.name)
    measure = tunable_measure(_measure(args))
    return tune_runs(qrels, named, measure, fusion, plan, evaluate_options(args, None), dataset=dataset)


def _runs_dataset(args: argparse.Namespace) -> str | None:
    """The dataset of the experiment file: --dataset, or judgements that are in the folder of one."""
    if args.output is None:
        return None
    dataset: str | None = args.dataset or (args.files[0] if os.path.isdir(args.files[0]) else None)
    if dataset is None:
        raise UsageError("an experiment file needs the queries of the runs", fix="name their dataset with --dataset FOLDER")
    return dataset if dataset == "sample" or dataset.startswith("irds:") else os.path.abspath(dataset)


def _tune_system(args: argparse.Namespace, plan: TuningPlan, terminal: Terminal) -> Tuning | None:
    from rankproof._api.tuning import chosen_system, tune_system
    from rankproof._cli.execution_options import run_options
    from rankproof._cli.progress import RunProgress
    from rankproof._tune.tuning import tunable_measure

    _refuse(args, _ONLY_RUNS, "not used with --config", "leave out what is for run files: the experiment file has its own")
    # What a search function prints is not part of the output.
    with redirect_stdout(sys.stderr):
        experiment = read_trusted_experiment(args.config, args, terminal)
    tuned = chosen_system(experiment, args.system, _vary(args.vary))
    if args.dry_run:
        _say_trials(tuned.space, plan, terminal)
        return None
    measure = tunable_measure(_measure(args))
    with RunProgress(terminal) as progress, redirect_stdout(sys.stderr):
        return tune_system(experiment, args.system, _vary(args.vary), measure, plan, run_options(args, progress))


def _vary(texts: Sequence[str]) -> dict[str, str | None]:
    """Each parameter with the text of its values, None for the usual ones."""
    varied: dict[str, str | None] = {}
    for text in texts:
        key, has_values, values = text.partition("=")
        if not key or (has_values and not values):
            raise UsageError(f"--vary {text} has no {'values' if key else 'parameter'}", fix="write --vary k1=0.6,0.9,1.2")
        varied[key] = values if has_values else None
    return varied


def _say_trials(space: Space, plan: TuningPlan, terminal: Terminal) -> None:
    """Says how many trials there are."""
    if plan.search == "grid":
        trials = f"{len(space.grid()):,} trials"
    else:
        trials = f"at most {len(space.grid()):,} trials; coordinate search tries those that it meets"
    terminal.show(f"{trials}, {plan.folds} folds x {plan.repeats} repeats\n")


def _show(tuning: Tuning, args: argparse.Namespace, terminal: Terminal) -> None:
    from rankproof._io.files import write_blocks
    from rankproof._render.table import TABLE_RENDERERS

    if args.output is not None and tuning.toml is not None:
        write_or_show(tuning.toml, args.output, terminal)
    options = terminal.render_options()
    if args.trials is not None:
        form = "json" if args.trials.endswith(".json") else "csv"
        write_blocks(args.trials, [TABLE_RENDERERS[form]([tuning.table("trials")], options).encode()])
    tables = summary_tables(tuning.tables) if is_summary_view(args) else tuning.tables
    terminal.show(TABLE_RENDERERS[args.format](tables, options))
    terminal.notes(note for table in tables for note in table.notes)


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
