"""Logs of test sets that a machine wrote: their reference contexts are judgements of that machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rankproof as rp


@pytest.mark.parametrize(
    ("fields", "label"),
    [
        ({"synthesizer_name": "single_hop"}, "llm:ragas"),
        ({"generated_by": "gpt-4o"}, "llm:gpt-4o"),
        ({"generated_by": "LLM:tiny:1"}, "llm:tiny:1"),
        ({"generated_by": "people"}, ""),
        ({}, ""),
    ],
)
def test_reference_contexts_of_questions_that_a_machine_wrote_are_its_judgements(
    fields: dict[str, str], label: str, tmp_path: Path
) -> None:
    rows = [
        {"question": f"What is {at}?", "contexts": [f"Text {at}."], "reference_contexts": [f"Text {at}."], **fields}
        for at in range(3)
    ]
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    qrels = rp.import_dataset(log).dataset.qrels
    assert len(qrels) == 3
    assert {row.judge_label for row in qrels.rows()} == {label}
