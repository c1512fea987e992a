"""`rankproof answers`: evaluates generated answers against references and contexts."""

from __future__ import annotations

import argparse
import os
import shlex
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any

from rankproof._cli.answer_inputs import AnswerSource, add_answer_inputs, chosen_measures, read_answer_source
from rankproof._cli.claim_judging import (
    add_judge_options,
    answer_judges,
    check_draft_options,
    check_judge_options,
    draft_nuggets,
    estimated_cost,
)
from rankproof._cli.exit_codes import signal_exit_code
from rankproof._cli.flags import add_flags, add_option
from rankproof._cli.inputs import show_tables
from rankproof._cli.options import add_decision_options, decision_options, look_log
from rankproof._cli.parser import Command
from rankproof._cli.terminal import Terminal, add_format_option, add_output_option, show_value_notes
from rankproof._data.validation import LOG
from rankproof.errors import UsageError, escape_invisible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rankproof._analysis.answers.answer_input import AnswerInput
    from rankproof._analysis.answers.logged_answers import AnswerJudges
    from rankproof._analysis.compare.comparison import Comparison
    from rankproof._analysis.compare.look_log import LoggedComparison
    from rankproof._data.claims import Calibration, JudgeNoise
    from rankproof._data.dataset import Query
    from rankproof._data.table import Table
    from rankproof._evaluation.claim_judges import JudgeOf
    from rankproof._evaluation.result import Result
    from rankproof._results.experiment_result import ExperimentResult
    from rankproof._statistics.options import Looks


USAGE = "LOG… | RESULTS | QUERIES ANSWERS… [-m MEASURES] [--judge NAME] [-o FOLDER] [options]"
EXAMPLES = """\
examples:
  rankproof answers rag.jsonl                                words only, no model: a baseline
  rankproof answers old.jsonl new.jsonl -o results           which system leads; keep every verdict
  rankproof answers own.jsonl --set question=ask,answer=reply,contexts=chunks,reference=gold
  rankproof answers rag.jsonl -m Faithfulness,ContextR --judge gpt-4o-mini --dry-run
  rankproof answers results --labels results.people.jsonl    agreement of the judge with people
  rankproof answers rag.jsonl --draft-nuggets nuggets.jsonl --judge gpt-4o-mini
  rankproof answers results -m EM,F1,ROUGE-L --by type --format markdown
  rankproof answers queries.jsonl gpt.jsonl local.jsonl --qrels qrels.tsv

A LOG has the question, contexts, answer and reference of each row, in the fields of ragas, DeepEval,
TruLens, LlamaIndex, RAGChecker or rankproof; each log is a system. Without -m, the measures are those
that the fields allow. The first measure decides between systems. -o writes a results folder for
rankproof report, explain, compare, gate and serve, where people label claims

A line of ANSWERS is an object like {"query": "q1", "answer": "Paris", "cited": ["d1"]}; the QUERIES
then have the references"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the files, the measures, the judge and the statistics."""
    from rankproof._analysis.options import CompareOptions
    from rankproof._api.answers import evaluate_answers

    parser.set_defaults(parser=parser, model=None, judgements=None)
    add_answer_inputs(parser)
    what = parser.add_argument_group("output")
    what.add_argument("--by", action="append", metavar="FIELD", help="segments by a field of the queries (category, type…)")
    add_format_option(what)
    add_output_option(what, "write a results folder; an older one is replaced", metavar="FOLDER")
    add_judge_options(parser)
    trust = parser.add_argument_group("trust")
    add_flags(trust, evaluate_answers, ["labels"])
    trust.add_argument("--noise", action="store_true", help="ask about 30 questions 3 times, and in reversed order")
    trust.add_argument(
        "--draft-nuggets",
        metavar="FILE",
        help="let the language model of --judge draft nuggets, for people to confirm; evaluates nothing",
    )
    trust.add_argument(
        "--vary-contexts",
        metavar="FOLDER",
        help="write the log with contexts shuffled, removed, noisy and contradicted, for another run; evaluates nothing",
    )
    decision = parser.add_argument_group("decision")
    add_decision_options(decision, primary="the first of -m, else F1 or the first measure", of_rankings=False)
    add_option(decision, "log", LOG)
    how = parser.add_argument_group("statistics")
    add_flags(how, CompareOptions, ("correction", "alpha", "seed"))
    add_flags(how, CompareOptions, ["samples"], samples=None)


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Evaluates the answers and compares the systems."""
    import gc

    from rankproof._cli.exit_codes import handle_sigterm

    # The command starts without the garbage collector; long work needs it.
    gc.enable()
    try:
        with handle_sigterm():
            _run(args, terminal)
    except KeyboardInterrupt as stop:
        terminal.say("stopped; replies so far are cached: run the same command again to continue")
        return signal_exit_code(stop)
    return 0


def _run(args: argparse.Namespace, terminal: Terminal) -> None:
    from rankproof._analysis.answers.answer_input import check_some_verdict

    _check_output(args)
    source = read_answer_source(args)
    if args.draft_nuggets is not None:
        check_draft_options(args)
        draft_nuggets(source.questions(), args, terminal)
        return
    if args.vary_contexts is not None:
        _write_varied(source, args, terminal)
        return
    if args.measures and args.primary:
        args.measures = [*args.measures, args.primary]
    measures = chosen_measures(source, args)
    used = source.stored_measures() if measures is None else measures
    check_judge_options(args, used)
    names = None if measures is None else list(map(str, measures))
    if args.dry_run:
        _show([estimated_cost(lambda how: _asked(source, names, how, args), args)], args, terminal)
        return
    with answer_judges(args, terminal, used) as how:
        answer_input = source.answer_input(names, args.rel, how)
        trust = _trust(source, answer_input, how, args)
    answer_input = answer_input.with_trust(trust.calibrations, trust.noises)
    logged = _logged(source, answer_input, args)
    if args.output is not None:
        _save(source, answer_input, args, args.looks if logged is None else logged.comparison.decision.looks)
    comparison = None if logged is None else _added_to_log(logged, args)
    _show_answers(answer_input, comparison, trust, args, terminal)
    terminal.notes(source.notes)
    if args.output is not None:
        folder = escape_invisible(shlex.quote(args.output))
        terminal.note(f"results saved in {folder}; a page with every answer: rankproof report {folder}")
    asks = source.stored is None or args.judge is not None
    check_some_verdict(
        answer_input.inputs.result,
        f"{'run the same command again' if asks else 'name the judge with --judge'}: failed verdicts are requested again",
    )


def _write_varied(source: AnswerSource, args: argparse.Namespace, terminal: Terminal) -> None:
    """Writes a log for each way to change the contexts."""
    from rankproof._analysis.answers.logged_answers import log_blocks, varied_logs
    from rankproof._data.text import pluralise
    from rankproof._io.files import write_blocks

    folder = args.vary_contexts
    if os.path.exists(folder) and (not os.path.isdir(folder) or os.listdir(folder)):
        raise UsageError(f"{folder} exists", fix="specify an empty or new folder with --vary-contexts")
    logs = varied_logs(source.questions(), args.seed)
    os.makedirs(folder, exist_ok=True)
    for name, rows in logs.items():
        path = os.path.join(folder, f"{name}.jsonl")
        write_blocks(path, log_blocks(rows))
        terminal.say(f"{escape_invisible(path)}: {pluralise(len(rows), 'question')}")
    terminal.notes(source.notes)


def _check_output(args: argparse.Namespace) -> None:
    from rankproof._results.folder import check_results_folder

    if args.output is None:
        return
    if args.output in ("", "-"):
        raise UsageError("answers writes a folder and cannot write to standard output", fix="specify a folder with -o")
    if any(os.path.exists(path) and os.path.abspath(path) == os.path.abspath(args.output) for path in args.files):
        raise UsageError(f"{args.output} would overwrite an input file", fix="specify another folder with -o")
    check_results_folder(args.output)


@dataclass(frozen=True, slots=True)
class _Trust:
    """What is known about the judges: tables, agreement with people, and noise."""

    tables: tuple[Table, ...] = ()
    calibrations: tuple[Calibration, ...] = ()
    noises: tuple[JudgeNoise, ...] = ()
    notes: tuple[str, ...] = ()


def _trust(source: AnswerSource, answer_input: AnswerInput, how: AnswerJudges, args: argparse.Namespace) -> _Trust:
    """The agreement of the judges with the labels, and how much their verdicts vary."""
    from rankproof._analysis.answers.judge_reliability import noise_tables, repeated_measures, same_model_notes
    from rankproof._analysis.answers.trust import TrustReport, trust_report
    from rankproof._analysis.compare.people_labels import present_labels

    result, outdated = answer_input.inputs.result, list[str]()
    report = TrustReport((), result.calibrations)
    if args.labels is not None:
        labels, outdated = present_labels(answer_input.inputs, args.labels)
        report = trust_report(result, labels) if labels.labels else report
    noises = _noises(source, answer_input, how, args) if args.noise else result.noise
    notes = same_model_notes(source.models(), (measure.judge for measure in repeated_measures(result)))
    return _Trust((*report.tables, *noise_tables(noises)), report.calibrations, noises, (*notes, *outdated))


def _noises(
    source: AnswerSource, answer_input: AnswerInput, how: AnswerJudges, args: argparse.Namespace
) -> tuple[JudgeNoise, ...]:
    """How much the values change if the judges are asked again about a sample of the questions."""
    from rankproof._analysis.answers.judge_reliability import SAMPLE, judge_noise, repeated_measures

    measures = repeated_measures(answer_input.inputs.result)
    if not measures or how.judge_of is None:
        raise UsageError("--noise asks a judge again, and shared words never change", fix="name a judge with --judge")
    sample = source.questions().sample(SAMPLE, args.seed)

    def evaluate(judge_of: JudgeOf) -> Result:
        return sample.evaluated(list(measures), replace(how, judge_of=judge_of), rel=answer_input.inputs.rel)

    return judge_noise(evaluate, how.judge_of)


def _asked(source: AnswerSource, names: Sequence[str] | None, how: AnswerJudges, args: argparse.Namespace) -> Result:
    """The evaluation with all that its judges are asked."""
    answer_input = source.answer_input(names, args.rel, how)
    if args.noise:
        _noises(source, answer_input, how, args)
    return answer_input.inputs.result


def _save(source: AnswerSource, answer_input: AnswerInput, args: argparse.Namespace, looks: Looks | None) -> None:
    from rankproof._analysis.answers.quality import answer_findings
    from rankproof._analysis.compare.summary import compare_results, summary_document
    from rankproof._cli.options import known_profiles
    from rankproof._results.folder import save_results

    results = source.results(answer_input, rel=args.rel)
    settings = {**decision_options(args), "primary": _stored_primary(results, answer_input, args), "looks": looks}
    results = replace(results, decision_settings=results.decision_settings.updated(**settings))
    findings = list(answer_findings(answer_input, known_profiles()["rag"]))
    summary = summary_document(results, compare_results(results))
    save_results(results, args.output, findings=findings, summary=summary, overwrite=True)


def _stored_primary(results: ExperimentResult, answer_input: AnswerInput, args: argparse.Namespace) -> str | None:
    """The measure of answers that decides, if it is not the default; None if rankings decide."""
    from rankproof._analysis.inputs import named_measure

    return None if args.primary is None or results.is_judged else str(named_measure(answer_input.inputs, args.primary))


def _show_answers(
    answer_input: AnswerInput, comparison: Comparison | None, trust: _Trust, args: argparse.Namespace, terminal: Terminal
) -> None:
    """The decision first, then the means, then what the labels say and the details."""
    from rankproof._analysis.answers.quality import differences_table
    from rankproof._render.comparison import render_comparison

    tables, notes = list(_tables(answer_input, comparison, trust, args)), trust.notes
    if comparison is not None:
        if len(comparison.measures) > 1:
            tables.insert(1, differences_table(comparison))
        if args.format == "table":
            primary = replace(comparison, measures=(comparison.primary,))
            terminal.show(render_comparison(primary, terminal.render_options()) + "\n")
        else:
            tables = [replace(comparison.table, sentences=comparison.decision.sentences), *comparison.tables, *tables]
        notes = (*notes, *comparison.notes)
    _show(tables, args, terminal)
    terminal.notes(notes)
    if answer_input.retrieval is not None and not _is_of_claims(answer_input):
        show_value_notes(_retrieval_result(answer_input), terminal)


def _is_of_claims(answer_input: AnswerInput) -> bool:
    """Whether a measure has a judge of claims."""
    from rankproof.measures._claim_base import judge_of_measure

    measures = answer_input.inputs.result.systems[0].measures.values()
    return any(judge_of_measure(measured.measure) is not None for measured in measures)


def _show(tables: Sequence[Table], args: argparse.Namespace, terminal: Terminal) -> None:
    """Shows the tables and their notes."""
    show_tables(tables, argparse.Namespace(**{**vars(args), "output": None}), terminal)


def _tables(answer_input: AnswerInput, comparison: Comparison | None, trust: _Trust, args: argparse.Namespace) -> Iterator[Table]:
    """The means, then why they are what they are."""
    from rankproof._analysis.answers.log_tables import cost_table, search_calls_table
    from rankproof._analysis.answers.quality import claim_means_table, means_table
    from rankproof._analysis.decision.repeats import result_repeats_tables

    if _is_of_claims(answer_input):
        means = claim_means_table(answer_input.inputs, trust.calibrations, level=1 - args.alpha)
        yield means.without("no value") if args.format == "table" and not any(row[-1] for row in means.rows) else means
    else:
        yield means_table(answer_input.inputs, level=1 - args.alpha)
    if comparison is None:
        yield from result_repeats_tables(answer_input.inputs.result)
    if (costs := cost_table(answer_input.answers, None if comparison is None else comparison.baseline)) is not None:
        yield costs
    if (searches := search_calls_table(answer_input, None if comparison is None else comparison.baseline)) is not None:
        yield searches
    yield from _session_tables(answer_input, comparison, 1 - args.alpha)
    yield from _context_tables(answer_input, comparison, 1 - args.alpha)
    if not _is_of_claims(answer_input):
        yield from _reference_tables(answer_input)
    if args.by or not _is_of_claims(answer_input):
        yield from _segment_tables(answer_input, args)
    yield from trust.tables


def _session_tables(answer_input: AnswerInput, comparison: Comparison | None, level: float) -> list[Table]:
    """Measures of whole sessions by the measure that decides; none without sessions of several turns."""
    from rankproof._analysis.answers.log_tables import session_tables
    from rankproof._analysis.compare.counted_queries import sessions_of

    inputs = answer_input.inputs
    sessions = sessions_of(inputs.result.queries, inputs.texts)
    if sessions is None:
        return []
    return session_tables(
        inputs, _primary(answer_input, comparison), dict(zip(inputs.result.queries, sessions, strict=True)), level
    )


def _primary(answer_input: AnswerInput, comparison: Comparison | None) -> str:
    """The measure that decides."""
    primary = answer_input.inputs.decision_settings.primary if comparison is None else comparison.primary
    return primary or next(iter(answer_input.inputs.result.systems[0].measures))


def _context_tables(answer_input: AnswerInput, comparison: Comparison | None, level: float) -> Iterator[Table]:
    """The contexts that claims rest on, and what the place of the first relevant one does."""
    from rankproof._analysis.answers.log_tables import first_relevant_table, support_table

    tables = (support_table(answer_input), first_relevant_table(answer_input, _primary(answer_input, comparison), level))
    yield from (table for table in tables if table is not None)


def _reference_tables(answer_input: AnswerInput) -> Iterator[Table]:
    """Why answers differ from their references, and whether retrieval is the cause."""
    from rankproof._analysis.answers.causes import reasons_tables
    from rankproof._analysis.answers.quality import retrieval_table
    from rankproof._cli.options import known_profiles

    yield reasons_tables({system: list(answer_input.records(system)) for system in answer_input.answers})
    yield retrieval_table(answer_input, known_profiles()["rag"])


def _retrieval_result(answer_input: AnswerInput) -> Result:
    """The evaluation of the rankings that the answers were generated from, for its notes."""
    from rankproof._analysis.answers.answer_input import RETRIEVAL_MEASURES
    from rankproof._evaluation.evaluate import evaluate_runs

    inputs = answer_input.inputs
    return evaluate_runs(inputs.qrels, inputs.runs, list(RETRIEVAL_MEASURES), inputs.options)


def _compared(answer_input: AnswerInput, args: argparse.Namespace) -> list[str]:
    """The measures that systems are compared by: F1 if no measure is named and it decides, else all."""
    from rankproof._analysis.inputs import F1_OF_ANSWERS

    inputs, is_named = answer_input.inputs, bool(args.measures or args.primary)
    is_f1 = inputs.decision_settings.primary == F1_OF_ANSWERS and not is_named
    return [F1_OF_ANSWERS] if is_f1 else list(inputs.result.systems[0].measures)


def _log_of(args: argparse.Namespace) -> str | None:
    """The log of looks: that of --log, of the folder to write, or of the results folder that is read."""
    from rankproof._results.result_json import LOOKS_FILE

    is_saved = args.log is None and args.output is not None
    return os.path.join(args.output, LOOKS_FILE) if is_saved else look_log(args)


def _added_to_log(logged: LoggedComparison, args: argparse.Namespace) -> Comparison:
    """The comparison with its line in the log, if there is one."""
    from rankproof._analysis.compare.look_log import append_look

    path = _log_of(args)
    notes = tuple(append_look(path, logged.look)) if path is not None and logged.is_new else ()
    return replace(logged.comparison, notes=(*logged.comparison.notes, *notes))


def _logged(source: AnswerSource, answer_input: AnswerInput, args: argparse.Namespace) -> LoggedComparison | None:
    """The comparison of the systems in the mode that the log asks for; None with one system."""
    from rankproof._analysis.compare.look_log import LoggedComparison, compare_with_log, look_of

    if len(answer_input.inputs.systems) < 2:
        return None

    def compared(looks: Looks | None) -> Comparison:
        return _comparison(source, answer_input, args, looks)

    first, path = compared(args.looks), _log_of(args)
    if path is None:
        return LoggedComparison(first, look_of(answer_input.inputs, first), is_new=False)
    return compare_with_log(first, compared, answer_input.inputs, path, args.looks)


def _comparison(source: AnswerSource, answer_input: AnswerInput, args: argparse.Namespace, looks: Looks | None) -> Comparison:
    from rankproof._analysis.compare.comparison import compare_inputs
    from rankproof._analysis.options import CompareOptions

    inputs = answer_input.inputs
    settings = {**decision_options(args), "primary": args.primary or inputs.decision_settings.primary, "looks": looks}
    measures, options = _compared(answer_input, args), CompareOptions(**_test_settings(args))
    comparison = compare_inputs(inputs, measures=measures, labels=args.labels, options=options, **settings)
    if not comparison.decision.check_command:
        return comparison
    return replace(comparison, decision=replace(comparison.decision, check_command=_check_command(source, answer_input, args)))


def _check_command(source: AnswerSource, answer_input: AnswerInput, args: argparse.Namespace) -> str:
    """The command with which people label the claims; they must be in a results folder."""
    from rankproof._results.label_tasks import DEFAULT_QUESTIONS

    folder, before = args.output, ""
    if folder is None and source.stores(answer_input):
        folder = args.files[0]
    if folder is None:
        folder = next(name for number in count(1) if not os.path.exists(name := f"answers-{number}"))
        before = f"the same command with -o {folder}, then "
    return f"{before}rankproof serve {escape_invisible(shlex.quote(folder))} --label {DEFAULT_QUESTIONS}"


def _test_settings(args: argparse.Namespace) -> dict[str, Any]:
    """The settings of a test; without --samples, each test has its own number of samples."""
    named = {"correction": args.correction, "alpha": args.alpha, "seed": args.seed}
    return named if args.samples is None else {**named, "samples": args.samples}


def _segment_tables(answer_input: AnswerInput, args: argparse.Namespace) -> Iterator[Table]:
    """Segments by the fields of --by; by default only the values by the usual fields."""
    from rankproof._analysis.options import SegmentOptions
    from rankproof._analysis.query_groups import group_queries
    from rankproof._analysis.segments import segments
    from rankproof._results.system_files import GROUP_COLUMNS

    inputs = answer_input.inputs
    texts: Mapping[str, Query] = inputs.texts or {}
    there = {name for query in inputs.result.queries if query in texts for name in texts[query].fields}
    settings = SegmentOptions(**_test_settings(args))
    for by in dict.fromkeys(args.by or [name for name in GROUP_COLUMNS if name in there]):
        for measure in _compared(answer_input, args):
            tables = segments(inputs, group_queries(inputs, by), measure, settings)
            yield from tables if args.by or args.format in ("csv", "json") else tables[:1]


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
