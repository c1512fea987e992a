"""Public collections, which are no part of the repository: a test that needs one is skipped without it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.shared_folder import DATA, missing_data


def collection(name: str) -> Path:
    """The folder of a collection; the test is skipped where it is missing."""
    if reason := missing_data(name):
        pytest.skip(reason)
    return DATA / name
