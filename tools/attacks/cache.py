"""Damaged and forged files of the cache: `python -m tools.attacks.cache [COUNT] [--seed S]`.

`run` must end with the results of an empty cache, or with an error that names the file and the cache. A forged file has a
right sha256; it may change results, as only its owner can write it, but must not cause an internal error.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from rankproof._experiment.cache import FILE_HEADER
from rankproof._io.array_files import RECORD_MARK
from tools.attacks.command import Ending, ending_of
from tools.small_experiment import write_experiment

_DIGEST = 32
_COMMAND = ("run", "experiment.toml", "-o", "out", "--quiet")
_WORDS = (b"1.5", b"true", b"null", b"[]", b"{}", b'"|O"', b'"(1,"', b'"<U9"', b"-1", b"9" * 40, b"[" * 5000, b"NaN", b'"x"')


def _edited(content: bytes, chance: random.Random) -> bytes:
    """The content with a byte, a word or the length changed."""
    at = chance.randrange(max(1, len(content)))
    kind = chance.choice(("bit", "word", "number", "cut", "twice"))
    if kind == "bit" and content:
        return content[:at] + bytes([content[at] ^ (1 << chance.randrange(8))]) + content[at + 1 :]
    if kind == "word":
        return content[:at] + chance.choice(_WORDS) + content[at + chance.choice((0, 1, 4)) :]
    if kind == "number":
        places = [place for place, byte in enumerate(content[:4000]) if chr(byte).isdigit()]
        at = chance.choice(places or [0])
        return content[:at] + chance.choice(_WORDS) + content[at + 1 :]
    return content[:at] if kind == "cut" else content * 2


def _damaged(path: Path, chance: random.Random) -> None:
    path.write_bytes(_edited(path.read_bytes(), chance))


def _forged(path: Path, chance: random.Random) -> None:
    """Changes the content and makes its digest right, where the format is known."""
    content = path.read_bytes()
    if content.startswith(FILE_HEADER):
        body = _edited(content[len(FILE_HEADER) + _DIGEST :], chance)
        path.write_bytes(FILE_HEADER + hashlib.sha256(body).digest() + body)
    elif content[: len(RECORD_MARK)] == RECORD_MARK:
        checked = _edited(content[len(RECORD_MARK) + _DIGEST :], chance)
        path.write_bytes(RECORD_MARK + hashlib.sha256(checked).digest() + checked)
    else:
        body = _edited(content[:-_DIGEST], chance)
        path.write_bytes(body + hashlib.sha256(body).digest())


def _replaced(path: Path, chance: random.Random) -> None:
    """Puts something else in the place of the file."""
    path.unlink()
    make: Callable[[Path], object] = chance.choice(
        (os.mkfifo, Path.mkdir, lambda at: at.symlink_to("/dev/zero"), lambda at: at.symlink_to(at.name), Path.touch)
    )
    make(path)


def _opened(path: Path, chance: random.Random) -> None:
    """Lets every user write into the folder of the file."""
    del chance
    kind = next(parent for parent in path.parents if parent.parent.name == "cache")
    kind.chmod(0o777)


ATTACKS: Mapping[str, Callable[[Path, random.Random], None]] = {
    "damaged": _damaged,
    "forged, with a right sha256": _forged,
    "a pipe, a folder, a device or a link": _replaced,
    "in a folder that everybody can write to": _opened,
}


def _values(folder: Path) -> str:
    return (folder / "out" / "per_query.csv").read_text()


def _failure(ending: Ending, folder: Path, attack: str, expected: str) -> str:
    if ending.code != 0:
        return ending.failure("cache")
    if attack == "in a folder that everybody can write to":
        return "the folder is accepted"
    same = attack.startswith("forged") or _values(folder) == expected
    return "" if same else "the results changed without a word"


def main(arguments: list[str]) -> int:
    """Prints a row for each kind of attack; 1 if one changed results or was no plain error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=25, help="tries of each kind")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(arguments)
    print("| cache file | tried | rejected | results | failures |\n|---|---:|---:|---:|---:|")
    failures = 0
    with TemporaryDirectory() as name:
        home = Path(name)
        write_experiment(home)
        os.environ["RANKPROOF_CACHE"] = str(home / "cache")
        assert ending_of(_COMMAND, home).code == 0
        expected, saved = _values(home), home / "saved"
        shutil.copytree(home / "cache", saved)
        files = sorted(path.relative_to(saved) for path in saved.rglob("*") if path.is_file() and path.stat().st_size)
        assert files
        for attack, change in ATTACKS.items():
            chance, counts = random.Random(asked.seed), Counter[str]()
            for _ in range(asked.count):
                shutil.rmtree(home / "cache")
                shutil.copytree(saved, home / "cache")
                path = home / "cache" / chance.choice(files)
                change(path, chance)
                ending = ending_of(_COMMAND, home)
                failure = _failure(ending, home, attack, expected)
                counts["failure" if failure else "results" if ending.code == 0 else "rejected"] += 1
                if failure:
                    print(f"{attack}: {path.relative_to(home)}: {failure}", file=sys.stderr, flush=True)
            failures += counts["failure"]
            print(
                f"| {attack} | {counts.total()} | {counts['rejected']} | {counts['results']} | {counts['failure']} |", flush=True
            )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
