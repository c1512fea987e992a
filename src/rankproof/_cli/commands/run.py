"""`rankproof run`: runs the systems of an experiment on a dataset."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankproof._cli.execution_options import (
    add_execution_options,
    add_trust_option,
    read_trusted_experiment,
    run_options,
    show_cost_estimate,
    storage_options,
)
from rankproof._cli.exit_codes import signal_exit_code
from rankproof._cli.flags import GRADES, add_flags, name_list, settings_by_name
from rankproof._cli.options import add_decision_options, decision_options
from rankproof._cli.parser import Command, unknown_name_error
from rankproof._cli.terminal import FORMATS, Terminal, add_format_option, add_measures_option, add_output_option, note_lines
from rankproof._experiment.options import RunArguments
from rankproof.errors import ExternalError, UsageError, escape_invisible, for_message

if TYPE_CHECKING:
    from rankproof._analysis.compare.comparison import Comparison
    from rankproof._analysis.compare.look_log import Look
    from rankproof._executors.base import Progress
    from rankproof._experiment.experiment import Experiment
    from rankproof._io.corpus_store import CorpusStorage
    from rankproof._results.experiment_result import ExperimentResult
    from rankproof.stages._base import Stage


USAGE = "[EXPERIMENT.toml] [--dataset SOURCE] [-o FOLDER] [options]"
EXAMPLES = """\
examples:
  rankproof run                                     the default systems on the built-in sample
  rankproof run --dataset scifact                   the default systems on your documents
  rankproof run --dataset products.csv              on a table of query, title, text and label
  rankproof init && rankproof run experiment.toml   your own systems
  rankproof run --systems bm25,hybrid-rrf --limit 50 -m nDCG@10,R@100
  rankproof run experiment.toml --qrels results.model.qrels -o results
  rankproof run experiment.toml --dry-run           estimate the calls to models and search engines
  rankproof run experiment.toml --budget calls=500,tokens=2000000,money=1.50

A dataset is a folder with corpus.jsonl, queries.jsonl and qrels, irds:NAME, or what rankproof import
reads, such as a table. Without qrels the rankings are saved and compared; `judge` or `serve --judge`
grades them. Finished work is cached: after an interruption the same command continues.
An experiment file can name Python code and send environment variables to servers: read the file of someone
else before. On a terminal, run asks once before it runs such code; --trust answers yes; --dry-run imports none.
Systems that rankproof builds need the extra retrieval: pip install 'rankproof[retrieval]'"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the experiment, the dataset, the execution and the output."""
    # An option that is not passed leaves the key of the experiment file as it is.
    unset = dict.fromkeys(settings_by_name(RunArguments), None)
    parser.add_argument(
        "experiment", nargs="?", metavar="EXPERIMENT.toml", help="the experiment file; without it, the default systems run"
    )
    what = parser.add_argument_group("experiment")
    add_flags(what, RunArguments, ("dataset", "split", "qrels", *GRADES), **unset)
    what.add_argument(
        "--cases",
        metavar="FILE",
        help="also search the test cases of `serve --edit`, for `gate --cases`; they count in no mean and no decision",
    )
    what.add_argument("--systems", type=name_list, metavar="A,B…", help="only these systems and their inputs")
    add_measures_option(what)
    add_flags(what, RunArguments, ("judged_only", "limit", "seed", "collapse", "pool", "include_cases"), **unset)
    add_decision_options(parser.add_argument_group("decision"))
    add_execution_options(parser)
    add_trust_option(parser.add_argument_group("safety"))
    out = parser.add_argument_group("output")
    add_output_option(out, "the results folder (default: rankproof-results/NAME-DATE-TIME)", metavar="FOLDER")
    out.add_argument("--overwrite", action="store_true", help="replace the results of another dataset in the results folder")
    out.add_argument("--no-report", action="store_true", help="do not write report.html")
    add_format_option(out, formats=FORMATS[:4])


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Runs the experiment, saves the results and shows them."""
    import gc
    from dataclasses import replace

    from rankproof._analysis.compare.look_log import append_look
    from rankproof._analysis.compare.summary import summary_document
    from rankproof._cli.commands.report import write_report_page
    from rankproof._cli.exit_codes import handle_sigterm
    from rankproof._cli.progress import RunProgress
    from rankproof._results.folder import save_results
    from rankproof._results.result_json import LOOKS_FILE, REPORT_FILE

    # The command starts without the garbage collector; long work needs it.
    gc.enable()
    # What a search function prints is not part of the output.
    with redirect_stdout(sys.stderr):
        experiment = build_experiment(args, terminal)
    if args.dry_run:
        show_cost_estimate(experiment, args, terminal)
        return 0
    try:
        with handle_sigterm(), results_folder(args, experiment) as folder:
            with RunProgress(terminal) as progress, redirect_stdout(sys.stderr):
                results = _run_experiment(experiment, args, progress)
            results, comparison, look = _compared(results, args, folder)
            summary = summary_document(results, comparison)
            save_results(results, folder, findings=_findings(results), summary=summary, overwrite=True)
            if not args.no_report:
                write_report_page(results, os.path.join(folder, REPORT_FILE), comparison)
            _run_cases(experiment, args, folder, terminal)
            if look is not None:
                log = os.path.join(folder, LOOKS_FILE)
                comparison = replace(comparison, notes=(*comparison.notes, *append_look(log, look))) if comparison else None
    except KeyboardInterrupt as stop:
        advice = "nothing is cached (--no-cache)" if args.no_cache else "run the same command again to continue"
        terminal.say(f"stopped; {advice}")
        return signal_exit_code(stop)
    show_results(results, comparison, folder, args, terminal)
    _check_replies(results)
    return 0


def _run_cases(experiment: Experiment, args: argparse.Namespace, folder: str, terminal: Terminal) -> None:
    """Runs the test cases and saves their results in a folder of their own, inside the results folder."""
    from rankproof._cli.progress import RunProgress
    from rankproof._experiment.run import run_cases
    from rankproof._results.folder import save_results
    from rankproof._results.result_json import CASES_FOLDER

    if args.cases is None:
        return
    with RunProgress(terminal) as progress, redirect_stdout(sys.stderr):
        results = run_cases(experiment, args.cases, run_options(args, progress))
    if results is None:
        terminal.note(f"{for_message(args.cases)} has no test case of this dataset")
        return
    save_results(results, os.path.join(folder, CASES_FOLDER), overwrite=True)


def _compared(
    results: ExperimentResult, args: argparse.Namespace, folder: str
) -> tuple[ExperimentResult, Comparison | None, Look | None]:
    """The results with the mode of looks that the log of the folder asks for, their comparison, and its line for the log."""
    from dataclasses import replace

    from rankproof._analysis.compare.look_log import compare_results_with_log
    from rankproof._results.result_json import LOOKS_FILE

    logged = compare_results_with_log(results, os.path.join(folder, LOOKS_FILE), args.looks)
    if logged is None:
        return results, None, None
    settings = replace(results.decision_settings, looks=logged.comparison.decision.looks)
    return replace(results, decision_settings=settings), logged.comparison, logged.look if logged.is_new else None


def _check_replies(results: ExperimentResult) -> None:
    """Raises an error if a search engine or a language model gave no usable reply; the results are saved and shown before."""
    for system_run in results.system_runs:
        replies = list((system_run.replies or {}).values())
        if replies and all(reply.state != "ok" for reply in replies):
            raise ExternalError(f"system {for_message(system_run.name)} answered no query: {replies[0].reason}")
        if system_run.lacks_replies:
            failed = system_run.total("failed") + system_run.total("given_up")
            fix = "its notes say why; the same command sends failed requests again"
            raise ExternalError(f"system {for_message(system_run.name)}: all {failed} requests to its models failed; {fix}")


def _findings(results: ExperimentResult) -> list[str]:
    """The findings on the answers."""
    if results.answers is None:
        return []
    from rankproof._analysis.answers.quality import answer_findings_from_results
    from rankproof._cli.options import known_profiles

    return answer_findings_from_results(results, known_profiles()["rag"])


def _run_experiment(experiment: Experiment, args: argparse.Namespace, progress: Progress) -> ExperimentResult:
    from rankproof._experiment.run import run_experiment

    return run_experiment(experiment, run_options(args, progress))


def build_experiment(args: argparse.Namespace, terminal: Terminal) -> Experiment:
    """The experiment of the file, or the default one, changed by the options."""
    experiment = _read(args.experiment, args, terminal) if args.experiment is not None else _default_experiment(args, terminal)
    changes: dict[str, Any] = {
        "dataset": _dataset(args.dataset),
        "qrels": None if args.qrels is None else [os.path.abspath(path) for path in args.qrels],
        "split": args.split,
        "grade_map": args.grade_map,
        "on_conflict": args.on_conflict,
        "limit": args.limit,
        "seed": args.seed,
        "measures": args.measures,
        "judged_only": args.judged_only or None,
        "collapse": args.collapse,
        "pool": args.pool,
        "include_cases": None if args.include_cases is None else os.path.abspath(args.include_cases),
        **decision_options(args),
    }
    chosen = {name: value for name, value in changes.items() if value is not None}
    if args.systems is not None:
        systems = select_systems(experiment.systems, args.systems)
        chosen = {**_settings_for(experiment, systems), **chosen, "systems": systems}
    return replace(experiment, **chosen)


def _settings_for(experiment: Experiment, systems: Mapping[str, Stage]) -> dict[str, Any]:
    """The baseline and the costs of the experiment, as far as they are about these systems."""
    costs = {name: cost for name, cost in experiment.costs.items() if name in systems}
    return {"baseline": experiment.baseline if experiment.baseline in systems else None, "costs": costs}


def select_systems(systems: Mapping[str, Stage], names: Sequence[str]) -> dict[str, Stage]:
    """The named systems and the systems that are their inputs, in the order of the experiment."""
    from rankproof._experiment.experiment import stage_with_inputs

    for name in names:
        if name not in systems:
            raise unknown_name_error("system", name, systems, see="the experiment's systems: " + ", ".join(systems))
    wanted = {part for name in names for part in stage_with_inputs(systems[name])[:-1]}
    return {name: stage for name, stage in systems.items() if name in names or stage in wanted}


def _read(path: str, args: argparse.Namespace, terminal: Terminal) -> Experiment:
    from rankproof._formats.registry import own_format_of_suffix

    if not path:
        raise UsageError("the path of the experiment file is empty", fix="specify a file, or no path to run the default systems")
    if os.path.isdir(path) or own_format_of_suffix(path) is not None:
        name, kind = for_message(path), "a folder" if os.path.isdir(path) else "data"
        raise UsageError(f"{name} is {kind}, not an experiment file", fix=f"for a dataset, use --dataset {name}")
    return read_trusted_experiment(path, args, terminal)


def _default_experiment(args: argparse.Namespace, terminal: Terminal) -> Experiment:
    from rankproof._experiment.experiment import MODELS, Experiment, default_systems, missing_weights
    from rankproof._formats.registry import system_name

    systems = default_systems()
    complete = default_systems(wordllama=True, minilm=True)
    for name in args.systems or ():
        if name in complete and name not in systems:
            model = next(
                known for known in MODELS if name in default_systems(wordllama=known == "wordllama", minilm=known == "minilm")
            )
            what = f"system {name} needs the weights of {model}"
            raise UsageError(what, fix=f"run: rankproof models get {model}")
    if any(systems.get(name) != complete[name] for name in args.systems or complete if name in complete):
        terminal.note(missing_weights())
    name = "sample" if args.dataset is None else system_name(os.path.abspath(args.dataset))
    return Experiment(systems, name=name or "experiment")


def _dataset(path: str | None) -> str | None:
    """The dataset as an absolute path, so that results folders can be moved."""
    from rankproof._formats.detect import SAMPLE, is_irds_name
    from rankproof._importers.registry import check_no_pattern
    from rankproof._io.file_errors import missing_fix

    if path is None or path == SAMPLE or is_irds_name(path):
        return path
    check_no_pattern(path)
    if not path or not os.path.exists(path):
        fix = "specify a dataset: a folder, a table such as products.csv, or irds:NAME"
        raise UsageError(f"{for_message(path)} does not exist", fix=missing_fix(path, fix))
    return os.path.abspath(path)


RESULTS_HOME = "rankproof-results"


@contextmanager
def results_folder(args: argparse.Namespace, experiment: Experiment) -> Iterator[str]:
    """The results folder; without -o a new one is created at once, and removed if nothing is written."""
    from rankproof._results.folder import check_results_folder

    asked = args.output
    if asked == "":
        raise UsageError("the results folder has no name", fix="specify one, or leave out -o")
    if asked is not None:
        check_results_folder(asked)
        if not args.overwrite:
            _check_same_dataset(asked, experiment, storage_options(args))
        yield asked
        return
    folder = create_results_folder(experiment.name)
    try:
        yield folder
    finally:
        with suppress(OSError):
            os.rmdir(folder)
            os.rmdir(RESULTS_HOME)


def _check_same_dataset(folder: str, experiment: Experiment, storage: CorpusStorage) -> None:
    """Refuses, before any work is done, a results folder of another dataset."""
    from rankproof._experiment.config_write import experiment_toml
    from rankproof._experiment.judgements import load_dataset
    from rankproof._results.folder import check_dataset

    name = os.path.basename(str(experiment.dataset))
    check_dataset(folder, experiment_toml(experiment), name, lambda: load_dataset(experiment, storage).fingerprint())


def create_results_folder(name: str) -> str:
    """A new folder in `rankproof-results`, named by the experiment, the time and, if that exists, a number."""
    from datetime import datetime

    from rankproof._io.paths import file_name

    first = os.path.join(RESULTS_HOME, f"{file_name(name)}-{datetime.now():%Y%m%d-%H%M%S}")
    folder, number = first, 1
    while not _create_folder(folder):
        number += 1
        folder = f"{first}-{number}"
    return folder


def _create_folder(folder: str) -> bool:
    try:
        os.makedirs(RESULTS_HOME, exist_ok=True)
        os.mkdir(folder)
    except OSError as error:
        if isinstance(error, FileExistsError) and os.path.isdir(RESULTS_HOME):
            return False
        fix = "specify a writable folder with -o"
        raise UsageError(f"{folder} cannot be created ({error.strerror})", fix=fix) from None
    return True


def show_results(
    results: ExperimentResult, comparison: Comparison | None, folder: str, args: argparse.Namespace, terminal: Terminal
) -> None:
    """Shows the decision, the systems, the notes and the path of the results."""
    from rankproof._data.replies import reused_sentences
    from rankproof._evaluation.notes import MAX_NOTED_SYSTEMS, other_notes, value_notes
    from rankproof._render import systems
    from rankproof._results.result_json import REPORT_FILE

    views = {
        "table": systems.render_run,
        "json": systems.run_json,
        "csv": systems.run_csv,
        "markdown": systems.run_markdown,
    }
    terminal.show(views[args.format](results, comparison, terminal.render_options()))
    notes = (
        *(reused_sentences(results.reused_replies, "--ask-again") if args.format in ("json", "csv") else ()),
        *systems.masked_key_notes(results),
        *systems.low_recall_notes(results),
        *systems.failed_call_notes(results),
        *systems.engine_notes(results),
        *value_notes(results.result.systems, MAX_NOTED_SYSTEMS),
        *_cached_times_notes(results),
        *(() if comparison is None else comparison.notes),
        *results.notes,
        *systems.approximate_search_notes(results),
        *_result_notes(results),
        *_answer_notes(results),
        *other_notes(results.result.systems),
    )
    terminal.notes(notes)
    if not terminal.quiet:
        page = "" if args.no_report else f"; open {escape_invisible(os.path.join(folder, REPORT_FILE))} in a browser"
        terminal.say(f"results saved in {escape_invisible(folder)}{page}")
        for line in _next_commands(folder, results):
            terminal.say(escape_invisible(line))


def _next_commands(folder: str, results: ExperimentResult) -> Iterator[str]:
    """The command that opens the bench, or those that grade rankings without judgements."""
    from shlex import quote

    place = quote(folder)
    if results.is_judged:
        if results.answers is None:
            yield f"next: rankproof serve {place} --judge --edit"
        return
    yield "there are no judgements; next, grade the top 10 of all systems:"
    yield f"  rankproof judge {place} --model gpt-4o-mini  # by a language model; names the leader by this judge"
    yield f"  rankproof serve {place} --judge  # by yourself, in the browser"


def _answer_notes(results: ExperimentResult) -> list[str]:
    return [] if results.answers is None else note_lines(results.answers)


def _cached_times_notes(results: ExperimentResult) -> list[str]:
    """Notes on times that were measured by an earlier run; those of recorded replies are as old as the replies."""
    timed = [system_run for system_run in results.system_runs if system_run.times]
    cached = [system_run for system_run in timed if system_run.from_cache and not system_run.replies]
    if not cached:
        return []
    first, last = min(system_run.computed for system_run in cached), max(system_run.computed for system_run in cached)
    when = first if first == last else f"{first} to {last}"
    names = "all systems" if len(cached) == len(timed) else ", ".join(system_run.name for system_run in cached)
    return [f"times of {names} were measured by an earlier run ({when}) and cached; --no-cache measures them again"]


def _result_notes(results: ExperimentResult) -> list[str]:
    return [f"{system_run.name}: {note}" for system_run in results.system_runs for note in system_run.notes]


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
