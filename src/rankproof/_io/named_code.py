"""Python code that a file names: imports of `module:name`, and whether the code of a file was trusted before."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from rankproof._io.paths import config_home
from rankproof.errors import UsageError, for_message

TRUSTED_FILE = "trusted"
REMOTE_CODE = "trust_remote_code"


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


@dataclass(frozen=True, slots=True)
class NamedCode:
    """The code that an experiment file names: functions and measures as `module:name`, and models that bring their own.

    Modules are searched in the folder of the file, then in the current one.
    """

    source: str
    names: tuple[str, ...]

    def digest(self) -> str:
        """A digest of the folders, the names and the modules in these folders; other settings of the file run no code."""
        folders = [str(folder.resolve()) for folder in self._folders()]
        modules = [(str(path), sha256(path.read_bytes()).hexdigest()) for path in self.modules()]
        return sha256(json.dumps([folders, sorted(self.names), modules]).encode(errors="surrogateescape")).hexdigest()

    def modules(self) -> list[Path]:
        """The files of the named modules that are not installed."""
        places = [(folder, name.partition(":")[0]) for folder in self._folders() for name in self.names if ":" in name]
        return sorted({path.resolve() for folder, module in places for path in _files_of(folder, module)})

    def is_trusted(self) -> bool:
        """Whether the user trusted exactly this code before."""
        return self.digest() in _trusted_digests()

    def trust(self) -> None:
        """Keeps the digest; nothing is kept if the folder cannot be written."""
        if self.is_trusted():
            return
        with suppress(OSError):
            home = config_home()
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(home / TRUSTED_FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(handle, "w") as file:
                file.write(f"{self.digest()}  {json.dumps(os.path.abspath(self.source))}\n")

    def _folders(self) -> tuple[Path, Path]:
        return Path(os.path.abspath(self.source)).parent, Path.cwd()


def _files_of(folder: Path, module: str) -> Iterator[Path]:
    """The files that importing the module reads first, as far as they are in the folder."""
    parts = module.split(".")
    for count in range(1, len(parts) + 1):
        place = folder.joinpath(*parts[:count])
        yield from (path for path in (place.with_name(f"{place.name}.py"), place / "__init__.py") if path.is_file())


def _trusted_digests() -> frozenset[str]:
    """The digests in the file, none if another user could have written it."""
    path = config_home() / TRUSTED_FILE
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            state = os.fstat(file.fileno())
            if hasattr(os, "geteuid") and (state.st_uid != os.geteuid() or state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
                return frozenset()
            return frozenset(line.partition(" ")[0].strip() for line in file)
    except OSError:
        return frozenset()


def models_with_code(values: Any) -> Iterator[str]:
    """A phrase for each table of a file that lets a model run code of its own."""
    if isinstance(values, Mapping):
        if values.get(REMOTE_CODE) is True:
            yield f"the code of the model {for_message(str(values.get('name', '')))} ({REMOTE_CODE})"
        values = values.values()
    elif not isinstance(values, list):
        return
    for value in values:
        yield from models_with_code(value)


def not_imported(text: str) -> Callable[..., Any]:
    """A function in the place of the one that `module:name` names."""

    def function(query: str) -> list[str]:
        raise UsageError(f"{for_message(text)} was not imported", fix="run without --dry-run")

    function.__module__, _, function.__qualname__ = text.partition(":")
    return function
