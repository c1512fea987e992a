"""Tables of fusion methods and normalisations: formulas, parameters and worked examples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rankproof._data.run import Run
from rankproof._fusion.fuse import fit_fusion, fuse
from rankproof._fusion.method import METHODS, FusionMethod
from rankproof._fusion.normalisations import NORMALISATIONS, ScoreLists

from .part_tables import table

RUNS = (Run.from_dict({"q": {"x": 8.0, "y": 6.0, "z": 0.0}}), Run.from_dict({"q": {"y": 3.0, "w": 1.0}}))
QRELS = {"q": {"x": 1}}
DOCS = ("x", "y", "z", "w")


def fusion_formulas() -> str:
    """Every method with its formula, its parameters and their defaults, its scores in the worked example and its source."""
    rows = (
        (f"`{name}`", method.formula, _parameters(method), ", ".join(_scores(name)), method.source)
        for name, method in METHODS.items()
    )
    return table(("method", "score of a document", "parameters", "x, y, z, w", "source"), rows)


def _parameters(method: FusionMethod) -> str:
    shown = (
        f"`{setting.key}`" if setting.default is None else f"`{setting.key}={_value(setting.default)}`"
        for setting in method.parameters
    )
    return ", ".join(shown)


def _value(default: float | str) -> str:
    return default if isinstance(default, str) else f"{default:g}"


def _scores(name: str) -> Iterator[str]:
    settings: dict[str, Any] = {"fitted": fit_fusion(name, QRELS, RUNS)} if METHODS[name].fit else {}
    found = {row.doc: row.score for row in fuse(RUNS, name, **settings).rows()}
    return (f"{found[doc]:.4g}" for doc in DOCS)


def normalisation_formulas() -> str:
    """Every normalisation with its formula and the values of the worked example."""
    lists = ScoreLists(np.array([4.0, 0, -4, 5, 5, -1, -2]), np.array([3, 2, 2]), np.array([4, 4, 4]))
    rows = []
    for one in NORMALISATIONS.values():
        values = [f"{value:.3g}" for value in one.normalise(lists).tolist()]
        parts = (", ".join(part) for part in (values[:3], values[3:5], values[5:]))
        rows.append((f"`{one.name}`", one.formula, *parts))
    return table(("norm", "formula", "4, 0, -4", "5, 5", "-1, -2"), rows)


def trained_methods() -> str:
    """What each trained method learns."""
    rows = [(f"`{name}`", (method.fit.__doc__ or "").rstrip(".")) for name, method in METHODS.items() if method.fit is not None]
    return table(("method", "learns of each run"), rows)
