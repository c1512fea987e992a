"""Several judges of the same answers: a decision by all of them with labels of people, and how far two judges are apart."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import rankproof as rp
from rankproof._cli.main import main
from rankproof._results.folder import load_results
from support.chat_server import ChatServer, completion
from support.labelled_results import write_claim_labels
from support.scripted_server import Request, Sent

QUESTIONS = 60
MEASURES = "Faithfulness(judge='first'),Faithfulness(judge='second')"


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Answers of two systems."""
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    paths = []
    for name in ("plain", "wordy"):
        rows = (
            {"id": f"q{at:02}", "question": f"What of {at}?", "answer": f"Cat {at} is {name}.", "contexts": [f"Cats, page {at}."]}
            for at in range(QUESTIONS)
        )
        paths.append(tmp_path / f"{name}.jsonl")
        paths[-1].write_text("".join(json.dumps(row) + "\n" for row in rows))
    return list(map(str, paths))


def is_right(question: int, system: str) -> bool:
    """What people say of an answer."""
    return question % 10 != 0 if system == "plain" else question % 5 == 0


def said(request: Request, *, strict: bool = False) -> Sent:
    """The first judge is right, but never for `plain` if it is strict; the second one says yes to odd questions."""
    text = request.body["messages"][-1]["content"]
    system = "plain" if "is plain" in text else "wordy"
    at = next(at for at in range(QUESTIONS) if f"Cat {at} is" in text)
    yes = is_right(at, system) and not (strict and system == "plain") if request.body["model"] == "first" else at % 2 == 1
    label = re.search(r"^\[(\d+\.\d+)\]", text, re.MULTILINE)
    verdict = {"claim": 1, "evidence": [label[1]] if label else [], "verdict": "supported" if yes else "not_stated"}
    return completion(json.dumps({"verdicts": [verdict]}))


def judged(logs: list[str], folder: Path, *, measures: str = MEASURES, strict: bool = False) -> Path:
    """The answers in a results folder."""
    with ChatServer(lambda request: said(request, strict=strict)) as server:
        options = ["-m", measures, "--base-url", server.address, "--quiet", "-o", str(folder), "--samples", "1000"]
        assert main(["answers", *logs, *options]) == 0
    return folder


@pytest.mark.slow
def test_labels_weigh_all_judges_and_without_labels_no_system_is_shipped(logs: list[str], tmp_path: Path) -> None:
    folder = judged(logs, tmp_path / "results")
    alone = rp.compare(folder, samples=1_000).decision
    assert (alone.reason, alone.judge) == ("judge_not_checked", "first")
    assert not any("Ship" in sentence for sentence in alone.sentences)
    write_claim_labels(
        folder,
        ("plain", "wordy"),
        40,
        lambda claim, _: "supported" if is_right(int(claim.query[1:]), claim.system) else "not_stated",
    )
    decision = rp.compare(folder, samples=1_000).decision
    assert (decision.outcome, decision.systems, decision.labelled) == ("ship", ("plain",), 40)
    assert decision.judge == "1.00 first + 0.00 second"
    assert any(sentence.startswith("1.00 first + 0.00 second counts with weight ") for sentence in decision.sentences)


def test_two_judges_are_compared_on_the_same_answers_by_system(
    logs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = judged(logs, tmp_path / "results")
    (table,) = rp.agreement(str(folder)).tables
    values = {row[3]: row[4] for row in table.rows}
    assert values["plain"] == pytest.approx(0.5 - 0.9)
    assert values["wordy"] == pytest.approx(0.5 - 0.2)
    assert values["all systems"] == pytest.approx(-0.05)
    assert main(["agreement", str(folder)]) == 0
    assert "is -5.0 pp Faithfulness on the same 60 questions, 95% CI [" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_the_drift_of_a_judge_is_measured_on_the_answers_that_did_not_change(
    logs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    april = judged(logs, tmp_path / "april", measures="Faithfulness(judge='first')")
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "other"))
    changed = Path(logs[0])
    changed.write_text(changed.read_text().replace("Cats, page 7.", "Dogs."))
    may = judged(logs, tmp_path / "may", measures="Faithfulness(judge='first')", strict=True)
    (table,) = rp.agreement([str(april), str(may)]).tables
    drift, questions = ({row[3]: row[at] for row in table.rows} for at in (4, 8))
    assert drift["plain"] == pytest.approx(-53 / 59)
    assert drift["wordy"] == 0
    assert (questions["plain"], questions["wordy"]) == (59, 60)
    assert table.sentences[0].startswith("The judges differ: ")
    assert f"{load_results(may).claims[0].judge} in may minus " in table.sentences[0]
    assert table.notes == ("1 answer left out: the other judge saw another answer, or other contexts",)


def test_one_judge_alone_and_folders_with_judgements_are_errors(
    logs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = judged(logs, tmp_path / "results", measures="Faithfulness(judge='first')")
    assert main(["agreement", str(folder)]) == 2
    assert "no two judges have values of the same answers" in capsys.readouterr().err
    (tmp_path / "a.qrels").write_text("q1 0 d1 1\n")
    assert main(["agreement", str(folder), str(tmp_path / "a.qrels")]) == 2
    assert "results folders cannot be mixed with judgements" in capsys.readouterr().err
