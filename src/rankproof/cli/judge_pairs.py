"""The pairs that `rankproof judge` is asked to judge, and what people said of them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..data.counting import counted
from ..errors import UsageError, shown
from .dataset import is_sample, read_named
from .terminal import Terminal

if TYPE_CHECKING:
    from ..data.corpus import Corpus
    from ..data.qrels import Qrels
    from ..data.queries import Queries
    from ..judging.pairs import Pair

_NEEDED = "name them with --pairs, --runs or --results, or judged ones with --qrels"


@dataclass(frozen=True)
class Chosen:
    """The pairs, the pools that they come from by name, people's grades of some of them, and the highest that they ever gave."""

    pairs: Sequence[Pair]
    pools: Mapping[str, Sequence[Pair]] = field(default_factory=dict)
    human: Mapping[Pair, int] = field(default_factory=dict)
    highest: int | None = None


def texts_of(files: Sequence[str]) -> tuple[Corpus, Queries]:
    """The documents and queries of a dataset, or of two files of JSONL."""
    from ..formats import is_remote
    from ..formats.folder import read_folder_texts
    from ..formats.opening import open_source
    from ..formats.texts_format import read_corpus, read_queries

    if len(files) == 2:
        return read_corpus(open_source(files[1])), read_queries(open_source(files[0]))
    if len(files) != 1:
        raise UsageError(f"{len(files)} files are named", fix="name a dataset, or the queries and then the documents")
    (path,) = files
    if is_sample(path) or is_remote(path):
        dataset = read_named(path)
        return dataset.corpus, dataset.queries
    return read_folder_texts(path)


def chosen_pairs(args: argparse.Namespace, terminal: Terminal) -> Chosen:
    """What the options choose; without a pool the pairs are those that people judged."""
    from ..judging.pairs import drawn, joined, without_judged

    if args.sample is not None and args.qrels is None:
        raise UsageError("--sample draws from people's judgements", fix="name them with --qrels, or leave out --sample")
    pools, known = _pools(args)
    human = {} if args.qrels is None else _by_people(_qrels(args.qrels), terminal)
    highest = max(human.values(), default=None)
    if args.holes:
        judged = _grades(human) if args.qrels is not None else known
        if judged is None or not pools:
            raise UsageError("--holes needs a pool and what was judged of it", fix="add --results, or --runs and --qrels")
        pools = {name: without_judged(pool, judged) for name, pool in pools.items()}
    if not pools:
        if args.qrels is None:
            raise UsageError("no pair is named", fix=_NEEDED)
        sample = drawn(human, args.sample, args.seed)
        return Chosen(sample, {}, {pair: human[pair] for pair in sample}, highest)
    pairs = joined(pools.values())
    both = drawn((pair for pair in pairs if pair in human), args.sample, args.seed)
    if args.qrels is not None and not both and not args.holes:
        terminal.note(f"people judged none of {counted(len(pairs), 'pair')}, so that nothing can be held against them")
    every = {"all": pairs} if len(pools) > 1 else {}
    return Chosen(pairs, {**every, **pools}, {pair: human[pair] for pair in both}, highest)


def _pools(args: argparse.Namespace) -> tuple[dict[str, list[Pair]], Mapping[str, Mapping[str, int]] | None]:
    """The pairs of each file or system, and the judgements that came with them."""
    from ..evaluation import name_each
    from ..experiment.results.folder import load
    from ..formats import read_run
    from ..formats.opening import open_source
    from ..judging.pairs import pool_of, read_pairs

    given = [name for name in ("pairs", "runs", "results") if getattr(args, name)]
    if len(given) > 1:
        raise UsageError(f"--{given[0]} and --{given[1]} both name pairs", fix="choose one")
    if args.pairs:
        return {"pairs": read_pairs(open_source(args.pairs))}, None
    if args.results:
        climb = load(args.results)
        return {rung.name: pool_of(rung.run, args.depth) for rung in climb.rungs}, climb.qrels
    named = name_each(args.runs or [], [])
    return {name: pool_of(read_run(path), args.depth) for name, path in named.items()}, None


def _qrels(path: str) -> Qrels:
    from ..formats import read_qrels

    if is_sample(path) and not os.path.exists(path):
        return read_named(path).qrels
    return read_qrels(path)


def _by_people(qrels: Qrels, terminal: Terminal) -> dict[Pair, int]:
    """The judgements that people made; a machine's are no measure of another."""
    from ..judging.pairs import judged_pairs

    found = {pair: qrels[pair.query][pair.doc] for pair in judged_pairs(qrels) if pair not in qrels.marks}
    if qrels.marks:
        made = counted(len(qrels.marks), "judgement")
        terminal.note(f"{made} of {shown(qrels.source)} made by a machine: left out here")
    if not found:
        raise UsageError(f"{shown(qrels.source)} has no judgement by people", fix="name a file that has")
    return found


def _grades(human: Mapping[Pair, int]) -> dict[str, dict[str, int]]:
    grades: dict[str, dict[str, int]] = {}
    for (query, doc), grade in human.items():
        grades.setdefault(query, {})[doc] = grade
    return grades
