"""Any value anywhere in a file of another tool gives a dataset or an error with a fix, never another exception."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from rankproof._formats.csv import BEIR
from rankproof._formats.texts import text_blocks
from rankproof._importers.registry import import_source
from rankproof.errors import InputError
from support.examples import sampled

HOSTILE: tuple[Any, ...] = (
    *(
        None,
        True,
        5,
        -1.5,
        10**30,
        float("nan"),
        float("inf"),
        "",
        " ",
        "\0",
        "[",
        "[]",
        "['a' 'b']",
        "x" * 5000,
        "\ud800",
        "a\nb",
    ),
    *([], {}, [None], [[]], [["a"], "b"], {"a": None}, {"": ""}, ["a", "a"], [1, 2.5]),
)
FILES: dict[str, Any] = {
    "rag": [
        {
            "user_input": "do cats purr",
            "retrieved_contexts": ["a", "b"],
            "retrieved_context_ids": ["1", "2"],
            "reference_contexts": ["a"],
            "response": "yes",
            "reference": "yes",
            "query_style": "plain",
        },
        {
            "user_input": "do dogs bark",
            "retrieved_contexts": ["b"],
            "reference_contexts": ["b"],
            "response": "yes",
            "reference": "y",
        },
    ],
    "autorag": [{"qid": "q", "query": "do cats purr", "retrieval_gt": [["a", "b"], ["c"]], "generation_gt": ["yes"]}],
    "llama-index": {
        "queries": {"q": "do cats purr"},
        "corpus": {"a": "Cats purr."},
        "relevant_docs": {"q": ["a"]},
        "mode": "text",
    },
    "quepid": {
        "queries": [{"query": "cats", "ratings": {"a": 3}}, {"query_text": "dogs", "ratings": [{"doc_id": "a", "rating": 1}]}]
    },
    "quepid book": {
        "query_doc_pairs": [{"query_text": "cats", "doc_id": "a", "document_fields": '{"t": "x"}', "judgements": [{"rating": 1}]}]
    },
    "quepid rre": {"queries": [{"placeholders": {"$query": "cats"}, "relevant_documents": {"a": {"gain": 3}}}]},
    "elasticsearch": {
        "requests": [
            {"id": "q", "request": {"query": {"match": {"t": "x"}}}, "ratings": [{"_index": "i", "_id": "a", "rating": 1}]},
            {"id": "r", "params": {"query_string": "x"}, "ratings": [{"_index": "j", "_id": "a", "rating": 1}]},
        ]
    },
    "elasticsearch response": {
        "metric_score": 1,
        "details": {"q": {"hits": [{"hit": {"_index": "i", "_id": "a", "_score": 1.0}, "rating": 1}]}},
    },
    "opensearch": {
        "judgmentRatings": [{"query": "q", "ratings": [{"docId": "a", "rating": "1.0"}]}],
        "querySetQueries": [{"queryText": "q", "referenceAnswer": "yes"}],
    },
    "rag haystack": {
        "run_name": "r",
        "inputs": {
            "question": ["do cats purr", "do dogs bark"],
            "ground_truth_documents": [[{"id": "a", "content": "Cats purr."}], [{"id": "b", "content": "Dogs bark."}]],
            "retrieved_documents": [[{"id": "a", "content": "Cats purr.", "score": 0.5}], []],
        },
    },
    "rag trulens": [
        {"query": "do cats purr", "query_id": "q", "expected_chunks": [{"text": "a", "expected_score": 0.5}, {"text": "b"}]},
        {"query": "do dogs bark", "query_id": "r", "expected_chunks": [{"text": "b", "expect_score": 1}]},
    ],
    "langsmith": [
        {"id": "e", "inputs": {"question": "cats"}, "outputs": {"answer": "yes", "contexts": ["a"]}, "metadata": {"kind": "x"}},
        {"id": "f", "inputs": {"question": "dogs"}, "outputs": {"answer": "no", "documents": [{"page_content": "b"}]}},
    ],
    "phoenix": [
        {"example_id": "e", "input": {"query": "cats"}, "output": {"answer": "yes", "relevant_ids": ["a"]}, "metadata": {"k": 1}},
        {"example_id": "f", "input": {"query": "dogs"}, "output": {"answer": "no"}, "metadata": {}},
    ],
    "promptfoo": {
        "tests": [
            {"vars": {"question": "cats", "context": ["a"]}, "assert": [{"type": "equals", "value": "yes"}], "description": "d"},
            {"vars": {"question": ["dogs", "birds"]}, "assert": [{"type": "contains-any", "value": ["a", "b"]}]},
        ],
        "defaultTest": {"vars": {"x": "y"}, "assert": [{"type": "equals", "value": "{{x}}"}]},
    },
    "promptfoo results": {
        "results": {
            "results": [
                {"vars": {"question": "cats"}, "response": {"output": "yes"}, "provider": {"id": "p"}},
                {"vars": {"question": "dogs"}, "response": {"output": "no"}, "provider": "q"},
            ]
        }
    },
    "trec-rag": [
        {
            "query": {"text": "cats", "qid": "1"},
            "candidates": [{"docid": "a", "score": 1.5, "doc": {"contents": "x", "title": "t"}}],
        },
        {"query": "dogs", "hits": [{"docid": "b", "score": 1, "content": "x", "qid": 2}]},
    ],
    "trec-rag answers": [
        {
            "run_id": "r",
            "topic_id": "1",
            "topic": "cats",
            "references": ["a", "b"],
            "answer": [{"text": "They purr.", "citations": [0, "b"]}],
        },
        {"metadata": {"run_id": "r", "narrative_id": "2", "narrative": "dogs"}, "references": ["a"], "answer": []},
    ],
    "pyvespa": {"queries": {"q": "cats", "r": "dogs"}, "relevant_docs": {"q": {"a": 0.5, "b": 1}, "r": ["a"]}},
    "ubi": [
        {"query_id": "1", "user_query": "cats", "client_id": "c", "query_response_hit_ids": ["a", "b"]},
        {"query_id": "2", "user_query": "cats", "client_id": "d", "query_response_hit_ids": ["b", "a"]},
        *({"action_name": "click", "query_id": key, "event_attributes": {"object": {"object_id": "a"}}} for key in "12"),
        {
            "action_name": "click",
            "query_id": "1",
            "client_id": "c",
            "event_attributes": {"object": {"object_id": "a", "internal_id": "b"}, "position": {"ordinal": {"index": 1}}},
        },
        {"action_name": "impression", "query_id": "1", "event_attributes": {"object": {"object_id": "a"}, "rank": 2}},
    ],
}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inside:
        yield from places(one, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    made = deepcopy(value)
    inside = made
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = new
    return made


def outcome(path: str, importer: str) -> InputError | None:
    """The error of the import, None where there is a dataset that can be written."""
    try:
        dataset = import_source(path, importer=importer).dataset
    except InputError as error:
        return error
    for blocks in (text_blocks(dataset.corpus), text_blocks(dataset.queries), BEIR.qrels_blocks(dataset.qrels)):
        assert all(isinstance(block, bytes) for block in blocks)
    return None


@pytest.mark.slow
@pytest.mark.parametrize("kind", FILES)
def test_a_hostile_value_gives_a_dataset_or_an_error_of_the_input(tmp_path: Path, kind: str) -> None:
    path, importer = tmp_path / "x.json", kind.split()[0]
    outcomes = {"dataset": 0, "error": 0}
    for place in places(FILES[kind]):
        for value in HOSTILE:
            path.write_text(json.dumps(replaced(FILES[kind], place, value)), encoding="utf-8")
            error = outcome(str(path), importer)
            assert error is None or (str(error).startswith(str(path)) and error.fix), f"{place} = {value!r}: {error}"
            outcomes["error" if error else "dataset"] += 1
    assert outcomes["error"] > len(HOSTILE)
    assert outcomes["dataset"] > 0


@pytest.mark.parametrize("kind", FILES)
def test_each_kind_of_file_is_recognised_by_one_importer(tmp_path: Path, kind: str) -> None:
    (tmp_path / "x.json").write_text(json.dumps(FILES[kind]))
    assert import_source(str(tmp_path / "x.json")).report.importer == kind.split()[0]


@pytest.mark.parametrize("key", ["", "\ud800", "x" * 5000, "state", "_id", "\0"])
@pytest.mark.parametrize("kind", sampled(FILES, 4))
def test_a_hostile_key_in_any_object_gives_a_dataset_or_an_error(tmp_path: Path, kind: str, key: str) -> None:
    path = tmp_path / "x.json"
    for place in places(FILES[kind]):
        value = FILES[kind]
        for step in place:
            value = value[step]
        if isinstance(value, dict):
            path.write_text(json.dumps(replaced(FILES[kind], place, {**value, key: "x"})), encoding="utf-8")
            error = outcome(str(path), kind.split()[0])
            assert error is None or (str(error).startswith(str(path)) and error.fix), f"{place}: {error}"


OF_OTHER_TOOLS = [
    kind for kind in FILES if kind.split()[0] in ("rag", "langsmith", "phoenix", "promptfoo", "trec-rag", "pyvespa", "ubi")
]


@pytest.mark.parametrize("kind", OF_OTHER_TOOLS)
def test_a_byte_order_mark_changes_nothing(tmp_path: Path, kind: str) -> None:
    found = []
    for mark in ("", "\ufeff"):
        (tmp_path / "x.json").write_text(mark + json.dumps(FILES[kind], indent=1), encoding="utf-8")
        imported = import_source(str(tmp_path / "x.json"))
        found.append((imported.dataset.fingerprint(), imported.report.counts))
    assert found[0] == found[1]


@pytest.fixture
def no_collection() -> Iterator[None]:
    """Without garbage collection: at the limit of recursion a finaliser of another test's object would fail."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize("kind", OF_OTHER_TOOLS)
def test_a_file_that_is_cut_off_or_nested_too_deeply_is_an_error_with_its_name(tmp_path: Path, kind: str) -> None:
    path, text = tmp_path / "x.json", json.dumps(FILES[kind], indent=1)
    cut = [text[: len(text) * part // 7] for part in range(1, 7)]
    deep = text.replace('"cats"', "[" * 100_000 + "]" * 100_000).replace(
        '"do cats purr"', '{"a":' * 100_000 + "1" + "}" * 100_000
    )
    for broken in (*cut, deep):
        path.write_text(broken, encoding="utf-8")
        error = outcome(str(path), kind.split()[0])
        assert error is not None
        assert str(error).startswith(str(path))
        assert error.fix


@pytest.mark.parametrize(
    "cell", ["{" * 50_000 + "}" * 50_000, "{'a': " * 500 + "1" + "}" * 500, "{'a': __import__('os')}", "{1: 2}", "{a}"]
)
def test_an_object_in_a_cell_that_cannot_be_read_stays_text(tmp_path: Path, cell: str) -> None:
    (tmp_path / "x.csv").write_text(f'id,inputs.question,outputs.answer,metadata\n1,cats,"{cell}",x\n')
    imported = import_source(str(tmp_path / "x.csv"))
    assert [one.fields["answers"] for one in imported.dataset.queries.values()] == [[cell]]


def test_formulas_and_markup_stay_text(tmp_path: Path) -> None:
    texts = ["=cmd|'/C calc'!A0", "<script>alert(1)</script>", "\u202egnp.exe"]
    rows = [{"id": str(at), "inputs": {"question": text}, "outputs": {"answer": text}} for at, text in enumerate(texts)]
    (tmp_path / "x.json").write_text(json.dumps(rows))
    assert [one.text for one in import_source(str(tmp_path / "x.json")).dataset.queries.values()] == texts
