"""The base classes of measures, the checks of their parameters, and the gains of grades."""

from __future__ import annotations

import math
import numbers
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, get_args

import numpy as np

from rankproof._align.hits import Hits, JudgedQueries
from rankproof._data.arrays import FloatArray, IntArray
from rankproof._data.validation import checked_choice, checked_setting
from rankproof._registry import Option, settings_of
from rankproof._statistics.means import weighted_mean
from rankproof.errors import UsageError, for_message
from rankproof.measures._relevant import Ideal, SumParts

NamedGain = Literal["linear", "exp"]
GainScheme = NamedGain | tuple[tuple[int, float], ...]
NAMED_GAINS: tuple[NamedGain, ...] = ("linear", "exp")


def gains(grades: IntArray, gain: GainScheme) -> FloatArray:
    """The gain of each grade: the grade itself, 2^grade - 1, or the one given for it; 0 for a grade below 0.

    Where gains are given, a grade without one is its own gain.
    """
    values = np.maximum(grades, 0).astype(np.float64)
    if gain == "linear":
        return values
    if gain == "exp":
        return np.asarray(np.exp2(values) - 1.0)
    for grade, value in gain:
        values[grades == grade] = value
    return values


def discount_gains(gain: FloatArray, ranks: IntArray) -> FloatArray:
    """Gains divided by log2(rank + 1)."""
    return np.asarray(gain / np.log2(ranks + 1.0))


def discounts(ranks: IntArray) -> FloatArray:
    """The discount of each rank: 1 / log2(rank + 1)."""
    return discount_gains(np.ones(len(ranks)), ranks)


_MAX_INTEGER = (1 << 63) - 1
_MAX_GAIN = 1e15
_NAME = re.compile(r"[^'\"()\[\]{}@,=\s]+")


def _number(value: object, name: str) -> float | int:
    """The value as a plain finite number; -0.0 becomes 0.0, so that equal numbers are written alike."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise UsageError(f"{name} {for_message(repr(value))} is not a number", fix=f"write {name} as a number")
    try:
        size = float(value)
    except OverflowError:
        size = math.inf
    if not math.isfinite(size):
        raise UsageError(f"{name} is not finite, or too large", fix=f"write {name} as a number")
    return int(value) if isinstance(value, numbers.Integral) else size + 0.0


def _integer(value: object, name: str, *, too_large: str) -> int:
    """The value as an integer from 1 to 2^63 - 1."""
    plain = _number(value, name)
    if plain != int(plain):
        raise UsageError(f"{name} {plain} is not a whole number", fix="write a whole number of at least 1")
    if plain < 1:
        raise UsageError(f"{name} must be >= 1", fix=f"it is {for_message(str(plain))}")
    if plain > _MAX_INTEGER:
        raise UsageError(f"{name} {for_message(str(plain))} is above 2^63 - 1", fix=too_large)
    return int(plain)


def _fraction(value: object, name: str) -> float:
    """The value as a number from 0 to 1."""
    plain = float(_number(value, name))
    if not 0 <= plain <= 1:
        raise UsageError(f"{name} {plain} is not between 0 and 1", fix="write it like 0.5")
    return plain


def _integer_or_none(name: str, too_large: str) -> Callable[[object], int | None]:
    """The check of an integer that may be left out."""
    return lambda value: None if value is None else _integer(value, name, too_large=too_large)


def _recalls(value: object) -> tuple[float, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise UsageError(f"recalls {for_message(repr(value))} is not a list", fix="write it like (0.25,0.5,0.75)")
    points = tuple(sorted({_fraction(recall, "recall") for recall in value}))
    if not points:
        raise UsageError("recalls is empty", fix="write it like (0.25,0.5,0.75)")
    return points


def _persistence(value: object) -> float:
    plain = _fraction(value, "p")
    if not 0 < plain < 1:
        raise UsageError(f"p {plain} is not between 0 and 1", fix="write it like 0.8")
    return plain


def _beta(value: object) -> float:
    plain = float(_number(value, "beta"))
    if plain < 0:
        raise UsageError(f"beta {plain} is below 0", fix="write it like 2")
    return plain


def _gain(value: object) -> GainScheme:
    """The name of a scheme, or the gain of each grade as a tuple of pairs."""
    pairs = list(value.items()) if isinstance(value, Mapping) else value
    if isinstance(pairs, tuple | list) and pairs and all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        return tuple(sorted({_grade(grade): _gain_value(gain) for grade, gain in pairs}.items()))
    for name in NAMED_GAINS:
        if value == name:
            return name
    fix = f"use {' or '.join(NAMED_GAINS)}, or the gain of each grade, like {{1:3,2:9}}"
    raise UsageError(f"gain {for_message(str(value))} is not known", fix=fix)


def _gain_value(value: object) -> float:
    """The value as a gain: at least 0, so that nDCG lies between 0 and 1, and small enough that no sum overflows."""
    plain = float(_number(value, "gain"))
    if not 0 <= plain <= _MAX_GAIN:
        raise UsageError(f"gain {plain:g} is not between 0 and {_MAX_GAIN:g}", fix="write it like 3")
    return plain


def _weights(value: object) -> tuple[float, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable) or len(weights := tuple(value)) != 4:
        raise UsageError(f"weights {for_message(repr(value))} are not four numbers", fix="write them like (1,-1,0,0)")
    return tuple(float(_number(weight, "weight")) for weight in weights)


def _grade(value: object) -> int:
    plain = _number(value, "grade")
    if plain != int(plain) or not 0 <= plain <= 1000:
        raise UsageError(f"a gain for grade {for_message(str(plain))}", fix="grades with a gain are whole numbers from 0 to 1000")
    return int(plain)


def _one_of(name: str, *known: str) -> Callable[[object], str]:
    return lambda value: checked_choice(name, value, known)


def _name_of(name: str, what: str, example: str) -> Callable[[object], str]:
    """A check for the name of a part, without characters that the notation uses."""

    def checked(value: object) -> str:
        if not isinstance(value, str) or not _NAME.fullmatch(value):
            problem = f"{name} {for_message(repr(value))} is not the name of {what}"
            raise UsageError(problem, fix=f"write it like {name}='{example}'")
        return value

    return checked


CUTOFF = Option("the number of documents, or contexts, that count", least=1, unset="all, if the measure allows that")
REL = Option("the lowest grade that counts as relevant", least=1, most=1000, unset="that of the evaluation, else 1")
MAX_GRADE = Option("the highest grade", least=1, most=1000, unset="that of the judgements")
GAIN = Option("what a grade is worth: linear, exp, or the gain of each grade")
RECALL = Option("the recall from which on precision counts", least=0, most=1, unset="required")
RECALLS = Option("the recalls whose precisions are averaged")
P = Option("persistence: how likely a user reads the next document", above=0, below=1)
BETA = Option("the weight of recall against precision", least=0)
WEIGHTS = Option(
    "what a relevant document that is retrieved, another one that is retrieved, a relevant one that is not, and the rest add"
)
TOKENS = Option("whether a word counts as often as it occurs, or once")
LEFT_OUT_WORDS = Option("the words that are left out")
MODEL = Option("the encoder that compares texts, such as minilm")
CLAIM_JUDGE = Option("the judge of claims: overlap, an encoder, nli:FOLDER, logprob:MODEL, or a language model")
UNIT = Option("what is judged: the sentences of a text, or the claims that a language model finds in it")
StopWords = Literal[
    "none",
    "danish",
    "dutch",
    "english",
    "french",
    "german",
    "italian",
    "korean",
    "norwegian",
    "portuguese",
    "russian",
    "spanish",
    "swedish",
    "turkish",
]
"""The lists of stop words in languages with words between spaces; their module is loaded when they are used."""
PARAMETER_CHECKS: dict[str, Callable[[object], Any]] = {
    "cutoff": _integer_or_none("cutoff", too_large="leave it out to count every document"),
    "rel": _integer_or_none("rel", too_large="grades are at most 1000"),
    "max_grade": _integer_or_none("max_grade", too_large="grades are at most 1000"),
    "recall": lambda value: None if value is None else _fraction(value, "recall"),
    "recalls": _recalls,
    "p": _persistence,
    "beta": _beta,
    "gain": _gain,
    "weights": _weights,
    "tokens": _one_of("tokens", "bag", "set"),
    "stop_words": _one_of("stop_words", *get_args(StopWords)),
    "model": _name_of("model", "an encoder", "minilm"),
    "judge": _name_of("judge", "a judge", "overlap"),
}
"""The checks of the parameters that several measures have in common."""
SHARED = (CUTOFF, REL, MAX_GRADE, GAIN, RECALL, RECALLS, P, BETA, WEIGHTS, TOKENS, LEFT_OUT_WORDS, MODEL, CLAIM_JUDGE)
"""The Options of these parameters; a parameter of that name with another Option is checked by its own."""


def format_parameter(value: object) -> str:
    """The value in the notation of measures."""
    if isinstance(value, str):
        return f"'{value}'"
    if isinstance(value, tuple) and value and isinstance(value[0], tuple):
        return "{" + ",".join(f"{grade}:{format_parameter(gain)}" for grade, gain in value) + "}"
    if isinstance(value, tuple):
        return "(" + ",".join(map(format_parameter, value)) + ")"
    return repr(value).removesuffix(".0")


SummaryKind = Literal["mean", "sum", "geometric"]
PipelineStage = Literal["finding", "ordering", "answering", "checking"]
FamilyName = Literal[
    "precision",
    "first-relevant",
    "average-precision",
    "gain",
    "user-models",
    "diversity",
    "preferences",
    "judgements",
    "answers",
    "claims",
]
NO_LIMIT = (1 << 63) - 1


class Advice(NamedTuple):
    """When to use a measure and when not; `stage` is the step of a pipeline that it measures.

    `by_cutoff` says what usual cutoffs mean for a person, each as a cutoff and a sentence.
    """

    stage: PipelineStage
    use: str
    avoid: str
    by_cutoff: tuple[tuple[int, str], ...] = ()


class RandomRanking(NamedTuple):
    """A random ranking of all documents of a corpus, cut at `depth`; `grades` are those of the query's judged documents."""

    grades: tuple[int, ...]
    documents: int
    depth: int | None = None

    def length(self, cutoff: int) -> int:
        """The number of ranks that count."""
        return min(cutoff, self.documents, self.documents if self.depth is None else self.depth)

    def relevant(self, rel: int) -> int:
        """The number of documents with a grade of at least rel."""
        return sum(grade >= rel for grade in self.grades)


@dataclass(frozen=True, kw_only=True)
class Measure(ABC):
    """A measure with its parameters; measures with equal parameters are equal.

    `at` names the parameter that `@` sets, None if there is none; `needs` is an example of a measure that requires it.
    `positional` names the parameter that may stand first without its name, `suffix` the one that trec_eval and ranx write after
    a dot or an underscore. `aliases` are the names of other tools, `alias_parameters` the parameters that an alias implies.
    `parity` names the tool that gives the same values to 1e-9.
    `family` groups measures in lists and documentation; `formula` is for a ranking of one query.
    `additive`: what a document adds depends on its own grade and rank alone; `best_by_grade`: no order is better than by grade.

    A parameter of its own is checked by its type and Option, as the settings of stages are:
    `power: Annotated[float, Option("exponent of the rank", least=0)] = 1.0`.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    definition: ClassVar[str]
    source: ClassVar[str]
    family: ClassVar[FamilyName | None] = None
    formula: ClassVar[str] = ""
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    kind: ClassVar[Literal["binary", "graded", "count", "answer", "text"]] = "binary"
    summary: ClassVar[SummaryKind] = "mean"
    higher_is_better: ClassVar[bool | None] = True
    parity: ClassVar[Literal["trec_eval"] | None] = None
    at: ClassVar[str | None] = None
    positional: ClassVar[str | None] = None
    needs: ClassVar[str | None] = None
    suffix: ClassVar[str | None] = None
    additive: ClassVar[bool] = False
    needs_subtopics: ClassVar[bool] = False
    best_by_grade: ClassVar[bool] = True
    aliases: ClassVar[tuple[str, ...]] = ()
    alias_parameters: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    advice: ClassVar[Advice | None] = None

    def __post_init__(self) -> None:
        for setting in settings_of(type(self)):
            value, option = getattr(self, setting.field), setting.option
            if setting.field in PARAMETER_CHECKS and (not option.description or option in SHARED):
                object.__setattr__(self, setting.field, PARAMETER_CHECKS[setting.field](value))
            elif not (value is None and setting.optional):
                object.__setattr__(self, setting.field, checked_setting(setting, value))

    @abstractmethod
    def values(self, hits: Hits) -> FloatArray:
        """One value for each judged query; 0 for a query without relevant documents or missing from the run."""

    def parts(self, hits: Hits) -> SumParts | None:
        """What each document adds, for a measure that is a sum over documents; None for any other."""
        return None

    def ideal(self, judged: JudgedQueries) -> Ideal | None:
        """The ideal ranking, for a measure that compares with one."""
        return None

    def chance(self, ranking: RandomRanking) -> float | None:
        """The expected value of a random ranking; None where there is no closed form."""
        return None

    def summarise(self, values: FloatArray, weights: FloatArray | None = None) -> float:
        """One number for all queries, the same bits for any order of them; 0 without queries. A sum has no weights."""
        return weighted_mean(values, weights) if len(values) else 0.0

    def with_rel(self, rel: int) -> Measure:
        """The measure with this rel, where it has a rel that was not set."""
        return self

    def complete(self) -> Self:
        """The same measure; an error if it lacks a required cutoff."""
        if self.needs is not None and self.at is not None and getattr(self, self.at) is None:
            raise UsageError(f"{self.name} needs a {self.at}", fix=f"write it like {self.needs}")
        return self

    def __call__(self, **parameters: Any) -> Measure:
        if "judged_only" in parameters and self.kind in ("binary", "graded"):
            # Late, as _judged imports this module.
            from rankproof.measures._judged import with_judged_only

            return with_judged_only(self, parameters.pop("judged_only"))(**parameters)
        return replace(self, **self._known(parameters))

    def __matmul__(self, at: float) -> Measure:
        if self.at is None:
            raise UsageError(f"{self.name} takes no cutoff", fix=f"write {self}")
        return replace(self, **{self.at: at})

    def __str__(self) -> str:
        return self._notation

    @cached_property
    def _notation(self) -> str:
        at = None if self.at is None else getattr(self, self.at)
        inside = ",".join(f"{name}={format_parameter(value)}" for name, value in self._changed().items())
        return self.name + (f"({inside})" if inside else "") + ("" if at is None else f"@{format_parameter(at)}")

    def __repr__(self) -> str:
        return str(self)

    @property
    def is_fraction(self) -> bool:
        """Whether the value is a mean from 0 to 1, so that percentage points make sense."""
        return self.summary == "mean" and self.range == (0.0, 1.0)

    @property
    def has_winner(self) -> bool:
        """Whether the measure ranks systems; a count does not."""
        return self.kind != "count" and self.higher_is_better is not None

    def parameters(self) -> dict[str, Any]:
        """Every parameter with its value, in the order of the notation."""
        return {_written(field.name): getattr(self, field.name) for field in fields(self)}

    def _changed(self) -> dict[str, Any]:
        shown = [field for field in fields(self) if field.name != self.at]
        return {_written(field.name): getattr(self, field.name) for field in shown if getattr(self, field.name) != field.default}

    def _known(self, parameters: dict[str, Any]) -> dict[str, Any]:
        known = {_written(field.name): field.name for field in fields(self)}
        for name in parameters:
            if _written(name) not in known:
                raise UsageError(f"{self.name} has no parameter {name}", fix=f"it takes {', '.join(known) or 'none'}")
        return {known[_written(name)]: value for name, value in parameters.items()}


def _written(field: str) -> str:
    """The name of a parameter in the notation: `from` for the field `from_`, as `from` is a word of Python."""
    return field.rstrip("_")


class SummedMeasure(Measure):
    """A measure that is a sum over documents, divided by a number for each query."""

    @abstractmethod
    def parts(self, hits: Hits) -> SumParts:
        """What each document adds."""

    def values(self, hits: Hits) -> FloatArray:
        return self.parts(hits).values()


@dataclass(frozen=True, kw_only=True, repr=False)
class CutoffMeasure(Measure):
    """A measure of the first `cutoff` documents of each ranking."""

    cutoff: Annotated[int | None, CUTOFF] = None
    at: ClassVar[str | None] = "cutoff"
    suffix: ClassVar[str | None] = "cutoff"

    @property
    def depth(self) -> int:
        """The last rank that counts."""
        self.complete()
        return NO_LIMIT if self.cutoff is None else self.cutoff


@dataclass(frozen=True, kw_only=True, repr=False)
class BinaryMeasure(Measure):
    """A measure of binary relevance: a document is relevant if its grade is at least rel, which is 1 by default."""

    rel: Annotated[int | None, REL] = None

    @property
    def least(self) -> int:
        """The lowest grade that counts as relevant."""
        return 1 if self.rel is None else self.rel

    def with_rel(self, rel: int) -> Measure:
        return self if self.rel is not None or rel == 1 else replace(self, rel=rel)


@dataclass(frozen=True, kw_only=True, repr=False)
class BinaryCutoffMeasure(CutoffMeasure, BinaryMeasure):
    """A measure of binary relevance of the first `cutoff` documents of each ranking."""


def worst_value(measure: Measure) -> float | None:
    """The value of a missing answer: 0, or the highest value where lower is better; None if the measure has no worst value."""
    worst = measure.range[1] if measure.higher_is_better is False else max(measure.range[0], 0.0)
    return worst if all(map(math.isfinite, (worst, measure.range[0]))) else None
