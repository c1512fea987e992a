"""The options of an experiment and of its run that are also flags, without the stages that an experiment needs."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from rankproof._data.validation import BUDGET, CACHE, GradeMapOption, OnConflictOption
from rankproof._registry import Option

DATASET = Option(
    'the folder of the dataset, irds:NAME, or "sample"; relative to this file', typed=str, metavar="SOURCE", default="sample"
)
QRELS = Option(
    "files with further judgements, such as those of `rankproof judge`; relative to this file",
    typed=str | tuple[str, ...],
    metavar="FILE",
    repeated=True,
    unset="none",
)
SplitOption = Annotated[str, Option("which file of judgements, if the dataset has several", metavar="NAME", default="test")]
JudgedOnlyOption = Annotated[bool, Option("remove unjudged documents from the rankings first", letter="-J", default=False)]
LimitOption = Annotated[int | None, Option("use a random sample of N judged queries", least=1, unset="all")]
SeedOption = Annotated[int, Option("seed of the samples of `limit` and of timed queries", least=0, rare=True, default=0)]
CollapseOption = Annotated[
    str | None,
    Option(
        "for chunks: the field that names the document of a chunk, such as url; rankings and judgements are collapsed to it",
        metavar="FIELD",
        unset="none",
        rare=True,
    ),
]
PoolOption = Annotated[int | None, Option("number of top chunks of a ranking to collapse", least=1, unset="all", rare=True)]
IncludeCasesOption = Annotated[
    str | None,
    Option(
        "test cases as further queries of the mean and the decision, which they bias: they were chosen because they fail",
        metavar="FILE",
        unset="none",
        rare=True,
    ),
]


class RunArguments(TypedDict, total=False):
    """The fields of an experiment that are flags of `run`."""

    dataset: Annotated[Any, DATASET]
    split: SplitOption
    qrels: Annotated[Any, QRELS]
    grade_map: GradeMapOption
    on_conflict: OnConflictOption
    judged_only: JudgedOnlyOption
    limit: LimitOption
    seed: SeedOption
    collapse: CollapseOption
    pool: PoolOption
    include_cases: IncludeCasesOption


THREADS = Option(
    "threads that index, encode and search, or processes if the corpus has several partitions",
    least=1,
    flag="--jobs",
    letter="-j",
    metavar="N",
)
ON = Option(
    "a Ray cluster that indexes, encodes and searches: ray (on this machine), ray://HOST:10001 or address=auto",
    metavar="CLUSTER",
    unset="none",
    rare=True,
)
LATENCY_QUERIES = Option(
    "measure latency on N queries, asked one at a time; the same for all systems, selected by the seed",
    least=1,
    metavar="N",
    default=200,
    rare=True,
)
PARTITION_SIZE = Option(
    "the most documents that are indexed or encoded at once; the results do not depend on it",
    least=1,
    metavar="N",
    default=250_000,
    rare=True,
)
CACHE_LIMIT = Option(
    "after the run, remove what was used longest ago until the cache has at most this size, such as 20GB",
    metavar="SIZE",
    unset="no limit",
    typed=str,
    rare=True,
)
REPEATS = Option(
    "run systems with a search engine or language model K times; values are means, and a note counts changed rankings",
    least=1,
    metavar="K",
    flag="--repeats",
    default=1,
    rare=True,
)
ASK_AGAIN = Option("ask search engines again, ignoring recorded replies", default=False, rare=True)
STRICT = Option("stop at the first query that a search engine fails to answer", default=False, rare=True)


class ExecutionArguments(TypedDict, total=False):
    """The options of a run that are flags; `jobs` and `run_repeats` are `threads` and `repeats` in Python."""

    jobs: Annotated[int, THREADS._replace(default=1)]
    cache: Annotated[str | None, CACHE]
    budget: Annotated[str | None, BUDGET]
    run_repeats: Annotated[int, REPEATS]
    on: Annotated[str | None, ON]
    latency_queries: Annotated[int, LATENCY_QUERIES]
    partition_size: Annotated[int, PARTITION_SIZE]
    cache_limit: Annotated[int | str | None, CACHE_LIMIT]
    ask_again: Annotated[bool, ASK_AGAIN]
    strict: Annotated[bool, STRICT]
