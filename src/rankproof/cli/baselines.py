"""`rankproof baselines`: every value beside chance, the simplest search, the best order of its pool, and bands."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..errors import UsageError, shown
from .corpus_size import add_documents, with_documents
from .dataset import SPLIT
from .evidence import add_inputs, evidence_of, show_tables
from .terminal import Terminal

if TYPE_CHECKING:
    from ..analysis.bands.bands import Profile

USAGE = "FOLDER… | QRELS RUN… [--documents N] [--dataset FOLDER] [options]"
EXAMPLES = """\
examples:
  rankproof baselines results
  rankproof baselines qrels.txt mine.run --documents 200000 -m nDCG@10,Success@5
  rankproof baselines qrels.txt mine.run --dataset my-folder
  rankproof baselines results --profile tutorial --bands our-bands.toml

random is the expected value of a random ranking of the whole corpus, in closed form; with
--dataset, title-only and full-text BM25 are run on its documents; bands (named ranges of values,
such as Good) are shown by this verb alone; formulas: docs/baselines.md"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to look at, and what to hold it against."""
    add_inputs(parser)
    group = parser.add_argument_group("what to compare with")
    add_documents(group)
    group.add_argument("--dataset", metavar="FOLDER", help="run title-only and full-text BM25 on this dataset; or: sample")
    group.add_argument("--split", default=SPLIT, metavar="NAME", help="the dataset's file of judgements (test)")
    group.add_argument("--bands", metavar="FILE", help="profiles of your own, as TOML, instead of the built-in ones")
    group.add_argument("--profile", action="append", metavar="NAME", help="only this profile of bands; repeatable (all)")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Compares and tells."""
    from ..analysis.bands.table import bands_table
    from ..analysis.baselines.references import references_of
    from ..analysis.baselines.tables import baselines

    profiles = _profiles(args)
    evidence = with_documents(evidence_of(args), args.documents)
    references = references_of(evidence)
    if args.dataset is not None:
        from .baselines_dataset import with_references

        evidence, references = with_references(evidence, references, args.dataset, args.split)
    measures = list(evidence.result.systems[0].measures) if args.measures else None
    tables = baselines(evidence, measures, references)
    found = [bands_table(evidence, profile, references) for profile in profiles]
    show_tables([*tables, *(table for table in found if table is not None)], args, terminal)
    return 0


def _profiles(args: argparse.Namespace) -> list[Profile]:
    from .profiles import known_profiles, profiles_in

    profiles = known_profiles() if args.bands is None else profiles_in(args.bands)
    for name in args.profile or ():
        if name not in profiles:
            raise UsageError(f"no profile is called {shown(name)}", fix=f"choose from: {', '.join(map(shown, profiles))}")
    return [profile for name, profile in profiles.items() if not args.profile or name in args.profile]
