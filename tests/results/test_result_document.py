"""Every value of result.json is checked when a results folder is loaded.

The values are taken from a file as it is written, not from the declarations that the reader follows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from rankproof import evaluate
from rankproof._data import format_versions
from rankproof._data.claims import Calibration, JudgeNoise
from rankproof._data.run import PARTS
from rankproof._evaluation.notes import Note
from rankproof._evaluation.result import Result
from rankproof._results.decision_settings import DecisionSettings
from rankproof._results.folder import load_results, save_results
from rankproof._results.result_json import ResultDocument, RunDocument
from rankproof.errors import InputError
from support.answering_results import QUERIES, answering_results
from support.result_files import write_result_file
from support.small_results import MEASURES

ANYTHING = {"stage", "facts", "provenance"}
"""Objects with any content."""
NAMED = {"measures", "gain_pp", "times_ms", "counts", "judged_documents", "sha256", "costs"}
"""Objects whose keys are names, and so are `per_query` of measures."""
CAN_BE_NULL = {"systems[0].builds_on", "systems[0].throughput", "chunks", "answers"}
CAN_BE_NULL |= {"systems[0].index.seconds", "systems[0].index.bytes"}
CAN_BE_NULL |= {"decision.primary", "decision.margin", "decision.baseline"}
CAN_BE_NULL |= {f"systems[0].times_ms.{PARTS[0]}.per_query[0]"}
CALIBRATION = Calibration("llm:m:1", "answer-contexts", 9, 4, 0.75, (0.5, 0.9), 0.5, (0.25, 0.7), 0.6, (0.3, 0.8))
NOISE = JudgeNoise("llm:m:1", "Faithfulness(judge='m')", 30, 3, 0.125, 0.25, 0.5)
_NOT_DEFINED = {f"answers.calibrations[0].{one.name}" for one in fields(Calibration)[4:]} | {"answers.noise[0].reversed_flips"}
CAN_BE_NULL |= {"answers.calibrations", "answers.noise", *_NOT_DEFINED, "answers.noise[0].deviation", "answers.noise[0].flips"}
CAN_BE_MISSING = {"chunks", "answers", "answers.calibrations", "answers.noise", *_NOT_DEFINED}
OTHER_ERRORS = {"format", "schema", "digest"}
Step = str | int


def values_of(value: Any, steps: tuple[Step, ...] = ()) -> Iterator[tuple[tuple[Step, ...], Any]]:
    """Each value with the steps to it; of arrays the first item, of objects with names the first one."""
    last = steps[-1] if steps else ""
    if isinstance(value, list):
        children = [(0, value[0])]
    elif isinstance(value, dict) and last not in ANYTHING:
        children = list(value.items())[:1] if last in NAMED or last == "per_query" else list(value.items())
    else:
        children = []
    for key, child in children:
        yield (*steps, key), child
        yield from values_of(child, (*steps, key))


def path_of(steps: tuple[Step, ...]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")


def is_key(steps: tuple[Step, ...]) -> bool:
    """Whether it is a field of an object, not an item of an array or of an object with names."""
    parent = steps[-2] if len(steps) > 1 else ""
    return isinstance(steps[-1], str) and parent not in NAMED and parent != "per_query"


def wrong_values(value: Any, steps: tuple[Step, ...]) -> list[Any]:
    """Values of another type; a whole number is a number, and no boolean is one."""
    if isinstance(value, bool | str):
        return [7, "other"] if steps[-1] == "kind" else [7]
    if isinstance(value, int):
        return ["seven", 1.5, True]
    if isinstance(value, float):
        return ["seven", True]
    return [{}, 7] if isinstance(value, list) else [[], 7]


def with_note(result: Result) -> Result:
    note = Note("code", 1, "text")
    return replace(result, systems=tuple(replace(system, notes=(note, *system.notes)) for system in result.systems))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results with at least one item in every array and object, and no null but p99, which needs 1,000 queries."""
    results = answering_results()
    assert results.answers is not None
    first, second = results.system_runs
    first = replace(
        first, stored_run=first.run.restricted_to(QUERIES[1:]), builds_on=second.name, counts=second.counts, notes=("slow",)
    )
    systems = (replace(first, throughput=3.5), second)
    result = with_note(evaluate(results.qrels, {system.name: system.run for system in systems}, MEASURES))
    answers = replace(with_note(results.answers), calibrations=(CALIBRATION,), noise=(NOISE,))
    results = replace(results, system_runs=systems, result=result, chunks=result, answers=answers, notes=("a note",))
    settings = DecisionSettings("nDCG@10", 0.02, first.name, {first.name: 1.5})
    results = replace(results, decision_settings=settings)
    return Path(save_results(results, tmp_path_factory.mktemp("document") / "out"))


@pytest.fixture(scope="module")
def written(folder: Path) -> str:
    return (folder / "result.json").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def values(written: str) -> list[tuple[tuple[Step, ...], Any]]:
    return [one for one in values_of(json.loads(written)) if one[0][0] not in OTHER_ERRORS and one[0][-1] != "p99"]


def load_with(folder: Path, document: Any) -> Any:
    """The results with another result.json, or the error without the name of the file."""
    file = folder / "result.json"
    saved = file.read_bytes()
    write_result_file(file, document)
    try:
        return load_results(folder)
    except InputError as error:
        return str(error).removeprefix(f"{file}: ")
    finally:
        file.write_bytes(saved)


def parent_of(document: Any, steps: tuple[Step, ...]) -> Any:
    for step in steps[:-1]:
        document = document[step]
    return document


def test_the_file_has_every_kind_of_value(written: str, values: list[tuple[tuple[Step, ...], Any]]) -> None:
    document = json.loads(written)
    assert set(document) == {one.name for one in fields(ResultDocument)}
    assert set(document["systems"][0]["run"]) == {one.name for one in fields(RunDocument)}
    assert [path_of(steps) for steps, value in values if value is None or value in ([], {})] == []
    assert len(values) > 80


def test_a_value_of_another_type_is_refused_with_file_and_path(
    folder: Path, written: str, values: list[tuple[tuple[Step, ...], Any]]
) -> None:
    accepted = {}
    for steps, value in values:
        for wrong in wrong_values(value, steps):
            document = json.loads(written)
            parent_of(document, steps)[steps[-1]] = wrong
            found = load_with(folder, document)
            if not re.match(rf"{re.escape(path_of(steps))} is not (text|a whole number|a number|true|an |one of)", str(found)):
                accepted[path_of(steps), repr(wrong)] = found
    assert accepted == {}


@pytest.mark.slow
def test_null_is_refused_where_no_value_can_be_unknown(
    folder: Path, written: str, values: list[tuple[tuple[Step, ...], Any]]
) -> None:
    other = {}
    for steps, _ in values:
        document = json.loads(written)
        parent_of(document, steps)[steps[-1]] = None
        found, path = load_with(folder, document), path_of(steps)
        is_refused = str(found).startswith((f"{path} is not ", f"{path} is missing"))
        if is_refused != (path not in CAN_BE_NULL):
            other[path] = found
    assert other == {}


def test_a_missing_key_is_refused_with_file_and_path(
    folder: Path, written: str, values: list[tuple[tuple[Step, ...], Any]]
) -> None:
    other = {}
    for steps in (steps for steps, _ in values if is_key(steps)):
        document = json.loads(written)
        del parent_of(document, steps)[steps[-1]]
        found, path = load_with(folder, document), path_of(steps)
        if str(found).startswith(f"{path} is missing; ") != (path not in CAN_BE_MISSING):
            other[path] = found
    assert other == {}


def other_value(value: Any) -> Any:
    """Another value of the same type."""
    if isinstance(value, str):
        return f"{value}x"
    if isinstance(value, dict):
        return {**value, "added": 1}
    return [*value, *value[:1], None][: len(value) + 1] if isinstance(value, list) else 1 if value is None else value + 1


@pytest.mark.slow
def test_every_change_of_a_value_is_noticed(folder: Path, written: str, values: list[tuple[tuple[Step, ...], Any]]) -> None:
    file = folder / "result.json"
    assert len(values) >= 100
    accepted = []
    for steps, value in values:
        document = json.loads(written)
        parent_of(document, steps)[steps[-1]] = not value if isinstance(value, bool) else other_value(value)
        file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        with suppress(InputError):
            load_results(folder)
            accepted.append(path_of(steps))
    file.write_text(written, encoding="utf-8")
    assert accepted == []


REWRITTEN = [("[", " ["), ("\n}\n", "\n}"), ("\n}\n", "\n}\n\n"), ('"digest"', '"Digest"'), ("\n", "\r\n")]


@pytest.mark.parametrize("changed", REWRITTEN)
def test_a_file_that_was_written_again_is_refused(changed: tuple[str, str], folder: Path, written: str) -> None:
    file = folder / "result.json"
    try:
        file.write_bytes(written.replace(*changed).encode())
        with pytest.raises(InputError, match="the file was changed after the results were written; restore"):
            load_results(folder)
    finally:
        file.write_text(written, encoding="utf-8")


def test_a_key_that_is_not_known_is_ignored(folder: Path, written: str, values: list[tuple[tuple[Step, ...], Any]]) -> None:
    expected = load_results(folder)
    for steps in (steps for steps, value in values if isinstance(value, dict) and steps[-1] not in NAMED | ANYTHING):
        if steps[-1] == "per_query":
            continue
        document = json.loads(written)
        inner = parent_of(document, steps)[steps[-1]]
        inner["unknown"] = {"x": 1}
        found = load_with(folder, document)
        assert not isinstance(found, str), f"{path_of(steps)}: {found}"
        assert repr(found.result.means) == repr(expected.result.means)


@pytest.mark.parametrize("part", ["embed", "search", "rerank", "generate", "total"])
def test_a_missing_part_of_the_time_is_refused(folder: Path, written: str, part: str) -> None:
    document = json.loads(written)
    del document["systems"][1]["times_ms"][part]
    assert load_with(folder, document).startswith(f"systems[1].times_ms.{part} is missing; ")


@pytest.mark.parametrize("wrong", [None, 7, "rankproof", "missing"])
def test_a_file_of_another_format_is_no_result(folder: Path, written: str, wrong: object) -> None:
    document = {**json.loads(written), "format": wrong}
    if wrong == "missing":
        del document["format"]
    found = load_with(folder, document)
    assert found == "not a result of rankproof; specify a folder that `rankproof run` wrote"


@pytest.mark.parametrize("wrong", [None, "4", 4.5, True, "missing"])
def test_a_version_that_is_no_whole_number_is_refused(folder: Path, written: str, wrong: object) -> None:
    document = {**json.loads(written), "schema": wrong}
    if wrong == "missing":
        del document["schema"]
    assert load_with(folder, document).startswith("schema is ")


@pytest.mark.parametrize("version", [0, format_versions.RESULTS - 1, format_versions.RESULTS + 1])
def test_a_file_of_another_version_is_refused(folder: Path, written: str, version: int) -> None:
    found = load_with(folder, {**json.loads(written), "schema": version})
    assert found.startswith(f"{format_versions.other_version(version, format_versions.RESULTS)}; ")
