"""`rankproof tokenizers train`: encoders of one recipe and one budget that differ in their tokenizer alone."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..errors import UsageError
from .terminal import Terminal
from .values import at_least_one, names, number, whole

if TYPE_CHECKING:
    from ..lab.lessons.lessons import Lessons
    from ..lab.training.recipe import Recipe
    from ..lab.training.series import Trial
    from ..models.trial.checkpoint import Checkpoint

KINDS = ("bytes", "characters", "bpe-4000", "wordpiece-4000")
_REPEATS = 3
_SPLIT = "train"
_RECIPE = (
    *("parameters", "operations", "steps", "batch", "characters", "width", "depth", "heads", "body"),
    *("learning_rate", "temperature", "real_share", "crops", "negatives"),
)


def add_arguments(group: argparse._ArgumentGroup) -> None:
    """What is trained, on what, for how long, and where."""
    group.add_argument("--kinds", type=names, metavar="NAMES", help=f"the tokenizers ({','.join(KINDS)})")
    group.add_argument("--repeats", type=at_least_one, metavar="N", help=f"seeds for each, from --seed on ({_REPEATS})")
    group.add_argument(
        "--operations", type=number, metavar="X", help="budget: floating-point operations a training (1e15 unless --steps)"
    )
    group.add_argument("--steps", type=whole, metavar="N", help="budget: at most so many steps for each; 0 saves untrained ones")
    group.add_argument("--parameters", type=at_least_one, metavar="N", help="of each net (4000000)")
    group.add_argument("--batch", type=at_least_one, metavar="N", help="pairs a step (128)")
    group.add_argument("--characters", type=at_least_one, metavar="N", help="of a text that are read (512)")
    group.add_argument("--width", type=at_least_one, metavar="N", help="of the net's rows (256)")
    group.add_argument("--depth", type=at_least_one, metavar="N", help="layers (4)")
    group.add_argument("--heads", type=at_least_one, metavar="N", help="of the attention (4)")
    group.add_argument("--body", choices=("transformer", "lstm"), help="what the layers are (transformer)")
    group.add_argument("--learning-rate", type=number, metavar="X", help="at its highest (0.001)")
    group.add_argument("--temperature", type=number, metavar="X", help="that cosines are divided by (0.05)")
    group.add_argument("--real-share", type=number, metavar="X", help="part of a batch that is judged pairs (0.25)")
    group.add_argument("--crops", type=whole, metavar="N", help="pieces of each document that are queries too (16)")
    group.add_argument("--negatives", type=whole, metavar="N", help="hard ones to draw from, by BM25 (10)")
    group.add_argument("--holdout", type=number, metavar="X", help="share of documents whose queries are kept for testing (0)")
    group.add_argument("--threads", type=at_least_one, metavar="N", help="of the processor (as many as torch takes)")
    group.add_argument("--lessons-only", action="store_true", default=None, help="make the lessons, and train nothing yet")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Makes the lessons, trains what is not trained yet, shows what came of it."""
    import gc
    import os

    from ..lab.training.device import chosen_device
    from .endings import stop_code
    from .termination import heard_termination

    # The command starts without a collector of garbage; work of minutes needs one.
    gc.enable()
    if not args.output:
        raise UsageError("there is no folder for the checkpoints", fix="name one with -o")
    recipe, trials = _recipe(args), _trials(args)
    if not args.lessons_only:
        chosen_device(args.device or "auto", args.threads)
    try:
        with heard_termination():
            lessons = _lessons(args, recipe, terminal)
            done = {} if args.lessons_only else _trained(args, lessons, recipe, trials, terminal)
    except KeyboardInterrupt as stop:
        terminal.say("stopped; finished checkpoints are kept: run the same command again to go on")
        return stop_code(stop)
    if done:
        _show(done, terminal)
    terminal.note(f"written: {os.path.join(args.output, '')}")
    return 0


def _recipe(args: argparse.Namespace) -> Recipe:
    from ..lab.training.recipe import Recipe

    given = {name: value for name in _RECIPE if (value := getattr(args, name)) is not None}
    if "steps" in given:
        given = {"operations": None, **given}
    return Recipe(**given)


def _trials(args: argparse.Namespace) -> list[Trial]:
    from ..lab.training.series import trials_of
    from ..models.trial.tokenizer import check_kind

    kinds = args.kinds or KINDS
    for kind in kinds:
        check_kind(kind)
    return trials_of(kinds, args.repeats or _REPEATS, args.seed)


def _lessons(args: argparse.Namespace, recipe: Recipe, terminal: Terminal) -> Lessons:
    """Those in the folder, else new ones, which are put there."""
    import os

    from ..data.counting import counted
    from ..lab.lessons.elsewhere import asked_elsewhere
    from ..lab.lessons.kept import read_lessons, write_lessons
    from ..lab.lessons.languages import read_languages
    from ..lab.lessons.teach import Syllabus, lessons_of
    from .dataset import read_named

    split = args.split or _SPLIT
    syllabus = Syllabus(args.holdout or 0.0, recipe.crops, recipe.characters, recipe.negatives, args.seed)
    languages = read_languages(args.dataset, read_named(args.dataset, split), args.languages)
    elsewhere = asked_elsewhere(args.dataset, split=split)
    made_of = syllabus.made_of(languages, elsewhere)
    _made_folder(args.output)
    lessons = read_lessons(args.output, made_of)
    if lessons is None:
        lessons = lessons_of(languages, syllabus, elsewhere)
        write_lessons(lessons, made_of, args.output)
    told = f"{counted(lessons.real, 'judged pair')} of {counted(len(lessons.ids), 'query', 'queries')}"
    crops = f"{counted(len(lessons.queries) - lessons.real, 'crop')} of {counted(len(lessons.documents), 'document')}"
    terminal.note(f"lessons: {told}, {crops} ({os.path.join(args.output, 'lessons.json.gz')})")
    return lessons


def _made_folder(folder: str) -> None:
    import os

    try:
        os.makedirs(folder, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{folder} cannot be made ({reason})", fix="name a folder that can be written to") from None


def _trained(
    args: argparse.Namespace, lessons: Lessons, recipe: Recipe, trials: list[Trial], terminal: Terminal
) -> dict[Trial, Checkpoint]:
    from ..lab.training.prepared import Prepared, prepared
    from ..lab.training.series import finished, taught_trial, write_losses
    from .training_progress import TrainingProgress

    done = {trial: found for trial in trials if (found := finished(args.output, trial, lessons, recipe)) is not None}
    material: dict[str, Prepared] = {}
    for trial in [one for one in trials if one not in done]:
        if trial.kind not in material:
            material[trial.kind] = prepared(lessons, trial.kind, recipe)
        progress = TrainingProgress(terminal, trial.name)
        found = taught_trial(args.output, trial, material[trial.kind], args.device or "auto", args.threads, progress)
        done[trial] = found
        write_losses(args.output, {one: done[one].card for one in trials if one in done})
    return {trial: done[trial] for trial in trials}


def _show(done: dict[Trial, Checkpoint], terminal: Terminal) -> None:
    from ..lab.training.table import training_table
    from ..views.analysis import as_text

    terminal.show(as_text([training_table(done)], terminal.look()))
