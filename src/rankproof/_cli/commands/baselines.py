"""`rankproof baselines`: compares values with random, simple and best possible rankings."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rankproof._cli.command import Command
from rankproof._cli.inputs import add_analysis_options, read_input, show_tables
from rankproof._cli.options import DEFAULT_SPLIT, add_corpus_size_option, read_dataset_or_sample
from rankproof._cli.output import show_value_notes
from rankproof._cli.terminal import Terminal
from rankproof.errors import UsageError, for_message

if TYPE_CHECKING:
    from rankproof._analysis.bands import BandProfile


USAGE = "RESULTS… | QRELS RUN… [--documents N] [--dataset FOLDER] [options]"
EXAMPLES = """\
examples:
  rankproof baselines results
  rankproof baselines qrels.txt mine.run --documents 200000 -m nDCG@10,Success@5
  rankproof baselines qrels.txt mine.run --dataset my-folder
  rankproof baselines results --profile tutorial --bands our-bands.toml

random is the expected value of a random ranking of the whole corpus, in closed form. With
--dataset, title-only and full-text BM25 are run on its documents. Bands are named ranges of values,
such as Good. Formulas: docs/baselines.md"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the inputs and the baselines."""
    add_analysis_options(parser)
    group = parser.add_argument_group("baselines")
    add_corpus_size_option(group)
    group.add_argument("--dataset", metavar="SOURCE", help="run title-only and full-text BM25 on this dataset, or on sample")
    group.add_argument(
        "--split", default=DEFAULT_SPLIT, metavar="NAME", help="the split of the dataset's judgements (default: test)"
    )
    group.add_argument("--bands", metavar="FILE", help="band profiles as TOML, instead of the built-in ones")
    group.add_argument("--profile", action="append", metavar="NAME", help="only this band profile; repeatable (default: all)")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Evaluates the baselines and shows the comparison."""
    from rankproof._analysis.inputs import set_corpus_size
    from rankproof._api.baselines import baseline_tables, with_references

    profiles = _profiles(args)
    inputs = set_corpus_size(read_input(args), args.documents)
    dataset = None if args.dataset is None else read_dataset_or_sample(args.dataset, args.split, args, needs=("documents",))
    inputs, references = with_references(inputs, dataset)
    show_tables(baseline_tables(inputs, references, profiles, all_measures=bool(args.measures)), args, terminal)
    show_value_notes(inputs.result, terminal)
    return 0


def _profiles(args: argparse.Namespace) -> list[BandProfile]:
    from rankproof._cli.options import known_profiles, read_profiles

    profiles = known_profiles() if args.bands is None else read_profiles(args.bands)
    for name in args.profile or ():
        if name not in profiles:
            raise UsageError(
                f"no profile is called {for_message(name)}", fix=f"choose from: {', '.join(map(for_message, profiles))}"
            )
    return [profile for name, profile in profiles.items() if not args.profile or name in args.profile]


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
