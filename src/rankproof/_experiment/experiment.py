"""Experiment: named systems on a dataset; the default systems; how systems relate to each other."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from typing import Annotated, Any, cast, get_args

from rankproof._data.dataset import Dataset
from rankproof._data.grades import checked_grade_map
from rankproof._data.qrels import Qrels
from rankproof._data.table import Column, Table
from rankproof._data.text import clip_text, pluralise
from rankproof._data.validation import GRADE_MAP, OnConflictOption, check_options, checked_number
from rankproof._data.view import View, Viewed
from rankproof._evaluation.result import Result
from rankproof._experiment.options import (
    DATASET,
    QRELS,
    CollapseOption,
    IncludeCasesOption,
    JudgedOnlyOption,
    LimitOption,
    PoolOption,
    SeedOption,
    SplitOption,
)
from rankproof._formats.detect import SAMPLE
from rankproof._registry import Option
from rankproof._results.decision_settings import (
    BASELINE,
    COSTS,
    JUDGEMENTS,
    LABELS_BY,
    LOOKS,
    MARGIN,
    PRIMARY,
    Completeness,
    DecisionSettings,
    LabelsBy,
)
from rankproof._results.experiment_result import SystemKind
from rankproof._statistics.decision_rule import parse_margin
from rankproof._statistics.options import Looks
from rankproof.errors import UsageError, for_message, type_phrase
from rankproof.measures._answers import AnswerMeasure
from rankproof.measures._base import Measure
from rankproof.measures._parse import parse_measure, parse_measures
from rankproof.models._registry import encoder_by_name, is_ready
from rankproof.stages._base import Stage
from rankproof.stages._bm25 import BM25
from rankproof.stages._dense import Dense
from rankproof.stages._fuse import RRF, Fuse
from rankproof.stages._maxsim import MaxSim
from rankproof.stages._rerank import Rerank

MAX_STAGE_DEPTH = 50
MAX_STAGES = 1000
_SHOWN_STAGE = 70
TOO_MANY_STAGES_FIX = "use fewer other systems as inputs"
_STAGE_FIX = "give a stage, such as BM25(): a frozen dataclass with depth, inputs and build"
MODELS = ("wordllama", "minilm")
"""The encoders of the default systems; the hybrids use the last one whose weights are in the cache."""


def stage_tree(stage: Stage, check: Callable[[Any], None] = lambda part: None, name: str = "a system") -> tuple[Stage, ...]:
    """The stage and all its inputs, each object once, inputs first; `check` sees each before its inputs are read.

    A system with too many levels or stages is refused.
    """
    walk = _StageWalk(check, name)
    walk.visit(stage, 0)
    return tuple(part for part, _, _ in walk.visited.values())


@dataclass(frozen=True, slots=True)
class _StageWalk:
    """The visited stages by object id, each with its number of levels and of stages."""

    check: Callable[[Any], None]
    name: str
    visited: dict[int, tuple[Stage, int, int]] = field(default_factory=dict)

    def visit(self, stage: Stage, depth: int) -> tuple[int, int]:
        """The levels and stages; a stage that occurs again is not checked again, but counts again."""
        if id(stage) not in self.visited:
            self.check(stage)
            self._check_size(depth + 1, len(self.visited))
            inputs = [self.visit(part, depth + 1) for part in stage.inputs()]
            levels, stages = 1 + max((input_[0] for input_ in inputs), default=0), 1 + sum(input_[1] for input_ in inputs)
            self._check_size(levels, stages)
            self.visited[id(stage)] = stage, levels, stages
        return self.visited[id(stage)][1:]

    def _check_size(self, levels: int, stages: int) -> None:
        if levels > MAX_STAGE_DEPTH:
            raise UsageError(f"{self.name} has more than {MAX_STAGE_DEPTH} levels of stages", fix=TOO_MANY_STAGES_FIX)
        if stages > MAX_STAGES:
            what = f"{self.name} has more than {MAX_STAGES} stages, each counted as often as it is used"
            raise UsageError(what, fix=TOO_MANY_STAGES_FIX)


def check_lost_answers(systems: Mapping[str, Stage], measures: Sequence[Measure] | None) -> None:
    """Refuses a system that fuses answering systems without answering itself, where answers are measured."""
    measured = [measure for measure in measures or () if isinstance(measure, AnswerMeasure)]
    lost = [name for name, stage in systems.items() if measured and loses_answers(stage)]
    if lost:
        what = f"system {for_message(lost[0])} drops the answers of its inputs, but {measured[0]} needs answers"
        raise UsageError(what, fix="fuse the rankings first, then answer: ExtractAnswer(RRF((BM25(), Dense(MiniLM()))))")


def loses_answers(stage: Stage) -> bool:
    """Whether an input answers and the stage itself does not."""
    return not gives_answers(stage) and any(map(gives_answers, stage_tree(stage)))


def gives_answers(stage: Stage) -> bool:
    """Whether the stage answers, or passes on the answers of its only input."""
    inputs = stage.inputs()
    answers = getattr(stage, "kind", None) == "answer" or getattr(stage, "gives_answers", False)
    return answers or (len(inputs) == 1 and gives_answers(inputs[0]))


class Systems(Mapping[str, Stage]):
    """Name to stage; an empty name and a value that is not a stage are refused."""

    __slots__ = ("_stages",)

    def __init__(self, systems: Mapping[str, Stage]) -> None:
        if not isinstance(systems, Mapping) or not systems:
            raise UsageError("the experiment has no system", fix='pass at least one, for example {"bm25": BM25()}')
        for name, stage in systems.items():
            if not isinstance(name, str) or not name:
                raise UsageError(f"{for_message(repr(name))} is not a name of a system", fix="give it a text that is not empty")
            _check_is_stage(name, stage)
        self._stages = dict(systems)

    def __getitem__(self, name: str) -> Stage:
        return self._stages[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._stages)

    def __len__(self) -> int:
        return len(self._stages)

    def __hash__(self) -> int:
        return hash(frozenset(self._stages.items()))

    def __repr__(self) -> str:
        return repr(self._stages)


def _check_is_stage(name: str, value: Any) -> None:
    def error(part: Any) -> UsageError:
        return UsageError(f"system {for_message(name)} has {type_phrase(part)}, which is not a stage", fix=_STAGE_FIX)

    def check(part: Any) -> None:
        if not _has_stage_members(part):
            raise error(part)

    for part in stage_tree(value, check, f"system {for_message(name)}"):
        if not _is_hashable(part):
            raise error(part)


def _has_stage_members(value: Any) -> bool:
    has_all = all(hasattr(value, part) for part in ("depth", "inputs", "build"))
    return has_all and is_dataclass(value) and not isinstance(value, type)


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


@dataclass(frozen=True, slots=True, repr=False)
class Experiment(Viewed):
    """Named systems to run on one dataset."""

    systems: Annotated[Mapping[str, Stage], Option("the systems by name")]
    dataset: Annotated[Dataset | str | os.PathLike[str], DATASET] = SAMPLE
    split: SplitOption = "test"
    grade_map: Annotated[Mapping[str, int] | None, GRADE_MAP._replace(typed=dict[str, int])] = None
    on_conflict: OnConflictOption = "error"
    qrels: Annotated[Qrels | str | os.PathLike[str] | Sequence[Qrels | str | os.PathLike[str]] | None, QRELS] = None
    name: Annotated[str, Option("the name of the experiment", unset="the file's name")] = "experiment"
    measures: Annotated[
        Sequence[Measure | str] | None,
        Option("the measures, the main one first", typed=tuple[str, ...], unset="a standard set"),
    ] = None
    rel: Annotated[int, Option("the lowest grade that counts as relevant", least=1)] = 1
    judged_only: JudgedOnlyOption = False
    limit: LimitOption = None
    seed: SeedOption = 0
    collapse: CollapseOption = None
    pool: PoolOption = None
    include_cases: IncludeCasesOption = None
    primary: Annotated[Measure | str | None, PRIMARY._replace(typed=str)] = None
    margin: Annotated[float | str | None, MARGIN] = None
    baseline: Annotated[str | None, BASELINE] = None
    costs: Annotated[Mapping[str, float], COSTS] = field(default_factory=dict, hash=False)
    labels_by: Annotated[LabelsBy | None, LABELS_BY] = None
    looks: Annotated[Looks | None, LOOKS] = None
    judgements: Annotated[Completeness | None, JUDGEMENTS] = None

    def _view(self) -> View:
        rows = tuple((name, clip_text(repr(stage), _SHOWN_STAGE)) for name, stage in self.systems.items())
        data = self.dataset.name if isinstance(self.dataset, Dataset) else str(self.dataset)
        title = f"Experiment {self.name} on {data}: {pluralise(len(rows), 'system')}"
        return View(title, (Table("systems", "", (Column("system"), Column("stage")), rows),))

    def __post_init__(self) -> None:
        object.__setattr__(self, "systems", Systems(self.systems))
        object.__setattr__(self, "dataset", _check_dataset(self.dataset))
        object.__setattr__(self, "qrels", checked_qrels(self.qrels))
        measures = None if self.measures is None else tuple(parse_measures(self.measures))
        object.__setattr__(self, "measures", measures)
        check_lost_answers(self.systems, measures)
        checked_grade_map(self.grade_map)
        check_options(self)
        self._check_decision()
        if self.collapse == "":
            raise UsageError("collapse names no field", fix="specify a field of the documents, such as url, or leave it out")
        if self.pool is not None and self.collapse is None:
            raise UsageError("pool needs collapse", fix='add collapse = "url", or leave out pool')

    @property
    def decision_settings(self) -> DecisionSettings:
        """The settings of the decision."""
        primary = None if self.primary is None else str(_parsed_primary(self.primary).with_rel(self.rel))
        return DecisionSettings(
            primary, self.margin, self.baseline, dict(self.costs), self.labels_by, self.looks, self.judgements
        )

    def _check_decision(self) -> None:
        if self.primary is not None:
            object.__setattr__(self, "primary", _parsed_primary(self.primary))
        if self.margin is not None:
            parse_margin(self.margin, is_fraction=self._decides_by_fraction())
        if self.baseline is not None and self.baseline not in self.systems:
            known = ", ".join(map(for_message, self.systems))
            raise UsageError(f"baseline is {for_message(self.baseline)}, which is not a system", fix=f"choose from: {known}")
        for name, cost in self.costs.items():
            if name not in self.systems:
                raise UsageError(f"costs names {for_message(str(name))}, which is not a system", fix="use the names of systems")
            checked_number(f"the cost of {for_message(name)}", cost, 0)

    def _decides_by_fraction(self) -> bool:
        """Whether the primary measure is a fraction, as each is by which the experiment could decide."""
        named = self.measures if self.primary is None else [self.primary]
        able = [] if named is None else parse_measures(named)
        return all(measure.is_fraction for measure in able if measure.has_winner)


def _parsed_primary(primary: Measure | str) -> Measure:
    """The measure that decides: a mean of rankings with a better direction."""
    measure = parse_measure(primary) if isinstance(primary, str) else primary
    if isinstance(measure, AnswerMeasure) or measure.summary != "mean" or measure.higher_is_better is None:
        raise UsageError(f"primary is {measure}, which cannot decide", fix="choose a mean of rankings, such as nDCG@10")
    return measure


def _check_dataset(dataset: Dataset | str | os.PathLike[str]) -> Dataset | str:
    path = os.fspath(dataset) if isinstance(dataset, os.PathLike) else dataset
    if not isinstance(path, str | Dataset) or not path:
        raise UsageError(f"dataset is {type_phrase(path)}", fix='give a Dataset, the path of a folder, or "sample"')
    return path


def checked_qrels(qrels: Any) -> tuple[Qrels | str, ...] | None:
    """The files and Qrels as a tuple, None without any."""
    if qrels is None:
        return None
    parts = [qrels] if isinstance(qrels, Qrels | str | os.PathLike) else list(qrels)
    sources = tuple(os.fspath(source) if isinstance(source, os.PathLike) else source for source in parts)
    for source in sources:
        if not isinstance(source, Qrels | str) or source == "":
            raise UsageError(
                f"qrels is {type_phrase(source)}", fix="give the path of a file of judgements, Qrels, or a list of them"
            )
    return sources or None


def default_systems(
    *,
    wordllama: Annotated[
        bool | None, Option("whether the small static encoder is used", unset="if its weights are in the cache")
    ] = None,
    minilm: Annotated[bool | None, Option("whether the encoder MiniLM is used", unset="if its weights are in the cache")] = None,
) -> dict[str, Stage]:
    """The default systems whose models are in the cache; `wordllama` and `minilm` (True or False) override this for one model."""
    bm25 = BM25()
    systems: dict[str, Stage] = {"bm25-title": BM25(fields=("title",)), "bm25": bm25}
    if _is_there("wordllama") if wordllama is None else wordllama:
        systems["static"] = Dense(encoder_by_name("wordllama"))
    if _is_there("minilm") if minilm is None else minilm:
        systems["minilm"] = Dense(encoder_by_name("minilm"))
    dense = systems.get("minilm") or systems.get("static")
    if dense is not None:
        hybrid = Fuse((bm25, dense), method="combsum", norm="z-score")
        systems |= {"hybrid-rrf": RRF((bm25, dense)), "hybrid-z": hybrid}
        if "minilm" in systems:
            systems["late-interaction"] = Rerank(hybrid, MaxSim(encoder_by_name("minilm")), weight=0.5)
    return systems


def missing_weights() -> str:
    """Which encoders have no weights in the cache, and the command that downloads them."""
    missing = [name for name in MODELS if not _is_there(name)]
    fix = f"run: rankproof models get {' '.join(missing)}"
    return f"the weights of {' and '.join(missing)} are not downloaded, so the systems that need them are left out; {fix}"


def _is_there(name: str) -> bool:
    return is_ready(encoder_by_name(name))


def system_kind(stage: Stage) -> SystemKind:
    """The kind that the stage declares, else retrieval, fusion or rerank by its inputs."""
    declared = getattr(stage, "kind", None)
    if declared in get_args(SystemKind):
        return cast(SystemKind, declared)
    inputs = stage.inputs()
    if not inputs:
        return "retrieval"
    return "fusion" if len(inputs) > 1 or isinstance(stage, Fuse) else "rerank"


def stage_with_inputs(stage: Stage) -> tuple[Stage, ...]:
    """The stage and its distinct inputs at any level, inputs first."""
    return tuple(dict.fromkeys(stage_tree(stage)))


def systems_built_on(systems: Mapping[str, Stage], result: Result) -> dict[str, str | None]:
    """The system that each system builds on: the best of its inputs, or unmeasured the first; None if no input is a system."""
    names = {stage: name for name, stage in reversed(list(systems.items()))}
    first = {system.name: measure for system in result.systems for measure in [*system.measures.values()][:1]}
    quality = {name: -value.value if value.measure.higher_is_better is False else value.value for name, value in first.items()}
    inputs = {name: [names[part] for part in stage.inputs() if part in names] for name, stage in systems.items()}
    return {name: max(parts, key=lambda part: quality.get(part, 0.0), default=None) for name, parts in inputs.items()}
