"""`rankproof correlate`: how much rankings, or orders of systems, agree."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rankproof._cli.flags import add_flags
from rankproof._cli.inputs import add_analysis_options, check_exists, read_input, show_tables
from rankproof._cli.parser import Command
from rankproof._cli.terminal import Terminal, add_details_option, check_output, is_summary_view, show_value_notes
from rankproof.errors import InputError, UsageError

if TYPE_CHECKING:
    from rankproof._data.run import Run
    from rankproof._evaluation.options import EvaluateOptions

USAGE = "RUN RUN… | RESULTS… | QRELS RUN RUN RUN… -m MEASURES [--other-qrels FILE] [options]"
EXAMPLES = """\
examples:
  rankproof correlate bm25.run dense.run                     rankings, query by query
  rankproof correlate results/ --details --format csv -o overlap.csv
  rankproof correlate qrels.txt *.run -m nDCG@10,AP          orders of systems by two measures
  rankproof correlate qrels.txt *.run -m nDCG@10 --other-qrels judge.txt

Without -m and --other-qrels, the inputs are runs, and their rankings are compared. csv has
the values of each query, or of each two orders. Formulas: docs/agreement.md"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the inputs and the settings of rank-biased overlap."""
    from rankproof._api.agreement import correlate

    add_analysis_options(parser, "two or more runs, or results folders; with -m, the judgements and three or more runs")
    group = parser.add_argument_group("agreement")
    add_flags(group, correlate, ("other_qrels", "persistence"))
    add_details_option(group)


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Shows the agreement of rankings or of orders."""
    if args.measures or args.other_qrels:
        return _show_orders(args, terminal)
    from rankproof._analysis.correlate import correlate_rankings
    from rankproof._cli.options import evaluate_options

    if not args.files:
        raise UsageError("no input files", fix="specify two or more runs, or a results folder")
    check_output(args.output, args.files)
    args.rel = 1 if args.rel is None else args.rel
    options = evaluate_options(args, None)
    try:
        tables = correlate_rankings(_runs(args, options), options.read_options, p=args.persistence)
    except InputError as error:
        if "qrels" not in error.what:
            raise
        fix = "leave out the judgements, or pass -m MEASURES to order the systems by them"
        raise InputError(error.what, fix=fix, source=error.source, line=error.line) from None
    if args.format == "csv":
        tables = tables[1:]
    if is_summary_view(args):
        # The sentences have the number of queries, mostly the same for all pairs.
        same = len({row[-1] for row in tables[0].rows}) == 1
        tables = [tables[0].without("n") if same else tables[0]]
    show_tables(tables, args, terminal)
    return 0


def _runs(args: argparse.Namespace, options: EvaluateOptions) -> Mapping[str, Run]:
    """The runs by name, of files or of results folders."""
    from rankproof._evaluation.sources import RunSources
    from rankproof._evaluation.user_forms import name_runs_uniquely
    from rankproof._io.files import is_results_folder

    folders = [path for path in args.files if is_results_folder(path)]
    if not folders:
        return RunSources(name_runs_uniquely(args.files, args.name), options)
    if len(folders) < len(args.files):
        for path in args.files:
            check_exists(path, "specify runs, or results folders")
        raise UsageError("results folders and run files cannot be mixed", fix="specify runs, or results folders")
    from rankproof._api.agreement import named_runs
    from rankproof._results.folder import load_results

    results = [load_results(path) for path in folders]
    names = args.name if len(args.name) == len(results) else [result.name for result in results]
    return named_runs(
        [(name, {run.name: run.run for run in result.system_runs}) for name, result in zip(names, results, strict=True)]
    )


def _show_orders(args: argparse.Namespace, terminal: Terminal) -> int:
    from rankproof._api.agreement import order_tables, read_other_judgements

    inputs = read_input(args, usual=True)
    other = None if args.other_qrels is None else read_other_judgements(args.other_qrels)
    tables = order_tables(inputs, other, args.persistence)
    show_tables(tables[:1] if args.format == "csv" else tables, args, terminal)
    show_value_notes(inputs.result, terminal)
    return 0


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
