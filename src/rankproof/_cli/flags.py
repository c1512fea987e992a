"""Flags made from the Options of arguments and settings, and what the texts of flags mean."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, is_dataclass
from typing import TYPE_CHECKING, Any

from rankproof._data.validation import checked_setting, default_text
from rankproof._registry import Option, Setting, arguments_of, settings_of
from rankproof.errors import UsageError, for_message

if TYPE_CHECKING:
    from rankproof._llm.budget import Budget

_TABS = ("tab", "\\t")
_DIGITS = 18


def judgement_options(args: argparse.Namespace) -> dict[str, Any]:
    """The arguments of `read_qrels` and `read_dataset` for the options of judgements."""
    return {"grade_map": args.grade_map, "on_conflict": args.on_conflict}


def single_character(text: str) -> str:
    """A delimiter."""
    delimiter = "\t" if text in _TABS else text
    if len(delimiter) != 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not one character (write 'tab' for a tab character)")
    return delimiter


def named_setting(text: str) -> tuple[str, str]:
    """A name and its value."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{for_message(repr(text))} is not NAME=VALUE, such as question=ask")
    return name, value


def positive_int(text: str) -> int:
    """A whole number from 1 that fits in 64 bits."""
    if not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS and int(text)):
        raise argparse.ArgumentTypeError(
            f"{for_message(repr(text))} is not a whole number of at least 1 and at most {_DIGITS} digits"
        )
    return int(text)


def any_float(text: str) -> float:
    """A number."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{for_message(repr(text))} is not a number such as 0.05") from None


def float_list(text: str) -> list[float]:
    """Numbers separated by commas."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers, as in 1,2.5") from None


def grade_map(text: str) -> dict[str, int]:
    """The grade of each label, as in E=3,S=2,C=1,I=0."""
    from rankproof._data.grades import parse_grade_map

    return parse_grade_map(text)


def query_ids(path: str, encoding: str) -> tuple[str, ...]:
    """The ids in a file, one per line before any tab; blank lines and comments are skipped."""
    from rankproof._formats.trec import numbered_lines
    from rankproof._io.open import open_source

    lines = numbered_lines(open_source(path, encoding=encoding))
    return tuple(dict.fromkeys(line.split(b"\t")[0].strip().decode() for _, line in lines))


def first_few(ids: Sequence[str], most: int = 5) -> str:
    """The number of ids and the first few of them."""
    from rankproof._data.text import first_ids

    return f"{len(ids)} ({first_ids(ids, most)})"


def budget_limits(text: str) -> Budget:
    """The most that language models may cost, as in calls=500,tokens=2000000,money=1.50."""
    from rankproof._llm.budget import parse_budget

    return parse_budget(text)


def byte_size(text: str) -> int:
    """A size in bytes, as in 20GB."""
    from rankproof._io.cache_items import checked_size

    try:
        return checked_size("size", text)
    except UsageError:
        raise argparse.ArgumentTypeError(f"{for_message(repr(text))} is not a size such as 20GB, 500MB or 1.5TB") from None


def system_cost(text: str) -> tuple[str, float]:
    """The name of a system and its cost, as in bm25=1.4."""
    return _named_number(text, 0.0, "a system and its cost, as in bm25=1.4")


def variant_share(text: str) -> tuple[str, float]:
    """The name of a variant and its share of the users, as in B=0.5."""
    return _named_number(text, 5e-324, "a variant and its share of the users, a number above 0, as in B=0.5")


def _named_number(text: str, least: float, what: str) -> tuple[str, float]:
    name, equals, number = text.rpartition("=")
    try:
        value = float(number)
    except ValueError:
        value = -1.0
    if not equals or not name or not least <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{for_message(repr(text))} is not {what}")
    return name, value


def share(text: str) -> float:
    """A share from 0 to 1, also written in percent."""
    try:
        part = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        part = -1.0
    if not 0 <= part <= 1:
        raise argparse.ArgumentTypeError(f"{for_message(repr(text))} is not a share, such as 20% or 0.2")
    return part


def max_drop(text: str) -> tuple[str, float]:
    """A measure and its largest allowed drop, as in nDCG@10=0.02."""
    from rankproof._analysis.gate.rules import max_drop_of

    return max_drop_of(text)


def name_list(text: str) -> list[str]:
    """Names separated by commas."""
    names = [part.strip() for part in text.split(",") if part.strip()]
    if not names:
        raise UsageError(f"{for_message(repr(text))} names nothing", fix="write names with commas between them: a,b")
    return names


def nonnegative_int(text: str) -> int:
    """A whole number from 0."""
    if not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS):
        raise argparse.ArgumentTypeError(
            f"{for_message(repr(text))} is not a whole number of at least 0 and at most {_DIGITS} digits"
        )
    return int(text)


def nonnegative_ints(text: str) -> tuple[int, ...]:
    """Whole numbers from 0, separated by commas."""
    return tuple(nonnegative_int(part.strip()) for part in text.split(","))


_INTEGER = re.compile(r"[+-]?[0-9]{1,4000}")


def _margin(text: str) -> Any:
    return text if text.strip().endswith("%") else _number(text)


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


_READERS: Mapping[str, Callable[[str], Any]] = {
    "grade_map": grade_map,
    "delimiter": single_character,
    "margin": _margin,
    "costs": system_cost,
    "weights": float_list,
    "overlap": share,
    "budget": budget_limits,
    "cache_limit": byte_size,
    "categories": name_list,
    "fields": name_list,
    "tokenizers": name_list,
    "languages": name_list,
    "lexical": name_list,
    "typos": nonnegative_ints,
    "settings": named_setting,
    "columns": named_setting,
    "shares": variant_share,
    "max_drops": max_drop,
    "pools": nonnegative_ints,
}
"""How the text of a flag becomes the value of an argument that is neither a number nor a choice nor text."""


def settings_by_name(record: Any) -> Mapping[str, Setting]:
    """The settings of a dataclass, a function or a TypedDict by name."""
    if is_dataclass(record):
        return {setting.field: setting for setting in settings_of(record)}
    return arguments_of(record)


def flag_of(setting: Setting) -> str:
    """The name of a setting on the command line."""
    return setting.option.flag or f"--{setting.field.rstrip('_').replace('_', '-')}"


_OWN = object()
GRADES = ("grade_map", "on_conflict")
"""The arguments about grades of judgements."""


def add_flags(group: argparse._ActionsContainer, record: Any, names: Iterable[str] | None = None, **defaults: Any) -> None:
    """Adds a flag for each of these settings of a record, by default for all; `defaults` replace those of the parsed values."""
    known = settings_by_name(record)
    for name in known if names is None else names:
        add_flag(group, known[name], default=defaults.get(name, _OWN))


def add_flag(group: argparse._ActionsContainer, setting: Setting, *, default: Any = _OWN) -> None:
    """Adds the flag of a setting, with its type, choices, range, default and help."""
    option, flag = setting.option, flag_of(setting)
    own = None if setting.default is MISSING or option.repeated else setting.default
    keywords: dict[str, Any] = {"dest": setting.field, "help": _help(setting).replace("%", "%%")}
    if setting.type is bool:
        keywords["action"] = "store_true"
    else:
        keywords |= {"default": own if default is _OWN else default, **_value_keywords(setting, flag)}
    if option.repeated:
        keywords["action"] = "append"
    if option.unnamed:
        keywords |= {"nargs": "?", "const": ""}
    action = group.add_argument(*([flag, option.letter] if option.letter else [flag]), **keywords)
    # Parser.format_help reads it.
    action.rare = option.rare  # type: ignore[attr-defined]


def add_option(group: argparse._ActionsContainer, name: str, option: Option) -> None:
    """Adds the flag of an option with a text."""
    add_flag(group, Setting(name, name, str, True, None, option))


def _help(setting: Setting) -> str:
    option, default = setting.option, default_text(setting)
    about = f"{option.description}: a file with {option.file}" if option.file else option.description
    return f"{about}{'; repeatable' if option.repeated else ''}{default}"


def _value_keywords(setting: Setting, flag: str) -> dict[str, Any]:
    option = setting.option
    metavar = option.metavar or ("FILE" if option.file else None)
    if option.file:
        return {"metavar": metavar}
    if setting.field in _READERS:
        return {"metavar": metavar, "type": _READERS[setting.field]}
    if setting.choices:
        return {"metavar": metavar, "choices": setting.choices, "type": _checked(setting, flag, str)}
    if setting.type in (int, float):
        parse = _integer if setting.type is int else _number
        return {"metavar": metavar or "N", "type": _checked(setting, flag, parse)}
    return {"metavar": metavar or setting.field.upper()}


def _integer(text: str) -> Any:
    return int(text) if _INTEGER.fullmatch(text) else text


def _checked(setting: Setting, flag: str, parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """A converter whose error is that of the argument in Python, with the name of the flag."""
    named = setting._replace(field=flag)
    return lambda text: checked_setting(named, parse(text))


def values_of(args: argparse.Namespace, record: Any, names: Iterable[str] | None = None) -> dict[str, Any]:
    """The values of these settings of a record, by default of all that the command has."""
    known = settings_by_name(record)
    return {name: getattr(args, name) for name in (known if names is None else names) if hasattr(args, name)}
