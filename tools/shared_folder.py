"""The folder of public collections, which is no part of the repository."""

from __future__ import annotations

import os
from pathlib import Path

SHARED = Path(os.environ.get("RANKPROOF_SHARED") or Path(__file__).resolve().parents[2] / "shared")
"""RANKPROOF_SHARED, or `shared` beside the repository."""
DATA = SHARED / "data"
"""One folder per collection, in BEIR's format."""


def missing_data(*parts: str) -> str:
    """What to do where a collection or a file of it is missing; "" where it exists."""
    path = DATA.joinpath(*parts)
    return "" if path.exists() else f"there is no {path}; RANKPROOF_SHARED names the folder that contains data/{'/'.join(parts)}"
