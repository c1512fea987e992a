"""What the page of disagreements says of another tool is what that tool gives when it is run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from tools.docs.pieces import pieces_of
from tools.docs.site import DOCS

from rankproof._analysis.audit.tools import CONVENTIONS
from support.qrels_and_runs import Grades, Scores

PAGE = (DOCS / "disagreements.md").read_text(encoding="utf-8")
_TABLE = re.compile(r"<!--table (?P<code>by_tool.+) -->\n(?P<rows>(?:\|.*\n)+)")
Example = tuple[Grades, Scores, str]


def examples() -> Iterator[tuple[Example, dict[str, str]]]:
    """Each example of the page with what its table shows by tool and name."""
    names: dict[str, Any] = {}
    for piece in pieces_of(PAGE):
        if piece.is_unseen:
            exec(piece.text, names)
    names["by_tool"] = lambda qrels, run, measure: (qrels, run, measure)
    for match in _TABLE.finditer(PAGE):
        rows = (line.replace("\\_", "_").split(" | ") for line in match["rows"].splitlines()[2:])
        yield eval(match["code"], names), {name: row[1] for row in rows for name in row[0].removeprefix("| ").split(", ")}


def pytrec_eval(name: str, qrels: Grades, run: Scores) -> float:
    found = pytest.importorskip("pytrec_eval").RelevanceEvaluator(qrels, {name}).evaluate(run)
    return float(np.mean([values[name.replace(".", "_")] for values in found.values()]))


def ir_measures(name: str, qrels: Grades, run: Scores) -> float:
    tool = pytest.importorskip("ir_measures")
    measure = eval(name, vars(tool))  # parse_measure of ir_measures 0.4.3 fails on Python 3.14
    return float(tool.calc_aggregate([measure], qrels, run)[measure])


def ranx(name: str, qrels: Grades, run: Scores) -> float:
    return float(pytest.importorskip("ranx").evaluate(qrels, run, name))


TOOLS: Mapping[str, Callable[[str, Grades, Scores], float]] = {
    "pytrec_eval": pytrec_eval,
    "ir_measures": ir_measures,
    "ranx": ranx,
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("tool", TOOLS)
def test_every_value_shown_for_a_tool_is_what_the_tool_gives(tool: str) -> None:
    checked = 0
    for (qrels, run, _), rows in examples():
        for name, value in rows.items():
            if name.partition(" ")[0] != tool:
                continue
            checked += 1
            _holds(value, name.partition(" ")[2], qrels, run, TOOLS[tool])
    assert checked >= 7


def _holds(value: str, name: str, qrels: Grades, run: Scores, tool: Callable[[str, Grades, Scores], float]) -> None:
    if value == "refuses":
        with pytest.raises(AssertionError):
            tool(name, qrels, run)
    elif bounds := re.fullmatch(r"(\S+) to (\S+)", value):
        assert float(bounds[1]) - 1e-4 <= tool(name, qrels, run) <= float(bounds[2]) + 1e-4
    else:
        assert f"{tool(name, qrels, run):.4f}" == value


def test_the_tools_that_the_page_says_are_run_are_those_that_the_conventions_say() -> None:
    assert {convention.tool.name for convention in CONVENTIONS if convention.tool.checked == "run"} == set(TOOLS)


def test_ir_measures_contradicts_itself_on_ties_as_the_page_says() -> None:
    qrels, run = {"q": {"d3": 1}}, {"q": {"d1": 5.0, "d2": 5.0, "d3": 5.0}}
    assert ir_measures("RR", qrels, run) == 1.0
    assert ir_measures("RR@10", qrels, run) == pytest.approx(1 / 3)


def test_scikit_learn_averages_over_ties_and_makes_its_ideal_list_of_what_it_is_given() -> None:
    scores = pytest.importorskip("sklearn.metrics")
    assert f"{scores.ndcg_score([[0, 0, 1]], [[5.0, 5.0, 5.0]]):.4f}" == "0.7103"
    assert scores.ndcg_score([[1, 0]], [[2.0, 1.0]]) == 1.0
    assert "| nDCG@10 | 1.0000 | 0.7103 |" in PAGE


def test_scores_that_the_page_says_tie_in_32_bits_do_in_pytrec_eval() -> None:
    first, second = "0.123456789", "0.123456791"
    assert f"`{first}` and `{second}` tie" in PAGE
    qrels = {"q": {"a": 1, "b": 0}}
    assert pytrec_eval("recip_rank", qrels, {"q": {"a": float(second), "b": float(first)}}) == 0.5


def test_a_query_without_relevant_documents_is_0_in_pytrec_eval() -> None:
    qrels = {"q1": {"a": 1}, "q2": {"a": 0}}
    assert pytrec_eval("map", qrels, {"q1": {"a": 1.0}, "q2": {"a": 1.0}}) == 0.5
