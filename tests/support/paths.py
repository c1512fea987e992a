"""Where the tests find the repository, the package and the values of other tools."""

from __future__ import annotations

from pathlib import Path

import rankproof

ROOT = Path(__file__).parents[2]
"""The root of the repository."""
DOCS = ROOT / "docs"
TESTS = ROOT / "tests"
SOURCE = Path(rankproof.__file__).parent
"""The package that is tested; its parent is what PYTHONPATH needs."""
GOLDEN = TESTS / "golden"
"""Values that other tools computed; its README says which."""
