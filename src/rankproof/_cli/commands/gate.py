"""`rankproof gate`: tests new values against saved ones, and saves them."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankproof._cli.flags import add_flags
from rankproof._cli.inputs import (
    add_analysis_options,
    add_dataset_options,
    read_input,
    read_input_with_texts,
    show_tables,
)
from rankproof._cli.options import (
    add_segment_options,
    requested_groupings,
    without_repeats,
)
from rankproof._cli.parser import Command
from rankproof._cli.terminal import STDOUT, Terminal, check_output, show_value_notes, write_or_show
from rankproof.errors import UsageError, escape_invisible

if TYPE_CHECKING:
    from rankproof._analysis.gate.baseline import Baseline
    from rankproof._analysis.gate.result import GateResult
    from rankproof._analysis.gate.rules import GateCheck, GateOptions
    from rankproof._analysis.inputs import AnalysisInput


USAGE = "RESULTS | QRELS RUN… [--baseline FILE] [--threshold T]… [--save FILE] [options]"
EXAMPLES = """\
examples:
  rankproof gate results --save baseline.json    save the first baseline; keep it in your repository
  rankproof gate results --baseline baseline.json
  rankproof gate results --baseline baseline.json --threshold "nDCG@10>=0.45" --by category
  rankproof gate results --baseline baseline.json --max-drop nDCG@10=0.02 --system hybrid
  rankproof gate results --baseline baseline.json --save baseline.json    the next baseline, if the gate passes
  rankproof gate qrels.txt new.run --baseline baseline.json --junit gate.xml --comment gate.md
  rankproof gate qrels.txt first.run second.run --self-test    two runs of the same system

passed: the primary measure is shown not to be lower by more than the margin (risk at most 5%).
failed, exit code 3: a significant drop, overall or in a segment; a threshold that is missed
significantly; missing queries. unsure: neither is shown, or there are fewer than 30 queries; exit
code 0 with a warning, or 3 with --unsure fail. Other measures cannot fail the gate, unless
--max-drop or --threshold names them. Without -m, --save alone saves nDCG@10, RR@10 and R@100, or
the measures of the answers if only they were measured."""
FAILED_EXIT_CODE = 3


_REQUIREMENTS = ("baseline", "save", "thresholds", "max_drops", "cases", "self_test", "accept_loss", "systems")
_SETTINGS = ("primary", "margin", "unsure", "labels_by", "judgements", "seed")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the inputs, the baseline and the thresholds."""
    from rankproof._api.checks import gate

    add_analysis_options(parser)
    group = parser.add_argument_group("requirements")
    add_flags(group, gate, (*_REQUIREMENTS, *_SETTINGS))
    segments = parser.add_argument_group("segments")
    add_segment_options(segments)
    add_dataset_options(segments)
    also = parser.add_argument_group("further output")
    also.add_argument("--junit", metavar="FILE", help="also write the checks as JUnit XML")
    add_flags(also, gate, ["log"])
    also.add_argument("--comment", metavar="FILE", help="also write the checks as a Markdown comment")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Evaluates the systems, shows whether they pass, and saves their values."""
    from rankproof._analysis.gate.anchor import not_saved
    from rankproof._analysis.gate.case_checks import case_table
    from rankproof._analysis.gate.gate import evaluated_measures, gate_with_cases, recorded_gate
    from rankproof._analysis.gate.result import gate_table, without_cases
    from rankproof._cli.exit_codes import until_pipe_closes
    from rankproof._evaluation.options import USUAL_PRIMARY

    _check(args)
    if args.self_test:
        return _run_self_test(args, terminal)
    if not _has_requirement(args):
        return _run_save(args, terminal)
    settings, baseline = _settings(args), _baseline(args.baseline)
    args.measures = evaluated_measures(args.measures or (), baseline, settings) or [USUAL_PRIMARY]
    inputs = read_input_with_texts(args)
    segments = requested_groupings(inputs, args) if args.by or args.by_file else ()
    gate = recorded_gate(
        inputs,
        baseline,
        settings,
        systems=args.systems or (),
        groupings=segments,
        path=args.baseline,
        accept_loss=args.accept_loss,
        log=args.log,
    )
    if args.cases is not None:
        folder = args.files[0] if len(args.files) == 1 else None
        gate = gate_with_cases(gate, inputs, args.cases, folder, args.systems or ())
    _write(gate, args, inputs.name)
    tables = [gate_table(gate, settings)] if without_cases(gate.checks) or not gate.cases else []
    with until_pipe_closes():
        show_tables([*tables, *([case_table(gate.cases)] if gate.cases else [])], args, terminal)
        show_value_notes(inputs.result, terminal)
    if args.save is not None and not gate.passed:
        terminal.note(not_saved(args.save, gate))
    elif args.save is not None:
        _save(inputs, args, terminal, gate.checks)
    return _ended(gate, terminal)


def _has_requirement(args: argparse.Namespace) -> bool:
    return args.baseline is not None or bool(args.thresholds) or args.cases is not None


def _run_self_test(args: argparse.Namespace, terminal: Terminal) -> int:
    """Shows how often a gate on repeats of the same system fails."""
    from rankproof._analysis.gate.gate import evaluated_measures
    from rankproof._analysis.gate.result import gate_table
    from rankproof._analysis.gate.self_test import self_test
    from rankproof._analysis.inputs import MAIN_MEASURES
    from rankproof._cli.exit_codes import until_pipe_closes

    settings = _settings(args)
    args.measures = evaluated_measures(args.measures or (), None, settings) or None
    inputs = read_input(args, of_answers=True, of_rankings=MAIN_MEASURES)
    gate = self_test(inputs, settings, systems=args.systems or ())
    _write(gate, args, inputs.name)
    with until_pipe_closes():
        show_tables([gate_table(gate, settings)], args, terminal)
        show_value_notes(inputs.result, terminal)
    return _ended(gate, terminal)


def _ended(gate: GateResult, terminal: Terminal) -> int:
    """The exit code; an unsure gate warns."""
    if gate.outcome == "unsure":
        stops = "" if gate.stops else " (--unsure fail stops the build)"
        terminal.say(f"warning: {escape_invisible(gate.verdict)}{stops}")
    return FAILED_EXIT_CODE if gate.stops else 0


def _check(args: argparse.Namespace) -> None:
    needing = (*(() if args.self_test else ("primary",)), "max_drops", "by", "by_file", *(() if args.save else ("accept_loss",)))
    used = [f"--{name.replace('max_drops', 'max_drop').replace('_', '-')}" for name in needing if getattr(args, name)]
    if args.baseline is None and used:
        raise UsageError(f"{used[0]} needs a baseline", fix="specify it with --baseline")
    if args.self_test and any(file is not None for file in (args.baseline, args.save, args.log, args.cases)):
        raise UsageError("--self-test compares a system with itself", fix="leave out --baseline, --save, --log and --cases")
    if not (_has_requirement(args) or args.self_test):
        _check_saves_only(args)
    files = [*args.files, args.by_file, args.queries]
    outputs = [path for path in (args.output, args.junit, args.comment) if path is not None]
    for path in outputs:
        check_output(path, [*files, args.baseline, args.cases])
    check_output(args.save, files)
    if "-" in (args.junit, args.comment) or (args.save == "-" and _has_requirement(args)):
        raise UsageError("standard output holds the table", fix="specify a file for --junit, --comment and --save")
    if len({*outputs, args.save}) < len(outputs) + 1:
        raise UsageError("two outputs have the same name", fix="use a different file for each")


def _check_saves_only(args: argparse.Namespace) -> None:
    if args.save is None:
        fix = "specify --baseline, a bound (--threshold), test cases (--cases), or a file to save the values in (--save)"
        raise UsageError("no requirement", fix=fix)
    if written := [name for name in ("output", "junit", "comment", "log") if getattr(args, name) is not None]:
        what = f"--{written[0]} is for checks, and nothing is checked"
        raise UsageError(what, fix="specify --baseline or --threshold, or leave it out")


def _settings(args: argparse.Namespace) -> GateOptions:
    from rankproof._analysis.gate.rules import GateOptions

    drops = without_repeats("--max-drop", args.max_drops or ())
    return GateOptions.of(thresholds=args.thresholds or (), max_drops=drops, **{name: getattr(args, name) for name in _SETTINGS})


def _baseline(path: str | None) -> Baseline | None:
    from rankproof._analysis.gate.baseline import read_baseline

    if path is None:
        return None
    return read_baseline(path, how_to_save=f"rankproof gate … --save {escape_invisible(shlex.quote(path))}")


def _write(gate: GateResult, args: argparse.Namespace, name: str) -> None:
    from rankproof._io.files import write_blocks
    from rankproof._render.ci import as_comment, as_junit
    from rankproof._results.provenance import utc_now

    if args.junit is not None:
        write_blocks(args.junit, [as_junit(gate, name=f"rankproof gate {name}", made=utc_now()).encode()])
    if args.comment is not None:
        write_blocks(args.comment, [as_comment(gate).encode()])


def _run_save(args: argparse.Namespace, terminal: Terminal) -> int:
    """Evaluates the systems and saves their values."""
    from rankproof._analysis.inputs import MAIN_MEASURES

    inputs = read_input(args, of_answers=True, of_rankings=MAIN_MEASURES)
    show_value_notes(inputs.result, terminal)
    _save(inputs, args, terminal)
    return 0


def _save(inputs: AnalysisInput, args: argparse.Namespace, terminal: Terminal, checks: Sequence[GateCheck] = ()) -> None:
    """Writes the values as the next baseline."""
    from rankproof._analysis.gate.anchor import next_baseline
    from rankproof._analysis.gate.baseline import baseline_json

    baseline, notes = next_baseline(inputs, args.save, args.systems or (), checks, accept_loss=args.accept_loss)
    write_or_show(baseline_json(baseline), args.save, terminal)
    if args.save not in STDOUT:
        for note in notes:
            terminal.note(note)


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run, can_fail=True)
