"""Imports the object that `module:name` names."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

from rankproof.errors import UsageError, for_message


def import_object(text: str, folder: str = "") -> Any:
    """The object that `module:name` names, None if the module has no such name; the module may be a file in the folder.

    The folder is by default the current one. It stays last in the module path, so that the object can import its neighbours
    later.
    """
    module, _, name = text.partition(":")
    fix = f"put {for_message(module.split('.')[0])} beside the experiment file, or install that package"
    if not folder:
        folder = os.getcwd()
        fix = f"run it in the folder that holds {for_message(module.split('.')[0])}, or install that package"
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        return getattr(import_module(module), name, None)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name and module.split(".")[0] == error.name.split(".")[0]:
            raise UsageError(f"{for_message(text)}: no module is called {for_message(error.name)}", fix=fix) from None
        what = f"{for_message(text)}: importing {for_message(module)} failed: {type(error).__name__}: {for_message(str(error))}"
        raise UsageError(what, fix="correct the module") from error
