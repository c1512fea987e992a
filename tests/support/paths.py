"""Where the tests find the repository and the shared data beside it."""

from __future__ import annotations

from pathlib import Path

import rankproof

ROOT = Path(__file__).parents[2]
"""The root of the repository."""
DOCS = ROOT / "docs"
TESTS = ROOT / "tests"
SOURCE = Path(rankproof.__file__).parent
"""The package that is tested; its parent is what PYTHONPATH needs."""
SHARED = ROOT.parent / "shared"
"""Public collections and faulty files beside the repository; not in every checkout."""
