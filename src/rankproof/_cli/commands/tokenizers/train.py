"""Rankproof tokenizers train."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rankproof._cli.arg_types import any_float, name_list, nonnegative_int, positive_int
from rankproof._cli.terminal import Terminal
from rankproof.errors import UsageError

if TYPE_CHECKING:
    from rankproof._tokenizer_lab.training_config import TrainingConfig
    from rankproof._tokenizer_lab.training_data import TrainingData


_OPTIONS = (
    ("parameters", positive_int, "N", "numbers that each net learns, within 1 %%"),
    ("width", positive_int, "N", "dimensions of a vector"),
    ("depth", positive_int, "N", "layers of a net"),
    ("heads", positive_int, "N", "heads of each attention"),
    ("characters", positive_int, "N", "how many characters of a text are read"),
    ("batch", positive_int, "N", "pairs in a step"),
    ("learning_rate", any_float, "X", "the learning rate at its highest"),
    ("temperature", any_float, "X", "the temperature: cosines are divided by it"),
    ("judged_share", any_float, "X", "the share of a batch that is judged pairs; the others are crops"),
    ("crops", nonnegative_int, "N", "pieces of each document that are taught as queries"),
    ("negatives", nonnegative_int, "N", "documents found by BM25 from which a pair's hard negative is drawn"),
)


def add_training_options(group: argparse._ArgumentGroup) -> None:
    """The budget, the net, and how it learns."""
    from rankproof._tokenizer_lab.training_config import TrainingConfig
    from rankproof.models._trained.shape import ARCHITECTURES

    usual = TrainingConfig()
    budget = f"{usual.flops:.0e}".replace("+", "")
    group.add_argument(
        "--flops",
        type=any_float,
        metavar="X",
        help=f"the budget of a training in floating-point operations ({budget}; with --steps none)",
    )
    group.add_argument(
        "--steps", type=nonnegative_int, metavar="N", help="the budget in steps; 0 saves untrained nets (no limit)"
    )
    group.add_argument("--architecture", choices=ARCHITECTURES, help=f"the kind of layers ({usual.architecture})")
    for option, kind, metavar, words in _OPTIONS:
        name = f"--{option.replace('_', '-')}"
        group.add_argument(name, type=kind, metavar=metavar, help=f"{words} ({getattr(usual, option)})")


def training_config(args: argparse.Namespace) -> TrainingConfig:
    """The recipe of what was given; a budget in steps alone is no budget in operations."""
    from rankproof._tokenizer_lab.training_config import TrainingConfig

    asked = ("flops", "steps", "architecture", *(option for option, *_ in _OPTIONS))
    given = {name: value for name in asked if (value := getattr(args, name)) is not None}
    return TrainingConfig(**({"flops": None} if "steps" in given else {}) | given)


_DEFAULT_TOKENIZERS = ("bytes", "characters", "bpe-4000", "wordpiece-4000")
_DEFAULT_REPEATS = 3
_DEFAULT_SPLIT = "train"


def add_arguments(group: argparse._ArgumentGroup) -> None:
    """What is trained, on what, for how long, and where."""
    group.add_argument(
        "--tokenizers",
        type=name_list,
        metavar="NAMES",
        help=f"the tokenizers to train, see below ({','.join(_DEFAULT_TOKENIZERS)})",
    )
    group.add_argument(
        "--repeats", type=positive_int, metavar="N", help=f"trainings of each, with seeds from --seed on ({_DEFAULT_REPEATS})"
    )
    group.add_argument(
        "--holdout", type=any_float, metavar="X", help="the share of documents whose queries are kept for compare, not taught (0)"
    )
    add_training_options(group)
    group.add_argument("--threads", type=positive_int, metavar="N", help="threads of the processor (as many as torch takes)")
    group.add_argument("--data-only", action="store_true", default=None, help="make the lessons, and train nothing yet")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Makes the lessons, trains what is not trained yet, shows what came of it."""
    import gc
    import os

    from rankproof._cli.exit_codes import handle_sigterm, signal_exit_code

    # The command starts without a collector of garbage; work of minutes needs one.
    gc.enable()
    if not args.output:
        raise UsageError("there is no folder for the checkpoints", fix="name one with -o")
    recipe = _training_config(args)
    try:
        with handle_sigterm():
            lessons = _training_data(args, recipe, terminal)
            if not args.data_only:
                _train(args, lessons, recipe, terminal)
    except KeyboardInterrupt as stop:
        terminal.say("stopped; finished checkpoints are kept: run the same command again to go on")
        return signal_exit_code(stop)
    terminal.note(f"written: {os.path.join(args.output, '')}")
    return 0


def _training_config(args: argparse.Namespace) -> TrainingConfig:
    """The recipe; whatever cannot be is refused here, before anything is read."""
    from rankproof._tokenizer_lab.series import check_tokenizers
    from rankproof._tokenizer_lab.training_config import training_device

    recipe = training_config(args)
    recipe.data_config(args.holdout or 0.0, args.seed)
    check_tokenizers(args.tokenizers or (() if args.data_only else _DEFAULT_TOKENIZERS), recipe)
    if not args.data_only:
        training_device(args.device or "auto", args.threads)
    return recipe


def _training_data(args: argparse.Namespace, recipe: TrainingConfig, terminal: Terminal) -> TrainingData:
    import os

    from rankproof._cli.options import read_dataset_or_sample
    from rankproof._data.text import pluralise
    from rankproof._tokenizer_lab.splits import find_other_split_queries, read_languages
    from rankproof._tokenizer_lab.training_data import excluded_queries
    from rankproof._tokenizer_lab.training_data_file import DATA_FILE, cached_training_data

    split = args.split or _DEFAULT_SPLIT
    dataset = read_dataset_or_sample(args.dataset, split)
    languages = read_languages(args.dataset, dataset, args.languages)
    elsewhere = find_other_split_queries(args.dataset, split=split)
    lessons = cached_training_data(args.output, languages, recipe.data_config(args.holdout or 0.0, args.seed), elsewhere)
    told = f"{pluralise(lessons.judged_count, 'judged pair')} of {pluralise(len(lessons.ids), 'query', 'queries')}"
    crops = f"{pluralise(len(lessons.queries) - lessons.judged_count, 'crop')} of {pluralise(len(lessons.documents), 'document')}"
    terminal.note(f"lessons: {told}, {crops} ({os.path.join(args.output, DATA_FILE)})")
    if left := excluded_queries(dataset, elsewhere):
        files = ", ".join(elsewhere.files)
        terminal.note(f"{pluralise(len(left), 'judged query', 'judged queries')} not taught: judged in {files} too")
    return lessons


def _train(args: argparse.Namespace, lessons: TrainingData, recipe: TrainingConfig, terminal: Terminal) -> None:
    from rankproof._cli.progress import TrainingProgress
    from rankproof._render.table import as_text
    from rankproof._tokenizer_lab.series import seed_runs, train_series, training_table

    done = train_series(
        args.output,
        lessons,
        recipe,
        seed_runs(args.tokenizers or _DEFAULT_TOKENIZERS, args.repeats or _DEFAULT_REPEATS, args.seed),
        device=args.device or "auto",
        threads=args.threads,
        progress=lambda repeat: TrainingProgress(terminal, repeat.name),
    )
    terminal.show(as_text([training_table(done)], terminal.render_options()))
