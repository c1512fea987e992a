"""The notation of measures, and the spellings of other tools, as measures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Annotated, Any, NamedTuple

from rankproof._registry import Option, Registry
from rankproof.errors import ExternalError, UsageError, closest_name, escape_invisible, for_message
from rankproof.measures._base import Measure
from rankproof.measures._own import GradesFunction, import_measure, is_own, own_measure, remembered_measure
from rankproof.measures._registry import ANSWER_MEASURES, MEASURES, TEXT_MEASURES
from rankproof.measures._trec_names import AMBIGUOUS_NAMES, NICKNAMES, ONLY_TREC_CUTOFFS, spellings_of

# Parameters as ir_measures writes them; None is any value.
_PARAMETERS: dict[tuple[str, object], tuple[str, object]] = {
    ("gains", None): ("gain", None),
    ("dcg", "log2"): ("gain", "linear"),
    ("dcg", "exp-log2"): ("gain", "exp"),
}

# trec_eval writes rbp for its own, graded rank-biased precision, ranx for the binary one with p, as in rbp.95.
_TREC_RBP = "GradedRBP"
# The parameters of which trec_eval writes a list after the name.
_LISTED = ("recalls", "weights")

_MAX_LENGTH = 500
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_FURTHER_NUMBER = re.compile(r"[+-]?[0-9.][0-9.eE+-]*|(?:[0-9]+|p)=[^=]+")
_MEASURE_TEXT = re.compile(r"(?P<name>[^()@]+?)(?:\((?P<inside>.*)\))?(?:@(?P<at>[^()@]*?))?(?:-l(?P<level>[0-9]+))?")
_SUFFIXED = re.compile(r"(?P<name>.+?)[._](?P<suffix>[+-]?[0-9.][0-9.eE+-]*|(?:[0-9]+|p)=[^=]+)")
_WORD = re.compile(r"(['\"]?)([A-Za-z][A-Za-z0-9-]*)\1")
_PLAIN = r"[^'\"()\[\]{}@,=\s]+"
_QUOTED = re.compile(rf"(['\"])({_PLAIN}|{_PLAIN}(?: +{_PLAIN})*\.toml)\1")
"""A value without spaces, or the path of a file."""
MODULE_AND_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_]*")
_NAMES_FILE = re.compile(r"criterion\s*\(", re.IGNORECASE)
"""A measure with a file, which may have changed since the text was parsed."""
_FLAGS = {"True": True, "true": True, "False": False, "false": False}
_OPEN, _CLOSE = "([{", ")]}"

MeasureLike = str | Measure | type[Measure] | GradesFunction
"""A measure, its name in any notation, or a function or class of one's own."""
ParameterValue = float | int | str | tuple[float, ...] | dict[float, float]


class MeasureText(NamedTuple):
    """One measure as written; `more` are the numbers that follow it, as in P@5,10."""

    text: str
    name: str
    inside: str | None
    at: str | None
    level: str | None
    more: tuple[str, ...]

    def split_suffix(self) -> tuple[str, str] | None:
        """Name and suffix of a spelling like ndcg_cut_10 or P.5, None for any other."""
        match = _SUFFIXED.fullmatch(self.name)
        return None if match is None else (match["name"], match["suffix"])


def split_measures(text: str) -> list[MeasureText]:
    """Every measure of a list, separated by commas or spaces; a number belongs to the measure before it."""
    groups: list[list[str]] = []
    for part in _split_outside_brackets(re.sub(r"\s*@\s*", "@", text.strip()), ", \t\r\n"):
        if groups and _FURTHER_NUMBER.fullmatch(part):
            groups[-1].append(part)
        else:
            groups.append([part])
    return [_parse_measure_text(first, tuple(more)) for first, *more in groups]


def _parse_measure_text(text: str, more: tuple[str, ...]) -> MeasureText:
    match = _MEASURE_TEXT.fullmatch(text) if len(text) <= _MAX_LENGTH else None
    if match is None:
        raise measure_syntax_error(text)
    return MeasureText(text, match["name"], match["inside"], match["at"], match["level"], more)


def _split_outside_brackets(text: str, separators: str) -> Iterator[str]:
    """The parts of the text between separators outside brackets."""
    depth, start = 0, 0
    for at, char in enumerate(text):
        depth += (char in _OPEN) - (char in _CLOSE)
        if depth == 0 and char in separators:
            if text[start:at].strip():
                yield text[start:at].strip()
            start = at + 1
    if text[start:].strip():
        yield text[start:].strip()


def measure_syntax_error(text: str) -> UsageError:
    """The error for a text that is not a measure."""
    return UsageError(f'cannot read "{for_message(text)}" as a measure', fix="write it like nDCG@10 or nDCG(gain='exp')@10")


def parse_parameters(inside: str, positional: str | None = None) -> dict[str, ParameterValue]:
    """The parameters between the brackets, each written name=value; the first may be the value of `positional` in quotes."""
    parameters: dict[str, ParameterValue] = {}
    for at, part in enumerate(_split_outside_brackets(inside, ",")):
        if at == 0 and positional is not None and _QUOTED.fullmatch(part):
            part = f"{positional}={part}"
        name, equals, value = (side.strip() for side in part.partition("="))
        if not equals or not name.isidentifier() or name in parameters:
            raise UsageError(f'cannot read "{for_message(part)}" as a parameter', fix="write each parameter once, like rel=2")
        parameters[name] = _value(value)
    return parameters


def _value(text: str) -> ParameterValue:
    inner = text[1:-1]
    if text in _FLAGS:
        return _FLAGS[text]
    if word := _WORD.fullmatch(text):
        return word[2]
    if quoted := _QUOTED.fullmatch(text):
        return quoted[2]
    if text.startswith("{") and text.endswith("}"):
        return parse_gain_pairs(list(_split_outside_brackets(inner, ",")))
    if (text[:1], text[-1:]) in {("(", ")"), ("[", "]")}:
        return tuple(parse_number(part, "value") for part in _split_outside_brackets(inner, ","))
    if text[:1] in ("'", '"'):
        raise UsageError(f"the value {for_message(text)} cannot be read", fix="use letters, digits and . : / _ - between quotes")
    return parse_number(text, "value")


def parse_gain_pairs(parts: list[str]) -> dict[float, float]:
    """Gains by grade, each written 1:3 or 1=3."""
    split = [[side.strip() for side in re.split("[:=]", part, maxsplit=1)] for part in parts]
    if any(len(pair) != 2 for pair in split):
        raise UsageError(f'cannot read "{for_message(",".join(parts))}" as gains', fix="write them like {1:3,2:9}")
    gains = {parse_number(grade, "grade"): parse_number(gain, "gain") for grade, gain in split}
    if len(gains) != len(split):
        raise UsageError(f'a grade occurs twice in "{for_message(",".join(parts))}"', fix="give each grade one gain")
    return gains


def parse_number(text: str, what: str) -> float:
    """A decimal number, an integer where it is written as one."""
    if not _NUMBER.fullmatch(text) or len(text) > 100:
        example = "0.5" if what == "recall" else "10"
        raise UsageError(f'{what} "{for_message(text)}" is not a number', fix=f"write it like {example}")
    return int(text) if _INTEGER.fullmatch(text) else float(text)


def parse_measure(
    text: Annotated[MeasureLike, Option("the name, such as nDCG@10")],
) -> Measure:
    """The measure with this name, such as nDCG@10."""
    measures = parse_measures(text)
    if len(measures) != 1:
        raise UsageError(f'"{for_message(str(text))}" names {len(measures)} measures', fix="specify one, or use parse_measures")
    return measures[0]


def parse_measures(texts: MeasureLike | Iterable[MeasureLike]) -> list[Measure]:
    """Every measure that the texts name, in order, without repeats."""
    named = (texts,) if isinstance(texts, str) else tuple(texts) if isinstance(texts, list | tuple) else ()
    is_cached = bool(named) and all(isinstance(text, str) and not _NAMES_FILE.search(text) for text in named)
    return list(_parse_texts(named) if is_cached else _parse_entries(texts))


# A loop over queries parses the same texts each time.
@lru_cache(maxsize=256)
def _parse_texts(texts: tuple[str, ...]) -> tuple[Measure, ...]:
    return _parse_entries(texts)


def _parse_entries(texts: MeasureLike | Iterable[MeasureLike]) -> tuple[Measure, ...]:
    entries = _checked_texts(texts)
    replaced = _replaced_names([entry for entry in entries if isinstance(entry, str)])
    measures = [
        measure
        for entry in entries
        for measure in ([entry.complete()] if isinstance(entry, Measure) else _parsed(entry, replaced))
    ]
    if not measures:
        raise UsageError("no measure is named", fix="specify one, like nDCG@10")
    return tuple(dict.fromkeys(measures))


def _checked_texts(texts: MeasureLike | Iterable[MeasureLike]) -> list[str | Measure]:
    entries = [texts] if isinstance(texts, str | Measure) or not isinstance(texts, Iterable) else list(texts)
    return [_checked_text(entry) for entry in entries]


def _checked_text(entry: object) -> str | Measure:
    if isinstance(entry, str | Measure):
        return own_measure(entry) if isinstance(entry, Measure) and not type(entry).__module__.startswith("rankproof.") else entry
    if (text := _text_of_other_library(entry)) is not None:
        return text
    if is_own(entry):
        return own_measure(entry)
    raise UsageError(f"{for_message(repr(entry))} is not a measure", fix="pass measures, or their names as text")


def _text_of_other_library(measure: object) -> str | None:
    """The text of a measure of ir_measures, or the name of a measure function of ranx; None for anything else."""
    if any(kind.__module__.partition(".")[0] == "ir_measures" for kind in type(measure).__mro__):
        return str(measure)
    if callable(measure) and str(getattr(measure, "__module__", "")).startswith("ranx."):
        return str(getattr(measure, "__name__", measure))
    return None


def _replaced_names(texts: Sequence[str]) -> frozenset[str]:
    """The names that are given with parameters of their own beside a nickname, which then leaves them out as trec_eval does."""
    parts = [part for text in texts for part in split_measures(text)]
    if not any(part.text.lower() in NICKNAMES for part in parts):
        return frozenset()
    return frozenset(suffixed[0].lower() for part in parts if (suffixed := part.split_suffix()))


def _parsed(text: str, replaced: frozenset[str]) -> tuple[Measure, ...]:
    return _parse_list.__wrapped__(text, replaced) if _NAMES_FILE.search(text) else _parse_list(text, replaced)


@lru_cache(maxsize=256)
def _parse_list(text: str, replaced: frozenset[str] = frozenset()) -> tuple[Measure, ...]:
    return tuple(measure.complete() for part in split_measures(text) for measure in _measures_of(part, replaced))


def _measures_of(part: MeasureText, replaced: frozenset[str]) -> Sequence[Measure]:
    """The measures of a nickname, a spelling with a suffix, or a name with parameters and cutoffs."""
    if part.text.lower() in NICKNAMES:
        return _parse_list(spellings_of(part.text.lower(), replaced)) if not part.more else _check_no_more_numbers(part)
    part = _with_written_cutoff(part)
    suffixed = part.split_suffix()
    if suffixed and not _is_name(part.name) and not _is_of_ones_own(part.name):
        return _with_suffixes(suffixed[0], (suffixed[1], *part.more), part)
    if part.inside is None and part.name in AMBIGUOUS_NAMES:
        what, fix = AMBIGUOUS_NAMES[part.name]
        raise UsageError(what, fix=fix)
    is_trec_rbp = part.name == "rbp" and part.inside is None and part.at is None
    named = _measure_named(_TREC_RBP if is_trec_rbp else part.name)
    base = named(**_parameters(part, named.positional))
    ats = () if part.at is None else (*part.at.split("/"), *part.more)
    if not ats and part.inside is None:
        ats = ONLY_TREC_CUTOFFS.get(part.name.lower(), ())
    if part.more and part.at is None:
        _check_no_more_numbers(part)
    return [base @ parse_number(at, base.at or "cutoff") for at in ats] or [_of_answers(base)]


def _with_written_cutoff(part: MeasureText) -> MeasureText:
    """The measure with the number at the end of its name as its cutoff, as people write NDCG10, MRR10 and Recall100.

    Names that end in a number, such as NERR8, and measures with another number, as the p of RBP, stay as they are.
    """
    name = part.name
    if part.at is not None or not name.isascii() or _is_name(name) or _is_of_ones_own(name):
        return part
    ends = (at for at in range(1, len(name)) if name[at] != "0" and name[at:].isdecimal() and _is_name(name[:at]))
    cuts = [at for at in ends if _measure_named(name[:at]).suffix == "cutoff"]
    if len(cuts) != 1 or name.lower() in map(str.lower, MEASURES.entry_points()):
        return part
    return part._replace(name=name[: cuts[0]], at=name[cuts[0] :])


def _of_answers(base: Measure) -> Measure:
    """The measure of answers of the same name, where neither a cutoff nor a parameter says that rankings are meant."""
    is_bare = base.name in _ranking_names() and base == MEASURES[base.name]
    return ANSWER_MEASURES.get(base.name, base) if is_bare else base


def _check_no_more_numbers(part: MeasureText) -> list[Measure]:
    raise UsageError(
        f'"{for_message(part.more[0])}" follows {for_message(part.text)}, which takes no list', fix="write lists like P@5,10"
    )


def _with_suffixes(name: str, suffixes: tuple[str, ...], part: MeasureText) -> list[Measure]:
    """The spellings of trec_eval and ranx: ndcg_cut_10, P.5,10, ndcg.1=3,2=9, rbp.p=0.8, utility.1,-1,0,0, rbp.95."""
    pairs = [suffix for suffix in suffixes if "=" in suffix]
    base = _measure_named(_TREC_RBP if name == "rbp" and pairs else name)(**_parameters(part))
    if base.suffix is None or part.inside is not None or part.at is not None:
        raise measure_syntax_error(part.text)
    if pairs:
        return [base(**_paired_parameters(suffixes))]
    if base.suffix in _LISTED:
        return [base(**{base.suffix: tuple(parse_number(suffix, base.suffix) for suffix in suffixes)})]
    dot = "0." if base.suffix == "p" else ""
    return [base(**{base.suffix: parse_number(dot + suffix, base.suffix)}) for suffix in suffixes]


def _paired_parameters(pairs: Sequence[str]) -> dict[str, ParameterValue]:
    """The parameters of pairs such as p=0.8 and 1=3: a whole number is a grade and has a gain."""
    named = dict(pair.split("=", 1) for pair in pairs if "=" in pair and not pair[0].isdigit())
    gains = [pair for pair in pairs if pair[0].isdigit()]
    parameters: dict[str, ParameterValue] = {name: parse_number(value, name) for name, value in named.items()}
    return parameters | ({"gain": parse_gain_pairs(gains)} if gains else {})


def _parameters(part: MeasureText, positional: str | None = None) -> dict[str, ParameterValue]:
    parameters = parse_parameters(part.inside or "", positional)
    if part.level is not None:
        parameters["rel"] = parse_number(part.level, "rel")
    return dict(_translate_parameter(name, value) for name, value in parameters.items())


def _translate_parameter(name: str, value: ParameterValue) -> tuple[str, ParameterValue]:
    for (theirs, their_value), (ours, our_value) in _PARAMETERS.items():
        if name == theirs and their_value in (None, value):
            return ours, value if their_value is None else str(our_value)
    return name, value


@cache
def _own_names() -> dict[str, str]:
    """The registered names in lower case, without those of other packages."""
    registries = (TEXT_MEASURES, ANSWER_MEASURES, MEASURES)
    return {component.name.lower(): component.name for registry in registries for component in registry.components}


@cache
def _own_aliases() -> dict[str, Measure]:
    """The measures of this package by alias; imports all of them."""
    return dict(_aliased(_own_measure(name) for name in _own_names().values()))


def _aliased(measures: Iterable[Measure]) -> Iterator[tuple[str, Measure]]:
    for measure in measures:
        for alias in measure.aliases:
            parameters = measure.alias_parameters.get(alias, {})
            yield alias.lower(), measure(**parameters) if parameters else measure


def _own_measure(name: str) -> Measure:
    others: Registry[Any] = TEXT_MEASURES if name in TEXT_MEASURES else ANSWER_MEASURES
    measure: Measure = (MEASURES if name in _ranking_names() else others)[name]
    return measure


@cache
def _ranking_names() -> frozenset[str]:
    return frozenset(component.name for component in MEASURES.components)


def _is_name(name: str) -> bool:
    return name.lower() in _own_names() or name.lower() in _own_aliases()


def _is_of_ones_own(name: str) -> bool:
    return MODULE_AND_NAME.fullmatch(name) is not None or remembered_measure(name.lower()) is not None


def is_own_name(name: str) -> bool:
    """Whether a measure of this package has that name or alias."""
    return _is_name(name)


def forget_parsed() -> None:
    """Makes every text to be parsed again, as a name has a new meaning."""
    _parse_list.cache_clear()
    _parse_texts.cache_clear()


def _measure_named(name: str) -> Measure:
    """The measure of this name or alias, in any case; names of this package come before those of others."""
    plain = name.lower()
    if MODULE_AND_NAME.fullmatch(name):
        return import_measure(name)
    if plain in _own_names():
        return _own_measure(_own_names()[plain])
    if plain in _own_aliases():
        return _own_aliases()[plain]
    if measure := remembered_measure(plain):
        return measure
    outside = {point.lower(): point for point in MEASURES.entry_points()}
    if plain in outside:
        return _outside_measure(outside[plain])
    aliases = dict(_aliased(map(_outside_measure, outside.values())))
    if plain in aliases:
        return aliases[plain]
    raise _unknown_measure_error(name, [*_own_names(), *_own_aliases(), *outside, *aliases])


def _outside_measure(name: str) -> Measure:
    measure = MEASURES[name]
    if not isinstance(measure, Measure):
        raise ExternalError(escape_invisible(f"the entry point {for_message(name)} of rankproof.measures is not a Measure"))
    return measure


def _unknown_measure_error(name: str, known: list[str]) -> UsageError:
    head = name.rstrip("0123456789")
    if head != name and _is_name(head) and _measure_named(head).suffix == "p":
        base, number = _measure_named(head).name, name[len(head) :]
        return UsageError(f"unknown measure {for_message(name)}", fix=f"did you mean {base}(p=0.{number}) or {base}@{number}?")
    near = closest_name(name.lower(), known)
    fix = (
        f"did you mean {_own_names().get(near, near)}?"
        if near
        else "see rankproof measures for all of them, and name one of your own as module:name"
    )
    return UsageError(f"unknown measure {for_message(name)}", fix=fix)
