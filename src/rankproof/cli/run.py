"""`rankproof run`: climbs the ladder of an experiment and writes a results folder."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..errors import UsageError
from .endings import stop_code
from .terminal import Terminal
from .values import at_least_one, budget, names, whole

if TYPE_CHECKING:
    from ..experiment import Climb, Experiment, Settings
    from ..stages.base import Progress

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
    what.add_argument("--systems", type=names, metavar="A,B…", help="only these systems, and those that they are made of")
    what.add_argument("-m", "--measures", action="append", metavar="MEASURES", help="comma separated, repeatable: nDCG@10,RR")
    what.add_argument("--limit", type=at_least_one, metavar="N", help="ask so many of the judged queries only")
    what.add_argument("--seed", type=whole, metavar="N", help="draws the queries of --limit (0)")
    what.add_argument("--collapse", metavar="FIELD", help="documents are chunks: rank and judge what this field names, as url")
    what.add_argument("--pool", type=at_least_one, metavar="N", help="collapse the first N chunks of a ranking only (all)")
    how = parser.add_argument_group("how to run it")
    how.add_argument("-j", "--jobs", type=at_least_one, default=1, metavar="N", help="threads for indexing and encoding (1)")
    how.add_argument("--cache", metavar="FOLDER", help="where finished work is kept (see rankproof cache)")
    how.add_argument("--no-cache", action="store_true", help="neither use nor keep finished work")
    how.add_argument("--budget", type=budget, metavar="LIMITS", help="the most that language models may cost (no limit)")
    how.add_argument("--dry-run", action="store_true", help="say what language models would be asked, and end")
    out = parser.add_argument_group("what to show")
    out.add_argument("-o", "--output", metavar="FOLDER", help="the results folder (rankproof-results/NAME-DATE-TIME)")
    out.add_argument("--no-report", action="store_true", help="leave out report.html, the page with everything")
    out.add_argument("--format", choices=FORMATS, default="table", help="how to show the ladder (table)")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Climbs, saves, shows."""
    import gc
    import os

    from ..experiment.results.folder import REPORT, save
    from .ladder_experiment import experiment_of
    from .ladder_folder import results_folder
    from .ladder_progress import LadderProgress
    from .ladder_showing import show_climb
    from .report import write_report
    from .termination import heard_termination

    # The command starts without a collector of garbage; work of minutes needs one.
    gc.enable()
    experiment = experiment_of(args, terminal)
    if args.dry_run:
        from .dry_run import show_prices

        show_prices(experiment, args, terminal)
        return 0
    try:
        with heard_termination(), results_folder(args.output, experiment.name) as folder:
            with LadderProgress(terminal) as progress:
                climb = _climbed(experiment, args, progress)
            save(climb, folder, findings=_findings(climb))
            if not args.no_report:
                write_report(climb, os.path.join(folder, REPORT))
    except KeyboardInterrupt as stop:
        kept = "nothing was kept (--no-cache)" if args.no_cache else "run the same command again to go on"
        terminal.say(f"stopped; {kept}")
        return stop_code(stop)
    show_climb(climb, folder, args, terminal)
    return 0


def _findings(climb: Climb) -> list[str]:
    """What the answers show, in words."""
    if climb.answers is None:
        return []
    from ..analysis.answers.findings import findings_of_climb
    from .profiles import known_profiles

    return findings_of_climb(climb, known_profiles()["rag"])


def _climbed(experiment: Experiment, args: argparse.Namespace, progress: Progress) -> Climb:
    from ..experiment import climb

    return climb(experiment, _settings(args, progress))


def _settings(args: argparse.Namespace, progress: Progress) -> Settings:
    from ..asking.budget import Budget
    from ..experiment import Settings
    from ..places import cache_home

    if args.no_cache and args.cache is not None:
        raise UsageError("--cache and --no-cache contradict each other", fix="leave out one of them")
    if args.cache == "":
        raise UsageError("--cache names no folder", fix="name one, or leave out --cache")
    home = None if args.no_cache else cache_home() if args.cache is None else args.cache
    return Settings(cache=home, threads=args.jobs, progress=progress, budget=args.budget or Budget())
