"""Provenance: from what, with what and when the numbers were made."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ...analysis.table import Column, Table
from ..material import Material
from ..section import Section, Text
from ..sheet import Sheet, sheet_of

_LIBRARIES = "libraries"


def provenance(material: Material) -> Section:
    """The facts, the systems' stages, and the experiment file."""
    climb = material.climb
    return Section(
        key="provenance",
        title="Provenance",
        question="From what, with what and when were these numbers made?",
        tables=(_facts(material),),
        folded=(_systems(material),),
        texts=(Text("The experiment file", climb.experiment),) if climb.experiment else (),
    )


def _facts(material: Material) -> Sheet:
    climb = material.climb
    rows = [
        ("experiment", climb.name),
        ("fingerprint of the dataset", climb.fingerprint),
        ("fingerprint of the judgements", material.evidence.qrels_fingerprint),
        ("least relevant grade", str(climb.rel)),
        ("seed of the statistics", str(material.settings.seed)),
        *_pairs(climb.provenance),
    ]
    return sheet_of(Table("provenance", "How the numbers came about", (Column("what"), Column("value")), tuple(rows)))


def _pairs(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in facts.items():
        if name == _LIBRARIES and isinstance(value, Mapping):
            yield name, ", ".join(f"{library} {version}" for library, version in value.items())
        elif value is not None:
            yield name, _text(value)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def _systems(material: Material) -> Sheet:
    rows = tuple(
        (
            rung.name,
            rung.kind,
            rung.over,
            json.dumps(rung.stage, ensure_ascii=False, sort_keys=True, default=str),
            json.dumps(dict(rung.facts), ensure_ascii=False, sort_keys=True, default=str),
            rung.computed or None,
            rung.from_cache,
        )
        for rung in material.climb.rungs
    )
    columns = (
        *(Column("system"), Column("kind"), Column("over", about="the system that it is measured against")),
        *(Column("stage"), Column("facts"), Column("computed"), Column("from the cache", "flag")),
    )
    return sheet_of(Table("systems", "Every system as it was built", columns, rows))
