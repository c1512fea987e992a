"""Datasets of AutoRAG and LlamaIndex."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rankproof._importers.base import Imported
from rankproof._importers.registry import import_source
from rankproof.errors import InputError

QUESTIONS = [
    {"qid": "q1", "query": "do cats purr", "retrieval_gt": [["d1", "d2"], ["d3"]], "generation_gt": ["Yes", "They do"]},
    {"qid": "q2", "query": "do dogs bark", "retrieval_gt": [["d4"]], "generation_gt": ["Yes"]},
    {"qid": "q3", "query": "what is this", "retrieval_gt": [[]], "generation_gt": [""]},
]
CORPUS = [{"doc_id": f"d{at}", "contents": f"Text {at}.", "metadata": {"last_modified_datetime": at}} for at in (1, 2, 3)]


def parquet(path: Path, rows: list[dict[str, Any]]) -> str:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pd.DataFrame(rows).to_parquet(path)
    return str(path)


def grades(imported: Imported) -> dict[str, dict[str, int]]:
    return {query: dict(docs) for query, docs in imported.dataset.qrels.items()}


@pytest.mark.parametrize("as_folder", [True, False])
def test_the_two_tables_of_autorag_are_one_dataset(tmp_path: Path, as_folder: bool) -> None:
    paths = [parquet(tmp_path / "qa.parquet", QUESTIONS), parquet(tmp_path / "corpus.parquet", CORPUS)]
    imported = import_source(str(tmp_path) if as_folder else paths)
    assert imported.report.importer == "autorag"
    assert grades(imported) == {"q1": {"d1": 1, "d2": 1, "d3": 1}, "q2": {"d4": 1}}
    assert {key: one.text for key, one in imported.dataset.corpus.items()} == {f"d{at}": f"Text {at}." for at in (1, 2, 3)}
    references = [query.fields.get("answers") for query in imported.dataset.queries.values()]
    assert references == [["Yes", "They do"], ["Yes"], None]


def test_alternatives_and_documents_outside_the_corpus_are_counted(tmp_path: Path) -> None:
    imported = import_source([parquet(tmp_path / "qa.parquet", QUESTIONS), parquet(tmp_path / "corpus.parquet", CORPUS)])
    notes = imported.report.notes
    assert any(note.startswith("1 query has groups of alternatives, of which AutoRAG expects one each") for note in notes)
    assert "1 judged document not in the corpus, such as d4" in notes


def test_the_questions_alone_have_no_documents_and_say_what_to_pass(tmp_path: Path) -> None:
    imported = import_source(parquet(tmp_path / "qa.parquet", QUESTIONS))
    assert not imported.dataset.has_documents
    assert any("rankproof import qa.parquet corpus.parquet" in note for note in imported.report.notes)


@pytest.mark.parametrize("value", ["d1", ["d1"], [["d1"]]])
def test_relevant_documents_may_be_one_id_a_list_or_groups(tmp_path: Path, value: Any) -> None:
    row = {"qid": "q1", "query": "do cats purr", "retrieval_gt": value, "generation_gt": "Yes"}
    assert grades(import_source(parquet(tmp_path / "qa.parquet", [row]))) == {"q1": {"d1": 1}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"retrieval_gt": 5}, r"qa.parquet:1: retrieval_gt is a number, not a list"),
        ({"retrieval_gt": [[None]]}, r"qa.parquet:1: retrieval_gt\[0\]\[0\] is null, not text"),
        ({"qid": 1.5}, r"qa.parquet:1: query id 1.5 is a float"),
    ],
)
def test_a_wrong_cell_is_an_error_with_its_row(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        import_source(parquet(tmp_path / "qa.parquet", [{**QUESTIONS[1], **change}]))


def test_two_corpora_are_refused(tmp_path: Path) -> None:
    for name, rows in (("qa", QUESTIONS), ("corpus", CORPUS), ("corpus2", CORPUS)):
        parquet(tmp_path / f"{name}.parquet", rows)
    with pytest.raises(InputError, match=r"more than one table of a kind: .*corpus.parquet, .*corpus2.parquet"):
        import_source(str(tmp_path))


def test_a_corpus_without_questions_says_which_columns_are_missing(tmp_path: Path) -> None:
    corpus = parquet(tmp_path / "corpus.parquet", CORPUS)
    with pytest.raises(InputError, match=r"no table of questions; add a table with the columns qid, query, retrieval_gt"):
        import_source(corpus, importer="autorag")


def finetune(**change: Any) -> dict[str, Any]:
    return {
        "queries": {"q1": "do cats purr"},
        "corpus": {"n1": "Cats purr.", "n2": "Dogs bark."},
        "relevant_docs": {"q1": ["n1"]},
        "mode": "text",
        **change,
    }


def written(path: Path, value: Any) -> str:
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")
    return str(path)


def test_a_finetuning_dataset_of_llama_index_is_a_dataset(tmp_path: Path) -> None:
    imported = import_source(written(tmp_path / "val.json", finetune()))
    assert imported.report.importer == "llama-index"
    assert grades(imported) == {"q1": {"n1": 1}}
    assert {key: one.text for key, one in imported.dataset.corpus.items()} == {"n1": "Cats purr.", "n2": "Dogs bark."}


def test_judgements_of_unknown_queries_and_documents_are_counted(tmp_path: Path) -> None:
    imported = import_source(written(tmp_path / "val.json", finetune(relevant_docs={"q1": ["n1", "n9"], "q2": ["n1", "n2"]})))
    assert grades(imported) == {"q1": {"n1": 1, "n9": 1}}
    dropped = {count.part: [str(one) for one in count.dropped] for count in imported.report.counts if count.dropped}
    assert dropped == {"judgements": ["2 of a query that is not among the queries (first at line 14)"]}
    assert "1 judged document not in the corpus, such as n9" in imported.report.notes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"corpus": {"n1": 5}}, "val.json:6: corpus.n1 is a number, not text"),
        ({"queries": ["a"]}, "val.json:2: queries is a list, not an object"),
        ({"relevant_docs": {"q1": "n1"}}, "val.json:10: relevant_docs.q1 is text, not a list"),
        ({"relevant_docs": {"q1": [1]}}, r"val.json:11: relevant_docs.q1\[0\] is a number, not text"),
        ({"queries": {"q1": ""}}, "val.json:3: queries.q1 is empty, not text"),
    ],
)
def test_a_wrong_value_is_an_error_with_its_line(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        import_source(written(tmp_path / "val.json", finetune(**change)))
