"""CPU time and peak memory of every command at three sizes a decade apart.

    python -m benchmarks.growth [--share 0.1] [--only COMMAND...] [-j 2] [--write]

Each command runs once per size in a fresh process, on one thread; times include the start of Python. The slope is that of the
last decade on a logarithmic scale, without the time of the smallest size: 1 is linear, 2 quadratic. `--share` shrinks all sizes,
`--write` puts the rows into the table of docs/benchmarks.md. A command that fails has a row that says so, and the others go on.
Ends with 1 where a command fails, or a slope or a peak exceeds its bound.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from . import online_speed, scale

STEEPEST, MOST_MB = 1.25, 1000
DEPTH, JUDGED, POOL, DOCUMENTS, SEED = 10, 20, 60, 100_000, 7
BAD_RESULTS = {"gate": 1, "doctor": 1}
"""The exit code of a command that found bad results."""
PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
TABLE = r"(?s)(## Growth\n.*?\n)(\| command \|.*?\n)(?=\n)"
Arguments = list[str]


def write_runs(folder: Path, systems: int, queries: int) -> Arguments:
    """Judgements and runs; returns their files."""
    random = np.random.default_rng(SEED)
    pools = random.integers(0, DOCUMENTS, (queries, 1)) + np.arange(POOL)
    with (folder / "qrels.txt").open("w") as out:
        for query, pool in enumerate(pools[:, :JUDGED].tolist()):
            out.writelines(f"q{query} 0 d{doc} {int(place < 6)}\n" for place, doc in enumerate(pool))
    for system in range(systems):
        keys = random.random((queries, POOL))
        keys[:, :6] += 0.3 + 0.1 * system / systems
        docs = np.take_along_axis(pools, np.argsort(-keys, axis=1)[:, :DEPTH], axis=1)
        with (folder / f"s{system:03}.run").open("w") as out:
            for query, ranking in enumerate(docs.tolist()):
                out.writelines(f"q{query} Q0 d{doc} {rank} {DEPTH - rank} s{system}\n" for rank, doc in enumerate(ranking, 1))
    return [str(folder / "qrels.txt"), *(str(folder / f"s{system:03}.run") for system in range(systems))]


def two_runs(folder: Path, rows: int) -> Arguments:
    """Two runs with so many rows together."""
    return write_runs(folder, 2, rows // 2 // DEPTH)


def many_systems(folder: Path, systems: int) -> Arguments:
    """Runs of so many systems on 1,000 queries."""
    return write_runs(folder, systems, 1_000)


def runs_alone(folder: Path, rows: int) -> Arguments:
    """The two runs without their judgements."""
    return two_runs(folder, rows)[1:]


def converted(folder: Path, rows: int) -> Arguments:
    """A run and the file to write."""
    return [write_runs(folder, 1, rows // DEPTH)[1], str(folder / "out.jsonl")]


def write_table(folder: Path, rows: int) -> Arguments:
    """A table of judgements with 100 rows per query."""
    random = np.random.default_rng(SEED)
    docs, grades = random.integers(0, 2_000, rows), random.integers(0, 3, rows)
    path = folder / "table.csv"
    with path.open("w") as out:
        out.write("query,doc_id,doc_text,grade\n")
        for row, (doc, grade) in enumerate(zip(docs.tolist(), grades.tolist(), strict=True)):
            name = 100 * doc + row % 100
            out.write(f"query {row // 100},d{name},the text of document {name} with some words,{grade}\n")
    return [str(path), "-o", str(folder / "imported")]


def write_documents(folder: Path, documents: int) -> Arguments:
    """A dataset of so many documents and 1,000 queries."""
    scale.make(documents, folder)
    return [str(folder)]


def write_answers(folder: Path, rows: int) -> Arguments:
    """A RAG log with a reference per answer."""
    random = np.random.default_rng(SEED)
    path = folder / "log.jsonl"
    with path.open("w") as out:
        for row, words in enumerate(random.integers(0, 5_000, (rows, 15)).tolist()):
            texts = [" ".join(f"w{word}" for word in part) for part in (words, words[:12], words[3:])]
            record = {"question": f"question {row}?", "reference": texts[0], "answer": texts[1], "contexts": [texts[2]]}
            out.write(json.dumps(record) + "\n")
    return [str(path)]


def write_log(folder: Path, rows: int) -> Arguments:
    """A log of interleaved lists."""
    online_speed.write_log(folder / "log.csv", "plain", rows)
    return [str(folder / "log.csv")]


def write_queries_log(folder: Path, rows: int) -> Arguments:
    """A log with the texts of queries."""
    online_speed.write_log(folder / "log.jsonl", "ubi", rows)
    return [str(folder / "log.jsonl")]


@dataclass(frozen=True, slots=True)
class Job:
    """A command, what grows and its three sizes; `make` writes the input and returns the first arguments."""

    command: str
    grows: str
    sizes: tuple[int, int, int]
    make: Callable[[Path, int], Arguments]
    options: tuple[str, ...] = ()


ROWS, FEWER_ROWS = (20_000, 200_000, 2_000_000), (2_000, 20_000, 200_000)
LOGS = (1_000, 10_000, 100_000)
SYSTEMS, CORPUS = (2, 20, 200), (10_000, 100_000, 1_000_000)
JOBS = (
    # The longest ones first, for those that run at the same time.
    Job("generate", "documents", CORPUS, write_documents, ("-o", "made", "--count", "50")),
    Job("audit", "rows of runs", ROWS, two_runs, ("--judge-next", "20")),
    Job("segments", "rows of runs", ROWS, two_runs, ("--by", "relevant")),
    Job("stability", "rows of runs", ROWS, two_runs),
    Job("eval", "rows of runs", ROWS, two_runs),
    Job("compare", "rows of runs", ROWS, two_runs),
    Job("compare", "systems", SYSTEMS, many_systems),
    Job("compare", "systems", SYSTEMS, many_systems, ("--baseline", "s000")),
    Job("gate", "rows of runs", ROWS, two_runs, ("--threshold", "nDCG@10>=0.1")),
    Job("diagnose", "rows of runs", ROWS, two_runs),
    Job("explain", "rows of runs", ROWS, two_runs),
    Job("baselines", "rows of runs", ROWS, two_runs, ("--documents", "200000")),
    Job("correlate", "rows of runs", ROWS, runs_alone),
    Job("audit", "rows of runs", ROWS, two_runs),
    Job("doctor", "rows of runs", ROWS, two_runs),
    Job("fuse", "rows of runs", ROWS, runs_alone, ("-o", "fused.run")),
    Job("tune", "rows of runs", FEWER_ROWS, two_runs),
    Job("convert", "rows of a run", ROWS, converted),
    Job("export", "rows of runs", ROWS, two_runs, ("-o", "values.csv")),
    Job("report", "rows of runs", FEWER_ROWS, two_runs, ("-o", "report.html")),
    Job("plot", "rows of runs", ROWS, two_runs, ("--format", "svg", "-o", "figures")),
    Job("import", "rows of a table", ROWS, write_table),
    Job("run", "documents", CORPUS, write_documents, ("--dataset", "", "--systems", "bm25", "-o", "results", "--no-report")),
    Job("answers", "answers", LOGS, write_answers, ("-m", "EM,F1,ROUGE-L")),
    Job("online", "rows of a log", ROWS, write_log),
    Job("sample", "rows of a log", ROWS, write_queries_log, ("-n", "300", "--min-users", "1", "-o", "set")),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """CPU seconds and peak MB of a command at each size."""

    job: Job
    sizes: tuple[int, ...]
    seconds: tuple[float, ...]
    megabytes: tuple[float, ...]

    @property
    def is_complete(self) -> bool:
        """Whether the command succeeded at every size."""
        return len(self.seconds) == len(self.sizes)

    @property
    def slope(self) -> float | None:
        """The slope of the last decade above the smallest size; None where the time hardly grows."""
        if not self.is_complete:
            return None
        small, middle, large = self.seconds
        if large - small < 0.5 or middle <= small:
            return None
        work = [max(0.02, seconds - small) for seconds in (middle, large)]
        return math.log(work[1] / work[0]) / math.log(self.sizes[2] / self.sizes[1])

    @property
    def is_bounded(self) -> bool:
        """Whether the command succeeded and neither the slope nor the memory exceeds its bound."""
        return self.is_complete and (self.slope is None or self.slope <= STEEPEST) and max(self.megabytes) <= MOST_MB


def cost(arguments: Arguments, folder: Path) -> tuple[float, float]:
    """CPU seconds and peak MB of a command, its children included in the time."""
    one_thread = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    environment = {**os.environ, **one_thread, "RANKPROOF_CACHE": str(folder / "cache")}
    command = [sys.executable, "-m", "rankproof", *arguments]
    with (folder / "output.txt").open("wb") as output:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=output, stderr=output)
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, BAD_RESULTS.get(arguments[0], 0)):
        raise RuntimeError(f"{' '.join(arguments)} ended with {process.returncode}: {(folder / 'output.txt').read_text()[-400:]}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def measured(job: Job, share: float) -> Measured:
    """The command at its three sizes."""
    found: list[tuple[float, float]] = []
    sizes = [max(2, round(size * (1 if job.grows == "systems" else share))) for size in job.sizes]
    for size in sizes:
        with tempfile.TemporaryDirectory() as home:
            folder = Path(home)
            made = [sys.executable, "-m", "benchmarks.growth", "--make", str(JOBS.index(job)), str(size), home]
            try:
                # In a process of its own: the peak of a command counts what the process that starts it holds.
                files = json.loads(subprocess.run(made, stdout=subprocess.PIPE, check=True).stdout)
                found.append(cost([job.command, *_placed(files, job.options)], folder))
            except (RuntimeError, OSError, subprocess.CalledProcessError) as error:
                print(f"{job.command} {size:,} failed: {error}", file=sys.stderr, flush=True)
                break
            print(f"{job.command} {size:,}: {found[-1][0]:.2f} CPU s, {found[-1][1]:.0f} MB", file=sys.stderr, flush=True)
    return Measured(job, tuple(sizes), tuple(seconds for seconds, _ in found), tuple(peak for _, peak in found))


def _placed(files: Arguments, options: Sequence[str]) -> Arguments:
    """The options after the files, or with the file of an option that waits for it."""
    return [files[0] if option == "" else option for option in options] if "" in options else [*files, *options]


def table(rows: Sequence[Measured]) -> Iterator[str]:
    """The rows as Markdown."""
    yield "| command | what grows | CPU s | slope | peak MB |"
    yield "|---|---|---:|---:|---:|"
    for row in rows:
        options = " ".join(option for option in row.job.options if option in ("--baseline", "--judge-next"))
        sizes = ", ".join(f"{size:,}" for size in row.sizes)
        seconds = ", ".join([*(f"{each:.2f}" for each in row.seconds), *([] if row.is_complete else ["failed"])])
        slope = "–" if row.slope is None else f"{row.slope:.2f}"
        name = f"`{row.job.command}{' ' if options else ''}{options}`"
        yield f"| {name} | {row.job.grows}: {sizes} | {seconds} | {slope} | {max(row.megabytes, default=0):,.0f} |"


def with_rows(page: str, lines: Sequence[str]) -> str:
    """The page with these rows in its table, each in the place of that of the same command and work."""
    head = lines[:2]

    def replaced(found: re.Match[str]) -> str:
        rows = {_work(line): line for line in (*found[2].splitlines()[2:], *lines[2:])}
        return found[1] + "\n".join([*head, *(rows[work] for work in sorted(rows))]) + "\n"

    return re.sub(TABLE, replaced, page)


def _work(line: str) -> tuple[str, ...]:
    """The command of a row and what grows."""
    return tuple(cell.strip(" `") for cell in line.partition(":")[0].split("|"))


def main() -> None:
    """Prints the table, and writes it with `--write`."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="the share of each size (default 1)")
    parser.add_argument("--only", nargs="*", choices=sorted({job.command for job in JOBS}), help="these commands alone")
    parser.add_argument("-j", "--jobs", type=int, default=1, help="commands that run at the same time, at most one per core")
    parser.add_argument("--make", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    arguments = parser.parse_args()
    if arguments.make:
        job, size, folder = JOBS[int(arguments.make[0])], int(arguments.make[1]), Path(arguments.make[2])
        return print(json.dumps(job.make(folder, size)))
    chosen = [job for job in JOBS if not arguments.only or job.command in arguments.only]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        rows = list(pool.map(lambda job: measured(job, arguments.share), chosen))
    lines = "\n".join(table(rows))
    print(lines)
    if arguments.write:
        PAGE.write_text(with_rows(PAGE.read_text(encoding="utf-8"), lines.split("\n")), encoding="utf-8")
    sys.exit(not all(row.is_bounded for row in rows))


if __name__ == "__main__":
    main()
