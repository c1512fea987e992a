"""Nothing is sent to another machine: importing the public modules and running every verb opens no connection."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from rankproof._cli.parser import COMMANDS
from support.counted_network import counted, has_namespaces
from support.model_weights import link_wordllama

IMPORTS = """
import importlib, pkgutil
import rankproof

def load(module):
    names = len(getattr(module, "__all__", ()))
    for name in getattr(module, "__all__", ()):
        getattr(module, name)
    for found in pkgutil.iter_modules(getattr(module, "__path__", ())):
        if not found.name.startswith("_"):
            names += load(importlib.import_module(f"{module.__name__}.{found.name}"))
    return names

print(load(rankproof))
"""
ASKING = """
import socket
for address in ("192.0.2.1", "2001:db8::1"):
    try:
        socket.create_connection((address, 9), timeout=0.2).close()
    except OSError:
        pass
"""
EXPERIMENT = """
name = "telemetry"
dataset = "sample"
measures = ["nDCG@10"]

[systems.bm25]
stage = "bm25"

[systems.static]
stage = "dense"
model = "wordllama"
"""
LIBRARIES = [
    ("tantivy", 'stage = "tantivy"'),
    ("sqlite3", 'stage = "sqlite-fts5"'),
    ("lancedb", 'stage = "lancedb-fts"'),
    ("lancedb", 'stage = "dense"\nmodel = "wordllama"\nstore = "lancedb"'),
    ("qdrant_edge", 'stage = "dense"\nmodel = "wordllama"\nstore = "qdrant"'),
    ("milvus_lite", 'stage = "dense"\nmodel = "wordllama"\nstore = "milvus"'),
    ("chromadb", 'stage = "dense"\nmodel = "wordllama"\nstore = "chroma"'),
]
"""Stages with a library that may send reports about its use."""
LOG = '{"question": "where?", "answer": "In Paris.", "contexts": ["Paris is in France."], "reference": "Paris"}\n'
SEARCH_LOG = """session,user,time,query,system,rank,doc,action
s1,ann,2026-11-03T10:00:00Z,pan,bm25,1,d1,
s1,ann,2026-11-03T10:00:05Z,pan,bm25,1,d1,click
s1,ann,2026-11-03T10:00:00Z,pan,dense,2,d2,
"""
VERBS: dict[str, list[str]] = {
    "run": ["systems.toml", "-o", "results"],
    "import": ["log.jsonl", "-o", "imported"],
    "init": [],
    "eval": ["--sample"],
    "compare": ["results"],
    "doctor": ["sample"],
    "explain": ["results", "--system", "bm25", "--query", "q001"],
    "audit": ["results"],
    "segments": ["results", "--by", "length"],
    "diagnose": ["results"],
    "baselines": ["results"],
    "correlate": ["results"],
    "agreement": ["results/qrels.tsv", "./results/qrels.tsv"],
    "stability": ["results", "--splits", "20", "--rounds", "2"],
    "answers": ["log.jsonl", "-o", "answers"],
    "online": ["search_log.csv"],
    "sample": ["search_log.csv", "-n", "30", "--min-users", "1"],
    "prefer": ["preferences.csv"],
    "gate": ["results", "--save", "baseline.json"],
    "report": ["results", "-o", "report.html"],
    "serve": ["results"],
    "plot": ["results", "-o", "figures"],
    "export": ["results", "-o", "values.csv"],
    "generate": ["sample", "-o", "made", "--count", "6"],
    "judge": ["sample", "--by", "keywords", "--qrels", "sample", "--sample", "20"],
    "fuse": ["results/runs/bm25.trec.gz", "results/runs/static.trec.gz", "-o", "both.run"],
    "tune": ["results", "results/runs/bm25.trec.gz", "results/runs/static.trec.gz"],
    "convert": ["results/runs/bm25.trec.gz", "bm25.csv"],
    "measures": [],
    "cache": ["clear"],
    "models": ["list"],
    "tokenizers": ["compare", "sample", "--lexical", "words", "-o", "comparison"],
    "mcp": ["."],
    "completion": ["bash"],
    "help": ["eval"],
}
EXPECTED_CODES = {"serve": (0, 130)}


def rankproof(verb: str, *argv: str) -> list[str]:
    return [sys.executable, "-m", "rankproof", verb, *argv, "--quiet"]


def test_every_verb_is_run_without_a_network() -> None:
    assert set(VERBS) == {component.name for component in COMMANDS.components}


def test_an_attempt_is_counted(tmp_path: Path) -> None:
    code, _, attempts = counted({"asking": [sys.executable, "-c", ASKING]}, tmp_path, {})["asking"]
    assert code == 0
    assert {"socket.connect 192.0.2.1", "socket.connect 2001:db8::1"} <= set(attempts)
    assert ("2 packets without a route" in attempts) == has_namespaces()


@pytest.mark.slow
def test_importing_every_public_module_opens_no_connection(tmp_path: Path) -> None:
    code, names, attempts = counted({"imports": [sys.executable, "-c", IMPORTS]}, tmp_path, {})["imports"]
    assert (code, attempts) == (0, [])
    assert int(names) >= 300


@pytest.mark.slow
def test_every_verb_opens_no_connection(tmp_path: Path, wordllama_weights: Path | None) -> None:
    link_wordllama(wordllama_weights, tmp_path / "cache")
    known = [stage for library, stage in LIBRARIES if find_spec(library)]
    (tmp_path / "systems.toml").write_text(EXPERIMENT + "".join(f"[systems.s{at}]\n{each}\n" for at, each in enumerate(known)))
    (tmp_path / "log.jsonl").write_text(LOG)
    (tmp_path / "search_log.csv").write_text(SEARCH_LOG)
    rows = "".join(f"q{at},old,new,{'new' if at % 3 else 'old'},human:ann\n" for at in range(40))
    (tmp_path / "preferences.csv").write_text(f"query,a,b,preferred,who\n{rows}")
    commands = {verb: rankproof(verb, *argv) for verb, argv in VERBS.items()}
    if find_spec("mlflow"):
        commands["export to MLflow"] = rankproof("export", "results", "--to", "mlflow")
    found = counted(commands, tmp_path, {"RANKPROOF_CACHE": str(tmp_path / "cache")})
    failed = {verb: (code, output) for verb, (code, output, _) in found.items() if code not in EXPECTED_CODES.get(verb, (0,))}
    assert failed == {}
    assert {verb: attempts for verb, (*_, attempts) in found.items() if attempts} == {}
