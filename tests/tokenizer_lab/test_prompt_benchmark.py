"""The tables of `python -m benchmarks.prompts`: planted effects are found, and nothing is found where there is none."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.prompt_tables import QUESTIONS, differences_of, print_tables, read_results, summary
from benchmarks.prompts import FILE, MEASURES, STYLES, TRAININGS, Style, Training

from rankproof.errors import InputError

QUERIES = 80


def effect(training: Training, used: Style) -> float:
    """Prompts cost 0.1 where they are forgotten, 0.2 where they were never trained, and gain 0.02 (long) or 0 (short)."""
    if training.style == "none":
        return 0.0 if used == "none" else -0.2
    gain = 0.02 if training.style == "long" else 0.0
    return gain if used == training.style else gain - 0.1


def line(training: Training, used: Style, seed: int, values: list[float]) -> dict[str, Any]:
    return {
        **{"collection": "made", "style": training.style, "budget": training.budget, "used": used, "seed": seed},
        **{"tokenizer": "bytes", "parameters": 1000, "documents": 9, "left_out": 0, "judged_count": 5},
        **{"query_tokens": 7.0, "document_tokens": 50.0, "steps": 10, "flops": 1e9, "seconds": 6.0},
        **{"device": "made", "library": "none", "loss": 1.0, "queries": [f"q{at}" for at in range(QUERIES)]},
        "values": dict.fromkeys(MEASURES, values),
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three seeds of every use, and a fourth seed of one use only."""
    base = np.random.default_rng(1).uniform(0.3, 0.6, QUERIES)
    lines = []
    for at, (training, seed) in enumerate((one, seed) for seed in (1, 2, 3) for one in TRAININGS):
        noise = np.random.default_rng([2, at]).normal(0, 0.01, QUERIES)
        for used in training.used_with():
            jitter = np.random.default_rng([3, at, list(STYLES).index(used)]).normal(0, 0.01, QUERIES)
            lines.append(line(training, used, seed, (base + noise + jitter + effect(training, used)).tolist()))
    lines.append(line(Training("none"), "none", 4, [1.0] * QUERIES))
    return written(tmp_path, lines)


def written(folder: Path, lines: list[dict[str, Any]]) -> Path:
    with gzip.open(folder / FILE, "wt", encoding="utf-8") as out:
        out.writelines(f"{json.dumps(one)}\n" for one in lines)
    return folder


def found_in(folder: Path) -> Mapping[str, list[tuple[str, float, bool]]]:
    results = read_results(folder / FILE)
    return {
        question.title: [(style, one.mean, one.is_reliable) for _, style, _, one in differences_of(question, results)]
        for question in QUESTIONS
    }


def test_planted_effects_of_prompts_are_found_with_their_sign(folder: Path) -> None:
    trained, forgotten, never = found_in(folder).values()
    for style, mean, reliable in trained:
        assert mean == pytest.approx(0.02 if style == "long" else 0.0, abs=0.005)
        assert reliable == (style == "long")
    assert [(round(mean, 1), reliable) for _, mean, reliable in forgotten] == [(-0.1, True)] * 4
    assert [(round(mean, 1), reliable) for _, mean, reliable in never] == [(-0.2, True)] * 2


def test_the_summary_counts_signs_and_tests(folder: Path) -> None:
    results = read_results(folder / FILE)
    shown = summary(QUESTIONS[1], results)
    assert "4 of 4 differences are below 0; p is at most 0.05 in 4, after Holm's correction in 4; 4 are reliable" in shown
    assert "2 are reliable" in summary(QUESTIONS[0], results)


def test_only_seeds_that_every_use_has_are_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    print_tables(folder / FILE)
    shown = capsys.readouterr().out
    assert "80 queries that were not trained on" in shown
    assert "3 seeds" in shown
    assert "15 trainings" in shown
    assert "1.000" not in shown.split("**Trained and used with prompts**")[0]


def test_results_without_a_complete_seed_or_with_other_queries_are_refused(folder: Path, tmp_path: Path) -> None:
    with gzip.open(folder / FILE, "rt", encoding="utf-8") as file:
        lines = [json.loads(one) for one in file]
    written(tmp_path, lines[:-2][::2])
    with pytest.raises(InputError, match="no seed of made is complete"):
        read_results(tmp_path / FILE)
    lines[3]["queries"][0] = "other"
    written(tmp_path, lines)
    with pytest.raises(InputError, match="tested on different queries"):
        read_results(tmp_path / FILE)
