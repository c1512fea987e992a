"""Options that several commands share."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from rankproof._cli.flags import add_flag, add_flags, add_option, judgement_options, query_ids, settings_by_name, values_of
from rankproof._cli.terminal import add_measures_option, add_name_option, add_table_file_option
from rankproof._data.validation import BY
from rankproof._evaluation.options import EvaluateArguments, ReadArguments
from rankproof._render.formats import RESULT_FORMATS
from rankproof.errors import InputError, UsageError, for_message

if TYPE_CHECKING:
    from rankproof._analysis.bands import BandProfile
    from rankproof._analysis.inputs import AnalysisInput
    from rankproof._analysis.query_groups import Grouping
    from rankproof._data.dataset import Dataset, DatasetPart
    from rankproof._evaluation.options import EvaluateOptions, ProgressCallback


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the files and options of `eval`; one-letter options mean the same as in trec_eval."""
    parser.set_defaults(parser=parser)
    parser.add_argument("files", nargs="*", metavar="FILE", help="the judgements, then one or more runs; - is standard input")
    _add_output(parser.add_argument_group("output"))
    add_reading_options(parser)


def _add_output(group: argparse._ArgumentGroup) -> None:
    add_measures_option(group)
    group.add_argument("-q", "--per-query", action="store_true", help="also show the value of every query")
    group.add_argument("-n", "--no-summary", action="store_true", help="leave out the summaries; needs --format trec")
    group.add_argument(
        "--format", choices=RESULT_FORMATS, default="table", metavar="FORMAT", help="output format (table): %(choices)s"
    )
    add_table_file_option(group)
    add_name_option(group, "the name of a system, once for each run")
    group.add_argument("--sample", action="store_true", help="evaluate the built-in sample")


_Value = TypeVar("_Value", float, str)
_RELEVANCE = ("rel", "depth", "judged_only", "queries", "skip_missing", "weights", "order", "lower_is_better", "on_duplicate")
_FILES = ("qrels_format", "run_format", "delimiter", "encoding", "grade_map", "on_conflict", "threads")


def add_reading_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options on how judgements and rankings are read and measured."""
    group = parser.add_argument_group("relevance and ranking")
    add_flags(group, ReadArguments, (*_RELEVANCE, "compat"))
    group.add_argument("-c", action="store_true", help=argparse.SUPPRESS)
    add_flags(parser.add_argument_group("input files"), ReadArguments, _FILES)


def evaluate_options(args: argparse.Namespace, progress: ProgressCallback | None) -> EvaluateOptions:
    """The options of an evaluation."""
    from rankproof._evaluation.options import make_evaluate_options

    if args.c and args.skip_missing:
        raise UsageError("-c and --skip-missing contradict each other", fix="leave out one of them")
    arguments = values_of(args, ReadArguments)
    if args.queries is not None:
        arguments["queries"] = query_ids(args.queries, args.encoding)
    return make_evaluate_options(cast(EvaluateArguments, arguments), progress=progress, primary=getattr(args, "primary", None))


def add_decision_options(group: argparse._ArgumentGroup, *, primary: str = "", of_rankings: bool = True) -> None:
    """Adds the options of the decision which system to choose; `primary` says which measure decides by default.

    Without `of_rankings` there are no unjudged documents, and no option for them.
    """
    from rankproof._results.decision_settings import DecisionSettings

    for name, setting in settings_by_name(DecisionSettings).items():
        if name == "primary" and primary:
            add_option(group, name, setting.option._replace(unset=primary))
        elif name != "judgements" or of_rankings:
            add_flag(group, setting, default=None)


def look_log(args: argparse.Namespace) -> str | None:
    """The log of looks: that of --log, else of the one results folder; None if there is neither."""
    from rankproof._io.files import is_results_folder
    from rankproof._results.result_json import LOOKS_FILE

    if args.log is not None:
        return str(args.log)
    folder = args.files[0] if len(args.files) == 1 and is_results_folder(args.files[0]) else None
    return None if folder is None else os.path.join(folder, LOOKS_FILE)


def without_repeats(option: str, pairs: Sequence[tuple[str, _Value]]) -> dict[str, _Value]:
    """The numbers or texts by name; a name that an option repeats is an error."""
    values: dict[str, _Value] = {}
    for name, value in pairs:
        if name in values:
            texts = (for_message(text if isinstance(text, str) else f"{text:g}") for text in (values[name], value))
            raise UsageError(f"{option} is given twice for {for_message(name)} ({' and '.join(texts)})", fix="give it once")
        values[name] = value
    return values


def decision_options(args: argparse.Namespace) -> dict[str, Any]:
    """The arguments of `compare_inputs` for these options."""
    from rankproof._results.decision_settings import DecisionSettings

    return values_of(args, DecisionSettings) | {"costs": None if args.costs is None else without_repeats("--cost", args.costs)}


DEFAULT_SPLIT = "test"


def is_sample(path: str) -> bool:
    """Whether the path names the built-in dataset."""
    from rankproof._formats.detect import SAMPLE

    return path == SAMPLE


def read_dataset_or_sample(
    path: str,
    split: str = DEFAULT_SPLIT,
    args: argparse.Namespace | None = None,
    *,
    needs: Sequence[DatasetPart] = ("documents", "judgements"),
) -> Dataset:
    """The dataset of a source, or the built-in sample; `args` have the options for its judgements.

    How a source was imported is noted: its columns, and what was dropped.
    """
    from rankproof._cli.progress import RunProgress
    from rankproof._cli.terminal import Terminal
    from rankproof._importers.registry import read_stored_dataset
    from rankproof._io.corpus_store import CorpusStorage

    options = {} if args is None else judgement_options(args)
    terminal = Terminal(quiet=args is not None and args.quiet)
    with RunProgress(terminal) as progress:
        dataset = read_stored_dataset(path, CorpusStorage(progress=progress), split=split, **options).require(*needs)
    for note in dataset.notes:
        terminal.note(note)
    return dataset


_HEADERS = ("query", "query_id", "query-id", "qid", "_id", "id")


def add_segment_options(group: argparse._ArgumentGroup) -> None:
    """Adds the options that define segments."""
    add_option(group, "by", BY)
    group.add_argument("--by-file", metavar="FILE", help="a CSV file with a query id and its segment per line")


def requested_groupings(inputs: AnalysisInput, args: argparse.Namespace) -> Iterator[Grouping]:
    """The groupings asked for; by default the category, else the length, else the number of relevant documents."""
    from rankproof._analysis.query_groups import by_list, default_grouping, group_queries

    names = args.by or ([] if args.by_file else [default_grouping(inputs)])
    yield from (group_queries(inputs, name) for name in dict.fromkeys(names))
    if args.by_file:
        listed = read_segments(args.by_file, args.delimiter, args.encoding)
        yield by_list(inputs, listed, os.path.basename(args.by_file))


def read_segments(path: str, delimiter: str | None, encoding: str) -> dict[str, str]:
    """The segment of each query; the first line may be a header, and an empty segment means none."""
    from rankproof._formats.columns import checked_delimiter
    from rankproof._formats.csv import split_rows
    from rankproof._io.open import numbered_text_lines, open_source

    source = open_source(path, encoding=encoding)
    parted = checked_delimiter(delimiter) or ("\t" if path.endswith((".tsv", ".tsv.gz")) else ",")
    segments: dict[str, tuple[str, int]] = {}
    for at, (line, fields, comment) in enumerate(split_rows(numbered_text_lines(source), parted, source.name)):
        if comment or (at == 0 and fields[0].strip().lower() in _HEADERS):
            continue
        query, segment = _query_and_segment(fields, source.name, line)
        earlier = segments.setdefault(query, (segment, line))
        if earlier[0] != segment:
            both = f"{for_message(segment)} and, on line {earlier[1]}, in {for_message(earlier[0])}"
            what = f"query {for_message(query)} is in {both}"
            raise InputError(what, fix="assign each query to one segment", source=source.name, line=line)
    if not segments:
        raise InputError(
            "the file has no queries", fix="write one query id and its segment on each line: q1,timing", source=source.name
        )
    return {query: segment for query, (segment, _) in segments.items()}


def _query_and_segment(fields: list[str], source: str, line: int) -> tuple[str, str]:
    if len(fields) != 2:
        what = f"{len(fields)} columns where 2 are expected, a query id and its segment"
        raise InputError(what, fix="write q1,timing, or specify the delimiter with --delimiter", source=source, line=line)
    return fields[0].strip(), fields[1].strip()


def known_profiles() -> Mapping[str, BandProfile]:
    """The built-in band profiles."""
    from rankproof._analysis import bands

    return bands.builtin_profiles()
