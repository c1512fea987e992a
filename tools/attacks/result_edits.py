"""Every single edit of the JSON of a results folder: `python -m tools.attacks.result_edits [--every K] [--all-commands]`.

An edited `result.json` must be rejected by every command that reads the folder, with the file and a fix. An edited `summary.json`
must change nothing that `serve` lists: it is computed again from `result.json`.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rankproof._cli.main import main as rankproof
from rankproof._io.files import RESULT_FILE
from rankproof._results.result_json import DECISION_FILE
from rankproof._server.library import ResultsLibrary
from rankproof.errors import RankproofError
from tools.attacks.files import OVER_RESULTS, make_home

COMMANDS = {verb: words for verb, words in OVER_RESULTS.items() if verb not in ("run", "serve")}
"""`run` replaces the folder and reads no value of it; what `serve` shows is read below."""
_ITEMS = 3
"""How many items of a list, and values of a key that repeats, are edited."""


def edits(document: Any) -> Iterator[tuple[str, Any]]:
    """Copies of the document with one value changed, removed, repeated or added, each with a description."""
    for place in _places(document, ()):
        container: Any = document
        for key in place[:-1]:
            container = container[key]
        name = "/".join(map(str, place))
        for what, change in _changes(container, place[-1]):
            edited = copy.deepcopy(document)
            inside = edited
            for key in place[:-1]:
                inside = inside[key]
            change(inside)
            yield f"{name}: {what}", edited


def _places(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    keys: Sequence[Any] = (
        list(value) if isinstance(value, dict) else range(min(_ITEMS, len(value))) if isinstance(value, list) else ()
    )
    for key in keys:
        yield (*path, key)
        yield from _places(value[key], (*path, key))


def _changes(container: Any, key: Any) -> Iterator[tuple[str, Any]]:
    value = container[key]
    others: list[Any]
    if isinstance(value, bool):
        others = [not value]
    elif isinstance(value, int):
        others = [value + 1]
    elif isinstance(value, float):
        others = [value * 1.01 + 1e-9]
    elif isinstance(value, str):
        others = [f"{value}x"]
    elif value is None:
        others = [0]
    else:
        others = []
    for other in others:
        yield f"{str(value)[:20]} is {str(other)[:20]}", lambda inside, other=other: inside.__setitem__(key, other)
    yield "removed", lambda inside: inside.__delitem__(key)
    if isinstance(container, list):
        yield "twice", lambda inside: inside.insert(key, inside[key])


def _called(arguments: Sequence[str]) -> tuple[int, str]:
    stderr = StringIO()
    with redirect_stdout(StringIO()), redirect_stderr(stderr):
        code = rankproof(list(arguments))
    return code, stderr.getvalue()


def _failure(verb: str, code: int, shown: str) -> str:
    if code == 0:
        return "accepted"
    if code not in (1, 2) or "internal error" in shown or "Traceback" in shown:
        return f"exit code {code}: {shown}"
    # An edit of a digest in result.json is an error of the file with that digest.
    return "" if "hostile/" in shown and ";" in shown else f"the file or the fix is not named: {shown}"


def _listed(folder: Path) -> Any:
    """What the home page of `serve` says about the folder."""
    library = ResultsLibrary([str(folder)])
    overview = library.summary(library.entries()[0])
    return str(overview) if isinstance(overview, RankproofError) else overview


def result_rows(home: Path, every: int, *, all_commands: bool) -> Iterator[tuple[str, str, str]]:
    """For each edit of result.json: the command that met it, the edit, and what is wrong."""
    document = json.loads((home / "good" / RESULT_FILE).read_text(encoding="utf-8"))
    verbs = itertools.cycle(COMMANDS)
    for what, edited in itertools.islice(edits(document), 0, None, every):
        text = json.dumps(edited, indent=1, ensure_ascii=False)
        (home / "hostile" / RESULT_FILE).write_text(f"{text}\n", encoding="utf-8")
        for verb in COMMANDS if all_commands else (next(verbs),):
            words = [word.replace("RESULTS", "hostile") for word in COMMANDS[verb]]
            yield verb, what, _failure(verb, *_called([verb, *words, "--quiet"]))
    shutil.copy(home / "good" / RESULT_FILE, home / "hostile" / RESULT_FILE)


def summary_rows(home: Path, every: int) -> Iterator[tuple[str, str, str]]:
    """For each edit of summary.json: whether the list of `serve` says anything else."""
    document = json.loads((home / "good" / DECISION_FILE).read_text(encoding="utf-8"))
    expected = _listed(home / "good")
    for what, edited in itertools.islice(edits(document), 0, None, every):
        text = json.dumps(edited, indent=1, ensure_ascii=False)
        (home / "hostile" / DECISION_FILE).write_text(f"{text}\n", encoding="utf-8")
        yield "serve", what, "" if _listed(home / "hostile") == expected else "the list has changed"


def main(arguments: list[str]) -> int:
    """Prints a row for each command; 1 if an edit was accepted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, metavar="K", help="each K-th edit (default: 1)")
    parser.add_argument("--all-commands", action="store_true", help="every command on every edit, instead of one in turn")
    asked = parser.parse_args(arguments)
    tried, failed = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    with TemporaryDirectory(prefix="rankproof-attacks-") as folder:
        home = Path(folder)
        make_home(home)
        shutil.copytree(home / "good", home / "hostile")
        os.chdir(home)
        parts = {
            RESULT_FILE: result_rows(home, asked.every, all_commands=asked.all_commands),
            DECISION_FILE: summary_rows(home, asked.every),
        }
        for file, rows in parts.items():
            for verb, what, failure in rows:
                tried[file, verb] += 1
                if failure:
                    failed[file, verb] += 1
                    print(f"{file}: {verb}: {what}: {failure}", file=sys.stderr, flush=True)
        os.chdir("/")
    print("| file | command | edits | accepted |\n|---|---|---:|---:|")
    for (file, verb), count in tried.items():
        print(f"| `{file}` | `{verb}` | {count} | {failed[file, verb]} |")
    print(f"| **all** | | **{tried.total()}** | **{failed.total()}** |")
    return 1 if failed.total() or len(tried) <= 1 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
