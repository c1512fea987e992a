"""A comparison as CSV, JSON and a folder."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from rankproof._data import format_versions
from rankproof._data.arrays import FloatArray
from rankproof._io.escape import escape_csv, escape_json
from rankproof._io.files import check_replaceable, replace_folder, write_blocks
from rankproof._io.open import StrPath, path_text
from rankproof._results.system_files import csv_number, csv_table
from rankproof._tokenizer_lab.comparison import Difference, TokenizerComparison, conclusions
from rankproof._tokenizer_lab.measured import TIME_PARTS, MeasuredSystem, QueryCondition, column_name, system_notes
from rankproof._tokenizer_lab.token_counts import TokenLengths
from rankproof.errors import UsageError, for_message

_ID_COLUMNS = ("system", "family", "language", "edits", "repeats", "queries")
_TIME_COLUMNS = {"embed": "embedding_ms", "search": "retrieval_ms", "total": "total_ms"}
_LENGTH_COLUMNS = {
    "tokens_document": "document_tokens",
    "tokens_query": "query_tokens",
    "sequence_document": "document_read",
    "sequence_query": "query_read",
}
_COST_COLUMNS = ("unknown_share", "vocabulary", "parameters", "index_bytes", "document_embedding_ms", "quality_per_ms")
_CHANGE_COLUMNS = ("change_pp", "change_pp low", "change_pp high", "change_relative")


def comparison_csv(comparison: TokenizerComparison) -> str:
    """Means over queries and repeats, with intervals over queries and ranges over repeats; times in ms."""
    measured = [f"{column_name(name)}{end}" for name in comparison.measures for end in ("", " low", " high", " min", " max")]
    times = [f"{name}{end}" for name in _TIME_COLUMNS.values() for end in ("", "_p50", "_p95")]
    lengths = [f"{name}_{end}" for name in _LENGTH_COLUMNS for end in ("mean", "p95")]
    header = [
        *_ID_COLUMNS,
        *measured,
        *times,
        "timed_queries",
        "slow_queries",
        "slow_share",
        *lengths,
        *_COST_COLUMNS,
        *_CHANGE_COLUMNS,
        "training",
    ]
    return csv_table(header, (list(_system_row(comparison, entry)) for entry in comparison.entries))


def queries_csv(comparison: TokenizerComparison) -> str:
    """The values and times of every query, averaged over the repeats; `slow` is 1 for slow queries, empty without a time."""
    header = ["system", "language", "edits", "query", *map(column_name, comparison.measures), *_TIME_COLUMNS.values(), "slow"]
    return csv_table(header, (row for entry in comparison.entries for row in _query_rows(comparison, entry)))


def _system_row(comparison: TokenizerComparison, entry: MeasuredSystem) -> Iterator[str]:
    yield from _name_cells(entry)
    yield from (str(entry.repeats), str(len(entry.queries)))
    for measure in comparison.measures:
        ends = (*(entry.interval(measure) or (None, None)), *entry.seed_range(measure))
        yield from map(csv_number, (entry.mean(measure), *ends))
    for part in _TIME_COLUMNS:
        yield from map(csv_number, _spread(entry.ms(part)))
    yield from (str(entry.timed), str(int(entry.slow.sum())), csv_number(float(entry.slow.mean())))
    for name in _LENGTH_COLUMNS.values():
        lengths: TokenLengths | None = getattr(entry.counts, name)
        yield from map(csv_number, (lengths.mean, lengths.p95) if lengths else (None, None))
    counts = entry.counts
    last = (counts.unknown, counts.vocabulary, counts.parameters, entry.index_bytes, entry.encode_ms)
    yield from map(csv_number, (*last, entry.quality_per_ms(comparison.main)))
    yield from map(csv_number, _change_cells(comparison, entry))
    yield escape_csv(entry.training)


def _name_cells(entry: MeasuredSystem) -> tuple[str, ...]:
    return escape_csv(entry.system), entry.family, escape_csv(entry.condition.language), str(entry.condition.edits)


def _spread(values: FloatArray) -> tuple[float, float, float]:
    p50, p95 = np.percentile(values, (50, 95)).tolist()
    return float(values.mean()), p50, p95


def _change_cells(comparison: TokenizerComparison, entry: MeasuredSystem) -> tuple[float | None, ...]:
    """The change of the main measure by typos; empty without typos or without a run without typos."""
    change = comparison.change(entry)
    if change is None:
        return (None,) * len(_CHANGE_COLUMNS)
    ends = (None, None) if change.interval is None else (100 * change.interval[0], 100 * change.interval[1])
    return (100 * change.mean, *ends, comparison.relative_change(entry))


def _query_rows(comparison: TokenizerComparison, entry: MeasuredSystem) -> Iterator[list[str]]:
    name, _, *condition = _name_cells(entry)
    values = [entry.per_query(measure).tolist() for measure in comparison.measures]
    timed = zip(*(entry.ms(part).tolist() for part in _TIME_COLUMNS), entry.slow.astype(int).tolist(), strict=True)
    for at, query in enumerate(entry.queries):
        numbers = [repr(column[at]) for column in values]
        times = map(repr, next(timed)) if entry.is_timed[at] else [""] * (len(_TIME_COLUMNS) + 1)
        yield [name, *condition, escape_csv(query), *numbers, *times]


FORMAT = f"rankproof tokenizer comparison {format_versions.TOKENIZER_COMPARISON}"


def comparison_json(comparison: TokenizerComparison) -> str:
    """The comparison as JSON, without the values of single queries."""
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
        "systems": [_entry_json(comparison, entry) for entry in comparison.entries],
        "pairs": [
            {"language": language, "edits": edits, **_difference_json(pair)}
            for language in comparison.languages
            for edits in comparison.edits
            for pair in comparison.pairs(QueryCondition(language, edits))
        ],
        "conclusion": conclusions(comparison),
        "notes": list(dict.fromkeys((*comparison.notes, *_all_notes(comparison)))),
        "provenance": dict(comparison.provenance),
    }
    return escape_json(json.dumps(plain, ensure_ascii=False, indent=1, allow_nan=False)) + "\n"


def _all_notes(comparison: TokenizerComparison) -> list[str]:
    return list(system_notes(comparison.at_condition(comparison.base_condition), comparison.main, comparison.chance))


def _entry_json(comparison: TokenizerComparison, entry: MeasuredSystem) -> dict[str, Any]:
    return {
        "system": entry.system,
        "family": entry.family,
        "language": entry.condition.language,
        "edits": entry.condition.edits,
        "training": entry.training,
        "sources": entry.sources,
        "from_cache": entry.from_cache,
        "measures": {
            name: {
                "mean": entry.mean(name),
                "ci": entry.interval(name),
                "repeats": entry.values[name].mean(axis=1).tolist(),
            }
            for name in comparison.measures
        },
        "ms": {part: entry.ms(part).mean().item() for part in TIME_PARTS},
        "timed_queries": entry.timed,
        "slow_queries": int(entry.slow.sum()),
        "counts": asdict(entry.counts),
        "index_bytes": entry.index_bytes,
        "document_embedding_ms": entry.encode_ms,
        "quality_per_ms": entry.quality_per_ms(comparison.main),
    }


def _difference_json(pair: Difference) -> dict[str, Any]:
    return {**asdict(pair), "reliable": pair.is_reliable}


JSON_FILE, CSV_FILE, QUERIES_FILE, CONCLUSION_FILE = "comparison.json", "comparison.csv", "queries.csv", "conclusion.md"
_FOLDER_KIND = "comparison folder"
CHART_NAMES = ("quality", "latency", "pareto", "typos", "languages")
_HEADER_BYTES = 4096


def save_comparison(
    comparison: TokenizerComparison, path: StrPath, *, conclusion: str, charts: Mapping[str, bytes] | None = None
) -> str:
    """Writes the comparison as a folder, replacing an older one; returns the path.

    `conclusion` is a Markdown page, `charts` are PNG files by name.
    """
    target = path_text(path)
    pages = {CSV_FILE: comparison_csv(comparison), QUERIES_FILE: queries_csv(comparison), CONCLUSION_FILE: conclusion}
    with replace_folder(target, _is_replaceable, kind=_FOLDER_KIND) as folder:
        for name, text in pages.items():
            write_blocks(os.path.join(folder, name), [text.encode(errors="backslashreplace")])
        for name, picture in (charts or {}).items():
            write_blocks(os.path.join(folder, f"{name}.png"), [picture])
        document = comparison_json(comparison)
        write_blocks(os.path.join(folder, JSON_FILE), [document.encode(errors="backslashreplace")])
    return target


def check_comparison_folder(path: StrPath) -> None:
    """Raises an error if a comparison cannot be written to the path."""
    check_replaceable(path_text(path), _is_replaceable, kind=_FOLDER_KIND)


def is_comparison_folder(path: str) -> bool:
    """Whether the folder holds a comparison."""
    try:
        with open(os.path.join(path, JSON_FILE), "rb") as file:
            return f'"format": "{FORMAT}"'.encode() in file.read(_HEADER_BYTES)
    except OSError:
        return False


def _is_replaceable(path: str) -> bool:
    """Whether the folder holds a comparison; raises an error if it has other files."""
    if not is_comparison_folder(path):
        return False
    ours = (JSON_FILE, CSV_FILE, QUERIES_FILE, CONCLUSION_FILE, *(f"{name}.png" for name in CHART_NAMES))
    for name in sorted(os.listdir(path)):
        if name not in ours:
            fix = "move that file, or choose another folder"
            raise UsageError(f"{path} contains {for_message(name)}, which is not part of a comparison", fix=fix)
    return True
