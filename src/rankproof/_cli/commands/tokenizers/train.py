"""`rankproof tokenizers train`: trains encoders that differ only in their tokenizer."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Annotated, TypedDict

from rankproof._cli.flags import add_flags
from rankproof._cli.terminal import Terminal
from rankproof._registry import Option
from rankproof.errors import UsageError

if TYPE_CHECKING:
    from rankproof._tokenizer_lab.training_config import TrainingConfig
    from rankproof._tokenizer_lab.training_data import TrainingData


_NETWORK = (
    *("flops", "steps", "architecture", "parameters", "width", "depth", "heads", "characters", "batch", "learning_rate"),
    *("temperature", "judged_share", "crops", "query_prompt", "passage_prompt", "negatives"),
)
"""The settings of a training that have flags."""
_DEFAULT_TOKENIZERS = ("bytes", "characters", "bpe-4000", "wordpiece-4000")
_DEFAULT_REPEATS = 3
_DEFAULT_SPLIT = "train"


class TrainArguments(TypedDict, total=False):
    """The options of `train` besides the settings of a training."""

    tokenizers: Annotated[
        list[str] | None, Option("tokenizers to train, see below", metavar="NAMES", unset=",".join(_DEFAULT_TOKENIZERS))
    ]
    repeats: Annotated[
        int | None,
        Option("training runs per tokenizer, with consecutive seeds from --seed", least=1, unset=str(_DEFAULT_REPEATS)),
    ]
    holdout: Annotated[float | None, Option("share of documents whose queries are reserved for compare", metavar="X", unset="0")]
    threads: Annotated[int | None, Option("CPU threads", least=1, unset="set by torch")]
    data_only: Annotated[bool | None, Option("make the training data and train nothing")]


def add_training_options(group: argparse._ArgumentGroup) -> None:
    """Adds the settings of a training; those that are left out stay None, so that the other action can reject them."""
    from rankproof._tokenizer_lab.training_config import TrainingConfig

    add_flags(group, TrainingConfig, _NETWORK, **dict.fromkeys(_NETWORK))


def training_config(args: argparse.Namespace) -> TrainingConfig:
    """The training configuration of the options; --steps alone removes the limit of --flops."""
    from rankproof._tokenizer_lab.training_config import TrainingConfig

    settings = {name: value for name in _NETWORK if (value := getattr(args, name)) is not None}
    return TrainingConfig(**({"flops": None} if "steps" in settings else {}) | settings)


def add_arguments(group: argparse._ArgumentGroup) -> None:
    """Adds the tokenizers, the repeats, the hold-out and the settings of a training."""
    add_flags(group, TrainArguments, ("tokenizers", "repeats", "holdout"))
    add_training_options(group)
    add_flags(group, TrainArguments, ("threads", "data_only"))
    group.set_defaults(data_only=None)


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Makes the training data, trains the missing checkpoints and shows them."""
    import gc
    import os

    from rankproof._cli.exit_codes import handle_sigterm, signal_exit_code

    # The command starts without the garbage collector; long work needs it.
    gc.enable()
    if not args.output:
        raise UsageError("no output folder for the checkpoints", fix="pass one with -o")
    config = _training_config(args)
    try:
        with handle_sigterm():
            data = _training_data(args, config, terminal)
            if not args.data_only:
                _train(args, data, config, terminal)
    except KeyboardInterrupt as stop:
        terminal.say("stopped; finished checkpoints are saved: run the same command again to continue")
        return signal_exit_code(stop)
    terminal.note(f"written: {os.path.join(args.output, '')}")
    return 0


def _training_config(args: argparse.Namespace) -> TrainingConfig:
    """The training configuration; wrong options are refused before anything is read."""
    from rankproof._tokenizer_lab.train import check_tokenizers
    from rankproof._tokenizer_lab.training_config import training_device

    config = training_config(args)
    config.data_config(args.holdout or 0.0, args.seed)
    check_tokenizers(args.tokenizers or (() if args.data_only else _DEFAULT_TOKENIZERS), config)
    if not args.data_only:
        training_device(args.device or "auto", args.threads)
    return config


def _training_data(args: argparse.Namespace, config: TrainingConfig, terminal: Terminal) -> TrainingData:
    import os

    from rankproof._cli.options import read_dataset_or_sample
    from rankproof._data.text import pluralise
    from rankproof._tokenizer_lab.splits import find_other_split_queries, read_languages
    from rankproof._tokenizer_lab.training_data import DATA_FILE, cached_training_data, excluded_queries

    split = args.split or _DEFAULT_SPLIT
    dataset = read_dataset_or_sample(args.dataset, split, args)
    languages = read_languages(args.dataset, dataset, args.languages)
    elsewhere = find_other_split_queries(args.dataset, split=split)
    data = cached_training_data(args.output, languages, config.data_config(args.holdout or 0.0, args.seed), elsewhere)
    pairs = f"{pluralise(data.judged_count, 'judged pair')} of {pluralise(len(data.ids), 'query', 'queries')}"
    crops = f"{pluralise(len(data.queries) - data.judged_count, 'crop')} of {pluralise(len(data.documents), 'document')}"
    terminal.note(f"training data: {pairs}, {crops} ({os.path.join(args.output, DATA_FILE)})")
    if left := excluded_queries(dataset, elsewhere):
        files = ", ".join(elsewhere.files)
        terminal.note(f"{pluralise(len(left), 'judged query', 'judged queries')} left out of training: {files} judges them too")
    return data


def _train(args: argparse.Namespace, data: TrainingData, config: TrainingConfig, terminal: Terminal) -> None:
    from rankproof._cli.progress import TrainingProgress
    from rankproof._render.table import as_text
    from rankproof._tokenizer_lab.train import seed_runs, train_series, training_table

    done = train_series(
        args.output,
        data,
        config,
        seed_runs(args.tokenizers or _DEFAULT_TOKENIZERS, args.repeats or _DEFAULT_REPEATS, args.seed),
        device=args.device or "auto",
        threads=args.threads,
        progress=lambda repeat: TrainingProgress(terminal, repeat.name),
    )
    terminal.show(as_text([training_table(done)], terminal.render_options()))
