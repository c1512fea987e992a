"""`rankproof serve`: shows results in a local web page, where documents can be judged."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from typing import TYPE_CHECKING

from rankproof._cli.arg_types import nonnegative_int, positive_int
from rankproof._cli.command import Command
from rankproof._cli.exit_codes import escaped_traceback
from rankproof._cli.inputs import add_dataset_options, add_input_options, dataset_of_runs
from rankproof._cli.options import add_decision_options, decision_options, read_dataset_or_sample
from rankproof._cli.terminal import Terminal
from rankproof.errors import UsageError, escape_invisible, for_message

if TYPE_CHECKING:
    from rankproof._data.qrels import Qrels
    from rankproof._server.judgement_log import JudgementLog
    from rankproof._server.judging_page import JudgingPage
    from rankproof._server.judging_queue import DocumentTexts
    from rankproof._server.labelling import LabellingPages
    from rankproof._server.library import ResultsLibrary


USAGE = "RESULTS… | QRELS RUN… [--port N] [--judge FILE] [--assessor NAME] [--dataset SOURCE] [options]"
EXAMPLES = """\
examples:
  rankproof serve rankproof-results/                        all results folders in a folder
  rankproof serve old-results/ new-results/                 two experiments to compare
  rankproof serve results/ --judge                          judge documents, and see the decision
  rankproof serve results/ --judge my.qrels --assessor ann  the same, into another file
  rankproof serve results/ --judge --assessor ann,bob       two people, each in an own browser
  rankproof serve results/ --assessor ann                   label claims of answers, if there are any
  rankproof serve qrels.txt prod.run new.run --dataset data/shop

Open the address that it prints. It contains a secret token and works only on this machine. Ctrl-C
stops the server. With --judge, systems and ranks are hidden until a document has its grade. With
several assessors, each browser chooses a name, nobody sees the grades of the others before judging a
pair, and the page Agreement lists the pairs on which they differ, to adjudicate.
The file of --judge is new or written by serve; rankproof eval reads it, and run --qrels measures
with it. Results of rankproof answers have a page to label their claims, without system, judge and
verdict; the labels go to RESULTS.people.jsonl. Run files are read once, at the start"""
_MAX_PORT = 65535
_INPUTS = "results folders, a folder of them, or the judgements and then one or more runs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the inputs, the port and the judging."""
    group = add_input_options(parser, "run files", _INPUTS)
    add_dataset_options(group, "the dataset: texts of run files; with --judge, whole documents and not only their beginnings")
    add_decision_options(parser.add_argument_group("decision on run files"))
    parser.add_argument("--port", type=_port, default=0, metavar="N", help="port on 127.0.0.1 (default: 0, any free port)")
    parser.add_argument(
        "--judge", nargs="?", const="", metavar="QRELS", help="judge documents in the browser; the file is RESULTS.people.qrels"
    )
    parser.add_argument(
        "--pool", type=positive_int, metavar="N", help="judge the top N of all systems, in random order (without judgements: 10)"
    )
    parser.add_argument(
        "--seed", type=nonnegative_int, default=0, metavar="N", help="seed of that order and of the sample of claims (default: 0)"
    )
    parser.add_argument(
        "--judge-order",
        choices=("risk", "effect"),
        default="risk",
        help="order of other pairs: by the expected change of the decision's risks, or by the largest possible effect",
    )
    parser.add_argument(
        "--assessor", metavar="NAME", help="name of the assessor, or of several: ann,bob (default: the login name)"
    )
    parser.add_argument("--label-claims", type=positive_int, metavar="N", help="label a random sample of N claims (default: 150)")
    parser.add_argument("--labels", metavar="FILE", help="file of the labels (default: RESULTS.people.jsonl)")
    parser.add_argument("--nuggets", metavar="FILE", help="file of nuggets to edit and confirm, of questions of the results")
    parser.set_defaults(output=None)


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Serves until interrupted."""
    import gc

    from rankproof._cli.exit_codes import handle_sigterm
    from rankproof._server.judging_page import JudgingPage
    from rankproof._server.judging_queue import QueueOptions
    from rankproof._server.judging_views import JudgingViews
    from rankproof._server.nuggets_page import NuggetsPage
    from rankproof._server.pages import Router
    from rankproof._server.server import Server

    gc.enable()
    library, texts = _open_run_files(args) if _are_run_files(args.files) else _open_folders(args)
    if args.judge is None and args.pool is not None:
        raise UsageError("--pool needs --judge", fix="add --judge, or leave out --pool")
    with ExitStack() as files:
        labelling = files.enter_context(closing(_labelling(args, library)))
        log = None if args.judge is None else files.enter_context(closing(_judgement_log(args)))
        nuggets = None if args.nuggets is None else files.enter_context(closing(NuggetsPage(library, args.nuggets)))
        judging = None if log is None else JudgingPage(log, *_assessors(args))
        views = JudgingViews(library, judging, texts, QueueOptions(args.pool, args.seed, args.judge_order))
        site = Router(library, views, labelling, nuggets)
        try:
            with handle_sigterm(), Server(args.port, site.answer, _error_reporter(terminal)) as service:
                _print_address(service.auth.url, library, judging, terminal)
                service.serve_forever()
        except KeyboardInterrupt:
            terminal.note("stopped")
            if log is not None:
                _say_next(args, library, log, terminal)
            _say_label_commands(labelling, terminal)
    return 0


def _labelling(args: argparse.Namespace, library: ResultsLibrary) -> LabellingPages:
    """The pages for labelling claims; options on people need something to judge or label."""
    from rankproof._server.claim_queue import DEFAULT_SAMPLE
    from rankproof._server.labelling import LabellingPages, LabelOptions

    person = args.assessor
    if person is None:
        with suppress(UsageError):
            person = _login_name()
    labelling = LabellingPages(library, LabelOptions(person or "", args.label_claims or DEFAULT_SAMPLE, args.seed, args.labels))
    if not any(map(labelling.has_claims, library.entries())):
        for name in ("label_claims", "labels", *(["assessor"] if args.judge is None else [])):
            if getattr(args, name) is not None:
                option = f"--{name.replace('_', '-')}"
                if name == "assessor":
                    raise UsageError(
                        "--assessor needs --judge, or results with claims", fix="add --judge, or leave out --assessor"
                    )
                fix = f"make them with `rankproof answers … -o RESULTS`, or leave out {option}"
                raise UsageError(f"{option} needs results with claims", fix=fix)
    return labelling


def _say_label_commands(labelling: LabellingPages, terminal: Terminal) -> None:
    commands = labelling.commands()
    if commands and not terminal.quiet:
        terminal.say("next, how far the judges agree with the labels:")
        for command in commands:
            terminal.say(escape_invisible(f"  {command}"))


def _judgement_log(args: argparse.Namespace) -> JudgementLog:
    from rankproof._server.judgement_log import JudgementLog

    return JudgementLog(args.judge or _default_file(args))


def _assessors(args: argparse.Namespace) -> list[str]:
    """The names of the people who judge: those of --assessor, or the login name."""
    return [_login_name()] if args.assessor is None else args.assessor.split(",")


def _default_file(args: argparse.Namespace) -> str:
    """The file beside the results folder; several folders, or run files, need a named one."""
    from rankproof._io.files import is_results_folder
    from rankproof._results.judgements import judgements_file

    if len(args.files) != 1 or not is_results_folder(args.files[0]):
        raise UsageError("--judge needs a file here", fix="name it: --judge my.qrels, or specify a single results folder")
    return judgements_file(args.files[0], "people")


def _are_run_files(files: Sequence[str]) -> bool:
    from rankproof._server.library import has_results

    if not files:
        raise UsageError("no input files", fix=f"specify {_INPUTS}")
    return len(files) > 1 and not any(map(has_results, files))


def _open_run_files(args: argparse.Namespace) -> tuple[ResultsLibrary, DocumentTexts]:
    """The results of run files, with the texts of --dataset."""
    from dataclasses import replace

    from rankproof._cli.results import read_results
    from rankproof._server.judging_queue import DocumentTexts
    from rankproof._server.library import ResultsLibrary

    dataset = dataset_of_runs(args)
    results = read_results(args, dataset, **decision_options(args))
    texts = DocumentTexts(None if dataset is None else replace(dataset, qrels=results.qrels))
    return ResultsLibrary([], {args.files[0]: results}), texts


def _open_folders(args: argparse.Namespace) -> tuple[ResultsLibrary, DocumentTexts]:
    """The results folders; --dataset is for the documents to judge."""
    from rankproof._cli.results import refuse_run_file_options, register_measures
    from rankproof._server.library import ResultsLibrary

    refuse_run_file_options(args, ("primary", "margin", "baseline", "cost"), but=("dataset", "grade_map", "on_conflict"))
    register_measures(args)
    library = ResultsLibrary(args.files)
    return library, _document_texts(args, library)


def _document_texts(args: argparse.Namespace, library: ResultsLibrary) -> DocumentTexts:
    """The texts of --dataset, else of the dataset that the experiment names, if it can be read."""
    from rankproof._results.judgements import experiment_dataset
    from rankproof._server.judging_queue import DocumentTexts

    if args.dataset is None:
        entries = library.entries()
        if args.judge is None or len(entries) != 1:
            return DocumentTexts()
        return DocumentTexts(experiment_dataset(library.results(entries[0])))
    if args.judge is None:
        raise UsageError("--dataset needs --judge", fix="add --judge, or leave out --dataset")
    texts = DocumentTexts(read_dataset_or_sample(args.dataset, args.split, args, needs=("documents",)))
    texts.check_fingerprints([summary.fingerprint for summary in library.summaries()], args.dataset)
    return texts


def _say_next(args: argparse.Namespace, library: ResultsLibrary, log: JudgementLog, terminal: Terminal) -> None:
    """The command that measures the results with the judgements, for a single results folder."""
    from rankproof._cli.results import say_measuring_command
    from rankproof._io.files import is_results_folder
    from rankproof._server.agreement_page import open_disagreements

    if disputed := open_disagreements(log.merged()):
        terminal.note(disputed)
    if len(args.files) == 1 and is_results_folder(args.files[0]) and log.judgements()[0]:
        (entry,) = library.entries()
        results, file = library.results(entry), args.judge or _default_file(args)
        options = ["--on-conflict", "last"] if _regrades(log.judgements()[0], results.qrels) else []
        say_measuring_command(results, args.files[0], [file], terminal, options)


def _regrades(new: Qrels, old: Qrels) -> bool:
    """Whether a pair that people had judged has another grade now."""
    return any(
        old.get(query, {}).get(doc, grade) != grade and (query, doc) not in old.judge_labels
        for query, docs in new.items()
        for doc, grade in docs.items()
    )


def _scale_notes(library: ResultsLibrary) -> Iterator[str]:
    """Notes on results that were judged on another scale."""
    from rankproof._server.judging_queue import scale_warning

    for summary in library.summaries():
        if warning := scale_warning(summary.highest):
            yield f"{for_message(summary.name)}: {warning}"


def _print_address(url: str, library: ResultsLibrary, judging: JudgingPage | None, terminal: Terminal) -> None:
    """Shows the address as the result; no note contains its token."""
    from rankproof._data.text import in_a_sentence, pluralise

    experiments = len(library.entries())
    if judging is not None:
        log = judging.log
        if log.cut:
            terminal.note(f"the log of {for_message(log.path)} ends in an incomplete line, which is removed")
        terminal.note(f"judgements of {in_a_sentence(judging.assessors)} are saved to {for_message(log.path)}")
        for note in _scale_notes(library):
            terminal.note(note)
    terminal.note(f"{pluralise(experiments, 'experiment')}; open the address in a browser; Ctrl-C stops")
    terminal.show(f"{url}\n")


def _error_reporter(terminal: Terminal) -> Callable[[Exception], None]:
    """Reports an internal error without the request."""

    def report(error: Exception) -> None:
        terminal.say(escape_invisible(f"internal error: {type(error).__name__}: {error}"))
        if terminal.verbose:
            terminal.say(escaped_traceback(error))

    return report


def _login_name() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        raise UsageError("the login name is unknown", fix="specify the assessor with --assessor NAME") from None


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(_MAX_PORT)) and int(text) <= _MAX_PORT):
        raise argparse.ArgumentTypeError(f"{for_message(repr(text))} is not a port, a whole number up to {_MAX_PORT}")
    return int(text)


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
