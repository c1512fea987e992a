"""Options that several commands share."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rankproof._cli.arg_types import (
    add_judgement_options,
    add_on_duplicate_option,
    any_float,
    judgement_options,
    nonnegative_int,
    positive_int,
    query_ids,
    single_character,
    system_cost,
)
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
    add_relevance_options(parser.add_argument_group("relevance and ranking"))
    add_file_options(parser.add_argument_group("input files"))


def _add_output(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "-m", "--measures", action="append", metavar="MEASURES", help="comma separated, repeatable: nDCG@10,RR,P@5"
    )
    group.add_argument("-q", "--per-query", action="store_true", help="also show the value of every query")
    group.add_argument("-n", "--no-summary", action="store_true", help="leave out the summaries; needs --format trec")
    group.add_argument(
        "--format", choices=RESULT_FORMATS, default="table", metavar="FORMAT", help="output format (table): %(choices)s"
    )
    group.add_argument("-o", "--output", metavar="FILE", help="write to a file instead of standard output")
    group.add_argument("--name", action="append", default=[], metavar="NAME", help="the name of a system, once for each run")
    group.add_argument("--sample", action="store_true", help="evaluate the built-in sample")


def add_relevance_options(group: argparse._ArgumentGroup) -> None:
    """Adds the options for relevance and for the order of a ranking."""
    group.add_argument(
        "--rel", "-l", type=positive_int, default=1, metavar="N", help="the lowest grade that counts as relevant (default: 1)"
    )
    group.add_argument("--depth", "-M", type=positive_int, metavar="N", help="keep the first N documents of each ranking")
    add_judged_only_option(group)
    missing = group.add_mutually_exclusive_group()
    missing.add_argument(
        "--skip-missing", action="store_true", help="average over the queries in the run, not all judged queries"
    )
    missing.add_argument("-c", action="store_true", help=argparse.SUPPRESS)
    group.add_argument("--queries", metavar="FILE", help="only these queries, one id per line")
    group.add_argument(
        "--weights", metavar="FILE", help="file with the weight of each query: lines of query id and weight, or queries.jsonl"
    )
    group.add_argument(
        "--order", choices=("score", "rank"), default="score", help="rank documents by score or by rank (default: score)"
    )
    group.add_argument("--lower-is-better", action="store_true", help="the scores are distances")
    add_on_duplicate_option(group)
    group.add_argument(
        "--compat", choices=("trec_eval-9",), help="ties and interpolated precision of trec_eval 9 and pytrec_eval"
    )


def add_judged_only_option(group: argparse._ArgumentGroup) -> None:
    """Adds the option to measure judged documents only."""
    group.add_argument("--judged-only", "-J", action="store_true", help="remove unjudged documents from the rankings first")


def add_file_options(group: argparse._ArgumentGroup) -> None:
    """Adds the options for the format of files."""
    group.add_argument(
        "--qrels-format",
        metavar="FORMAT",
        help="format of the judgements, if not detected; eval also reads preferences: prefs, qrels_prefs",
    )
    group.add_argument("--run-format", metavar="FORMAT", help="format of the runs, if not detected")
    group.add_argument(
        "--delimiter", type=single_character, metavar="D", help="column separator of CSV files; tab or \\t for a tab"
    )
    group.add_argument("--encoding", default="utf-8", metavar="E", help="encoding of the files (default: utf-8)")
    add_judgement_options(group)
    group.add_argument("--threads", type=positive_int, default=1, metavar="N", help="threads that read a file (default: 1)")


def evaluate_options(args: argparse.Namespace, progress: ProgressCallback | None) -> EvaluateOptions:
    """The options of an evaluation."""
    from rankproof._evaluation.options import EvaluateOptions, FileOptions, make_read_options
    from rankproof._formats.texts import read_weights
    from rankproof._io.open import open_source

    read_options = make_read_options(
        order=args.order,
        lower_is_better=args.lower_is_better,
        compat=args.compat,
        on_duplicate=args.on_duplicate,
        depth=args.depth,
        judged_only=args.judged_only,
        threads=args.threads,
    )
    files = FileOptions(
        args.qrels_format, args.run_format, args.delimiter, args.encoding, args.grade_map, progress, on_conflict=args.on_conflict
    )
    queries = None if args.queries is None else query_ids(args.queries, args.encoding)
    weights = None if args.weights is None else read_weights(open_source(args.weights, encoding=args.encoding))
    primary = getattr(args, "primary", None)
    return EvaluateOptions(read_options, files, args.rel, args.skip_missing, queries, weights, primary)


CORRECTIONS = ("holm", "bonferroni", "bh", "none")


def add_sampling_options(group: argparse._ArgumentGroup, *, samples: int | None, of: str) -> None:
    """Adds the significance level, the number of random samples and the seed; without `samples`, `of` says the defaults."""
    number = of if samples is None else f"{of} (default: {samples})"
    group.add_argument("--alpha", type=any_float, default=0.05, metavar="A", help="significance level (default: 0.05)")
    group.add_argument("--samples", type=positive_int, default=samples, metavar="N", help=f"number of random {number}")
    group.add_argument("--seed", type=nonnegative_int, default=0, metavar="N", help="random seed (default: 0)")


def _margin(text: str) -> float | str:
    return text if text.strip().endswith("%") else any_float(text)


def add_margin_option(group: argparse._ArgumentGroup, what: str) -> None:
    """Adds the margin; `what` says what it is."""
    group.add_argument("--margin", type=_margin, metavar="D", help=f"{what} (default: 0.02 or 10%%, the smaller one)")


def add_decision_options(group: argparse._ArgumentGroup, primary: str = "nDCG@10", *, of_rankings: bool = True) -> None:
    """Adds the options of the decision which system to choose; `primary` is the default of the measure that decides.

    Without `of_rankings` there are no unjudged documents, and no option for them.
    """
    group.add_argument("--primary", metavar="MEASURE", help=f"the measure that decides (default: {primary})")
    add_margin_option(group, "how far below the best a system may be: 0.01, or 5%% of the best mean")
    group.add_argument("--baseline", metavar="NAME", help="compare with this system only (default: every pair)")
    group.add_argument(
        "--cost", type=system_cost, action="append", metavar="NAME=N", help="cost of a system instead of its latency; repeatable"
    )
    add_labels_by_option(group)
    what = "many: limits for looking again and again while queries arrive (default: one, or as the log says)"
    group.add_argument("--looks", choices=("one", "many"), help=what)
    if of_rankings:
        add_judgements_option(group)


def add_judgements_option(group: argparse._ArgumentGroup) -> None:
    """Adds the option that says that no relevant document is unjudged."""
    what = "complete: no relevant document is unjudged (default: unjudged documents may prevent a decision)"
    group.add_argument("--judgements", choices=("complete",), help=what)


def add_log_option(group: argparse._ArgumentGroup) -> None:
    """Adds the log of looks and comparisons."""
    what = "log of looks and comparisons, JSON lines (default: looks.jsonl in the results folder, none for run files)"
    group.add_argument("--log", metavar="FILE", help=what)


def look_log(args: argparse.Namespace) -> str | None:
    """The log of looks: that of --log, else of the one results folder; None if there is neither."""
    from rankproof._io.files import is_results_folder
    from rankproof._results.result_json import LOOKS_FILE

    if args.log is not None:
        return str(args.log)
    one = args.files[0] if len(args.files) == 1 and is_results_folder(args.files[0]) else None
    return None if one is None else os.path.join(one, LOOKS_FILE)


def add_labels_by_option(group: argparse._ArgumentGroup) -> None:
    """Adds the option that says who gave the labels."""
    group.add_argument("--labels-by", choices=("people",), help="the labels are people's, even if the files name a machine judge")


def without_repeats(option: str, pairs: Sequence[tuple[str, float]]) -> dict[str, float]:
    """The numbers by name; a name that an option repeats is an error."""
    found: dict[str, float] = {}
    for name, number in pairs:
        if name in found:
            what = f"{option} is given twice for {for_message(name)} ({found[name]:g} and {number:g})"
            raise UsageError(what, fix="give it once")
        found[name] = number
    return found


def decision_options(args: argparse.Namespace) -> dict[str, Any]:
    """The arguments of `compare_inputs` for these options."""
    costs = None if args.cost is None else without_repeats("--cost", args.cost)
    return {
        "primary": args.primary,
        "margin": args.margin,
        "baseline": args.baseline,
        "costs": costs,
        "labels_by": args.labels_by,
        "looks": args.looks,
        "judgements": args.judgements,
    }


def add_correction_option(group: argparse._ArgumentGroup) -> None:
    """Adds the correction of p-values for multiple tests."""
    group.add_argument("--correction", choices=CORRECTIONS, default="holm", help="correction for multiple tests (default: holm)")


def add_corpus_size_option(group: argparse._ArgumentGroup) -> None:
    """Adds the size of the corpus."""
    group.add_argument("--documents", type=positive_int, metavar="N", help="documents in the corpus, for the random ranking")


DEFAULT_SPLIT = "test"


def is_sample(path: str) -> bool:
    """Whether the path names the built-in dataset."""
    from rankproof._formats.read import SAMPLE

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
    group.add_argument(
        "--by",
        action="append",
        metavar="FIELD",
        help="group by a field of the queries, length, relevant (how many are relevant) or complexity; repeatable",
    )
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
    from rankproof._formats.csv import checked_delimiter, split_rows
    from rankproof._io.open import numbered_text_lines, open_source

    source = open_source(path, encoding=encoding)
    parted = checked_delimiter(delimiter) or ("\t" if path.endswith((".tsv", ".tsv.gz")) else ",")
    found: dict[str, tuple[str, int]] = {}
    for at, (line, fields, comment) in enumerate(split_rows(numbered_text_lines(source), parted, source.name)):
        if comment or (at == 0 and fields[0].strip().lower() in _HEADERS):
            continue
        query, segment = _query_and_segment(fields, source.name, line)
        earlier = found.setdefault(query, (segment, line))
        if earlier[0] != segment:
            both = f"{for_message(segment)} and, on line {earlier[1]}, in {for_message(earlier[0])}"
            what = f"query {for_message(query)} is in {both}"
            raise InputError(what, fix="assign each query to one segment", source=source.name, line=line)
    if not found:
        raise InputError(
            "the file has no queries", fix="write one query id and its segment on each line: q1,timing", source=source.name
        )
    return {query: segment for query, (segment, _) in found.items()}


def _query_and_segment(fields: list[str], source: str, line: int) -> tuple[str, str]:
    if len(fields) != 2:
        what = f"{len(fields)} columns where 2 are expected, a query id and its segment"
        raise InputError(what, fix="write q1,timing, or specify the delimiter with --delimiter", source=source, line=line)
    return fields[0].strip(), fields[1].strip()


def add_band_options(group: argparse._ArgumentGroup) -> None:
    """Adds the choice of band profiles."""
    group.add_argument("--bands", metavar="FILE", help="band profiles as TOML, instead of the built-in ones")
    group.add_argument("--profile", action="append", metavar="NAME", help="only this band profile; repeatable (default: all)")


def known_profiles() -> Mapping[str, BandProfile]:
    """The built-in band profiles."""
    from rankproof._analysis import bands

    return bands.builtin_profiles()
