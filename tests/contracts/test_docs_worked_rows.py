"""The worked examples on the measure pages equal the values of other tools, or of the formula."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cache
from itertools import permutations

import pytest
from tools.docs.measure_rows import GRADES, RANKINGS, SUBTOPICS, shown_as
from tools.docs.reference_tools import BY_HAND, REFERENCE_TOOLS, checked_against
from tools.docs.site import DOCS

import rankproof as rp
from rankproof.measures import MEASURES, Measure

QRELS = {"q1": GRADES}


def pytrec_eval(name: str, run: dict[str, dict[str, float]]) -> float:
    tool = pytest.importorskip("pytrec_eval")
    found = tool.RelevanceEvaluator(QRELS, {name}).evaluate(run)
    key = name.replace(".", "_", 1)
    return float(tool.compute_aggregated_measure(key, [values[key] for values in found.values()]))


def ir_measures(name: str, run: dict[str, dict[str, float]]) -> float:
    tool = pytest.importorskip("ir_measures")
    measure = tool.parse_measure(name)
    return float(tool.calc_aggregate([measure], QRELS, run)[measure])


def ranx(name: str, run: dict[str, dict[str, float]]) -> float:
    return float(pytest.importorskip("ranx").evaluate(QRELS, run, name))


def pyndeval(name: str, run: dict[str, dict[str, float]]) -> float:
    """A measure of ndeval; its options follow it in brackets, as in `NRBP (alpha 0.2, beta 0.8)`."""
    tool = pytest.importorskip("pyndeval")
    measure, _, inside = name.removesuffix(")").partition(" (")
    given = dict(part.split() for part in inside.split(", ") if part)
    options = {key: int(value) if key == "relevance_level" else float(value) for key, value in given.items()}
    qrels = [("q1", name, doc, grade) for name, docs in SUBTOPICS.items() for doc, grade in docs.items()]
    rows = [("q1", doc, score) for doc, score in run["q1"].items()]
    found = tool.RelevanceEvaluator(qrels, [measure], **options).evaluate(rows)["q1"][measure]
    return float(found)


TOOLS: dict[str, Callable[[str, dict[str, dict[str, float]]], float]] = {
    "pytrec_eval": pytrec_eval,
    "ir_measures": ir_measures,
    "ranx": ranx,
    "pyndeval": pyndeval,
}


def run_of(ranking: str) -> dict[str, dict[str, float]]:
    docs = ranking.split()
    return {"q1": {doc: float(len(docs) - at) for at, doc in enumerate(docs)}}


def page_of(measure: Measure) -> str:
    """The committed page of a measure's family."""
    return (DOCS / "measures" / f"{measure.family}.md").read_text(encoding="utf-8")


def row_of(line: str) -> list[str]:
    """The cells of a row of worked examples, the measure's name first; empty for any other line."""
    name, *cells = line.removeprefix("| ").removesuffix(" |").split(" | ")
    match = re.fullmatch(r"\[`(.+)`\]\(#[\w-]+\)", name)
    return [match[1], *cells] if match else []


@cache
def shown() -> dict[tuple[str, str], str]:
    """What the committed pages show for each measure and ranking."""
    values: dict[tuple[str, str], str] = {}
    for page in dict.fromkeys(map(page_of, MEASURES.values())):
        for name, *cells in filter(None, map(row_of, page.splitlines())):
            values |= {(name, ranking): value for ranking, value in zip(RANKINGS, cells, strict=False)}
    return values


def cell(name: str, ranking: str) -> str:
    """The value that a page shows."""
    assert (name, ranking) in shown(), f"no page shows {name} of the ranking {ranking}; run: make docs-refresh"
    return shown()[name, ranking]


@pytest.mark.parametrize("measure", MEASURES.values(), ids=lambda measure: measure.name)
def test_every_measure_has_worked_examples_with_their_references(measure: Measure) -> None:
    rows = {name: cells for name, *cells in filter(None, map(row_of, page_of(measure).splitlines()))}
    for name in shown_as(measure):
        assert rows[name][-1] == checked_against(measure.name, name), "run: make docs-refresh"
        for ranking in RANKINGS:
            assert cell(name, ranking)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REFERENCE_TOOLS)
def test_a_worked_row_equals_the_value_of_the_other_tool(name: str) -> None:
    tool, theirs = REFERENCE_TOOLS[name]
    for ranking in RANKINGS:
        decimals = len(cell(name, ranking).partition(".")[2])
        assert f"{TOOLS[tool](theirs, run_of(ranking)):.{decimals}f}" == cell(name, ranking), ranking


def grades_of(ranking: str, depth: int | None = None) -> list[int]:
    return [GRADES.get(doc, 0) for doc in ranking.split()[:depth]]


def err(ranking: str, depth: int | None = None) -> float:
    """Chapelle and others 2009: a reader at grade g is satisfied with chance (2^g - 1) / 2^3."""
    going_on, expected = 1.0, 0.0
    for rank, grade in enumerate(grades_of(ranking, depth), start=1):
        satisfied = (2**grade - 1) / 8
        expected += going_on * satisfied / rank
        going_on *= 1 - satisfied
    return expected


def accuracy(ranking: str, depth: int | None = None) -> float:
    """The share of pairs of a relevant and another document that are in this order."""
    grades = grades_of(ranking, depth)
    pairs = [(at, other) for at, grade in enumerate(grades) if grade for other, none in enumerate(grades) if not none]
    return sum(at < other for at, other in pairs) / len(pairs) if pairs else float(any(grades))


def rbp(ranking: str, persistence: float, least: int) -> float:
    """Moffat and Zobel 2008."""
    return (1 - persistence) * math.fsum(persistence**at for at, grade in enumerate(grades_of(ranking)) if grade >= least)


def eleven_points(ranking: str) -> float:
    """trec_eval 10: the best precision from the rank on at which that share of the 3 relevant, rounded, is found."""
    ranks = [rank for rank, grade in enumerate(grades_of(ranking), start=1) if grade > 0]
    precisions = [(at + 1) / rank for at, rank in enumerate(ranks)]
    needed = [max(1, math.floor(tenth * 3 / 10 + 0.5)) for tenth in range(11)]
    return math.fsum(max(precisions[count - 1 :], default=0.0) for count in needed) / 11


def unjudged(ranking: str, depth: int) -> float:
    return sum(doc not in GRADES for doc in ranking.split()[:depth]) / depth


def found_precisions(ranking: str) -> list[float]:
    """The precision at each relevant document."""
    ranks = [rank for rank, grade in enumerate(grades_of(ranking), start=1) if grade > 0]
    return [(at + 1) / rank for at, rank in enumerate(ranks)]


def graded_rbp(ranking: str, persistence: float) -> float:
    """Moffat and Zobel 2008, with the grades divided by 3, the largest one."""
    return (1 - persistence) * math.fsum(grade / 3 * persistence**at for at, grade in enumerate(grades_of(ranking)))


def residual(ranking: str, persistence: float) -> float:
    docs = ranking.split()
    unjudged_at = [at for at, doc in enumerate(docs) if doc not in GRADES]
    open_end = persistence ** len(docs) if unjudged_at else 0.0
    return open_end + (1 - persistence) * math.fsum(persistence**at for at in unjudged_at)


def preferences(ranking: str, fewest: int) -> tuple[int, int]:
    """Preferences fulfilled and possible among pairs of which so many documents are retrieved."""
    place = {doc: at for at, doc in enumerate(ranking.split())}
    last = len(place)
    pairs = [
        (place.get(one, last), place.get(other, last))
        for one, other in permutations(GRADES, 2)
        if GRADES[one] > GRADES[other] and (one in place) + (other in place) >= fewest
    ]
    return sum(one < other for one, other in pairs), len(pairs)


def share(counts: tuple[int, int]) -> float:
    return counts[0] / counts[1] if counts[1] else 0.0


HAND: dict[str, Callable[[str], float]] = {
    "ERR@1": lambda ranking: err(ranking, 1),
    "ERR": err,
    "nERR@1": lambda ranking: err(ranking, 1) / err("a c b", 1),
    "nERR": lambda ranking: err(ranking) / err("a c b"),
    "Accuracy": accuracy,
    "Accuracy@3": lambda ranking: accuracy(ranking, 3),
    "RBP": lambda ranking: rbp(ranking, 0.8, 1),
    "RBP(p=0.5)": lambda ranking: rbp(ranking, 0.5, 1),
    "RBP(rel=2)": lambda ranking: rbp(ranking, 0.8, 2),
    "11pt": eleven_points,
    "Unjudged@3": lambda ranking: unjudged(ranking, 3),
    "Unjudged@5": lambda ranking: unjudged(ranking, 5),
    "yaap": lambda ranking: math.log((1 + sum(found_precisions(ranking))) / (4 - sum(found_precisions(ranking)))),
    "IDCG": lambda ranking: 3 + 2 / math.log2(3) + 1 / 2,
    "GradedRBP": lambda ranking: graded_rbp(ranking, 0.9),
    "GradedRBP(p=0.5)": lambda ranking: graded_rbp(ranking, 0.5),
    "RBPResid": lambda ranking: residual(ranking, 0.9),
    "RBPResid(p=0.5)": lambda ranking: residual(ranking, 0.5),
    "map_avgjg": lambda ranking: sum(found_precisions(ranking)) / 3,
    "P_avgjg@3": lambda ranking: sum(grade > 0 for grade in grades_of(ranking, 3)) / 3,
    "Rprec_mult_avgjg@1": lambda ranking: sum(grade > 0 for grade in grades_of(ranking, 3)) / 3,
    "PrefsFul": lambda ranking: share(preferences(ranking, 0)),
    "PrefsFul(of='both')": lambda ranking: share(preferences(ranking, 2)),
    "PrefsFul(of='either')": lambda ranking: share(preferences(ranking, 1)),
    "NumPrefs": lambda ranking: preferences(ranking, 0)[1],
    "NumPrefsFul": lambda ranking: preferences(ranking, 0)[0],
}


@pytest.mark.parametrize("name", HAND)
def test_a_worked_row_without_a_tool_equals_the_formula(name: str) -> None:
    for ranking in RANKINGS:
        decimals = len(cell(name, ranking).partition(".")[2])
        assert f"{HAND[name](ranking):.{decimals}f}" == cell(name, ranking), ranking


def test_every_measure_that_is_checked_by_hand_has_its_formula_here() -> None:
    by_hand = {name for measure in BY_HAND for name in shown_as(MEASURES[measure])}
    assert by_hand == set(HAND), "BY_HAND in tools/docs/reference_tools.py and HAND differ"


def test_the_values_in_the_advice_are_right() -> None:
    def value(measure: str, qrels: dict[str, int], ranking: str) -> float:
        return rp.evaluate({"q1": qrels}, run_of(ranking), [measure]).means["run"][measure]

    sampled = {"a": 1, "b": 1, "c": 0}
    assert value("infAP", sampled, "x a b") == pytest.approx(value("AP", sampled, "x a b"), abs=1e-4)
    assert value("infAP", {**sampled, "x": -1}, "x a b") > value("AP", sampled, "x a b") + 0.1
    assert value("bpref", {"a": 1, "b": 1}, "x a") == value("R@10", {"a": 1, "b": 1}, "x a") == 0.5
    assert value("ERR", {"a": 1}, "a") == 0.5
