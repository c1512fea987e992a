"""`python -m tools.mutants 200 --seed 1`: tries mutants and lists those that no test sees."""

from __future__ import annotations

import argparse
import importlib
import json
import random
import shutil
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.mutants.mutant import Mutant
from tools.mutants.packages import PACKAGES, Package
from tools.mutants.workspace import KILLED, Outcome, Tried, Workspace

ROOT = Path(__file__).resolve().parents[2]
LOADED_ONCE = ("numpy", "scipy.stats", "scipy.special", "hypothesis.strategies", "hypothesis.extra.numpy", "pandas", "httpx")
MIN_KILLED = 0.95
EQUIVALENT: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("equivalent.toml").read_text(encoding="utf-8"))[
    "mutant"
]
_LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "build", "dist", "site", "work", "*.egg-info", ".mypy_cache", ".hypothesis")
_COUNTED = (*KILLED, "equivalent", "survived")


@dataclass(frozen=True, slots=True)
class Sample:
    """How many mutants to try, of which packages, chosen by which seed; or these `mutants`, named by their keys."""

    count: int
    seed: int
    packages: Sequence[str] = ()
    mutants: Sequence[str] = ()

    def of(self, package: Package, root: Path) -> tuple[int, list[Mutant]]:
        """How many mutants of a package in this copy to try, and the mutants in random order."""
        every = package.mutants(root)
        if self.mutants:
            named = [one for one in every if one.key in self.mutants]
            return len(named), named
        random.Random(f"{self.seed} {package.name}").shuffle(every)
        chosen = [one for one in PACKAGES if not self.packages or one.name in self.packages]
        return (round(self.count * package.share / sum(one.share for one in chosen)) if package in chosen else 0), every


def tried(sample: Sample, before: dict[str, Tried]) -> Iterator[Tried]:
    """Tries the sample less the mutants tried before; those that do not compile, or to the same code, are replaced by others."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        root = Path(folder).resolve() / "tree"
        shutil.copytree(ROOT, root, ignore=_LEFT_OUT, symlinks=True)
        for package in PACKAGES:
            wanted, mutants = sample.of(package, root)
            with Workspace(root, package) as workspace:
                for mutant in mutants:
                    if wanted == 0:
                        break
                    found = before.get(mutant.key) or workspace.tried(mutant)
                    wanted -= found.outcome in _COUNTED
                    reason = next((one["reason"] for one in EQUIVALENT if is_listed(mutant, one)), None)
                    yield found._replace(outcome="equivalent", by=reason) if found.outcome == "survived" and reason else found


def is_listed(mutant: Mutant, listed: dict[str, Any]) -> bool:
    """Whether it is a listed mutant: one of the changes of a line, or one change behind the code that is given."""
    if mutant.path != listed["path"]:
        return False
    if "line" in listed:
        line, _, change = mutant.change.rpartition(": ")
        return line == listed["line"] and change in listed["changes"]
    before = (ROOT / mutant.path).read_bytes()[: mutant.start].decode(errors="replace")
    return mutant.change == listed["change"] and before.endswith(listed["before"])


def table(results: Sequence[Tried]) -> str:
    """The counts of each package as Markdown, with the share killed of all and of those that are not listed as equivalent."""
    lines = [
        "| package | tried | test failed | crashed | timed out | equivalent | survived | killed | killed of not equivalent |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name in [*(one.name for one in PACKAGES), "all"]:
        outcomes = Counter(one.outcome for one in results if name in (one.package, "all"))
        if count := sum(outcomes[outcome] for outcome in _COUNTED):
            cells = " | ".join(str(outcomes[outcome]) for outcome in _COUNTED)
            lines.append(f"| {name} | {count} | {cells} | {killed(outcomes):.1%} | {killed(outcomes, differ=True):.1%} |")
    return "\n".join(lines)


def killed(outcomes: Counter[Outcome], *, differ: bool = False) -> float:
    """The share of mutants that were killed, of all or of those that are not listed as equivalent."""
    kills, survived = sum(outcomes[outcome] for outcome in KILLED), outcomes["survived"]
    return kills / max(kills + survived + (0 if differ else outcomes["equivalent"]), 1)


def main(arguments: Sequence[str]) -> int:
    """Prints each mutant with its outcome, then the table; 1 if too few of those that are not equivalent were killed."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--package", action="append", default=[], choices=[one.name for one in PACKAGES])
    parser.add_argument("--mutant", action="append", default=[], help="try this mutant, named as in the output")
    parser.add_argument(
        "--out", type=Path, help="write a line of JSON for each mutant; those that it lists as killed are not tried again"
    )
    given = parser.parse_args(arguments)
    for name in LOADED_ONCE:
        importlib.import_module(name)
    before = _killed_before(given.out)
    results = []
    for one in tried(Sample(given.count, given.seed, given.package, given.mutant), before):
        results.append(one)
        print(f"{one.outcome}: {one.key} {one.by}", flush=True)
        if given.out is not None and one.key not in before:
            with given.out.open("a", encoding="utf-8") as out:
                out.write(json.dumps(one._asdict()) + "\n")
    print(table(results))
    return int(killed(Counter(one.outcome for one in results), differ=True) < MIN_KILLED)


def _killed_before(out: Path | None) -> dict[str, Tried]:
    """The mutants that an earlier run has killed."""
    if out is None or not out.exists():
        return {}
    every = [Tried(**json.loads(line)) for line in out.read_text(encoding="utf-8").splitlines()]
    return {one.key: one for one in every if one.outcome in KILLED}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
