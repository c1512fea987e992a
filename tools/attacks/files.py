"""Every command on hostile files and results folders: python -m tools.attacks.files [--quick].

Prints a table of how each attack ended, and exits with 1 if one was not refused in plain words.
"""

from __future__ import annotations

import argparse
import re
import resource
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from rankproof._cli.main import main
from tools.attacks.command import MEMORY, ending_of
from tools.attacks.hostile import DEEP_KEY, ENDLESS, FILES, LOOKS, RESULTS, endless_pipe

_EXPERIMENT = """dataset = "sample"
[systems.bm25]
stage = "bm25"
[systems.other]
stage = "bm25"
k1 = 0.9
"""
_QRELS, _RUN = "q1 0 d1 1\nq2 0 d1 1\n", "q1 Q0 d1 1 2.0 t\nq2 Q0 d1 1 2.0 t\n"
OVER_RESULTS: Mapping[str, Sequence[str]] = {
    "compare": ["RESULTS"],
    "doctor": ["RESULTS"],
    "explain": ["RESULTS"],
    "audit": ["RESULTS"],
    "segments": ["RESULTS"],
    "diagnose": ["RESULTS"],
    "baselines": ["RESULTS"],
    "answers": ["RESULTS"],
    "gate": ["RESULTS", "--baseline", "baseline.json", "--save", "out.json"],
    "report": ["RESULTS", "-o", "out.html"],
    "plot": ["RESULTS", "-o", "out.svg", "--kind", "bars"],
    "export": ["RESULTS", "-o", "out.csv"],
    "judge": ["RESULTS", "--by", "keywords", "-o", "out.qrels"],
    "run": ["experiment.toml", "-o", "RESULTS"],
    "serve": ["RESULTS"],
}
"""The commands that read a results folder, with their arguments."""
OVER_FILES: Mapping[str, Sequence[str]] = {
    "eval": ["qrels.txt", "FILE"],
    "compare": ["qrels.txt", "run.txt", "FILE"],
    "doctor": ["qrels.txt", "FILE"],
    "explain": ["qrels.txt", "FILE"],
    "audit": ["qrels.txt", "FILE"],
    "correlate": ["run.txt", "FILE"],
    "agreement": ["qrels.txt", "FILE"],
    "stability": ["qrels.txt", "run.txt", "FILE"],
    "report": ["qrels.txt", "FILE", "-o", "out.html"],
    "gate": ["qrels.txt", "FILE", "--baseline", "baseline.json"],
    "fuse": ["run.txt", "FILE", "-o", "out.run"],
    "tune": ["qrels.txt", "run.txt", "FILE"],
    "convert": ["FILE", "out.jsonl"],
    "import": ["FILE", "-o", "out"],
    "answers": ["FILE"],
    "online": ["FILE"],
    "prefer": ["FILE"],
    "sample": ["FILE", "--min-users", "1"],
    "generate": ["FILE", "--by", "heuristic", "-o", "out-queries"],
}
"""Commands that read a file of the user, with their arguments; other commands read files in the same way."""
Row = tuple[str, list[tuple[str, str]]]


def results_rows(home: Path, quick: bool) -> Iterator[Row]:
    """For each hostile results folder: each command, and what is wrong with its ending."""
    looking = {verb: OVER_RESULTS[verb] for verb in ("compare", "run")}
    for title, attack in (*RESULTS.items(), *LOOKS.items()):
        found = []
        for verb, arguments in (looking if title in LOOKS else _some(OVER_RESULTS, title, quick)).items():
            folder = _copy(home / "good", home / "hostile")
            name = attack(folder)
            words = [word.replace("RESULTS", "hostile") for word in arguments]
            found.append((verb, _serve_failure(home, name) if verb == "serve" else _failure(verb, words, home, name)))
        yield title, found


def file_rows(home: Path, quick: bool) -> Iterator[Row]:
    """For each hostile file: each command, and what is wrong with its ending."""
    for title, (name, make) in FILES.items():
        make(home / name)
        verbs = _some(OVER_FILES, title, quick)
        yield title, [(verb, _failure(verb, _with_file(words, name), home, name)) for verb, words in verbs.items()]
        (home / name).unlink()
    yield ENDLESS, [(verb, _endless_failure(verb, words, home)) for verb, words in _some(OVER_FILES, ENDLESS, quick).items()]


def deep_key_row(home: Path) -> Row:
    """The commands that read TOML, on a file with one key of 50,000 parts."""
    (home / "deep.toml").write_text(DEEP_KEY, encoding="utf-8")
    verbs = {"run": ["deep.toml"], "baselines": ["good", "--bands", "deep.toml"], "judge": ["good", "--model-file", "deep.toml"]}
    return "TOML of 100 kB: one key of 50,000 parts", [
        (verb, _failure(verb, words, home, "deep.toml")) for verb, words in verbs.items()
    ]


def _some(verbs: Mapping[str, Sequence[str]], title: str, quick: bool) -> Mapping[str, Sequence[str]]:
    """All commands; of a quick test two, others for each attack."""
    names = list(verbs)
    first = sum(map(ord, title)) % len(names)
    return {names[(first + at) % len(names)]: verbs[names[(first + at) % len(names)]] for at in range(2)} if quick else verbs


def _with_file(arguments: Sequence[str], name: str) -> list[str]:
    return [word.replace("FILE", name) for word in arguments]


def _failure(verb: str, arguments: Sequence[str], home: Path, name: str) -> str:
    shutil.rmtree(home / "out", ignore_errors=True)
    ending = ending_of([verb, *arguments, "--quiet"], home)
    if verb == "run" and name != "deep.toml":
        # It replaces an older results folder, of which it needs only result.json, and leaves any other folder alone.
        return "" if ending.code == 0 and name != "result.json" else ending.failure("hostile")
    return ending.failure(name)


def _endless_failure(verb: str, arguments: Sequence[str], home: Path) -> str:
    with endless_pipe() as path:
        return _failure(verb, _with_file(arguments, path), home, path)


def _serve_failure(home: Path, name: str) -> str:
    """What is wrong with the list of a good and a hostile folder in the browser."""
    command = [sys.executable, "-m", "rankproof", "serve", "good", "hostile", "--port", "0"]
    with subprocess.Popen(command, cwd=home, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        resource.prlimit(server.pid, resource.RLIMIT_DATA, (2 * MEMORY, 2 * MEMORY))
        try:
            return _list_failure(server, name)
        finally:
            server.terminate()


def _list_failure(server: subprocess.Popen[str], name: str) -> str:
    assert server.stdout is not None
    text = ""
    for line in server.stdout:
        text += line
        if address := re.search(r"http://127\.0\.0\.1\S+", line):
            page = _first_page(address[0])
            return "" if name in page and "good" in page else "the folder is not listed with its reason"
    return f"the server ended: {text.strip()}"


def _first_page(address: str) -> str:
    """The list of folders, as the browser shows it that follows the address with its key."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with opener.open(address, timeout=60) as reply:
        return str(reply.read().decode())


def make_home(home: Path) -> None:
    """A folder with good results, a run, judgements, an experiment and a baseline."""
    for name, text in {"experiment.toml": _EXPERIMENT, "qrels.txt": _QRELS, "run.txt": _RUN}.items():
        (home / name).write_text(text, encoding="utf-8")
    with redirect_stdout(StringIO()):
        assert main(["run", str(home / "experiment.toml"), "-o", str(home / "good"), "--quiet"]) == 0
        assert main(["gate", str(home / "good"), "--save", str(home / "baseline.json"), "--system", "bm25"]) == 0


def _copy(good: Path, target: Path) -> Path:
    for left in (target, target.with_name(f"{target.name}-runs")):
        shutil.rmtree(left, ignore_errors=True)
    return Path(shutil.copytree(good, target))


def attack_all(quick: bool) -> Iterator[Row]:
    """Every row of the table."""
    with TemporaryDirectory(prefix="rankproof-attacks-") as folder:
        home = Path(folder)
        make_home(home)
        yield from results_rows(home, quick)
        yield from file_rows(home, quick)
        yield deep_key_row(home)


def report(rows: Iterable[Row]) -> int:
    """Prints the table, and what is wrong; returns the number of attacks that were not refused."""
    tried = failed = 0
    print("| attack | commands | silent failures |\n|---|---:|---:|")
    for title, endings in rows:
        wrong = [(verb, failure) for verb, failure in endings if failure]
        tried, failed = tried + len(endings), failed + len(wrong)
        print(f"| {title} | {len(endings)} | {len(wrong)} |", flush=True)
        for verb, failure in wrong:
            print(f"{verb}: {failure}", file=sys.stderr, flush=True)
    print(f"| **all** | **{tried}** | **{failed}** |")
    return failed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer commands for each attack")
    sys.exit(1 if report(attack_all(parser.parse_args().quick)) else 0)
