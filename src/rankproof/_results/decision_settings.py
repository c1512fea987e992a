"""The settings of the decision which system to choose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from rankproof._registry import Option
from rankproof._statistics.options import Looks

LabelsBy = Literal["people"]
Completeness = Literal["complete"]
"""Who gave the labels, if the user says so."""
PRIMARY = Option("the measure that decides", metavar="MEASURE", unset="nDCG@10")
MARGIN = Option(
    "how far below the best a system may be: 0.01, or 5% of the best mean", metavar="D", unset="0.02 or 10%, the smaller one"
)
BASELINE = Option("the system to compare with", metavar="NAME", unset="every pair is compared; tables compare with bm25")
COSTS = Option(
    "cost of a system in any unit, instead of its latency or price", flag="--cost", metavar="NAME=N", repeated=True, rare=True
)
LABELS_BY = Option("people: the labels are people's, even if the files name a machine judge", unset="as the files say", rare=True)
LOOKS = Option("many: limits for looking again and again while queries arrive", unset="one, or as the log says", rare=True)
JUDGEMENTS = Option("complete: no relevant document is unjudged", unset="unjudged documents may prevent a decision", rare=True)


@dataclass(frozen=True, slots=True)
class DecisionSettings:
    """The settings of the decision. None stands for the default."""

    primary: Annotated[str | None, PRIMARY] = None
    margin: Annotated[float | str | None, MARGIN] = None
    baseline: Annotated[str | None, BASELINE] = None
    costs: Annotated[Mapping[str, float], COSTS] = field(default_factory=dict, hash=False)
    labels_by: Annotated[LabelsBy | None, LABELS_BY] = None
    looks: Annotated[Looks | None, LOOKS] = None
    judgements: Annotated[Completeness | None, JUDGEMENTS] = None

    def updated(self, **changes: Any) -> DecisionSettings:
        """The settings with those that are given, which are not None or empty, in place of their own."""
        return replace(self, **{name: value for name, value in changes.items() if value not in (None, {})})
