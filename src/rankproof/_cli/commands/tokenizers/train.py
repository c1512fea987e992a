"""`rankproof tokenizers train`: trains encoders that differ only in their tokenizer."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rankproof._cli.flags import any_float, name_list, nonnegative_int, positive_int
from rankproof._cli.terminal import Terminal
from rankproof.errors import UsageError

if TYPE_CHECKING:
    from rankproof._tokenizer_lab.training_config import TrainingConfig
    from rankproof._tokenizer_lab.training_data import TrainingData


_OPTIONS = (
    ("parameters", positive_int, "N", "trainable parameters of each network, within 1 %%"),
    ("width", positive_int, "N", "dimensions of a vector"),
    ("depth", positive_int, "N", "layers"),
    ("heads", positive_int, "N", "attention heads per layer"),
    ("characters", positive_int, "N", "characters read of each text"),
    ("batch", positive_int, "N", "pairs per training step"),
    ("learning_rate", any_float, "X", "peak learning rate"),
    ("temperature", any_float, "X", "temperature that divides the cosines"),
    ("judged_share", any_float, "X", "share of judged pairs in a batch; the others are crops"),
    ("crops", nonnegative_int, "N", "crops of each document that serve as training queries"),
    ("query_prompt", str, "TEXT", "text before each query, in training and in compare"),
    ("passage_prompt", str, "TEXT", "text before each passage, in training and in compare"),
    ("negatives", nonnegative_int, "N", "BM25 results from which the hard negative of a pair is drawn"),
)


def add_training_options(group: argparse._ArgumentGroup) -> None:
    """Adds the budget, the network and the training options."""
    from rankproof._tokenizer_lab.training_config import TrainingConfig
    from rankproof.models._trained.shape import ARCHITECTURES

    usual = TrainingConfig()
    budget = f"{usual.flops:.0e}".replace("+", "")
    group.add_argument(
        "--flops",
        type=any_float,
        metavar="X",
        help=f"floating-point operations of a training (default: {budget}; no limit with --steps)",
    )
    group.add_argument(
        "--steps", type=nonnegative_int, metavar="N", help="training steps; 0 saves untrained networks (default: no limit)"
    )
    group.add_argument("--architecture", choices=ARCHITECTURES, help=f"type of the layers (default: {usual.architecture})")
    for option, kind, metavar, words in _OPTIONS:
        name = f"--{option.replace('_', '-')}"
        group.add_argument(name, type=kind, metavar=metavar, help=f"{words} (default: {getattr(usual, option) or 'none'})")


def training_config(args: argparse.Namespace) -> TrainingConfig:
    """The training configuration of the options; --steps alone removes the limit of --flops."""
    from rankproof._tokenizer_lab.training_config import TrainingConfig

    asked = ("flops", "steps", "architecture", *(option for option, *_ in _OPTIONS))
    settings = {name: value for name in asked if (value := getattr(args, name)) is not None}
    return TrainingConfig(**({"flops": None} if "steps" in settings else {}) | settings)


_DEFAULT_TOKENIZERS = ("bytes", "characters", "bpe-4000", "wordpiece-4000")
_DEFAULT_REPEATS = 3
_DEFAULT_SPLIT = "train"


def add_arguments(group: argparse._ArgumentGroup) -> None:
    """Adds the tokenizers, the repeats, the hold-out and the training options."""
    group.add_argument(
        "--tokenizers",
        type=name_list,
        metavar="NAMES",
        help=f"tokenizers to train, see below (default: {','.join(_DEFAULT_TOKENIZERS)})",
    )
    group.add_argument(
        "--repeats",
        type=positive_int,
        metavar="N",
        help=f"training runs per tokenizer, with consecutive seeds from --seed (default: {_DEFAULT_REPEATS})",
    )
    group.add_argument(
        "--holdout", type=any_float, metavar="X", help="share of documents whose queries are reserved for compare (default: 0)"
    )
    add_training_options(group)
    group.add_argument("--threads", type=positive_int, metavar="N", help="CPU threads (default: set by torch)")
    group.add_argument("--data-only", action="store_true", default=None, help="make the training data and train nothing")


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
