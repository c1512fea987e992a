"""`rankproof diagnose`: finds weak systems, stages and query groups, and lists failed queries."""

from __future__ import annotations

import argparse

from rankproof._cli.flags import add_flags
from rankproof._cli.inputs import add_analysis_options, add_dataset_options, read_input_with_texts, show_tables
from rankproof._cli.options import add_segment_options, requested_groupings
from rankproof._cli.parser import Command
from rankproof._cli.terminal import Terminal, add_details_option, is_summary_view, show_value_notes, summary_tables

USAGE = "RESULTS… | QRELS RUN… [--by FIELD] [--system NAME] [options]"
EXAMPLES = """\
examples:
  rankproof diagnose results
  rankproof diagnose results --by complexity --system bm25 --failed 20
  rankproof diagnose qrels.txt bm25.run --documents 200000
  rankproof diagnose results --format json > diagnosis.json

The default is a summary. --by adds segments; --details and the other formats have segments and all
rows and columns. A system is compared with the one it builds on, else with the baseline:
bm25, else the first.
The rules, their thresholds and sources are in docs/diagnosis.md"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the inputs, the segments and the level of detail."""
    from rankproof._api.analyses import diagnose

    add_analysis_options(parser)
    segments = parser.add_argument_group("segments")
    add_segment_options(segments)
    add_dataset_options(segments)
    group = parser.add_argument_group("detail")
    add_flags(group, diagnose, ("system", "failed", "top", "documents"), failed=None)
    group.add_argument(
        "--rules", action="store_true", help="show the rules and the systems to which each applies, as JSON and CSV do"
    )
    add_details_option(group)


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Diagnoses the systems and shows the findings."""
    from rankproof._analysis.diagnose.diagnose import FEW_SHOWN, SHOWN, diagnose
    from rankproof._analysis.inputs import checked_system, set_corpus_size
    from rankproof._analysis.run_files import with_system_runs

    inputs = with_system_runs(set_corpus_size(read_input_with_texts(args), args.documents))
    system = None if args.system is None else checked_system(inputs, args.system)
    first, rules = is_summary_view(args), args.rules or args.format in ("json", "csv")
    groups = [] if first and not (args.by or args.by_file) else list(requested_groupings(inputs, args))
    most = args.failed if args.failed is not None else FEW_SHOWN if first else SHOWN
    tables = diagnose(inputs, groups, system=system, cutoff=args.top, most=most, rules=rules)
    show_tables(summary_tables(tables) if first else tables, args, terminal)
    show_value_notes(inputs.result, terminal)
    return 0


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
