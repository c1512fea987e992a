"""Parse_measure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from rankproof.errors import UsageError, closest_name, for_message
from rankproof.measures._aliases import (
    ALIASES,
    AMBIGUOUS_NAMES,
    NICKNAMES,
    PARAMETERS,
    TREC_CUTOFFS,
    UNSUPPORTED,
    UNSUPPORTED_OF_NICKNAME,
)
from rankproof.measures._base import Measure
from rankproof.measures._registry import ANSWER_MEASURES, MEASURES, entry_point_measures

_MAX_LENGTH = 500
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_WHOLE = re.compile(r"[+-]?[0-9]+")
_FURTHER_NUMBER = re.compile(r"[+-]?[0-9.][0-9.eE+-]*|[0-9]+=[^=]+")
_PIECE = re.compile(r"(?P<name>[^()@]+?)(?:\((?P<inside>.*)\))?(?:@(?P<at>[^()@]*?))?(?:-l(?P<level>[0-9]+))?")
_SUFFIXED = re.compile(r"(?P<name>.+?)[._](?P<suffix>[0-9.][0-9.eE+-]*|[0-9]+=[^=]+)")
_WORD = re.compile(r"(['\"]?)([A-Za-z][A-Za-z0-9-]*)\1")
_QUOTED = re.compile(r"(['\"])([^'\"()\[\]{}@,=\s]+)\1")
_OPEN, _CLOSE = "([{", ")]}"

ParameterValue = float | int | str | tuple[float, ...] | dict[float, float]


@dataclass(frozen=True, slots=True)
class MeasureText:
    """One measure as it was written; `more` are the numbers that follow it, as in P@5,10."""

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
    """Every measure of a list; commas and blanks part them, and numbers belong to the one before."""
    groups: list[list[str]] = []
    for part in _split_outside_brackets(re.sub(r"\s*@\s*", "@", text.strip()), ", \t\r\n"):
        if groups and _FURTHER_NUMBER.fullmatch(part):
            groups[-1].append(part)
        else:
            groups.append([part])
    return [_parse_measure_text(first, tuple(more)) for first, *more in groups]


def _parse_measure_text(text: str, more: tuple[str, ...]) -> MeasureText:
    match = _PIECE.fullmatch(text) if len(text) <= _MAX_LENGTH else None
    if match is None:
        raise measure_syntax_error(text)
    return MeasureText(text, match["name"], match["inside"], match["at"], match["level"], more)


def _split_outside_brackets(text: str, separators: str) -> Iterator[str]:
    """The text between separators that stand outside brackets."""
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
    """The refusal of a text that is no measure."""
    return UsageError(f'cannot read "{for_message(text)}" as a measure', fix="write it like nDCG@10 or nDCG(gain='exp')@10")


def parse_parameters(inside: str) -> dict[str, ParameterValue]:
    """The parameters between the brackets, each written name=value."""
    found: dict[str, ParameterValue] = {}
    for part in _split_outside_brackets(inside, ","):
        name, equals, value = (side.strip() for side in part.partition("="))
        if not equals or not name.isidentifier() or name in found:
            raise UsageError(f'cannot read "{for_message(part)}" as a parameter', fix="write each parameter once, like rel=2")
        found[name] = _value(value)
    return found


def _value(text: str) -> ParameterValue:
    inner = text[1:-1]
    if word := _WORD.fullmatch(text):
        return word[2]
    if quoted := _QUOTED.fullmatch(text):
        return quoted[2]
    if text.startswith("{") and text.endswith("}"):
        return parse_gain_pairs(list(_split_outside_brackets(inner, ",")))
    if (text[:1], text[-1:]) in {("(", ")"), ("[", "]")}:
        return tuple(parse_number(part, "value") for part in _split_outside_brackets(inner, ","))
    return parse_number(text, "value")


def parse_gain_pairs(parts: list[str]) -> dict[float, float]:
    """Gains by grade, each written 1:3 or 1=3."""
    split = [[side.strip() for side in re.split("[:=]", part, maxsplit=1)] for part in parts]
    if any(len(pair) != 2 for pair in split):
        raise UsageError(f'cannot read "{for_message(",".join(parts))}" as gains', fix="write them like {1:3,2:9}")
    gains = {parse_number(grade, "grade"): parse_number(gain, "gain") for grade, gain in split}
    if len(gains) != len(split):
        raise UsageError(f'a grade stands twice in "{for_message(",".join(parts))}"', fix="give each grade one gain")
    return gains


def parse_number(text: str, what: str) -> float:
    """A decimal number, an integer where it is written as one."""
    if not _NUMBER.fullmatch(text) or len(text) > 100:
        raise UsageError(f'{what} "{for_message(text)}" is not a number', fix="write it like 10")
    return int(text) if _WHOLE.fullmatch(text) else float(text)


_UNSUPPORTED_NAMES = {name.lower(): name for names in (*UNSUPPORTED_OF_NICKNAME.values(), UNSUPPORTED) for name in names}


def parse_measure(text: str | Measure) -> Measure:
    """The one measure that the text names."""
    measures = parse_measures(text)
    if len(measures) != 1:
        raise UsageError(f'"{for_message(str(text))}" names {len(measures)} measures', fix="name one, or use parse_many")
    return measures[0]


def parse_measures(texts: str | Measure | Iterable[str | Measure]) -> list[Measure]:
    """Every measure that the texts name, in order, without repeats."""
    measures = [
        measure
        for one in _checked_texts(texts)
        for measure in ([one.complete()] if isinstance(one, Measure) else _parse_list(one))
    ]
    if not measures:
        raise UsageError("no measure is named", fix="name one, like nDCG@10")
    return list(dict.fromkeys(measures))


def unsupported_measures(texts: str | Measure | Iterable[str | Measure]) -> list[str]:
    """trec_eval's measures that its nicknames among the texts stand for and that are not ours."""
    names = [piece.name.lower() for one in _checked_texts(texts) if isinstance(one, str) for piece in split_measures(one)]
    return list(dict.fromkeys(name for nickname in names for name in UNSUPPORTED_OF_NICKNAME.get(nickname, ())))


def _checked_texts(texts: str | Measure | Iterable[str | Measure]) -> list[str | Measure]:
    each = [texts] if isinstance(texts, str | Measure) or not isinstance(texts, Iterable) else list(texts)
    for one in each:
        if not isinstance(one, str | Measure):
            raise UsageError(f"{for_message(repr(one))} is not a measure", fix="pass measures, or their names as text")
    return each


@lru_cache(maxsize=256)
def _parse_list(text: str) -> tuple[Measure, ...]:
    return tuple(measure.complete() for piece in split_measures(text) for measure in _measures_of_piece(piece))


def _measures_of_piece(piece: MeasureText) -> Sequence[Measure]:
    """The measures of one piece: a nickname, a spelling with a suffix, or a name with parameters and cutoffs."""
    if piece.text.lower() in NICKNAMES:
        return _parse_list(NICKNAMES[piece.text.lower()]) if not piece.more else _check_no_more_numbers(piece)
    suffixed = piece.split_suffix()
    if suffixed and piece.name.lower() not in _names():
        return _with_suffixes(suffixed[0], (suffixed[1], *piece.more), piece)
    if piece.inside is None and piece.name in AMBIGUOUS_NAMES:
        what, fix = AMBIGUOUS_NAMES[piece.name]
        raise UsageError(what, fix=fix)
    base = _measure_named(piece.name)(**_parameters(piece))
    ats = () if piece.at is None else (*piece.at.split("/"), *piece.more)
    if not ats and piece.inside is None:
        ats = TREC_CUTOFFS.get(piece.name.lower(), ())
    if piece.more and piece.at is None:
        _check_no_more_numbers(piece)
    return [base @ parse_number(at, base.at or "cutoff") for at in ats] or [_of_answers(base)]


def _of_answers(base: Measure) -> Measure:
    """The measure of answers that has the same name as one of rankings, where nothing says that the latter is meant."""
    return ANSWER_MEASURES.get(base.name, base) if base == MEASURES.get(base.name) else base


def _check_no_more_numbers(piece: MeasureText) -> list[Measure]:
    raise UsageError(
        f'"{for_message(piece.more[0])}" follows {for_message(piece.text)}, which takes no list', fix="write lists like P@5,10"
    )


def _with_suffixes(name: str, suffixes: tuple[str, ...], piece: MeasureText) -> list[Measure]:
    """trec_eval's and ranx's way: ndcg_cut_10, P.5,10, ndcg.1=3,2=9, 11pt_avg..25,.5, rbp.95."""
    base = _measure_named(name)(**_parameters(piece))
    if base.suffix is None or piece.inside is not None or piece.at is not None:
        raise measure_syntax_error(piece.text)
    if "=" in suffixes[0]:
        return [base(gain=parse_gain_pairs(list(suffixes)))]
    if base.suffix == "recalls":
        return [base(recalls=tuple(parse_number(one, "recall") for one in suffixes))]
    dot = "0." if base.suffix == "p" else ""
    return [base(**{base.suffix: parse_number(dot + one, base.suffix)}) for one in suffixes]


def _parameters(piece: MeasureText) -> dict[str, ParameterValue]:
    given = parse_parameters(piece.inside or "")
    if piece.level is not None:
        given["rel"] = parse_number(piece.level, "rel")
    return dict(_translate_parameter(name, value) for name, value in given.items())


def _translate_parameter(name: str, value: ParameterValue) -> tuple[str, ParameterValue]:
    for (theirs, their_value), (ours, our_value) in PARAMETERS.items():
        if name == theirs and their_value in (None, value):
            return ours, value if their_value is None else str(our_value)
    return name, value


@cache
def _names() -> dict[str, str]:
    return {name.lower(): name for name in (*ANSWER_MEASURES, *MEASURES)} | {
        alias.lower(): ours for alias, ours in ALIASES.items()
    }


def _measure_named(name: str) -> Measure:
    """The measure of this name, whoever gives it."""
    if ours := _names().get(name.lower()):
        return MEASURES.get(ours) or ANSWER_MEASURES.get(ours) or parse_measure(ours)
    if theirs := _UNSUPPORTED_NAMES.get(name.lower()):
        raise UsageError(f"{theirs} of trec_eval is not among the measures", fix="leave it out, or see rankproof measures")
    outside = {one.lower(): measure for one, measure in entry_point_measures().items()}
    if name.lower() in outside:
        return outside[name.lower()]
    raise _unknown_measure_error(name, [*_names(), *outside])


def _unknown_measure_error(name: str, known: list[str]) -> UsageError:
    near = closest_name(name.lower(), known)
    ours = _names().get(near, "") if near else ""
    fix = f"did you mean {ours if ours.lower() == near else near}?" if near else "see rankproof measures for all of them"
    return UsageError(f"unknown measure {for_message(name)}", fix=fix)
