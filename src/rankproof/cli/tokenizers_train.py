"""`rankproof tokenizers train`: encoders of one recipe and one budget that differ in their tokenizer alone."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..errors import UsageError
from .terminal import Terminal
from .training_options import add_recipe, recipe_of
from .values import at_least_one, names, number

if TYPE_CHECKING:
    from ..lab.lessons.lessons import Lessons
    from ..lab.training.recipe import Recipe

_KINDS = ("bytes", "characters", "bpe-4000", "wordpiece-4000")
_REPEATS = 3
_SPLIT = "train"


def add_arguments(group: argparse._ArgumentGroup) -> None:
    """What is trained, on what, for how long, and where."""
    group.add_argument("--kinds", type=names, metavar="NAMES", help=f"the tokenizers to train, see below ({','.join(_KINDS)})")
    group.add_argument(
        "--repeats", type=at_least_one, metavar="N", help=f"trainings of each, with seeds from --seed on ({_REPEATS})"
    )
    group.add_argument(
        "--holdout", type=number, metavar="X", help="the share of documents whose queries are kept for compare, not taught (0)"
    )
    add_recipe(group)
    group.add_argument("--threads", type=at_least_one, metavar="N", help="threads of the processor (as many as torch takes)")
    group.add_argument("--lessons-only", action="store_true", default=None, help="make the lessons, and train nothing yet")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Makes the lessons, trains what is not trained yet, shows what came of it."""
    import gc
    import os

    from .endings import stop_code
    from .termination import heard_termination

    # The command starts without a collector of garbage; work of minutes needs one.
    gc.enable()
    if not args.output:
        raise UsageError("there is no folder for the checkpoints", fix="name one with -o")
    recipe = _checked_recipe(args)
    try:
        with heard_termination():
            lessons = _lessons(args, recipe, terminal)
            if not args.lessons_only:
                _train(args, lessons, recipe, terminal)
    except KeyboardInterrupt as stop:
        terminal.say("stopped; finished checkpoints are kept: run the same command again to go on")
        return stop_code(stop)
    terminal.note(f"written: {os.path.join(args.output, '')}")
    return 0


def _checked_recipe(args: argparse.Namespace) -> Recipe:
    """The recipe; whatever cannot be is refused here, before anything is read."""
    from ..lab.training.device import chosen_device
    from ..lab.training.series import check_kinds

    recipe = recipe_of(args)
    recipe.syllabus(args.holdout or 0.0, args.seed)
    check_kinds(args.kinds or (() if args.lessons_only else _KINDS), recipe)
    if not args.lessons_only:
        chosen_device(args.device or "auto", args.threads)
    return recipe


def _lessons(args: argparse.Namespace, recipe: Recipe, terminal: Terminal) -> Lessons:
    import os

    from ..data.counting import counted
    from ..lab.lessons.file import FILE, lessons_in
    from ..lab.lessons.languages import read_languages
    from ..lab.lessons.make import left_out
    from ..lab.lessons.other_splits import asked_elsewhere
    from .dataset import read_named

    split = args.split or _SPLIT
    dataset = read_named(args.dataset, split)
    languages = read_languages(args.dataset, dataset, args.languages)
    elsewhere = asked_elsewhere(args.dataset, split=split)
    lessons = lessons_in(args.output, languages, recipe.syllabus(args.holdout or 0.0, args.seed), elsewhere)
    told = f"{counted(lessons.real, 'judged pair')} of {counted(len(lessons.ids), 'query', 'queries')}"
    crops = f"{counted(len(lessons.queries) - lessons.real, 'crop')} of {counted(len(lessons.documents), 'document')}"
    terminal.note(f"lessons: {told}, {crops} ({os.path.join(args.output, FILE)})")
    if left := left_out(dataset, elsewhere):
        files = ", ".join(elsewhere.files)
        terminal.note(f"{counted(len(left), 'judged query', 'judged queries')} not taught: judged in {files} too")
    return lessons


def _train(args: argparse.Namespace, lessons: Lessons, recipe: Recipe, terminal: Terminal) -> None:
    from ..lab.training.series import repeats_of, train_series
    from ..lab.training.summary import training_table
    from ..views.analysis import as_text
    from .training_progress import TrainingProgress

    done = train_series(
        args.output,
        lessons,
        recipe,
        repeats_of(args.kinds or _KINDS, args.repeats or _REPEATS, args.seed),
        device=args.device or "auto",
        threads=args.threads,
        progress=lambda repeat: TrainingProgress(terminal, repeat.name),
    )
    terminal.show(as_text([training_table(done)], terminal.look()))
