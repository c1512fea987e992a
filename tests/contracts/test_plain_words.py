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
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
ALLOWED = {
    "room": (("src/", "tools/", "tests/", "docs/", "demos/"), "free space, and room temperature in texts of the sample"),
    "rooms": (("docs/",), "rooms, in texts of the sample collection"),
    "recipe": (("docs/", "src/rankproof/ir_eval/"), "a recipe, in texts of the sample and in the field source_recipe_id"),
    "recipes": (("docs/",), "recipes, in texts of the sample collection"),
    "lane": (("src/rankproof/_native/", "src/rankproof/stores/"), "a lane of a vector register"),
    "lanes": (("src/rankproof/_native/", "src/rankproof/stores/"), "the lanes of a vector register"),
    "fence": (("tools/docs/",), "a fence around code in Markdown"),
    "refusal": (("src/rankproof/_llm/", "src/rankproof/models/_chat/", "docs/", "tests/"), "a reply in which a model refuses"),
    "refusals": (("docs/",), "replies in which a model refuses"),
    "mend": (("src/rankproof/stages/_rewrite.py",), "part of a prompt, which stays as it is: cached replies depend on it"),
    "hole": (("src/rankproof/measures/_parse.py",), "a measure of BEIR"),
    "trial": (("src/rankproof/", "docs/", "benchmarks/", "tests/support/"), "one setting in a search for parameters"),
    "trials": (("src/rankproof/", "docs/", "benchmarks/", "tests/support/"), "the settings in a search for parameters"),
    "oracle": (("benchmarks/", "tools/", "tests/"), "a library that tests compare with"),
}
"""Word to the places where it has its usual meaning, and that meaning."""
ALLOWED_PHRASES = re.compile(r"make oracle|\boracle = |\[oracle\]")
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
            if path.suffix in TEXTS and not {"_sample", "work"} & set(path.parts):
                inside = path.relative_to(source if folder == source else folder.parent)
                found.setdefault(inside.parts[0] if len(inside.parts) > 1 else "rankproof", []).append(path)
    return found


def old_words(path: Path) -> Iterator[tuple[int, str]]:
    """Line number and old word, for each that occurs in the file or in its path."""
    where = path.relative_to(ROOT).as_posix()
    text = path.read_text(encoding="utf-8")
    lines = [(0, where), *enumerate(ALLOWED_PHRASES.sub("", text).splitlines(), 1)]
    for number, line in lines:
        yield from ((number, part) for part in map(str.lower, PART.findall(line)) if part in OLD.words)
        yield from ((number, old) for pattern, old in PHRASES.items() if pattern.search(line))
    if path.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.NAME:
                yield from ((token.start[0], part) for part in map(str.lower, PART.findall(token.string)) if part in OLD.names)


def allowed(path: Path, word: str) -> bool:
    return word in ALLOWED and path.relative_to(ROOT).as_posix().startswith(ALLOWED[word][0])


PACKAGES = packages()


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_has_no_old_words(package: str) -> None:
    found = [
        (f"{path.relative_to(ROOT)}:{number}", word)
        for path in PACKAGES[package]
        for number, word in old_words(path)
        if not allowed(path, word)
    ]
    if not found:
        return
    counts = ", ".join(f"{word} {count}" for word, count in Counter(word for _, word in found).most_common())
    places = "\n".join(f"    {place}: {word}" for place, word in found[:SHOWN])
    report = f"{len(found)} old words: {counts}\n{places}"
    pytest.fail(report)


def test_every_old_word_has_one_that_is_used_instead() -> None:
    new = {**OLD.words, **OLD.names, **OLD.phrases}
    assert all(new.values())
    assert not {part for words in new.values() for part in PART.findall(words)} & OLD.words.keys()
