"""`rankproof compare`: which system to choose, and which differences between systems are significant."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rankproof._cli.flags import add_flags, add_option, values_of
from rankproof._cli.inputs import (
    INPUTS_HELP,
    add_analysis_options,
    add_dataset_options,
    are_answer_measures,
    read_input_with_texts,
)
from rankproof._cli.options import add_decision_options, add_segment_options, decision_options, look_log, requested_groupings
from rankproof._cli.parser import Command
from rankproof._cli.terminal import STDOUT, Terminal, machine_judgement_notes, write_or_show
from rankproof._data.validation import LABELS, LOG

if TYPE_CHECKING:
    from rankproof._analysis.compare.comparison import Comparison
    from rankproof._analysis.inputs import AnalysisInput
    from rankproof._statistics.options import Looks
    from rankproof.measures._base import Measure
    from rankproof.measures._parse import MeasureLike

USAGE = "QRELS RUN RUN… | RESULTS… | LOG… [--primary MEASURE] [-m MEASURES] [options]"
EXAMPLES = """\
examples:
  rankproof compare qrels.txt bm25.run dense.run hybrid.run
  rankproof compare results/ --primary RR@10 --margin 0.01
  rankproof compare old-results/ new-results/ --details
  rankproof compare results/ --cost bm25=1 --cost dense=4
  rankproof compare results/ --by category --baseline bm25
  rankproof compare results/ --format latex -o table.tex
  rankproof compare results/ --format csv -o every-number.csv

One measure decides: that of --primary, else the first of -m. Other measures are
exploratory. Without -m: nDCG@10, RR@10 and R@100. json has the decision and every table, csv only the
table of all numbers. --by shows in which segments the chosen system, or each system against
--baseline, is worse. How the decision is made: docs/decision.md"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the inputs and the statistics."""
    from rankproof._analysis.options import CompareOptions

    add_analysis_options(parser, f"{INPUTS_HELP}; with -m of answer measures also RAG logs")
    decision = parser.add_argument_group("decision")
    add_decision_options(decision, primary="the first of -m, else nDCG@10")
    add_option(decision, "log", LOG)
    segments = parser.add_argument_group("segments: in which queries is a system worse?")
    add_segment_options(segments)
    add_dataset_options(segments)
    add_option(decision, "labels", LABELS)
    group = parser.add_argument_group("statistics")
    add_flags(group, CompareOptions)
    group.add_argument("--details", action="store_true", help="also show every pair, significance letters and all numbers")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Evaluates and compares the systems."""
    from dataclasses import replace

    from rankproof._analysis.compare.joined_values import deciding_measure
    from rankproof._analysis.inputs import named_measure
    from rankproof._evaluation.notes import MAX_NOTED_SYSTEMS, value_notes

    named, primary = args.measures, [args.primary] if args.primary else []
    args.measures = [*named, *primary] if named else None
    first, why = deciding_measure(named) if named and not primary else (None, ())
    args.primary = args.primary if first is None else _as_written(first, named)
    inputs = read_input_with_texts(args, also=primary, usual=True)
    if named is None and args.primary is None:
        args.primary = inputs.decision_settings.primary
    elif args.primary is not None:
        args.primary = str(named_measure(inputs, args.primary))
    comparison = _compare(inputs, args)
    every = args.details or args.format == "json"
    about_values = value_notes(inputs.result.systems, None if every else MAX_NOTED_SYSTEMS)
    notes = [*why, *about_values, *comparison.notes, *machine_judgement_notes(inputs.result)]
    documented = replace(comparison, notes=tuple(notes)) if args.format == "json" else comparison
    write_or_show(_text(documented, args, terminal), args.output, terminal)
    terminal.notes(notes)
    return 0


def _as_written(measure: Measure, named: list[str]) -> MeasureLike:
    """The measure as the command names it: without a judge, if it names none."""
    if measure.kind != "answer":
        return measure
    from rankproof.measures._claim_base import as_written

    return as_written(measure, named)


def _compare(inputs: AnalysisInput, args: argparse.Namespace) -> Comparison:
    from rankproof._analysis.compare.comparison import compare_inputs
    from rankproof._analysis.compare.joined_values import join_systems
    from rankproof._analysis.options import CompareOptions

    options = CompareOptions(**values_of(args, CompareOptions))
    if len(inputs.systems) < 2 or not are_answer_measures(list(inputs.result.systems[0].measures)):
        join_systems(inputs.result)
    groupings = list(requested_groupings(inputs, args)) if args.by or args.by_file else []
    settings = decision_options(args)
    looks_option = settings.pop("looks")

    def compared(looks: Looks | None) -> Comparison:
        return compare_inputs(inputs, options=options, groupings=groupings, labels=args.labels, looks=looks, **settings)

    path = look_log(args)
    if path is None:
        return compared(looks_option)
    from rankproof._analysis.compare.look_log import logged_comparison

    return logged_comparison(compared, inputs, path, looks_option)


def _text(comparison: Comparison, args: argparse.Namespace, terminal: Terminal) -> str:
    """The comparison in the chosen format."""
    from rankproof._render.comparison import comparison_json, render_comparison, shown_tables
    from rankproof._render.table import TABLE_RENDERERS

    options = terminal.render_options(to_file=args.output not in STDOUT)
    if args.format == "table":
        return render_comparison(comparison, options, details=args.details)
    if args.format == "json":
        return comparison_json(comparison)
    return TABLE_RENDERERS[args.format](shown_tables(comparison, args.format, details=args.details), options)


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
