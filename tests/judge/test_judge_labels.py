"""Judge labels are read, noted and written by every format that can hold them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rankproof
from rankproof._align import engine, reference
from rankproof._cli.main import main
from rankproof._data.grades import describe_judges
from rankproof._data.qrels import label_of, make_judge_label
from rankproof._evaluation.notes import Note
from rankproof._formats.read import read_qrels
from rankproof._formats.write import write_qrels
from support.native_cases import source_of

HUMAN = b"q1 0 a 1\nq1 0 b 0\nq2 0 a 2\n"
LLM, OTHER, WORDS = "llm:small:0123abcd", "llm:large:ffff0000", "keywords:0.5:77777777"
MIXED = f"q1 0 a 1\nq1 {LLM} b 0\nq2 {LLM} a 2\nq2 {WORDS} c 0\n"
RUN = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 1.0}}


def notes(qrels: Path, **options: object) -> list[Note]:
    result = rankproof.evaluate(str(qrels), {"run": RUN}, "RR", **options)  # type: ignore[arg-type]
    return [note for note in result.notes["run"] if note.code == "machine-judgements"]


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", ["native", "reference"])
def test_both_engines_count_judge_labels_alike(name: str) -> None:
    judge_text = engine.judge_text if name == "native" else reference.judge_text
    assert judge_text(source_of(HUMAN)).judge_labels == {}
    assert judge_text(source_of(MIXED.encode())).judge_labels == {LLM: 2, WORDS: 1}
    assert judge_text(source_of(MIXED.encode()), {"q1"}).judge_labels == {LLM: 1}
    assert judge_text(source_of(f"q {LLM} a 1\nq 0 a 1\n".encode())).judge_labels == {LLM: 1}


@pytest.mark.parametrize(
    "column",
    [
        "0",
        "Q0",
        "q",
        "12",
        "1.5",
        "-",
        "iter",
        "ITER_3",
        "n/a",
        "none",
        "people",
        "expert_4",
        "NIST",
        "ann@example.org",
        "human:claude@2026",
    ],
)
def test_second_columns_of_nobody_and_of_people_are_ignored(column: str) -> None:
    text = f"q {column} a 1\n".encode()
    assert label_of(column) == ""
    assert engine.judge_text(source_of(text)).judge_labels == reference.judge_text(source_of(text)).judge_labels == {}


@pytest.mark.parametrize(
    "column",
    [
        "ll",
        "x",
        "Qwerty",
        "xllm:y",
        "llm-x",
        "llms:y",
        "clicK\u017f:x",
        "alice",
        "commands",
        "gemmata",
        "o1a",
        "ä",
        "human:gpt-4o@T",
    ],
)
def test_a_name_that_says_neither_people_nor_machine_is_unknown(column: str) -> None:
    text = f"q {column} a 1\n".encode()
    assert label_of(column) == ""
    labels = {f"unknown:{column}": 1}
    assert engine.judge_text(source_of(text)).judge_labels == reference.judge_text(source_of(text)).judge_labels == labels


@pytest.mark.parametrize("measure", ["nDCG@10", "alpha_nDCG@10"])
def test_a_judge_with_an_unknown_name_ships_nothing_until_the_user_says_that_people_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], measure: str
) -> None:
    """A measure of subtopics takes the names for those of subtopics."""
    qrels = write(tmp_path / "qrels.txt", "".join(f"q{at} {'acme-grader' if at % 2 else 'other'} d 1\n" for at in range(40)))
    runs = {
        "good": write(tmp_path / "good.run", "".join(f"q{at} 0 d 1 2 t\nq{at} 0 e 2 1 t\n" for at in range(40))),
        "bad": write(tmp_path / "bad.run", "".join(f"q{at} 0 d 2 1 t\nq{at} 0 e 1 2 t\n" for at in range(40))),
    }
    files = [str(qrels), *map(str, runs.values()), "-m", measure]
    assert main(["compare", *files, "--judgements", "complete"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    if measure.startswith("alpha"):
        assert "known: --labels-by" not in shown
        return
    assert shown.startswith("By acme-grader and other (not checked by people), good leads")
    assert "Whether acme-grader and other are machines is not known: --labels-by people if people judged." in shown
    assert "Ship" not in shown
    assert main(["doctor", str(qrels), str(runs["good"])]) == 0
    doctor = " ".join(capsys.readouterr().out.split())
    assert "acme-grader, a person or a machine (20)" in doctor
    assert "unknown:" not in doctor
    assert main(["gate", str(qrels), str(runs["good"]), "-m", measure, "--threshold", f"{measure}>=0.5"]) == 0
    assert "are machines is not known: --labels-by people if people judged." in " ".join(capsys.readouterr().out.split())
    assert main(["compare", *files, "--judgements", "complete", "--labels-by", "people"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith("Ship good")
    assert "The labels of acme-grader and other count as people's, because you said so." in shown


@pytest.mark.parametrize(
    ("column", "label"),
    [
        ("llm", "llm"),
        ("LLM", "llm"),
        ("llm:", "llm"),
        ("LLM:Big:1", "llm:Big:1"),
        ("Keywords:0.5:abc", "keywords:0.5:abc"),
        ("Heuristic", "heuristic"),
        ("CLICKS:x", "clicks:x"),
        ("gpt-4o", "llm:gpt-4o"),
        ("GPT4", "llm:GPT4"),
        ("openai/gpt-4o-mini", "llm:openai/gpt-4o-mini"),
        ("mistral-large", "llm:mistral-large"),
        ("qwen3", "llm:qwen3"),
        ("o3-mini", "llm:o3-mini"),
        ("command-r", "llm:command-r"),
        ("Llama-3.1-70B", "llm:Llama-3.1-70B"),
    ],
)
def test_the_kind_of_a_machine_counts_alone_and_in_capitals(column: str, label: str) -> None:
    text = f"q {column} a 1\n".encode()
    assert label_of(column) == label
    assert engine.judge_text(source_of(text)).judge_labels == reference.judge_text(source_of(text)).judge_labels == {label: 1}


@pytest.mark.parametrize("column", ["llm", "Keywords:0.5:abc"])
def test_judgements_of_a_machine_in_capitals_or_without_a_name_decide_nothing(column: str, tmp_path: Path) -> None:
    queries = [f"q{at}" for at in range(60)]
    qrels = write(tmp_path / "qrels", "".join(f"{query} {column} a 1\n{query} {column} b 0\n" for query in queries))
    runs = {name: {query: [doc] for query in queries} for name, doc in (("one", "a"), ("two", "b"))}
    decision = rankproof.compare(qrels, runs, "P@1", samples=100).decision
    assert (decision.outcome, decision.judge) == ("judge_leads", column.partition(":")[0].lower())


def test_eval_says_how_many_judgements_a_machine_made_and_that_they_are_mixed(tmp_path: Path) -> None:
    assert notes(write(tmp_path / "human", HUMAN.decode())) == []
    (mixed,) = notes(write(tmp_path / "mixed", MIXED))
    assert mixed.count == 3
    assert mixed.text == (
        f"3 of 4 judgements were made by {LLM} (2), {WORDS} (1), 1 by people: human and machine judgements are mixed; "
        "several judges are mixed"
    )
    (alone,) = notes(write(tmp_path / "alone", f"q1 {LLM} a 1\n"))
    assert alone.text == f"1 of 1 judgements were made by {LLM}, none by people"
    (part,) = notes(tmp_path / "mixed", queries=["q1"])
    assert part.text.startswith("1 of 2 judgements were made by")


def test_a_grade_map_hides_no_machine(tmp_path: Path) -> None:
    assert notes(write(tmp_path / "letters", f"q1 {LLM} a E\nq1 0 b I\n"), grade_map={"E": 3, "I": 0})[0].count == 1
    qrels = read_qrels(write(tmp_path / "numbers", MIXED))
    assert rankproof.evaluate(qrels, {"run": RUN}, "RR", grade_map={"2": 3}).notes["run"][-1].code == "machine-judgements"


@pytest.mark.parametrize("verb", ["eval", "compare"])
def test_the_command_line_shows_the_note(verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    qrels = write(tmp_path / "mixed", MIXED)
    runs = [tmp_path / name for name in ("one.run", "two.run")]
    for path in runs:
        path.write_text("q1 Q0 a 1 2.0 t\nq2 Q0 b 1 1.0 t\n")
    assert main([verb, str(qrels), *map(str, runs)]) == 0
    assert "3 of 4 judgements were made by llm:small:0123abcd (2)" in capsys.readouterr().err


def test_the_doctor_reports_judge_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    qrels, run = write(tmp_path / "mixed", MIXED), write(tmp_path / "one.run", "q1 Q0 a 1 2.0 t\nq2 Q0 b 1 1.0 t\n")
    assert main(["doctor", str(qrels), str(run), "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["tables"][0]["rows"]
    assert [(row["count"], row["of"]) for row in rows if row["check"] == "machine-judgements"] == [(3, 4)]


def test_a_beir_file_without_judge_labels_has_three_columns(tmp_path: Path) -> None:
    for text, columns in ((HUMAN.decode(), 3), (MIXED, 4)):
        write_qrels(read_qrels(write(tmp_path / "in", text)), tmp_path / "out.tsv", format="beir")
        assert {len(line.split("\t")) for line in (tmp_path / "out.tsv").read_text().splitlines()} == {columns}


def test_a_judge_label_has_no_white_space_and_no_control_character() -> None:
    assert make_judge_label("llm:", "my model\n\x1b[31m\u2028é", "abc") == "llm:my_model__[31m_é:abc"


def test_a_judge_label_with_escape_codes_is_shown_escaped() -> None:
    assert "\x1b" not in describe_judges({"llm:\x1b[31m:1": 1}, 2)
