"""The experiment that the arguments of `rankproof run` ask for."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from .parsing import unknown
from .terminal import Terminal

if TYPE_CHECKING:
    from ..experiment import Experiment
    from ..stages.base import Stage


def experiment_of(args: argparse.Namespace, terminal: Terminal) -> Experiment:
    """The experiment of the file, or the default ladder, with what the options say instead."""
    experiment = _read(args.experiment) if args.experiment is not None else _default(args, terminal)
    changes: dict[str, Any] = {
        "dataset": _dataset(args.dataset),
        "split": args.split,
        "limit": args.limit,
        "seed": args.seed,
        "measures": args.measures,
        "collapse": args.collapse,
        "pool": args.pool,
        "systems": None if args.systems is None else chosen(experiment.systems, args.systems),
    }
    return replace(experiment, **{name: value for name, value in changes.items() if value is not None})


def chosen(systems: Mapping[str, Stage], names: Sequence[str]) -> dict[str, Stage]:
    """The named systems and those among the others that they are made of, in the ladder's order."""
    from ..experiment.rungs import with_below

    for name in names:
        if name not in systems:
            raise unknown("system", name, systems, see="the experiment's systems: " + ", ".join(systems))
    wanted = {part for name in names for part in with_below(systems[name])[:-1]}
    return {name: stage for name, stage in systems.items() if name in names or stage in wanted}


def _read(path: str) -> Experiment:
    from ..experiment.toml.file import read_experiment

    if not path:
        raise UsageError("the experiment file has no name", fix="name it, or leave it out for the default ladder")
    return read_experiment(path)


def _default(args: argparse.Namespace, terminal: Terminal) -> Experiment:
    import os

    from ..experiment import Experiment
    from ..experiment.ladder import default_ladder, missing_weights

    systems = default_ladder()
    whole = default_ladder(wordllama=True, minilm=True)
    if any(systems.get(name) != whole[name] for name in args.systems or whole if name in whole):
        terminal.note(missing_weights())
    name = "sample" if args.dataset is None else os.path.basename(os.path.abspath(args.dataset))
    return Experiment(systems, name=name or "experiment")


def _dataset(path: str | None) -> str | None:
    """The dataset as a place that stays the same wherever the results are read."""
    import os

    from ..experiment import SAMPLE
    from ..formats import is_remote

    if path is None or path == SAMPLE or is_remote(path):
        return path
    if not os.path.isdir(path):
        raise UsageError(f"{path} is no folder", fix="name a dataset: a folder with corpus.jsonl, queries.jsonl and qrels")
    return os.path.abspath(path)
