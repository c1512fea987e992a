"""The options of `rankproof run` on how it runs: threads, cluster, latency, partitions, cache, budget and repeats."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rankproof._cli.flags import budget_limits, byte_size, positive_int
from rankproof.errors import UsageError

if TYPE_CHECKING:
    from rankproof._executors.base import Progress
    from rankproof._experiment.run import RunOptions
    from rankproof._io.corpus_store import CorpusStorage


def add_execution_options(parser: argparse.ArgumentParser) -> None:
    """Adds the group."""
    how = parser.add_argument_group("execution")
    how.add_argument(
        "-j",
        "--jobs",
        type=positive_int,
        default=1,
        metavar="N",
        help="use N threads to index, encode and search, or N processes if the corpus has several partitions (default: 1)",
    )
    how.add_argument(
        "--on", metavar="CLUSTER", help="index, encode and search on Ray: ray (on this machine), ray://HOST:10001 or address=auto"
    )
    how.add_argument(
        "--latency-queries",
        type=positive_int,
        metavar="N",
        help="measure latency on N queries, asked one at a time; the same for all systems, selected by --seed (default: 200)",
    )
    how.add_argument(
        "--partition-size",
        type=positive_int,
        metavar="N",
        help="the most documents that are indexed or encoded at once; the results do not depend on it (default: 250000)",
    )
    how.add_argument("--cache", metavar="FOLDER", help="cache folder (see rankproof cache)")
    how.add_argument("--no-cache", action="store_true", help="do not use the cache")
    how.add_argument(
        "--cache-limit",
        type=byte_size,
        metavar="SIZE",
        help="after the run, remove what was used longest ago until the cache has at most SIZE, such as 20GB (default: no limit)",
    )
    how.add_argument(
        "--budget", type=budget_limits, metavar="LIMITS", help="limits on calls to models and search engines (default: none)"
    )
    how.add_argument(
        "--dry-run", action="store_true", help="estimate the calls to models and search engines without running them"
    )
    how.add_argument(
        "--repeats",
        dest="run_repeats",
        type=positive_int,
        default=1,
        metavar="K",
        help="run systems with a search engine or language model K times; values are means, and a note counts changed rankings",
    )
    how.add_argument("--ask-again", action="store_true", help="ask search engines again, ignoring recorded replies")
    how.add_argument("--strict", action="store_true", help="stop at the first query that a search engine fails to answer")


def run_options(args: argparse.Namespace, progress: Progress) -> RunOptions:
    """The options of the run that the arguments give."""
    from rankproof._experiment.run import LATENCY_QUERIES, RunOptions
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
        latency_queries=args.latency_queries or LATENCY_QUERIES,
        partition_size=storage.partition_size,
    )


def storage_options(args: argparse.Namespace) -> CorpusStorage:
    """How documents are kept, by the options of cache and partitions."""
    from pathlib import Path

    from rankproof._data.corpus import PARTITION_SIZE
    from rankproof._io.corpus_store import CorpusStorage
    from rankproof._io.paths import cache_home

    if args.no_cache and args.cache is not None:
        raise UsageError("--cache and --no-cache contradict each other", fix="leave out one of them")
    if args.no_cache and args.cache_limit is not None:
        raise UsageError("--cache-limit and --no-cache contradict each other", fix="leave out one of them")
    if args.cache == "":
        raise UsageError("--cache has no folder", fix="specify one, or leave out --cache")
    home = None if args.no_cache else cache_home() if args.cache is None else Path(args.cache).expanduser().absolute()
    return CorpusStorage(home, args.partition_size or PARTITION_SIZE)
