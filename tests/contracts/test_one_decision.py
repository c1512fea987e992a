"""One folder, one decision: run, compare, report, serve, gate and Python agree on it, on its risks, verdicts and p-values."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import rankproof
from rankproof._analysis.compare.comparison import Comparison, compare_inputs
from rankproof._analysis.compare.decision_data import only_systems
from rankproof._analysis.compare.summary import compare_results, summary_document
from rankproof._analysis.inputs import input_from_results
from rankproof._cli.main import main
from rankproof._data.text import format_p
from rankproof._evaluation.notes import value_notes
from rankproof._io.escape import for_terminal
from rankproof._render.formats import RenderOptions
from rankproof._render.systems import render_run
from rankproof._render.table import format_item
from rankproof._results.folder import load_results, save_results
from rankproof._results.result_json import DECISION_FILE
from rankproof.errors import escape_invisible
from support.decision_folders import FOLDERS
from support.results_server import serving


@dataclass(frozen=True)
class Folder:
    """A results folder, and the comparison that Python makes of it."""

    path: Path
    comparison: Comparison

    @property
    def sentences(self) -> list[str]:
        return [squeezed(sentence) for sentence in self.comparison.decision.sentences]


def squeezed(text: str) -> str:
    """The text without line breaks and non-breaking spaces."""
    return re.sub(r"\s+", " ", text)


FAST = 12
"""Every so many folders one is in the fast tests; all are in `make test-all`."""


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=[] if at % FAST == 0 else pytest.mark.slow) for at, name in enumerate(FOLDERS)],
)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Folder:
    path = Path(save_results(FOLDERS[request.param](), tmp_path_factory.mktemp("folder") / "results"))
    return Folder(path, compare_inputs(input_from_results(load_results(path))))


def printed(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """What a command prints; it must not fail for wrong input or an internal error."""
    assert main([*argv]) in (0, 3)
    return capsys.readouterr().out


def plain(value: Any) -> Any:
    """The value as it comes back from JSON."""
    return json.loads(json.dumps(value))


def rows_of(page: str, section: str) -> list[list[str]]:
    """The cells of the first table of a section."""
    part = page.partition(f'<section id="{section}"')[2].partition("</table>")[0]
    rows = re.findall(r"<tr[^>]*>(<th scope=\"row\".*?)</tr>", part, re.DOTALL)
    return [[unescape(re.sub(r"<[^>]+>", "", cell)).strip() for cell in re.split(r"</t[hd]>", row)[:-1]] for row in rows]


def headers_of(page: str, section: str) -> list[str]:
    """The names of the columns of the first table of a section."""
    part = page.partition(f'<section id="{section}"')[2].partition("</thead>")[0]
    return [unescape(re.sub(r"<[^>]+>", "", cell)).strip() for cell in re.findall(r"<th[^>]*>(.*?)</th>", part, re.DOTALL)]


def shown_p(p: float) -> str:
    return format_p(p).removeprefix("p ").removeprefix("= ").replace("< ", "<")


def check_page(page: str, folder: Folder) -> None:
    """The page has the sentences of the decision, and the p-values and verdicts of the table and of every pair."""
    text = squeezed(unescape(re.sub(r"<[^>]+>", "", page)))
    for sentence in folder.sentences:
        assert sentence in text
    risks = {one.name: format_item(one.risk, "risk") for one in folder.comparison.decision.by_system}
    at = headers_of(page, "systems").index("risk")
    assert {row[0]: row[at] for row in rows_of(page, "systems")} == {escape_invisible(name): risk for name, risk in risks.items()}
    expected = {
        (shown_p(pair.p), shown_p(pair.p_adjusted), pair.verdict) for pair in folder.comparison.pairs if not pair.exploratory
    }
    found = {tuple(row[-3:]) for row in rows_of(page, "pairs")}
    assert found == expected


def test_the_end_of_a_run_and_its_summary_have_the_decision_of_python(folder: Folder, tmp_path: Path) -> None:
    results = load_results(folder.path)
    comparison = compare_results(results)
    assert comparison is not None
    shown = squeezed(render_run(results, comparison, RenderOptions(width=80)))
    for sentence in folder.sentences:
        assert squeezed(for_terminal(sentence)) in shown
    path = Path(save_results(results, tmp_path / "run", summary=summary_document(results, comparison)))
    summary, against = json.loads((path / DECISION_FILE).read_text(encoding="utf-8")), folder.comparison.against_baseline()
    assert summary["decision"] == plain(folder.comparison.decision.to_dict())
    found = {one["name"]: (one["p"], one["p_adjusted"], one["verdict"]) for one in summary["systems"] if one["verdict"]}
    assert found == {name: (pair.p, pair.p_adjusted, pair.verdict) for name, pair in against.items()}


def test_the_functions_of_python_agree(folder: Folder) -> None:
    notes = value_notes(rankproof.load_results(folder.path).result.systems)
    expected = {**folder.comparison.to_dict(), "notes": [*notes, *folder.comparison.notes]}
    assert rankproof.load_results(folder.path).compare().to_dict() == expected
    assert rankproof.compare(folder.path).to_dict() == expected
    assert folder.comparison.decision.sentences == rankproof.report(folder.path).decision
    gate = rankproof.gate(folder.path, measures=list(folder.comparison.measures), baseline=folder.path)
    assert gate.decision is not None
    assert gate.decision.to_dict() == expected["decision"]


def test_the_report_has_the_decision_of_python(folder: Folder, tmp_path: Path) -> None:
    assert main(["report", str(folder.path), "-o", str(tmp_path / "report.html"), "--quiet"]) == 0
    check_page((tmp_path / "report.html").read_text(encoding="utf-8"), folder)


@pytest.mark.slow
def test_serve_has_the_decision_of_python(folder: Folder) -> None:
    with serving([folder.path]) as visitor:
        visitor.enter()
        assert folder.sentences[0] in squeezed(unescape(visitor.get("/").text))
        check_page(visitor.get("/r/1").text, folder)


def test_compare_prints_the_decision_of_python(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    text = squeezed(printed(capsys, "compare", str(folder.path)))
    for sentence in folder.sentences:
        assert squeezed(for_terminal(sentence)) in text
    found = json.loads(printed(capsys, "compare", str(folder.path), "--format", "json"))
    expected = plain(folder.comparison.to_dict())
    assert found["decision"] == expected["decision"]
    assert [pair for pair in found["pairs"] if not pair["exploratory"]] == [
        pair for pair in expected["pairs"] if not pair["exploratory"]
    ]


def test_the_gate_has_the_decision_of_python(folder: Folder, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = str(tmp_path / "baseline.json")
    measures = ",".join(folder.comparison.measures)
    assert main(["gate", str(folder.path), "--save", saved, "-m", measures, "--quiet"]) == 0
    decision = json.loads(printed(capsys, "gate", str(folder.path), "--baseline", saved, "--format", "json"))["tables"][0]
    assert decision["facts"]["decision"] == plain(folder.comparison.decision.to_dict())


def test_the_gate_has_the_risk_of_the_decision_between_two_systems(
    folder: Folder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = [pair for pair in folder.comparison.pairs if not pair.exploratory]
    if not pairs:
        return
    saved, pair = str(tmp_path / "baseline.json"), pairs[-1]
    common = ["-m", folder.comparison.primary, "--quiet"]
    assert main(["gate", str(folder.path), "--save", saved, "--system", pair.other, *common]) == 0
    out = printed(capsys, "gate", str(folder.path), "--baseline", saved, "--system", pair.system, "--format", "json")
    (check,) = [each for each in json.loads(out)["tables"][0]["facts"]["checks"] if each["kind"] == "drop"]
    change = check["change"]
    both = only_systems(input_from_results(load_results(folder.path)), [pair.system, pair.other])
    decision = compare_inputs(both, primary=folder.comparison.primary).decision
    assert (change["difference"], change["n"]) == (pair.difference, pair.n)
    if decision.reason == "one_system":
        assert (change["difference"], check["result"]) == (0.0, "passed")
        return
    assert change["error"] == pytest.approx(decision.against[0].error)
    risk = decision.of(pair.system).risk
    assert risk is not None
    # The gate has no scenarios; the risk of a decision is the largest of them.
    assert change["risk"] <= risk if decision.scenarios else change["risk"] == pytest.approx(risk)
