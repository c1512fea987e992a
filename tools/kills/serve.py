"""`serve` is killed while a person judges documents over HTTP."""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tools.kills.commands import write_dataset, write_judgements, write_run
from tools.kills.workload import RecoveryError, Workload

_PAIRS = 25
_DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>')
_MOMENT = re.compile(r"@\d{4}-\d\d-\d\dT\S* ")
Pair = tuple[str, str]


class Serve(Workload):
    """A person judges pairs in the order of the page; a judgement that the server confirmed must survive every kill."""

    name, output, has_older = "serve", "people.qrels", False

    def write_inputs(self) -> None:
        write_dataset(self)
        write_judgements(self)
        for name in ("a.run", "b.run"):
            write_run(self, name, 50)

    def arguments(self) -> list[str]:
        inputs = [str(self.data / name) for name in ("test.qrels", "a.run", "b.run")]
        judging = ["--judge", str(self.target), "--pool", "10", "--assessor", "ann", "--dataset", str(self.data / "dataset")]
        return ["serve", *inputs, *judging, "--quiet"]

    def clear(self) -> None:
        super().clear()
        self._confirmed: set[Pair] = set()
        self._problem = ""

    def content(self, path: Path) -> Any:
        return [_MOMENT.sub("", line) for line in path.read_text(encoding="utf-8").splitlines()]

    @contextmanager
    def user(self, process: subprocess.Popen[bytes]) -> Iterator[None]:
        person = threading.Thread(target=self._use, args=[process])
        person.start()
        try:
            yield
        finally:
            if process.poll() is None:
                process.kill()
            person.join()

    def check_killed(self) -> None:
        """After a kill, the file has the confirmed judgements, each in a complete line, and at most one more."""
        text = self.target.read_text(encoding="utf-8") if self.target.exists() else ""
        if text and not text.endswith("\n"):
            raise RecoveryError("the last line of the judgements is incomplete")
        self._check_kept({(line.split()[0], line.split()[2]) for line in text.splitlines()})
        self.check_user()

    def check_finished(self) -> None:
        self.check_user()
        super().check_finished()

    def _check_kept(self, kept: set[Pair]) -> None:
        if not self._confirmed <= kept or len(kept) > len(self._confirmed) + 1:
            raise RecoveryError(f"{len(kept)} judgements are kept where {len(self._confirmed)} were confirmed")

    def _use(self, process: subprocess.Popen[bytes]) -> None:
        try:
            self._judge_all(process)
        except (OSError, http.client.HTTPException):
            return
        except RecoveryError as found:
            self._problem = str(found)
            process.kill()

    def _judge_all(self, process: subprocess.Popen[bytes]) -> None:
        """Judges pairs until all are judged, then stops the server."""
        address = self._address(process)
        if address is None:
            return
        person = Person(address)
        pairs, judged = person.page()
        self._check_kept(judged)
        self._confirmed |= judged
        for pair in pairs[:_PAIRS]:
            if pair not in self._confirmed:
                person.judge(pair, len("".join(pair)) % 4)
                self._confirmed.add(pair)
        process.send_signal(signal.SIGTERM)

    def _address(self, process: subprocess.Popen[bytes]) -> str | None:
        """The address that the server printed; None if it ended before."""
        while process.poll() is None:
            text = (self.folder / "stdout").read_text(encoding="utf-8")
            if text.endswith("\n"):
                return text.strip()
            time.sleep(0.02)
        return None


class Person:
    """Reads the page and sends judgements, as the browser does."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._host, self._cookie = parts.netloc, ""
        reply = self._request("GET", f"/?{parts.query}")
        self._cookie = str(reply.headers["Set-Cookie"]).partition(";")[0]

    def page(self) -> tuple[list[Pair], set[Pair]]:
        """The pairs to judge, and those that have a grade."""
        found = _DATA.search(self._request("GET", "/r/1/judge").read().decode())
        if found is None:
            raise RecoveryError("the page to judge has no pairs")
        data = json.loads(found[1])
        pairs = [(item[0], item[1]) for item in data["pairs"]]
        return pairs, {pairs[int(at)] for at in data["grades"]}

    def judge(self, pair: Pair, grade: int) -> None:
        """Sends a grade; returns when the server has confirmed it."""
        reply = self._request("POST", "/r/1/judge", {"query": pair[0], "doc": pair[1], "grade": grade})
        if reply.status != 200 or json.loads(reply.read())["grade"] != grade:
            raise RecoveryError(f"a judgement was answered with {reply.status}")

    def ask(self, path: str, value: Any = None) -> Any:
        """The JSON of a route; with a value it is sent."""
        reply = self._request("GET" if value is None else "POST", path, value)
        text = reply.read().decode()
        if reply.status != 200:
            raise RecoveryError(f"{path} was answered with {reply.status}: {text[:200]}")
        return json.loads(text)

    def _request(self, method: str, path: str, value: Any = None) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection(self._host, timeout=60)
        headers = {"Cookie": self._cookie, "Origin": f"http://{self._host}", "Content-Type": "application/json"}
        connection.request(method, path, None if value is None else json.dumps(value), headers)
        return connection.getresponse()
