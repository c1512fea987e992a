"""Tokenizer comparisons with given values, tiny checkpoints, and a dataset in two languages."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankproof._cli.main import main
from rankproof._formats.read import write_folder
from rankproof._tokenizer_lab.comparison import TokenizerComparison
from rankproof._tokenizer_lab.measured import MeasuredSystem, QueryCondition
from rankproof._tokenizer_lab.systems import SystemFamily
from rankproof._tokenizer_lab.token_counts import TokenCounts, TokenLengths
from rankproof.models._trained.checkpoint import save_checkpoint
from rankproof.models._trained.shape import NetShape
from rankproof.models._trained.tokenizers import train_tokenizer
from support.small_datasets import small_dataset

MEASURES = ("nDCG@10", "R@10", "RR", "R@1", "R@5", "P@1", "P@5", "P@10")
TEXTS = ("the hob hums", "let the dough rest", "a knife is sharpened")


def entry_of(
    system: str,
    rows: Sequence[Sequence[float]],
    *,
    language: str = "own",
    edits: int = 0,
    family: SystemFamily = "trained",
    training: str = "contrastive, 9 steps",
    ms: float = 2.0,
    queries: Sequence[str] | None = None,
) -> MeasuredSystem:
    """A system whose measures all have these values, a row for each repeat."""
    values = np.array(rows, dtype=np.float64)
    names = tuple(queries or (f"q{at}" for at in range(values.shape[1])))
    grows = 1 + np.arange(values.shape[1]) / values.shape[1]
    times = {"embed": 0.75 * ms * grows, "search": 0.25 * ms * grows, "total": ms * grows}
    return MeasuredSystem(
        system=system,
        family=family,
        condition=QueryCondition(language, edits),
        queries=names,
        values=dict.fromkeys(MEASURES, values),
        times={part: np.stack([one] * len(values)) for part, one in times.items()},
        counts=TokenCounts(
            TokenLengths(100.5, 180.0),
            TokenLengths(9.5, 14.0),
            TokenLengths(25.2, 45.0),
            TokenLengths(3.0, 4.0),
            0.125,
            259,
            4_000_000,
        ),
        index_bytes=1_234_567,
        encode_ms=3.25,
        training=training,
    )


def comparison_of(entries: Sequence[MeasuredSystem], **more: Any) -> TokenizerComparison:
    """The comparison of these entries."""
    return TokenizerComparison("tiny", 30, MEASURES, tuple(entries), chance=0.01, **more)


def wide_comparison(
    systems: Sequence[str], *, queries: int = 40, languages: Sequence[str] = ("own",), edits: int = 0
) -> TokenizerComparison:
    """Systems each a little better and slower than the one before, by a fixed seed; the last one is untrained."""
    draw = np.random.default_rng(5)
    entries = []
    for language in languages:
        for edit in range(edits + 1):
            for at, name in enumerate(systems):
                rows = np.clip(draw.normal(0.3 + 0.06 * at - 0.05 * edit, 0.2, (2, queries)), 0, 1)
                training = "none" if at == len(systems) - 1 else ""
                slow = 0.2 * 4.0**at
                entries.append(
                    entry_of(name, rows.tolist(), language=language, edits=edit, training=training, ms=slow, family="encoder")
                )
    return comparison_of(entries)


def save_tiny_checkpoint(
    folder: Path,
    kind: str,
    seed: int,
    *,
    trained: bool = True,
    queries: Sequence[str] = (),
    prompts: Mapping[str, str] | None = None,
    **data: Any,
) -> Path:
    """A checkpoint of a tiny untrained network, whatever its metadata says; the test is skipped without PyTorch."""
    torch_net = pytest.importorskip("rankproof.models._trained.torch_net", reason="the extra torch brings torch")
    tokenizer = train_tokenizer(kind, TEXTS)
    stride, hashes = (4, 8) if kind == "characters" else (4, 0) if kind == "bytes-4" else (1, 0)
    shape = NetShape(
        kind,
        tokenizer.vocabulary,
        width=16,
        depth=2,
        heads=2,
        hidden=16,
        stride=stride,
        hashes=hashes,
        buckets=64 if hashes else 0,
    )
    data_facts = {"name": "kitchen", "queries": list(queries), "texts": [], **data}
    config = {"batch": 4, **(prompts or {})}
    card = {"trained": trained, "steps": 9 if trained else 0, "seed": seed, "training_config": config, "data": data_facts}
    save_checkpoint(folder, torch_net.initialise_network(shape, seed), shape, tokenizer, card)
    return folder


def write_translated(folder: Path) -> str:
    """The small dataset with a second language, xx, of the same words."""
    write_folder(small_dataset(), str(folder))
    (folder / "i18n").mkdir()
    for part in ("corpus", "queries"):
        (folder / "i18n" / f"{part}.xx.jsonl").write_text((folder / f"{part}.jsonl").read_text())
    return str(folder)


def compared(*arguments: str) -> int:
    """The exit code of `rankproof tokenizers compare`."""
    return main(["tokenizers", "compare", *arguments])


def rows_of(text: str) -> list[dict[str, str]]:
    """The rows of a CSV file by the names of its columns."""
    return list(csv.DictReader(io.StringIO(text)))
