"""`rankproof gate` and `rankproof save-baseline`: tests new values against saved ones."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rankproof._cli.command import Command
from rankproof._cli.inputs import (
    add_analysis_options,
    add_dataset_options,
    add_input_options,
    read_input,
    read_input_with_texts,
    show_tables,
)
from rankproof._cli.options import add_sampling_options, add_segment_options, requested_groupings, without_repeats
from rankproof._cli.output import check_output, show_value_notes, write_or_show
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

The gate fails (exit code 3) on a significant drop of the primary measure, overall or in a segment,
on a missed threshold, and on missing queries. A drop that is not significant passes, and so does
that of another measure. For the measures of --max-drop the size of the overall drop decides. With
too few queries for any significant drop the gate fails too: add queries, or use --max-drop. It
prints the decision: which system to ship. See rankproof save-baseline"""
FAILED_EXIT_CODE = 3


def _add_gate_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the inputs, the baseline and the thresholds."""
    add_analysis_options(parser)
    group = parser.add_argument_group("requirements")
    group.add_argument("--baseline", metavar="FILE", help="a file written by rankproof save-baseline")
    group.add_argument("--primary", metavar="M", help="the measure whose drop fails the gate (default: nDCG@10)")
    group.add_argument("--threshold", action="append", default=[], metavar="T", help="a bound, such as nDCG@10>=0.45; repeatable")
    group.add_argument(
        "--max-drop", action="append", default=[], metavar="M=D", help="the largest allowed drop, such as nDCG@10=0.02"
    )
    group.add_argument(
        "--system", action="append", default=[], metavar="NAME", help="only this system; repeatable (default: all)"
    )
    add_sampling_options(group, samples=100_000, of="sign flips")
    segments = parser.add_argument_group("segments")
    add_segment_options(segments)
    add_dataset_options(segments)
    also = parser.add_argument_group("further output")
    also.add_argument("--junit", metavar="FILE", help="also write the checks as JUnit XML")
    also.add_argument("--comment", metavar="FILE", help="also write the checks as a Markdown comment")


def _run_gate(args: argparse.Namespace, terminal: Terminal) -> int:
    """Evaluates the systems and shows whether they pass."""
    from rankproof._analysis.gate.gate import gate_table, run_gate

    _check(args)
    settings, baseline = _settings(args), _baseline(args.baseline)
    args.measures = _measures(args, settings, baseline)
    inputs = read_input_with_texts(args)
    segments = requested_groupings(inputs, args) if args.by or args.by_file else ()
    gate = run_gate(inputs, baseline, settings, systems=args.system, groupings=segments)
    _write(gate, args, inputs.name)
    show_tables([gate_table(gate, settings)], args, terminal)
    show_value_notes(inputs.result, terminal)
    return 0 if gate.passed else FAILED_EXIT_CODE


def _check(args: argparse.Namespace) -> None:
    needing = {"--primary": args.primary, "--max-drop": args.max_drop, "--by": args.by, "--by-file": args.by_file}
    used = [option for option, value in needing.items() if value]
    if args.baseline is None and used:
        raise UsageError(f"{used[0]} needs a baseline", fix="specify it with --baseline")
    if args.baseline is None and not args.threshold:
        raise UsageError("no requirement", fix="specify a baseline (--baseline) or a bound (--threshold)")
    written = [path for path in (args.output, args.junit, args.comment) if path is not None]
    for path in written:
        check_output(path, [*args.files, args.baseline, args.by_file, args.queries])
    if "-" in (args.junit, args.comment):
        raise UsageError("standard output holds the table", fix="specify a file for --junit and --comment")
    if len(set(written)) < len(written):
        raise UsageError("two outputs have the same name", fix="use a different file for each")


def _settings(args: argparse.Namespace) -> GateOptions:
    from rankproof._analysis.gate.rules import GateOptions, max_drop_of, threshold_of
    from rankproof.measures._parse import parse_measure

    return GateOptions(
        thresholds=tuple(map(threshold_of, args.threshold)),
        max_drops=without_repeats("--max-drop", list(map(max_drop_of, args.max_drop))),
        primary=None if args.primary is None else str(parse_measure(args.primary)),
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
    """The measures of -m, else of the baseline, and those of the thresholds."""
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

Without -m: nDCG@10, RR@10 and R@100. Only the primary measure can fail the gate; the others are
exploratory. Keep the file in your repository"""


def _add_save_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the inputs and the output."""
    group = add_input_options(parser, "baseline")
    group.add_argument("-o", "--output", metavar="FILE", help="the file to write; - is standard output")
    group.add_argument(
        "--system", action="append", default=[], metavar="NAME", help="only this system; repeatable (default: all)"
    )


def _run_save(args: argparse.Namespace, terminal: Terminal) -> int:
    """Evaluates the systems and writes the baseline."""
    from rankproof._analysis.gate.baseline import baseline_json, make_baseline
    from rankproof._analysis.inputs import MAIN_MEASURES
    from rankproof._data.text import pluralise
    from rankproof._results.provenance import utc_now
    from rankproof._version import __version__

    if args.output is None:
        raise UsageError("no output file", fix="specify one: -o baseline.json")
    args.measures = args.measures or list(MAIN_MEASURES)
    inputs = read_input(args)
    baseline = make_baseline(inputs, version=__version__, made=utc_now(), systems=args.system)
    write_or_show(baseline_json(baseline), args.output, terminal)
    show_value_notes(inputs.result, terminal)
    if args.output in STDOUT:
        return 0
    for system in baseline.systems:
        if system.missing:
            missing = pluralise(len(system.missing), "judged query", "judged queries")
            terminal.note(f"{system.name} has no results for {missing}; the gate accepts that")
    systems = ", ".join(system.name for system in baseline.systems)
    queries = pluralise(len(inputs.result.queries), "query", "queries")
    terminal.note(f"{args.output}: saved {systems} with {', '.join(baseline.measures)} on {queries}")
    return 0


GATE = Command(usage=_GATE_USAGE, examples=_GATE_EXAMPLES, add_arguments=_add_gate_arguments, run=_run_gate, can_fail=True)
SAVE_BASELINE = Command(usage=_SAVE_USAGE, examples=_SAVE_EXAMPLES, add_arguments=_add_save_arguments, run=_run_save)
