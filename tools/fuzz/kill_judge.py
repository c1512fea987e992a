"""Kills `rankproof judge` with SIGKILL at random moments, restarts it, and checks the result.

`python -m tools.fuzz.kill_judge 50` kills it 50 times. A server in its own process counts the requests. Each pair must have
exactly one judgement, with the grade of an undisturbed run. No more requests may be repeated than were in progress at a kill.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import Request, urlopen

CONCURRENCY = 4
DOCUMENTS = 20
_MOMENT, _GLANCE = 1.0, 0.02
"""Seconds within which a start is killed that may not have asked anything yet, and between two looks at the server."""


@dataclass
class Campaign:
    """One judge of so many pairs, its server, and what has been seen."""

    folder: Path
    port: int
    pairs: int
    chance: random.Random
    kills: int = 0
    finished: int = 0
    repeated: int = 0

    def command(self) -> list[str]:
        """The judge, with its own cache and output."""
        texts = [str(self.folder / name) for name in ("queries.jsonl", "corpus.jsonl")]
        model = ["--model", "counting", "--base-url", f"http://127.0.0.1:{self.port}/v1", "--api-key-env", ""]
        places = ["--pairs", str(self.folder / "pairs.tsv"), "--cache", str(self.folder / "cache"), "-o", str(self.output)]
        start = [sys.executable, "-m", "rankproof", "judge"]
        return [*start, *texts, *model, *places, "--concurrency", str(CONCURRENCY), "--quiet"]

    @property
    def output(self) -> Path:
        return self.folder / "judged.qrels"

    def prepare(self) -> None:
        """Writes queries, documents and pairs."""
        docs = range(DOCUMENTS)
        queries = range(-(-self.pairs // DOCUMENTS))
        self._write("corpus.jsonl", [json.dumps({"_id": f"d{doc}", "text": f"document {doc} says this"}) for doc in docs])
        self._write("queries.jsonl", [json.dumps({"_id": f"q{query}", "text": f"question {query}"}) for query in queries])
        self._write("pairs.tsv", [f"q{query}\td{doc}" for query in queries for doc in docs][: self.pairs])

    def whole(self) -> tuple[list[str], float]:
        """The judgements of a run that nobody disturbs, and its seconds."""
        self.clear()
        start = time.monotonic()
        subprocess.run(self.command(), check=True, stdout=subprocess.DEVNULL)
        seconds = time.monotonic() - start
        asked = self._asked()
        assert len(asked) == self.pairs, "pairs are missing"
        assert set(asked.values()) == {1}, "something was asked twice though nobody disturbed"
        return self._judgements(), seconds

    def until_finished(self, wanted: list[str], most: int) -> None:
        """Starts and kills until the run gets through, or has been killed so many times; then lets it finish, and looks."""
        self.clear()
        before = self.kills
        share = max(2 * self.pairs // most, 2)
        while self.kills < most and not self._killed(self.chance.randrange(share)):
            pass
        if not self.output.exists():
            subprocess.run(self.command(), check=True, stdout=subprocess.DEVNULL)
        assert self._judgements() == wanted, "the judgements differ after kills"
        again = sum(self._asked().values()) - self.pairs
        assert 0 <= again <= (self.kills - before) * CONCURRENCY, f"{again} repeated calls after {self.kills - before} kills"
        self.repeated += again
        self.finished += 1

    def clear(self) -> None:
        """Forgets cache, output and counts."""
        shutil.rmtree(self.folder / "cache", ignore_errors=True)
        for path in self.folder.glob("judged.qrels*"):
            path.unlink()
        with urlopen(Request(self._url, method="DELETE")) as answer:
            answer.read()

    def _killed(self, after: int) -> bool:
        """One start that is killed once it has asked so many things, or at any moment before where that is none.

        True where it was through before.
        """
        goal, ends = sum(self._asked().values()) + after, time.monotonic() + self.chance.uniform(0, _MOMENT)
        with subprocess.Popen(self.command(), stdout=subprocess.DEVNULL) as run:
            while run.poll() is None and (time.monotonic() < ends if not after else sum(self._asked().values()) < goal):
                time.sleep(self.chance.uniform(0, _GLANCE))
            if run.poll() is None:
                run.kill()
                self.kills += 1
                return False
        assert run.returncode == 0, "a start failed after a kill"
        return True

    @property
    def _url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def _asked(self) -> dict[str, int]:
        with urlopen(self._url) as answer:
            found: dict[str, int] = json.loads(answer.read())
        return found

    def _judgements(self) -> list[str]:
        lines = self.output.read_text(encoding="utf-8").splitlines()
        pairs = {tuple(line.split()[::2]) for line in lines}
        assert len(pairs) == len(lines) == self.pairs, "not exactly one judgement a pair"
        return lines

    def _write(self, name: str, lines: list[str]) -> None:
        (self.folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


@contextmanager
def server(delay: float) -> Iterator[int]:
    """The port of a server that is there for as long as the block runs."""
    command = [sys.executable, "-m", "tools.fuzz.counting_chat_server", "--delay", str(delay)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


def main() -> None:
    """Kills as often as asked and says what was seen."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz.kill_judge", description=__doc__)
    parser.add_argument("kills", type=int, nargs="?", default=50)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--delay", type=float, default=0.02, help="seconds that the server takes for a reply")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent / "work" / "judge-kills")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    with server(asked.delay) as port:
        campaign = Campaign(asked.folder, port, asked.pairs, random.Random(asked.seed))
        campaign.prepare()
        wanted, seconds = campaign.whole()
        while campaign.kills < asked.kills:
            campaign.until_finished(wanted, asked.kills)
    print(
        f"{campaign.kills} kills over {campaign.finished} run(s) of {asked.pairs} pairs, {CONCURRENCY} at once, {seconds:.1f} s "
        f"undisturbed (seed {asked.seed}): the same judgements each time, one a pair; {campaign.repeated} calls repeated, "
        f"where {campaign.kills * CONCURRENCY} could have been"
    )


if __name__ == "__main__":
    main()
