"""Experiment, default_systems, relations."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from typing import Annotated, Any, cast, get_args

from rankproof._data.dataset import Dataset
from rankproof._data.validation import check_options
from rankproof._evaluation.result import Result
from rankproof._registry import Option
from rankproof._results.experiment_result import SystemKind
from rankproof.errors import UsageError, for_message
from rankproof.measures._answers import AnswerMeasure
from rankproof.measures._base import Measure
from rankproof.measures._parse import parse_measures
from rankproof.models._registry import encoder_by_name, is_ready
from rankproof.stages._base import Stage
from rankproof.stages._bm25 import BM25
from rankproof.stages._dense import Dense
from rankproof.stages._fuse import RRF, Fuse
from rankproof.stages._rerank import Rerank
from rankproof.stages._scorers import MaxSim

MAX_STAGE_DEPTH = 50
MAX_STAGES = 1000
TOO_MANY_STAGES_FIX = "let systems refer to fewer others"


def stage_tree(stage: Stage, look: Callable[[Any], None] = lambda part: None, whose: str = "a system") -> tuple[Stage, ...]:
    """The stage and all that it rests on, each object once, lowest first; `look` sees each before it is asked for its parts.

    A system that no machine would be done with is refused.
    """
    walk = _StageWalk(look, whose)
    walk.extent(stage, 0)
    return tuple(part for part, _, _ in walk.known.values())


@dataclass(frozen=True, slots=True)
class _StageWalk:
    """What was seen on the way: by its id each part, the levels and the parts below it."""

    look: Callable[[Any], None]
    whose: str
    known: dict[int, tuple[Stage, int, int]] = field(default_factory=dict)

    def extent(self, stage: Stage, above: int) -> tuple[int, int]:
        """Levels and parts; a part that is named again is not looked at again, but counts again."""
        if id(stage) not in self.known:
            self.look(stage)
            self._refuse(above + 1, len(self.known))
            inputs = [self.extent(part, above + 1) for part in stage.inputs()]
            levels, parts = 1 + max((each[0] for each in inputs), default=0), 1 + sum(each[1] for each in inputs)
            self._refuse(levels, parts)
            self.known[id(stage)] = stage, levels, parts
        return self.known[id(stage)][1:]

    def _refuse(self, levels: int, parts: int) -> None:
        if levels > MAX_STAGE_DEPTH:
            raise UsageError(
                f"{self.whose} rests on others, too deep: more than {MAX_STAGE_DEPTH} levels", fix=TOO_MANY_STAGES_FIX
            )
        if parts > MAX_STAGES:
            what = f"{self.whose} rests on more than {MAX_STAGES} parts, each counted as often as it is named"
            raise UsageError(what, fix=TOO_MANY_STAGES_FIX)


def check_lost_answers(systems: Mapping[str, Stage], measures: Sequence[Measure] | None) -> None:
    """Refuses a system that joins answering ones without answering itself, where answers are to be measured."""
    asked = [measure for measure in measures or () if isinstance(measure, AnswerMeasure)]
    lost = [name for name, stage in systems.items() if asked and loses_answers(stage)]
    if lost:
        what = f"system {for_message(lost[0])} joins rankings that come with answers, and has no answer for {asked[0]} to measure"
        raise UsageError(what, fix="join what ranks, and answer above that: Extract(RRF((BM25(), Dense(MiniLM()))))")


def loses_answers(stage: Stage) -> bool:
    """Whether something below answers, and the stage itself does not."""
    return not gives_answers(stage) and any(map(gives_answers, stage_tree(stage)))


def gives_answers(stage: Stage) -> bool:
    """Whether the stage answers, or keeps the answers of the only stage below it."""
    inputs = stage.inputs()
    return getattr(stage, "kind", None) == "answer" or (len(inputs) == 1 and gives_answers(inputs[0]))


_STAGE_FIX = "give a stage, such as BM25(): a frozen dataclass with depth, inputs and build"


class Systems(Mapping[str, Stage]):
    """Name to stage; what is no name or no stage is refused."""

    __slots__ = ("_stages",)

    def __init__(self, systems: Mapping[str, Stage]) -> None:
        if not isinstance(systems, Mapping) or not systems:
            raise UsageError("the experiment has no system", fix='name at least one, as in {"bm25": BM25()}')
        for name, stage in systems.items():
            if not isinstance(name, str) or not name:
                raise UsageError(f"a system is called {for_message(repr(name))}", fix="give it a name of text, not empty")
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
    def refuse(part: Any) -> UsageError:
        return UsageError(f"system {for_message(name)} rests on a {type(part).__name__}, which is no stage", fix=_STAGE_FIX)

    def look(part: Any) -> None:
        if not _has_stage_members(part):
            raise refuse(part)

    for part in stage_tree(value, look, f"system {for_message(name)}"):
        if not _is_hashable(part):
            raise refuse(part)


def _has_stage_members(value: Any) -> bool:
    whole = all(hasattr(value, part) for part in ("depth", "inputs", "build"))
    return whole and is_dataclass(value) and not isinstance(value, type)


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


SAMPLE = "sample"


@dataclass(frozen=True, slots=True)
class Experiment:
    """What is to be climbed: the systems in their order, on one dataset.

    `dataset` is a Dataset, the path of one, or "sample"; `measures` are values or names, None means the default set. `limit`
    draws so many of the judged queries by `seed`. `collapse` names the field of the documents, an URL for instance, that rankings
    and judgements are brought to where the documents are chunks; `pool` keeps the first so many chunks of a ranking before that.
    """

    systems: Mapping[str, Stage]
    dataset: Annotated[
        Dataset | str | os.PathLike[str],
        Option('the folder of the dataset, irds:NAME, or "sample"; relative to this file', typed=str),
    ] = SAMPLE
    split: Annotated[str, Option('which file of judgements, if the dataset has several ("test")')] = "test"
    name: Annotated[str, Option("the name of the experiment (the file's name)")] = "experiment"
    measures: Annotated[
        Sequence[Measure | str] | None, Option("the measures, the main one first (the usual set)", typed=tuple[str, ...])
    ] = None
    rel: Annotated[int, Option("the lowest grade that counts as relevant (1)", least=1)] = 1
    limit: Annotated[int | None, Option("run only so many of the judged queries, drawn by the seed (all)", least=1)] = None
    seed: Annotated[int, Option("draws the queries of `limit` (0)", least=0)] = 0
    collapse: Annotated[str | None, Option("if documents are chunks: the field of their document, such as url (none)")] = None
    pool: Annotated[int | None, Option("collapse the first so many chunks of a ranking only (all)", least=1)] = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "systems", Systems(self.systems))
        object.__setattr__(self, "dataset", _check_dataset(self.dataset))
        measures = None if self.measures is None else tuple(parse_measures(self.measures))
        object.__setattr__(self, "measures", measures)
        check_lost_answers(self.systems, measures)
        check_options(self)
        if self.collapse == "":
            raise UsageError("collapse names no field", fix="name a field of the documents, such as url, or leave it out")
        if self.pool is not None and self.collapse is None:
            raise UsageError("pool counts chunks, and nothing is collapsed", fix='say collapse = "url", or leave out pool')


def _check_dataset(dataset: Dataset | str | os.PathLike[str]) -> Dataset | str:
    path = os.fspath(dataset) if isinstance(dataset, os.PathLike) else dataset
    if not isinstance(path, str | Dataset) or not path:
        raise UsageError(f"dataset is a {type(path).__name__}", fix='give a Dataset, the path of a folder, or "sample"')
    return path


MODELS = ("wordllama", "minilm")
"""The encoders of the default ladder; the hybrids take the last one whose weights are in the cache."""


def default_systems(*, wordllama: bool | None = None, minilm: bool | None = None) -> dict[str, Stage]:
    """The systems whose weights are in the cache; `wordllama` and `minilm` choose theirs whether or not the weights are there."""
    bm25 = BM25()
    ladder: dict[str, Stage] = {"bm25-title": BM25(fields=("title",)), "bm25": bm25}
    if _is_there("wordllama") if wordllama is None else wordllama:
        ladder["static"] = Dense(encoder_by_name("wordllama"))
    if _is_there("minilm") if minilm is None else minilm:
        ladder["minilm"] = Dense(encoder_by_name("minilm"))
    dense = ladder.get("minilm") or ladder.get("static")
    if dense is not None:
        hybrid = Fuse((bm25, dense), method="combsum", norm="z-score")
        ladder |= {"hybrid-rrf": RRF((bm25, dense)), "hybrid-z": hybrid}
        if "minilm" in ladder:
            ladder["late-interaction"] = Rerank(hybrid, MaxSim(encoder_by_name("minilm")), weight=0.5)
    return ladder


def missing_weights() -> str:
    """Which encoders of the ladder have no weights in the cache, and the command that gets them."""
    missing = [name for name in MODELS if not _is_there(name)]
    fix = f"run: rankproof models get {' '.join(missing)}"
    return f"no weights of {' and '.join(missing)}, so the systems that need them are left out; {fix}"


def _is_there(name: str) -> bool:
    return is_ready(encoder_by_name(name))


def system_kind(stage: Stage) -> SystemKind:
    """Whether the stage finds documents, joins rankings, reorders one, or is of the kind that it says itself."""
    own = getattr(stage, "kind", None)
    if own in get_args(SystemKind):
        return cast(SystemKind, own)
    inputs = stage.inputs()
    if not inputs:
        return "retrieval"
    return "fusion" if len(inputs) > 1 or isinstance(stage, Fuse) else "rerank"


def stage_with_inputs(stage: Stage) -> tuple[Stage, ...]:
    """The stage and every distinct stage that it rests on, lowest first."""
    return tuple(dict.fromkeys(stage_tree(stage)))


def baselines_of(systems: Mapping[str, Stage], result: Result) -> dict[str, str | None]:
    """For each system the one it is measured against: the best of those it is made of; for one made of none, the one before it.

    A system whose parts are all hidden is measured against none: what stands before it is no part of it.
    """
    names = {stage: name for name, stage in reversed(list(systems.items()))}
    first = {system.name: next(iter(system.measures.values())) for system in result.systems}
    worth = {name: -one.value if one.measure.higher_is_better is False else one.value for name, one in first.items()}
    baseline: dict[str, str | None] = {}
    before = None
    for name, stage in systems.items():
        inputs = stage.inputs()
        parts = [names[part] for part in inputs if part in names]
        baseline[name] = max(parts, key=worth.__getitem__, default=None) if inputs else before
        before = name
    return baseline
