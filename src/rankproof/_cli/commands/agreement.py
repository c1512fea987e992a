"""`rankproof agreement`: how far people, and machines that judge, agree."""

from __future__ import annotations

import argparse

from rankproof._cli.inputs import show_tables
from rankproof._cli.parser import Command
from rankproof._cli.terminal import (
    Terminal,
    add_details_option,
    add_format_option,
    add_table_file_option,
    check_output,
    is_summary_view,
    summary_tables,
)

USAGE = "JUDGEMENTS… [--details] [--format FORMAT] [-o FILE]"
EXAMPLES = """\
examples:
  rankproof agreement results.people.qrels                 the people who judged in the browser
  rankproof agreement ann.qrels bob.qrels carl.qrels       a file for each person
  rankproof agreement results.people.qrels llm.qrels       and how far a language model agrees
  rankproof agreement april/ may/                          one judge at two dates, on the same answers
  rankproof agreement results.people.qrels --format json

A file that rankproof serve wrote has the people of its log, FILE.log.jsonl. In other files, the
judgements of people are one rater, and each label of a machine judge is another one. Formulas and
what is good enough: docs/agreement.md"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the files and the output."""
    parser.add_argument(
        "files",
        nargs="+",
        metavar="JUDGEMENTS",
        help="files of judgements, of people or with labels of machines; or results folders with answers",
    )
    group = parser.add_argument_group("output")
    add_format_option(group)
    add_table_file_option(group)
    add_details_option(group)


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Shows the agreement, of each two raters too, and the pairs on which they differ."""
    from rankproof._api.judges import agreement

    check_output(args.output, args.files)
    tables = list(agreement(args.files).tables)
    show_tables(summary_tables(tables) if is_summary_view(args) else tables, args, terminal)
    return 0


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
