"""`rankproof baselines`: compares values with random, simple and best possible rankings."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from rankproof._cli.command import Command
from rankproof._cli.inputs import add_analysis_options, read_input, show_tables
from rankproof._cli.options import DEFAULT_SPLIT, add_corpus_size_option, set_corpus_size
from rankproof._cli.terminal import Terminal
from rankproof.errors import UsageError, for_message

if TYPE_CHECKING:
    from rankproof._analysis.bands import BandProfile
    from rankproof._analysis.inputs import AnalysisInput
    from rankproof._data.dataset import Dataset
    from rankproof._data.ordering import ReadOptions
    from rankproof._data.run import Run
    from rankproof.stages._base import Stage


USAGE = "FOLDER… | QRELS RUN… [--documents N] [--dataset FOLDER] [options]"
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
    group.add_argument("--dataset", metavar="FOLDER", help="run title-only and full-text BM25 on this dataset, or on sample")
    group.add_argument(
        "--split", default=DEFAULT_SPLIT, metavar="NAME", help="the split of the dataset's judgements (default: test)"
    )
    group.add_argument("--bands", metavar="FILE", help="band profiles as TOML, instead of the built-in ones")
    group.add_argument("--profile", action="append", metavar="NAME", help="only this band profile; repeatable (default: all)")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Evaluates the baselines and shows the comparison."""
    from rankproof._analysis.bands import bands_table
    from rankproof._analysis.baselines import baselines, reference_systems

    profiles = _profiles(args)
    inputs = set_corpus_size(read_input(args), args.documents)
    references = reference_systems(inputs)
    if args.dataset is not None:
        inputs, references = add_reference_systems(inputs, references, args)
    measures = list(inputs.result.systems[0].measures) if args.measures else None
    tables = baselines(inputs, measures, references)
    found = [bands_table(inputs, profile, references) for profile in profiles]
    show_tables([*tables, *(table for table in found if table is not None)], args, terminal)
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


def add_reference_systems(
    inputs: AnalysisInput, known: Mapping[str, str], args: argparse.Namespace
) -> tuple[AnalysisInput, dict[str, str]]:
    """The input with title-only and full-text BM25 added if missing, and the names of both."""
    from rankproof._analysis.baselines import FULL_TEXT, TITLE_ONLY
    from rankproof._evaluation.evaluate import evaluate_runs
    from rankproof._evaluation.result import Result
    from rankproof.stages._bm25 import BM25

    dataset = _dataset(inputs, args)
    stages: dict[str, Stage] = {TITLE_ONLY: BM25(fields=("title",)), FULL_TEXT: BM25()}
    missing = {name: stage for name, stage in stages.items() if name not in known}
    for name in missing:
        if name in inputs.systems:
            raise UsageError(f"a system is called {name} already", fix="give it another name with --name")
    inputs = replace(inputs, documents=len(dataset.corpus))
    if not missing:
        return inputs, dict(known)
    runs = {name: _match_reading(run, inputs.read_options) for name, run in _run_stages(missing, dataset, inputs.rel).items()}
    result = evaluate_runs(inputs.qrels, runs, list(inputs.result.systems[0].measures), inputs.options)
    both = Result(inputs.result.queries, (*result.systems, *inputs.result.systems))
    return replace(inputs, result=both, runs={**runs, **inputs.runs}), {**known, **{name: name for name in missing}}


def _dataset(inputs: AnalysisInput, args: argparse.Namespace) -> Dataset:
    """The dataset with the judgements of the input; a dataset that does not match is refused."""
    from rankproof._cli.options import check_same_dataset, read_dataset_or_sample
    from rankproof._data.dataset import Dataset

    path: str = args.dataset
    found = read_dataset_or_sample(path, args.split, args)
    check_same_dataset(found, path, inputs)
    if inputs.documents not in (None, len(found.corpus)):
        what = f"{for_message(path)} has {len(found.corpus)} documents, not {inputs.documents}"
        raise UsageError(what, fix="leave out --documents, or specify another dataset")
    return Dataset(found.name, found.corpus, found.queries, inputs.qrels)


def _run_stages(stages: Mapping[str, Stage], dataset: Dataset, rel: int) -> dict[str, Run]:
    from rankproof._experiment.experiment import Experiment
    from rankproof._experiment.run import RunOptions, run_experiment

    return {
        system_run.name: system_run.run
        for system_run in run_experiment(Experiment(stages, dataset=dataset, rel=rel), RunOptions(cache=None)).system_runs
    }


def _match_reading(run: Run, read_options: ReadOptions) -> Run:
    """The same ranking with ranks, its scores in the direction of the other runs'."""
    from rankproof._data.run import Run
    from rankproof._formats.rows import ranked_rows

    sign = -1.0 if read_options.lower_is_better else 1.0
    rows = (replace(row, score=sign * row.score) for row in ranked_rows(run))
    return Run.from_rows(rows, name=run.name, queries=run.queries)


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
