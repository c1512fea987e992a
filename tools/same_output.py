"""`python -m tools.same_output OLD`: whether commands print the same JSON as another checkout of the project.

Both checkouts need their native modules (`make demo` builds them). Keys that only one side has are listed; values must be equal.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tools.shared_folder import DATA, missing_data

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "src" / "rankproof" / "_sample"
VARYING = frozenset({"ms p50"})
"""Keys whose values are measured times, which differ from run to run."""
MEASURES = "nDCG@10,RR,AP,P@5,R@100"
LOG = [
    {"id": str(at), "question": f"What is {at} and {at}?", "answer": f"{at} and {at} is {2 * at}.", "reference": str(2 * at)}
    for at in range(40)
]


def commands(work: Path) -> Iterator[tuple[str, list[str]]]:
    """Each comparison with its name; the runs of SciFact are those of `run` before it."""
    sample = [str(SAMPLE / "kitchen" / "qrels.tsv"), *map(str, sorted((SAMPLE / "runs").glob("*.run")))]
    yield "eval, sample", ["eval", *sample, "-q", "-m", MEASURES, "--format", "json"]
    yield "compare, sample", ["compare", *sample, "--format", "json"]
    (work / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in LOG), encoding="utf-8")
    yield "answers", ["answers", "log.jsonl", "-m", "EM,F1,ROUGE-L", "--format", "json"]
    if not missing_data("scifact"):
        systems = '[systems.bm25]\nstage = "bm25"\n[systems.rm3]\nstage = "rm3"\nof = "bm25"\n'
        (work / "scifact.toml").write_text(f"dataset = {json.dumps(str(DATA / 'scifact'))}\n{systems}", encoding="utf-8")
        yield "", ["run", "scifact.toml", "-o", "results", "--no-report", "--quiet"]
        yield "compare, SciFact", ["compare", "results", "--cost", "bm25=1", "--cost", "rm3=2", "--format", "json"]
        runs = [f"results/runs/{name}.trec.gz" for name in ("bm25", "rm3")]
        yield "eval, SciFact", ["eval", str(DATA / "scifact" / "qrels.tsv"), *runs, "-q", "-m", MEASURES, "--format", "json"]


def output(checkout: Path, arguments: list[str], work: Path) -> Any:
    """What the command prints with the code of a checkout."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "RANKPROOF_CACHE": str(work / "cache")}
    done = subprocess.run(
        [sys.executable, "-m", "rankproof", *arguments], cwd=work, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{checkout.name}: rankproof {' '.join(arguments)} ended with {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout) if "json" in arguments else None


def differences(old: Any, new: Any, path: str = "") -> Iterator[str]:
    """The places at which two values differ, keys of one side first."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        yield from (f"{path}/{key}: only in the old output" for key in old.keys() - new.keys())
        yield from (f"{path}/{key}: only in the new output" for key in new.keys() - old.keys())
        for key in old.keys() & new.keys() - VARYING:
            yield from differences(old[key], new[key], f"{path}/{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for at, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from differences(before, after, f"{path}/{at}")
    elif old != new:
        yield f"{path}: {str(old)[:120]} | {str(new)[:120]}"


def count_of(value: Any) -> int:
    """The number of values in an output."""
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else None
    return 1 if inner is None else sum(map(count_of, inner))


def main() -> int:
    """Prints the differences of each command; 1 if there are any."""
    old_checkout, failed = Path(sys.argv[1]).resolve(), False
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        folders = (Path(first), Path(second))
        for (name, arguments), (_, others) in zip(*map(commands, folders), strict=True):
            old, new = output(old_checkout, arguments, folders[0]), output(ROOT, others, folders[1])
            if name:
                places = list(differences(old, new))
                failed = failed or bool(places)
                print(f"{name}: {count_of(new):,} values, {len(places)} differences", *places[:20], sep="\n  ")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
