"""What the files of a results folder are called."""

from __future__ import annotations

RESULT = "result.json"
EXPERIMENT = "experiment.toml"
QRELS = "qrels.tsv"
QUERIES = "queries.jsonl"
SNIPPETS = "snippets.jsonl"
RUNS = "runs"
