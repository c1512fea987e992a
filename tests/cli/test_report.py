"""`rankproof report`, and the page that `run` leaves in its folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rankproof._cli.main import main
from rankproof._report.page import render_report
from rankproof._results.folder import load_results, save_results
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
        (["report", "{out}", "-o", "{out}/result.json"], "would overwrite"),
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
