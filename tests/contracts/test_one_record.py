"""One record of a decision: each output has the outcome, the systems, the risk and the sentences of Python."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import rankproof as rp
from rankproof._analysis.decision.record import Decision
from rankproof._cli.main import main
from rankproof._data.qrels import Judgement, Qrels
from rankproof._mcp.server import reply
from rankproof._mcp.tools import TOOLS, Access, Folders
from rankproof._results.decision_settings import DecisionSettings
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.folder import load_results, save_results
from support.decision_folders import made_folder
from support.results_server import serving

Outcome = tuple[str, str | None]


def equal(n: int = 100, skill: float = 3.0, **times: float) -> ExperimentResult:
    return made_folder({"a": skill, "b": skill}, n=n, times=times)


def kept() -> ExperimentResult:
    return replace(equal(), decision_settings=DecisionSettings(baseline="a"))


def judged() -> ExperimentResult:
    results = made_folder({"a": 0.1, "b": 3.0}, n=80)
    rows = (Judgement(row.query, row.doc, row.grade, judge_label="llm:tiny:01") for row in results.qrels.rows())
    return replace(results, qrels=Qrels(rows))


CASES: dict[Outcome, Callable[[], ExperimentResult]] = {
    ("ship", "cheaper"): lambda: equal(a=6.0, b=1.0),
    ("judge_leads", None): judged,
    ("ship", "better"): lambda: made_folder({"a": 0.1, "b": 3.0}, n=80),
    ("ship", "safe"): lambda: made_folder({"a": 0.9, "b": 0.8}, n=120, times={}),
    ("either", None): equal,
    ("keep", "safe"): kept,
    ("not_decided", None): lambda: equal(n=60, skill=8.0),
}
FAST = 2


@pytest.fixture(
    scope="module",
    params=[pytest.param(case, marks=[] if at < FAST else pytest.mark.slow, id=case[0]) for at, case in enumerate(CASES)],
)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Decision]:
    """A results folder, and the decision of Python on it, which has the outcome and the kind of the case."""
    place = tmp_path_factory.mktemp("record")
    path = Path(save_results(CASES[request.param](), place / "results"))
    decision = rp.compare(path).decision
    assert (decision.outcome, decision.kind) == request.param
    return path, decision


def plain(text: str) -> str:
    """The text without marks, entities and line breaks."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", "", text)).translate(dict.fromkeys(map(ord, "\\${}"))))


def printed(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main([*argv]) in (0, 3)
    return capsys.readouterr().out


def record(document: dict[str, Any]) -> tuple[Any, ...]:
    """What a reader of JSON decides by."""
    names = ("outcome", "kind", "systems", "leader", "reason", "risk", "limit", "margin", "n", "sentences")
    assert document["decided"] is (document["outcome"] in ("ship", "either", "keep"))
    return tuple(json.loads(json.dumps(document[name])) for name in names)


def test_every_json_has_the_record_of_python(
    case: tuple[Path, Decision], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, decision = case
    saved, expected = str(tmp_path / "saved.json"), record(decision.to_dict())
    assert record(json.loads(printed(capsys, "compare", str(path), "--format", "json"))["decision"]) == expected
    assert main(["gate", str(path), "--system", "a", "--save", saved, "-m", str(decision.measure), "--quiet"]) == 0
    capsys.readouterr()
    gate = json.loads(printed(capsys, "gate", str(path), "--baseline", saved, "--format", "json"))
    assert record(gate["tables"][0]["facts"]["decision"]) == expected
    own = rp.gate(path, baseline=saved).decision
    assert own is not None
    assert record(own.to_dict()) == expected
    (compare,) = (tool for tool in TOOLS if tool.name == "compare")
    words, answered = reply(compare.call({"data": path.name}, Access(Folders([str(path.parent)]))), 60_000)
    assert words == "\n".join(decision.sentences)
    shared = {name: json.loads(json.dumps(value)) for name, value in answered["decision"].items() if name in decision.to_dict()}
    assert len(shared) >= 5
    assert shared == {name: json.loads(json.dumps(decision.to_dict()[name])) for name in shared}


def test_every_text_and_page_has_the_sentences_of_python(
    case: tuple[Path, Decision], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, decision = case
    saved = {name: str(tmp_path / name) for name in ("saved.json", "tests.xml", "comment.md", "report.md", "report.html")}
    assert main(["gate", str(path), "--system", "a", "--save", saved["saved.json"], "-m", str(decision.measure), "--quiet"]) == 0
    capsys.readouterr()
    outputs = {kind: printed(capsys, "compare", str(path), "--format", kind) for kind in ("table", "markdown", "latex")}
    files = ["--junit", saved["tests.xml"], "--comment", saved["comment.md"]]
    outputs["gate"] = printed(capsys, "gate", str(path), "--baseline", saved["saved.json"], *files)
    outputs["gate in a test of pytest"] = str(rp.gate(path, baseline=saved["saved.json"]))
    outputs["comment"] = Path(saved["comment.md"]).read_text("utf-8")
    outputs["junit"] = " ".join(ElementTree.parse(saved["tests.xml"]).getroot().itertext())
    for name in ("report.md", "report.html"):
        assert main(["report", str(path), "-o", saved[name], "--quiet"]) == 0
        outputs[name] = Path(saved[name]).read_text("utf-8")
    outputs["results"] = str(load_results(path).compare())
    with serving([path]) as visitor:
        visitor.enter()
        outputs["serve"] = visitor.get("/r/1").text
    assert len(outputs) == 11
    first = plain(decision.sentences[0])
    assert [name for name, text in outputs.items() if first not in plain(text)] == []
    if decision.outcome in ("judge_leads", "not_decided"):
        assert [name for name, text in outputs.items() if re.search(r"\bShip\b", plain(text))] == []
