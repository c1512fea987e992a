"""A check, its input and its result; `@check` registers one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, get_args

from rankproof._align.hits import Hits
from rankproof._analysis.inputs import AnalysisInput
from rankproof._data.dataset import Corpus, Dataset, Queries
from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._evaluation.inputs import align, prepare_judgements
from rankproof._evaluation.notes import Note
from rankproof._evaluation.options import EvaluateOptions
from rankproof._registry import RecordTable
from rankproof._results.experiment_result import SystemRun
from rankproof.errors import for_message

if TYPE_CHECKING:
    from rankproof._analysis.doctor.example import Example


InputPart = Literal[
    "documents", "corpus size", "queries", "judgements", "rankings", "stages", "training queries", "training judgements"
]
INPUT_PARTS: tuple[InputPart, ...] = get_args(InputPart)


@dataclass(frozen=True, eq=False)
class DoctorInput:
    """The data and runs to check; `parts` lists what is available, and any other part is empty.

    `size` is the corpus size, 0 if unknown; `cutoff` is the deepest of the measures, None if none has one.
    """

    name: str
    parts: frozenset[InputPart]
    corpus: Corpus = field(default_factory=lambda: Corpus(()))
    size: int = 0
    queries: Queries = field(default_factory=lambda: Queries(()))
    qrels: Qrels = field(default_factory=lambda: Qrels(iter(())))
    runs: Mapping[str, Run] = field(default_factory=dict)
    notes: Mapping[str, tuple[Note, ...]] = field(default_factory=dict)
    system_runs: tuple[SystemRun, ...] = ()
    evaluated_queries: tuple[str, ...] = ()
    cutoff: int | None = None
    rel: int = 1
    options: EvaluateOptions = field(default_factory=EvaluateOptions)
    training: Queries = field(default_factory=lambda: Queries(()))
    trained_on: Qrels = field(default_factory=lambda: Qrels(iter(())))

    @cached_property
    def hits(self) -> Mapping[str, Hits]:
        """The ranks of the judged documents in each system."""
        judged = prepare_judgements(self.qrels, self.options)
        return {name: align(judged, run, name, self.options) for name, run in self.runs.items()}


def doctor_input_from_dataset(dataset: Dataset, *, rel: int = 1) -> DoctorInput:
    """A dataset without runs."""
    parts: frozenset[InputPart] = frozenset({"documents", "corpus size", "queries", "judgements"})
    return DoctorInput(dataset.name, parts, dataset.corpus, len(dataset.corpus), dataset.queries, dataset.qrels, rel=rel)


def doctor_input_from_analysis(inputs: AnalysisInput, dataset: Dataset | None = None) -> DoctorInput:
    """Evaluated systems, with the dataset if available."""
    size = 0 if inputs.read_options.judged_only else len(dataset.corpus) if dataset else inputs.documents or 0
    available: dict[InputPart, bool] = {
        "documents": dataset is not None,
        "corpus size": size > 0,
        "queries": dataset is not None or inputs.texts is not None,
        "judgements": True,
        "rankings": True,
        "stages": bool(inputs.system_runs),
    }
    return DoctorInput(
        inputs.name,
        frozenset(part for part, is_available in available.items() if is_available),
        corpus=dataset.corpus if dataset else Corpus(()),
        size=size,
        queries=dataset.queries if dataset else inputs.texts or Queries(()),
        qrels=inputs.qrels,
        runs=inputs.runs,
        notes=inputs.result.notes,
        system_runs=inputs.system_runs,
        evaluated_queries=inputs.result.queries,
        cutoff=_deepest(inputs),
        rel=inputs.rel,
        options=inputs.options,
    )


def _deepest(inputs: AnalysisInput) -> int | None:
    measures = inputs.result.systems[0].measures.values()
    cutoffs = [one.measure.parameters().get("cutoff") for one in measures]
    return max((cutoff for cutoff in cutoffs if isinstance(cutoff, int)), default=None)


Severity = Literal["severe", "warning", "hint"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
MAX_EXAMPLES = 10
Z_99 = 2.576
"""The two-sided critical value of the normal distribution at 99%."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """How many of how many items have a fault, in a sentence, with escaped examples."""

    count: int = 0
    of: int | None = None
    sentence: str = ""
    examples: tuple[str, ...] = ()


NOTHING_FOUND = CheckResult()
Examine = Callable[[DoctorInput], CheckResult]
Broken = Callable[["Example"], "Example"]


@dataclass(frozen=True, slots=True)
class SystemFault:
    """The fault of one system: how many of how many items, and a text with numbers."""

    system: str
    count: int
    of: int
    text: str


@dataclass(frozen=True, slots=True)
class Check:
    """A check of data or rankings.

    `needs` are the parts that it requires, `advice` says how to fix a finding. `broken` turns the clean example into one with a
    finding of this check; `also` names other checks with a finding there.
    """

    name: str
    severity: Severity
    summary: str
    advice: str
    needs: tuple[InputPart, ...]
    examine: Examine
    broken: Broken
    also: tuple[str, ...] = ()


_TABLE: RecordTable[Check] = RecordTable(
    "check",
    "rankproof.doctor_checks",
    f"{__package__}.checks",
    first=("identifiers", "documents", "queries", "leakage", "judgements", "grade_order", "below_random", "rankings", "encoders"),
)


def all_checks() -> tuple[Check, ...]:
    """Every check, severe ones first."""
    return tuple(sorted(_TABLE.values(), key=lambda one: SEVERITIES.index(one.severity)))


def check(
    name: str,
    severity: Severity,
    summary: str,
    *,
    advice: str,
    needs: tuple[InputPart, ...],
    broken: Broken,
    also: tuple[str, ...] = (),
) -> Callable[[Examine], Examine]:
    """Registers a function as a check; `summary` says what it looks for."""
    if unknown := [part for part in needs if part not in INPUT_PARTS]:
        known = ", ".join(INPUT_PARTS)
        raise ValueError(f"the check {name} needs {unknown[0]}, which is no part of the input; choose among {known}")

    def register(examine: Examine) -> Examine:
        _TABLE.add(Check(name, severity, summary, advice, needs, examine, broken, also), examine.__module__)
        return examine

    return register


def check_result(examples: Sequence[str], of: int | None, sentence: str, *, count: int | None = None) -> CheckResult:
    """A result with the first examples escaped; an empty one without examples."""
    if not examples:
        return NOTHING_FOUND
    return CheckResult(len(examples) if count is None else count, of, sentence, tuple(map(for_message, examples[:MAX_EXAMPLES])))


def count_with_verb(count: int, one: str, many: str) -> str:
    """A count followed by its singular or plural text."""
    return f"{count} {one if count == 1 else many}"


def result_of_systems(lead: str, faults: Iterable[SystemFault]) -> CheckResult:
    """A result over systems: the fault, then the text of each system, with counts added up."""
    listed = list(faults)
    sentence = f"{lead}: " + "; ".join(f"{for_message(fault.system)} {fault.text}" for fault in listed)
    count, of = sum(fault.count for fault in listed), sum(fault.of for fault in listed)
    return check_result([fault.system for fault in listed], of, sentence, count=count)
