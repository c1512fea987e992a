"""`rankproof serve`: shows results in a local web page, where documents can be judged."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from typing import TYPE_CHECKING, Annotated, Literal, TypedDict

from rankproof._cli.execution_options import add_trust_option
from rankproof._cli.exit_codes import escaped_traceback
from rankproof._cli.flags import add_flags
from rankproof._cli.inputs import add_dataset_options, add_input_options, dataset_of_runs
from rankproof._cli.options import add_decision_options, decision_options, read_dataset_or_sample
from rankproof._cli.parser import Command
from rankproof._cli.terminal import Terminal
from rankproof._data.validation import BUDGET, SEED
from rankproof._registry import Option
from rankproof.errors import UsageError, escape_invisible, for_message

if TYPE_CHECKING:
    from rankproof._data.qrels import Qrels
    from rankproof._server.api import Feature, Permission
    from rankproof._server.bench.port import Workbench
    from rankproof._server.judgement_log import JudgementLog
    from rankproof._server.judging_page import JudgingPage
    from rankproof._server.judging_queue import DocumentTexts
    from rankproof._server.labelling import LabellingPages
    from rankproof._server.library import ResultsLibrary
    from rankproof._server.pages import JudgingViews


USAGE = "RESULTS… | QRELS RUN… [--port N] [--judge FILE] [--edit] [--dataset SOURCE] [options]"
EXAMPLES = """\
examples:
  rankproof serve rankproof-results/                        all results folders in a folder
  rankproof serve old-results/ new-results/                 two experiments to compare
  rankproof serve results/ --judge --edit                   try queries and settings, judge, prove
  rankproof serve results/ --judge my.qrels --assessor ann  the same, into another file
  rankproof serve results/ --judge --assessor ann,bob       two people, each in an own browser
  rankproof serve results/ --label 30                       label 30 questions at random, to check a judge
  rankproof serve qrels.txt prod.run new.run --dataset data/shop

Open the address that it prints. It contains a secret token and works only on this machine. Ctrl-C
stops the server. With --judge, systems and ranks are hidden until a document has its grade. With
several assessors, each browser chooses a name, nobody sees the grades of the others before judging a
pair, and the page Agreement lists the pairs on which they differ, to adjudicate.
The file of --judge is new or written by serve; rankproof eval reads it, and run --qrels measures
with it. --label N checks a machine judge: people label whole questions drawn at random, without
seeing systems and judge, and may stop after any of them. Of answers they label all claims, into
RESULTS.people.jsonl; else the top documents of all systems, into RESULTS.people.qrels. A larger N
continues the same draw. Run files are read once, at the start"""
_INPUTS = "results folders, a folder of them, or the judgements and then one or more runs"


class ServeArguments(TypedDict, total=False):
    """The options of the server."""

    port: Annotated[int, Option("port on 127.0.0.1", least=0, most=65535, metavar="N", default=0, unset="0, any free port")]
    judge: Annotated[
        str | None,
        Option("judge documents in the browser; the file is RESULTS.people.qrels", metavar="QRELS", unnamed=True),
    ]
    label: Annotated[
        int | None,
        Option("label N questions drawn at random, to check a machine judge (start with 30)", least=1, metavar="N"),
    ]
    edit: Annotated[
        bool,
        Option(
            "allow pages to write results, notes and test cases, and to ask engines and models of the experiment", default=False
        ),
    ]
    budget: Annotated[str | None, BUDGET]
    assessor: Annotated[
        str | None, Option("name of the assessor, or of several: ann,bob", metavar="NAME", unset="the login name")
    ]
    overlap: Annotated[
        float,
        Option(
            "share of the queries that every assessor judges, such as 20% or 0.2; the others are divided",
            metavar="SHARE",
            default=1.0,
            unset="100%",
            rare=True,
        ),
    ]
    pool: Annotated[
        int | None,
        Option("judge the top N of all systems, in random order", least=1, metavar="N", unset="without judgements 10", rare=True),
    ]
    seed: Annotated[int, SEED._replace(description="seed of that order, and of a new draw of --label", default=0)]
    judge_order: Annotated[
        Literal["risk", "effect"],
        Option(
            "order of other pairs: by the expected change of the decision's risks, or by the largest possible effect",
            default="risk",
            rare=True,
        ),
    ]
    labels: Annotated[
        str | None,
        Option("file of the labels", metavar="FILE", unset="RESULTS.people.jsonl, of documents RESULTS.people.qrels", rare=True),
    ]
    nuggets: Annotated[
        str | None, Option("file of nuggets to edit and confirm, of questions of the results", metavar="FILE", rare=True)
    ]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the inputs, the port and the judging."""
    group = add_input_options(parser, "run files", _INPUTS)
    add_dataset_options(
        group, "the dataset: texts of run files; with --judge or --label, whole documents and not only their beginnings"
    )
    add_decision_options(parser.add_argument_group("decision on run files"))
    add_flags(parser, ServeArguments)
    add_trust_option(parser)
    parser.set_defaults(output=None)


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Serves until interrupted."""
    import gc

    from rankproof._cli.exit_codes import handle_sigterm
    from rankproof._server.api import Api
    from rankproof._server.judging_page import JudgingPage
    from rankproof._server.judging_queue import QueueOptions
    from rankproof._server.labelling import holds_claims
    from rankproof._server.nuggets_page import NuggetsPage
    from rankproof._server.pages import JudgingViews, Router
    from rankproof._server.server import Server

    gc.enable()
    library, texts = _open_run_files(args) if _are_run_files(args.files) else _open_folders(args)
    has_claims = any(holds_claims(library, entry) for entry in library.entries())
    _check_options(args, has_claims)
    labels_documents = args.label is not None and not has_claims
    with ExitStack() as files:
        labelling = files.enter_context(closing(_labelling(args, library, has_claims)))
        log = None
        if args.judge is not None or labels_documents:
            log = files.enter_context(closing(_judgement_log(args)))
        nuggets = None if args.nuggets is None else files.enter_context(closing(NuggetsPage(library, args.nuggets)))
        judging = None if log is None else JudgingPage(log, *_assessors(args))
        options = QueueOptions(args.pool, args.seed, args.judge_order, args.label if labels_documents else None, args.overlap)
        views = JudgingViews(library, judging, texts, options)
        if args.label is not None:
            _check_draws(library, views if labels_documents else labelling, terminal)
        people = judging.assessors if judging is not None else tuple(_assessors(args)) if args.edit else ()
        features = [files.enter_context(closing(feature)) for feature in _features(args, library, views, texts, people)]
        api = Api(library, _permissions(args), (route for feature in features for route in feature.routes()))
        site = Router(library, views, labelling, nuggets, api, features)
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


def _features(
    args: argparse.Namespace, library: ResultsLibrary, views: JudgingViews, texts: DocumentTexts, people: tuple[str, ...]
) -> Iterator[Feature]:
    """The parts of the server, in the order of their links."""
    from rankproof._server.answers.feature import AnswerBench
    from rankproof._server.bench.feature import Bench
    from rankproof._server.bench.live import LiveBench
    from rankproof._server.bench.queries import LibraryDocuments
    from rankproof._server.cases.feature import CasesAndNotes
    from rankproof._server.grading import Grading
    from rankproof._server.home import HomeTrends

    bench = Bench(library, LibraryDocuments(texts.dataset))
    yield from (HomeTrends(library), bench, LiveBench(bench, _workbench(args, library)), Grading(library, views))
    yield CasesAndNotes(library, people, writes=args.edit)
    yield AnswerBench(library, people, writes=args.edit)


def _workbench(args: argparse.Namespace, library: ResultsLibrary) -> Workbench:
    """The systems of the results, which are loaded when the bench first needs them."""
    from rankproof._io.paths import cache_home
    from rankproof._llm.budget import Budget
    from rankproof._workbench.workbench import SystemsWorkbench

    return SystemsWorkbench(library, cache_home(), args.budget or Budget(), edit=args.edit, trust=args.trust)


def _permissions(args: argparse.Namespace) -> Iterator[Permission]:
    """What the JSON routes may write; nothing without --edit, --judge or --label."""
    if args.edit:
        yield "edit"
    if args.judge is not None:
        yield "judge"
    if args.label is not None:
        yield "label"


def _check_options(args: argparse.Namespace, has_claims: bool) -> None:
    """Refuses options that have nothing to judge or label."""
    if args.judge is None and args.pool is not None:
        raise UsageError("--pool needs --judge", fix="add --judge, or leave out --pool")
    if args.overlap < 1 and "," not in (args.assessor or ""):
        raise UsageError("--overlap needs several assessors", fix="name them: --assessor ann,bob, or leave out --overlap")
    if args.judge is None and args.label is None and "," in (args.assessor or ""):
        raise UsageError("several assessors need --judge", fix="add --judge, or name one person")
    if has_claims:
        return
    if args.judge is not None and args.label is not None:
        what = "--label draws questions at random, and --judge lists the pairs that change most"
        raise UsageError(what, fix="leave out one of the two")
    if args.labels is not None and args.label is None:
        raise UsageError("--labels needs --label", fix="add --label 30, or leave out --labels")
    if args.assessor is not None and args.judge is None and args.label is None and not args.edit:
        raise UsageError("--assessor needs --judge, --label or --edit", fix="add one of them, or leave out --assessor")


def _check_draws(library: ResultsLibrary, pages: JudgingViews | LabellingPages, terminal: Terminal) -> None:
    """Says how many labels the drawn questions need; an error if they cannot be labelled into the file."""
    from rankproof._data.text import pluralise

    for entry in library.entries():
        queue = pages.drawn_queue(entry)
        if queue is not None:
            work = pluralise(len(queue.items), "label")
            terminal.note(f"{pluralise(len(queue.sizes), 'question')} drawn at random, {work}; only complete questions count")


def _labelling(args: argparse.Namespace, library: ResultsLibrary, has_claims: bool) -> LabellingPages:
    """The pages for labelling claims."""
    from rankproof._results.label_tasks import DEFAULT_QUESTIONS
    from rankproof._server.labelling import LabellingPages, LabelOptions

    person = args.assessor
    if person is None:
        with suppress(UsageError):
            person = _login_name()
    file = args.labels if has_claims else None
    return LabellingPages(library, LabelOptions(person or "", args.label or DEFAULT_QUESTIONS, args.seed, file))


def _say_label_commands(labelling: LabellingPages, terminal: Terminal) -> None:
    commands = labelling.commands()
    if commands and not terminal.quiet:
        terminal.say("next, the decision with these labels, and how far the judges agree with them:")
        for command in commands:
            terminal.say(escape_invisible(f"  {command}"))


def _judgement_log(args: argparse.Namespace) -> JudgementLog:
    from rankproof._server.judgement_log import JudgementLog

    return JudgementLog(_judgements_file(args), option="--judge" if args.label is None else "--labels")


def _assessors(args: argparse.Namespace) -> list[str]:
    """The names of the people who judge: those of --assessor, or the login name."""
    return [_login_name()] if args.assessor is None else args.assessor.split(",")


def _judgements_file(args: argparse.Namespace) -> str:
    """The named file, or the file beside the results folder; several folders, or run files, need a named one."""
    from rankproof._results.judgements import judgements_file
    from rankproof._server.library import results_folders

    if named := args.judge or args.labels:
        return str(named)
    folders = [folder for path in args.files for folder in results_folders(path)]
    if len(folders) != 1:
        option, name = ("--judge", "--judge") if args.label is None else ("--label", "--labels")
        raise UsageError(f"{option} needs a file here", fix=f"name it: {name} my.qrels, or specify a single results folder")
    return judgements_file(folders[0], "people")


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

    refuse_run_file_options(
        args,
        ("primary", "margin", "baseline", "costs", "labels_by", "looks", "judgements"),
        but=("dataset", "grade_map", "on_conflict"),
    )
    register_measures(args)
    library = ResultsLibrary(args.files)
    return library, _document_texts(args, library)


def _document_texts(args: argparse.Namespace, library: ResultsLibrary) -> DocumentTexts:
    """The texts of --dataset, else of the dataset that the experiment names, if it can be read."""
    from rankproof._results.judgements import experiment_dataset
    from rankproof._server.judging_queue import DocumentTexts

    judges = args.judge is not None or args.label is not None
    if args.dataset is None:
        entries = library.entries()
        if not judges or len(entries) != 1:
            return DocumentTexts()
        return DocumentTexts(experiment_dataset(library.results(entries[0])))
    if not judges:
        raise UsageError("--dataset needs --judge or --label", fix="add one of them, or leave out --dataset")
    texts = DocumentTexts(read_dataset_or_sample(args.dataset, args.split, args, needs=("documents",)))
    texts.check_fingerprints([summary.fingerprint for summary in library.summaries()], args.dataset)
    return texts


def _say_next(args: argparse.Namespace, library: ResultsLibrary, log: JudgementLog, terminal: Terminal) -> None:
    """The command that measures or compares with the judgements, for a single results folder, or for run files with labels."""
    from rankproof._cli.results import say_measuring_command
    from rankproof._io.files import is_results_folder
    from rankproof._server.agreement_page import open_disagreements

    if disputed := open_disagreements(log.merged()):
        terminal.note(disputed)
    if args.label is not None and _are_run_files(args.files) and log.judgements()[0]:
        _say_comparing_command(args, _judgements_file(args), terminal)
    elif len(args.files) == 1 and is_results_folder(args.files[0]) and log.judgements()[0]:
        # Proofs of the bench are results folders beside it.
        entry = next(entry for entry in library.entries() if os.path.samefile(entry.path, args.files[0]))
        results, file = library.results(entry), _judgements_file(args)
        if args.label is not None and results.is_judged:
            _say_comparing_command(args, file, terminal)
            return
        options = ["--on-conflict", "last"] if _regrades(log.judgements()[0], results.qrels) else []
        say_measuring_command(results, args.files[0], [file], terminal, options)


def _say_comparing_command(args: argparse.Namespace, file: str, terminal: Terminal) -> None:
    """Says which command decides with the labels; those beside the folder need no option."""
    if not terminal.quiet:
        labels = [] if args.labels is None else ["--labels", file]
        terminal.say("next, the decision with these labels:")
        terminal.say(escape_invisible(f"  {shlex.join(['rankproof', 'compare', *args.files, *labels])}"))


def _regrades(new: Qrels, old: Qrels) -> bool:
    """Whether a pair that people had judged has another grade now."""
    return any(
        old.get(query, {}).get(doc, grade) != grade and (query, doc) not in old.judge_labels
        for query, docs in new.items()
        for doc, grade in docs.items()
    )


def _print_address(url: str, library: ResultsLibrary, judging: JudgingPage | None, terminal: Terminal) -> None:
    """Shows the address as the result; no note contains its token."""
    from rankproof._data.text import in_a_sentence, pluralise

    experiments = len(library.entries())
    if judging is not None:
        log = judging.log
        if log.cut:
            terminal.note(f"the log of {for_message(log.path)} ends in an incomplete line, which is removed")
        terminal.note(f"judgements of {in_a_sentence(judging.assessors)} are saved to {for_message(log.path)}")
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


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
