"""The options of an experiment that are also flags of `run`, without the stages that an experiment needs."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from rankproof._data.validation import GradeMapOption, OnConflictOption
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
