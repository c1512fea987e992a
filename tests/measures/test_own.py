"""Measures of one's own: functions and classes, from Python, from the command line and from experiment files."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import rankproof as rp
from rankproof._align.hits import Hits
from rankproof._data.arrays import FloatArray
from rankproof.errors import UsageError
from rankproof.measures import Measure, _own, from_function, parse_measure
from rankproof.measures._own import own_measure
from rankproof.plugins import CutoffMeasure
from support.examples import examples
from support.qrels_and_runs import Grades, Scores, aligned, qrels_of, runs

QRELS = {"q1": {"d1": 1, "d2": 2}, "q2": {"d3": 1}, "q3": {"d4": 0}}
RUN = {"q1": {"d2": 3.0, "d1": 2.0}, "q2": {"d5": 2.0, "d3": 1.0}, "q3": {"d4": 1.0}}


@pytest.fixture(autouse=True)
def forget_measures() -> Iterator[None]:
    """Every test starts without measures of its own."""
    yield
    _own._OWN.clear()


def first_best(grades: list[int], ideal: list[int]) -> float:
    """1 if the first document has the highest grade."""
    return float(bool(grades) and grades[0] == ideal[0])


def third_of_relevant(grades: list[int], ideal: list[int]) -> float:
    return sum(grade >= 1 for grade in grades) / 3


@dataclass(frozen=True, kw_only=True, repr=False)
class Retrieved(CutoffMeasure):
    """The share of the cutoff that is filled."""

    name = "Retrieved"
    title = "retrieved share"
    definition = "retrieved documents divided by the cutoff"
    source = "this test"

    def values(self, hits: Hits) -> FloatArray:
        return np.minimum(hits.retrieved, self.depth) / self.depth


def test_a_function_is_a_measure() -> None:
    result = rp.evaluate(QRELS, RUN, [first_best, "nDCG@10"])
    assert result.per_query()["first_best"] == {"q1": 1.0, "q2": 0.0, "q3": 0.0}
    assert result.value("first_best") == pytest.approx(1 / 3)


def test_a_measure_of_a_function_cannot_be_changed_and_shows_its_name() -> None:
    measure = from_function(first_best)
    assert repr(measure @ 3) == "first_best@3"
    with pytest.raises(FrozenInstanceError):
        measure.cutoff = 10  # type: ignore[attr-defined]


def test_a_query_without_a_relevant_document_has_0_and_the_function_is_not_called() -> None:
    seen: list[list[int]] = []

    def note(grades: list[int], ideal: list[int]) -> float:
        seen.append(ideal)
        return 1.0

    assert from_function(note).values(aligned(QRELS, RUN)).tolist() == [1.0, 1.0, 0.0]
    assert seen == [[2, 1], [1]]


def test_a_function_gets_the_grades_within_the_cutoff_and_all_judged_grades() -> None:
    seen: list[tuple[list[int], list[int]]] = []

    def spy(grades: list[int], ideal: list[int]) -> float:
        seen.append((grades, ideal))
        return 0.0

    rp.evaluate(
        {"q1": {"d1": 1, "d2": 3, "d3": -1}, "q2": {"d1": 1}}, {"q1": {"x": 4, "d2": 3, "d3": 2, "d1": 1}}, from_function(spy) @ 3
    )
    assert seen == [([0, 3, -1], [3, 1, -1]), ([], [1])]


@given(qrels=qrels_of(), run=runs())
@examples(60)
def test_precision_as_a_function_equals_the_built_in_one(qrels: Grades, run: Scores) -> None:
    hits = aligned(qrels, run)
    assert (from_function(third_of_relevant) @ 3).values(hits) == pytest.approx(parse_measure("P@3").values(hits))


def test_a_class_is_a_measure_by_class_object_and_name() -> None:
    for named in (Retrieved() @ 4, f"{__name__}:Retrieved@4"):
        assert rp.evaluate(QRELS, RUN, named).per_query() == {"Retrieved@4": {"q1": 0.5, "q2": 0.5, "q3": 0.25}}
    assert parse_measure("Retrieved@2") == Retrieved() @ 2


def test_a_name_means_the_function_that_was_given_last() -> None:
    from_function(lambda grades, ideal: 0.25, name="mine")
    assert rp.evaluate(QRELS, RUN, "mine").per_query()["mine"]["q1"] == 0.25
    from_function(lambda grades, ideal: 0.75, name="mine")
    assert rp.evaluate(QRELS, RUN, "mine").per_query()["mine"]["q1"] == 0.75


def test_a_decorator_sets_range_direction_and_name() -> None:
    @from_function(name="first-rank", range=(0, 1000), higher_is_better=False, definition="rank of the first relevant document")
    def measure(grades: list[int], ideal: list[int]) -> float:
        return next((rank for rank, grade in enumerate(grades, 1) if grade), 1000)

    assert isinstance(measure, Measure)
    assert (measure.range, measure.higher_is_better, str(measure @ 5)) == ((0.0, 1000.0), False, "first-rank@5")
    assert rp.evaluate(QRELS, RUN, measure).per_query()["first-rank"]["q2"] == 2


@pytest.mark.parametrize("value", [float("nan"), 1.5, -0.1, None, "1", float("inf")], ids=repr)
def test_a_value_outside_the_range_is_refused_with_the_query(value: Any) -> None:
    with pytest.raises(UsageError, match=r"odd returned .* for query q1; return a number from 0 to 1"):
        rp.evaluate(QRELS, RUN, from_function(lambda grades, ideal: value, name="odd"))


@pytest.mark.parametrize(("count", "shown"), [(10, r"grades = \[1(, 0){9}\]"), (11, r"grades = \[1(, 0){9}, \.\.\.\]")])
def test_an_exception_shows_at_most_ten_grades(count: int, shown: str) -> None:
    run = {"q1": {"d1": 99.0, **{f"x{at}": float(at) for at in range(count - 1)}}}
    with pytest.raises(UsageError, match=shown):
        from_function(lambda grades, ideal: 1 / 0, name="bad").values(aligned({"q1": {"d1": 1}}, run))


def test_an_exception_names_the_query_and_its_grades() -> None:
    with pytest.raises(UsageError, match=r"bad failed for query q1: ZeroDivisionError.*grades = \[2, 1\], ideal = \[2, 1\]"):
        rp.evaluate(QRELS, RUN, from_function(lambda grades, ideal: 1 / 0, name="bad"))


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: from_function(lambda grades, ideal: 0.0), "has no valid name"),
        (lambda: from_function(first_best, name="nDCG"), "is the name of a measure of rankproof"),
        (lambda: from_function(first_best, name="map"), "is the name of a measure of rankproof"),
        (lambda: from_function(first_best, name="a b"), "has no valid name"),
        (lambda: from_function(first_best, range=(1, 0)), "is not an interval"),
        (lambda: from_function(3), "is not a function"),  # type: ignore[call-overload]
        (lambda: parse_measure("json:nothing"), "json:nothing has no such name"),
        (lambda: parse_measure("json:__name__"), "is neither a function nor a measure"),
        (lambda: parse_measure("no_such_module:x"), "no module is called no_such_module"),
    ],
)
def test_what_is_not_a_measure_is_refused(make: Any, what: str) -> None:
    with pytest.raises(UsageError, match=what):
        make()


MODULE = '''
def first_best(grades, ideal):
    """1 if the first document has the highest grade."""
    return float(bool(grades) and grades[0] == ideal[0])
'''


def rankproof(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rankproof", *args], cwd=folder, capture_output=True, text=True, encoding="utf-8"
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Judgements, two runs and a module with a measure."""
    (tmp_path / "shop_measures.py").write_text(MODULE, "utf-8")
    (tmp_path / "broken_measures.py").write_text("1 / 0", "utf-8")
    queries = range(40)
    (tmp_path / "qrels.txt").write_text("".join(f"q{at} 0 d{at} 1\n" for at in queries), "utf-8")
    for name, first in (("a", 10), ("b", 30)):
        rows = [f"q{at} Q0 {'x' if at < first else f'd{at}'} 1 2.0 {name}\nq{at} Q0 y{at} 2 1.0 {name}\n" for at in queries]
        (tmp_path / f"{name}.run").write_text("".join(rows), "utf-8")
    return tmp_path


@pytest.mark.slow
def test_the_command_line_evaluates_explains_and_compares_it(folder: Path) -> None:
    files = ("qrels.txt", "a.run", "b.run")
    evaluated = rankproof(folder, "eval", *files, "-m", "shop_measures:first_best@5", "--format", "json")
    assert json.loads(evaluated.stdout)["systems"][0]["measures"]["first_best@5"]["value"] == 0.75
    explained = rankproof(folder, "explain", *files[:2], "-m", "shop_measures:first_best", "--query", "q39")
    assert "The contribution of a document is" in explained.stdout
    compared = rankproof(folder, "compare", *files, "-m", "shop_measures:first_best")
    assert compared.returncode == 0, compared.stderr
    assert "first_best" in compared.stdout


def test_a_module_that_fails_is_refused_with_its_error(folder: Path) -> None:
    refused = rankproof(folder, "eval", "qrels.txt", "a.run", "-m", "broken_measures:x")
    assert refused.returncode == 2
    assert "importing broken_measures failed: ZeroDivisionError" in refused.stderr


@pytest.mark.slow
def test_an_experiment_file_names_it_and_a_results_folder_is_read_with_it(folder: Path) -> None:
    (folder / "shop.toml").write_text(
        'dataset = "sample"\nmeasures = ["shop_measures:first_best", "nDCG@10"]\n[systems.bm25]\nstage = "bm25"\n', "utf-8"
    )
    ran = rankproof(folder, "run", "shop.toml", "--trust", "-o", "results")
    assert ran.returncode == 0, ran.stderr
    unknown = rankproof(folder, "explain", "results")
    assert unknown.returncode == 2
    assert "pass -m MODULE:first_best with its module" in unknown.stderr
    reported = rankproof(folder, "report", "results", "-m", "shop_measures:first_best", "-o", "page.html")
    assert reported.returncode == 0, reported.stderr
    assert "first_best" in (folder / "page.html").read_text("utf-8")
    named = rankproof(folder, "explain", "results", "-m", "shop_measures:first_best")
    assert named.returncode == 0, named.stderr


def undocumented(grades: list[int], ideal: list[int]) -> float:
    return 0.0


def in_two_parts(grades: list[int], ideal: list[int]) -> float:
    """In one sentence.

    More about it."""
    return 0.0


@pytest.mark.parametrize(
    ("function", "definition", "shown"),
    [
        (first_best, "", "1 if the first document has the highest grade."),
        (first_best, "1 or 0", "1 or 0"),
        (undocumented, "always 0", "always 0"),
        (undocumented, "", "computed by a function"),
        (in_two_parts, "", "In one sentence."),
    ],
)
def test_the_definition_is_the_given_one_or_the_first_part_of_the_docstring(function: Any, definition: str, shown: str) -> None:
    assert from_function(function, definition=definition).definition == shown


def test_a_function_that_is_known_keeps_its_name_and_range() -> None:
    from_function(lambda grades, ideal: 0.25, name="other")
    measure = from_function(first_best, name="first", range=(0, 2))
    from_function(lambda grades, ideal: 0.75, name="another")
    known = own_measure(first_best)
    assert (known, known.range, str(known)) == (measure, (0.0, 2.0), "first")
