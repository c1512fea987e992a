"""The tables of docs/models.md, from what `python -m benchmarks.prompts train` wrote."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._data.text import pluralise
from rankproof._statistics.intervals import mean_interval
from rankproof._tokenizer_lab.comparison import ALPHA, Difference, ValueMatrix, compute_differences, interval_text
from rankproof._tokenizer_lab.measured import widen_interval
from rankproof.errors import InputError

from .bm25_tokens import markdown
from .prompts import MEASURES, STYLES, TRAININGS, Style, Training

MAIN = MEASURES[0]
Use = tuple[Training, Style]
"""A training, and the prompts that its encoders are used with."""


@dataclass(frozen=True, eq=False)
class CollectionResults:
    """The lines of one collection by use and seed, for the seeds that every use has."""

    name: str
    lines: Mapping[Use, Sequence[Mapping[str, Any]]]

    @cached_property
    def first(self) -> Mapping[str, Any]:
        """The first line, for what all have in common."""
        return next(iter(self.lines.values()))[0]

    def values(self, use: Use, measure: str = MAIN) -> FloatArray:
        """A row for each seed, a column for each query."""
        return np.array([line["values"][measure] for line in self.lines[use]], dtype=np.float64)

    def mean(self, use: Use, key: str) -> float:
        """The mean of a figure over the seeds."""
        return float(np.mean([line[key] for line in self.lines[use]]))


def read_results(path: Path) -> list[CollectionResults]:
    """The results by collection; a collection without a complete seed is an error."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    return [_collection(name, [line for line in lines if line["collection"] == name], path) for name in _names(lines)]


def _names(lines: Sequence[Mapping[str, Any]]) -> list[str]:
    return sorted({line["collection"] for line in lines}, key=[line["collection"] for line in lines].index)


def _collection(name: str, lines: Sequence[Mapping[str, Any]], path: Path) -> CollectionResults:
    found = {(Training(line["style"], line["budget"]), line["used"], line["seed"]): line for line in lines}
    uses: list[Use] = [(training, style) for training in TRAININGS for style in training.used_with()]
    seeds = [seed for seed in sorted({seed for *_, seed in found}) if all((*use, seed) in found for use in uses)]
    if not seeds:
        raise InputError(f"no seed of {name} is complete", fix="train again with more time", source=str(path))
    chosen = {use: [found[*use, seed] for seed in seeds] for use in uses}
    if len({tuple(line["queries"]) for each in chosen.values() for line in each}) > 1:
        raise InputError(f"the trainings of {name} were tested on different queries", fix="train again", source=str(path))
    return CollectionResults(name, chosen)


class Question(NamedTuple):
    """A table of differences: for each pair of uses, the first minus the second."""

    title: str
    about: str
    pairs: Sequence[tuple[str, str, Use, Use]]


PLAIN: Use = Training("none"), "none"
_PROMPTED = [training for training in TRAININGS if training.style != "none"]
QUESTIONS = (
    Question(
        "Trained and used with prompts",
        "minus trained and used without prompts",
        [(training.style, f"same {training.budget}", (training, training.style), PLAIN) for training in _PROMPTED],
    ),
    Question(
        "Prompts forgotten",
        "trained with prompts: used without them minus used with them",
        [(one.style, f"same {one.budget}", (one, "none"), (one, one.style)) for one in _PROMPTED],
    ),
    Question(
        "Prompts never trained",
        "trained without prompts: used with them minus used without them",
        [(style, "same encoders", (PLAIN[0], style), PLAIN) for style in STYLES if style != "none"],
    ),
)


def print_tables(path: Path) -> None:
    """Prints a summary, the differences, the means and what was trained, as Markdown."""
    results = read_results(path)
    parts = [[summary(question, results) for question in QUESTIONS], *(question_table(one, results) for one in QUESTIONS)]
    parts += [["**Means**:", "", *means_table(results)], ["**What was trained**:", "", *method(results)]]
    print("\n\n".join("\n".join(part) for part in parts))


def summary(question: Question, results: Sequence[CollectionResults]) -> str:
    """The range and the signs of the differences, the ends of their intervals, and how many are significant and reliable."""
    found = [one for *_, one in differences_of(question, results)]
    means, ends = [100 * one.mean for one in found], [100 * end for one in found for end in one.interval or ()]
    span = f"{min(means):+z.1f} to {max(means):+z.1f} pp of {MAIN}"
    span += f", intervals within [{min(ends):+z.1f}, {max(ends):+z.1f}]" if ends else ""
    below = sum(mean < 0 for mean in means)
    plain = sum(one.p is not None and one.p <= ALPHA for one in found)
    tests = f"p is at most {ALPHA} in {plain}, after Holm's correction in {sum(one.is_significant for one in found)}"
    reliable = sum(one.is_reliable for one in found)
    return f"- **{question.title}**: {span}; {below} of {len(found)} differences are below 0; {tests}; {reliable} are reliable"


def method(results: Sequence[CollectionResults]) -> list[str]:
    """The prompts, and what was trained and tested."""
    shown = {
        style: [f"`{prompt}` before a {role}" for role, prompt in one._asdict().items() if prompt]
        for style, one in STYLES.items()
    }
    lines = [f"- {style}: {' and '.join(each)}" for style, each in shown.items() if each]
    for one in results:
        line, seeds = one.first, len(one.lines[PLAIN])
        size = f"{line['tokenizer']}, {line['parameters'] / 1e6:.1f} million parameters"
        test = f"{len(line['queries'])} queries that were not trained on, {line['documents']:,} documents"
        lines.append(
            f"- {one.name}: {line['judged_count']:,} judged training pairs and crops; {test}; {size}; {pluralise(seeds, 'seed')}"
        )
    device, library = results[0].first["device"], results[0].first["library"]
    count = sum(len(each) for one in results for (training, style), each in one.lines.items() if style == training.style)
    return [*lines, f"- {count} trainings on one {device} ({library})"]


def means_table(results: Sequence[CollectionResults]) -> list[str]:
    """A row for each use of each training."""
    head = [
        "collection",
        "trained with",
        "used with",
        "same",
        "steps",
        "FLOPs",
        "tokens/query",
        f"{MAIN} [95%]",
        "seeds",
        *MEASURES[1:],
    ]
    return markdown([head, *(row for one in results for row in _mean_rows(one))])


def _mean_rows(one: CollectionResults) -> Iterator[list[str]]:
    for use in one.lines:
        training, style = use
        values = one.values(use)
        means = values.mean(axis=1)
        interval = widen_interval(mean_interval(values.mean(axis=0), within=(0.0, 1.0)), float(values.mean()), means)
        shown = "" if interval is None else f" [{max(interval[0], 0):.3f}, {min(interval[1], 1):.3f}]"
        yield [
            one.name,
            training.style,
            style,
            "" if training.style == "none" else training.budget,
            f"{one.mean(use, 'steps'):,.0f}",
            f"{one.mean(use, 'flops'):.2e}",
            f"{one.mean(use, 'query_tokens'):.1f}",
            f"**{values.mean():.3f}**{shown}",
            f"{means.min():.3f}–{means.max():.3f}",
            *(f"{one.values(use, name).mean():.3f}" for name in MEASURES[1:]),
        ]


def differences_of(question: Question, results: Sequence[CollectionResults]) -> list[tuple[str, str, str, Difference]]:
    """The differences of all collections, which are one family of tests."""
    rows = [(one, *pair) for one in results for pair in question.pairs]
    # Two uses of the same encoders share the name, so that each seed is compared with itself.
    pairs = [
        ValueMatrix(repr(first[0]), repr(second[0]), one.values(first), one.values(second), repeated=len(one.values(first)) > 1)
        for one, _, _, first, second in rows
    ]
    return [
        (one.name, style, same, found) for (one, style, same, *_), found in zip(rows, compute_differences(pairs), strict=True)
    ]


def question_table(question: Question, results: Sequence[CollectionResults]) -> list[str]:
    """A row for each collection, kind of prompts and budget."""
    head = ["collection", "prompts", "budget", f"{MAIN}, pp", "95%", "p", "p adjusted", "reliable"]
    rows = [[*row, *_difference_cells(found)] for *row, found in differences_of(question, results)]
    return [f"**{question.title}**, {question.about}:", "", *markdown([head, *rows])]


def _difference_cells(found: Difference) -> list[str]:
    """The difference in the direction of the table, whichever sign it has."""
    low, high = (100 * end for end in found.interval) if found.interval else (0.0, 0.0)
    interval = f"[{low:+z.1f}, {high:+z.1f}]" if found.interval else interval_text(found)
    ps = ["–" if p is None else f"{p:.3f}" if p >= 0.0005 else "<.001" for p in (found.p, found.p_adjusted)]
    return [f"{100 * found.mean:+z.1f}", interval, *ps, "yes" if found.is_reliable else "no"]
