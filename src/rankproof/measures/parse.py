"""Measures from text: our notation, and other tools' spellings of the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache

from ..errors import UsageError, nearest, shown
from .aliases import ALIASES, CLASHES, LEFT_OUT, NICKNAMES, NOT_OURS, PARAMETERS, TREC_CUTOFFS
from .base import Measure
from .notation import Piece, Value, number, pairs, parameters, pieces, unreadable
from .registry import ANSWER_MEASURES, MEASURES, outside_measures

_NOT_OURS = {name.lower(): name for names in (*LEFT_OUT.values(), NOT_OURS) for name in names}


def parse(text: str | Measure) -> Measure:
    """The one measure that the text names."""
    measures = parse_many(text)
    if len(measures) != 1:
        raise UsageError(f'"{shown(str(text))}" names {len(measures)} measures', fix="name one, or use parse_many")
    return measures[0]


def parse_many(texts: str | Measure | Iterable[str | Measure]) -> list[Measure]:
    """Every measure that the texts name, in order, without repeats."""
    measures = [measure for one in _each(texts) for measure in ([one.complete()] if isinstance(one, Measure) else _listed(one))]
    if not measures:
        raise UsageError("no measure is named", fix="name one, like nDCG@10")
    return list(dict.fromkeys(measures))


def left_out(texts: str | Measure | Iterable[str | Measure]) -> list[str]:
    """trec_eval's measures that its nicknames among the texts stand for and that are not ours."""
    names = [piece.name.lower() for one in _each(texts) if isinstance(one, str) for piece in pieces(one)]
    return list(dict.fromkeys(name for nickname in names for name in LEFT_OUT.get(nickname, ())))


def _each(texts: str | Measure | Iterable[str | Measure]) -> list[str | Measure]:
    each = [texts] if isinstance(texts, str | Measure) or not isinstance(texts, Iterable) else list(texts)
    for one in each:
        if not isinstance(one, str | Measure):
            raise UsageError(f"{shown(repr(one))} is not a measure", fix="pass measures, or their names as text")
    return each


@lru_cache(maxsize=256)
def _listed(text: str) -> tuple[Measure, ...]:
    return tuple(measure.complete() for piece in pieces(text) for measure in _measures(piece))


def _measures(piece: Piece) -> Sequence[Measure]:
    """The measures of one piece: a nickname, a spelling with a suffix, or a name with parameters and cutoffs."""
    if piece.text.lower() in NICKNAMES:
        return _listed(NICKNAMES[piece.text.lower()]) if not piece.more else _refuse_more(piece)
    suffixed = piece.suffixed()
    if suffixed and piece.name.lower() not in _names():
        return _with_suffixes(suffixed[0], (suffixed[1], *piece.more), piece)
    if piece.inside is None and piece.name in CLASHES:
        what, fix = CLASHES[piece.name]
        raise UsageError(what, fix=fix)
    base = _base(piece.name)(**_parameters(piece))
    ats = () if piece.at is None else (*piece.at.split("/"), *piece.more)
    if not ats and piece.inside is None:
        ats = TREC_CUTOFFS.get(piece.name.lower(), ())
    if piece.more and piece.at is None:
        _refuse_more(piece)
    return [base @ number(at, base.at or "cutoff") for at in ats] or [_of_answers(base)]


def _of_answers(base: Measure) -> Measure:
    """The measure of answers that has the same name as one of rankings, where nothing says that the latter is meant."""
    return ANSWER_MEASURES.get(base.name, base) if base == MEASURES.get(base.name) else base


def _refuse_more(piece: Piece) -> list[Measure]:
    raise UsageError(f'"{shown(piece.more[0])}" follows {shown(piece.text)}, which takes no list', fix="write lists like P@5,10")


def _with_suffixes(name: str, suffixes: tuple[str, ...], piece: Piece) -> list[Measure]:
    """trec_eval's and ranx's way: ndcg_cut_10, P.5,10, ndcg.1=3,2=9, 11pt_avg..25,.5, rbp.95."""
    base = _base(name)(**_parameters(piece))
    if base.suffix is None or piece.inside is not None or piece.at is not None:
        raise unreadable(piece.text)
    if "=" in suffixes[0]:
        return [base(gain=pairs(list(suffixes)))]
    if base.suffix == "recalls":
        return [base(recalls=tuple(number(one, "recall") for one in suffixes))]
    dot = "0." if base.suffix == "p" else ""
    return [base(**{base.suffix: number(dot + one, base.suffix)}) for one in suffixes]


def _parameters(piece: Piece) -> dict[str, Value]:
    given = parameters(piece.inside or "")
    if piece.level is not None:
        given["rel"] = number(piece.level, "rel")
    return dict(_translated(name, value) for name, value in given.items())


def _translated(name: str, value: Value) -> tuple[str, Value]:
    for (theirs, their_value), (ours, our_value) in PARAMETERS.items():
        if name == theirs and their_value in (None, value):
            return ours, value if their_value is None else str(our_value)
    return name, value


@cache
def _names() -> dict[str, str]:
    return {name.lower(): name for name in (*ANSWER_MEASURES, *MEASURES)} | {
        alias.lower(): ours for alias, ours in ALIASES.items()
    }


def _base(name: str) -> Measure:
    """The measure of this name, whoever gives it."""
    if ours := _names().get(name.lower()):
        return MEASURES.get(ours) or ANSWER_MEASURES.get(ours) or parse(ours)
    if theirs := _NOT_OURS.get(name.lower()):
        raise UsageError(f"{theirs} of trec_eval is not among the measures", fix="leave it out, or see rankproof measures")
    outside = {one.lower(): measure for one, measure in outside_measures().items()}
    if name.lower() in outside:
        return outside[name.lower()]
    raise _unknown(name, [*_names(), *outside])


def _unknown(name: str, known: list[str]) -> UsageError:
    near = nearest(name.lower(), known)
    ours = _names().get(near, "") if near else ""
    fix = f"did you mean {ours if ours.lower() == near else near}?" if near else "see rankproof measures for all of them"
    return UsageError(f"unknown measure {shown(name)}", fix=fix)
