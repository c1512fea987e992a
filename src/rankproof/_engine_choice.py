"""The engine that reads and aligns: the C extension if it was built, else plain Python; RANKPROOF_ENGINE selects one."""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Literal

from rankproof.errors import ExternalError, UsageError

VARIABLE = "RANKPROOF_ENGINE"
READER = "rankproof._native.align"


@cache
def chosen_name() -> Literal["native", "reference"]:
    """The engine in use; a selected engine that is missing is an error."""
    forced = os.environ.get(VARIABLE, "")
    if forced not in ("", "native", "reference"):
        raise UsageError(f"{VARIABLE} is {forced!r}", fix="set it to native or reference, or unset it")
    if forced == "reference":
        return "reference"
    if is_built():
        return "native"
    if forced == "native":
        raise UsageError(
            f"{VARIABLE} is native, but the native engine is not installed", fix="install a C compiler and reinstall rankproof"
        )
    return "reference"


def is_built() -> bool:
    """Whether the C extension was built; it is not loaded."""
    return find_spec(READER) is not None


def loaded(name: str) -> ModuleType:
    """A module of the engine; one that cannot be imported is an ExternalError."""
    try:
        return import_module(name)
    except ImportError as error:
        engine = chosen_name()
        raise ExternalError(
            f"the {engine} engine cannot be loaded ({error}); reinstall rankproof, or set {VARIABLE}=reference"
        ) from None
