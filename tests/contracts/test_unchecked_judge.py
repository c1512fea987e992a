"""A machine judge that nobody checked never ships a system: no command, page, format or function says so."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import rankproof as rp
from rankproof._analysis.compare.summary import compare_results, summary_document
from rankproof._analysis.decision.record import Decision
from rankproof._cli.main import main
from rankproof._data.qrels import Judgement, Qrels
from rankproof._render.formats import RenderOptions
from rankproof._render.systems import render_run, run_csv, run_json, run_markdown
from rankproof._report.summary import results_summary
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.folder import load_results, save_results
from rankproof.errors import UsageError
from support.decision_folders import made_folder
from support.results_server import serving

SKILLS = {"bm25": 1.0, "dense": 3.0}
FORMATS = ("table", "json", "csv", "markdown", "latex")
SAID = re.compile(r"\bShip\b|\b[Rr]isk\b(?!\": null)")
"""A decision or a risk; JSON has the key of a risk that is not known."""


def judged_results(label: str = "llm:tiny:0123abcd", n: int = 40) -> ExperimentResult:
    """Results in which one system is far better by a machine judge."""
    results = made_folder(SKILLS, n=n)
    rows = (Judgement(row.query, row.doc, row.grade, judge_label=label) for row in results.qrels.rows())
    return replace(results, qrels=Qrels(rows))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(save_results(judged_results(), tmp_path_factory.mktemp("judged") / "results"))


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Answers of a faithful system and of another."""
    place, paths = tmp_path_factory.mktemp("logs"), []
    for name, answer in (("good", "Cats purr at night."), ("poor", "Dogs bark by day.")):
        rows = (
            {"query": f"q{at}", "question": f"What of {at}?", "answer": answer, "contexts": ["Cats purr at night."]}
            for at in range(40)
        )
        paths.append(str(place / f"{name}.jsonl"))
        Path(paths[-1]).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return paths


def printed(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    capsys.readouterr()
    assert main([*argv]) == 0
    shown = capsys.readouterr()
    return shown.out + shown.err


def check(outputs: dict[str, str], expected: int) -> None:
    assert len(outputs) == expected
    assert {name: SAID.findall(text) for name, text in outputs.items() if not text or SAID.search(text)} == {}


def test_a_gate_on_an_unchecked_judge_is_unsure_or_fails_by_that_judge(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = {system: str(tmp_path / f"{system}.json") for system in SKILLS}
    for system, path in saved.items():
        assert main(["gate", str(folder), "--system", system, "-m", "nDCG@10", "--save", path]) == 0
    text = printed(capsys, "gate", str(folder), "--system", "dense", "--baseline", saved["bm25"])
    assert "The gate is unsure (judge not checked): 1 of 2 checks is unsure" in text
    check({"unsure": text}, 1)
    worse = rp.gate(folder, systems="bm25", baseline=saved["dense"])
    assert worse.verdict == "The gate failed by tiny: nDCG@10 of bm25 fell by 16.6 pp (0.995 to 0.829); 1 of 2 checks failed"
    assert rp.gate(folder, systems="dense", baseline=saved["bm25"], labels_by="people").outcome == "passed"
    assert rp.gate(folder, systems="dense", baseline=saved["dense"]).outcome == "passed"


def test_a_gate_with_another_judge_than_the_baseline_is_unsure(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    rp.gate(folder, systems="dense", save=path)
    path.write_text(path.read_text().replace('"nDCG@10": "tiny"', '"nDCG@10": "other"'))
    gate = rp.gate(folder, systems="bm25", baseline=path)
    assert gate.outcome == "unsure"
    assert any("the baseline has the values of another judge than tiny" in check.sentence for check in gate.checks)


@pytest.mark.slow
def test_no_format_of_compare_answers_and_export_ships(
    folder: Path, logs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outputs = {f"compare {kind}": printed(capsys, "compare", str(folder), "--format", kind) for kind in FORMATS}
    outputs["compare --details"] = printed(capsys, "compare", str(folder), "--details")
    outputs |= {f"answers {kind}": printed(capsys, "answers", *logs, "--format", kind) for kind in FORMATS}
    printed(capsys, "answers", *logs, "-o", str(tmp_path / "answers"))
    outputs["compare answers"] = printed(capsys, "compare", str(tmp_path / "answers"))
    kinds = ("latex", "markdown", "junit")
    outputs |= {f"export {kind}": printed(capsys, "export", str(folder), "--format", kind) for kind in kinds}
    outputs["stability"] = printed(capsys, "stability", str(folder), "--splits", "20", "--rounds", "2")
    check(outputs, 16)


@pytest.mark.slow
def test_no_report_and_no_end_of_a_run_ships(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results, options = load_results(folder), RenderOptions(width=100)
    comparison = compare_results(results)
    assert comparison is not None
    ends = {"run": render_run, "run json": run_json, "run csv": run_csv, "run markdown": run_markdown}
    outputs = {name: end(results, comparison, options) for name, end in ends.items()}
    outputs["summary.json"] = json.dumps(summary_document(results, comparison))
    outputs["picture"] = " ".join(results_summary(results).sentences)
    for name in ("report.html", "report.md"):
        printed(capsys, "report", str(folder), "-o", str(tmp_path / name))
        outputs[name] = (tmp_path / name).read_text(encoding="utf-8")
    outputs["changes"] = rp.report(folder, before=load_results(folder)).html
    check(outputs, 9)


def test_no_page_of_serve_ships(folder: Path) -> None:
    with serving([folder, folder]) as visitor:
        visitor.enter()
        paths = ("/", "/r/1", "/r/1/vs/2")
        check({path: visitor.get(path).text for path in paths}, 3)


@pytest.mark.slow
def test_no_function_of_python_ships(folder: Path) -> None:
    compared, report = rp.compare(folder), rp.report(folder)
    views = {"compare": compared, "decision": compared.decision, "report": report, "results": rp.load_results(folder)}
    outputs = {name: f"{view}\n{view!r}\n{view._repr_html_()}" for name, view in views.items()}
    outputs["latex"] = compared.to_latex()
    outputs["json"] = json.dumps(compared.to_dict())
    check(outputs, 6)


LABELS = {
    "llm:llama3:8b:0123abcd": "llama3:8b",
    "keywords:0.25-0.5:0123abcd": "keywords",
    "clicks:position:0123abcd": "clicks",
    "heuristic:rules:0.1.0": "heuristic",
}


@pytest.mark.parametrize(("label", "judge"), LABELS.items())
def test_judgements_of_a_machine_have_a_leader_and_no_decision(label: str, judge: str) -> None:
    decision = judged_results(label).compare().decision
    assert (decision.outcome, decision.reason, decision.judge, decision.decided) == (
        "judge_leads",
        "judge_not_checked",
        judge,
        False,
    )
    assert (decision.leader, decision.systems, decision.risk, decision.limit) == ("dense", (), None, None)
    first, wrong, following = decision.sentences
    value = decision.of("dense").value
    ahead = f"{100 * (value - decision.of('bm25').value):.1f} pp ahead of bm25"
    leads = f"By {judge} (not checked by people), dense leads: {value:.3f} nDCG@10, {ahead}, 40 questions."
    assert first == f"{leads} Whether people agree is not known."
    assert wrong.endswith("in 2 of 10 comparisons.")
    assert re.match(r"Next: rankproof serve RESULTS --label 30 \(30 questions at random, about \d+ grades\)\. ", following)
    assert following.endswith(" 30 decide 5 of 10 comparisons of two systems, 3 of 10 of three, 1 of 10 of seven.")


def test_labels_that_the_user_calls_people_s_decide_and_it_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    decision = rp.compare(folder, labels_by="people").decision
    assert (decision.outcome, decision.systems, decision.labels_by) == ("ship", ("dense",), "people")
    said = "The labels of tiny count as people's, because you said so."
    assert decision.sentences[-1] == said
    assert said in printed(capsys, "compare", str(folder), "--labels-by", "people")


def test_a_folder_keeps_whose_labels_the_user_said_they_are(folder: Path, tmp_path: Path) -> None:
    results = load_results(folder)
    believed = replace(results, decision_settings=replace(results.decision_settings, labels_by="people"))
    assert rp.compare(save_results(believed, tmp_path / "kept")).decision.labels_by == "people"


def test_another_word_than_people_is_an_error(folder: Path) -> None:
    with pytest.raises(UsageError, match="labels_by is machines; choose people, or leave it out"):
        rp.compare(folder, labels_by="machines")  # type: ignore[arg-type]


def test_one_machine_judgement_among_those_of_people_is_enough() -> None:
    results = made_folder(SKILLS, n=40)
    assert results.compare().decision.outcome == "ship"
    rows = [Judgement(row.query, row.doc, row.grade) for row in results.qrels.rows()]
    mixed = Qrels([*rows[:-1], rows[-1]._replace(judge_label="llm:tiny:0123abcd")])
    assert replace(results, qrels=mixed).compare().decision.outcome == "judge_leads"


def test_fewer_comparisons_of_answers_than_of_rankings_are_said_to_be_decided_by_thirty_labels() -> None:
    records = {
        name: [{"question": f"question {at}", "answer": text, "contexts": ["Oslo is a city."]} for at in range(40)]
        for name, text in (("good", "Oslo is a city."), ("poor", "Rome burns."))
    }
    decision = rp.compare(rp.evaluate_answers(records, measures=["Faithfulness"])).decision
    assert decision.outcome == "judge_leads"
    assert decision.sentences[-1].endswith(" 30 decide 2 of 10 comparisons of two systems, 100 decide 5 of 10.")


def test_shared_words_with_references_of_people_are_no_judge(tmp_path: Path) -> None:
    answers = {"good": {f"q{at}": "Oslo" for at in range(40)}, "poor": {f"q{at}": "Rome" for at in range(40)}}
    references = {f"q{at}": "Oslo" for at in range(40)}
    for measure in ("EM", "Contains", "F1", "ROUGE-L"):
        decision = rp.compare(rp.evaluate_answers(answers, references, measures=[measure])).decision
        assert (decision.outcome, decision.judge) == ("ship", None)


@pytest.mark.parametrize("place", ["row", "metadata", "log"])
def test_references_that_a_machine_wrote_ship_nothing_wherever_the_file_says_so(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    writer = {"generated_by": "llm:tiny:1"}
    for name, answer in (("good", "right"), ("poor", "wrong")):
        rows = [{"id": f"q{at}", "question": f"What of {at}?", "answer": answer, "contexts": ["x"]} for at in range(40)]
        more = {"reference": "right", **writer} if place == "log" else {}
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row | more) + "\n" for row in rows))
    by_place: dict[str, dict[str, object]] = {"row": {**writer}, "metadata": {"metadata": writer}, "log": {}}
    fields = by_place[place]
    queries = [{"_id": f"q{at}", "text": f"What of {at}?", "answers": ["right"], **fields} for at in range(40)]
    Path("queries.jsonl").write_text("".join(json.dumps(query) + "\n" for query in queries))
    files = ["good.jsonl", "poor.jsonl"] if place == "log" else ["queries.jsonl", "good.jsonl", "poor.jsonl"]
    said = printed(capsys, "answers", *files, "-m", "EM")
    assert said.startswith("By tiny (not checked by people), good leads")
    assert not SAID.search(said)


@pytest.mark.parametrize("field", ["synthesizer_name", "evolution_type"])
def test_references_of_a_generated_test_set_of_ragas_are_a_machines(field: str) -> None:
    def decision(value: str, **options: Any) -> Decision:
        records = {
            name: [{"question": f"What of {at}?", "answer": answer, "reference": "right", field: value} for at in range(40)]
            for name, answer in (("good", "right"), ("poor", "wrong"))
        }
        return rp.compare(rp.evaluate_answers(records, measures="EM"), **options).decision

    by_ragas = decision("simple")
    assert (by_ragas.outcome, by_ragas.judge) == ("judge_leads", "ragas")
    assert decision("").outcome == decision("simple", labels_by="people").outcome == "ship"
