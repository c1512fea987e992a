"""The words of old_words.txt occur nowhere in the source, the docs, the README or the help texts.

`pytest tests/contracts/test_plain_words.py -k _server` checks one package.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.paths import ROOT

LIST = Path(__file__).with_name("old_words.txt")
TEXTS = (".py", ".pyi", ".c", ".h", ".md", ".j2", ".js", ".css", ".toml", ".sh", ".ipynb")
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-zß-öø-ÿ]+")
ALLOWED = {
    "mend": ("src/rankproof/stages/_rewrite.py", "part of a prompt, which stays as it is: cached replies depend on it"),
    "door": ("src/rankproof/_data/wording/stop_words.toml", "a Dutch word"),
}
"""Word to the file that may use it, and why."""
SHOWN = 25


@dataclass(frozen=True)
class OldWords:
    """The three sections of the list: old to new."""

    words: dict[str, str]
    names: dict[str, str]
    phrases: dict[str, str]


def read_list() -> OldWords:
    sections: dict[str, dict[str, str]] = {"words": {}, "names": {}, "phrases": {}}
    section = sections["words"]
    for line in LIST.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = sections[line.strip("[]")]
        elif line and not line.startswith("#"):
            old, _, new = line.partition(" = ")
            section.update(dict.fromkeys([old] if section is sections["phrases"] else old.split(), new))
    return OldWords(**sections)


OLD = read_list()
PHRASES = {re.compile(rf"\b{old}\b", re.IGNORECASE): old for old in OLD.phrases}


def packages() -> dict[str, list[Path]]:
    """Every file that is checked, by package or folder."""
    found: dict[str, list[Path]] = {"README.md": [ROOT / "README.md"]}
    source = ROOT / "src" / "rankproof"
    for folder in (source, ROOT / "docs", ROOT / "demos", ROOT / "benchmarks", ROOT / "tools", ROOT / "tests" / "support"):
        for path in sorted(folder.rglob("*")):
            inside = path.relative_to(source if folder == source else folder.parent)
            if path.suffix in TEXTS and not {"_sample", "work"} & set(inside.parts):
                found.setdefault(inside.parts[0] if len(inside.parts) > 1 else "rankproof", []).append(path)
    return found


def old_words(where: str, text: str) -> Iterator[tuple[int, str]]:
    """Line number and old word, for each that occurs in the text of a file or in its path."""
    parts = {part.lower() for part in PART.findall(f"{where}\n{text}")}
    lines = [(0, where), *enumerate(text.splitlines(), 1)]
    for number, line in lines if parts & OLD.words.keys() else ():
        yield from ((number, part) for part in map(str.lower, PART.findall(line)) if part in OLD.words)
    for pattern, old in PHRASES.items():
        yield from ((number, old) for number, line in lines if pattern.search(line)) if pattern.search(f"{where}\n{text}") else ()
    if where.endswith(".py") and parts & OLD.names.keys():
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.NAME:
                yield from ((token.start[0], part) for part in map(str.lower, PART.findall(token.string)) if part in OLD.names)


def is_allowed(where: str, word: str) -> bool:
    return word in ALLOWED and where == ALLOWED[word][0]


PACKAGES = packages()


def test_every_package_and_folder_is_checked() -> None:
    assert {"README.md", "docs", "demos", "benchmarks", "tools", "support", "rankproof", "_cli", "measures"} <= PACKAGES.keys()
    assert len(PACKAGES) >= 35
    assert sum(map(len, PACKAGES.values())) >= 850


def test_an_old_word_is_found_in_a_path_a_name_and_a_text() -> None:
    text = "small_climb = 1\ntold = 2  # not said\n# the world failed\n"
    found = [(0, "desk"), (1, "climb"), (3, r"the world fail\w*"), (2, "told")]
    assert list(old_words("src/rankproof/desk.py", text)) == found


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_has_no_old_words(package: str) -> None:
    found = [
        (f"{where}:{number}", word)
        for path in PACKAGES[package]
        for where in [path.relative_to(ROOT).as_posix()]
        for number, word in old_words(where, path.read_text(encoding="utf-8"))
        if not is_allowed(where, word)
    ]
    if not found:
        return
    counts = ", ".join(f"{word} {count}" for word, count in Counter(word for _, word in found).most_common())
    places = "\n".join(f"    {place}: {word}" for place, word in found[:SHOWN])
    report = f"{len(found)} old words: {counts}\n{places}"
    pytest.fail(report)


def test_every_old_word_has_one_that_is_used_instead() -> None:
    new = {**OLD.words, **OLD.names, **OLD.phrases}
    assert len(new) >= 60
    assert all(new.values())
    assert not {part for words in new.values() for part in PART.findall(words)} & OLD.words.keys()
