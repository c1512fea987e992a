"""Hostile ids and names, in every place where one is shown."""

import csv
import io
import json
import re
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._evaluation.result import MeasureResult, Result, SystemResult
from rankproof._io.escape import escape_csv, escape_json, for_latex, for_markdown
from rankproof._render.formats import RenderOptions
from rankproof._render.result import render_csv, render_json, render_latex, render_markdown, render_text
from rankproof._render.trec import render_trec
from rankproof.errors import MAX_SHOWN_LENGTH, escape_invisible, for_message
from rankproof.measures import parse_measure

HOSTILE = [
    "\x1b[31mred\x1b[0m",
    "\x9b2J",
    "[red]markup[/red]",
    "<script>alert(1)</script>",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2",
    "@SUM(A1)",
    "\tTab",
    "\rReturn",
    "a|b",
    "a,b",
    'say "x"',
    "50% & more_$#{}~^\\",
    "\u202eabc",
    "new\nline",
    "naïve-文書",
    "\udc80",
    "\u061csoft\u00adtag\U000e0041",
    "[base] run",
    "*best",
]
READABLE = [render_text, render_csv, render_markdown, render_trec, render_latex]
RENDERERS = [*READABLE, render_json]
Renderer = Callable[[Result, RenderOptions], str]


def result_with(name: str, query: str) -> Result:
    measure = parse_measure("P@5")
    ones = [
        MeasureResult(measure, 0.5, (query, "other"), np.array([0.4, 0.6])),
        MeasureResult(measure, 0.1, (query, "other"), np.zeros(2)),
    ]
    return Result((query, "other"), tuple(SystemResult(f"{name}{at}", {"P@5": one}, ()) for at, one in enumerate(ones)))


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("render", RENDERERS, ids=lambda render: render.__name__)
def test_no_format_lets_a_control_character_through(render: Renderer, text: str) -> None:
    shown = render(result_with(text, text), RenderOptions(per_query=True))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", shown.replace("\n", "").replace("\t", ""))
    assert shown.encode(errors="backslashreplace")


@pytest.mark.parametrize("mark", ["\u202e", "\u061c", "\u00ad", "\U000e0041", "\u2028", "\ufeff", "\ue000", "\u0378"], ids=ascii)
def test_no_direction_mark_and_nothing_invisible_reaches_a_reader_of_text(mark: str) -> None:
    for render in READABLE:
        assert mark not in render(result_with(mark, mark), RenderOptions(per_query=True))


def test_letters_and_blanks_of_any_script_stay_as_they_are() -> None:
    for text in ("naïve-文書", "a\u3000b\u00a0c", "…–✓", "नमस्ते"):
        assert escape_invisible(text) == text


@pytest.mark.parametrize("text", HOSTILE)
def test_json_gives_every_id_back_as_it_was(text: str) -> None:
    document = render_json(result_with(text, text), RenderOptions(per_query=True))
    found = json.loads(document)["systems"][0]
    assert found["name"] == f"{text}0"
    assert text in found["measures"]["P@5"]["per_query"]


@given(st.text())
def test_json_escaping_never_changes_what_a_document_says(text: str) -> None:
    assert json.loads(escape_json(json.dumps([text], ensure_ascii=False))) == [text]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1"])
def test_a_cell_that_a_spreadsheet_would_run_gets_an_apostrophe(text: str) -> None:
    (cell,) = next(csv.reader([escape_csv(text)]))
    assert cell.startswith("'")
    assert escape_csv(text).startswith('"')


@pytest.mark.parametrize("hidden", ["\u202e", "\u2066", "\u200b", "\u2028", "\x1b", "\ufeff"])
def test_nothing_hides_in_a_cell(hidden: str) -> None:
    assert escape_csv(f"a{hidden}b") == "a" + hidden.encode("unicode_escape").decode() + "b"


@given(st.text(st.characters(exclude_categories=["C", "Zl", "Zp"])))
def test_csv_gives_every_other_id_back_as_it_was(text: str) -> None:
    rows = list(csv.reader(io.StringIO(f"{escape_csv(text)},end\n", newline="")))
    assert len(rows) == 1
    assert rows[0][1] == "end"
    assert rows[0][0] in (text, f"'{text}")


def test_rich_markup_in_an_id_is_shown_and_not_interpreted() -> None:
    assert "[red]x[/red]" in render_text(result_with("s", "[red]x[/red]"), RenderOptions(per_query=True, colour=True))
    assert ":smile:" in render_text(result_with("s", ":smile:"), RenderOptions(per_query=True, colour=True))


def test_a_table_of_ids_with_line_ends_has_no_extra_rows() -> None:
    plain = render_text(result_with("s", "ab"), RenderOptions(per_query=True))
    split = render_text(result_with("s", "a\nb"), RenderOptions(per_query=True))
    assert len(plain.splitlines()) == len(split.splitlines())
    assert r"a\nb" in split


@given(st.text())
def test_a_markdown_cell_has_no_open_border_and_no_html(text: str) -> None:
    cell = for_markdown(text)
    assert not re.search(r"(?<!\\)(?:\\\\)*\|", cell)
    assert not re.search("[<>\n]", cell)


def test_latex_special_characters_are_escaped() -> None:
    assert for_latex(r"50% & $a_b^2$ #{x} \y ~") == (
        r"50\% \& \$a\_b\textasciicircum{}2\$ \#\{x\} \textbackslash{}y \textasciitilde{}"
    )
    assert for_latex("a--b---c") == "a-{}-b-{}-{}-c"


@pytest.mark.parametrize("name", ["[base] run", "*best", "[[x]]", "**"])
def test_no_latex_row_starts_with_an_argument_of_the_line_before(name: str) -> None:
    for line in render_latex(result_with(name, name), RenderOptions(per_query=True)).splitlines():
        assert not line.startswith(("[", "*"))


def test_long_names_that_differ_at_their_end_are_shown_as_different() -> None:
    names = {for_message(f"{'a long name ' * 20}{number}") for number in range(3)}
    assert len(names) == 3
    assert all(len(name) == MAX_SHOWN_LENGTH + 1 for name in names)
