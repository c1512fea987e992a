"""A small dataset and systems that need no model, as experiment files, for tests, attacks, benchmarks and pictures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

SYSTEMS = """
[systems.title]
stage = "bm25"
fields = ["title"]

[systems.bm25]
stage = "bm25"

[systems.fused]
stage = "fuse"
of = ["title", "bm25"]
"""
RERANKED = """
[systems.reranked]
stage = "rerank"
of = "fused"
by = "keywords"
top = 3
"""
EXPERIMENT = f'dataset = "data"\n{SYSTEMS}{RERANKED}'
"""All systems on the dataset in the folder `data` beside the file."""
SAMPLE_EXPERIMENT = f'dataset = "sample"\n{SYSTEMS}'
DOCUMENTS = {
    "d1": ("Proofing bread", "How long to let dough rise before baking it"),
    "d2": ("Knife care", "Sharpen the blade on a wet stone"),
    "d3": ("Bread knife", "A serrated blade for crusty loaves"),
    "d4": ("Oven gloves", "Thick cotton for hot trays"),
    "d5": ("Sourdough starter", "Feed it flour and water so that dough will rise"),
}
QUERIES = {"q1": "how long must dough rise", "q2": "sharpen a knife", "q3": "knife for bread"}
QRELS: Mapping[str, Mapping[str, int]] = {"q1": {"d1": 2, "d5": 1}, "q2": {"d2": 2}, "q3": {"d3": 2, "d2": 0}}


def write_experiment(folder: Path) -> None:
    """Writes `experiment.toml` and the folder `data`."""
    data = folder / "data"
    data.mkdir()
    corpus = [{"_id": doc, "title": title, "text": text} for doc, (title, text) in DOCUMENTS.items()]
    queries = [{"_id": query, "text": text} for query, text in QUERIES.items()]
    for name, records in (("corpus", corpus), ("queries", queries)):
        (data / f"{name}.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    rows = [f"{query}\t{doc}\t{grade}\n" for query, docs in QRELS.items() for doc, grade in docs.items()]
    (data / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(rows), encoding="utf-8")
    (folder / "experiment.toml").write_text(EXPERIMENT, encoding="utf-8")
