"""`rankproof answers` on RAG logs, and the other verbs on what it writes."""

from __future__ import annotations

import csv
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import rankproof as rp
from rankproof._cli.main import main
from rankproof._results.folder import load_results
from rankproof.errors import InputError, UsageError
from support.chat_server import ChatServer, completion
from support.scripted_server import Request, Sent

ANIMALS = (("cats", "purr"), ("dogs", "bark"), ("fish", "swim"), ("birds", "sing"))
ROWS = 40


def row(at: int, *, answer: str | None) -> dict[str, Any]:
    animal, verb = ANIMALS[at % len(ANIMALS)]
    return {
        "question": f"what do {animal} number {at} do?",
        "contexts": [f"Text {at}: {animal} number {at} {verb} when content.", "Stones are hard."],
        "answer": answer,
        "answers": [f"The {animal} number {at} {verb} when content."],
    }


def good(at: int) -> dict[str, Any]:
    return row(at, answer="NO ANSWER" if at % 10 == 0 else f"They {ANIMALS[at % 4][1]} when content.")


def poor(at: int) -> dict[str, Any]:
    return row(at, answer=f"They {ANIMALS[(at + at % 3) % 4][1]}. It is said in the sky.")


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("logs")
    return written(folder / "good.jsonl", [good(at) for at in range(ROWS)]), written(
        folder / "poor.jsonl", [poor(at) for at in range(ROWS)]
    )


@pytest.fixture(scope="module")
def results(logs: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rag") / "out"
    assert main(["answers", *map(str, logs), "-o", str(folder), "--quiet"]) == 0
    return folder


def shown(*arguments: object, capsys: pytest.CaptureFixture[str], code: int = 0) -> tuple[str, str]:
    capsys.readouterr()
    assert main(list(map(str, arguments))) == code
    found = capsys.readouterr()
    return found.out, found.err


def tables(text: str) -> dict[str, dict[str, Any]]:
    return {table["name"]: table for table in json.loads(text)["tables"]}


def means(text: str) -> dict[tuple[str, str], float]:
    return {(one["system"], one["measure"]): one["value"] for one in tables(text)["answer measures"]["rows"]}


def test_the_decision_comes_first_and_the_table_fits_80_columns(
    logs: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out, _ = shown("answers", *logs, capsys=capsys)
    lines = out.splitlines()
    assert lines[0].startswith("By overlap (not checked by people), good leads: ")
    assert max(map(len, lines)) <= 80
    assert "Answers by the judge overlap (baseline), not calibrated: n = 40 questions" in lines
    assert any(line.split()[:3] == ["good", "Faithfulness", "36"] and line.endswith("4 abstained") for line in lines)


def test_a_log_that_names_no_measures_gets_those_that_its_fields_allow(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def names(**changes: Any) -> set[str]:
        rows = [{**good(at), **changes} for at in range(3)]
        return {
            name for _, name in means(shown("answers", written(tmp_path / "a.jsonl", rows), "--format", "json", capsys=capsys)[0])
        }

    assert names() == {"ClaimF1", "ClaimP", "ClaimR", "Faithfulness", "ContextR", "ContextP", "AnswerRate"}
    assert names(contexts=None) == {"ClaimF1", "ClaimP", "ClaimR", "AnswerRate"}
    assert names(answers=None) == {"Faithfulness", "ContextRelevance", "AnswerRate"}
    assert names(answer=None) == {"ContextR", "ContextP"}
    assert "NuggetR" in names(nuggets=["They purr."])


def test_a_log_with_neither_contexts_nor_references_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = written(tmp_path / "a.jsonl", [{"query": "q1", "answer": "Paris"}])
    _, error = shown("answers", log, capsys=capsys, code=2)
    assert "a has neither contexts nor reference answers; add them to the log, or specify the queries first" in error


def test_the_function_gives_the_values_of_the_command(logs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    pd = pytest.importorskip("pandas")
    names = ["Faithfulness", "ContextR", "ClaimF1"]
    out, _ = shown("answers", *logs, "-m", ",".join(names), "--format", "json", capsys=capsys)
    rows = [[json.loads(line) for line in path.read_text().splitlines()] for path in logs]
    for forms in (
        list(map(str, logs)),
        {"good": rows[0], "poor": rows[1]},
        {"good": pd.DataFrame(rows[0]), "poor": logs[1]},
    ):
        found = rp.evaluate_answers(forms, measures=names).means
        assert {
            (system, name.partition("(")[0]): value for system, each in found.items() for name, value in each.items()
        } == means(out)


def test_measures_that_name_a_judge_keep_it_and_the_judge_is_a_column(
    logs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    measures = "Faithfulness,ContextR(judge='overlap')"
    out, _ = shown("answers", logs[0], "-m", measures, "--judge", "wordllama", "--format", "json", capsys=capsys)
    found = {(one["measure"], one["judge"]) for one in tables(out)["answer measures"]["rows"]}
    assert found == {("Faithfulness", "wordllama"), ("ContextR", "overlap (baseline)")}


def test_a_dry_run_estimates_the_calls_and_asks_nothing(logs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    command = ["answers", logs[0], "-m", "Faithfulness,ContextR", "--dry-run", "--format", "json"]
    out, _ = shown(*command, "--judge", "no-such-model", "--base-url", "http://127.0.0.1:9/v1", "--price-in", "1", capsys=capsys)
    (found,) = tables(out)["judge cost"]["rows"]
    assert found["judge"] == "no-such-model"
    assert found["calls"] == 36 + 40
    assert found["tokens in"] > 0
    assert float(found["money"]) > 0
    out, _ = shown(*command, capsys=capsys)
    assert tables(out)["judge cost"]["rows"] == []
    assert tables(out)["judge cost"]["sentences"] == ["No judge calls a language model."]


def test_a_dry_run_counts_the_requests_on_single_cites(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = {"question": "Who?", "contexts": ["Ann.", "Bea.", "Cleo."], "answer": "Ann and Bea [1][2][3]. Cleo [3]."}
    command = ["answers", written(tmp_path / "a.jsonl", [row]), "--judge", "no-such-model", "--base-url", "http://127.0.0.1:9/v1"]
    out, _ = shown(*command, "-m", "CiteP(by='support')", "--dry-run", "--format", "json", capsys=capsys)
    together, alone, without_each = 2, 3, 3
    assert tables(out)["judge cost"]["rows"][0]["calls"] == together + alone + without_each


def test_options_of_a_model_without_a_judge_are_refused(logs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    _, error = shown("answers", logs[0], "--budget", "calls=5", capsys=capsys, code=2)
    assert "--budget is for a judge that calls a model; name one with --judge, or leave out --budget" in error
    _, error = shown("answers", logs[0], "--judge", "", capsys=capsys, code=2)
    assert "--judge has no name; specify one, such as minilm, or leave it out" in error


def test_the_results_folder_has_the_values_claims_and_contexts(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loaded = load_results(results)
    assert loaded.answers is not None
    assert next(iter(loaded.answers.systems[0].measures)) == "ClaimF1(judge='overlap')"
    assert {one.name for one in loaded.system_runs} == {"good", "poor"}
    assert "Stones are hard." in loaded.contexts.values()
    again, _ = shown("answers", results, "--format", "json", capsys=capsys)
    assert means(again)["poor", "Faithfulness"] == loaded.answers.means["poor"]["Faithfulness(judge='overlap')"]


def test_verbs_take_the_measures_of_such_a_folder(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown("compare", results, capsys=capsys)[0].startswith("By overlap (not checked by people), good leads: ")
    assert shown("compare", results, "--labels-by", "people", capsys=capsys)[0].startswith("Ship good: ")
    assert shown("compare", results, "-m", "Faithfulness", capsys=capsys)[0].startswith(
        "By overlap (not checked by people), good "
    )
    assert "unsure (judge not checked)" in shown("gate", results, "--threshold", "Faithfulness>=0.1", capsys=capsys)[0]
    shown("gate", results, "--threshold", "Faithfulness>=0.99", capsys=capsys, code=3)
    assert "Faithfulness" in shown("segments", results, "-m", "Faithfulness", capsys=capsys)[0]
    shown("export", results, "-o", tmp_path / "out.csv", capsys=capsys)
    shown("report", results, "-o", tmp_path / "report.html", capsys=capsys)
    _, error = shown("diagnose", results, "-m", "Faithfulness", capsys=capsys, code=2)
    assert "have no judgements" in error


def test_verbs_without_measures_explain_and_compare_the_first_measure(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = shown("explain", results, capsys=capsys)
    assert out.startswith("ClaimF1(judge='overlap') of good: ")
    assert shown("segments", results, capsys=capsys)[0].startswith("ClaimF1(judge='overlap') by ")
    assert str(rp.explain(str(results))).startswith("Explanation: ClaimF1(judge='overlap') of good: ")
    assert rp.compare(str(results)).primary == "ClaimF1(judge='overlap')"


@pytest.mark.parametrize("verb", ["audit", "baselines", "diagnose", "plot"])
def test_verbs_on_rankings_refuse_results_without_judgements(
    results: Path, verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for options in ([], ["-m", "Faithfulness"]):
        _, error = shown(verb, results, *options, capsys=capsys, code=2)
        assert error.startswith("the results of good, poor have no judgements; grade the rankings: ")


def test_the_column_of_questions_without_a_value_is_shown_if_there_are_any(
    logs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert "no value" in shown("answers", *logs, "-m", "Faithfulness", "--quiet", capsys=capsys)[0]
    assert "no value" not in shown("answers", *logs, "-m", "ContextR", "--quiet", capsys=capsys)[0]


def test_answers_and_compare_print_the_same_p(logs: tuple[Path, Path], results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = tables(shown("answers", *logs, "--format", "json", capsys=capsys)[0])["answer differences"]["rows"]
    compared = rp.compare(str(results))
    assert {one["measure"]: one["p"] for one in found} == {
        name.partition("(")[0]: pair.p for name in compared.measures for pair in compared.against_baseline(name).values()
    }


def test_the_report_has_the_differences_of_the_answers(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    shown("report", results, "-o", page, capsys=capsys)
    assert "Differences from good, missing values counted as the worst" in page.read_text(encoding="utf-8")


def test_logs_are_compared_over_all_questions(logs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    out, _error = shown("compare", *logs, "-m", "Faithfulness,ContextR", "--format", "json", capsys=capsys)
    found = {pair["measure"]: pair["n"] for pair in json.loads(out)["pairs"]}
    assert found == {"Faithfulness(judge='overlap')": 40, "ContextR(judge='overlap')": 40}
    alone = json.loads(shown("compare", *logs, "-m", "ContextR", "--format", "json", capsys=capsys)[0])
    assert alone["pairs"][0]["n"] == 40


def test_compare_asks_no_judge(logs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    _, error = shown("compare", *logs, "-m", "Faithfulness(judge='gpt-x')", capsys=capsys, code=2)
    assert "the verdicts of the judge gpt-x are not known; get them with `rankproof answers … --judge gpt-x -o RESULTS`" in error


def test_contexts_that_are_ids_are_looked_up_in_the_corpus(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path / "corpus.jsonl", [{"_id": "d1", "text": "Cats purr when content."}, {"_id": "d2", "text": "Dogs bark."}])
    by_id = {
        "question": "do cats purr?",
        "retrieved_context_ids": ["d2", "d1"],
        "answer": "Cats purr.",
        "answers": ["Cats purr."],
    }
    in_place = {"question": "do dogs bark?", "contexts": ["d2"], "answer": "Dogs bark.", "answers": ["Dogs bark."]}
    log = written(tmp_path / "a.jsonl", [by_id, in_place])
    command = ["answers", log, "-m", "Faithfulness", "--format", "json"]
    out, _ = shown(*command, "--corpus", tmp_path / "corpus.jsonl", capsys=capsys)
    assert means(out) == {("a", "Faithfulness"): 1.0}
    written(tmp_path / "small.jsonl", [{"_id": "d1", "text": "Cats purr when content."}])
    _, error = shown(*command, "--corpus", tmp_path / "small.jsonl", capsys=capsys, code=2)
    assert "1 context with an id that the corpus does not have, such as d2; specify the corpus" in error


def test_a_context_in_place_that_looks_like_an_id_must_be_in_the_corpus(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = written(tmp_path / "corpus.jsonl", [{"_id": "d1", "text": "Purring."}])
    plain = {"question": "do cats purr?", "answer": "Purring.", "cited": ["made up"]}
    right = written(tmp_path / "a.jsonl", [{**plain, "contexts": ["d1", "Cats purr."]}])
    wrong = written(tmp_path / "b.jsonl", [{**plain, "contexts": ["d1", "d9"]}])
    command = ["-m", "Faithfulness", "--format", "json", "--corpus", corpus]
    assert means(shown("answers", right, *command, capsys=capsys)[0]) == {("a", "Faithfulness"): 1.0}
    _, error = shown("answers", wrong, *command, capsys=capsys, code=2)
    assert "1 context with an id that the corpus does not have, such as d9; specify the corpus" in error


def test_one_json_object_is_no_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"a": 1}), encoding="utf-8")
    _, error = shown("answers", tmp_path / "a.json", capsys=capsys, code=2)
    assert "one object where a list of rows was expected; write [ROW, ROW, …], with rows like" in error


def test_a_log_that_is_specified_twice_is_refused(logs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    for verb in ("answers", "compare"):
        _, error = shown(verb, logs[0], logs[0], "-m", "ClaimF1", capsys=capsys, code=2)
        assert "good.jsonl is specified twice; specify each log once" in error


def test_nuggets_of_a_file_replace_those_of_the_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = written(tmp_path / "a.jsonl", [{**good(at), "_id": f"q{at}", "nuggets": ["Stones are soft."]} for at in range(1, 4)])
    nuggets = [{"query": f"q{at}", "nuggets": [{"text": ANIMALS[at][1], "importance": "vital"}]} for at in range(1, 4)]
    command = ["answers", log, "-m", "NuggetR", "--format", "json"]
    assert means(shown(*command, capsys=capsys)[0]) == {("a", "NuggetR"): 0.0}
    path = written(tmp_path / "nuggets.jsonl", nuggets)
    assert means(shown(*command, "--nuggets", path, capsys=capsys)[0]) == {("a", "NuggetR"): 1.0}
    folder = tmp_path / "out"
    shown("answers", log, "-m", "NuggetR", "-o", folder, capsys=capsys)
    again = ["answers", folder, "--format", "json"]
    assert means(shown(*again, capsys=capsys)[0]) == {("a", "NuggetR"): 0.0}
    assert means(shown(*again, "--nuggets", path, capsys=capsys)[0]) == {("a", "NuggetR"): 1.0}
    assert rp.evaluate_answers(folder, nuggets=path).means == {"a": {"NuggetR(judge='overlap')": 1.0}}
    with pytest.raises(UsageError, match="results have their own corpus; leave out corpus"):
        rp.evaluate_answers(folder, corpus={"d1": "x"})
    written(path, [{"query": "q9", "nuggets": [{"text": "x"}]}])
    _, error = shown(*command, "--nuggets", path, capsys=capsys, code=2)
    assert "nuggets of 1 unknown question, such as q9" in error


def test_a_broken_log_is_refused_with_file_and_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(good(1)) + "\n{broken\n")
    _, error = shown("answers", path, capsys=capsys, code=2)
    assert "a.jsonl:2:2: not JSON" in error
    with pytest.raises(InputError, match=r"a\.jsonl:2:2: not JSON"):
        rp.evaluate_answers(path)


def test_queries_with_a_question_and_an_answer_are_no_log_beside_answers_to_their_ids(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    queries = written(tmp_path / "q.jsonl", [{"_id": "q1", "question": "The capital?", "answer": "Paris"}])
    answers = written(tmp_path / "a.jsonl", [{"query": "q1", "answer": "Paris"}])
    out, _ = shown("answers", queries, answers, "-m", "EM", "--format", "json", capsys=capsys)
    assert means(out) == {("a", "EM"): 1.0}


def test_systems_of_logs_are_renamed(logs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = shown("answers", *logs, "--name", "new", "--name", "old", "-m", "Faithfulness", "--format", "json", capsys=capsys)
    assert {system for system, _ in means(out)} == {"new", "old"}
    _, error = shown("answers", *logs, "--name", "new", capsys=capsys, code=2)
    assert "1 names for 2 systems" in error


def test_a_run_measures_claims_by_overlap_from_the_texts_of_the_corpus(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    toml = tmp_path / "e.toml"
    toml.write_text(
        'measures = ["nDCG@10", "Faithfulness", "ContextR"]\n[systems.bm25]\nstage = "bm25"\n'
        '[systems.extract]\nstage = "extract"\nof = "bm25"\ntop = 2\n'
    )
    assert main(["run", str(toml), "-o", str(tmp_path / "out"), "--no-cache", "--quiet", "--no-report"]) == 0
    loaded = load_results(tmp_path / "out")
    assert loaded.answers is not None
    assert loaded.answers.means["extract"]["Faithfulness(judge='overlap')"] == 1.0
    out, _ = shown("answers", tmp_path / "out", "-m", "ContextRelevance", "--format", "json", capsys=capsys)
    assert 0 < means(out)["extract", "ContextRelevance"] < 1


def test_a_run_refuses_a_judge_that_it_does_not_ask(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    systems = '[systems.bm25]\nstage = "bm25"\n[systems.extract]\nstage = "extract"\nof = "bm25"\n'
    (tmp_path / "e.toml").write_text(f"measures = [\"Faithfulness(judge='gpt-x')\"]\n{systems}")
    _, error = shown("run", tmp_path / "e.toml", "-o", tmp_path / "out", "--no-cache", capsys=capsys, code=2)
    assert "a run measures claims by overlap alone; ask the judge after the run: rankproof answers RESULTS -m " in error
    assert shlex.split(error.strip().splitlines()[-1])[-1] == "Faithfulness(judge='gpt-x')"


def test_chunks_of_two_sizes_with_one_id_have_no_text(tmp_path: Path) -> None:
    stages = rp.stages
    systems = {
        f"chunks-{size}": stages.Chunked(stages.ExtractAnswer(stages.BM25(), top=2), size=size, overlap=0) for size in (15, 40)
    }
    found = rp.run(rp.Experiment(systems, dataset="sample", measures=["Faithfulness"]), rp.types.RunOptions(cache=None))
    assert any("other texts in two systems" in note for note in found.notes)
    alone = rp.run(
        rp.Experiment({"chunks": systems["chunks-15"]}, dataset="sample", measures=["Faithfulness"]),
        rp.types.RunOptions(cache=None),
    )
    assert alone.answers is not None
    assert alone.answers.means["chunks"]["Faithfulness(judge='overlap')"] == 1.0
    assert all(len(text.split()) <= 40 for text in alone.contexts.values())


def test_what_is_no_log_is_refused_in_python() -> None:
    with pytest.raises(UsageError, match="answers cannot be an int; pass RAG logs"):
        rp.evaluate_answers(5)


def verdicts(request: Request) -> Sent:
    """Supports every claim by the first sentence of the first source."""
    text = request.body["messages"][-1]["content"]
    claims = len(set(re.findall(r"^\[claim (\d+)", text, re.MULTILINE))) or 1
    found = [{"claim": n, "evidence": ["1.1"], "verdict": "supported"} for n in range(1, claims + 1)]
    return completion(json.dumps({"verdicts": found}))


def test_a_language_model_is_asked_once_within_its_budget_and_its_verdicts_are_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("httpx")
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))
    log = written(tmp_path / "a.jsonl", [good(at) for at in range(1, 4)])
    out = tmp_path / "out"
    with ChatServer(verdicts) as server:
        model = ["--judge", "loopback", "--base-url", server.address, "--api-key-env", "", "--format", "json"]
        command = ["answers", log, "-m", "Faithfulness", *model]
        shown(*command, "--budget", "calls=1", "--concurrency", "1", capsys=capsys, code=1)
        found, _ = shown(*command, "-o", out, capsys=capsys)
        assert means(found) == {("a", "Faithfulness"): 1.0}
        assert len(server.requests) == 3
    labels = {one.judge for one in load_results(out).claims}
    assert len(labels) == 1
    assert labels.pop().startswith("llm:loopback:")
    again, _ = shown("answers", out, "--format", "json", capsys=capsys)
    assert means(again) == {("a", "Faithfulness"): 1.0}


def test_failed_verdicts_have_no_value_and_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("httpx")
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))
    log = written(tmp_path / "a.jsonl", [good(at) for at in range(1, 5)])

    def reply(request: Request) -> Sent:
        return completion("no") if "number 2 " in request.body["messages"][-1]["content"] else verdicts(request)

    with ChatServer(reply) as server:
        model = ["--judge", "loopback", "--base-url", server.address, "--api-key-env", ""]
        out, _ = shown("answers", log, "-m", "Faithfulness", *model, "--format", "json", "-o", tmp_path / "out", capsys=capsys)
        asked, server.answer = len(server.requests), verdicts
        cache = ["--cache", tmp_path / "other"]
        again, _ = shown("answers", tmp_path / "out", *model, *cache, "--format", "json", capsys=capsys)
        assert len(server.requests) == asked + 1
    (healed,) = tables(again)["answer measures"]["rows"]
    assert (healed["n"], healed["value"]) == (4, 1.0)
    (found,) = tables(out)["answer measures"]["rows"]
    assert (found["n"], found["value"], found["no value"]) == (3, 1.0, "1 failed")
    assert tables(out)["answer measures"]["sentences"] == [
        "a: Faithfulness is between 0.750 and 1.000, with 1 failed question at 0 or at 1."
    ]
    judged = "Faithfulness(judge='loopback')"
    _, notes = shown("gate", tmp_path / "out", "--threshold", f"{judged}>=0.9", capsys=capsys)
    assert "1 query has no value, because the judge failed; bounds of the mean with them:" in notes


@pytest.fixture(scope="module")
def judged_results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Results of two systems by one judge that supports nothing, and by this one and the overlap of words."""
    pytest.importorskip("httpx")
    folder = tmp_path_factory.mktemp("judged")
    logs = [written(folder / f"{name}.jsonl", [make(at) for at in range(1, 9)]) for name, make in (("a", good), ("b", poor))]

    def nothing(request: Request) -> Sent:
        listed = request.body["messages"][-1]["content"].partition("<<<claims>>>\n")[2].partition("\n<<<end of claims>>>")[0]
        claims = len(listed.splitlines())
        each = [{"claim": at, "evidence": [], "verdict": "not_stated"} for at in range(1, claims + 1)]
        return completion(json.dumps({"verdicts": each}))

    with ChatServer(nothing) as server:
        model = ["--base-url", server.address, "--api-key-env", "", "--cache", str(folder / "cache"), "--quiet"]
        for name, measures in (
            ("one", "Faithfulness(judge='loopback')"),
            ("two", "Faithfulness(judge='loopback'),Faithfulness"),
            ("other", "Faithfulness(judge='elsewhere')"),
        ):
            command = ["answers", *map(str, logs), "-m", measures, *model, "-o", str(folder / name)]
            assert main(command) == 0
    return {name: folder / name for name in ("one", "two", "other")}


def test_a_measure_without_a_judge_has_the_judge_of_the_results_in_every_command(
    judged_results: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, full, baseline = judged_results["one"], "Faithfulness(judge='loopback')", tmp_path / "b.json"
    out, _ = shown("gate", one, "--threshold", "Faithfulness>=0.1", capsys=capsys)
    assert full in out
    shown("gate", one, "--threshold", "Faithfulness(judge='overlap')>=0.1", capsys=capsys)
    shown("gate", one, "-m", "Faithfulness", "--save", baseline, capsys=capsys)
    required = ["--baseline", baseline, "--primary", "Faithfulness", "--max-drop", "Faithfulness=0.1"]
    assert full in shown("gate", one, *required, capsys=capsys)[0]
    for command in (
        ["compare", one, "-m", "Faithfulness"],
        ["compare", one, "--primary", "Faithfulness"],
        ["explain", one, "-m", "Faithfulness"],
        ["segments", one, "-m", "Faithfulness", "--by", "length"],
        ["answers", one, "-m", "Faithfulness"],
    ):
        out, _ = shown(*command, "--format", "json", capsys=capsys)
        assert "loopback" in out
        assert "overlap" not in out


def test_a_measure_without_a_judge_has_the_judge_of_the_results_in_every_function(judged_results: dict[str, Path]) -> None:
    one, full = judged_results["one"], "Faithfulness(judge='loopback')"
    for named in ("Faithfulness", "Faithfulness(judge='overlap')"):
        gate = rp.gate(one, thresholds=f"{named}>=0.1")
        assert {check.measure for check in gate.checks} == {f"{named if 'judge' in named else full} >= 0.1"}
    for measure in ("Faithfulness", rp.parse_measure("Faithfulness"), full):
        assert rp.compare(one, measures=measure).measures == (full,)
        assert rp.compare(one, primary=measure).primary == full
        assert rp.compare({"x": one, "y": one}, measures=measure).measures == (full,)
        found = rp.evaluate_answers(one, measures=measure)
        assert list(found.systems[0].measures) == [full]
        assert found.value(measure, "a") == 0.0
    assert full in str(rp.segments(one, measures="Faithfulness", by="length"))
    assert full in str(rp.explain(one, measures="Faithfulness"))


def test_a_measure_without_a_judge_is_refused_if_the_results_have_several(
    judged_results: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    two, one, other = (judged_results[name] for name in ("two", "one", "other"))
    told = "the results have several judges, and Faithfulness names none; write one of: "
    both = "Faithfulness(judge='loopback'), Faithfulness(judge='overlap')"
    for command in (
        ["gate", two, "--threshold", "Faithfulness>=0.1"],
        ["compare", two, "-m", "Faithfulness"],
        ["explain", two, "-m", "Faithfulness"],
        ["segments", two, "-m", "Faithfulness"],
        ["answers", two, "-m", "Faithfulness"],
    ):
        assert told + both in shown(*command, capsys=capsys, code=2)[1]
    _, error = shown("compare", one, other, "-m", "Faithfulness", capsys=capsys, code=2)
    assert told + "Faithfulness(judge='loopback'), Faithfulness(judge='elsewhere')" in error
    with pytest.raises(UsageError, match="several judges"):
        rp.compare([one, other], measures="Faithfulness")
    for name in both.split(", "):
        assert name in shown("compare", two, "-m", name, "--format", "json", capsys=capsys)[0]


def test_verdicts_that_all_failed_end_with_1_after_saving_and_the_same_command_asks_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("httpx")
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))
    log = written(tmp_path / "a.jsonl", [good(at) for at in range(1, 5)])
    with ChatServer(lambda request: completion("no")) as server:
        model = ["--judge", "loopback", "--base-url", server.address, "--api-key-env", "", "--format", "json"]
        command = ["answers", log, "-m", "Faithfulness", *model, "-o", tmp_path / "out"]
        _, error = shown(*command, code=1, capsys=capsys)
        assert "4 verdicts failed (no JSON object); run the same command again: failed verdicts are requested again" in error
        assert {one.verdict for one in load_results(tmp_path / "out").claims} == {"failed"}
        asked, server.answer = len(server.requests), verdicts
        found, _ = shown(*command, capsys=capsys)
        assert means(found) == {("a", "Faithfulness"): 1.0}
        assert len(server.requests) == asked + 4
        shown(*command, capsys=capsys)
        assert len(server.requests) == asked + 4


def test_the_gate_fails_if_a_question_of_the_baseline_has_no_value(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [good(at) for at in range(1, 9)]
    for name, found in (
        ("old", rows),
        ("new", [*rows[:-1], {**rows[-1], "answer": None}]),
        ("none", [{**rows[0], "answer": "…"}]),
    ):
        (tmp_path / name).mkdir()
        log = written(tmp_path / name / "a.jsonl", found)
        shown("answers", log, "-m", "Faithfulness", "-o", tmp_path / name / "out", capsys=capsys)
    old, new, none = (tmp_path / name / "out" for name in ("old", "new", "none"))
    _, notes = shown("gate", old, "-m", "Faithfulness", "--save", tmp_path / "baseline.json", capsys=capsys)
    assert "no results" not in notes
    shown("gate", old, "--baseline", tmp_path / "baseline.json", capsys=capsys)
    out, _ = shown("gate", new, "--baseline", tmp_path / "baseline.json", capsys=capsys, code=3)
    assert "1 of 8 queries of the baseline are missing" in out
    out, _ = shown("gate", none, "--threshold", "Faithfulness>=0", capsys=capsys, code=3)
    assert "has no value (n = 0) and misses the threshold" in " ".join(out.split())


def test_a_baseline_of_answers_alone_has_their_measures_and_the_first_is_primary(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [good(at) if at % 3 else {**good(at), "answers": None} for at in range(1, 13)]
    old, saved, named = tmp_path / "old", tmp_path / "b.json", "ClaimF1(judge='overlap'), Faithfulness(judge='overlap')"
    log = written(tmp_path / "a.jsonl", rows)
    shown("answers", log, "-m", "ClaimF1,Faithfulness", "-o", old, capsys=capsys)
    _, notes = shown("gate", old, "--save", saved, capsys=capsys)
    assert f"saved a with {named} on 12 queries" in " ".join(notes.split())
    shown("gate", old, "--baseline", saved, capsys=capsys)
    worse = written(tmp_path / "worse.jsonl", [{**one, "answer": "Nothing of the kind is known."} for one in rows])
    shown("answers", worse, "-m", "ClaimF1,Faithfulness", "-o", tmp_path / "new", capsys=capsys)
    out, _ = shown("gate", tmp_path / "new", "--baseline", saved, "--unsure", "fail", capsys=capsys, code=3)
    assert "unsure: worse: ClaimF1(judge='overlap') fell" in " ".join(out.split())
    assert "passed: worse: Faithfulness(judge='overlap') fell" in " ".join(out.split())


def test_the_values_of_evaluate_answers_are_saved_as_a_baseline(tmp_path: Path) -> None:
    log = written(tmp_path / "a.jsonl", [good(at) for at in range(1, 9)])
    values = rp.evaluate_answers(log, measures=["Faithfulness", "ClaimF1"])
    named, saved = "Faithfulness(judge='overlap'), ClaimF1(judge='overlap')", tmp_path / "b.json"
    assert rp.gate(values, save=saved).notes[-2].endswith(f"saved a with {named} on 8 queries")
    checked = rp.gate(values, baseline=saved)
    assert checked.outcome == "unsure"
    assert [check.measure for check in checked.checks if check.change and not check.change.exploratory] == [named.split(", ")[0]]
    assert rp.gate(values, baseline=values).outcome == "unsure"


def with_reference(made: dict[str, Any], *, first: bool) -> dict[str, Any]:
    """The row with its first context as the reference context, which is given first or second."""
    contexts = made["contexts"]
    return {**made, "contexts": contexts if first else contexts[::-1], "reference_contexts": contexts[:1]}


@pytest.fixture(scope="module")
def ranked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of two logs with reference contexts: RR@10 is 1 in one and 0.5 in the other."""
    folder = tmp_path_factory.mktemp("ranked")
    high = written(folder / "high.jsonl", [with_reference(good(at), first=True) for at in range(12)])
    low = written(folder / "low.jsonl", [with_reference(poor(at), first=False) for at in range(12)])
    assert main(["answers", str(high), str(low), "-m", "F1,EM", "-o", str(folder / "out"), "--quiet"]) == 0
    return folder / "out"


def test_rankings_of_logs_are_stored_and_every_command_gives_the_same_values(
    ranked: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown("report", ranked, "-o", tmp_path / "page.html", capsys=capsys)
    page = (tmp_path / "page.html").read_text("utf-8").replace("\N{NO-BREAK SPACE}", " ")
    findings = json.loads((ranked / "answers.json").read_text())["findings"]
    assert "Retrieval: high has the highest RR@10, 1.000 (n = 12)." in findings
    assert findings[0] in page
    assert "generation is the bottleneck" in page
    assert "retrieval is the bottleneck" not in page
    out, _ = shown("compare", ranked, "-m", "RR@10", "--format", "json", capsys=capsys)
    assert json.loads(out)["values"] == {"high": {"RR@10": 1.0}, "low": {"RR@10": 0.5}}
    runs = [ranked / "runs" / f"{name}.trec.gz" for name in ("high", "low")]
    out, _ = shown("eval", ranked / "qrels.tsv", *runs, "-m", "RR@10", "--format", "json", capsys=capsys)
    assert [system["measures"]["RR@10"]["value"] for system in json.loads(out)["systems"]] == [1.0, 0.5]
    shown("gate", ranked, "--threshold", "RR@10>=0.5", capsys=capsys)
    out, _ = shown("gate", ranked, "--threshold", "RR@10>=0.6", capsys=capsys)
    assert "low: RR@10 is 0.5000" in out
    out, _ = shown("export", ranked, "-m", "RR@10", capsys=capsys)
    assert "system,measure,low,,RR@10,0.5\n" in out
    for command, value in (
        ("explain", "RR@10 of high: 1.0000"),
        ("segments", "RR@10 by length: no segment was tested"),
        ("diagnose", "high"),
    ):
        arguments = [] if command == "diagnose" else ["-m", "RR@10"]
        assert value in shown(command, ranked, *arguments, capsys=capsys)[0]
    assert rp.compare(ranked, measures="RR@10").values == {"high": {"RR@10": 1.0}, "low": {"RR@10": 0.5}}
    assert rp.compare(ranked).primary == "F1(tokens='bag')"


def test_rankings_that_are_not_stored_are_never_scored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [with_reference(good(at), first=True) for at in range(1, 9)]
    log = written(tmp_path / "a.jsonl", [*rows[:-1], {**rows[-1], "contexts": None}])
    shown("answers", log, "-m", "F1,EM", "-o", tmp_path / "out", capsys=capsys)
    results = load_results(tmp_path / "out")
    assert results.qrels
    assert results.system_runs[0].stored_run is None
    assert json.loads((tmp_path / "out" / "result.json").read_text())["systems"][0]["run"]["file"] is None
    told = "the rankings of a are not stored; log the contexts of every answer, and run `rankproof answers LOG -o FOLDER` again"
    for command in (
        ["compare", "-m", "RR@10"],
        ["gate", "--threshold", "RR@10>=0.5"],
        ["explain", "-m", "RR@10"],
        ["segments", "-m", "RR@10"],
        ["export", "-m", "RR@10"],
        ["diagnose"],
        ["audit"],
        ["baselines"],
        ["stability"],
        ["judge", "--by", "keywords"],
    ):
        assert told in " ".join(shown(command[0], tmp_path / "out", *command[1:], capsys=capsys, code=2)[1].split())
    shown("report", tmp_path / "out", "-o", tmp_path / "page.html", capsys=capsys)
    assert "bottleneck" not in (tmp_path / "page.html").read_text("utf-8")
    with pytest.raises(UsageError, match="are not stored"):
        rp.compare(tmp_path / "out", measures="RR@10")


def test_the_table_of_queries_has_the_values_of_answers(ranked: Path) -> None:
    with (ranked / "per_query.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    answers = load_results(ranked).answers
    assert answers is not None
    assert len(rows) == 24
    for name in ("F1(tokens='bag')", "EM"):
        stored = {system.name: system.measures[name].per_query for system in answers.systems}
        assert {(one["system"], one["query"]): float(one[name]) for one in rows if one[name]} == {
            (system, query): value for system, values in stored.items() for query, value in values.items()
        }
    assert {one["first_relevant"] for one in rows if one["system"] == "low"} == {"2"}


def test_the_result_of_evaluated_answers_is_compared_as_the_command_does(
    logs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, _ = shown("answers", *logs, "--format", "json", capsys=capsys)
    result = rp.evaluate_answers(list(map(str, logs)))
    found = result.compare()
    assert next(iter(tables(out).values()))["sentences"][:2] == list(found.decision.sentences[:2])
    assert found.decision.sentences[2].startswith("Next: rankproof answers LOG… -o RESULTS, then rankproof serve RESULTS")
    assert found.primary == "ClaimF1(judge='overlap')"
    assert result.compare(measures="Faithfulness").measures == ("Faithfulness(judge='overlap')",)
    assert result.compare(primary="ContextR").primary == "ContextR(judge='overlap')"
    with pytest.raises(UsageError, match="EM was not evaluated; choose from: ClaimF1"):
        result.compare(measures="EM")
    references = {f"q{at}": "they purr" for at in range(12)}
    answers = {name: dict.fromkeys(references, f"they {verb}") for name, verb in (("one", "purr"), ("two", "bark"))}
    assert rp.evaluate_answers(answers, references).compare().primary == "F1(tokens='bag')"
    assert rp.evaluate_answers(answers, references, measures=["EM", "F1"]).compare().primary == "EM"


@pytest.mark.parametrize("judge", [("minilm",), 5])
def test_a_judge_that_is_no_name_is_refused(judge: Any) -> None:
    with pytest.raises(UsageError, match=r"judge is an? (tuple|int); pass text"):
        rp.evaluate_answers([good(1)], measures=["Faithfulness"], judge=judge)


def test_unknown_contexts_are_not_said_to_score_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = written(tmp_path / "a.jsonl", [good(1), {**good(2), "contexts": None}])
    out, notes = shown("answers", log, "-m", "Faithfulness,ContextR", "--format", "json", capsys=capsys)
    assert {one["no value"] for one in tables(out)["answer measures"]["rows"]} == {"1 no contexts"}
    assert "scores 0" not in notes


def test_a_system_without_rankings_for_null_contexts_is_named_with_its_first_such_query(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"id": f"q{at}", **good(at)} for at in range(6)]
    note = "log: no rankings, as the contexts of 1 of 6 queries are null, first q3; write [] where nothing was retrieved"
    for contexts, is_ranked in ((None, False), ([], True)):
        rows[3]["contexts"] = contexts
        log, folder = written(tmp_path / "log.jsonl", rows), tmp_path / f"ranked {is_ranked}"
        _, err = shown("answers", log, "-m", "Faithfulness(judge='overlap')", "-o", folder, capsys=capsys)
        stored = load_results(folder)
        assert (stored.system_runs[0].stored_run is not None) == is_ranked
        assert (note in err) != is_ranked
        assert (note in stored.notes) != is_ranked
