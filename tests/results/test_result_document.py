"""Every field of result.json is checked when a results folder is loaded."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from rankproof._evaluation.notes import Note
from rankproof._results.document import ResultDocument, RunDocument
from rankproof._results.folder import load_results, save_results
from rankproof.errors import InputError
from support.answering_results import QUERIES, answering_results

FIRST_KEY = "*"
Steps = tuple[str | int, ...]
REQUIRED_ON_DISK = ("sha256", "run")
"""Left out only of documents that are printed."""


def every_field(kind: Any, steps: Steps = ()) -> Iterator[tuple[Steps, Any, bool]]:
    """The path, the type and whether it may be missing, of each field and of the first item of each array and object."""
    kind = next((one for one in get_args(kind) if one is not NoneType), kind) if NoneType in get_args(kind) else kind
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        for one in fields(kind):
            optional = one.default is not MISSING and one.name not in REQUIRED_ON_DISK
            yield (*steps, one.name), hints[one.name], optional
            yield from every_field(hints[one.name], (*steps, one.name))
    elif get_origin(kind) in (tuple, list):
        yield (*steps, 0), get_args(kind)[0], True
        yield from every_field(get_args(kind)[0], (*steps, 0))
    elif get_origin(kind) is Mapping and get_args(kind)[1] is not Any:
        yield (*steps, FIRST_KEY), get_args(kind)[1], True
        yield from every_field(get_args(kind)[1], (*steps, FIRST_KEY))


def wrong_value(kind: Any) -> Any:
    if NoneType in get_args(kind):
        kind = next(one for one in get_args(kind) if one is not NoneType)
    if kind in (str, bool):
        return 7
    if kind in (int, float) or get_origin(kind) is Literal:
        return "seven"
    return [] if is_dataclass(kind) or get_origin(kind) is Mapping else {}


def parent_of(document: Any, steps: Steps) -> tuple[Any, Any, str]:
    """The object or array that holds the value, its key there, and its path in words."""
    path = ""
    for at, step in enumerate(steps):
        key = next(iter(document)) if step == FIRST_KEY else step
        path += f"[{key}]" if isinstance(key, int) else f".{key}" if path else str(key)
        if at == len(steps) - 1:
            return document, key, path
        document = document[key]
    raise AssertionError("no step")


FIELDS = [found for found in every_field(ResultDocument) if found[0] not in (("format",), ("schema",))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results with at least one item in every array and object."""
    results = answering_results()
    first, second = results.system_runs
    first = replace(first, run=first.run.restricted_to(QUERIES[1:]), baseline=second.name, counts=second.counts, notes=("slow",))
    noted = replace(results.result.systems[0], notes=(Note("code", 1, "text"),))
    result = replace(results.result, systems=(noted, *results.result.systems[1:]))
    results = replace(results, system_runs=(first, second), result=result, chunks=result, notes=("a note",))
    return Path(save_results(results, tmp_path_factory.mktemp("document") / "out"))


def name_of(steps: Any) -> str:
    return ".".join(map(str, steps)) if isinstance(steps, tuple) else ""


def assert_refused(folder: Path, document: Any, what: str) -> None:
    file = folder / "result.json"
    saved = file.read_bytes()
    file.write_text(json.dumps(document), encoding="utf-8")
    try:
        with pytest.raises(InputError, match=f"^{re.escape(str(file))}: {re.escape(what)}"):
            load_results(folder)
    finally:
        file.write_bytes(saved)


def test_the_folder_has_every_field(folder: Path) -> None:
    document = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    for steps, _, _ in FIELDS:
        inner, key, _ = parent_of(document, steps)
        assert isinstance(inner, list) or key in inner
    assert set(document["systems"][0]["run"]) == {one.name for one in fields(RunDocument)}


@pytest.mark.parametrize(("steps", "kind"), [found[:2] for found in FIELDS], ids=name_of)
def test_a_field_of_a_wrong_type_is_refused_with_file_and_path(folder: Path, steps: Steps, kind: Any) -> None:
    document = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    inner, key, path = parent_of(document, steps)
    inner[key] = wrong_value(kind)
    assert_refused(folder, document, f"{path} is not ")


@pytest.mark.parametrize("steps", [steps for steps, _, optional in FIELDS if not optional], ids=name_of)
def test_a_missing_field_is_refused_with_file_and_path(folder: Path, steps: Steps) -> None:
    document = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    inner, key, path = parent_of(document, steps)
    del inner[key]
    assert_refused(folder, document, f"{path} is missing")


@pytest.mark.parametrize("part", ["embed", "search", "rerank", "generate", "total"])
def test_a_missing_part_of_the_time_is_refused(folder: Path, part: str) -> None:
    document = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    del document["systems"][1]["times_ms"][part]
    assert_refused(folder, document, f"systems[1].times_ms.{part} is missing")
