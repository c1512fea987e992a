"""Logs of judgements that change while three people judge: `PYTHONPATH=tests python -m tools.attacks.judgement_logs`.

A grade that the server confirmed must be in the log that it wrote; once the log is not the one that the server wrote, no grade is
confirmed, and the reply says that nothing is saved.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rankproof._io.files import log_path
from support.results_server import Visitor, data_of, many_pairs, saved, serving

PEOPLE = ("ann", "bob", "cem")
_PAIRS, _BEFORE = 30, 5


def _replace(log: Path) -> None:
    other = log.with_name("other")
    shutil.copy(log, other)
    other.replace(log)


def _link(log: Path) -> None:
    log.unlink()
    log.symlink_to("/dev/null")


def _edit(log: Path) -> None:
    content = log.read_bytes()
    log.write_bytes(content.replace(b'"grade": 1', b'"grade": 2'))


@contextmanager
def _full_disk(log: Path) -> Iterator[None]:
    """No file may grow beyond the size of the log."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (log.stat().st_size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def _lasting(change: Callable[[Path], object]) -> Callable[[Path], Any]:
    @contextmanager
    def attack(log: Path) -> Iterator[None]:
        change(log)
        yield

    return attack


ATTACKS: Mapping[str, Callable[[Path], Any]] = {
    "emptied": _lasting(lambda log: os.truncate(log, 0)),
    "cut by a byte": _lasting(lambda log: os.truncate(log, log.stat().st_size - 1)),
    "extended": _lasting(lambda log: log.write_bytes(log.read_bytes() + b"{}\n")),
    "edited in the same size": _lasting(_edit),
    "replaced by a copy": _lasting(_replace),
    "renamed": _lasting(lambda log: log.rename(log.with_name("moved"))),
    "removed": _lasting(Path.unlink),
    "a link to another file": _lasting(_link),
    "on a full disk": _full_disk,
}


def failures(folder: Path, attack: Callable[[Path], Any]) -> list[str]:
    """What is wrong after the attack on the log of three people."""
    judge, problems = folder / "people.qrels", list[str]()
    log = Path(log_path(str(judge)))
    with serving([saved(folder / "results", many_pairs(_PAIRS))], judge=judge, assessors=PEOPLE) as visitor:
        people = [_person(visitor, name) for name in PEOPLE]
        pairs = data_of(people[0])["pairs"]
        kept = {(query, doc) for query, doc, *_ in pairs[:_BEFORE] if _is_confirmed(people[0], query, doc)}
        written = log.read_text(encoding="utf-8")
        problems += [f"{pair} was confirmed and is not in the log" for pair in kept if not _is_written(written, *pair)]
        if len(kept) != _BEFORE:
            problems.append(f"{len(kept)} of {_BEFORE} grades were confirmed before the attack")
        with attack(log):
            replies = _judged_by_all(people, [pair[:2] for pair in pairs[_BEFORE:_PAIRS]])
        problems += [f"confirmed after the attack: {pair}" for pair, status, _ in replies if status == 200]
        problems += [f"status {status}: {text[:200]}" for _, status, text in replies if status >= 400 and not _is_plain(text)]
    return problems


def _is_plain(text: str) -> bool:
    return "nothing is saved" in text or "check the disk" in text or "free space" in text


def _is_written(log: str, query: str, doc: str) -> bool:
    return any(f'"{query}"' in line and f'"{doc}"' in line for line in log.splitlines())


def _is_confirmed(visitor: Visitor, query: str, doc: str) -> bool:
    return visitor.post("/r/1/judge", {"query": query, "doc": doc, "grade": 1}).status == 200


def _person(visitor: Visitor, name: str) -> Visitor:
    """A browser that chose the name."""
    person = Visitor(visitor.url).enter()
    cookie = person.post("/r/1/assessor", {"assessor": name}).headers["Set-Cookie"]
    person.cookie = f"{person.cookie}; {cookie.partition(';')[0]}"
    return person


def _judged_by_all(people: list[Visitor], pairs: list[Any]) -> list[tuple[Any, int, str]]:
    """The replies to three people who judge the pairs at the same time."""
    replies: list[tuple[Any, int, str]] = []

    def judge(person: Visitor, part: list[Any]) -> None:
        for query, doc in part:
            reply = person.post("/r/1/judge", {"query": query, "doc": doc, "grade": 1})
            replies.append(((query, doc), reply.status, reply.text))

    threads = [threading.Thread(target=judge, args=[person, pairs[at :: len(people)]]) for at, person in enumerate(people)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return replies


def main() -> int:
    """Prints a row for each attack; 1 if a grade was lost or confirmed wrongly."""
    print("| the log is | grades after it | failures |\n|---|---:|---:|")
    count = 0
    for name, attack in ATTACKS.items():
        with TemporaryDirectory() as folder:
            problems = failures(Path(folder), attack)
        count += len(problems)
        print(f"| {name} | {_PAIRS - _BEFORE} | {len(problems)} |", flush=True)
        for problem in problems:
            print(f"{name}: {problem}", file=sys.stderr, flush=True)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
