"""`rankproof segments`: finds groups of queries on which a system is significantly weaker."""

from __future__ import annotations

import argparse

from rankproof._cli.flags import add_flags, add_option, values_of
from rankproof._cli.inputs import add_analysis_options, add_dataset_options, read_input_with_texts, show_tables
from rankproof._cli.options import add_segment_options, requested_groupings
from rankproof._cli.parser import Command
from rankproof._cli.terminal import Terminal, add_details_option, is_summary_view, show_value_notes, summary_tables
from rankproof._data.validation import BANDS, PROFILE

USAGE = "RESULTS… | QRELS RUN… [--by FIELD] [-m MEASURES] [options]"
EXAMPLES = """\
examples:
  rankproof segments results --by category --by length
  rankproof segments results --by complexity -m nDCG@10,Success@5
  rankproof segments qrels.txt bm25.run dense.run --by relevant
  rankproof segments qrels.txt bm25.run dense.run --dataset data/shop --by category
  rankproof segments qrels.txt bm25.run --by-file segments.csv --format markdown

length: short is under 8 words, medium 8 to 15, long over 15. complexity: the field of the queries,
else constraints counted in the English text. Queries without a value of the field form a segment of
their own. A segment of fewer than 10 queries is shown but not tested. Measures with bands, such as
Success@5, also get a band and a rating (good, weak, failing) for each segment.
The default shows the segments that differ significantly from the rest, and the lowest values; --details
shows every segment of each system. csv is one table with a row for each segment of each system"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the inputs, the segments and the statistics."""
    from rankproof._analysis.options import SegmentOptions

    add_analysis_options(parser)
    group = parser.add_argument_group("segments")
    add_segment_options(group)
    add_dataset_options(group)
    add_option(group, "bands", BANDS)
    add_option(group, "profile", PROFILE)
    add_details_option(group)
    add_flags(parser.add_argument_group("statistics"), SegmentOptions)


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Groups the queries, tests the segments and shows them."""
    from rankproof._analysis.bands import requested_profiles
    from rankproof._analysis.options import SegmentOptions
    from rankproof._analysis.segments import flat_segments_table, segment_findings, segments

    settings = SegmentOptions(**values_of(args, SegmentOptions))
    all_measures = bool(args.measures)
    profiles = requested_profiles(args.bands, args.profile) if args.bands or args.profile else None
    inputs = read_input_with_texts(args, of_answers=True)
    measures = list(inputs.result.systems[0].measures)
    tables = [
        table
        for grouping in requested_groupings(inputs, args)
        for measure in (measures if all_measures else measures[:1])
        for table in segments(inputs, grouping, measure, settings, profiles)
    ]
    if args.format == "csv":
        tables = [flat_segments_table(tables)]
    elif args.format != "json":
        findings = segment_findings(tables)
        tables = [table.without("system") if "system" in table.facts else table for table in tables]
        tables = summary_tables([findings, *tables]) if is_summary_view(args) else tables
    show_tables(tables, args, terminal)
    show_value_notes(inputs.result, terminal)
    return 0


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
