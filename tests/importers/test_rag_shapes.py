"""RAG logs in the shapes of DeepEval, TruLens, LlamaIndex, RAGChecker and rankproof, told by their fields."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from rankproof._data.validation import made_id
from rankproof._importers.base import Imported, ImportOptions
from rankproof._importers.registry import import_source
from rankproof.errors import InputError

PURR, BARK = "Cats purr when content.", "Dogs bark."
QUESTION, ANSWER, REFERENCE = "do cats purr", "They purr.", "Yes, they do."

OURS = {"question": QUESTION, "contexts": [BARK, PURR], "answer": ANSWER, "answers": [REFERENCE]}
SHAPES: dict[str, Any] = {
    "ours": [OURS],
    "ragas": [{"user_input": QUESTION, "retrieved_contexts": [BARK, PURR], "response": ANSWER, "reference": REFERENCE}],
    "ragas before 0.2": [{"question": QUESTION, "contexts": [BARK, PURR], "answer": ANSWER, "ground_truth": REFERENCE}],
    "deepeval": [{"input": QUESTION, "retrieval_context": [BARK, PURR], "actual_output": ANSWER, "expected_output": REFERENCE}],
    "deepeval test run": {
        "testCases": [{"input": QUESTION, "retrievalContext": [BARK, PURR], "actualOutput": ANSWER, "expectedOutput": REFERENCE}]
    },
    "deepeval with sources": [
        {
            "input": QUESTION,
            "retrieval_context": [{"context": BARK, "source": "dogs.md"}, {"context": PURR, "source": "cats.md"}],
            "actual_output": ANSWER,
            "expected_output": REFERENCE,
        }
    ],
    "trulens": [
        {
            "record_id": "record_hash_1",
            "input": QUESTION,
            "output": ANSWER,
            "expected_response": REFERENCE,
            "Context Relevance_calls": [{"args": {"question": QUESTION, "context": text}, "ret": 1.0} for text in (BARK, PURR)],
        }
    ],
    "trulens frame": [{"prompt": QUESTION, "response": ANSWER, "context": [BARK, PURR], "expected_response": REFERENCE}],
    "ragchecker": {
        "results": [
            {
                "query_id": "000",
                "query": QUESTION,
                "gt_answer": REFERENCE,
                "response": ANSWER,
                "retrieved_context": [{"doc_id": "d1", "text": BARK}, {"doc_id": "d2", "text": PURR}],
                "metrics": {},
            }
        ],
        "metrics": {"overall": {}, "retriever": {}, "generator": {}},
    },
}


def written(path: Path, value: Any) -> str:
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")
    return str(path)


def rows(imported: Imported, system: str) -> list[tuple[str, list[str] | None, str, Any]]:
    """Question, texts of contexts, answer and references of each row."""
    return [
        (
            imported.dataset.queries[key].text,
            None if one.given is None else [imported.contexts[passage] for passage in one.given],
            one.text,
            imported.dataset.queries[key].fields.get("answers"),
        )
        for key, one in imported.answers[system].items()
    ]


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_gives_the_same_questions_contexts_answers_and_references(tmp_path: Path, shape: str) -> None:
    imported = import_source(written(tmp_path / "a.json", SHAPES[shape]))
    assert imported.report.importer == "rag"
    assert rows(imported, "a") == [(QUESTION, [BARK, PURR], ANSWER, [REFERENCE])]


@pytest.mark.parametrize("shape", [name for name, value in SHAPES.items() if isinstance(value, list)])
def test_every_shape_of_rows_is_read_from_jsonl_parquet_and_frames(tmp_path: Path, shape: str) -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(SHAPES[shape])
    frame.to_parquet(tmp_path / "a.parquet")
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in SHAPES[shape]))
    expected = [(QUESTION, [BARK, PURR], ANSWER, [REFERENCE])]
    assert rows(import_source(str(tmp_path / "a.jsonl")), "a") == expected
    assert rows(import_source(str(tmp_path / "a.parquet")), "a") == expected
    assert rows(import_source(frame), "table") == expected


def test_predictions_of_llama_index_are_joined_with_their_examples_by_place(tmp_path: Path) -> None:
    examples = {
        "examples": [
            {"query": QUESTION, "query_by": {"type": "human"}, "reference_contexts": [PURR], "reference_answer": REFERENCE},
            {"query": "do dogs bark", "reference_contexts": [BARK], "reference_answer": "Yes"},
        ]
    }
    predictions = [{"response": ANSWER, "contexts": [BARK, PURR]}, {"response": "They bark.", "contexts": [BARK]}]
    paths = [
        written(tmp_path / "dataset.json", examples),
        written(tmp_path / "small.json", {"predictions": predictions}),
        written(tmp_path / "large.json", {"predictions": predictions[::-1]}),
    ]
    imported = import_source(paths)
    assert list(imported.answers) == ["small", "large"]
    assert rows(imported, "small") == [
        (QUESTION, [BARK, PURR], ANSWER, [REFERENCE]),
        ("do dogs bark", [BARK], "They bark.", ["Yes"]),
    ]
    assert rows(imported, "large")[0][2] == "They bark."
    assert dict(imported.dataset.qrels[made_id("query", [QUESTION])]) == {made_id("document", ["", PURR]): 1}


def test_predictions_that_are_fewer_than_their_examples_are_refused(tmp_path: Path) -> None:
    examples = written(tmp_path / "dataset.json", {"examples": [{"query": "a", "reference_answer": "b"}] * 2})
    short = written(tmp_path / "p.json", {"predictions": [{"response": "b", "contexts": []}]})
    with pytest.raises(InputError, match=r"p\.json: 1 prediction for 2 examples of .*dataset\.json; specify the predictions of"):
        import_source([examples, short], importer="rag")


def test_the_context_of_a_deepeval_test_case_is_a_reference_context(tmp_path: Path) -> None:
    row = {"input": QUESTION, "actual_output": ANSWER, "context": [PURR], "retrieval_context": [BARK]}
    imported = import_source(written(tmp_path / "a.json", [row]))
    assert rows(imported, "a") == [(QUESTION, [BARK], ANSWER, None)]
    assert [dict(docs) for docs in imported.dataset.qrels.values()] == [{made_id("document", ["", PURR]): 1}]


@pytest.mark.parametrize("name", ["expected_score", "expect_score"])
def test_scores_of_trulens_are_grades_by_thirds(tmp_path: Path, name: str) -> None:
    texts = [f"chunk {score}" for score in (0, 0.3, 0.5, 0.9)]
    chunks = [{"text": text, "title": "cats", name: float(text.split()[1])} for text in texts]
    row = {"query": QUESTION, "query_id": "q7", "expected_response": REFERENCE, "expected_chunks": [*chunks, {"text": PURR}]}
    imported = import_source(written(tmp_path / "a.json", [row]))
    ids = [made_id("document", ["", text]) for text in (*texts, PURR)]
    assert {key: dict(docs) for key, docs in imported.dataset.qrels.items()} == {
        "q7": dict(zip(ids, (0, 1, 2, 3, 3), strict=True))
    }
    note = "reference contexts: grades by score: 1 above 0, 2 above 0.333, 3 above 0.667; one without a score has score 1"
    assert note in imported.report.notes
    other = import_source(written(tmp_path / "a.json", [row]), ImportOptions(settings={"thresholds": "0.4"}))
    assert list(other.dataset.qrels["q7"].values()).count(0) == 2


def test_whole_scores_of_trulens_are_grades_as_they_are(tmp_path: Path) -> None:
    chunks = [{"text": PURR, "expected_score": 1}, {"text": BARK, "expected_score": 0.0}]
    imported = import_source(written(tmp_path / "a.json", [{"query": QUESTION, "expected_chunks": chunks}]))
    (docs,) = imported.dataset.qrels.values()
    assert dict(docs) == {made_id("document", ["", PURR]): 1, made_id("document", ["", BARK]): 0}


def test_the_highest_of_two_scores_of_a_chunk_counts(tmp_path: Path) -> None:
    logs = [
        written(tmp_path / f"{name}.json", [{"query": QUESTION, "expected_chunks": [{"text": PURR, "expected_score": score}]}])
        for name, score in (("a", 0.2), ("b", 0.8))
    ]
    assert [list(docs.values()) for docs in import_source(logs).dataset.qrels.values()] == [[3]]


# The columns that deepeval 4.3 writes in EvaluationDataset.save_as, and how it joins contexts (deepeval/dataset/utils.py).
SAVED = {
    **{"input": QUESTION, "actual_output": ANSWER, "expected_output": REFERENCE},
    **{"retrieval_context": f"{BARK}|{PURR}", "context": f"{PURR}|Cats meow.", "name": None, "comments": None},
    **{"source_file": "cats.md", "tools_called": None, "expected_tools": None, "additional_metadata": None},
}


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_contexts_that_deepeval_joined_with_bars_are_several(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    with path.open("w", newline="") as file:
        if suffix == "csv":
            csv.writer(file).writerows([list(SAVED), list(SAVED.values())])
        else:
            file.write(json.dumps(SAVED) + "\n")
    imported = import_source(str(path))
    assert rows(imported, "a") == [(QUESTION, [BARK, PURR], ANSWER, [REFERENCE])]
    assert [len(docs) for docs in imported.dataset.qrels.values()] == [2]


def test_a_bar_in_a_context_of_another_log_stays_text(tmp_path: Path) -> None:
    imported = import_source(written(tmp_path / "a.json", [{**OURS, "contexts": [f"{BARK}|{PURR}"]}]))
    assert rows(imported, "a")[0][1] == [f"{BARK}|{PURR}"]


def test_the_source_of_a_context_that_deepeval_saved_is_its_id(tmp_path: Path) -> None:
    saved = {**SAVED, "retrieval_context": [f"deepeval_source=dogs.md,deepeval_context={BARK}", PURR], "context": [PURR]}
    imported = import_source(written(tmp_path / "a.json", [saved]))
    assert rows(imported, "a")[0][1] == [BARK, PURR]
    assert imported.runs["a"].docs[0] == "dogs.md"


def test_goldens_of_deepeval_are_read_and_its_conversations_without_turns_are_counted(tmp_path: Path) -> None:
    golden = {"input": QUESTION, "expectedOutput": REFERENCE, "context": [PURR], "sourceFile": "cats.md"}
    path = written(tmp_path / "a.json", {"goldens": [golden], "conversationalGoldens": [{"turns": []}], "datasetId": "x"})
    imported = import_source(path)
    assert [one.fields["answers"] for one in imported.dataset.queries.values()] == [[REFERENCE]]
    (rows,) = [count for count in imported.report.counts if count.part == "rows of a"]
    assert (rows.read, rows.kept) == (2, 1)


HAYSTACK = {
    "questions": [QUESTION],
    "ground_truth_documents": [[{"id": "d2", "content": PURR, "score": None, "meta": {}}]],
    "retrieved_documents": [[{"id": "d1", "content": BARK, "score": 0.9}, {"id": "d2", "content": PURR, "score": 0.4}]],
    "predicted_answers": [ANSWER],
    "ground_truth_answers": [REFERENCE],
    "doc_mrr": [0.5],
}


@pytest.mark.parametrize("inside", [False, True])
def test_the_reports_of_haystack_are_logs_by_column(tmp_path: Path, inside: bool) -> None:
    value = {"run_name": "bm25 run", "inputs": HAYSTACK, "results": {}} if inside else HAYSTACK
    imported = import_source(written(tmp_path / "a.json", value))
    assert rows(imported, "bm25 run" if inside else "a") == [(QUESTION, [BARK, PURR], ANSWER, [REFERENCE])]
    assert [dict(docs) for docs in imported.dataset.qrels.values()] == [{"d2": 1}]
    assert [*next(iter(imported.runs.values())).docs] == ["d1", "d2"]
    assert "columns that are not used: doc_mrr" in imported.report.notes


# The inputs of the report in Haystack's own tutorial on the evaluation of RAG pipelines.
@pytest.mark.parametrize(("true", "predicted"), [("answer", "predicted_answer"), ("true_answers", "predicted_answers")])
def test_beside_a_predicted_answer_the_other_one_is_the_reference(tmp_path: Path, true: str, predicted: str) -> None:
    inputs = {"question": [QUESTION], "contexts": [[PURR]], true: [REFERENCE], predicted: [ANSWER]}
    imported = import_source(written(tmp_path / "a.json", {"run_name": "x", "inputs": inputs, "results": {}}))
    assert rows(imported, "x") == [(QUESTION, [PURR], ANSWER, [REFERENCE])]


def test_the_columns_of_a_haystack_run_are_of_one_length(tmp_path: Path) -> None:
    value = {"run_name": "x", "inputs": {"question": ["a"], "contexts": []}}
    with pytest.raises(InputError, match=r"a\.json:1: inputs are no lists of one length; write the inputs"):
        import_source(written(tmp_path / "a.json", value), importer="haystack")


def test_the_apps_of_a_trulens_export_are_systems(tmp_path: Path) -> None:
    found = [
        {"app_name": "rag", "app_version": version, "input": QUESTION, "output": f"{version} says yes"}
        for version in ("v1", "v2")
    ]
    imported = import_source(written(tmp_path / "a.json", found))
    assert {name: [one.text for one in each.values()] for name, each in imported.answers.items()} == {
        "rag v1": ["v1 says yes"],
        "rag v2": ["v2 says yes"],
    }


def test_a_system_prompt_is_no_name_of_a_system(tmp_path: Path) -> None:
    imported = import_source(written(tmp_path / "a.json", [{**OURS, "system": "You are\na helpful assistant."}]))
    assert list(imported.answers) == ["a"]
    assert "columns that are not used: system" in imported.report.notes


def test_the_ids_of_questions_are_used_where_all_logs_agree(tmp_path: Path) -> None:
    first = written(tmp_path / "a.json", [{**OURS, "_id": "q1"}, {**OURS, "question": "do dogs bark", "_id": 2}])
    second = written(tmp_path / "b.json", [{**OURS, "_id": "q1"}])
    assert list(import_source([first, second]).dataset.queries) == ["q1", "2"]


@pytest.mark.parametrize("other", [{"_id": "q9"}, {"question": "do dogs bark", "_id": "q1"}, {"question": "do dogs bark"}])
def test_ids_of_questions_that_contradict_each_other_are_not_used(tmp_path: Path, other: dict[str, str]) -> None:
    first = written(tmp_path / "a.json", [{**OURS, "_id": "q1"}])
    second = written(tmp_path / "b.json", [{**OURS, **other}])
    imported = import_source([first, second])
    assert made_id("query", [QUESTION]) in imported.dataset.queries
    assert any(note.startswith("the ids of questions are not used") for note in imported.report.notes)


def test_a_document_with_several_chunks_keeps_the_text_of_each_given_passage(tmp_path: Path) -> None:
    chunks = [{"doc_id": "pets", "text": PURR}, {"doc_id": "pets", "text": BARK}, {"doc_id": "pets", "text": PURR}]
    imported = import_source(written(tmp_path / "a.json", [{**OURS, "contexts": chunks}]))
    (answer,) = imported.answers["a"].values()
    assert answer.given == ("pets", "pets#c2", "pets")
    assert [imported.contexts[passage] for passage in answer.given] == [PURR, BARK, PURR]


def test_contexts_that_are_null_are_unknown_and_an_empty_list_says_that_nothing_was_retrieved(tmp_path: Path) -> None:
    found = [{**OURS, "question": "one", "contexts": None}, {**OURS, "question": "two", "contexts": []}]
    answers = import_source(written(tmp_path / "a.json", found)).answers["a"]
    assert [one.given for one in answers.values()] == [None, ()]


def test_a_blank_answer_is_missing(tmp_path: Path) -> None:
    found = [{**OURS, "question": str(at), "answer": text} for at, text in enumerate(("", " \n", "NO ANSWER"))]
    answers = import_source(written(tmp_path / "a.json", found)).answers["a"]
    assert [one.state for one in answers.values()] == ["missing", "missing", "abstained"]


def test_reference_answers_of_a_question_without_an_answer_are_noted(tmp_path: Path) -> None:
    with_reference, without = ({**OURS, "question": "one", **more} for more in ({"answers": ["Yes."]}, {"answerable": False}))
    paths = [written(tmp_path / "a.json", [with_reference]), written(tmp_path / "b.json", [without])]
    notes = import_source(paths).report.notes
    assert any("answerable: false, such as" in note for note in notes)
    assert not any("answerable" in note for note in import_source(paths[0]).report.notes)


def test_a_row_without_an_answer_keeps_its_contexts(tmp_path: Path) -> None:
    found = [{**OURS, "question": "one", "answer": None}, {**OURS, "question": "two", "answer": None, "state": "abstained"}]
    answers = list(import_source(written(tmp_path / "a.json", found)).answers["a"].values())
    assert [one.state for one in answers] == ["missing", "abstained"]
    assert all(one.given for one in answers)


def test_cited_contexts_are_ids_or_places_from_1(tmp_path: Path) -> None:
    contexts = [{"id": "7", "text": BARK}, {"id": "1", "text": PURR}]
    (first,) = import_source(written(tmp_path / "a.json", [{**OURS, "cited": [2, 9]}])).answers["a"].values()
    (second,) = (
        import_source(written(tmp_path / "b.json", [{**OURS, "contexts": contexts, "cited": ["1"]}])).answers["b"].values()
    )
    assert first.cited == (made_id("document", ["", PURR]), "9")
    assert second.cited == ("1",)


def test_our_own_fields_say_what_has_no_answer_and_which_nuggets_there_are(tmp_path: Path) -> None:
    found = [
        {**OURS, "question": "one", "answers": []},
        {**OURS, "question": "two", "answers": None, "answerable": False},
        {**OURS, "question": "three", "nuggets": ["Cats purr.", {"text": "Dogs do not.", "importance": "okay"}]},
    ]
    queries = list(import_source(written(tmp_path / "a.json", found)).dataset.queries.values())
    assert [dict(one.fields) for one in queries] == [
        {"answers": []},
        {"answerable": False},
        {"answers": [REFERENCE], "nuggets": [{"text": "Cats purr."}, {"text": "Dogs do not.", "importance": "okay"}]},
    ]


def test_contexts_of_a_csv_file_that_are_one_text_each_are_noted(tmp_path: Path) -> None:
    with (tmp_path / "a.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([["input", "actual_output", "retrieval_context"], [QUESTION, ANSWER, f"{BARK}|{PURR}"]])
    imported = import_source(str(tmp_path / "a.csv"))
    assert rows(imported, "a") == [(QUESTION, [f"{BARK}|{PURR}"], ANSWER, None)]
    note = "a: every retrieval_context is one text and counts as one context; write several as a JSON list"
    assert note in imported.report.notes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"contexts": [{"title": "x"}]}, r"a\.json:2: contexts\[0\] has no text; keys: title; write"),
        ({"contexts": [{"text": 5.5}]}, r"a\.json:2: contexts\[0\] is a number, not text"),
        ({"state": "gone"}, r"a\.json:2: state is gone; write answered, abstained or failed"),
        ({"answerable": "maybe"}, r"a\.json:2: answerable is maybe; write true or false"),
        ({"nuggets": [{"text": "x", "importance": "high"}]}, r"a\.json:2: nuggets has the importance high; write vital or okay"),
        (
            {"nuggets": [{"text": "x", "confirmed": False}]},
            r'a\.json:2: nuggets has a draft that no person has confirmed: x; read it and write "confirmed": true, or remove it',
        ),
        ({"nuggets": [5]}, r"a\.json:2: nuggets is no list of nuggets; write"),
    ],
)
def test_a_wrong_value_is_an_error_with_file_and_line(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        import_source(written(tmp_path / "a.json", [{**OURS, **change}]))


def test_one_system_in_two_files_is_refused(tmp_path: Path) -> None:
    paths = [written(tmp_path / f"{name}.json", [{**OURS, "system": "rag"}]) for name in ("a", "b")]
    with pytest.raises(InputError, match=r"b\.json: the system rag is in another file too"):
        import_source(paths)


@pytest.mark.parametrize("keys", [("chunk_id", "source"), ("id", "doc_id"), ("doc_id", "source")])
def test_chunks_of_one_file_are_documents_of_their_own(tmp_path: Path, keys: tuple[str, str]) -> None:
    own, shared = keys
    chunks = [{own: f"kb-{at}", shared: "kb/article.md", "text": text} for at, text in enumerate((PURR, BARK))]
    imported = import_source(written(tmp_path / "a.json", [{"question": QUESTION, "contexts": chunks, "answer": ANSWER}]))
    assert sorted(row.doc for row in imported.runs["a"].rows()) == ["kb-0", "kb-1"]
    assert not any("two texts" in note for note in imported.report.notes)


@pytest.mark.parametrize("key", ["snippet", "body", "chunk", "passage"])
@pytest.mark.parametrize("is_bare", [True, False])
def test_results_of_search_tools_are_contexts(tmp_path: Path, key: str, *, is_bare: bool) -> None:
    results = [{"title": "KB", "url": "https://help.example.com/1", key: PURR}]
    content = json.dumps(results if is_bare else {"results": results})
    messages = [
        {"role": "user", "content": QUESTION},
        {"role": "tool", "content": content},
        {"role": "assistant", "content": ANSWER},
    ]
    path = written(tmp_path / "a.json", [{"messages": messages, "expected": "Purring"}])
    imported = import_source(path)
    assert rows(imported, "a") == [(QUESTION, [PURR], ANSWER, ["Purring"])]


def test_a_result_without_text_is_an_error_that_names_its_keys(tmp_path: Path) -> None:
    content = json.dumps([{"title": "KB", "abstract": PURR}])
    messages = [{"role": "user", "content": QUESTION}, {"role": "tool", "content": content}]
    with pytest.raises(InputError, match=r"a\.json:2: result of a tool\[0\] has no text; keys: title, abstract; write"):
        import_source(written(tmp_path / "a.json", [{"messages": messages}]))


@pytest.mark.parametrize("column", ["expected", "expected_answer", "ground_truth"])
def test_an_expected_answer_is_the_reference(tmp_path: Path, column: str) -> None:
    path = written(tmp_path / "a.json", [{"question": QUESTION, "contexts": [PURR], "answer": ANSWER, column: "Purring"}])
    assert rows(import_source(path), "a") == [(QUESTION, [PURR], ANSWER, ["Purring"])]
