"""Imports the object that `module:name` names."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from rankproof.errors import UsageError, for_message

_REJECTED: list[str] = []


def reject_imports(reason: str) -> None:
    """Makes every later import of `module:name` in this process an error."""
    _REJECTED.append(reason)


def import_object(text: str, folder: str = "") -> Any:
    """The object that `module:name` names, None if the module has no such name; a module in the folder comes before others.

    The folder is by default the current one. It stays last in the module path, so that the object can import its neighbours
    later.
    """
    if _REJECTED:
        raise UsageError(f"{for_message(text)} names code, and {_REJECTED[0]}", fix="name a measure of rankproof")
    module, _, name = text.partition(":")
    top = module.split(".")[0]
    fix = f"put {for_message(top)} beside the experiment file, or install that package"
    if not folder:
        folder = os.getcwd()
        fix = f"run it in the folder that holds {for_message(top)}, or install that package"
    try:
        imported = _import_from(module, folder)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and error.name and top == error.name.split(".")[0]:
            raise UsageError(f"{for_message(text)}: no module is called {for_message(error.name)}", fix=fix) from None
        what = f"{for_message(text)}: importing {for_message(module)} failed: {type(error).__name__}: {for_message(str(error))}"
        raise UsageError(what, fix="correct the module") from error
    _check_is_from(imported, top, folder, text)
    return getattr(imported, name, None)


def _import_from(module: str, folder: str) -> ModuleType:
    sys.path.insert(0, folder)
    try:
        return import_module(module)
    finally:
        sys.path.remove(folder)
        if folder not in sys.path:
            sys.path.append(folder)


def _check_is_from(module: ModuleType, top: str, folder: str, text: str) -> None:
    """Refuses a module that was imported from elsewhere, if the folder has one of the same name."""
    own = [os.path.join(folder, f"{top}.py"), os.path.join(folder, top, "__init__.py")]
    file = getattr(module, "__file__", None)
    if file is None or not any(map(os.path.exists, own)):
        return
    if not os.path.realpath(file).startswith(os.path.join(os.path.realpath(folder), "")):
        what = f"{for_message(text)}: another module called {for_message(top)} is already imported, from {for_message(file)}"
        raise UsageError(what, fix="rename one of the two")
