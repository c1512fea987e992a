"""The public names: few, typed throughout, and complete, so that every type in a signature can be imported."""

from __future__ import annotations

import ast
import inspect
import runpy
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import rankproof
from rankproof import errors, ir_eval, measures, models, plugins, stages, stores, types
from support.signatures import named_types

TYPES_OF_SETTINGS = ("Depth", "Fields")
NAMES = [
    (module, name)
    for module in (rankproof, stages, models, stores, types, ir_eval, plugins)
    for name in module.__all__
    if name not in TYPES_OF_SETTINGS
]
PUBLIC = {
    id(getattr(module, name)) for module in (rankproof, measures, stages, models, stores, types, plugins) for name in dir(module)
}
ERRORS = {id(value) for value in vars(errors).values()}
MOST_NAMES = 50
OPAQUE = (types.LLMSession, types.JsonContent)
"""Values that parts pass on and whose methods are internal."""


def names_for_type_checkers(module: ModuleType) -> set[str]:
    """The names that a module imports for type checkers."""
    source = Path(str(module.__file__)).read_text(encoding="utf-8")
    blocks = [node for node in ast.parse(source).body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name for node in imports for alias in node.names}


def test_the_top_level_has_few_names() -> None:
    assert len(rankproof.__all__) <= MOST_NAMES


@pytest.mark.parametrize("module", [rankproof, stages, models, stores, types, plugins], ids=lambda module: str(module.__name__))
def test_type_checkers_see_the_names_that_are_loaded(module: ModuleType) -> None:
    assert names_for_type_checkers(module) == set(module.__all__)
    assert set(dir(module)) - {"__version__"} == set(module.__all__)


@pytest.mark.parametrize(
    "thing",
    [
        getattr(module, name)
        for module in (rankproof, types)
        for name in module.__all__
        if not inspect.ismodule(getattr(module, name))
    ],
    ids=lambda thing: str(thing.__qualname__),
)
def test_every_type_in_a_public_signature_is_public(thing: Any) -> None:
    assert [
        kind.__qualname__ for kind in named_types(thing, methods=thing not in OPAQUE) if id(kind) not in PUBLIC | ERRORS
    ] == []


@pytest.mark.parametrize(
    "thing",
    [getattr(module, name) for module in (stages, models, stores) for name in module.__all__],
    ids=lambda thing: str(thing.__qualname__),
)
def test_every_type_of_a_setting_is_public(thing: Any) -> None:
    assert [kind.__qualname__ for kind in named_types(thing, methods=False) if id(kind) not in PUBLIC | ERRORS] == []


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
            if inspect.isfunction(inner) and inner.__module__ != "typing" and (not name.startswith("_") or name == "__init__"):
                yield inner


def untyped(function: Callable[..., Any]) -> list[str]:
    signature = inspect.signature(function)
    parameters = [
        name
        for name, parameter in signature.parameters.items()
        if parameter.annotation is inspect.Parameter.empty and name not in ("self", "cls")
    ]
    return [*parameters, *(["return"] if signature.return_annotation is inspect.Signature.empty else [])]


@pytest.mark.parametrize(("module", "name"), NAMES, ids=[f"{module.__name__}.{name}" for module, name in NAMES])
def test_every_parameter_and_result_of_a_public_name_has_a_type(module: Any, name: str) -> None:
    thing = getattr(module, name)
    found = {function.__qualname__: untyped(function) for function in callables_of(thing)}
    assert found or inspect.isclass(thing) or not callable(thing), f"{name} is callable, but no function was checked"
    assert {where: names for where, names in found.items() if names} == {}


def test_a_function_without_types_is_found_under_a_decorator() -> None:
    def bare(value):  # type: ignore[no-untyped-def]
        return value

    assert [untyped(function) for function in callables_of(cache(bare))] == [["value", "return"]]


def test_the_typed_script_of_a_user_runs(tmp_path: Path) -> None:
    script = runpy.run_path(str(Path(__file__).parent / "typed" / "public_api.py"))
    qrels, run = tmp_path / "qrels.txt", tmp_path / "mine.run"
    qrels.write_text("q1 0 d1 1\n")
    run.write_text("q1 Q0 d1 1 9 mine\n")
    assert script["measured"](qrels, run) == 1.0
    assert "Not decided" in script["compared"](qrels, {"one": run, "other": run})
    assert "unknown measure" in script["refused"]("nDGC@10")
    assert script["refused"]("ndcg_cut_10") == "nDCG@10"
