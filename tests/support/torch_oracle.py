"""PyTorch and its libraries to compare with, imported without their warnings."""

from __future__ import annotations

import os
import warnings
from importlib import import_module
from typing import Any

import pytest


def oracle(name: str) -> Any:
    """The library; the test is skipped if it is not installed, in CI it fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            library = import_module(name)
        except ImportError:
            if os.environ.get("RANKPROOF_TESTS") == "whole":
                raise
            pytest.skip(f"{name} is not installed: pip install torch==2.13.0 sentence-transformers")
    if name == "transformers":
        library.utils.logging.disable_progress_bar()
    return library
