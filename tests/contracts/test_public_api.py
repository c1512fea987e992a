"""The public names are typed throughout, so that a type checker helps whoever calls them."""

from __future__ import annotations

import inspect
import runpy
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import rankproof
from rankproof import ir_eval

NAMES = [(module, name) for module in (rankproof, ir_eval) for name in module.__all__]


def callables_of(thing: object) -> Iterator[Callable[..., Any]]:
    """The function itself, or the constructor and public methods of a class or of a value's class."""
    plain = inspect.unwrap(thing) if callable(thing) else thing
    if inspect.isfunction(plain):
        yield plain
        return
    for kind in (thing if inspect.isclass(thing) else type(thing)).__mro__:
        if not kind.__module__.startswith("rankproof"):
            continue
        for name, member in vars(kind).items():
            inner = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
            if inspect.isfunction(inner) and (not name.startswith("_") or name == "__init__"):
                yield inner


def untyped(function: Callable[..., Any]) -> list[str]:
    signature = inspect.signature(function)
    unsaid = [
        name
        for name, parameter in signature.parameters.items()
        if parameter.annotation is inspect.Parameter.empty and name not in ("self", "cls")
    ]
    return [*unsaid, *(["return"] if signature.return_annotation is inspect.Signature.empty else [])]


@pytest.mark.parametrize(("module", "name"), NAMES, ids=[name for _, name in NAMES])
def test_every_parameter_and_result_of_a_public_name_has_a_type(module: Any, name: str) -> None:
    thing = getattr(module, name)
    found = {function.__qualname__: untyped(function) for function in callables_of(thing)}
    assert found or inspect.isclass(thing) or not callable(thing), f"{name} can be called, and nothing of it was looked at"
    assert {where: names for where, names in found.items() if names} == {}


def test_a_function_without_types_is_seen_under_a_decorator() -> None:
    def bare(value):  # type: ignore[no-untyped-def]
        return value

    assert [untyped(function) for function in callables_of(cache(bare))] == [["value", "return"]]


def test_the_typed_script_of_a_user_runs(tmp_path: Path) -> None:
    script = runpy.run_path(str(Path(__file__).parent / "typed" / "public_api.py"))
    qrels, run = tmp_path / "qrels.txt", tmp_path / "mine.run"
    qrels.write_text("q1 0 d1 1\n")
    run.write_text("q1 Q0 d1 1 9 mine\n")
    assert script["measured"](qrels, run) == 1.0
    assert "unknown measure" in script["refused"]("nDGC@10")
    assert script["refused"]("ndcg_cut_10") == "nDCG@10"
