"""Results folders with files of other kinds, links, bombs and settings that no experiment has."""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rankproof._cli.main import main
from rankproof._io.files import is_results_folder
from rankproof._results.folder import load_results, save_results
from rankproof._results.judgements import experiment_dataset, measuring_command
from rankproof.errors import RankproofError
from support.results_server import saved, serving
from support.small_results import small_results

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs named pipes, links and sparse files")
if sys.platform == "linux":
    from tools.attacks.hostile import RESULTS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return saved(tmp_path / "hostile")


@pytest.mark.parametrize("attack", RESULTS)
def test_a_hostile_results_folder_is_refused_with_the_file(attack: str, folder: Path) -> None:
    name = RESULTS[attack](folder)
    with pytest.raises(RankproofError, match=rf"hostile/(runs/)?{name}[:\d]*: .+; "):
        load_results(folder)


@pytest.mark.parametrize("attack", [attack for attack in RESULTS if attack.startswith("`result.json` is a")])
def test_a_folder_with_a_hostile_document_is_not_replaced(attack: str, folder: Path) -> None:
    RESULTS[attack](folder)
    with pytest.raises(RankproofError):
        save_results(small_results(), folder)
    assert os.path.lexists(folder / "result.json")


CODE = "hostile_module:measure"


def name_code(document: dict[str, Any], place: str) -> None:
    """Names Python code as the first measure of every system, or as the measure that decides."""
    if place == "primary":
        document["decision"]["primary"] = CODE
        return
    for system in document["systems"]:
        first, *others = system["measures"].items()
        system["measures"] = {CODE: first[1], **dict(others)}


@pytest.mark.parametrize("place", ["measures", "primary"])
def test_a_results_folder_that_names_python_code_does_not_run_it(
    place: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hostile_module.py").write_text("open('was-run', 'w').close()\n\ndef measure(grades, ideal):\n    return 0.0\n")
    monkeypatch.chdir(tmp_path)
    document = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    name_code(document, place)
    (folder / "result.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(RankproofError, match=rf"{CODE} is Python code, which a file of data cannot name; .* MODULE:measure"):
        load_results(folder)
    assert not Path("was-run").exists()


def test_a_folder_with_a_link_inside_it_is_read(folder: Path) -> None:
    (folder / "qrels.tsv").rename(folder / "judged.tsv")
    (folder / "qrels.tsv").symlink_to("judged.tsv")
    assert is_results_folder(str(folder))
    assert load_results(folder).qrels == small_results(highest=3).qrels


AS_DATASET = {
    "eval": ("qrels.tsv", ["eval", "hostile", "one.run"]),
    "explain": ("queries.jsonl", ["explain", "qrels.tsv", "one.run", "--dataset", "hostile"]),
    "import": ("qrels.tsv", ["import", "hostile", "-o", "imported"]),
    "import of queries": ("queries.jsonl", ["import", "hostile", "-o", "imported"]),
}
"""Commands that read a results folder as a dataset, with the file that they read."""


@pytest.mark.parametrize(("name", "command"), AS_DATASET.values(), ids=list(AS_DATASET))
def test_a_link_out_of_a_results_folder_is_not_followed_where_it_is_read_as_a_dataset(
    name: str, command: list[str], folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    shutil.copy(folder / "qrels.tsv", "qrels.tsv")
    Path("one.run").write_text("q1 Q0 d1 1 2.0 t\n")
    (folder / name).rename("outside")
    (folder / name).symlink_to("../outside")
    assert main(command) == 2
    assert f"hostile/{name}: is a link out of the folder; copy the file" in capsys.readouterr().err


def test_a_hostile_folder_is_listed_with_its_reason_and_the_others_are_shown(tmp_path: Path, folder: Path) -> None:
    saved(tmp_path / "good", name="good")
    RESULTS["`result.json` is a named pipe"](folder)
    with serving([tmp_path]) as visitor:
        page = visitor.enter().get("/").text
        assert "good" in page
        assert "hostile/result.json: is a named pipe, not a file" in page


def test_a_folder_that_changes_or_disappears_while_it_is_served_stops_nothing(tmp_path: Path, folder: Path) -> None:
    saved(tmp_path / "good", name="good")
    with serving([tmp_path]) as visitor:
        pages = {name: visitor.get(f"/r/{name}") for name in "12" if visitor.enter()}
        assert [page.status for page in pages.values()] == [200, 200]
        (bad,) = (name for name, page in pages.items() if "<title>good" not in page.text)
        RESULTS["`runs` is a link to a folder outside"](folder)
        assert "is a link out of the folder" in visitor.get("/").text
        shutil.rmtree(folder)
        assert visitor.get(f"/r/{bad}").status == 404
        assert "good" in visitor.get("/").text


STRANGE = {
    "qrels of another type": "qrels = 5\nsystems = {a = 1}",
    "qrels that are no paths": "qrels = [1]\nsystems = {a = 1}",
    "no TOML": "not toml",
    "a key of many parts": ".".join(["a"] * 50_000) + " = 1",
    "a dataset that is a device": 'dataset = "/dev/zero"',
}


@pytest.mark.slow
@pytest.mark.parametrize("text", STRANGE.values(), ids=list(STRANGE))
def test_a_strange_experiment_file_names_no_dataset_and_no_command(text: str) -> None:
    results = replace(small_results(), experiment=text)
    assert experiment_dataset(results) is None
    assert measuring_command(results, "folder", []) is None


def test_results_with_a_strange_experiment_file_are_judged_by_their_snippets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = saved(tmp_path / "strange", experiment="not toml")
    assert main(["judge", str(folder), "--by", "keywords", "-o", str(tmp_path / "out.qrels")]) == 0
    assert "note: the dataset of the results cannot be read or has changed" in capsys.readouterr().err
