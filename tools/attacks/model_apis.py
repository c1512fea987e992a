"""Faults of embedding and rerank APIs in commands: `PYTHONPATH=tests python -m tools.attacks.model_apis [--every K]`.

No fault may be silent: a lost request stops the command or is counted in a note, a good reply gives the values of a good server,
nothing is an internal error, and the key is in no output and no file.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import os
import random
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from rankproof._cli.main import main as rankproof
from rankproof._io.retry import RetryPolicy
from support import embedding_faults, embedding_server, rerank_faults, rerank_server
from support.bench_systems import bench_serving
from support.chat_server import ChatServer
from support.embedding_server import EmbeddingServer
from support.key_spellings import KEY, files_with_key, has_key
from support.results_server import Visitor

_KEY_VARIABLE = "ATTACKED_API_KEY"
_SYSTEM = "attacked"
_MODEL = "loopback"
_WORDS = ("bread", "dough", "oven", "knife", "stone", "sugar", "lemon", "rice", "water", "steam")
_DOCUMENTS, _QUERIES = 12, 8
_VALUES = ("system", "query", "nDCG@10", "RR@10", "top_10")


@dataclass(frozen=True)
class Reply:
    """How a command ended: its exit code, what it printed, and the values that must not change in silence.

    `later` is what a later command on its results printed.
    """

    code: int
    shown: str
    values: Any
    later: str | None = None


@dataclass(frozen=True)
class Attempt:
    """A command with a fault of an API; `good` is the reply without the fault."""

    fault: Any
    reply: Reply
    good: Reply
    leaks: bool

    def result(self) -> str:
        """What happened, in the words of the table."""
        if self.reply.code:
            return "stopped"
        return "noted" if self._is_noted() else "accepted"

    def failures(self) -> Iterator[str]:
        """What is wrong."""
        ending, reply = self.fault.ending, self.reply
        if self.leaks:
            yield "the key is shown or written"
        if any(words in reply.shown for words in ("internal error", "Traceback", "please report")):
            yield "internal error"
        if reply.code not in (0, 1, 2):
            yield f"exit code {reply.code}"
        if ending in ("healed", "accepted", "content"):
            if reply.code or reply.values != self.good.values:
                yield "a good reply gave other values, or stopped the command"
            if self.fault.noted and reply.later is not None and not self._is_noted():
                yield f"{self.fault.noted} replies are not noted"
        elif not reply.code and not (self._is_noted() and (reply.later is None or _names_loss(reply.later))):
            yield "a lost request is not reported, or not by compare"
        is_named = any(words in reply.shown for words in ("127.0.0.1", _MODEL, "the server"))
        if reply.code and not (is_named and ";" in reply.shown):
            yield "the server or the fix is not named"

    def _is_noted(self) -> bool:
        words = (
            "failed",
            "no reply",
            "refused",
            "rejected",
            "estimate",
            "replies are estimated",
            "masked",
            "key",
            "without usage",
        )
        return any(word in self.reply.shown and word not in self.good.shown for word in words)


def _names_loss(shown: str) -> bool:
    return any(words in shown for words in ("failed", "no reply", "refused"))


class Api:
    """An API: its good server, and the table of the system that uses it."""

    def __init__(self, kind: str, name: str) -> None:
        self.kind, self.name = kind, name

    @property
    def faults(self) -> Mapping[str, Any]:
        """The faults that this API can have."""
        faults: Mapping[str, Any] = embedding_faults.FAULTS if self.kind == "embedding" else rerank_faults.FAULTS
        return {name: fault for name, fault in faults.items() if not fault.apis or self.name in fault.apis}

    def server(self, fault: Callable[[], Any]) -> ChatServer:
        """A server whose replies have the fault of the moment; without one, they are good."""
        if self.kind == "embedding":
            return EmbeddingServer(
                self.name, fault=lambda number, request, good: fault().answer(self.name, request, good) if fault() else good
            )
        return ChatServer(
            lambda request: fault().answer(self.name, request) if fault() else rerank_server.well(self.name, request)
        )

    def system(self, server: ChatServer, timeout: float) -> str:
        """The experiment file, whose system `attacked` asks the server."""
        if isinstance(server, EmbeddingServer):
            settings: dict[str, Any] = {"name": self.name, **server.written_settings()}
            table: dict[str, Any] = {"stage": "dense"}
        else:
            settings = {"model": _MODEL, "base_url": rerank_server.base_url(server, self.name)}
            table = {"stage": "rerank", "of": "bm25", "by": self.name, "top": _DOCUMENTS}
        settings |= {"api_key_env": _KEY_VARIABLE, "timeout": timeout}
        lines = [f"{key} = {json.dumps(value)}" for key, value in table.items()]
        if self.kind == "embedding":
            lines.append("model = {" + ", ".join(f"{key} = {json.dumps(value)}" for key, value in settings.items()) + "}")
        else:
            lines += [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
        listed = "\n".join(lines)
        fused = f'[systems.fused]\nstage = "fuse"\nof = ["bm25", "{_SYSTEM}"]\n'
        return f'dataset = "data"\n[systems.bm25]\nstage = "bm25"\n[systems.{_SYSTEM}]\n{listed}\n{fused}'


def _write_dataset(folder: Path) -> None:
    """Documents of random words, so that two systems rank them in different orders."""
    chance, data = random.Random(5), folder / "data"
    data.mkdir()
    for name, count, length in (("corpus", _DOCUMENTS, 9), ("queries", _QUERIES, 3)):
        texts = [" ".join(chance.choices(_WORDS, k=length)) for _ in range(count)]
        lines = (json.dumps({"_id": f"{name[0]}{at}", "text": text}) for at, text in enumerate(texts))
        (data / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    grades = "".join(f"q{at}\tc{chance.randrange(_DOCUMENTS)}\t1\n" for at in range(_QUERIES))
    (data / "qrels.tsv").write_text(f"query-id\tcorpus-id\tscore\n{grades}", encoding="utf-8")


APIS = tuple(
    Api(kind, name)
    for kind, names in (("embedding", tuple(embedding_server.APIS)), ("rerank", tuple(rerank_server.APIS)))
    for name in names
)


def _called(*arguments: str) -> tuple[int, str]:
    stdout, stderr = StringIO(), StringIO()
    with redirect_stdout(stdout), redirect_stderr(stderr):
        code = rankproof([*arguments, "--notes"])
    return code, stdout.getvalue() + stderr.getvalue()


def _run(home: Path) -> Reply:
    out = home / "out"
    shutil.rmtree(out, ignore_errors=True)
    code, shown = _called("run", str(home / "experiment.toml"), "-o", str(out))
    if code:
        return Reply(code, shown, None)
    later = _called("compare", str(out))
    assert later[0] == 0, later
    with (out / "per_query.csv").open(encoding="utf-8", newline="") as file:
        values = [{name: row[name] for name in _VALUES} for row in csv.DictReader(file)]
    return Reply(code, shown, values, later[1])


def _tune(home: Path) -> Reply:
    tuned = home / "tuned.toml"
    tuned.unlink(missing_ok=True)
    search = (
        "tune",
        "--config",
        str(home / "experiment.toml"),
        "--system",
        "fused",
        "--vary",
        "weights=grid:0.5",
        "--folds",
        "2",
    )
    code, shown = _called(*search, "-o", str(tuned), "--trials", str(home / "trials.json"))
    trials = [] if code else json.loads((home / "trials.json").read_text(encoding="utf-8"))
    return Reply(code, shown, trials)


def _ask_bench(visitor: Visitor, route: str, body: Mapping[str, Any]) -> Reply:
    reply = visitor.post(f"/api/r/1/bench/{route}", body)
    values = [card["doc"] for card in reply.json["cards"]] if reply.status == 200 else None
    return Reply(0 if reply.status == 200 else 1 if reply.status in (409, 422, 502, 503) else reply.status, reply.text, values)


def attempts(api: Api, home: Path, chosen: range) -> Iterator[tuple[str, str, Attempt]]:
    """Each command with the chosen faults of the API."""
    state: dict[str, Any] = {"fault": None}
    _write_dataset(home)

    def replied(command: Callable[[], Reply], fault: Any) -> Reply:
        state["fault"] = fault
        os.environ["RANKPROOF_CACHE"] = str(home / "cache")
        shutil.rmtree(home / "cache", ignore_errors=True)
        with api.server(lambda: state["fault"]) as server:
            text = api.system(server, fault.timeout if fault else 20.0)
            (home / "experiment.toml").write_text(text, encoding="utf-8")
            return command()

    for verb, command in {"run": partial(_run, home), "tune": partial(_tune, home)}.items():
        good = replied(command, None)
        assert good.code == 0, good.shown
        for number, (name, fault) in enumerate(api.faults.items()):
            if number in chosen:
                reply = replied(command, fault)
                yield verb, name, Attempt(fault, reply, good, has_key(reply.shown) or bool(files_with_key(home)))
    yield from _bench_attempts(api, home, state, chosen)


def _bench_attempts(api: Api, home: Path, state: dict[str, Any], chosen: range) -> Iterator[tuple[str, str, Attempt]]:
    """A typed query in the workbench, whose systems were run with a good server."""
    state["fault"] = None
    with api.server(lambda: state["fault"]) as server:
        (home / "experiment.toml").write_text(api.system(server, 0.5), encoding="utf-8")
        assert _run(home).code == 0
        with bench_serving(home / "out", cache=home / "cache") as visitor:
            visitor.enter()
            marks = itertools.count()

            def ask() -> Reply:
                # Each text is another one, as responses are cached, with the same words.
                return _ask_bench(visitor, "search", {"system": _SYSTEM, "text": f"oven{' ' * (1 + next(marks))}sugar rice"})

            good = ask()
            assert good.code == 0, good.shown
            for number, (name, fault) in enumerate(api.faults.items()):
                if number in chosen:
                    state["fault"] = fault
                    reply = ask()
                    yield "workbench", name, Attempt(fault, reply, good, has_key(reply.shown) or bool(files_with_key(home)))


@contextmanager
def with_key_and_without_pauses() -> Iterator[None]:
    """The key of the servers in the environment, and two requests without a pause in between."""
    policy = partial(RetryPolicy, max_requests=2, sleep=lambda seconds: None)
    with patch("rankproof._llm.session.RetryPolicy", policy), patch.dict(os.environ, {_KEY_VARIABLE: KEY}):
        yield


def main(arguments: list[str]) -> int:
    """Prints a row for each kind of API and command; 1 if a fault was silent."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, metavar="K", help="each K-th fault, others with each API (default: 1)")
    asked = parser.parse_args(arguments)
    counts: dict[tuple[str, str], Counter[str]] = {}
    with with_key_and_without_pauses():
        for place, api in enumerate(APIS):
            with TemporaryDirectory() as folder:
                for verb, name, attempt in attempts(api, Path(folder), range(-place % asked.every, 10**6, asked.every)):
                    found = list(attempt.failures())
                    row = counts.setdefault((api.kind, verb), Counter())
                    row["failures" if found else attempt.result()] += 1
                    for failure in found:
                        print(f"{api.name} {verb}, {name}: {failure}: {attempt.reply.shown[-600:]}", file=sys.stderr, flush=True)
    print("| API | command | faults | stopped | noted | accepted | failures |\n|---|---|---:|---:|---:|---:|---:|")
    for (kind, verb), row in counts.items():
        print(f"| {kind} | {verb} | {row.total()} | {row['stopped']} | {row['noted']} | {row['accepted']} | {row['failures']} |")
    return 1 if any(row["failures"] for row in counts.values()) or not counts else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
