"""Which engine reads and aligns: the native reader where it was built, else plain Python; RANKPROOF_ENGINE forces one."""

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
    """The engine in use; one that is asked for by name and missing is an error, never replaced."""
    forced = os.environ.get(VARIABLE, "")
    if forced not in ("", "native", "reference"):
        raise UsageError(f"{VARIABLE} is {forced!r}", fix="set it to native or reference, or unset it")
    if forced == "reference":
        return "reference"
    if is_built():
        return "native"
    if forced == "native":
        raise UsageError(
            f"{VARIABLE} asks for the native engine, which was not built", fix="install a C compiler and install again"
        )
    return "reference"


def is_built() -> bool:
    """Whether the native reader is there; one that is there and cannot be loaded is an error, not a reason for the other."""
    return find_spec(READER) is not None


def loaded(name: str) -> ModuleType:
    """The module of the engine; one that is there and cannot be loaded is an error that says what to do."""
    try:
        return import_module(name)
    except ImportError as error:
        engine = chosen_name()
        raise ExternalError(
            f"the {engine} engine cannot be loaded ({error}); install again, or set {VARIABLE}=reference"
        ) from None
