"""Cells of simulations: each is computed once and stored, so that an interrupted simulation goes on where it stopped."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent / "work" / "simulations"
Cell = Mapping[str, float]


class StoredCells:
    """The finished cells of one simulation, a line of JSON each; `settings` are what all its cells depend on."""

    def __init__(self, name: str, settings: str) -> None:
        self._path, self._settings = FOLDER / f"{name}.jsonl", settings
        lines = self._path.read_text().splitlines() if self._path.exists() else ()
        self._known: dict[str, Cell] = dict(json.loads(line) for line in lines)

    def cell(self, name: str, simulate: Callable[[np.random.Generator], Cell]) -> Cell:
        """The cell of that name; its random numbers depend on the name and the settings alone."""
        key = f"{name}; {self._settings}"
        if key not in self._known:
            print(name, file=sys.stderr)
            found = simulate(np.random.default_rng(list(key.encode())))
            FOLDER.mkdir(parents=True, exist_ok=True)
            with self._path.open("a") as file:
                file.write(json.dumps([key, dict(found)]) + "\n")
            self._known[key] = found
        return self._known[key]


def upper_bound(share: float, rounds: float, z: float = 1.645) -> float:
    """The upper end of Wilson's one-sided 95% interval of a share."""
    middle, spread = share + z * z / (2 * rounds), z * math.sqrt(share * (1 - share) / rounds + z * z / (4 * rounds**2))
    return (middle + spread) / (1 + z * z / rounds)
