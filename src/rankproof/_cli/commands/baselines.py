"""`rankproof baselines`: compares values with random, simple and best possible rankings."""

from __future__ import annotations

import argparse

from rankproof._cli.flags import add_flags
from rankproof._cli.inputs import add_analysis_options, read_input, show_tables
from rankproof._cli.options import (
    DEFAULT_SPLIT,
    read_dataset_or_sample,
)
from rankproof._cli.parser import Command
from rankproof._cli.terminal import Terminal, add_details_option, is_summary_view, show_value_notes, summary_tables

USAGE = "RESULTS… | QRELS RUN… [--documents N] [--dataset FOLDER] [options]"
EXAMPLES = """\
examples:
  rankproof baselines results
  rankproof baselines qrels.txt mine.run --documents 200000 -m nDCG@10,Success@5
  rankproof baselines qrels.txt mine.run --dataset my-folder
  rankproof baselines results --profile tutorial --bands our-bands.toml

random is the expected value of a random ranking of the whole corpus, in closed form. With
--dataset, title-only and full-text BM25 are run on its documents. Bands are named ranges of values,
such as Good. --details shows every measure, what each band means and what to do next.
Formulas: docs/baselines.md"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the inputs and the baselines."""
    from rankproof._api.baselines import baselines

    add_analysis_options(parser)
    group = parser.add_argument_group("baselines")
    add_flags(group, baselines, ("documents", "bands", "profile"))
    group.add_argument("--dataset", metavar="SOURCE", help="run title-only and full-text BM25 on this dataset, or on sample")
    group.add_argument(
        "--split", default=DEFAULT_SPLIT, metavar="NAME", help="the split of the dataset's judgements (default: test)"
    )
    add_details_option(group)


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Evaluates the baselines and shows the comparison."""
    from rankproof._analysis.bands import requested_profiles
    from rankproof._analysis.inputs import set_corpus_size
    from rankproof._api.baselines import baseline_tables, with_references

    profiles = requested_profiles(args.bands, args.profile)
    inputs = set_corpus_size(read_input(args), args.documents)
    dataset = None if args.dataset is None else read_dataset_or_sample(args.dataset, args.split, args, needs=("documents",))
    inputs, references = with_references(inputs, dataset)
    tables = baseline_tables(inputs, references, profiles, all_measures=bool(args.measures))
    show_tables(summary_tables(tables) if is_summary_view(args) else tables, args, terminal)
    show_value_notes(inputs.result, terminal)
    return 0


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
