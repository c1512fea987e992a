"""A comparison as one JSON document, with the means of every repeat."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from ...formats.harmless import for_json
from .comparison import Comparison
from .conclusion import conclusions
from .differences import Difference
from .entry import PARTS, Condition, Entry
from .remarks import remarks

FORMAT = "rankproof tokenizer comparison 1"


def comparison_json(comparison: Comparison) -> str:
    """Everything but the single queries."""
    plain = {
        "format": FORMAT,
        "dataset": comparison.dataset,
        "documents": comparison.documents,
        "queries": len(comparison.entries[0].queries),
        "left_out": comparison.left_out,
        "store": comparison.store,
        "seed": comparison.seed,
        "measures": comparison.measures,
        "chance": comparison.chance,
        "systems": [_entry(comparison, entry) for entry in comparison.entries],
        "pairs": [
            {"language": language, "edits": edits, **_pair(one)}
            for language in comparison.languages
            for edits in comparison.edits
            for one in comparison.pairs(Condition(language, edits))
        ],
        "conclusion": conclusions(comparison),
        "notes": list(dict.fromkeys((*comparison.notes, *_remarks(comparison)))),
        "made": dict(comparison.made),
    }
    return for_json(json.dumps(plain, ensure_ascii=False, indent=1, allow_nan=False)) + "\n"


def _remarks(comparison: Comparison) -> list[str]:
    return list(remarks(comparison.under(comparison.first), comparison.main, comparison.chance))


def _entry(comparison: Comparison, entry: Entry) -> dict[str, Any]:
    return {
        "system": entry.system,
        "family": entry.family,
        "language": entry.condition.language,
        "edits": entry.condition.edits,
        "training": entry.training,
        "sources": entry.sources,
        "remembered": entry.remembered,
        "measures": {
            name: {
                "mean": entry.mean(name),
                "interval": entry.interval(name),
                "repeats": entry.values[name].mean(axis=1).tolist(),
            }
            for name in comparison.measures
        },
        "ms": {part: entry.ms(part).mean().item() for part in PARTS},
        "slow_queries": int(entry.slow.sum()),
        "counts": asdict(entry.counts),
        "index_bytes": entry.index_bytes,
        "document_embedding_ms": entry.encode_ms,
        "quality_per_ms": entry.per_ms(comparison.main),
    }


def _pair(one: Difference) -> dict[str, Any]:
    return {**asdict(one), "real": one.is_real}
