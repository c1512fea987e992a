"""`rankproof tokenizers compare`: systems that cut texts in different ways, on the same queries."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import UsageError, visible
from .terminal import Terminal
from .values import at_least_one, names, whole_numbers

if TYPE_CHECKING:
    from ..analysis.table import Table
    from ..experiment import Settings
    from ..lab.comparing.comparison import Comparison
    from ..lab.comparing.plan import Plan
    from ..stages.base import Progress

FORMATS = ("table", "csv", "json", "markdown")
TRIALS = "checkpoints that `train` wrote; those of one tokenizer are repeats"
MODELS = "an encoder: minilm, wordllama, FOLDER, ORGANISATION/MODEL, or byt5:, canine:, trial:, bpe:, torch: before a source"
LEXICAL = "words,stems,characters-4,bytes-4,bpe-4000"


def add_arguments(group: argparse._ArgumentGroup) -> None:
    """What is compared, how, and what is shown."""
    from ..stores.registry import STORES

    group.add_argument("--trials", action="append", metavar="FOLDER", help=TRIALS)
    group.add_argument("--lexical", type=names, metavar="KINDS", help=f"BM25 over these tokens, or none ({LEXICAL})")
    group.add_argument("--model", action="append", metavar="NAME", help=MODELS)
    group.add_argument("--store", choices=STORES.names(), help="where vectors are searched (memory)")
    group.add_argument("--typos", type=whole_numbers, metavar="N,N…", help="so many random edits in each query, as in 0,1,2 (0)")
    group.add_argument("-m", "--measures", action="append", metavar="MEASURES", help="the first is the main one (nDCG@10,…)")
    group.add_argument("--limit", type=at_least_one, metavar="N", help="ask so many of the judged queries only")
    group.add_argument("-j", "--jobs", type=at_least_one, metavar="N", help="threads for indexing and encoding (1)")
    group.add_argument("--cache", metavar="FOLDER", help="where finished work is kept (see rankproof cache)")
    group.add_argument("--format", choices=FORMATS, help="how to show the comparison (table)")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Compares, saves, shows."""
    import gc

    from ..lab.comparing.compare import compare
    from ..lab.comparing.folder import check_comparison_folder
    from .endings import stop_code
    from .ladder_progress import LadderProgress
    from .termination import heard_termination

    # The command starts without a collector of garbage; work of minutes needs one.
    gc.enable()
    if args.output is not None:
        check_comparison_folder(args.output)
    plan = _plan(args)
    try:
        with heard_termination(), LadderProgress(terminal) as progress:
            found = compare(plan, _settings(args, progress))
    except KeyboardInterrupt as stop:
        terminal.say("stopped; run the same command again to go on")
        return stop_code(stop)
    if args.output is not None:
        _save(found, args.output, terminal)
    _show(found, args, terminal)
    return 0


def _plan(args: argparse.Namespace) -> Plan:
    from ..lab.comparing.contestants import encoder, lexical, named_once
    from ..lab.comparing.plan import Plan
    from ..lab.comparing.trials import Trials, trials_in
    from ..lab.lessons.languages import read_languages
    from ..stores.registry import store_named
    from .dataset import SPLIT, read_named

    store = store_named(args.store or "memory")
    if args.trials and len(args.trials) > 1:
        raise UsageError("--trials is given more than once", fix="name the folder that holds both")
    trials = trials_in(args.trials[0], store, args.device or "cpu") if args.trials else Trials()
    encoders = [encoder(spec, store, args.device or "cpu") for spec in args.model or ()]
    if args.device and not any(one.cards for one in (*trials.contestants, *encoders)):
        raise UsageError("--device is that of checkpoints, and none is compared", fix="leave it out, or name some with --trials")
    asked = LEXICAL.split(",") if args.lexical is None else [kind for kind in args.lexical if kind != "none"]
    dataset = read_named(args.dataset, args.split or SPLIT)
    return Plan(
        name=dataset.name,
        contestants=named_once((*trials.contestants, *encoders, *map(lexical, dict.fromkeys(asked)))),
        editions=read_languages(args.dataset, dataset, args.languages),
        edits=args.typos or [0],
        measures=args.measures,
        limit=args.limit,
        seed=args.seed,
        store=args.store or "memory",
        notes=trials.notes,
    )


def _settings(args: argparse.Namespace, progress: Progress) -> Settings:
    from ..experiment import Settings
    from ..places import cache_home

    if args.cache == "":
        raise UsageError("--cache names no folder", fix="name one, or leave out --cache")
    return Settings(cache=args.cache or cache_home(), threads=args.jobs or 1, progress=progress)


def _save(found: Comparison, folder: str, terminal: Terminal) -> None:
    """The folder, with charts where they can be drawn."""
    from ..errors import MissingExtraError
    from ..lab.comparing.folder import save_comparison

    try:
        from ..plots.tokenizers import tokenizer_pictures

        charts = tokenizer_pictures(found)
    except MissingExtraError as missing:
        charts = {}
        terminal.note(f"no charts: {missing}")
    save_comparison(found, folder, conclusion=_markdown(found, terminal), charts=charts)


def _markdown(found: Comparison, terminal: Terminal) -> str:
    from ..lab.comparing.tables import page_of
    from ..views.analysis import as_markdown

    return as_markdown(page_of(found), terminal.look(to_file=True))


def _show(found: Comparison, args: argparse.Namespace, terminal: Terminal) -> None:
    from ..lab.comparing.tables import tables_of

    tables = tables_of(found)
    terminal.show(_shown(found, tables, args.format, terminal))
    for note in dict.fromkeys(note for table in tables for note in table.notes):
        terminal.note(note)
    if args.output is not None and not terminal.quiet:
        parts = "comparison.csv, queries.csv (each query), conclusion.md, comparison.json, charts"
        terminal.say(f"comparison in {visible(args.output)}: {parts}")


def _shown(found: Comparison, tables: Sequence[Table], format: str | None, terminal: Terminal) -> str:
    from ..lab.comparing.csv_files import comparison_csv
    from ..lab.comparing.document import comparison_json
    from ..views.analysis import as_text

    if format == "csv":
        return comparison_csv(found)
    if format == "json":
        return comparison_json(found)
    return _markdown(found, terminal) if format == "markdown" else as_text(tables, terminal.look())
