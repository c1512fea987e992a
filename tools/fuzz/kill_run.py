"""Kills `rankproof run` with SIGKILL at random moments, restarts it, and compares the result: `python -m tools.fuzz.kill_run 50`.

Each start has partitions of another size and one or two workers. After each kill the cache is checked: the file of a finished
stage or partition may not be written again.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

EXPERIMENT = """\
[systems.title]
stage = "bm25"
fields = ["title"]
[systems.bm25]
stage = "bm25"
[systems.static]
stage = "dense"
model = "wordllama"
[systems.prompted]
stage = "dense"
model = "wordllama"
query_prompt = "question: "
passage_prompt = "answer: "
[systems.hybrid]
stage = "fuse"
of = ["bm25", "static"]
[systems.judge]
stage = "rerank"
of = "hybrid"
by = "keywords"
"""

FINISHED = ("stages/*.stage", "indexes/*/*.arrays", "vectors/*/*.arrays")


@dataclass
class Campaign:
    """One folder, one experiment, and what has been seen in its cache."""

    folder: Path
    chance: random.Random
    experiment: str = EXPERIMENT
    kills: int = 0
    finished: int = 0
    files: dict[Path, int] = field(default_factory=dict)

    def command(self) -> list[str]:
        """The run, with its own cache and results, and partitions and workers of its own."""
        file = self.folder / "experiment.toml"
        file.write_text(self.experiment, encoding="utf-8")
        places = ["--cache", str(self.folder / "cache"), "-o", str(self.folder / "results")]
        how = ["--partition-size", self.chance.choice(["60", "100", "1000"]), "-j", self.chance.choice(["1", "2"])]
        return [sys.executable, "-m", "rankproof", "run", str(file), *places, *how, "--quiet"]

    def whole(self) -> tuple[dict[str, Any], float]:
        """The numbers of a run that nobody disturbs, and its seconds; leaves no cache behind."""
        start = time.monotonic()
        subprocess.run(self.command(), check=True, stdout=subprocess.DEVNULL)
        seconds = time.monotonic() - start
        found = numbers(self.folder / "results")
        self.clear()
        return found, seconds

    def clear(self) -> None:
        """Forgets cache and results."""
        self.files.clear()
        for name in ("cache", "results"):
            shutil.rmtree(self.folder / name, ignore_errors=True)

    def until_finished(self, wanted: dict[str, Any], seconds: float, most: int) -> None:
        """Starts and kills until a run gets through, or has been killed so many times; then lets it finish."""
        while self.kills < most and not self._killed(self.chance.uniform(0, seconds)):
            pass
        if not (self.folder / "results").is_dir():
            subprocess.run(self.command(), check=True, stdout=subprocess.DEVNULL)
        self._look()
        found = numbers(self.folder / "results")
        assert found == wanted, "the numbers differ after kills"
        self.finished += 1
        self.clear()

    def _killed(self, after: float) -> bool:
        """One start that is killed after so many seconds; true where it was through before."""
        with subprocess.Popen(self.command(), stdout=subprocess.DEVNULL) as run:
            try:
                through = run.wait(after) == 0
                assert through, "a run failed after a kill"
            except subprocess.TimeoutExpired:
                run.kill()
                through = False
                self.kills += 1
        self._look()
        return through

    def _look(self) -> None:
        """No file of a finished stage or partition was written again."""
        for path in (found for pattern in FINISHED for found in (self.folder / "cache").glob(pattern)):
            number = path.stat().st_ino
            assert self.files.setdefault(path, number) == number, f"{path} was computed twice"


def numbers(folder: Path) -> dict[str, Any]:
    """Every value of every system in a results folder."""
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    return {system["name"]: system["measures"] for system in result["systems"]}


def main() -> None:
    """Kills a run the given number of times and prints a summary."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz.kill_run", description=__doc__)
    parser.add_argument("kills", type=int, nargs="?", default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--experiment", type=Path, help="an experiment file; by default BM25, static vectors, fusion, a reranker")
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent / "work" / "kills")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    experiment = asked.experiment.read_text(encoding="utf-8") if asked.experiment else EXPERIMENT
    campaign = Campaign(asked.folder, random.Random(asked.seed), experiment)
    campaign.clear()
    wanted, seconds = campaign.whole()
    while campaign.kills < asked.kills:
        campaign.until_finished(wanted, seconds, asked.kills)
    print(
        f"{campaign.kills} kills over {campaign.finished} runs of {seconds:.1f} s (seed {asked.seed}): "
        "the same numbers each time, no finished stage or partition computed again"
    )


if __name__ == "__main__":
    main()
