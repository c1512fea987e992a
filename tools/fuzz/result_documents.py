"""Changed documents of results, and reports of hostile texts: refused or read as they are, and pages whose JSON is whole."""

from __future__ import annotations

import copy
import json
import random
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np

from rankproof._report.page import render_report
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.folder import load_results, save_results
from rankproof.errors import RankproofError
from support.hostile_results import TEXTS, harmful_results
from support.hostile_strings import STRINGS
from support.result_files import write_result_file
from support.small_results import small_results

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 10**18, 10**400, 0.5, 1e308, -1e308, "", "x", "1", "__proto__", "nDCG@10"),
    *([], {}, [[]], [None], {"": None}, ["x"] * 50, [0.5] * 3, STRINGS[1], "runs/../../x.trec.gz", "q1"),
)
SNIPPETS = (b"NaN", b"-Infinity", b"1e999", b'"\\ud800"', b"{", b"}", b"[" * 3000, b",", b'"', b"\\", b"\xff", b"\0", b"0" * 5000)
SYSTEMS = ("a", "b")


@cache
def _saved(folder: Path) -> tuple[ExperimentResult, Path, bytes]:
    results, path = small_results(SYSTEMS, ("q1", "q2")), folder / "saved"
    save_results(results, path)
    return results, path, (path / "result.json").read_bytes()


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) of a document."""
    keys: list[Any] = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    return [(value, key) for key in keys] + [place for key in keys for place in _places(value[key])]


def _change(chance: random.Random, document: Any) -> None:
    """Changes one value of the document."""
    places = _places(document)
    if not places:
        return
    container, key = chance.choice(places)
    kind = chance.randrange(5)
    if kind == 0:
        del container[key]
    elif kind == 1:
        container[key] = copy.deepcopy(chance.choice(VALUES))
    elif kind == 2:
        other, place = chance.choice(places)
        container[key] = copy.deepcopy(other[place])
    elif kind == 3 and isinstance(container, dict):
        container[chance.choice(["extra", "", "name", "__proto__"])] = copy.deepcopy(container[key])
    elif isinstance(container, list):
        container.insert(key, copy.deepcopy(container[key]))


def _changed(chance: random.Random, text: bytes) -> bytes:
    """The document with one to three changes of its values or of its bytes."""
    if chance.random() < 0.3:
        at, size = chance.randrange(len(text)), chance.choice([0, 0, 1, 20])
        return text[:at] + chance.choice(SNIPPETS) + text[at + size :]
    document = json.loads(text)
    for _ in range(chance.randrange(1, 4)):
        _change(chance, document)
    return json.dumps(document).encode()


def _values(results: ExperimentResult) -> dict[tuple[str, str], list[float]]:
    return {
        (system.name, name): one.values.tolist() for system in results.result.systems for name, one in system.measures.items()
    }


def check_document(chance: random.Random, folder: Path) -> None:
    """A changed result.json is refused; with a digest of its content it may also give the values that were saved."""
    results, path, text = _saved(folder)
    content, has_digest = _changed(chance, text), chance.random() < 0.7
    if has_digest and content.endswith(b"}"):
        write_result_file(path / "result.json", json.loads(content))
    else:
        (path / "result.json").write_bytes(content)
    try:
        loaded = load_results(path)
    except RankproofError as error:
        refused = str(error)
    else:
        refused = ""
    assert refused.isprintable(), refused
    if refused:
        return
    assert has_digest or content == text
    saved = _values(results)
    for key, values in _values(loaded).items():
        assert key not in saved or np.array_equal(saved[key], values, equal_nan=True), key
    if chance.random() < 0.2:
        render_report(loaded)


class _Scripts(HTMLParser):
    """The scripts of a page: the type and the text of each."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.scripts: list[tuple[str | None, str]] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not [name for name, _ in attrs if name.startswith("on")], (tag, attrs)
        self._inside = tag == "script"
        if self._inside:
            self.scripts.append((dict(attrs).get("type"), ""))

    def handle_endtag(self, tag: str) -> None:
        self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            kind, text = self.scripts[-1]
            self.scripts[-1] = (kind, text + data)


@cache
def _scripts_of_a_plain_page() -> tuple[str | None, ...]:
    return tuple(kind for kind, _ in _scripts(render_report(harmful_results(["a", "b"], ["1", "2"]))))


def _scripts(page: str) -> list[tuple[str | None, str]]:
    parser = _Scripts()
    parser.feed(page)
    parser.close()
    return parser.scripts


def _text(chance: random.Random) -> str:
    """Pieces of hostile texts and any characters, in any order."""
    pieces = [
        chance.choice(TEXTS) if chance.random() < 0.6 else chr(chance.randrange(0x110000)) for _ in range(chance.randrange(1, 5))
    ]
    return "".join(piece[: chance.choice([1, 3, 20, 400])] for piece in pieces)


def check_page(chance: random.Random, folder: Path) -> None:
    """A report of hostile texts has the scripts of a plain one, and each block of JSON is read as strict JSON."""
    results = harmful_results(chance.sample(STRINGS, 2), chance.sample(STRINGS, 2))
    results = replace(
        results,
        name=_text(chance),
        notes=tuple(_text(chance) for _ in range(3)),
        experiment=_text(chance),
        snippets={doc: _text(chance) for doc in results.snippets},
        provenance={**results.provenance, _text(chance): _text(chance)},
    )
    scripts = _scripts(render_report(results))
    assert tuple(kind for kind, _ in scripts) == _scripts_of_a_plain_page()
    for kind, text in scripts:
        if kind == "application/json":
            assert "<" not in text
            json.loads(text, parse_constant=_no_constant)


def _no_constant(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")
