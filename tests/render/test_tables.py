"""Tables as text: layout, marks of the best values, and no truncation."""

import re

import numpy as np
import pytest

from rankproof._data.table import Column, Table
from rankproof._evaluation.notes import Note
from rankproof._evaluation.result import MeasureResult, Result, SystemResult
from rankproof._render import result as as_latex
from rankproof._render import result as as_markdown
from rankproof._render import result as as_text
from rankproof._render.formats import RenderOptions
from rankproof._render.terminal import TablePrinter
from rankproof.measures import parse_measures

QUESTION = "a question of many words that goes on and on to the end"

ANSI = re.compile("\x1b\\[[0-9;]*m")


def result_of(values: dict[str, dict[str, list[float]]], queries: tuple[str, ...] = ("q1", "q2")) -> Result:
    """A result with these values by system, measure and query."""
    systems = []
    for name, measures in values.items():
        found = {}
        for text, numbers in measures.items():
            (measure,) = parse_measures(text)
            array = np.array(numbers)
            found[str(measure)] = MeasureResult(measure, measure.summarise(array), queries[: len(numbers)], array)
        systems.append(SystemResult(name, found, (Note("tied-scores", 1, "one tie"),)))
    return Result(queries, tuple(systems))


TWO = result_of({"old": {"nDCG@10": [0.25, 0.5], "P@5": [0.2, 0.4]}, "new": {"nDCG@10": [0.5, 1.0], "P@5": [0.2, 0.2]}})


def many(systems: int, measures: str) -> Result:
    names = [str(measure) for measure in parse_measures(measures)]
    return result_of({f"system-{at}": {name: [at / 10, at / 20] for name in names} for at in range(systems)})


def test_a_plain_table_stars_the_best_of_each_measure() -> None:
    text = as_text.render_text(TWO, RenderOptions())
    assert "old       0.3750   *0.3000   █████████" in text.splitlines()
    assert "new      *0.7500    0.2000   ██████████████████" in text.splitlines()
    assert "\x1b" not in text


def test_a_coloured_table_says_the_same_as_the_plain_one_but_for_the_stars() -> None:
    coloured = ANSI.sub("", as_text.render_text(TWO, RenderOptions(colour=True)))
    plain = as_text.render_text(TWO, RenderOptions()).replace("*", " ")
    assert re.findall(r"\d\.\d{4}", coloured) == re.findall(r"\d\.\d{4}", plain)
    assert "\x1b[" in as_text.render_text(TWO, RenderOptions(colour=True))


def test_a_tie_in_the_shown_digits_has_two_winners_and_equal_systems_none() -> None:
    close = result_of({"a": {"P@5": [0.5, 0.50001]}, "b": {"P@5": [0.5, 0.5]}, "c": {"P@5": [0.1, 0.1]}})
    assert as_text.render_text(close, RenderOptions()).count("*0.5000") == 2
    same = result_of({"a": {"P@5": [0.5, 0.5]}, "b": {"P@5": [0.5, 0.5]}})
    assert "*" not in as_text.render_text(same, RenderOptions())


def test_counts_are_whole_numbers_and_have_no_winner() -> None:
    text = as_text.render_text(result_of({"a": {"NumRet": [10, 5]}, "b": {"NumRet": [1, 2]}}), RenderOptions())
    assert re.search(r"a +15$", text, re.MULTILINE)
    assert "*" not in text
    assert "NumRet (sum)" in text


def test_the_judged_share_has_no_best() -> None:
    judged = result_of(
        {"a": {"Judged@10": [1.0, 1.0], "Unjudged@10": [0.0, 0.0]}, "b": {"Judged@10": [0, 0], "Unjudged@10": [1, 1]}}
    )
    assert "*" not in as_text.render_text(judged, RenderOptions())


@pytest.mark.parametrize("systems", [1, 2, 3, 12])
@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("per_query", [False, True])
def test_every_value_is_shown_within_the_width(systems: int, width: int, per_query: bool) -> None:
    result = many(systems, "nDCG@10,nDCG(gain='exp')@10,RR@10,R@100,P@10,Success@1,3,5,10")
    text = as_text.render_text(result, RenderOptions(width=width, per_query=per_query, wrap=True))
    assert max(map(len, text.splitlines())) <= width
    shown = len(re.findall(r"\d\.\d{4}", text))
    summaries = systems * 9
    assert shown == (summaries + systems * 9 * 3 if per_query else summaries)


def test_many_measures_of_few_systems_are_rows() -> None:
    lines = as_text.render_text(
        many(2, "nDCG@10,nDCG(gain='exp')@10,RR@10,R@100,P@10,Success@1,3,5,10"), RenderOptions()
    ).splitlines()
    assert lines[2].split() == ["measure", "system-1", "system-0"], "the better one is first"


def test_one_system_gets_a_bar_for_each_share_and_none_for_counts() -> None:
    lines = as_text.render_text(result_of({"a": {"P@5": [0.5, 0.5], "NumRet": [0, 1]}}), RenderOptions()).splitlines()
    bars = {line.split()[0]: line.count("█") for line in lines if line.startswith(("P@5", "NumRet"))}
    assert bars == {"P@5": 12, "NumRet": 0}


def test_a_long_name_folds_at_a_terminal_and_stays_whole_in_a_pipe() -> None:
    name = "x" * 300
    long = result_of({name: {"P@5": [0, 1]}, "b": {"P@5": [0, 0]}})
    assert name in as_text.render_text(long, RenderOptions())
    folded = as_text.render_text(long, RenderOptions(wrap=True))
    assert max(map(len, folded.splitlines())) <= 80
    assert folded.count("x") == 300


def test_a_query_that_a_run_lacks_is_a_dash_when_it_is_skipped() -> None:
    skipped = result_of({"a": {"P@5": [0.2, 0.4]}, "b": {"P@5": [0.6]}})
    text = as_text.render_text(skipped, RenderOptions(per_query=True))
    assert re.search(r"q2 +0\.4000 +–", text)
    assert "each run: a 2, b 1 of 2" in text


def test_verbose_says_what_each_measure_is() -> None:
    assert "divided by k" in as_text.render_text(TWO, RenderOptions(verbose=True))
    assert "divided by k" not in as_text.render_text(TWO, RenderOptions())


def test_markdown_bolds_the_best_and_sets_the_summary_apart_from_queries() -> None:
    text = as_markdown.render_markdown(TWO, RenderOptions(per_query=True))
    assert text.splitlines()[:4] == [
        "| system | nDCG@10 | P@5 |",
        "| :--- | ---: | ---: |",
        "| old | 0.3750 | **0.3000** |",
        "| new | **0.7500** | 0.2000 |",
    ]
    assert "| (mean) | 0.3750 | **0.7500** |" in text


def test_latex_is_a_booktabs_table_ready_to_paste() -> None:
    assert as_latex.render_latex(TWO, RenderOptions()).splitlines() == [
        r"% \usepackage{booktabs}",
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"system & nDCG@10 & P@5 \\",
        r"\midrule",
        r"old & 0.3750 & \textbf{0.3000} \\",
        r"new & \textbf{0.7500} & 0.2000 \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]
    assert as_latex.render_latex(TWO, RenderOptions(per_query=True)).count(r"\end{longtable}") == 2


@pytest.mark.parametrize(
    ("width", "blocks", "shown"), [(60, 1, "a question of many words …"), (40, 3, QUESTION), (100, 1, QUESTION)]
)
def test_the_texts_of_queries_are_cut_before_a_table_is_split(width: int, blocks: int, shown: str) -> None:
    columns = (Column("query"), Column("value", "value"), Column("text"), Column("relevant"))
    printer = TablePrinter(RenderOptions(width=width))
    printer.summary(Table("queries", "", columns, (("q1", 0.5, QUESTION, "doc1"),)))
    lines = printer.text().splitlines()
    assert sum(line.startswith("query") for line in lines) == blocks
    assert shown.rstrip(" …") in printer.text()
    assert blocks > 1 or max(map(len, lines)) <= max(width, len(QUESTION) + 40)
