"""`rankproof report`, and the page that `run` leaves in its folder."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from rankproof._analysis.changes.changes import compare_before_after
from rankproof._cli.main import main
from rankproof._io.escape import for_github
from rankproof._report.changes_page import render_changes
from rankproof._report.page import render_report
from rankproof._results.folder import load_results, save_results
from support.before_after import before_after
from support.small_results import small_results


@pytest.fixture
def results(tmp_path: Path) -> Path:
    save_results(small_results(), tmp_path / "out")
    return tmp_path / "out"


def test_the_page_is_written_where_it_was_asked_for(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(results), "-o", str(tmp_path / "page.html")]) == 0
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == render_report(load_results(results))
    assert f"report: {tmp_path / 'page.html'}; open it in a browser" in capsys.readouterr().err


def test_without_a_name_it_is_written_into_the_folder_which_can_still_be_replaced(results: Path) -> None:
    assert main(["report", str(results), "--quiet"]) == 0
    assert (results / "report.html").exists()
    save_results(small_results(), results)
    assert not (results / "report.html").exists()


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["report", "nowhere"], "nowhere: no such file or folder; specify a folder that `rankproof run` wrote"),
        (["report", "{out}", "-o", "{out}/result.json"], "choose a file that ends in .html, .png or .md"),
        (["report", "{out}", "-o", "{out}/qrels.tsv"], "would overwrite"),
        (["report", "{out}", "--format", "html", "-o", "{out}/result.json"], "would overwrite"),
        (["report", "{out}", "-o", ""], "the output has no name"),
        (["report", "{out}", "-o", "-"], "- is not a file"),
        (["report", "{out}", "-o", "{out}"], "is not a file; specify a file for the page"),
    ],
)
def test_a_wrong_place_is_refused(results: Path, argv: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = (results / "result.json").read_bytes()
    assert main([part.format(out=results) for part in argv]) == 2
    assert said in capsys.readouterr().err
    assert (results / "result.json").read_bytes() == before


def test_titles_of_documents_come_back_from_the_folder(tmp_path: Path) -> None:
    results = replace(small_results(), snippets={"d1": "Salt · pepper · both", "d2": "no · title"}, titles={"d1": 13})
    save_results(results, tmp_path / "out")
    assert load_results(tmp_path / "out").titles == {"d1": 13}


def test_run_leaves_a_page_in_its_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["run", "--systems", "bm25", "--limit", "5", "-o", str(tmp_path / "out")]
    assert main(asked) == 0
    assert f"open {tmp_path / 'out' / 'report.html'} in a browser" in capsys.readouterr().err
    results = load_results(tmp_path / "out")
    assert (tmp_path / "out" / "report.html").read_text(encoding="utf-8") == render_report(results)
    assert results.titles
    assert all(results.snippets[doc][length : length + 3] == " · " for doc, length in results.titles.items())
    assert main([*asked, "--no-report"]) == 0
    assert "report.html" not in capsys.readouterr().err
    assert not (tmp_path / "out" / "report.html").exists()


@pytest.fixture
def two_folders(tmp_path: Path) -> tuple[str, str]:
    paths = str(tmp_path / "before"), str(tmp_path / "after")
    for path, found in zip(paths, before_after(), strict=True):
        save_results(found, path)
    return paths


def test_two_folders_give_the_page_on_what_changed(two_folders: tuple[str, str], tmp_path: Path) -> None:
    assert main(["report", *two_folders, "-o", str(tmp_path / "changes.html"), "--quiet"]) == 0
    changes = compare_before_after(*map(load_results, two_folders))
    assert (tmp_path / "changes.html").read_text(encoding="utf-8") == render_changes(changes)


@pytest.mark.slow
def test_two_folders_have_a_file_of_their_own_in_the_current_folder(
    two_folders: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for format in ("html", "png", "markdown"):
        assert main(["report", *two_folders, "--format", format]) == 0
        assert main(["report", two_folders[1], "--format", format]) == 0
    made = {"changes.html", "changes.png", "changes.md", "decision.png", "decision.md"}
    assert made == {path.name for path in tmp_path.iterdir()} - {"before", "after"}
    assert (tmp_path / "after" / "report.html").exists()


def test_markdown_may_go_to_standard_output(two_folders: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", *two_folders, "--format", "markdown", "-o", "-", "--name", "v1", "--name", "v2"]) == 0
    assert capsys.readouterr().out.startswith("### v2 is better than v1 in nDCG@10 for hybrid")


def test_the_decision_of_two_folders_is_that_of_compare(
    two_folders: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--primary", "RR@10", "--margin", "0.05"]
    assert main(["compare", *two_folders, *options, "--name", "before", "--name", "after", "--format", "json"]) == 0
    expected = json.loads(capsys.readouterr().out)["decision"]["sentences"]
    assert main(["report", *two_folders, *options, "--format", "markdown", "-o", "-"]) == 0
    said = capsys.readouterr().out
    assert expected
    assert all(for_github(sentence) in said for sentence in expected)


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["{before}", "{after}", "-o", "-"], "- is not a file; specify a file for the page, such as changes.html"),
        (["{before}", "{after}", "--format", "png", "-o", "-"], "specify a file for the page, such as changes.png"),
        (["{before}", "{after}", "--name", "x"], "1 name for two results folders; name both with --name, or none"),
        (["{before}", "{after}", "--name", "x", "--name", "x"], "the two results have the same name"),
        (["{before}", "-o", "decision.jpg"], "cannot be written as decision.jpg; choose a file that ends in .html, .png or .md"),
        (["{before}", "{after}", "-o", "changes.PDF"], "a report cannot be written as changes.PDF"),
        (["{before}", "{after}", "--depth", "5"], "--depth is for run files"),
        (["{before}", "{after}", "--baseline", "nobody"], "no system is called nobody"),
        (
            ["{before}", "{after}", "{after}"],
            "3 results folders, but one or two are expected; specify one results folder, or two",
        ),
        (["{before}", "{after}", "-o", "{after}/qrels.tsv"], "would overwrite"),
    ],
)
def test_wrong_uses_of_two_folders_are_refused(
    two_folders: tuple[str, str], argv: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = two_folders
    assert main(["report", *(part.format(before=before, after=after) for part in argv)]) == 2
    assert said in capsys.readouterr().err


def test_folders_of_different_data_are_refused_with_the_fix(
    two_folders: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_results(small_results(), tmp_path / "other")
    assert main(["report", two_folders[0], str(tmp_path / "other")]) == 2
    said = capsys.readouterr().err
    assert "before and after are about different data (fingerprints of judgements" in said
    assert "compare systems on the same documents, queries and judgements" in said
