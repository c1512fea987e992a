"""`Decision`: which system to ship and why, the same record for every command, page and function."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from rankproof._analysis.decision.repeats import RepeatedAnswers
from rankproof._data.replies import ReusedReplies
from rankproof._data.table import Column, Table
from rankproof._data.text import pluralise, query_range
from rankproof._data.view import View, Viewed
from rankproof._results.decision_settings import Completeness, LabelsBy
from rankproof._statistics.intervals import Interval
from rankproof._statistics.labelled_means import MIN_LABELLED
from rankproof._statistics.options import Looks
from rankproof.measures._base import Measure

if TYPE_CHECKING:
    from rankproof._analysis.online.evidence import LiveEvidence

SAME_COST_MS = 1.0

Outcome = Literal["ship", "either", "keep", "not_decided", "judge_leads"]
"""`judge_leads`: a judge that nobody checked has a leader; whether people agree is not known."""
Kind = Literal["better", "safe", "cheaper", "cheaper_and_worse"]
"""Why a system is shipped or kept."""
Reason = Literal[
    "no_system",
    "one_system",
    "few_queries",
    "all_worst",
    "margin",
    "weights",
    "failed_calls",
    "risk",
    "missing",
    "unjudged",
    "ties",
    "depth",
    "ranks",
    "grades",
    "few_labels",
    "judge_not_checked",
    "few_users",
    "interval",
    "guardrail",
    "log",
    "places",
]
"""Why nothing is decided."""
UnjudgedClaim = Literal["safe", "better"]
"""What unjudged documents could refute: that the risk is within its limit, or that a system is better."""
CostUnit = Literal["given", "money", "ms", "tokens"]


@dataclass(frozen=True, slots=True)
class Costs:
    """The cost of each system, None if unknown: numbers of the user, money or tokens per query, or the p50 of `timed` queries."""

    unit: CostUnit | None = None
    by_system: Mapping[str, float | None] = field(default_factory=dict)
    timed: Mapping[str, int] = field(default_factory=dict)

    def of(self, system: str) -> float | None:
        """The cost of a system."""
        return self.by_system.get(system)

    @property
    def same_within(self) -> float:
        """Costs that differ by no more than this count as equal, besides those within 10%."""
        return SAME_COST_MS if self.unit == "ms" else 0.0


@dataclass(frozen=True, slots=True)
class SystemRisk:
    """One system: its mean, and its risk that its true mean is more than the margin below that of a rival.

    `limit` is the highest risk at which the system is good enough, `rival` the system at which the risk is largest compared with
    its limit; all three are None with one system or one query. `failed` is the share of its queries that failed. `timed` is the
    number of queries behind a latency as its cost, else None. `same_as` is the system with the same rankings, or the same answers
    and contexts, that stands for this one in the decision; None for a system that stands for itself.
    """

    name: str
    value: float
    risk: float | None
    limit: float | None
    rival: str | None
    cost: float | None
    failed: float
    timed: int | None = None
    same_as: str | None = None

    @property
    def is_good_enough(self) -> bool:
        """Whether the risk is within its limit."""
        return self.risk is not None and self.limit is not None and self.risk <= self.limit


@dataclass(frozen=True, slots=True)
class PairDifference:
    """Two systems: the mean of `system` minus that of `other`, the 95% interval, and whether the difference is significant.

    `ci` is None where few queries differ; `differing` is how many do. Significance is from `error`, the standard error that the
    risk has as well. `failures` are the queries on which the system has the worst value and the other one at least half of the
    best, `other_failures` the reverse.
    """

    system: str
    other: str
    difference: float
    ci: Interval | None
    differing: int
    is_significant: bool
    error: float | None = None
    failures: int = 0
    other_failures: int = 0


@dataclass(frozen=True, slots=True)
class OtherMargin:
    """A larger margin at which another system would be shipped."""

    margin: float
    system: str


@dataclass(frozen=True, slots=True)
class Scenario:
    """What would be chosen if missing values or unjudged documents were as `name` says."""

    name: str
    systems: tuple[str, ...]
    risk: float | None


@dataclass(frozen=True, slots=True)
class JudgeCheck:
    """What labels of people say of a machine judge.

    `file` has the labels, and `unusable` says why they cannot correct the judge, empty if they can. `agreement` says how far
    judge and people agree. `weight` is the judge's in the means, worth `worth` further labelled questions. `label_share` is the
    share of labels in the variance of the difference between the first system and its rival; the judge's values have the rest.
    `leader` is the best system by the judge alone, which is `lead` ahead of the leader by labels, or by the labels
    `corrected_lead`. `needed` is the number of labelled questions that decide with a chance of 80%; None if not known, or more
    than 700. `outside` are corrected means outside the range of the measure, which are shown at its end. `changed` counts the
    questions whose labels are of other answers, contexts or documents than the present ones, and do not count.
    `claims` is the number of labelled claims if single claims were drawn, None for whole questions.
    """

    file: str
    unusable: str = ""
    agreement: str = ""
    weight: float | None = None
    worth: float | None = None
    label_share: float | None = None
    leader: str | None = None
    lead: float | None = None
    corrected_lead: float | None = None
    needed: int | None = None
    outside: Mapping[str, float] = field(default_factory=dict)
    changed: int = 0
    claims: int | None = None


@dataclass(frozen=True, slots=True)
class MissingCount:
    """How many values of a system are missing: no answer, an abstention or nothing to check, or no value by the judge."""

    system: str
    no_answer: int
    abstained: int
    unknown: int


@dataclass(frozen=True, slots=True)
class OwnDocuments:
    """The documents that a system shows in its top and another does not, over all queries.

    `known` of the `shown` documents are judged, or known to be relevant where most queries have no judged zero.
    """

    system: str
    known: int
    relevant: int
    shown: int

    @property
    def share(self) -> float:
        """The share of known documents."""
        return self.known / self.shown if self.shown else 0.0


@dataclass(frozen=True, slots=True)
class UnjudgedRival:
    """A rival that may not have been judged: own documents of the chosen system and of the other one in their top `depth`.

    If `needed` of the other system's unjudged own documents are relevant, the `claim` on the chosen one fails: that its risk is
    within its limit ("safe"), or that it is significantly better. None: no share does, but the chosen system shows every known
    relevant document, as if only its own were judged. `is_near` says whether that could well be; else it is a detail. `grade` is
    the grade of these documents, None for the usual one of relevant documents. `pool_depth` is the top of the chosen system that
    was perhaps judged alone: `other` are then the documents outside of it.
    """

    chosen: OwnDocuments
    other: OwnDocuments
    needed: float | None
    has_zeros: bool
    depth: int
    is_near: bool = True
    claim: UnjudgedClaim = "safe"
    grade: int | None = None
    pool_depth: int | None = None


@dataclass(frozen=True, slots=True)
class QueriesNeeded:
    """How many queries decide with even chances and with a chance of 80%; None where no number up to 20 times as many does."""

    even: int | None
    likely: int | None


@dataclass(frozen=True, slots=True, repr=False)
class Decision(Viewed):
    """The choice of a system by one measure.

    `systems` are the systems to ship or keep: several if either will do, none if nothing is decided. `leader` has the highest
    mean. `reason` is why nothing is decided and `detail` says it in words. `risk`, `limit` and `rival` belong to the chosen
    system, or to the leader. `n` of `queries` queries decide, and `without_relevant` have no relevant document. `judge` is
    the machine judge whose values are compared, None if they are people's; `labels_by` is "people" if the user calls them so.
    `labelled` is the number of questions that people labelled to check the judge, `check` what these labels say, and
    `labels_for_check` about how many labels the first check takes, which `check_command` starts. `against` compares the first
    chosen system, or the leader, with each other system, highest mean first. `look` counts the looks at more and more queries,
    as the log has them. `better` are pairs that differ for certain where nothing is decided: systems that are better than
    the baseline, or without one the leading systems and those below them. `judge_next` are the unjudged (query, document) pairs
    that could change the difference between the two best systems most; `unjudged` is the number of all such pairs, and
    `audit_command` lists more of them. `judge_noise`
    is how much that difference changes when a judge of claims is asked again, as a standard deviation; None unless it is more
    than half of the difference. `reused_replies` are replies of search engines that an earlier run recorded: the engines may have
    changed. `repeats` are the repeated answers of the systems, None without any. `ci` is the 95% interval of the mean of the only
    system; None with several. `live` is what users did, if sessions of live traffic decide instead of queries: `n` then counts
    sessions, and no system has a risk.
    """

    outcome: Outcome | None
    measure: Measure
    margin: float
    n: int
    queries: int
    by_system: tuple[SystemRisk, ...]
    kind: Kind | None = None
    systems: tuple[str, ...] = ()
    leader: str | None = None
    reason: Reason | None = None
    detail: str = ""
    risk: float | None = None
    limit: float | None = None
    rival: str | None = None
    race: int = 2
    looks: Looks = "one"
    look: int = 1
    scenarios: tuple[Scenario, ...] = ()
    missing: tuple[MissingCount, ...] = ()
    unjudged_rival: UnjudgedRival | None = None
    judgements: Completeness | None = None
    judge: str | None = None
    labels_by: LabelsBy | None = None
    labelled: int | None = None
    check: JudgeCheck | None = None
    labels_for_check: int | None = None
    check_command: str = ""
    without_relevant: int = 0
    baseline: str | None = None
    cost_unit: CostUnit | None = None
    against: tuple[PairDifference, ...] = ()
    better: tuple[PairDifference, ...] = ()
    other_margin: OtherMargin | None = None
    needed: QueriesNeeded | None = None
    judge_next: tuple[tuple[str, str], ...] = ()
    unjudged: int = 0
    audit_command: str = ""
    judge_noise: float | None = None
    reused_replies: tuple[ReusedReplies, ...] = ()
    repeats: RepeatedAnswers | None = None
    ci: Interval | None = None
    live: LiveEvidence | None = None

    @property
    def decided(self) -> bool:
        """Whether the outcome says what to do."""
        return self.outcome in ("ship", "either", "keep")

    @property
    def is_judge_unchecked(self) -> bool:
        """Whether the values are a judge's that people have not checked by enough labels."""
        return (
            self.judge is not None
            and self.labels_by is None
            and (self.reason == "few_labels" or (self.labelled or 0) < MIN_LABELLED)
        )

    @property
    def is_corrected(self) -> bool:
        """Whether the means are a judge's, corrected by labels of people."""
        return self.check is not None and self.check.weight is not None

    @property
    def first(self) -> str | None:
        """The system that pages show first: the chosen one, else the leader."""
        return self.systems[0] if self.systems else self.leader

    @property
    def distinct(self) -> tuple[SystemRisk, ...]:
        """The systems that stand for themselves: those with the same rankings or answers count once."""
        return tuple(system for system in self.by_system if system.same_as is None)

    @property
    def marked(self) -> frozenset[str]:
        """The systems to ship or keep, and those with the same rankings or answers."""
        return frozenset(system.name for system in self.by_system if (system.same_as or system.name) in self.systems)

    def are_same(self, system: str, other: str) -> bool:
        """Whether two systems have the same rankings or answers."""
        first, second = (self.of(name).same_as or name for name in (system, other))
        return first == second

    @property
    def best_value(self) -> float:
        """The best mean, as the margin sees it: 1 - x for a measure from 0 to 1 of which lower is better."""
        values = [system.value for system in self.by_system]
        if not values:
            return math.nan
        if self.measure.higher_is_better is not False:
            return abs(max(values))
        return abs(1 - min(values)) if self.measure.is_fraction else abs(min(values))

    @property
    def sentences(self) -> tuple[str, ...]:
        """The decision in words, the answer first."""
        if self.live is not None:
            from rankproof._analysis.online.sentences import live_sentences

            return live_sentences(self, self.live)
        from rankproof._analysis.decision.sentences import decision_sentences

        return decision_sentences(self)

    def _view(self) -> View:
        columns = (
            Column("system"),
            Column("value", "value"),
            Column("risk", "risk"),
            Column("limit", "risk"),
            Column("rival"),
            Column("cost", "number"),
            Column("same as", about="the system with the same rankings or answers, which stands for this one"),
        )
        rows = tuple(
            (system.name, system.value, system.risk, system.limit, system.rival, system.cost, system.same_as)
            for system in self.by_system
        )
        counted = ("query", "queries") if self.live is None else ("session", "sessions")
        title = f"Decision by {self.measure}, {pluralise(self.n, *counted)}"
        table = Table("risks", "", columns, rows)
        if len(self.distinct) == len(self.by_system):
            table = table.without("same as")
        if self.is_judge_unchecked or self.live is not None:
            table = table.without("risk").without("limit").without("rival")
        return View(title, (table,) if rows else (), self.sentences)

    @property
    def timed_queries(self) -> str:
        """How many queries the latencies were measured on; empty if they are not the costs."""
        return query_range(system.timed for system in self.by_system if system.timed is not None)

    def of(self, system: str) -> SystemRisk:
        """The risk of a system."""
        return next(risk for risk in self.by_system if risk.name == system)

    def to_dict(self) -> dict[str, Any]:
        """The decision as JSON."""
        plain = {name: value for name, value in asdict(self).items() if name != "measure"}
        return {"decided": self.decided, "measure": str(self.measure), **plain, "sentences": list(self.sentences)}

    def __str__(self) -> str:
        return " ".join(self.sentences)
