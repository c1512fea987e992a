"""Tests and results of promptfoo in YAML, JSON, JSONL and CSV (shapes: site/docs/configuration of promptfoo/promptfoo)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rankproof._cli.main import main
from rankproof._importers.base import Imported, ImportOptions
from rankproof._importers.registry import import_source
from rankproof.errors import InputError

pytest.importorskip("yaml")

CONFIG = """\
description: capitals
prompts: ["{{question}}"]
providers: [openai:gpt-5]
defaultTest:
  vars:
    tone: short
  assert:
    - type: factuality
      value: "{{reference_answer}}"
    - type: latency
      threshold: 1000
tests:
  - description: France
    vars:
      question: What is the capital of France?
      context: ["Paris is the capital.", "Lyon is a city."]
      reference_answer: Paris
    assert:
      - type: contains-any
        value: [Paris, Paname]
      - type: llm-rubric
        value: is polite
  - vars:
      question: ["What is 2 + 2?", "What is 4?"]
    assert: [{type: equals, value: 4}]
  - file://more.yaml
"""


def written(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def facts(imported: Imported) -> list[tuple[str, Any]]:
    return [(one.text, one.fields.get("answers")) for one in imported.dataset.queries.values()]


def test_a_configuration_gives_questions_contexts_and_references(tmp_path: Path) -> None:
    imported = import_source(written(tmp_path / "promptfooconfig.yaml", CONFIG))
    assert imported.report.importer == "promptfoo"
    assert facts(imported) == [
        ("What is the capital of France?", ["Paris", "Paname"]),
        ("What is 2 + 2?", ["4"]),
        ("What is 4?", ["4"]),
    ]
    assert [*imported.runs] == ["promptfooconfig"]
    assert len(imported.runs["promptfooconfig"].docs) == 2
    assert imported.report.columns == {"question": "question", "contexts": "context", "reference": "reference_answer"}
    assert "assertions that name no reference answer: latency 2, llm-rubric 1" in imported.report.notes
    assert "1 test in other files, not read: pass these files" in imported.report.notes
    assert "1 assertion with a template or a file as value, not used" in imported.report.notes
    assert "variables that are not used: tone" in imported.report.notes


def test_tests_in_json_jsonl_and_csv_are_read(tmp_path: Path) -> None:
    tests = [{"vars": {"question": "a?"}, "assert": [{"type": "equals", "value": "A"}]}, {"vars": {"question": "b?"}}]
    sheet = 'question,__expected,__expected2,__metadata:kind\na?,A,"similar(0.8): B",x\nb?,,llm-rubric: is nice,y\n'
    expected = [("a?", ["A"]), ("b?", None)]
    assert facts(import_source(written(tmp_path / "a.json", json.dumps(tests)))) == expected
    assert facts(import_source(written(tmp_path / "b.json", json.dumps({"tests": tests})))) == expected
    assert facts(import_source(written(tmp_path / "c.jsonl", "".join(json.dumps(one) + "\n" for one in tests)))) == expected
    imported = import_source(written(tmp_path / "d.csv", sheet))
    assert facts(imported) == [("a?", ["A", "B"]), ("b?", None)]
    assert "assertions that name no reference answer: llm-rubric 1" in imported.report.notes


def result(question: str, provider: Any, output: Any) -> dict[str, Any]:
    case = {"vars": {"question": question}, "assert": [{"type": "icontains", "value": "Paris"}]}
    return {"vars": case["vars"], "testCase": case, "provider": provider, "response": {"output": output}, "success": True}


def test_the_providers_of_results_are_systems(tmp_path: Path) -> None:
    found = [result("a?", {"id": "openai:x", "label": "x"}, "Paris."), result("a?", "local", "Rome.")]
    for value in ({"evalId": "e", "results": {"version": 3, "results": found}}, {"results": found}):
        imported = import_source(written(tmp_path / "out.json", json.dumps(value)))
        assert {name: [one.text for one in each.values()] for name, each in imported.answers.items()} == {
            "x": ["Paris."],
            "local": ["Rome."],
        }
        assert facts(imported) == [("a?", ["Paris"])]


def test_a_provider_that_failed_once_stays_a_system_of_its_own(tmp_path: Path) -> None:
    found = [result(f"{at}?", name, "Paris.") for at in range(3) for name in ("x", "y")]
    found[0].pop("response")
    imported = import_source(written(tmp_path / "out.json", json.dumps({"results": found})))
    states = {name: [one.state for one in each.values()] for name, each in imported.answers.items()}
    assert states == {"x": ["missing", "answered", "answered"], "y": ["answered"] * 3}


def test_each_prompt_of_a_provider_is_a_system(tmp_path: Path) -> None:
    found = [{**result("a?", "x", f"Paris {at}."), "promptIdx": at} for at in range(2)]
    imported = import_source(written(tmp_path / "out.json", json.dumps({"results": found})))
    assert {name: [one.text for one in each.values()] for name, each in imported.answers.items()} == {
        "x prompt 1": ["Paris 0."],
        "x prompt 2": ["Paris 1."],
    }


@pytest.mark.parametrize("place", [None, True, "1", [], {}, [[1]]])
def test_the_place_of_a_prompt_that_is_no_number_is_not_used(tmp_path: Path, place: Any) -> None:
    found = [{**result("a?", "x", "Paris."), "promptIdx": place}, {**result("a?", "y", "Rome."), "promptIdx": 0}]
    assert [*import_source(written(tmp_path / "out.json", json.dumps({"results": found}))).answers] == ["x", "y"]


def test_an_output_that_is_an_object_is_kept_as_json(tmp_path: Path) -> None:
    found = [result("a?", "x", {"city": "Paris", "sure": True})]
    imported = import_source(written(tmp_path / "out.json", json.dumps({"results": found})))
    assert [one.text for one in imported.answers["x"].values()] == ['{"city": "Paris", "sure": true}']


# By assertionFromString in src/csv.ts of promptfoo/promptfoo: text that begins with no type of assertion is equal.
CELLS = {
    "Paris": ["Paris"],
    "note: none": ["note: none"],
    "http://example.com/a": ["http://example.com/a"],
    "icontains: Paris": ["Paris"],
    "similar(0.8):Paris": ["Paris"],
    "similar:cosine: Paris": ["Paris"],
    "contains-any: Paris, Paname": ["Paris", "Paname"],
    "contains-json": None,
    "not-contains: Rome": None,
    "grade: is polite": None,
    "fn: output.length > 3": None,
    "file://check.py": None,
}


@pytest.mark.parametrize("cell", CELLS)
def test_a_cell_of_a_csv_file_is_an_assertion_or_the_answer(tmp_path: Path, cell: str) -> None:
    sheet = f'question,__expected,__description\na?,"{cell}",about a\n'
    imported = import_source(written(tmp_path / "a.csv", sheet))
    assert facts(imported) == [("a?", CELLS[cell])]
    assert [one.fields["description"] for one in imported.dataset.queries.values()] == ["about a"]


def test_variables_of_other_names_are_named_by_settings(tmp_path: Path) -> None:
    path = written(tmp_path / "a.json", json.dumps([{"vars": {"ask": "a?", "gold": "A", "docs": ["x"]}}]))
    with pytest.raises(InputError, match="no row has a question"):
        import_source(path)
    imported = import_source(path, ImportOptions(settings={"question": "ask", "reference": "gold", "contexts": "docs"}))
    assert facts(imported) == [("a?", ["A"])]
    assert len(imported.dataset.corpus) == 1


HOSTILE = {
    "aliases": "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
    + "".join(f"{chr(98 + at)}: &{chr(98 + at)} [{', '.join(['*' + chr(97 + at)] * 10)}]\n" for at in range(8))
    + "tests:\n  - vars: {question: *i}\n",
    "depth": "tests:\n  - vars: {question: " + "[" * 3000 + "]" * 3000 + "}\n",
    "nesting": "tests:\n  - vars: {question: " + "[" * 150 + "]" * 150 + "}\n",
    "cut": 'tests:\n  - vars:\n      question: "What\n',
    "twice": "tests:\n  - vars:\n      question: a\n      question: b\n",
    "object": "tests:\n  - vars: !!python/object/apply:os.system [echo]\n",
    "key": "tests:\n  - vars: {? [a] : b}\n",
    "tests": "tests: 5\nvars: {}\n",
    "empty vars": "tests:\n  - vars:\n",
}
SLOW = ("aliases", "depth")


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in HOSTILE])
def test_hostile_yaml_is_an_error_with_a_fix(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError) as caught:
        import_source(written(tmp_path / "a.yaml", HOSTILE[name]), importer="promptfoo")
    assert caught.value.fix
    assert "a.yaml" in str(caught.value)


def test_a_byte_order_mark_and_formulas_are_text(tmp_path: Path) -> None:
    imported = import_source(written(tmp_path / "a.yaml", "\ufefftests:\n  - vars: {question: '=1+1'}\n"))
    assert facts(imported) == [("=1+1", None)]


@pytest.mark.slow
def test_results_lead_to_the_values_of_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = [result(f"question {at}?", name, text) for at in range(40) for name, text in (("good", "Paris"), ("bad", "Rome"))]
    path = written(tmp_path / "out.json", json.dumps({"results": {"results": found}}))
    folder = tmp_path / "data"
    assert main(["import", path, "-o", str(folder)]) == 0
    answers = [str(folder / "answers" / f"{name}.jsonl") for name in ("good", "bad")]
    assert main(["answers", str(folder / "queries.jsonl"), *answers, "-m", "Contains"]) == 0
    assert "Ship good: 1.000 Contains, better than every other system" in capsys.readouterr().out
