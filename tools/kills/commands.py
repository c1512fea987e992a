"""The commands that are killed."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

from tools.kills.workload import RecoveryError, Workload
from tools.small_experiment import SYSTEMS

_QUERIES, _DOCUMENTS = 40, 30
_WORDS = ("lemon", "rice", "dough", "oven", "knife", "butter", "sugar", "pan", "salt", "flour", "yeast", "water")
_FINISHED = ("stages/*.stage", "indexes/*/*.arrays", "vectors/*/*.arrays")
_CREATED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_PAGE = "report.html"
_MODEL = """\
model = {{name = "openai", model = "counting", base_url = "{url}", api_key_env = "", concurrency = 2}}
"""
_EXPERIMENT = f"""{SYSTEMS}
[systems.static]
stage = "dense"
model = "wordllama"
[systems.hybrid]
stage = "fuse"
of = ["bm25", "static"]
[systems.keywords]
stage = "rerank"
of = "hybrid"
by = "keywords"
[systems.answers]
stage = "answer"
of = "bm25"
"""


class Eval(Workload):
    """`eval` into a file."""

    name, output = "eval", "result.json"

    def write_inputs(self) -> None:
        write_judgements(self)
        write_run(self, "a.run", 300)

    def arguments(self) -> list[str]:
        measures = ["-m", "nDCG@10,RR,AP,R@100", "--format", "json", "-o", str(self.target)]
        return ["eval", str(self.data / "test.qrels"), str(self.data / "a.run"), *measures, "--quiet"]


class Convert(Workload):
    """`convert` of a run into Parquet."""

    name, output = "convert", "a.parquet"

    def write_inputs(self) -> None:
        write_run(self, "a.run", 1000)

    def arguments(self) -> list[str]:
        return ["convert", str(self.data / "a.run"), str(self.target), "--quiet"]


class ConvertText(Convert):
    """`convert` of a run into compressed JSON."""

    name, output = "convert to JSON", "a.json.gz"


class Import(Workload):
    """`import` of a table into a dataset folder."""

    name, output = "import", "dataset"

    def write_inputs(self) -> None:
        for name, count in (("table.csv", 400), ("old.csv", 20)):
            rows = [f"question {at % 50},title {at},{words_of(at)},{at % 4}" for at in range(count)]
            self.write_lines(name, ["query,title,text,grade", *rows])

    def arguments(self) -> list[str]:
        return ["import", str(self.data / "table.csv"), "-o", str(self.target), "--quiet"]

    def old_output(self) -> None:
        self.rankproof("import", self.data / "old.csv", "-o", self.target)


class Report(Workload):
    """`report` of run files."""

    name, output = "report", "report.html"

    def write_inputs(self) -> None:
        write_judgements(self)
        for name in ("a.run", "b.run"):
            write_run(self, name, 50)

    def arguments(self) -> list[str]:
        inputs = [str(self.data / name) for name in ("test.qrels", "a.run", "b.run")]
        return ["report", *inputs, "-o", str(self.target), "--quiet"]

    def content(self, path: Path) -> Any:
        return _CREATED.sub("", path.read_text(encoding="utf-8"))


class Run(Workload):
    """`run` with seven systems, one of them with a language model, in partitions of another size in each start."""

    name, output, concurrency = "run", "results", 2

    def write_inputs(self) -> None:
        text = _EXPERIMENT + _MODEL.format(url=self.chat.base_url)
        (self.data / "experiment.toml").write_text(text, encoding="utf-8")
        self._inodes: dict[Path, int] = {}

    def arguments(self) -> list[str]:
        execution = ["--partition-size", self.chance.choice(["60", "100", "1000"]), "-j", self.chance.choice(["1", "2"])]
        return self._run(["--limit", "10", "--latency-queries", "3", *execution, "--cache", str(self.work / "cache"), "--quiet"])

    def old_output(self) -> None:
        self.rankproof(*self._run(["--limit", "5", "--systems", "title", "--no-cache"]))

    def _run(self, more: list[str]) -> list[str]:
        return ["run", str(self.data / "experiment.toml"), "-o", str(self.target), *more]

    def content(self, path: Path) -> Any:
        """The report page is written after the results folder, so a kill can come between them."""
        values, files = values_and_files(path)
        return values, [name for name in files if name != _PAGE]

    def clear(self) -> None:
        super().clear()
        self._inodes.clear()

    def check_killed(self) -> None:
        super().check_killed()
        self._check_computed_once()

    def check_finished(self) -> None:
        super().check_finished()
        self._check_computed_once()
        if not (self.target / _PAGE).read_text(encoding="utf-8").rstrip().endswith("</html>"):
            raise RecoveryError("the report page is incomplete")

    def _check_computed_once(self) -> None:
        """The file of a finished stage or partition is not written again."""
        for path in (found for pattern in _FINISHED for found in (self.work / "cache").glob(pattern)):
            inode = path.stat().st_ino
            if self._inodes.setdefault(path, inode) != inode:
                raise RecoveryError(f"{path.name} was computed twice")


class Judge(Workload):
    """`judge` of pairs by a language model."""

    name, output, concurrency, has_older = "judge", "judged.qrels", 4, False

    def write_inputs(self) -> None:
        docs, queries = range(10), range(6)
        self.write_lines("corpus.jsonl", [json.dumps({"_id": f"d{doc}", "text": words_of(doc)}) for doc in docs])
        self.write_lines("queries.jsonl", [json.dumps({"_id": f"q{query}", "text": f"question {query}"}) for query in queries])
        self.write_lines("pairs.tsv", [f"q{query}\td{doc}" for query in queries for doc in docs])

    def arguments(self) -> list[str]:
        texts = [str(self.data / name) for name in ("queries.jsonl", "corpus.jsonl")]
        places = ["--pairs", str(self.data / "pairs.tsv"), "--cache", str(self.work / "cache"), "-o", str(self.target)]
        return ["judge", *texts, "--model", "counting", *places, *model_options(self), "--quiet"]

    def content(self, path: Path) -> Any:
        lines = path.read_text(encoding="utf-8").splitlines()
        pairs = {tuple(line.split()[::2]) for line in lines}
        if len(pairs) != len(lines):
            raise RecoveryError("a pair has two judgements")
        return lines

    def check_killed(self) -> None:
        super().check_killed()
        report = self.target.with_name(f"{self.output}.json")
        if report.exists() and not report.read_text(encoding="utf-8").endswith("}\n"):
            raise RecoveryError("the report of the judgements is incomplete")


class Answers(Workload):
    """`answers` with a language model as the judge of claims."""

    name, output, concurrency = "answers", "results", 4

    def write_inputs(self) -> None:
        for name, count in (("log.jsonl", 30), ("old.jsonl", 3)):
            rows = [
                {
                    "question": f"question {at}",
                    "answer": f"{words_of(at)}.",
                    "contexts": [f"{words_of(at + 1)}.", f"{words_of(at + 2)}."],
                }
                for at in range(count)
            ]
            self.write_lines(name, [json.dumps(row) for row in rows])

    def arguments(self) -> list[str]:
        places = ["--cache", str(self.work / "cache"), "-o", str(self.target)]
        judge = ["-m", "Faithfulness", "--judge", "counting", *model_options(self)]
        return ["answers", str(self.data / "log.jsonl"), *judge, *places, "--quiet"]

    def old_output(self) -> None:
        self.rankproof("answers", self.data / "old.jsonl", "-m", "Faithfulness", "-o", self.target)

    def content(self, path: Path) -> Any:
        return values_and_files(path)


def values_and_files(results: Path) -> tuple[dict[str, Any], list[str]]:
    """Every value of every system, and the files of a results folder."""
    result = json.loads((results / "result.json").read_text(encoding="utf-8"))
    values = {system["name"]: system["measures"] for system in result["systems"]}
    return values, sorted(str(file.relative_to(results)) for file in results.rglob("*"))


def model_options(workload: Workload) -> list[str]:
    """The options that name the server and the number of concurrent requests."""
    return ["--base-url", workload.chat.base_url, "--api-key-env", "", "--concurrency", str(workload.concurrency)]


def write_judgements(workload: Workload) -> None:
    """Judgements of some documents of each query."""
    lines = [f"q{query} 0 d{doc} {(query + doc) % 3}" for query in range(_QUERIES) for doc in range(_DOCUMENTS)]
    workload.write_lines("test.qrels", lines)


def write_dataset(workload: Workload) -> None:
    """A dataset folder with the texts of queries and documents."""
    queries = [json.dumps({"_id": f"q{query}", "text": f"question {query}"}) for query in range(_QUERIES)]
    workload.write_lines("dataset/queries.jsonl", queries)
    workload.write_lines("dataset/corpus.jsonl", [json.dumps({"_id": f"d{doc}", "text": words_of(doc)}) for doc in range(50)])
    workload.write_lines("dataset/qrels/test.tsv", ["query-id\tcorpus-id\tscore", "q0\td0\t1"])


def write_run(workload: Workload, name: str, depth: int) -> None:
    """A run with random scores."""
    chance = random.Random(name)
    rows = [f"q{query} Q0 d{doc} 0 {chance.random():.6f} {name}" for query in range(_QUERIES) for doc in range(depth)]
    workload.write_lines(name, rows)


def words_of(number: int) -> str:
    """A text of a few words."""
    chance = random.Random(number)
    return " ".join(chance.choice(_WORDS) for _ in range(8))
