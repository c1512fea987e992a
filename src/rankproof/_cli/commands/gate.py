"""`rankproof gate`: whether a change may pass."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rankproof._cli.command import Command
from rankproof._cli.inputs import MAIN_MEASURES, add_analysis_options, add_input_options, read_input, show_tables
from rankproof._cli.options import add_sampling_options, add_segment_options, requested_groupings
from rankproof._cli.output import check_output, write_or_show
from rankproof._cli.terminal import STDOUT, Terminal
from rankproof.errors import UsageError

if TYPE_CHECKING:
    from rankproof._analysis.gate.baseline import Baseline
    from rankproof._analysis.gate.gate import GateResult
    from rankproof._analysis.gate.rules import GateOptions


_GATE_USAGE = "RESULTS | QRELS RUN… --baseline FILE [--threshold T]… [options]"
_GATE_EXAMPLES = """\
examples:
  rankproof gate results --baseline baseline.json
  rankproof gate results --baseline baseline.json --threshold "nDCG@10>=0.45" --by category
  rankproof gate results --baseline baseline.json --max-drop nDCG@10=0.02 --system hybrid
  rankproof gate qrels.txt new.run --baseline baseline.json --junit gate.xml --comment gate.md

fails (exit code 3) on a significant drop, in whole or in a segment, on a missed threshold, and on
queries that went missing; a drop that chance may explain passes. Where --max-drop names a measure,
its drop in whole is measured against that instead, significant or not. With so few queries that no
drop could be significant it fails too: take more, or use --max-drop. See rankproof save-baseline"""
FAILED_EXIT_CODE = 3


def _add_gate_arguments(parser: argparse.ArgumentParser) -> None:
    """The inputs of every analysis, and what must hold."""
    add_analysis_options(parser)
    group = parser.add_argument_group("what must hold")
    group.add_argument("--baseline", metavar="FILE", help="what `rankproof save-baseline` wrote")
    group.add_argument("--threshold", action="append", default=[], metavar="T", help="a bound, as nDCG@10>=0.45; repeatable")
    group.add_argument("--max-drop", action="append", default=[], metavar="M=D", help="how much M may lose, as nDCG@10=0.02")
    group.add_argument("--system", action="append", default=[], metavar="NAME", help="this system only, repeatable (all)")
    add_sampling_options(group, samples=100_000, of="flips")
    add_segment_options(parser.add_argument_group("segments that must hold too"))
    also = parser.add_argument_group("what else to write")
    also.add_argument("--junit", metavar="FILE", help="the decisions as JUnit XML")
    also.add_argument("--comment", metavar="FILE", help="the decisions as a Markdown comment")


def _run_gate(args: argparse.Namespace, terminal: Terminal) -> int:
    """Evaluates, decides, shows."""
    from rankproof._analysis.gate.gate import decide, gate_table

    _check(args)
    settings, baseline = _settings(args), _baseline(args.baseline)
    args.measures = _measures(args, settings, baseline)
    inputs = read_input(args)
    segments = requested_groupings(inputs, args) if args.by or args.by_file else ()
    gate = decide(inputs, baseline, settings, systems=args.system, groupings=segments)
    _write(gate, args, inputs.name)
    show_tables([gate_table(gate, settings)], args, terminal)
    return 0 if gate.passed else FAILED_EXIT_CODE


def _check(args: argparse.Namespace) -> None:
    if args.baseline is None and not args.threshold:
        raise UsageError("nothing to hold", fix="name a baseline (--baseline), or a bound (--threshold)")
    if args.baseline is None and (args.by or args.by_file or args.max_drop):
        raise UsageError("a drop is one against a baseline", fix="name it with --baseline")
    written = [path for path in (args.output, args.junit, args.comment) if path is not None]
    for path in written:
        check_output(path, [*args.files, args.baseline, args.by_file, args.queries])
    if "-" in (args.junit, args.comment):
        raise UsageError("standard output holds the table", fix="name a file for JUnit XML and for the comment")
    if len(set(written)) < len(written):
        raise UsageError("two outputs have the same name", fix="name each file once")


def _settings(args: argparse.Namespace) -> GateOptions:
    from rankproof._analysis.gate.rules import GateOptions, max_drop_of, threshold_of

    return GateOptions(
        thresholds=tuple(map(threshold_of, args.threshold)),
        max_drops=dict(map(max_drop_of, args.max_drop)),
        alpha=args.alpha,
        samples=args.samples,
        seed=args.seed,
    )


def _baseline(path: str | None) -> Baseline | None:
    from rankproof._analysis.gate.baseline import parse_baseline
    from rankproof._io.open import decode_line, open_source, read_all_bytes

    if path is None:
        return None
    return parse_baseline(decode_line(read_all_bytes(open_source(path)), 1, path), path)


def _measures(args: argparse.Namespace, settings: GateOptions, baseline: Baseline | None) -> list[str]:
    """Those asked for, else the baseline's, and those of the thresholds."""
    asked = args.measures or (list(baseline.measures) if baseline else [])
    return [*asked, *(threshold.measure for threshold in settings.thresholds)]


def _write(gate: GateResult, args: argparse.Namespace, name: str) -> None:
    from rankproof._io.files import write_blocks
    from rankproof._render.ci import as_comment, as_junit
    from rankproof._results.provenance import utc_now

    if args.junit is not None:
        write_blocks(args.junit, [as_junit(gate, name=f"rankproof gate {name}", made=utc_now()).encode()])
    if args.comment is not None:
        write_blocks(args.comment, [as_comment(gate).encode()])


_SAVE_USAGE = "RESULTS | QRELS RUN… -o FILE [--system NAME] [-m MEASURES] [options]"
_SAVE_EXAMPLES = """\
examples:
  rankproof save-baseline results -o baseline.json
  rankproof save-baseline results -o baseline.json --system hybrid -m nDCG@10,RR@10
  rankproof save-baseline qrels.txt bm25.run -o baseline.json

without -m: nDCG@10, RR@10 and R@100. Every measure is one more test of the gate, and its p-values
are raised for their number: bless what you care about. Keep the file beside your code"""


def _add_save_arguments(parser: argparse.ArgumentParser) -> None:
    """The files, the measures, what counts, and where to write."""
    group = add_input_options(parser, "what to bless")
    group.add_argument("-o", "--output", metavar="FILE", help="the baseline to write; - is standard output")
    group.add_argument("--system", action="append", default=[], metavar="NAME", help="this system only, repeatable (all)")


def _run_save(args: argparse.Namespace, terminal: Terminal) -> int:
    """Evaluates and writes."""
    from rankproof._analysis.gate.baseline import baseline_json, make_baseline
    from rankproof._data.text import pluralise
    from rankproof._results.provenance import utc_now
    from rankproof._version import __version__

    if args.output is None:
        raise UsageError("the baseline has no name", fix="say where to write it: -o baseline.json")
    args.measures = args.measures or MAIN_MEASURES
    inputs = read_input(args)
    baseline = make_baseline(inputs, version=__version__, made=utc_now(), systems=args.system)
    write_or_show(baseline_json(baseline), args.output, terminal)
    if args.output in STDOUT:
        return 0
    for system in baseline.systems:
        if system.missing:
            lacks = pluralise(len(system.missing), "judged query", "judged queries")
            terminal.note(f"{system.name} lacks {lacks}, and may go on so")
    systems = ", ".join(system.name for system in baseline.systems)
    queries = pluralise(len(inputs.result.queries), "query", "queries")
    terminal.note(f"{args.output}: blessed {systems} with {', '.join(baseline.measures)} on {queries}")
    return 0


GATE = Command(usage=_GATE_USAGE, examples=_GATE_EXAMPLES, add_arguments=_add_gate_arguments, run=_run_gate, can_fail=True)
SAVE_BASELINE = Command(usage=_SAVE_USAGE, examples=_SAVE_EXAMPLES, add_arguments=_add_save_arguments, run=_run_save)
