"""Time and memory of whole runs on synthetic corpora of 19,000 to 10 million documents.

    python -m benchmarks.scale make 1000000 FOLDER       write a dataset of that many documents of 48 to 216 words
    python -m benchmarks.scale run FOLDER [--static] [-j N] [--on ray]    run BM25 (and static, RRF) on it, in a fresh process

Times are CPU seconds of the process and its workers; the memory is that of the main process (Linux). The first run
reads the corpus and builds the indexes, the second finds everything in the cache.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

VOCABULARY, PHRASES, QUERIES, SEED = 200_000, 100_000, 1_000, 17
_SYLLABLES = [consonant + vowel for consonant in "bcdfghjklmnprstvwz" for vowel in "aeiou"]
_BM25 = '[systems.bm25]\nstage = "bm25"\n'
_STATIC = '\n[systems.static]\nstage = "dense"\nmodel = "wordllama"\n\n[systems.rrf]\nstage = "fuse"\nof = ["bm25", "static"]\n'


def make(count: int, folder: Path) -> None:
    """Writes corpus.jsonl, queries.jsonl and qrels/test.tsv; the words follow Zipf's law, and each document has one rare word."""
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(SEED)
    words = np.array([_word(number) for number in range(VOCABULARY)], dtype=object)
    phrases = list(_phrases(random, words, PHRASES, 8, 13))
    with (folder / "corpus.jsonl").open("w", encoding="utf-8") as out:
        for start in range(0, count, 10_000):
            sizes = random.integers(6, 19, size=min(10_000, count - start))
            places = np.split(random.integers(PHRASES, size=int(sizes.sum())), np.cumsum(sizes)[:-1])
            for at, place in enumerate(places, start=start):
                text = ". ".join([phrases[one] for one in place.tolist()])
                out.write(f'{{"_id": "doc{at}", "title": "{_word(at + VOCABULARY)}", "text": "{text}."}}\n')
    asked = list(_phrases(random, words, QUERIES, 3, 9))
    with (folder / "queries.jsonl").open("w", encoding="utf-8") as out:
        out.writelines(json.dumps({"_id": f"q{at}", "text": text}) + "\n" for at, text in enumerate(asked))
    (folder / "qrels").mkdir(exist_ok=True)
    with (folder / "qrels" / "test.tsv").open("w", encoding="utf-8") as out:
        out.write("query-id\tcorpus-id\tscore\n")
        out.writelines(f"q{at}\tdoc{int(random.integers(count))}\t1\n" for at in range(QUERIES))


def _word(number: int) -> str:
    """A word of syllables, another for each number; frequent words are short."""
    word, number = "", number + len(_SYLLABLES)
    while number:
        number, place = divmod(number, len(_SYLLABLES))
        word += _SYLLABLES[place]
    return word


def _phrases(random: np.random.Generator, words: Any, count: int, low: int, high: int) -> Iterator[str]:
    shares = np.cumsum(1 / np.arange(10, VOCABULARY + 10))
    sizes = random.integers(low, high, size=count)
    drawn = np.searchsorted(shares, random.random(int(sizes.sum())) * shares[-1])
    for place in np.split(drawn, np.cumsum(sizes)[:-1]):
        yield " ".join(words[place].tolist())


def run(folder: Path, options: list[str], *, static: bool) -> None:
    """Runs the systems twice and prints what both runs took."""
    work = folder / "work"
    work.mkdir(exist_ok=True)
    toml = work / "experiment.toml"
    toml.write_text(f'dataset = "{folder.resolve().as_posix()}"\n\n{_BM25}{_STATIC if static else ""}', encoding="utf-8")
    for name in ("first run", "second run"):
        print(json.dumps({"run": name, **_measured(toml, work, options)}), flush=True)
    print(json.dumps(_systems(work / "results" / "result.json"), indent=1))


def _measured(toml: Path, work: Path, options: list[str]) -> dict[str, float]:
    command = [
        sys.executable,
        "-m",
        "rankproof",
        "run",
        str(toml),
        "-o",
        str(work / "results"),
        "--overwrite",
        "--quiet",
        *options,
    ]
    environment, before = {**os.environ, "RANKPROOF_CACHE": str(work / "cache")}, resource.getrusage(resource.RUSAGE_CHILDREN)
    start, peak = time.perf_counter(), Peak()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment) as child:
        while child.poll() is None:
            peak.sample(child.pid)
            time.sleep(0.1)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    if child.returncode:
        raise SystemExit(f"rankproof run ended with status {child.returncode}")
    cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    wall = time.perf_counter() - start
    return {"cpu_s": round(cpu, 1), "wall_s": round(wall, 1), "memory_mb": peak.own, "mapped_mb": peak.mapped}


class Peak:
    """The largest memory of a process: its own, and the pages of mapped files, which the system takes back when it needs them."""

    def __init__(self) -> None:
        self.own = self.mapped = 0

    def sample(self, process: int) -> None:
        """Reads the memory of the process now."""
        try:
            status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
        except OSError:
            return
        found = {line.split(":")[0]: int(line.split()[1]) // 1024 for line in status.splitlines() if line.startswith("Rss")}
        self.own, self.mapped = max(self.own, found.get("RssAnon", 0)), max(self.mapped, found.get("RssFile", 0))


def _systems(path: Path) -> dict[str, Any]:
    """The seconds and bytes of each index, queries a second in batch, and the median time of a single query."""
    found = json.loads(path.read_text(encoding="utf-8"))["systems"]
    return {
        one["name"]: {
            **one["index"],
            "queries_per_second": one["throughput"],
            "p50_ms": one["times_ms"]["total"]["p50"] if "total" in one["times_ms"] else None,
        }
        for one in found
    }


def main() -> None:
    """Makes a corpus, or measures runs on it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("what", choices=("make", "run"))
    parser.add_argument("arguments", nargs="+")
    parser.add_argument("--static", action="store_true")
    args, rest = parser.parse_known_args()
    if args.what == "make":
        make(int(args.arguments[0]), Path(args.arguments[1]))
    else:
        run(Path(args.arguments[0]), rest, static=args.static)


if __name__ == "__main__":
    main()
