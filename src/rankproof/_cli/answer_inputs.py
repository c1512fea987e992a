"""The answers that a command evaluates: of RAG logs, of a results folder, or of files of queries and answers."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rankproof._cli.flags import GRADES, add_flags, judgement_options
from rankproof._cli.terminal import add_measures_option, add_name_option
from rankproof._evaluation.options import ReadArguments
from rankproof.errors import InputError, UsageError, for_message

if TYPE_CHECKING:
    from rankproof._analysis.answers.answer_input import AnswerInput
    from rankproof._analysis.answers.logged_answers import AnswerJudges, LoggedAnswers
    from rankproof._results.experiment_result import ExperimentResult
    from rankproof.measures._base import Measure

_INPUTS = "specify RAG logs, a results folder, or queries.jsonl and one or more files of answers"


def add_answer_inputs(parser: argparse.ArgumentParser) -> None:
    """Adds the files, the measures, and what the files may lack."""
    from rankproof._api.answers import evaluate_answers

    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="RAG logs, a results folder, or a file of queries and then files of answers"
    )
    what = parser.add_argument_group("measures")
    add_measures_option(what, "Faithfulness,ContextR,ClaimF1")
    add_flags(what, evaluate_answers, ["settings"])
    add_name_option(what, "the name of a system, once for each file")
    texts = parser.add_argument_group("further input")
    add_flags(texts, evaluate_answers, ("corpus", "nuggets", "qrels", "rel"))
    add_flags(texts, ReadArguments, GRADES)


@dataclass(frozen=True, eq=False, slots=True)
class AnswerSource:
    """Answers of files, or of the results of an experiment; `again` computes stored values again."""

    given: LoggedAnswers | None = None
    stored: ExperimentResult | None = None
    again: bool = False
    is_log: bool = False

    @property
    def notes(self) -> tuple[str, ...]:
        """What was dropped and noted when the files were read, how many answers repeat a question, and what has no rankings."""
        from rankproof._data.answers import repeats_note, unranked_note

        known = () if self.given is None else self.given.notes
        repeats = (repeats_note(name, answers) for name, answers in self.questions().answers.items())
        unranked = () if self.given is None else (unranked_note(name, answers) for name, answers in self.given.answers.items())
        return (*known, *(note for note in (*repeats, *unranked) if note is not None and note not in known))

    def stored_measures(self) -> list[Measure]:
        """The measures of the results; none for files."""
        answers = None if self.stored is None else self.stored.answers
        return [] if answers is None else [measure.measure for measure in answers.systems[0].measures.values()]

    def stores(self, answer_input: AnswerInput) -> bool:
        """Whether the results folder that was read has these values with their claims."""
        known = {*map(str, self.stored_measures())}
        return not self.again and answer_input.inputs.result.systems[0].measures.keys() <= known

    def questions(self) -> LoggedAnswers:
        """The questions with their answers."""
        from rankproof._analysis.answers.logged_answers import LoggedAnswers

        if self.given is not None:
            return self.given
        assert self.stored is not None
        answers = {run.name: run.answers for run in self.stored.system_runs if run.answers is not None}
        return LoggedAnswers(self.stored.name, self.stored.texts, answers, self.stored.qrels, self.stored.contexts)

    def models(self) -> dict[str, str]:
        """The language model that answered for each system, as its stage or its log says; else the name of the system."""
        runs = () if self.stored is None else self.stored.system_runs
        known = {run.name: _model_of(run.stage) for run in runs}
        answers = self.questions().answers.items()
        logged = {name: next((usage.model for usage in own.usages if usage.model), None) for name, own in answers}
        return {name: known.get(name) or model or name for name, model in logged.items()}

    def answer_input(self, measures: Sequence[str] | None, rel: int | None, how: AnswerJudges) -> AnswerInput:
        """The answers evaluated."""
        from rankproof._analysis.answers.answer_input import answer_input_from_files, answer_input_from_results

        if self.stored is not None:
            return answer_input_from_results(self.stored, measures, rel=rel, how=how, again=self.again)
        assert self.given is not None
        return answer_input_from_files(self.given, measures, rel=rel or 1, how=how)

    def results(self, answer_input: AnswerInput, rel: int | None) -> ExperimentResult:
        """The evaluated answers as results that can be saved."""
        from rankproof._results.answers_results import answers_results
        from rankproof._results.criteria import criteria_facts

        evaluated = answer_input.inputs.result
        if self.stored is not None:
            known = {**self.stored.provenance, **criteria_facts(evaluated, self.stored.provenance)}
            return replace(self.stored, answers=evaluated, rel=rel or self.stored.rel, provenance=known)
        assert self.given is not None
        logs, used = self.given, set(self.given.passages())
        return answers_results(
            evaluated,
            logs.answers,
            logs.queries,
            {passage: text for passage, text in logs.contexts.items() if passage in used},
            name=logs.name,
            runs=answer_input.inputs.runs,
            qrels=logs.qrels,
            rel=rel or 1,
            judged_documents=answer_input.judged_documents,
            notes=logs.notes,
            facts=criteria_facts(evaluated, {}),
        )


def _model_of(stage: Any) -> str | None:
    """The name of the first language model in a stage."""
    if not isinstance(stage, Mapping):
        return None
    model = stage.get("model")
    if isinstance(model, Mapping) and isinstance(model.get("model"), str):
        return str(model["model"])
    return next((name for part in stage.values() if (name := _model_of(part))), None)


def read_answer_source(args: argparse.Namespace) -> AnswerSource:
    """The answers in the files, with the texts and nuggets of the options."""
    from rankproof._io.files import is_results_folder
    from rankproof._results.folder import check_document

    if not args.files:
        raise UsageError("no input files", fix=_INPUTS)
    if any(map(is_results_folder, args.files)):
        return _from_folder(args)
    for path in args.files:
        check_document(path)
    settings = dict(args.settings or ())
    if settings or are_rag_logs(args.files):
        return AnswerSource(_with_options(read_logs(args.files, args.name, settings), args), is_log=True)
    return AnswerSource(_with_options(_from_files(args), args))


def chosen_measures(source: AnswerSource, args: argparse.Namespace) -> list[Measure] | None:
    """The measures of -m with the judge of --judge or of the results; of a log, by default those that its fields allow."""
    from rankproof._analysis.answers.logged_answers import usual_log_measures
    from rankproof.measures._claim_base import OVERLAP, judged_measures, measures_in_results, with_judge

    if args.judge is not None and not args.judge.strip():
        raise UsageError("--judge has no name", fix="specify one, such as minilm, or leave it out")
    judge = args.judge or OVERLAP
    if args.measures and args.judge is None:
        return measures_in_results(args.measures, source.stored_measures())
    if args.measures:
        return judged_measures(args.measures, judge)
    if source.is_log and source.given is not None:
        return judged_measures(usual_log_measures(source.given, judge), judge)
    stored = source.stored_measures()
    return [with_judge(measure, judge) for measure in stored] if stored and args.judge is not None else None


def are_rag_logs(paths: Sequence[str]) -> bool:
    """Whether all files are RAG logs, and not queries with files of answers to them."""
    from rankproof._importers.base import ImportSource
    from rankproof._importers.rag import is_rag_log

    if not all(map(os.path.isfile, paths)):
        return False
    try:
        return is_rag_log(ImportSource(tuple(paths)))
    except InputError:
        if len(paths) == 1:
            raise
        return False


def read_logs(paths: Sequence[str], names: Sequence[str], settings: Mapping[str, str] | None = None) -> LoggedAnswers:
    """The answers of RAG logs, with these names of systems if there are any; a log that is specified twice is an error.

    The settings name columns of the logs.
    """
    from rankproof._analysis.answers.logged_answers import answers_of_logs
    from rankproof._importers.base import ImportOptions
    from rankproof._importers.rag import IMPORTER
    from rankproof._importers.registry import import_source

    files = [os.path.realpath(path) for path in paths]
    if twice := [path for path, file in zip(paths, files, strict=True) if files.count(file) > 1]:
        raise UsageError(f"{for_message(twice[0])} is specified twice", fix="specify each log once")
    logs = answers_of_logs(import_source(list(paths), ImportOptions(settings=settings or {}), importer=IMPORTER))
    if not names:
        return logs
    if len(names) != len(logs.answers) or len(set(names)) < len(names):
        systems = ", ".join(map(for_message, logs.answers))
        raise UsageError(f"{len(names)} names for {len(logs.answers)} systems", fix=f"give each its own name: {systems}")
    return replace(logs, answers=dict(zip(names, logs.answers.values(), strict=True)))


def _with_options(logs: LoggedAnswers, args: argparse.Namespace) -> LoggedAnswers:
    """The answers with the judgements, documents and nuggets of the options."""
    from rankproof._api.answer_forms import logs_with_texts
    from rankproof._formats.read import read_qrels

    qrels = None if args.qrels is None else read_qrels(args.qrels, **judgement_options(args))
    return logs_with_texts(logs, qrels, None, args.corpus, args.nuggets)


def _from_folder(args: argparse.Namespace) -> AnswerSource:
    from rankproof._analysis.answers.answer_input import has_failed_verdicts
    from rankproof._api.answer_forms import results_with_nuggets
    from rankproof._results.folder import load_results

    if len(args.files) > 1 or args.qrels or args.name or args.corpus:
        raise UsageError(
            "a results folder cannot be mixed with other inputs",
            fix="specify one folder; it has its own judgements, names and texts",
        )
    results = results_with_nuggets(load_results(args.files[0]), args.nuggets)
    return AnswerSource(
        stored=results, again=args.nuggets is not None or (args.judge is not None and has_failed_verdicts(results))
    )


def _look_like_logs(paths: Sequence[str]) -> bool:
    """Whether the files are no queries and answers: the first has no texts, or all are tables with the same columns."""
    from rankproof._formats.columns import TEXT_NAMES, normalised_name
    from rankproof._formats.source_table import open_table
    from rankproof._io.open import open_source

    try:
        columns = [frozenset(map(normalised_name, open_table(open_source(path)).names)) for path in paths]
    except InputError:
        return False
    return columns[0].isdisjoint(TEXT_NAMES) or (len(paths) > 1 and len({*columns}) == 1)


def _from_files(args: argparse.Namespace) -> LoggedAnswers:
    from rankproof._analysis.answers.logged_answers import LoggedAnswers
    from rankproof._evaluation.user_forms import name_runs_uniquely
    from rankproof._formats.texts import read_answers, read_queries
    from rankproof._io.open import open_source

    path, *paths = args.files
    if all(map(os.path.isfile, args.files)) and _look_like_logs(args.files):
        read_logs(args.files, args.name)
    if not paths and os.path.isfile(path):
        what = f"{for_message(path)} is no RAG log with answers or contexts, and there is no file of answers after it"
        raise UsageError(what, fix="specify files of answers as well, or name the columns of a log: --set question=COLUMN")
    queries = read_queries(open_source(path))
    answers = {name: read_answers(open_source(log), queries) for name, log in name_runs_uniquely(paths, args.name).items()}
    return LoggedAnswers(os.path.basename(path), queries, answers)
