"""The public names: few, typed throughout, and complete, so that every type in a signature can be imported."""

from __future__ import annotations

import ast
import doctest
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
from rankproof._cli.main import main
from rankproof._cli.parser import COMMANDS
from rankproof._registry import arguments_of
from support.signatures import named_types

TYPE_ALIASES = ("Depth", "Encode", "Fields", "GradesFunction", "SummaryKind")
NAMES = [
    (module, name)
    for module in (rankproof, stages, models, stores, types, ir_eval, plugins)
    for name in module.__all__
    if name not in TYPE_ALIASES
]
PUBLIC = {
    id(getattr(module, name)) for module in (rankproof, measures, stages, models, stores, types, plugins) for name in dir(module)
}
ERRORS = {id(value) for value in vars(errors).values()}
MOST_NAMES = 54
OPAQUE = (plugins.LLMSession, plugins.JsonContent)
"""Values that parts pass on and whose methods are internal."""


def names_for_type_checkers(module: ModuleType) -> set[str]:
    """The names that a module imports for type checkers."""
    source = Path(str(module.__file__)).read_text(encoding="utf-8")
    blocks = [node for node in ast.parse(source).body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name for node in imports for alias in node.names}


def test_the_top_level_has_few_names() -> None:
    assert 30 <= len(rankproof.__all__) <= MOST_NAMES


def test_names_are_found_in_every_public_module() -> None:
    assert len(NAMES) >= 200
    assert len({module for module, _ in NAMES}) == 7


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
    assert "No decision" in script["compared"](qrels, {"one": run, "other": run})
    assert "unknown measure" in script["refused"]("nDGC@10")
    assert script["refused"]("ndcg_cut_10") == "nDCG@10"


FUNCTIONS = {
    "import": "import_dataset",
    "eval": "evaluate",
    "answers": "evaluate_answers",
    "sample": "sample_queries",
}
"""The function of a command, where it has another name."""
TERMINAL_ONLY = {
    "init": "writes a commented experiment file to edit; in Python an Experiment is a value",
    "serve": "is a web server for people",
    "measures": "prints documentation; in Python rp.measures has the measures as values",
    "cache": "shows and clears files on disk",
    "models": "downloads weights to disk",
    "tokenizers": "trains encoders for hours and writes checkpoints to disk",
    "completion": "prints a script for a shell",
    "help": "prints help pages",
    "mcp": "is a server of these functions for agents",
}
"""Commands without a function, and why."""


def test_every_command_is_a_function_or_only_for_the_terminal() -> None:
    commands = [component.name for component in COMMANDS.components]
    assert len(commands) >= 30
    assert set(TERMINAL_ONLY) <= set(commands)
    functions = {name: FUNCTIONS.get(name, name) for name in commands if name not in TERMINAL_ONLY}
    assert len(functions) == len(commands) - len(TERMINAL_ONLY)
    missing = [name for name, function in functions.items() if not inspect.isfunction(getattr(rankproof, function, None))]
    assert missing == []
    assert "save" in inspect.signature(rankproof.gate).parameters


def test_every_parameter_of_a_public_function_has_a_sentence() -> None:
    functions = [value for name in rankproof.__all__ if inspect.isfunction(value := getattr(rankproof, name))]
    settings = [(function.__name__, setting) for function in functions for setting in arguments_of(function).values()]
    assert len(functions) >= 33
    assert len(settings) >= 500
    assert [(name, setting.field) for name, setting in settings if not setting.option.description] == []


@pytest.mark.parametrize(
    ("call", "flags", "message"),
    [
        ({"rel": 0}, ["--rel", "0"], "rel is 0; choose a whole number from 1 to"),
        ({"order": "x"}, ["--order", "x"], "order is x; choose one of score, rank"),
        ({"alpha": 2.0}, ["--alpha", "2.0"], "alpha is 2.0; choose a number above 0 and below 0.5"),
        ({"samples": 5}, ["--samples", "5"], "samples is 5; choose a whole number from 100 to 10,000,000"),
    ],
)
def test_a_value_out_of_range_is_rejected_with_one_sentence(
    call: dict[str, Any], flags: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(errors.UsageError) as refused:
        rankproof.compare({"q": {"d": 1}}, {"a": {"q": ["d"]}}, **call)
    assert str(refused.value).startswith(message)
    assert main(["compare", "qrels.txt", "a.run", *flags]) == 2
    assert capsys.readouterr().err.startswith(f"--{message}")


def test_help_in_python_describes_parameters() -> None:
    lines = (rankproof.compare.__doc__ or "").splitlines()
    assert "      alpha: significance level (default: 0.05)" in lines
    assert "      rel: the lowest grade that counts as relevant (default: 1)" in lines


def test_the_examples_of_functions_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = [name for name in rankproof.__all__ if inspect.isfunction(getattr(rankproof, name))]
    finder, runner = doctest.DocTestFinder(recurse=False), doctest.DocTestRunner()
    for name in names:
        for example in finder.find(getattr(rankproof, name), name, module=False):
            runner.run(example)
    assert (runner.failures, runner.tries >= 7) == (0, True)


def test_values_of_answers_have_no_rankings_and_functions_that_need_them_say_so() -> None:
    given = {"one": {"q1": "Paris", "q2": "Madrid"}, "two": {"q1": "Rome", "q2": "Madrid"}}
    result = rankproof.evaluate_answers(given, {"q1": "Paris", "q2": "Madrid"})
    calls: list[Callable[[Any], Any]] = [
        *(rankproof.diagnose, rankproof.report, rankproof.export, rankproof.segments, rankproof.audit, rankproof.plot),
        lambda data: rankproof.explain(data, query="q1"),
    ]
    for call in calls:
        with pytest.raises(errors.UsageError, match="values and no rankings"):
            call(result)
    assert rankproof.compare(result).systems == ("one", "two")


def test_what_is_saved_takes_a_path_object(tmp_path: Path) -> None:
    qrels, run = {"q1": {"d1": 1}}, {"q1": {"d1": 1.0}}
    exported = rankproof.export(qrels, {"one": run}).save(tmp_path / "values.csv")
    assert exported.path == str(tmp_path / "values.csv")
    assert rankproof.report(qrels, {"one": run}).save(tmp_path / "page.html").path == str(tmp_path / "page.html")
