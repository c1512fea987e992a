"""The documentation matches the program."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tools.docs import decision_diagram, weight_charts
from tools.docs.stage_diagram import PATH, stage_diagram

import rankproof
from rankproof._cli.parser import COMMANDS
from rankproof.measures import default_measures

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "RELEASING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]


def linked_files(page: Path) -> list[str]:
    return re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))


def named_commands(page: Path) -> list[str]:
    return re.findall(r"`rankproof ([a-z][a-z-]*)", page.read_text(encoding="utf-8"))


def test_pages_links_and_commands_are_found() -> None:
    assert len(PAGES) >= 55
    assert sum(map(len, map(linked_files, PAGES))) >= 400
    assert sum(map(len, map(named_commands, PAGES))) >= 150


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    assert [target for target in linked_files(page) if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_that_a_page_names_exists(page: Path) -> None:
    assert [name for name in named_commands(page) if name not in COMMANDS] == []


def test_every_code_of_a_note_is_documented() -> None:
    notes = (ROOT / "src" / "rankproof" / "_evaluation" / "notes.py").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    codes = re.findall(r'Note\(\s*"([a-z-]+)"', notes)
    assert len(codes) >= 12
    assert [code for code in codes if f"`{code}`" not in page] == []


def test_the_example_of_the_package_gives_what_it_shows() -> None:
    result = rankproof.evaluate({"q1": {"d1": 1}}, {"q1": {"d1": 0.9, "d2": 0.4}}, ["nDCG@10", "RR"])
    assert str(result.means) in (rankproof.__doc__ or "")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "count"), [("experiments.md", 2), ("how-to/extend.md", 5)])
def test_the_examples_of_a_page_run_one_after_the_other(
    name: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "page"}
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == count
    for code in blocks:
        exec(compile(code, "page", "exec", dont_inherit=True), names)
    assert [path.name for path in tmp_path.iterdir()] == ["results"] * (name == "experiments.md")
    if "own" in names:
        assert [system_run.kind for system_run in names["own"].system_runs] == ["retrieval", "rerank"]
        assert all(0 < names["own"].result.means[system]["nDCG@10"] < 1 for system in ("own", "short"))


def test_the_example_of_dicts_runs() -> None:
    page = (ROOT / "docs" / "how-to" / "python.md").read_text(encoding="utf-8")
    (code,) = (code for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if 'result.notes["dense"]' in code)
    names: dict[str, Any] = {"rp": rankproof}
    exec(code, names)
    assert names["result"].means["bm25"]["RR@10"] == 0.75
    assert [note.code for note in names["result"].notes["dense"]] == ["missing-queries"]


FOR_USERS = [
    page for page in PAGES if page.name not in ("design.md", "CONTRIBUTING.md", "RELEASING.md") and page.parent.name != "api"
]


@pytest.mark.parametrize("page", FOR_USERS, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_for_users_names_no_private_module(page: Path) -> None:
    shown = re.sub(r"<!--.*?-->", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert re.findall(r"\brankproof(?:\.\w+)*\._\w+", shown) == [], "add the name to rankproof.plugins"


def test_the_diagram_of_the_decision_is_what_its_program_draws() -> None:
    text = decision_diagram.PATH.read_text(encoding="utf-8")
    assert text == decision_diagram.decision_diagram(), "run python -m tools.docs.decision_diagram"
    assert "good enough and cheapest: ship B" in {each.text for each in ElementTree.fromstring(text).iter() if each.text}


def test_the_diagram_of_stages_is_what_its_program_draws() -> None:
    text = PATH.read_text(encoding="utf-8")
    assert text == stage_diagram(), "run python -m tools.docs.stage_diagram"
    root = ElementTree.fromstring(text)
    width = float(root.attrib["width"])
    assert all(0 <= float(each.attrib["x"]) <= width for each in root.iter("{http://www.w3.org/2000/svg}text"))
    assert {"R@100", "nDCG@10, RR@10"} <= {each.text for each in root.iter("{http://www.w3.org/2000/svg}text")}


@pytest.mark.parametrize("family", weight_charts.CURVES)
def test_the_pictures_of_weights_are_what_their_program_draws(family: str) -> None:
    names = weight_charts.CURVES[family]
    text = (weight_charts.IMAGES / f"weights-{family}.svg").read_text(encoding="utf-8")
    assert text == weight_charts.weight_chart(names), "run python -m tools.docs.weight_charts"
    shown = {element.text for element in ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}text") if element.text}
    assert all(any(name in line for line in shown) for name in names)


def test_the_weights_of_known_measures_are_their_discounts() -> None:
    assert weight_charts.weights("RR")[:4] == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4])
    assert weight_charts.weights("RBP(p=0.5)")[:4] == pytest.approx([1, 1 / 2, 1 / 4, 1 / 8])
    assert weight_charts.weights("P@10")[8:11] == [1.0, 1.0, 0.0]


def test_every_default_measure_is_on_the_page_of_which_measure() -> None:
    page = (ROOT / "docs" / "concepts" / "which-measure.md").read_text(encoding="utf-8")
    measures = default_measures(3)
    assert len(measures) >= 5
    assert [str(measure) for measure in measures if f"| `{measure}` |" not in page] == []
