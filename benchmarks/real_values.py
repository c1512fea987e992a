"""Per-query values of 15 real systems on the collections beside the project, for simulations with a known truth.

`python -m benchmarks.real_values` runs what is not stored yet. A collection is stored as one array by measure, query and system.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tools import shared_folder

from rankproof import Dataset, Experiment, read_dataset, read_qrels, run
from rankproof._data.arrays import FloatArray
from rankproof._formats.documents import read_corpus
from rankproof._formats.texts import read_queries
from rankproof._io.open import open_source
from rankproof.models import MiniLM, WordLlama
from rankproof.stages import BM25, RRF, Dense, Fuse, KeywordScorer, Rerank
from rankproof.types import Stage

HERE = Path(__file__).parent
DATA = shared_folder.DATA
STORED = HERE / "work" / "real_values"
MEASURES = ("nDCG@10", "RR@10", "P@10", "Success@5")
COLLECTIONS: Mapping[str, Sequence[str]] = {
    "SciFact": ("scifact:test", "scifact:train"),
    "Cranfield": ("cranfield:test",),
    "CosQA": ("cosqa:test", "cosqa:dev"),
    "XQuAD": ("xquad-en:test",),
    "XQuAD, German": ("xquad-en/i18n:de",),
}
"""The parts of each collection, folder and split; values of all parts are joined."""


def systems() -> dict[str, Stage]:
    """The systems, roughly from cheap to expensive."""
    bm25, static, minilm = BM25(), Dense(WordLlama()), Dense(MiniLM())
    return {
        "bm25": bm25,
        "bm25-short": BM25(k1=0.9, b=0.4),
        "bm25-long": BM25(k1=2.5, b=1.0),
        "bm25-unstemmed": BM25(stemming=False),
        "bm25-all-words": BM25(stop_words=False),
        "bm25-characters": BM25(tokens="characters-4"),
        "keywords": Rerank(bm25, KeywordScorer()),
        "static": static,
        "hybrid-static": RRF((bm25, static)),
        "hybrid-static-z": Fuse((bm25, static), method="combsum", norm="z-score"),
        "minilm": minilm,
        "hybrid-min-max": Fuse((bm25, minilm), method="combsum", norm="min-max"),
        "hybrid-rrf": RRF((bm25, minilm)),
        "hybrid-z": Fuse((bm25, minilm), method="combsum", norm="z-score"),
        "hybrid-all": RRF((bm25, static, minilm)),
    }


@dataclass(frozen=True, slots=True)
class RealValues:
    """Values of one collection by measure, each a row for each query and a column for each system."""

    collection: str
    values: Mapping[str, FloatArray]


def real_values() -> list[RealValues]:
    """The values of every collection that is there, taken from the store where they are in it."""
    if not DATA.is_dir():
        raise SystemExit(f"{shared_folder.missing_data()}: nothing to simulate")
    return [RealValues(name, _collection(name, parts)) for name, parts in COLLECTIONS.items()]


def _collection(name: str, parts: Sequence[str]) -> dict[str, FloatArray]:
    path = STORED / f"{name}.npy"
    if not path.exists():
        print(f"{name}: running {len(systems())} systems", file=sys.stderr)
        found = [_part(part) for part in parts]
        STORED.mkdir(parents=True, exist_ok=True)
        np.save(path, np.array([np.concatenate([one[measure] for one in found]) for measure in MEASURES]))
    return dict(zip(MEASURES, np.load(path), strict=True))


def _part(part: str) -> dict[str, FloatArray]:
    experiment = Experiment(name="real-values", dataset=dataset_of_part(part), systems=systems(), measures=MEASURES)
    result = run(experiment).result
    return {name: np.column_stack([each.measures[name].values for each in result.systems]) for name in MEASURES}


def dataset_of_part(part: str) -> Dataset:
    """The dataset of a part of a collection."""
    name, split = part.split(":")
    folder = DATA / name
    if folder.name != "i18n":
        return read_dataset(folder, split=split)
    corpus, queries = (open_source(folder / f"{name}.{split}.jsonl") for name in ("corpus", "queries"))
    return Dataset(f"xquad-{split}", read_corpus(corpus), read_queries(queries), read_qrels(folder.parent / "qrels.tsv"))


def main() -> None:
    """Prints the mean nDCG@10 of each system on each collection."""
    for one in real_values():
        values = one.values["nDCG@10"]
        means = ", ".join(f"{name} {mean:.3f}" for name, mean in zip(systems(), values.mean(axis=0), strict=True))
        print(f"{one.collection} ({len(values):,} queries): {means}")


if __name__ == "__main__":
    main()
