"""What continuous integration asks for: with RANKPROOF_TESTS=whole a missing native reader or shared folder fails, not skips."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rankproof.align import engine

SHARED = Path(__file__).parents[2] / "shared"


def pytest_sessionstart() -> None:
    if os.environ.get("RANKPROOF_TESTS") != "whole":
        return
    if engine.NAME != "native":
        raise pytest.UsageError("the native reader was not built")
    if not SHARED.is_dir():
        raise pytest.UsageError(f"there is no folder {SHARED}")
