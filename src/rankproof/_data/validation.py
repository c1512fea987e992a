"""Checks of arguments, settings and ids, how rankings are read, and the Options of arguments that several functions have."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass
from functools import wraps
from numbers import Integral
from typing import Annotated, Any, Literal, ParamSpec, TypedDict, TypeVar, cast

from rankproof._data.row_errors import OnConflict, OnDuplicate, row_error
from rankproof._registry import Option, Setting, arguments_of, settings_of
from rankproof.errors import InputError, UsageError, for_message, type_phrase

ID_DIGITS = 16
"""Hexadecimal digits of an id that is made."""


def made_id(column: str, content: Sequence[str]) -> str:
    """An id that depends on the content alone: the first letter of the column and the beginning of a sha256."""
    import hashlib

    return column[0] + hashlib.sha256("\0".join(content).encode()).hexdigest()[:ID_DIGITS]


def checked_integer(name: str, value: Any, least: float | None = 1, most: float | None = None) -> int:
    """The value as an integer within the bounds."""
    if isinstance(value, bool) or not isinstance(value, int) or not _within(value, least, most):
        bounds = _bounds(*(None if bound is None else int(bound) for bound in (least, most)), form=",")
        raise UsageError(f"{name} is {for_message(str(value))}", fix=f"choose a whole number{bounds}")
    return value


def checked_number(name: str, value: Any, low: float | None = None, high: float | None = None, *, open_: bool = False) -> float:
    """The value as a finite number within the bounds, which are included unless the interval is open."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and _is_finite(value)
    if not is_number or not _within(value, low, high) or (open_ and value in (low, high)):
        raise UsageError(
            f"{name} is {for_message(str(value))}", fix=f"choose a number{_bounds(low, high, form='g', open_=open_)}"
        )
    # -0.0 becomes 0.0, so that equal numbers are written alike.
    return float(value) + 0.0


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def fields(value: Any, name: str = "fields") -> tuple[str, ...]:
    """The value as names of document fields, at least one and none twice."""
    chosen = checked_names(name, value)
    if not chosen or len(set(chosen)) < len(chosen):
        raise UsageError(
            f"{name} is {for_message(str(list(chosen)))}", fix='specify at least one field, each only once: ["title", "text"]'
        )
    return chosen


def checked_bool(name: str, value: Any) -> bool:
    """The value as true or false."""
    if not isinstance(value, bool):
        raise UsageError(f"{name} is {for_message(str(value))}", fix="choose true or false")
    return value


def checked_text(name: str, value: Any) -> str:
    """The value as text, which may be empty."""
    if not isinstance(value, str):
        raise UsageError(f"{name} is {type_phrase(value)}", fix="pass text")
    return value


def checked_names(name: str, value: Any) -> tuple[str, ...]:
    """The value as a list of texts, none of them empty; a single text is an error."""
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(item, str) and item for item in value):
        raise UsageError(f"{name} is {for_message(str(value))}", fix='pass a list of names, such as ["title", "text"]')
    return tuple(value)


def checked_choice(name: str, value: Any, known: Collection[str]) -> str:
    """The value as one of the known names."""
    if not isinstance(value, str) or value not in known:
        choices = ", ".join(known)
        fix = f"choose one of {choices}" if len(known) > 1 else f"choose {choices}, or leave it out"
        raise UsageError(f"{name} is {for_message(str(value))}", fix=fix)
    return value


def _checked_texts(name: str, value: Any) -> Any:
    """A text or a collection of texts, unchanged."""
    if not isinstance(value, Collection):
        raise UsageError(f"{name} is {type_phrase(value)}", fix="pass text, or a list of texts")
    for item in value:
        if not isinstance(item, str):
            raise UsageError(f"{name} contains {type_phrase(item)}", fix="pass text, or a list of texts")
    return value


def check_options(value: Any, more: Mapping[Any, Callable[[str, Any], Any]] | None = None) -> None:
    """Checks every setting of a frozen dataclass by its type and Option, and stores numbers as float and lists as tuples.

    `more` has the checks of further types; a value of a type without a check is not changed.
    """
    for setting in settings_of(type(value)):
        plain = getattr(value, setting.field)
        if not (plain is None and setting.optional):
            object.__setattr__(value, setting.field, checked_setting(setting, plain, more))


def checked_setting(setting: Setting, value: Any, more: Mapping[Any, Callable[[str, Any], Any]] | None = None) -> Any:
    """The value of a setting in its plain form; `more` has the checks of further types."""
    name, kind, option = setting.field.rstrip("_"), setting.type, setting.option
    if more and kind in more:
        return more[kind](name, value)
    if option.role == "fields":
        return fields(value, name)
    if kind is int:
        return checked_integer(name, value, option.least, option.most)
    if kind is float and (option.above, option.below) != (None, None):
        return checked_number(name, value, option.above, option.below, open_=True)
    if kind is float:
        return checked_number(name, value, option.least, option.most)
    if setting.choices:
        return checked_choice(name, value, setting.choices)
    if kind == bool | tuple[str, ...] and not isinstance(value, bool):
        return checked_names(name, value)
    plain: Mapping[Any, Callable[[str, Any], Any]] = {
        bool: checked_bool,
        str: checked_text,
        tuple[str, ...]: checked_names,
        str | Sequence[str]: _checked_texts,
    }
    return plain[kind](name, value) if kind in plain else value


def _within(value: float, least: float | None, most: float | None) -> bool:
    return (least is None or value >= least) and (most is None or value <= most)


def _bounds(least: float | None, most: float | None, *, form: str, open_: bool = False) -> str:
    """The bounds in words, after "a number"; empty without bounds."""
    if open_:
        words = {"above": least, "below": most}
        return " " + " and ".join(f"{word} {bound:{form}}" for word, bound in words.items() if bound is not None)
    if least is None:
        return "" if most is None else f" of at most {most:{form}}"
    return f" of at least {least:{form}}" if most is None else f" from {least:{form}} to {most:{form}}"


def checked_id(value: object, column: str, *, source: str = "", line: int | None = None) -> str:
    """The value as an id: text, or an integer as its decimal text; anything else is an error."""
    if not isinstance(value, str):
        # Also the integers of numpy, which numpy registers, so that checks of options need not import it.
        if isinstance(value, Integral) and not isinstance(value, bool):
            return str(int(value))
        raise row_error("id-type", source=source, line=line, column=column, token=repr(value), kind=type(value).__name__)
    if not value:
        raise row_error("id-empty", source=source, line=line, column=column)
    if not value.isascii():
        _check_surrogates(value, column, source, line)
    if "\0" in value:
        raise row_error("id-nul", source=source, line=line, column=column, token=value)
    return value


def are_plain_ids(ids: Sequence[object]) -> bool:
    """Whether all ids are text of ASCII characters without NUL, and none is empty: one look at all of them, for speed."""
    if not (set(map(type, ids)) <= {str} and all(ids)):
        return False
    text = "".join(cast("Sequence[str]", ids))
    return text.isascii() and "\0" not in text


def checked_keys(keys: Iterable[object], column: str, *, source: str = "") -> Iterator[str]:
    """The keys of a mapping as ids; two with the same text, like 1 and "1", are an error."""
    seen: set[str] = set()
    for key in keys:
        name = checked_id(key, column, source=source)
        if name in seen:
            raise row_error("id-clash", source=source, column=column, token=name)
        seen.add(name)
        yield name


def _check_surrogates(value: str, column: str, source: str, line: int | None) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _surrogate_error(value, column, source, line) from None


def _surrogate_error(value: str, column: str, source: str, line: int | None) -> InputError:
    return row_error("id-surrogate", source=source, line=line, column=column, token=ascii(value))


Order = Literal["score", "rank"]


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How rankings are read, ordered and truncated.

    `depth` and `judged_only` are -M and -J of trec_eval; `float32` compares scores as trec_eval 9 does.
    """

    order: Order = "score"
    lower_is_better: bool = False
    float32: bool = False
    on_duplicate: OnDuplicate = "error"
    depth: int | None = None
    judged_only: bool = False
    threads: int = 1


P = ParamSpec("P")
R = TypeVar("R")

FILES = str | tuple[str, ...]
"""How JSON and TOML name data: a path, or several."""
NAMED_FILES = str | Mapping[str, str]
"""How JSON and TOML name runs: a path, or a path for each name."""
ENCODING = Option("encoding of the files", metavar="E", default="utf-8", rare=True)
DELIMITER = Option("column separator of CSV files; tab or \\t for a tab", metavar="D", unset="detected", rare=True)
Encoding = Annotated[str, ENCODING]
Delimiter = Annotated[str | None, DELIMITER]
GRADE_MAP = Option("grades of named labels: E=3,S=2,C=1,I=0", metavar="A=N,…", rare=True)
GradeMapOption = Annotated[Mapping[str, int] | None, GRADE_MAP]
ON_CONFLICT = Option("which grade to keep if a document is judged twice with two grades", rare=True, default="error")
OnConflictOption = Annotated[OnConflict, ON_CONFLICT]
ON_DUPLICATE = Option("what to do if a query lists a document twice", rare=True, default="error")
OnDuplicateOption = Annotated[OnDuplicate, ON_DUPLICATE]
OrderOption = Annotated[Order, Option("rank documents by score or by rank", default="score", rare=True)]
LowerIsBetterOption = Annotated[bool, Option("the scores are distances", default=False, rare=True)]
REL = Option("the lowest grade that counts as relevant", default=1, least=1, most=10**18, letter="-l", metavar="N")
SEED = Option("random seed", least=0, most=(1 << 63) - 1, rare=True)

BY = Option(
    "group by a field of the queries, length, relevant (how many are relevant) or complexity", metavar="FIELD", repeated=True
)
DATASET = Option(
    "the dataset of run files, for texts, fields and weights",
    metavar="SOURCE",
    unset="results have theirs",
    typed=str,
    role="path",
)
LOG = Option(
    "log of looks and comparisons, JSON lines",
    metavar="FILE",
    unset="on the command line looks.jsonl in the results folder; none for run files",
    role="output",
    rare=True,
)
LABELS = Option(
    "labels of people that check a machine judge, made with `rankproof serve RESULTS --label 30`",
    metavar="FILE",
    unset="the file beside the results folder",
    role="path",
    rare=True,
)
BaseUrl = Annotated[
    str, Option("the address of the server, OpenAI-compatible", metavar="URL", default="https://api.openai.com/v1", rare=True)
]
ApiKeyEnv = Annotated[str, Option("the environment variable with the API key, empty for none", metavar="VAR", rare=True)]
CONCURRENCY = Option("how many calls run at once", least=1, most=256, metavar="N", rare=True)
Concurrency = Annotated[int, CONCURRENCY]
PriceIn = Annotated[float, Option("price of a million prompt tokens", least=0, most=1e6, metavar="X", rare=True)]
PriceOut = Annotated[float, Option("price of a million reply tokens", least=0, most=1e6, metavar="X", rare=True)]
BUDGET = Option(
    "limits on calls to models and search engines: calls=500,tokens=2000000,money=1.50",
    metavar="LIMITS",
    unset="none",
    typed=str,
)
CACHE = Option("the cache folder, see `rankproof cache`", metavar="FOLDER", unset="that of this user", rare=True)
REPLIES = Option(
    "the folder of replies",
    unset="none; on the command line that of `rankproof cache`",
    metavar="FOLDER",
    role="output",
    rare=True,
)


class ServerArguments(TypedDict, total=False):
    """The settings of a language model behind a server that are also flags."""

    base_url: BaseUrl
    api_key_env: ApiKeyEnv
    price_in: PriceIn
    price_out: PriceOut


DOCUMENTS = Option("documents in the corpus, for the random ranking", least=1, unset="those of the results")
BANDS = Option("band profiles as TOML, instead of the built-in ones", metavar="FILE", role="path", rare=True)
PROFILE = Option("only this band profile", metavar="NAME", repeated=True, unset="all", rare=True)


def public(function: Callable[P, R]) -> Callable[P, R]:
    """The function, which rejects a named argument that its Option does not allow, before anything is read."""

    @wraps(function)
    def checked(*values: P.args, **named: P.kwargs) -> R:
        check_arguments(function, named)
        return function(*values, **named)

    return checked


def check_arguments(function: Any, values: Mapping[str, Any]) -> None:
    """Checks the arguments of a function, or the keys of a TypedDict, by their types and Options."""
    known = arguments_of(function)
    for name, value in values.items():
        if name not in known and not any(setting.option.role == "parameters" for setting in known.values()):
            raise TypeError(f"unexpected keyword argument {name!r}")
        if name in known and not (value is None and known[name].optional):
            checked_setting(known[name], value)


def describe(function: Any) -> str:
    """The docstring of a public function with what each parameter does, before its example."""
    text, mark, example = (function.__doc__ or "").partition("\n\n    >>> ")
    lines = "\n".join(f"      {line}" for line in parameter_lines(function))
    return f"{text.rstrip()}\n\n    Parameters:\n{lines}\n{mark}{example}"


def parameter_lines(function: Any) -> Iterator[str]:
    """Each parameter of a public function with what it does, its values and its default."""
    for name, setting in arguments_of(function).items():
        yield f"{name}: {described(setting)}"


def described(setting: Setting) -> str:
    """What a setting does, with its choices and its default."""
    return f"{_sentence(setting)}{default_text(setting)}"


def _sentence(setting: Setting) -> str:
    """What a setting does, followed by its choices if it has any and the sentence does not name them."""
    text = setting.option.description
    return text if all(choice in text for choice in setting.choices) else f"{text}: {', '.join(setting.choices)}"


def default_text(setting: Setting) -> str:
    """The default in parentheses; empty if there is none, or if it is a switch that is off."""
    if setting.option.unset:
        return f" (default: {setting.option.unset})"
    default = setting.default
    if default is MISSING or default is None or default is False or default in ((), "", {}):
        return ""
    if isinstance(default, tuple):
        return f" (default: {','.join(map(str, default))})"
    return f" (default: {default:g})" if isinstance(default, float) else f" (default: {default})"
