"""The values that other tools computed, in files beside the repository."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PEER_VALUES = Path(__file__).resolve().parents[2] / "shared" / "golden" / "peers"


def json_lines(path: Path) -> Iterator[Any]:
    """What each line of a compressed file holds."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)
