"""`rankproof tokenizers compare`: compares systems with different tokenizers on the same queries."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal, TypedDict

from rankproof._cli.flags import add_flags
from rankproof._cli.terminal import Terminal
from rankproof._registry import Option
from rankproof._tokenizer_lab.systems import PromptUse
from rankproof.errors import UsageError, escape_invisible
from rankproof.stores._registry import STORES

if TYPE_CHECKING:
    from rankproof._data.table import Table
    from rankproof._executors.base import Progress
    from rankproof._experiment.run import RunOptions
    from rankproof._tokenizer_lab.compare import ComparisonPlan
    from rankproof._tokenizer_lab.comparison import TokenizerComparison


FORMATS = ("table", "csv", "json", "markdown")
LEXICAL = "words,stems,characters-4,bytes-4,bpe-4000"


class CompareArguments(TypedDict, total=False):
    """The options of `compare`; those that are left out are None, so that the other action can reject them."""

    lexical: Annotated[list[str] | None, Option("BM25 with these tokenizers, or none", metavar="KINDS", unset=LEXICAL)]
    model: Annotated[
        list[str] | None,
        Option(
            "an encoder: minilm, wordllama, FOLDER, ORGANISATION/MODEL; byt5:, canine:, trained:, bpe: or torch: before a source",
            metavar="NAME",
            repeated=True,
        ),
    ]
    prompts: Annotated[
        PromptUse | None,
        Option(
            "own: each checkpoint with the prompts of its training; all: also without prompts and with those of the others",
            unset="own",
        ),
    ]
    store: Annotated[str | None, Option("vector store", choices=STORES, unset="memory")]
    typos: Annotated[
        tuple[int, ...] | None, Option("numbers of random typos per query, such as 0,1,2", metavar="N,N…", unset="0")
    ]
    measures: Annotated[
        list[str] | None,
        Option("measures; the first is the main one", letter="-m", metavar="MEASURES", repeated=True, unset="nDCG@10,…"),
    ]
    limit: Annotated[int | None, Option("use only N of the judged queries", least=1)]
    jobs: Annotated[int | None, Option("threads for indexing and encoding", letter="-j", least=1, unset="1")]
    cache: Annotated[str | None, Option("cache folder (see rankproof cache)", metavar="FOLDER")]
    format: Annotated[Literal["table", "csv", "json", "markdown"] | None, Option("output format", unset="table")]


def add_arguments(group: argparse._ArgumentGroup) -> None:
    """Adds the systems, the conditions and the output."""
    # Not an Option: a flag that is given twice is an error with its fix, where other flags take the last value.
    about = "checkpoints written by `train`; those with the same tokenizer are repeats"
    group.add_argument("--checkpoints", action="append", metavar="FOLDER", help=about)
    add_flags(group, CompareArguments)


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Compares the systems, saves the comparison and shows it."""
    import gc

    from rankproof._cli.exit_codes import handle_sigterm, signal_exit_code
    from rankproof._cli.progress import RunProgress
    from rankproof._tokenizer_lab.compare import compare_tokenizers
    from rankproof._tokenizer_lab.files import check_comparison_folder

    # The command starts without the garbage collector; long work needs it.
    gc.enable()
    if args.output is not None:
        check_comparison_folder(args.output)
    plan = _plan(args)
    try:
        with handle_sigterm(), RunProgress(terminal) as progress:
            comparison = compare_tokenizers(plan, _settings(args, progress))
    except KeyboardInterrupt as stop:
        terminal.say("stopped; run the same command again to continue")
        return signal_exit_code(stop)
    if args.output is not None:
        _save(comparison, args.output, terminal)
    _show(comparison, args, terminal)
    return 0


def _plan(args: argparse.Namespace) -> ComparisonPlan:
    from rankproof._cli.options import DEFAULT_SPLIT, read_dataset_or_sample
    from rankproof._tokenizer_lab.compare import ComparisonPlan
    from rankproof._tokenizer_lab.splits import read_languages
    from rankproof._tokenizer_lab.systems import (
        TrainedSystems,
        encoder_system,
        find_trained_systems,
        lexical_system,
        unique_names,
    )
    from rankproof.stores._registry import store_by_name

    store = store_by_name(args.store or "memory")
    if args.checkpoints and len(args.checkpoints) > 1:
        raise UsageError("--checkpoints is given more than once", fix="specify the folder that contains them")
    if args.prompts and not args.checkpoints:
        raise UsageError("--prompts is for checkpoints, and there are none", fix="leave it out, or name some with --checkpoints")
    trained = (
        find_trained_systems(args.checkpoints[0], store, args.device or "cpu", args.prompts or "own")
        if args.checkpoints
        else TrainedSystems()
    )
    encoders = [encoder_system(spec, store, args.device or "cpu") for spec in args.model or ()]
    if args.device and not any(system.metadata for system in (*trained.systems, *encoders)):
        raise UsageError("--device is for checkpoints, and none is compared", fix="leave it out, or name some with --checkpoints")
    asked = LEXICAL.split(",") if args.lexical is None else [kind for kind in args.lexical if kind != "none"]
    dataset = read_dataset_or_sample(args.dataset, args.split or DEFAULT_SPLIT, args)
    return ComparisonPlan(
        name=dataset.name,
        systems=unique_names((*trained.systems, *encoders, *map(lexical_system, dict.fromkeys(asked)))),
        datasets=read_languages(args.dataset, dataset, args.languages),
        edits=args.typos or [0],
        measures=args.measures,
        limit=args.limit,
        seed=args.seed,
        store=args.store or "memory",
        notes=trained.notes,
    )


def _settings(args: argparse.Namespace, progress: Progress) -> RunOptions:
    from rankproof._experiment.run import RunOptions
    from rankproof._io.paths import cache_home

    if args.cache == "":
        raise UsageError("--cache has no folder", fix="specify one, or leave out --cache")
    return RunOptions(cache=args.cache or cache_home(), threads=args.jobs or 1, progress=progress)


def _save(comparison: TokenizerComparison, folder: str, terminal: Terminal) -> None:
    """Writes the folder, with charts if matplotlib is installed."""
    from rankproof._tokenizer_lab.files import save_comparison
    from rankproof.errors import MissingExtraError

    try:
        from rankproof._tokenizer_lab.tables import draw_tokenizer_charts

        charts = draw_tokenizer_charts(comparison)
    except MissingExtraError as missing:
        charts = {}
        terminal.note(f"no charts: {missing}")
    save_comparison(comparison, folder, conclusion=_markdown(comparison, terminal), charts=charts)


def _markdown(comparison: TokenizerComparison, terminal: Terminal) -> str:
    from rankproof._render.table import as_markdown
    from rankproof._tokenizer_lab.tables import standalone_tables

    return as_markdown(standalone_tables(comparison), terminal.render_options(to_file=True))


def _show(comparison: TokenizerComparison, args: argparse.Namespace, terminal: Terminal) -> None:
    from rankproof._tokenizer_lab.tables import comparison_tables

    tables = comparison_tables(comparison)
    terminal.show(_rendered(comparison, tables, args.format, terminal))
    terminal.notes(note for table in tables for note in table.notes)
    if args.output is not None and not terminal.quiet:
        parts = "comparison.csv, queries.csv (each query), conclusion.md, comparison.json, charts"
        terminal.say(f"comparison in {escape_invisible(args.output)}: {parts}")


def _rendered(comparison: TokenizerComparison, tables: Sequence[Table], format: str | None, terminal: Terminal) -> str:
    from rankproof._render.table import as_text
    from rankproof._tokenizer_lab.files import comparison_csv, comparison_json

    if format == "csv":
        return comparison_csv(comparison)
    if format == "json":
        return comparison_json(comparison)
    return _markdown(comparison, terminal) if format == "markdown" else as_text(tables, terminal.render_options())
