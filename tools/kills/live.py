"""Commands on logs of live traffic, conversations and traces that are killed."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import rankproof as rp
from tools.kills.workload import Workload, digests

_SESSIONS = 400
_START = 1_762_128_000
_DAY = 86_400
_CREATED = ("created", "made", "digest", "files")


class Online(Workload):
    """`online` of interleaved lists into a results folder."""

    name, output = "online", "live"

    def write_inputs(self) -> None:
        self.write_lines("log.jsonl", _interleaved(3, _SESSIONS))
        self.write_lines("old.jsonl", _interleaved(4, _SESSIONS // 2))

    def arguments(self) -> list[str]:
        return ["online", str(self.data / "log.jsonl"), "-o", str(self.target), "--quiet"]

    def old_output(self) -> None:
        self.rankproof("online", self.data / "old.jsonl", "-o", self.target)

    def content(self, path: Path) -> Any:
        document = json.loads((path / "result.json").read_text(encoding="utf-8"))
        values = {name: value for name, value in document.items() if name not in _CREATED}
        return values, sorted(file.name for file in path.iterdir())


class OnlineRecord(Online):
    """`online --record`: each system once in the table of past experiments, also if the command starts again."""

    name, output, has_older = "online --record", "experiments.csv", True

    def arguments(self) -> list[str]:
        return ["online", str(self.data / "log.jsonl"), "--record", str(self.target), "--quiet"]

    def old_output(self) -> None:
        self.target.write_text("experiment,offline,offline_se,online,online_se\nfirst,0.01,0.002,0.02,0.004\n", encoding="utf-8")

    def content(self, path: Path) -> Any:
        lines = path.read_text(encoding="utf-8").splitlines()
        return [line for line in lines if not line.startswith("first,")] if len(lines) > 2 else lines


class Sample(Workload):
    """`sample` of a log into a folder."""

    name, output = "sample", "set"

    def write_inputs(self) -> None:
        self.write_lines("log.jsonl", _interleaved(5, _SESSIONS))

    def arguments(self) -> list[str]:
        return self._sample("36")

    def old_output(self) -> None:
        self.rankproof(*self._sample("30")[:-1])

    def _sample(self, count: str) -> list[str]:
        log = str(self.data / "log.jsonl")
        return ["sample", log, "-n", count, "--min-users", "2", "-o", str(self.target), "--quiet"]

    def content(self, path: Path) -> Any:
        return digests(path)


class ImportConversations(Workload):
    """`import` of conversations into a dataset folder."""

    name, output = "import of conversations", "dataset"

    def write_inputs(self) -> None:
        self.write_lines("log.jsonl", [json.dumps(_conversation(at)) for at in range(150)])
        self.write_lines("old.jsonl", [json.dumps(_conversation(at)) for at in range(5)])

    def arguments(self) -> list[str]:
        return ["import", str(self.data / "log.jsonl"), "-o", str(self.target), "--quiet"]

    def old_output(self) -> None:
        self.rankproof("import", self.data / "old.jsonl", "-o", self.target)


class ImportTraces(ImportConversations):
    """`import` of traces into a dataset folder."""

    name = "import of traces"

    def write_inputs(self) -> None:
        self.write_lines("log.jsonl", [json.dumps(span) for at in range(150) for span in _trace(at)])
        self.write_lines("old.jsonl", [json.dumps(span) for at in range(5) for span in _trace(at)])


def _interleaved(seed: int, sessions: int) -> list[str]:
    """Queries and clicks of interleaved lists of three systems, of which the first is the best."""
    chance, lines = random.Random(seed), list[str]()
    for number in range(sessions):
        key, user, time = f"s{number}", f"u{chance.randrange(150)}", _START + 9 * _DAY * number / sessions
        docs = [f"d{doc}" for doc in range(6)]
        rankings = {"a": docs, "b": docs[::-1], "c": [*docs[3:], *docs[:3]]}
        shown = rp.interleave(rankings, experiment="killed", seed=key, k=6)
        about = {"query_id": key, "client_id": user, "timestamp": time}
        listed = {"user_query": f"question {number % 40}", "query_response_hit_ids": list(shown.docs)}
        lines.append(json.dumps({**about, **listed, "query_attributes": shown.to_dict()}))
        if chance.random() < 0.7:
            event = {"action_name": "click", "event_attributes": {"object": {"object_id": "d0"}}}
            lines.append(json.dumps({**about, "timestamp": time + 5, **event}))
    return lines


def _conversation(number: int) -> dict[str, Any]:
    """Two turns, of which each retrieved a passage."""
    messages = []
    for turn in range(2):
        messages += [
            {"role": "user", "content": f"When was town {number}.{turn} founded?"},
            {"role": "tool", "content": json.dumps([f"Town {number}.{turn} was founded in {1000 + number}."])},
            {"role": "assistant", "content": f"In {1000 + number}."},
        ]
    return {"session_id": f"s{number}", "messages": messages}


def _trace(number: int) -> list[dict[str, Any]]:
    """A chain with a search and a model, as Phoenix exports spans."""
    question, passage = f"When was town {number} founded?", f"Town {number} was founded in {1000 + number}."
    of_kind: dict[str, dict[str, Any]] = {
        "CHAIN": {"input.value": question, "output.value": f"In {1000 + number}."},
        "RETRIEVER": {"retrieval.documents": [{"document.id": f"d{number}", "document.content": passage}]},
        "LLM": {"output.value": f"In {1000 + number}."},
    }
    return [
        {
            "context.trace_id": f"t{number}",
            "context.span_id": f"{number}-{place}",
            "parent_id": None if place == 0 else f"{number}-0",
            "span_kind": kind,
            "start_time": f"2026-01-01T00:00:0{place}Z",
            "end_time": f"2026-01-01T00:00:0{place + 1}Z",
            **{f"attributes.{name}": value for name, value in values.items()},
        }
        for place, (kind, values) in enumerate(of_kind.items())
    ]
