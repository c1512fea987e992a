"""RAG logs in the columns of ragas: both schemas, several logs, and what a log cannot give."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from rankproof._cli.main import main
from rankproof._data.validation import made_id
from rankproof._importers.base import Imported, ImportOptions
from rankproof._importers.folder import next_commands
from rankproof._importers.registry import import_source, read_dataset
from rankproof.errors import InputError

PURR, BARK, SWIM = "Cats purr when content.", "Dogs bark.", "Fish swim."


def jsonl(path: Path, *rows: dict[str, Any]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def sample(question: str, retrieved: list[str] | None, **more: Any) -> dict[str, Any]:
    return {"user_input": question, "retrieved_contexts": retrieved, **more}


def doc(text: str) -> str:
    return made_id("document", ["", text])


def query(text: str) -> str:
    return made_id("query", [text])


def rankings(imported: Imported, system: str) -> dict[str, list[str]]:
    run = imported.runs[system]
    found: dict[str, list[str]] = {key: [] for key in run.queries}
    for row in sorted(run.rows(), key=lambda row: -row.score):
        found[row.query].append(row.doc)
    return found


def reasons(imported: Imported) -> dict[str, list[str]]:
    return {count.part: [str(one) for one in count.dropped] for count in imported.report.counts if count.dropped}


def test_a_log_gives_documents_a_run_judgements_answers_and_references(tmp_path: Path) -> None:
    row = sample("do cats purr", [BARK, PURR], reference_contexts=[PURR], response="They do.", reference="Yes")
    imported = import_source(jsonl(tmp_path / "prod.jsonl", row))
    assert {one.text for one in imported.dataset.corpus.values()} == {PURR, BARK}
    assert rankings(imported, "prod") == {query("do cats purr"): [doc(BARK), doc(PURR)]}
    assert {key: dict(grades) for key, grades in imported.dataset.qrels.items()} == {query("do cats purr"): {doc(PURR): 1}}
    answer = imported.answers["prod"][query("do cats purr")]
    assert (answer.text, answer.given) == ("They do.", (doc(BARK), doc(PURR)))
    assert imported.dataset.queries[query("do cats purr")].fields["answers"] == ["Yes"]


def test_the_columns_before_version_02_are_read_too(tmp_path: Path) -> None:
    row = {"question": "do cats purr", "contexts": [PURR], "answer": "They do.", "ground_truth": "Yes"}
    imported = import_source(jsonl(tmp_path / "old.jsonl", row))
    assert rankings(imported, "old") == {query("do cats purr"): [doc(PURR)]}
    assert imported.dataset.queries[query("do cats purr")].fields["answers"] == ["Yes"]
    assert not imported.dataset.qrels
    assert imported.report.columns["retrieved contexts"] == "contexts"


def test_the_contexts_of_an_old_test_set_are_reference_contexts(tmp_path: Path) -> None:
    row = {"question": "do cats purr", "contexts": [PURR], "ground_truth": "Yes", "evolution_type": "simple"}
    imported = import_source(jsonl(tmp_path / "testset.jsonl", row))
    assert not imported.runs
    assert dict(imported.dataset.qrels[query("do cats purr")]) == {doc(PURR): 1}
    assert imported.dataset.queries[query("do cats purr")].fields["evolution_type"] == "simple"


def test_a_csv_file_as_ragas_writes_it_gives_the_same_as_jsonl(tmp_path: Path) -> None:
    rows = [
        sample(
            "do cats, and dogs, purr",
            [PURR, 'He said "no".\nAnd left.'],
            reference_contexts=[PURR],
            response="Yes",
            reference="Yes",
        ),
        sample("do dogs bark", [], reference_contexts=[BARK], response="Yes", reference="Yes"),
    ]
    with (tmp_path / "b.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    from_csv = import_source(str(tmp_path / "b.csv"))
    from_jsonl = import_source(jsonl(tmp_path / "b.jsonl", *rows))
    assert from_csv.dataset.fingerprint() == from_jsonl.dataset.fingerprint()
    assert rankings(from_csv, "b") == rankings(from_jsonl, "b")


def test_a_parquet_file_and_a_frame_give_the_same_as_jsonl(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    rows = [
        sample("do cats purr", [PURR, BARK], reference_contexts=[PURR], response="Yes", reference="Yes"),
        sample("do dogs bark", [BARK], reference_contexts=None, response=None, reference=None),
    ]
    frame = pd.DataFrame(rows)
    frame.to_parquet(tmp_path / "b.parquet")
    expected = import_source(jsonl(tmp_path / "b.jsonl", *rows)).dataset.fingerprint()
    assert import_source(str(tmp_path / "b.parquet")).dataset.fingerprint() == expected
    assert import_source(frame).dataset.fingerprint() == expected
    assert import_source(pd.read_parquet(tmp_path / "b.parquet")).dataset.fingerprint() == expected


@pytest.mark.parametrize("orient", ["list", "index"])
def test_json_by_columns_gives_the_same_as_jsonl(tmp_path: Path, orient: str) -> None:
    rows = [sample("do cats purr", [PURR, BARK], response="Yes"), sample("do dogs bark", [BARK], response=None)]
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in rows[0]}
    if orient == "index":
        columns = {name: {str(at): one for at, one in enumerate(values)} for name, values in columns.items()}
    (tmp_path / "b.json").write_text(json.dumps(columns, indent=1))
    imported = import_source(str(tmp_path / "b.json"))
    assert imported.dataset.fingerprint() == import_source(jsonl(tmp_path / "b.jsonl", *rows)).dataset.fingerprint()
    columns["retrieved_contexts"]["1" if orient == "index" else 1] = 5
    (tmp_path / "b.json").write_text(json.dumps(columns, indent=1))
    with pytest.raises(InputError, match=r"b\.json:4: retrieved_contexts is a number, not a list"):
        import_source(str(tmp_path / "b.json"))


def test_several_logs_are_several_systems_over_the_union_of_their_questions(tmp_path: Path) -> None:
    first = jsonl(tmp_path / "a.jsonl", sample("do cats purr", [PURR], reference_contexts=[PURR]))
    second = jsonl(
        tmp_path / "b.jsonl", sample("do cats purr ", [BARK]), sample("do dogs bark", [BARK], reference_contexts=[BARK])
    )
    imported = import_source([first, second])
    assert [one.text for one in imported.dataset.queries.values()] == ["do cats purr", "do dogs bark"]
    assert set(imported.dataset.qrels) == {query("do cats purr"), query("do dogs bark")}
    assert rankings(imported, "b") == {query("do cats purr"): [doc(BARK)], query("do dogs bark"): [doc(BARK)]}
    assert "a has no row for 1 question of the other logs; it counts as missing" in imported.report.notes


def test_logs_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    for folder in ("old", "new"):
        (tmp_path / folder).mkdir()
        jsonl(tmp_path / folder / "log.jsonl", sample("do cats purr", [PURR]))
    imported = import_source([str(tmp_path / "old" / "log.jsonl"), str(tmp_path / "new" / "log.jsonl")])
    assert list(imported.runs) == ["old-log", "new-log"]


def test_other_references_of_a_question_in_another_log_are_noted_and_all_count(tmp_path: Path) -> None:
    first = jsonl(tmp_path / "a.jsonl", sample("do cats purr", [PURR], reference="Yes", reference_contexts=[PURR]))
    second = jsonl(tmp_path / "b.jsonl", sample("do cats purr", [PURR], reference="They do", reference_contexts=[BARK]))
    imported = import_source([first, second])
    assert imported.dataset.queries[query("do cats purr")].fields["answers"] == ["Yes", "They do"]
    assert dict(imported.dataset.qrels[query("do cats purr")]) == {doc(PURR): 1, doc(BARK): 1}
    assert any("1 question with other reference answers in another row" in note for note in imported.report.notes)
    assert any("1 question with other reference contexts in another row" in note for note in imported.report.notes)


@pytest.mark.parametrize("column", ["reference", "reference_contexts"])
def test_logs_with_references_of_their_own_are_an_error(tmp_path: Path, column: str) -> None:
    def log(name: str, reference: Callable[[int], str]) -> str:
        value = {at: [reference(at)] if column == "reference_contexts" else reference(at) for at in range(40)}
        rows = [{**sample(f"question {at}", [PURR]), column: value[at]} for at in range(40)]
        return jsonl(tmp_path / f"{name}.jsonl", *rows)

    first = log("first", lambda at: f"text {at}")
    second = log("second", lambda at: f"text {at}" if at else "another")
    assert import_source([first, second]).runs
    third = log("third", lambda at: f"text {at}" if at > 1 else "another")
    what = "reference answers" if column == "reference" else "reference contexts"
    with pytest.raises(InputError, match=f"the logs first and third have different {what} for 2 questions, such as"):
        import_source([first, third])
    rows = [json.loads(line) for line in Path(third).read_text(encoding="utf-8").splitlines()]
    without = [{name: value for name, value in row.items() if name != column} for row in rows]
    assert import_source([first, jsonl(tmp_path / "fourth.jsonl", *without)]).runs


def logs_of_two(folder: Path, *, stating: Sequence[str], own: int) -> list[str]:
    """Two logs of 40 questions: the answers of "old" are right, and `own` references of "new" are its own wrong answers."""
    rows = range(40)
    old = [{"question": f"question {at}", "answer": f"text {at}", "reference": f"text {at}"} for at in rows]
    new = [
        {"question": f"question {at}", "answer": f"other {at}", "reference": f"Other, {at}!" if at < own else f"text {at}"}
        for at in rows
    ]
    for name, log in {"old": old, "new": new}.items():
        if name not in stating:
            for row in log:
                del row["reference"]
    return [jsonl(folder / "old.jsonl", *old), jsonl(folder / "new.jsonl", *new)]


def test_references_of_one_log_alone_that_are_its_own_answers_are_an_error(tmp_path: Path) -> None:
    message = "the log of new alone, which equal 80% of the answers of new and 20% of the answers of old: they may be its own"
    with pytest.raises(InputError, match=message) as raised:
        import_source(logs_of_two(tmp_path, stating=["new"], own=32))
    assert "check which are right, and give them in a file of their own" in str(raised.value)
    assert import_source(logs_of_two(tmp_path, stating=["new"], own=20)).answers


def test_references_that_equal_the_answers_of_one_system_count_if_they_have_a_file_of_their_own(tmp_path: Path) -> None:
    files = logs_of_two(tmp_path, stating=[], own=0)
    gold = jsonl(tmp_path / "gold.jsonl", *({"question": f"question {at}", "reference": f"other {at}"} for at in range(40)))
    assert list(import_source([*files, gold]).answers) == ["old", "new"]


def test_logs_with_other_references_ask_which_file_is_right(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="check which file has the right ones, and remove reference answers from the others"):
        import_source(logs_of_two(tmp_path, stating=["old", "new"], own=24))


def test_ids_of_contexts_are_used_where_a_log_has_them(tmp_path: Path) -> None:
    row = sample("do cats purr", [BARK, PURR], retrieved_context_ids=["b", 7], reference_contexts=[PURR])
    imported = import_source(jsonl(tmp_path / "a.jsonl", row))
    assert rankings(imported, "a") == {query("do cats purr"): ["b", "7"]}
    assert dict(imported.dataset.qrels[query("do cats purr")]) == {"7": 1}
    assert imported.dataset.corpus["7"].text == PURR


def test_ids_without_texts_give_rankings_and_judgements_and_no_documents(tmp_path: Path) -> None:
    row = {"user_input": "do cats purr", "retrieved_context_ids": ["d2", "d1"], "reference_context_ids": ["d1"]}
    imported = import_source(jsonl(tmp_path / "a.jsonl", row))
    assert not imported.dataset.corpus
    assert rankings(imported, "a") == {query("do cats purr"): ["d2", "d1"]}
    assert dict(imported.dataset.qrels[query("do cats purr")]) == {"d1": 1}
    assert "contexts have ids and no texts: no documents" in imported.report.notes


def test_an_id_with_two_texts_is_noted(tmp_path: Path) -> None:
    rows = [sample("one", [PURR], retrieved_context_ids=["d"]), sample("two", [BARK], retrieved_context_ids=["d"])]
    imported = import_source(jsonl(tmp_path / "a.jsonl", *rows))
    assert imported.dataset.corpus["d"].text == PURR
    assert "1 id with two texts, such as d: the first text is kept" in imported.report.notes


def test_hop_marks_of_generated_test_sets_are_removed_and_counted(tmp_path: Path) -> None:
    row = sample("do cats purr", [PURR], reference_contexts=[f"<1-hop>\n\n{PURR}", f"<2-hop>\n\n{BARK}"])
    imported = import_source(jsonl(tmp_path / "a.jsonl", row))
    assert dict(imported.dataset.qrels[query("do cats purr")]) == {doc(PURR): 1, doc(BARK): 1}
    assert "a: 2 marks such as <1-hop> removed from reference contexts" in imported.report.notes


def test_rows_that_cannot_be_used_are_counted_with_their_first_line(tmp_path: Path) -> None:
    rows = [
        sample("do cats purr", [PURR], response="Yes"),
        sample("do cats purr", [BARK], response="No"),
        sample(None, [BARK]),  # type: ignore[arg-type]
        sample("do dogs bark", [BARK, BARK, PURR], response=None),
    ]
    imported = import_source(jsonl(tmp_path / "a.jsonl", *rows))
    assert reasons(imported) == {
        "rows of a": [
            "1 without a question (first at line 3)",
        ],
        "retrieved contexts of a": ["1 that a better rank of the same ranking has (first at line 4)"],
        "answers of a": ["1 null or empty (first at line 4)"],
    }
    assert rankings(imported, "a")[query("do dogs bark")] == [doc(BARK), doc(PURR)]


def test_rows_without_contexts_and_columns_that_are_not_used_are_noted(tmp_path: Path) -> None:
    rows = [sample("do cats purr", [PURR], faithfulness=0.5), sample("do dogs bark", None), sample("  ", [BARK])]
    imported = import_source(jsonl(tmp_path / "a.jsonl", *rows))
    assert "a: 1 question has no retrieved contexts and scores 0" in imported.report.notes
    assert "columns that are not used: faithfulness" in imported.report.notes
    assert reasons(imported) == {"rows of a": ["1 without a question (first at line 3)"]}


def test_reference_contexts_of_other_chunks_are_noted(tmp_path: Path) -> None:
    row = sample("do cats purr", [PURR], reference_contexts=["Cats purr when content. Dogs bark."])
    notes = import_source(jsonl(tmp_path / "a.jsonl", row)).report.notes
    assert any("no reference context is among the retrieved contexts" in note for note in notes)


def test_ids_do_not_depend_on_the_order_of_logs(tmp_path: Path) -> None:
    first = jsonl(tmp_path / "a.jsonl", sample("do cats purr", [PURR], reference_contexts=[PURR]))
    second = jsonl(tmp_path / "b.jsonl", sample("do dogs bark", [BARK], reference_contexts=[BARK]))
    assert import_source([first, second]).dataset.fingerprint() == import_source([second, first]).dataset.fingerprint()


def test_nan_in_a_json_log_is_a_missing_value(tmp_path: Path) -> None:
    row = sample("do cats purr", [PURR], response="Yes", reference=float("nan"), faithfulness=float("nan"))
    imported = import_source(jsonl(tmp_path / "a.jsonl", row))
    assert "answers" not in imported.dataset.queries[query("do cats purr")].fields


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (sample("q", "one text"), None),  # type: ignore[arg-type]
        (sample("q", 5), "a.jsonl:1: retrieved_contexts is a number, not a list"),  # type: ignore[arg-type]
        (sample("q", [None]), r"a.jsonl:1: retrieved_contexts\[0\] is null, not text"),  # type: ignore[list-item]
        (
            sample("q", [PURR], retrieved_context_ids=["a", "b"]),
            "a.jsonl:1: retrieved_context_ids has 2 ids and retrieved_contexts 1 text",
        ),
        (sample("q", [PURR], response={"text": "a"}), "a.jsonl:1: response is an object, not text"),
        (sample("q", [PURR], reference=["a", 5.5]), r"a.jsonl:1: reference\[1\] is a number, not text"),
        (sample(5.5, [PURR]), "a.jsonl:1: user_input is a number, not text"),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_value_is_an_error_with_file_and_line(tmp_path: Path, row: dict[str, Any], message: str | None) -> None:
    path = jsonl(tmp_path / "a.jsonl", row)
    if message is None:
        assert len(import_source(path).dataset.corpus) == 1
        return
    with pytest.raises(InputError, match=message):
        import_source(path)


@pytest.mark.parametrize("reference", [None, "", " ", [], [""]])
def test_an_empty_reference_is_no_reference(tmp_path: Path, reference: Any) -> None:
    imported = import_source(jsonl(tmp_path / "a.jsonl", sample("do cats purr", [PURR], reference=reference)))
    assert "answers" not in imported.dataset.queries[query("do cats purr")].fields


def test_what_a_log_cannot_give_is_noted_with_the_next_command(tmp_path: Path) -> None:
    bare = import_source(jsonl(tmp_path / "bare.jsonl", sample("do cats purr", [PURR], response="Yes")))
    assert "no reference contexts: the rankings cannot be measured before they are judged" in bare.report.notes
    assert "no reference answers: answers are measured by their contexts alone" in bare.report.notes
    assert next_commands(bare, "my rag") == ["rankproof run 'my rag'/experiment.toml"]
    answered = import_source(jsonl(tmp_path / "b.jsonl", {"question": "do cats purr", "answer": "Yes", "ground_truth": "Yes"}))
    assert "no retrieved contexts: no rankings" in answered.report.notes
    assert next_commands(answered, "rag") == ["rankproof answers rag/queries.jsonl rag/answers/*.jsonl"]


def test_the_answers_of_the_written_folder_are_measured_by_rankproof_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = sample("do cats purr", [PURR], reference_contexts=[PURR], response="They purr", reference="They purr")
    paths = [jsonl(tmp_path / f"{name}.jsonl", row) for name in ("a", "b")]
    folder = tmp_path / "rag"
    assert main(["import", *paths, "-o", str(folder)]) == 0
    command = ["answers", str(folder / "queries.jsonl"), *map(str, sorted((folder / "answers").iterdir()))]
    assert main([*command, "--qrels", str(folder / "qrels" / "test.tsv"), "--format", "json"]) == 0
    assert "\"F1(tokens='bag')\"" in capsys.readouterr().out


def test_a_log_that_is_read_as_a_dataset_notes_that_its_rankings_and_answers_are_not_used(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", sample("do cats purr", [PURR], response="Yes"))
    assert read_dataset(path).notes[0] == "the rankings and answers of the source are not used: rankproof import takes them"
    bare = jsonl(tmp_path / "b.jsonl", {"user_input": "do cats purr", "reference_contexts": [PURR]})
    assert not any("not used" in note for note in read_dataset(bare).notes)


def test_a_table_of_labelled_answers_is_no_log(tmp_path: Path) -> None:
    path = tmp_path / "wiki.csv"
    path.write_text("question_id,question,answer,label\nQ1,do cats purr,They do.,1\nQ1,do cats purr,Dogs bark.,0\n")
    imported = import_source(str(path), ImportOptions(text_column=("answer",)))
    assert (imported.report.importer, list(imported.dataset.qrels["Q1"].values())) == ("table", [1, 0])


def test_white_space_around_contexts_does_not_count_and_other_columns_are_named(tmp_path: Path) -> None:
    row = sample("q", [PURR], reference_contexts=[f" {PURR}\n"], faithfulness=0.5)
    imported = import_source(jsonl(tmp_path / "a.jsonl", row))
    assert imported.dataset.qrels == {query("q"): {doc(PURR): 1}}
    assert imported.report.notes == ("columns that are not used: faithfulness",)


def test_a_list_that_a_spreadsheet_cut_off_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("question,contexts\nq,\"['Cats purr.', 'Do\"\n")
    with pytest.raises(InputError, match=r"a\.csv:2: contexts is a list that is cut off: \['Cats purr\.', 'Do; export"):
        import_source(str(tmp_path / "a.csv"))
