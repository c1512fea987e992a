"""The decision and the table as a picture and as Markdown: the same words and numbers, nothing clipped, nothing that fires."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

import rankproof
from rankproof._analysis.changes.changes import compare_before_after
from rankproof._charts.figure import figure_of, figure_style
from rankproof._data.table import Column, FilledColumn, Table, table_of_columns
from rankproof._evaluation.result import Result
from rankproof._io.escape import for_github, for_github_html
from rankproof._render.ci import MAX_COMMENT, folded_part, limited_comment
from rankproof._render.table import shown_rows
from rankproof._report.summary import ReportSummary, changes_summary, results_summary
from rankproof._report.summary_chart import DPI, WIDTH, summary_chart, summary_png
from rankproof._report.summary_files import limited_table, summary_markdown
from rankproof._results.experiment_result import ExperimentResult
from support.answering_results import answering_results
from support.before_after import before_after, without_judgements
from support.claim_results import claim_results
from support.decision_folders import FOLDERS, made_folder
from support.examples import sampled
from support.hostile_results import harmful_results
from support.hostile_strings import STRINGS

HOSTILE = (
    *STRINGS,
    *("| a | b |", "`code`", "[link](https://evil.example)", "![x](https://evil.example/x.png)", "https://evil.example/a?b=1"),
    *(
        "www.evil.example",
        "mail@evil.example",
        "<https://evil.example>",
        "@team please",
        "hello @someone",
        "#12",
        "owner/repo#12",
    ),
    *("GH-12", "# heading", "- item", "1. item", "> quote", "***", "---", "===", "    code", "~~~", "$x^2$", "$$x$$", ":tada:"),
    *("<!-- x -->", "\\[escaped\\](https://evil.example)", "a\nb\n\n# c", "[x]: https://evil.example", "ftp://evil.example"),
    *("mailto:a@evil.example", "\\", "&amp;", "</details>", "</sub><b>x</b>", "[^1]", "[x][y]", "W" * 5_000),
)
ALLOWED = {
    *("h3", "p", "table", "thead", "tbody", "tr", "th", "td", "strong", "ul", "li"),
}
"""The elements of our own Markdown; its HTML is <details>, <summary> and <sub>."""
OUR_HTML = {"<sub>", "</sub>", "<details>", "</details>", "<sup>", "</sup>"}


def rendered(text: str) -> list[Any]:
    """Every token of the Markdown, as GitHub reads it: tables, strikethrough, HTML and bare links."""
    flat: list[Any] = []
    for token in MarkdownIt("gfm-like").parse(text):
        flat += [token, *(token.children or ())]
    return flat


def shown_text(text: str) -> str:
    """What a reader sees, without zero-width spaces."""
    return "".join(token.content for token in rendered(text) if token.type == "text").replace("\u200b", "")


def faults_of(text: str) -> list[str]:
    """What the Markdown makes of the text that is not our own."""
    found = []
    for token in rendered(text):
        if token.type in ("html_block", "html_inline"):
            lines = [line for line in token.content.strip().splitlines() if not line.startswith("<summary>")]
            found += [line for line in lines if line not in OUR_HTML]
        elif token.nesting == 1 and token.tag not in ALLOWED:
            found.append(f"<{token.tag}>")
        elif token.type in ("image", "code_inline", "fence", "code_block", "hr"):
            found.append(token.type)
    return found


def hostile_summary(texts: tuple[str, ...] = HOSTILE) -> ReportSummary:
    columns = [FilledColumn(Column(text, "number", drop_order=at), texts) for at, text in enumerate(("system", *texts[:4]))]
    table = replace(table_of_columns("systems", "", columns), highlighted=frozenset((1,)))
    return ReportSummary(texts[0], texts[:3], texts, table, legend=texts[-1])


def box_of(image: Any) -> tuple[int, int, int, int]:
    from PIL import Image, ImageChops

    plain = image.convert("RGB")
    found = ImageChops.difference(plain, Image.new("RGB", plain.size, (255, 255, 255))).getbbox()
    assert found is not None, "the picture is blank"
    return found


SUMMARIES: dict[str, Callable[[], ReportSummary]] = {
    "four systems": lambda: results_summary(FOLDERS["four systems"]()),
    "not decided": lambda: results_summary(FOLDERS["equal skills"]()),
    "given costs": lambda: results_summary(FOLDERS["given costs"]()),
    "one system": lambda: results_summary(made_folder({"bm25": 0.5})),
    "no measure decides": lambda: results_summary(made_folder({"bm25": 0.5, "dense": 0.5}, measures=("NumRet",))),
    "forty systems": lambda: results_summary(made_folder({f"system {at}": at / 40 for at in range(40)}, n=20)),
    "answers": lambda: results_summary(answering_results()),
    "answers alone": lambda: results_summary(claim_results()),
    "no judgements": lambda: results_summary(without_judgements(FOLDERS["two systems"]())),
    "changes": lambda: changes_summary(compare_before_after(*before_after())),
    "no change": lambda: changes_summary(compare_before_after(*before_after()[:1] * 2)),
    "changes without judgements": lambda: changes_summary(compare_before_after(*map(without_judgements, before_after()))),
    "changes of answers": lambda: changes_summary(compare_before_after(claim_results(), claim_results())),
    "harmful": lambda: results_summary(harmful_results()),
    "harmful changes": lambda: changes_summary(compare_before_after(harmful_results(), harmful_results())),
    "hostile": hostile_summary,
    "nothing": lambda: ReportSummary("", (), (), Table("systems", "", (Column("system"),), ())),
}


@pytest.fixture(scope="module", params=SUMMARIES)
def summary(request: pytest.FixtureRequest) -> ReportSummary:
    return SUMMARIES[request.param]()


@pytest.mark.parametrize("summary", sampled(SUMMARIES, 9), indirect=True)
def test_the_picture_has_the_promised_size_and_is_not_blank(summary: ReportSummary) -> None:
    from PIL import Image

    content = summary_png(summary)
    image = Image.open(io.BytesIO(content))
    image.load()
    assert (image.format, image.size[0]) == ("PNG", round(WIDTH * DPI / 72)) == ("PNG", 2000)
    left, top, right, bottom = box_of(image)
    assert left >= 40
    assert top >= 40
    assert image.size[0] - right >= 40
    assert image.size[1] - bottom >= 20
    assert summary_png(summary) == content


@pytest.mark.parametrize("summary", sampled(SUMMARIES, 4), indirect=True)
def test_no_text_of_the_picture_is_clipped_or_covers_another(summary: ReportSummary) -> None:
    with figure_style():
        figure = figure_of(summary_chart(summary))
        renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
        width, height = figure.get_size_inches() * figure.dpi
        boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in figure.texts if text.get_text().strip()]
    for text, box in boxes:
        assert box.x0 >= 0, text
        assert box.x1 <= width, text
        assert box.y0 >= 0, text
        assert box.y1 <= height, text
    for at, (text, box) in enumerate(boxes):
        for other, beside in boxes[at + 1 :]:
            together = min(box.x1, beside.x1) - max(box.x0, beside.x0), min(box.y1, beside.y1) - max(box.y0, beside.y0)
            assert together[0] < 1 or together[1] < min(box.height, beside.height) / 3, (text, other)


def test_the_picture_shows_text_as_text() -> None:
    with figure_style():
        texts = [
            text.get_text() for text in figure_of(summary_chart(hostile_summary(("$x^2$", "a\u202eb", "日本", "_x_")))).texts
        ]
    assert "$x^2$" in texts
    assert "a\\u202eb" in texts
    assert "\\u65e5\\u672c" in texts


def test_the_picture_and_the_comment_have_the_decision_and_the_values_of_compare() -> None:
    results = FOLDERS["four systems"]()
    comparison, summary = rankproof.compare(results), results_summary(results)
    assert summary.sentences == comparison.decision.sentences
    rows = [[cell.text for cell in row] for row in shown_rows(summary.table)]
    assert sorted(row[0] for row in rows) == sorted(comparison.systems)
    assert [row[1] for row in rows] == [f"{comparison.values[row[0]]['nDCG@10']:.4f}" for row in rows]
    assert [column.name for column in summary.table.columns][1:4] == ["nDCG@10", "95% CI", "vs bm25 pp (95% CI)"]
    text = shown_text(summary_markdown(summary))
    with figure_style():
        drawn = " ".join(one.get_text() for one in figure_of(summary_chart(summary)).texts)
    for sentence in comparison.decision.sentences:
        assert sentence in text
        assert sentence in drawn
    for row in rows:
        assert row[1] in text
        assert row[1] in drawn
        assert row[3] in drawn


@pytest.mark.slow
def test_the_chosen_system_is_in_the_picture_of_many_systems() -> None:
    skills = {f"system {at}": 0.1 for at in range(40)} | {"the best": 3.0}
    summary = results_summary(made_folder(skills, n=40))
    assert [summary.table.rows[at][0] for at in summary.table.highlighted] == ["the best"]
    with figure_style():
        texts = [text.get_text() for text in figure_of(summary_chart(summary)).texts]
    assert "the best" in texts
    assert "and 11 more systems" in texts


def test_the_picture_of_changes_has_the_differences_of_compare() -> None:
    before, after = before_after()
    comparison = rankproof.compare({"before": before, "after": after})
    summary = changes_summary(compare_before_after(before, after))
    assert summary.sentences[1:] == comparison.decision.sentences
    (tested,) = [
        one for one in comparison.pairs if {one.system, one.other} == {"before/hybrid", "after/hybrid"} and not one.exploratory
    ]
    assert tested.ci is not None
    at = [row[0] for row in summary.table.rows].index("hybrid")
    shown = f"+{100 * tested.difference:.1f} [{100 * tested.ci[0]:.1f}, {100 * tested.ci[1]:.1f}]"
    assert summary.table.rows[at][3] == shown
    assert summary.table.highlighted == {at}


def test_a_system_of_the_later_results_alone_is_highlighted_if_it_is_chosen() -> None:
    before, after = made_folder({"bm25": 0.1}, n=40), made_folder({"bm25": 0.1, "the best": 3.0}, n=40)
    changes = compare_before_after(before, after)
    assert changes.main is not None
    assert changes.main.decision.systems == ("the best",)
    summary = changes_summary(changes)
    assert [summary.table.rows[at][0] for at in summary.table.highlighted] == ["the best"]


def test_the_picture_leaves_out_the_interval_of_the_mean_before_the_risk() -> None:
    names = ("the first search system", "the other search system")
    summary = results_summary(made_folder(dict(zip(names, (0.1, 3.0), strict=True)), n=40))
    assert {"95% CI", "risk"} <= {column.name for column in summary.table.columns}
    with figure_style():
        texts = [text.get_text() for text in figure_of(summary_chart(summary)).texts]
    assert "risk" in texts
    assert "95% CI" not in texts


@pytest.mark.slow
def test_the_picture_needs_no_display(tmp_path: Path) -> None:
    rankproof.save_results(FOLDERS["two systems"](), tmp_path / "results")
    env = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    for name in ("a.png", "b.png"):
        command = [sys.executable, "-m", "rankproof", "report", str(tmp_path / "results"), "-o", str(tmp_path / name)]
        assert subprocess.run(command, env={**env, "MPLBACKEND": "TkAgg"}, check=False).returncode == 0
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_the_comment_makes_no_element_link_or_image_of_a_text(summary: ReportSummary) -> None:
    assert faults_of(summary_markdown(summary)) == []


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_text_stays_text_in_a_paragraph_a_list_and_a_table(text: str) -> None:
    escaped = for_github(text)
    table = limited_table(Table("systems", text, (Column(text), Column(text, "value")), ((text, text),)))
    for markdown in (escaped, f"- {escaped}", f"### {escaped}", table):
        assert faults_of(markdown) == []
    (html,) = folded_part(text, "x")
    assert "\n" not in html.partition("<summary>")[2].partition("</summary>")[0]
    assert for_github_html(text) in html
    assert not any(char in for_github_html(text) for char in "<>\"'")


@pytest.mark.parametrize(
    "text", ["@team", "x @team", "#12", "a/b#12", "GH-12", "gh-12", "a@b.example", "www.x.example", "http://x"]
)
def test_mentions_references_and_links_are_parted_by_a_space_without_width(text: str) -> None:
    for escaped in (for_github(text), for_github_html(text)):
        assert "&#8203;" in escaped
        assert escaped.replace("&#8203;", "").replace("\\", "") == text
    assert shown_text(for_github(text)) == text


def test_names_of_measures_stay_plain() -> None:
    assert for_github("nDCG@10 is 0.5 - 1.2, up from 1. See R@100.") == "nDCG@10 is 0.5 - 1.2, up from 1. See R@100."


@pytest.mark.slow
def test_a_comment_is_short_enough_for_github_and_says_what_is_left_out() -> None:
    names = {f"{'W' * 190}{at}": at / 150 for at in range(150)}
    text = summary_markdown(results_summary(made_folder(names, n=12)))
    assert len(text) <= MAX_COMMENT
    assert text.count("<details>") == text.count("</details>")
    assert "more rows" in text
    assert limited_comment(["a" * 40_000, "b" * 40_000]) == (
        f"{'a' * 40_000}\n\nLeft out, because a comment has at most 65,536 characters: 1 part.\n"
    )
    assert len(summary_markdown(hostile_summary(tuple("&" * 60_000 for _ in range(40))))) <= MAX_COMMENT


def test_the_comment_says_the_decision_first_then_the_table_then_folds_the_rest() -> None:
    changes = compare_before_after(*before_after())
    text = summary_markdown(changes_summary(changes))
    assert changes.comparison is not None
    decision = for_github(changes.comparison.decision.sentences[0])
    places = [text.index(part) for part in ("### After is better", decision, "| system |", "<details>")]
    assert places == sorted(places)
    assert [line for line in text.splitlines() if line.startswith("<summary>")] == [
        f"<summary>{title}</summary>"
        for title in (
            "Each system",
            "Settings that changed",
            *(f"Queries that changed most: {name}" for name in _changed(text)),
            "Every measure",
            "Method and notes",
        )
    ]


def _changed(text: str) -> list[str]:
    start = "<summary>Queries that changed most: "
    return [line.removeprefix(start).removesuffix("</summary>") for line in text.splitlines() if line.startswith(start)]


@pytest.mark.slow
def test_report_returns_the_same_picture_and_comment_as_the_command(tmp_path: Path) -> None:
    before, after = before_after()
    page = rankproof.report(after, before=before)
    assert page.to_markdown() == summary_markdown(changes_summary(compare_before_after(before, after)))
    assert page.to_png() == summary_png(changes_summary(compare_before_after(before, after)))
    for name, content in (("a.png", page.to_png()), ("a.md", page.to_markdown().encode()), ("a.html", page.html.encode())):
        assert page.save(str(tmp_path / name)).path == str(tmp_path / name)
        assert (tmp_path / name).read_bytes() == content


def test_results_without_a_query_or_answers_have_a_summary() -> None:
    empty: ExperimentResult = replace(without_judgements(made_folder({"bm25": 1.0})), answers=None)
    assert isinstance(empty.result, Result)
    assert [row[0] for row in results_summary(empty).table.rows] == ["bm25"]
