"""The options of `rankproof run` on how it runs: threads, cluster, latency, partitions, cache, budget and repeats."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rankproof._cli.flags import add_flags
from rankproof._experiment.options import ExecutionArguments
from rankproof.errors import UsageError

if TYPE_CHECKING:
    from rankproof._executors.base import Progress
    from rankproof._experiment.run import RunOptions
    from rankproof._io.corpus_store import CorpusStorage


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
