"""Run files for tests."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path


@cache
def run_of_another_query() -> str:
    """The path of a run with one query that no other test has."""
    folder = Path(tempfile.mkdtemp(prefix="rankproof-run-"))
    (folder / "other.run").write_text("another-query Q0 d1 1 2.5 other\n", encoding="utf-8")
    return str(folder / "other.run")
