"""A folder with four documents and three judged queries, for runs that call models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

DOCUMENTS = {
    "d1": "How long to let bread dough rise before baking it",
    "d2": "Sharpen the blade of a knife on a wet stone",
    "d3": "A serrated bread knife for crusty loaves",
    "d4": "Feed a starter flour and water so that dough will rise",
}
QUERIES = {"q1": "how long must dough rise", "q2": "sharpen a knife", "q3": "knife for bread"}
QRELS = {"q1": "d1", "q2": "d2", "q3": "d3"}


def work_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Makes the folder the working directory, with the dataset `data` and a cache of its own."""
    data = folder / "data"
    data.mkdir()
    for name, texts in (("corpus", DOCUMENTS), ("queries", QUERIES)):
        (data / f"{name}.jsonl").write_text("".join(f"{json.dumps({'_id': key, 'text': text})}\n" for key, text in texts.items()))
    rows = "".join(f"{query}\t{doc}\t1\n" for query, doc in QRELS.items())
    (data / "qrels.tsv").write_text(f"query-id\tcorpus-id\tscore\n{rows}")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("RANKPROOF_CACHE", str(folder / "cache"))
    monkeypatch.setenv("COLUMNS", "120")
    return folder
