"""The types that public signatures name."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args


def named_types(thing: Any, *, methods: bool = True) -> set[type]:
    """The classes of rankproof in a function's signature, or in a class's fields and, with `methods`, public methods."""
    return {
        kind for annotation, module in _annotations(thing, methods=methods) for kind in _classes(_evaluated(annotation, module))
    }


def _annotations(thing: Any, *, methods: bool) -> Iterator[tuple[Any, str]]:
    plain = inspect.unwrap(thing) if callable(thing) else thing
    if inspect.isfunction(plain):
        yield from ((annotation, plain.__module__) for annotation in inspect.get_annotations(plain).values())
        return
    for kind in plain.__mro__:
        if not kind.__module__.startswith("rankproof"):
            continue
        for name, annotation in inspect.get_annotations(kind).items():
            if not name.startswith("_"):
                yield annotation, kind.__module__
        # The constructor of a dataclass has the types of its fields, written for the modules of its base classes too.
        for function in _public_methods(kind) if methods else ():
            if function.__name__ == "__init__" and is_dataclass(kind):
                continue
            yield from ((annotation, function.__module__) for annotation in inspect.get_annotations(function).values())


def _public_methods(kind: type) -> Iterator[Callable[..., Any]]:
    for name, member in vars(kind).items():
        inner = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if inspect.isfunction(inner) and (not name.startswith("_") or name == "__init__"):
            yield inner


def _evaluated(annotation: Any, module: str) -> Any:
    return eval(annotation, _namespace(module)) if isinstance(annotation, str) else annotation


def _classes(hint: Any) -> Iterator[type]:
    if isinstance(hint, type) and hint.__module__.startswith("rankproof"):
        yield hint
    for inner in get_args(hint):
        for one in inner if isinstance(inner, list) else [inner]:
            yield from _classes(one)


@cache
def _namespace(module: str) -> dict[str, Any]:
    """The names of a module, with those that it imports only for type checkers."""
    names = dict(vars(sys.modules[module]))
    source = Path(str(sys.modules[module].__file__)).read_text(encoding="utf-8")
    for node in ast.parse(source).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for statement in node.body:
                try:
                    exec(compile(ast.Module([statement], []), module, "exec"), names)
                except ModuleNotFoundError as error:
                    # Classes of networks need torch, which is not installed for the fast tests.
                    if error.name != "torch" or not isinstance(statement, ast.ImportFrom):
                        raise
                    names |= {alias.asname or alias.name: Any for alias in statement.names}
    return names
