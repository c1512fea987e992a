"""The values that other tools computed; tests/golden/README.md says which."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PEER_VALUES = Path(__file__).parents[1] / "tests" / "golden"


def json_lines(path: Path) -> Iterator[Any]:
    """What each line of a compressed file holds."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)
