"""`serve --edit` is killed while a person grades, writes notes, keeps test cases, prefers answers or proves a change."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from tools.kills.commands import words_of, write_dataset
from tools.kills.serve import Person, Serve
from tools.kills.workload import RecoveryError

_CHANGES = 24
_MOMENTS = ("when", "first")
_SYSTEMS = """\
dataset = "{dataset}"
[systems.title]
stage = "bm25"
k1 = 0.4
[systems.bm25]
stage = "bm25"
[systems.fused]
stage = "fuse"
of = ["title", "bm25"]
"""
Change = tuple[str, dict[str, Any]]


class Bench(Serve):
    """A person grades documents, writes notes and keeps test cases; what the server confirmed must survive every kill."""

    name, output = "serve --edit", "shown"
    files: ClassVar[tuple[str, ...]] = ("notes.jsonl", "cases.jsonl", "people.qrels")
    """The files that the person writes."""

    def write_inputs(self) -> None:
        write_dataset(self)
        queries = [json.dumps({"_id": f"q{query}", "text": words_of(100 + query)}) for query in range(40)]
        self.write_lines("dataset/queries.jsonl", queries)
        rows = [f"q{query}\td{doc}\t{(query + doc) % 3}" for query in range(40) for doc in range(30)]
        self.write_lines("dataset/qrels/test.tsv", ["query-id\tcorpus-id\tscore", *rows])
        (self.data / "experiment.toml").write_text(_SYSTEMS.format(dataset=self.data / "dataset"), encoding="utf-8")
        self.rankproof("run", self.data / "experiment.toml", "-o", self.data / "results", "--no-cache", "--latency-queries", "1")

    def arguments(self) -> list[str]:
        judging = ["--judge", str(self.target / "people.qrels"), "--assessor", "ann"]
        return ["serve", str(self.target / "results"), *judging, "--edit", "--quiet"]

    def clear(self) -> None:
        super().clear()
        shutil.copytree(self.data / "results", self.target / "results")
        self._written: dict[str, Any] = {}

    def changes(self) -> Iterator[Change]:
        """The changes in their order: the route below the results, and the body."""
        chance = random.Random(self.name)
        for number in range(_CHANGES):
            yield "notes", {"query": f"q{number}", "note": f"note {number}", "tags": [f"tag {number % 3}"]}
            yield "cases/grades", {"text": f"typed {number // 2}", "doc": f"d{number}", "grade": chance.randrange(2)}
            yield "grades", {"query": f"q{number}", "doc": f"d{number}", "grade": chance.randrange(3)}

    def content(self, path: Path) -> Any:
        return {name: self._lines(path / name) for name in self.files}

    def check_killed(self) -> None:
        for name in self.files:
            text = _text_of(self.target / name)
            if text and not text.endswith("\n"):
                raise RecoveryError(f"the last line of {name} is incomplete")
        self._check_written({name: _text_of(self.target / name) for name in self.files})
        self.check_user()

    def _check_written(self, texts: Mapping[str, str]) -> None:
        """Everything that was confirmed is in the files."""
        whole = "\n".join(texts.values())
        if lost := [text for text in self._written.values() if text not in whole]:
            raise RecoveryError(f"{len(lost)} of {len(self._written)} confirmed changes are lost, first {lost[0]!r}")

    def _lines(self, path: Path) -> list[str]:
        return sorted(_without_moments(line) for line in _text_of(path).splitlines())

    def _judge_all(self, process: subprocess.Popen[bytes]) -> None:
        address = self._address(process)
        if address is None:
            return
        person = Person(address)
        for number, (route, body) in enumerate(self.changes()):
            if str(number) not in self._written:
                self._make(person, route, body)
                self._written[str(number)] = self._mark(route, body)
        process.send_signal(signal.SIGTERM)

    def _make(self, person: Person, route: str, body: dict[str, Any]) -> None:
        if route == "notes":
            known = {row["query"]: row["version"] for row in person.ask("/api/r/1/notes")["notes"]}
            body = {**body, "version": known.get(body["query"], "")}
        person.ask(f"/api/r/1/{route}", body)

    def _mark(self, route: str, body: dict[str, Any]) -> str:
        """The text that the file has after the change."""
        if route == "notes":
            return f'"note": "{body["note"]}"'
        return f'"{body["doc"]}": {body["grade"]}' if route.startswith("cases") else f"{body['doc']} {body['grade']}"


class Preferences(Bench):
    """A person says which of two answers is better."""

    name, output = "serve, preferences", "shown"
    files = ("preferences.jsonl",)

    def write_inputs(self) -> None:
        for name in ("a", "b"):
            rows = [
                {"id": f"q{at}", "question": f"question {at}", "answer": f"{name} says {at}", "contexts": []} for at in range(30)
            ]
            self.write_lines(f"{name}.jsonl", [json.dumps(row) for row in rows])
        logs = [self.data / "a.jsonl", self.data / "b.jsonl"]
        self.rankproof("answers", *logs, "-o", self.data / "results")

    def arguments(self) -> list[str]:
        return ["serve", str(self.target / "results"), "--assessor", "ann", "--edit", "--quiet"]

    def _judge_all(self, process: subprocess.Popen[bytes]) -> None:
        address = self._address(process)
        if address is None:
            return
        person = Person(address)
        duel = person.ask("/api/r/1/answers/duel")
        if not len(self._written) <= duel["done"] <= len(self._written) + 1:
            raise RecoveryError(f"{duel['done']} preferences are kept where {len(self._written)} were confirmed")
        for line in _text_of(self.target / self.files[0]).splitlines():
            query = json.loads(line)["query"]
            self._written[query.removeprefix("q")] = f'"query": "{query}"'
        while duel["key"]:
            better = "first" if duel["first"] < duel["second"] else "second"
            number = duel["text"].split()[-1]
            duel = person.ask("/api/r/1/answers/duel", {"key": duel["key"], "preferred": better})
            self._written[number] = f'"query": "q{number}"'
        process.send_signal(signal.SIGTERM)


class Prove(Bench):
    """A person proves a change of settings, which writes new results."""

    name, output = "serve, prove", "shown"
    files = ()

    def environment(self) -> dict[str, str]:
        return {**super().environment(), "XDG_CACHE_HOME": str(self.work / "cache")}

    def content(self, path: Path) -> Any:
        """The values of each results folder; a proof that was computed again is another folder with the same values."""
        shown: dict[str, Any] = {}
        for file in sorted(path.glob("*/result.json")):
            document = json.loads(file.read_text(encoding="utf-8"))
            values = json.dumps({system["name"]: system["measures"] for system in document["systems"]}, sort_keys=True)
            shown[values] = sorted(child.name for child in file.parent.iterdir() if child.suffix in (".json", ".jsonl", ".tsv"))
        return shown

    def check_killed(self) -> None:
        known = self._wanted
        found = self.content(self.target)
        if known is not None and any(values not in known or known[values] != files for values, files in found.items()):
            raise RecoveryError("a results folder is neither the first nor the complete proof")
        self.check_user()

    def _judge_all(self, process: subprocess.Popen[bytes]) -> None:
        address = self._address(process)
        if address is None:
            return
        person = Person(address)
        job = person.ask("/api/r/1/bench/prove", {"a": "title", "b": "fused", "changes": {"weights": [0.2, 0.8]}})
        while job["status"] == "running":
            time.sleep(0.1)
            job = person.ask(f"/api/job?job={job['job']}")
        if job["status"] != "done":
            raise RecoveryError(f"the proof ended as {job['status']}: {job.get('message')}")
        process.send_signal(signal.SIGTERM)


def _text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _without_moments(line: str) -> str:
    """The line without the time of the change."""
    if not line.startswith("{"):
        return " ".join(word for word in line.split() if "@" not in word)
    return json.dumps({key: value for key, value in json.loads(line).items() if key not in _MOMENTS})
