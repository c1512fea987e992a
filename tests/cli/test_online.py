"""`rankproof online`: what it prints, and its results folder, which serve shows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from rankproof._cli.main import main
from rankproof._results.live_results import load_live_results
from rankproof._server.home import home_rows
from rankproof._server.library import ResultsLibrary, library_rows
from rankproof.errors import InputError
from support.live_traffic import interleaved_rows, variant_rows, written
from support.results_server import saved, serving

_CLEAR = {"bm25": 0.1, "hybrid": 0.9}


def test_the_answer_comes_first_then_the_evidence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["online", written(tmp_path, interleaved_rows(_CLEAR))]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Ship hybrid: preferred in ")
    headings = [
        line for line in printed.split("\n") if line in ("Systems", "Net preference") or line.startswith("Trend over 9 days")
    ]
    assert headings == ["Systems", "Net preference", "Trend over 9 days, the last looks"]


def test_json_has_the_record_of_the_decision_and_every_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["online", written(tmp_path, variant_rows({"A": 0.0, "B": 0.9})), "-m", "CTR@3", "--format", "json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert (plain["decision"]["outcome"], plain["decision"]["systems"], plain["decision"]["live"]["kind"]) == (
        "ship",
        ["B"],
        "ab",
    )
    assert [table["name"] for table in plain["tables"]] == ["systems", "differences", "metrics", "trend", "rows"]


@pytest.mark.parametrize("command", [["online"], ["sample", "-n", "30", "--min-users", "1"]])
def test_one_set_flag_names_several_columns(tmp_path: Path, command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "log.csv"
    shown = [f"s{at},u{at},search {at},{'AB'[at % 2]},shown,1,d" for at in range(60)]
    table.write_text("\n".join(["visit,person,asked,side,what,place,item", *shown, "s1,u1,,,click,1,d", ""]), encoding="utf-8")
    columns = "session=visit,user=person,query=asked,variant=side,action=what,rank=place,doc=item"
    assert main([*command, str(table), "--set", columns, "--format", "json"]) == 0
    facts = json.loads(capsys.readouterr().out)["facts"]
    assert facts["sessions"] == 60
    assert main([*command, str(table), "--set", "session=visit", "--set", "session=person"]) == 2
    assert "--set is given twice for session (visit and person); give it once" in capsys.readouterr().err


@pytest.mark.parametrize("view", ["markdown", "csv", "latex"])
def test_other_formats_are_files_with_a_suffix(tmp_path: Path, view: str, capsys: pytest.CaptureFixture[str]) -> None:
    log = written(tmp_path, interleaved_rows(_CLEAR, sessions=300))
    assert main(["online", log, "--format", view, "-o", str(tmp_path / "page.txt")]) == 0
    assert "hybrid" in (tmp_path / "page.txt").read_text(encoding="utf-8")
    assert main(["online", log, "--format", view, "-o", str(tmp_path / "results")]) == 2
    assert "needs a file" in capsys.readouterr().err


def _saved(path: Path, qualities: dict[str, float], name: str) -> Path:
    assert main(["online", written(path, interleaved_rows(qualities, sessions=300)), "-o", str(path / name), "--quiet"]) == 0
    return path / name


def test_the_folder_can_be_read_again_and_replaced_and_a_change_is_noticed(tmp_path: Path) -> None:
    folder = _saved(tmp_path, _CLEAR, "results")
    assert load_live_results(str(folder)).sentences[0].startswith("Ship hybrid")
    assert sorted(path.name for path in folder.iterdir()) == ["report.html", "result.json", "summary.json"]
    _saved(tmp_path, {"bm25": 0.5, "hybrid": 0.5}, "results")
    document = load_live_results(str(folder))
    assert document.sentences[0].startswith("Not decided")
    text = (folder / "result.json").read_text(encoding="utf-8")
    (folder / "result.json").write_text(text.replace("Not decided", "Ship hybrid"), encoding="utf-8")
    with pytest.raises(InputError, match="the file was changed after it was written; run rankproof online again"):
        load_live_results(str(folder))


def test_a_folder_with_other_files_is_not_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = _saved(tmp_path, _CLEAR, "results")
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    assert main(["online", str(tmp_path / "log.jsonl"), "-o", str(folder)]) == 2
    assert "exists and is not a results folder of rankproof online" in capsys.readouterr().err


def test_the_report_has_the_decision_the_trend_and_every_table(tmp_path: Path) -> None:
    page = (_saved(tmp_path, _CLEAR, "results") / "report.html").read_text(encoding="utf-8")
    assert re.findall(r"<h2[^>]*>([^<]*)", page) == ["Decision", "Trend", "The log"]
    assert "Ship hybrid: preferred in " in page
    assert page.count("whisker") >= 9


def test_serve_shows_live_traffic_among_other_results_and_its_trend(tmp_path: Path) -> None:
    home = tmp_path / "all"
    saved(home / "offline", name="offline", provenance={"created": "2020-05-01T00:00:00Z"})
    _saved(tmp_path, {"bm25": 0.5, "hybrid": 0.5}, "all/monday")
    _saved(tmp_path, _CLEAR, "all/tuesday")
    rows = home_rows(library_rows(ResultsLibrary([str(home)])))
    assert {row.summary.dataset for row in rows} == {"live traffic", ""}
    assert [row.summary.name for row in rows] == ["test", "test", "offline"]
    with serving([home]) as visitor:
        page = visitor.enter().get("/")
        assert "Ship hybrid: preferred in " in page.text
        assert page.text.count("<span>300 sessions</span>") == 2
        (live,) = {row.trend for row in rows if row.trend}
        assert [point["label"] for point in visitor.get(f"/api/r/{live}/trend").json["points"]][-1] in ("monday", "tuesday")
        report = visitor.get(f"/r/{live}")
        assert (report.status, "Every query" in report.text) == (200, False)
        assert "All results" in report.text


def test_other_commands_say_what_the_folder_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = _saved(tmp_path, _CLEAR, "results")
    assert main(["compare", str(folder)]) == 2
    assert "live traffic" in capsys.readouterr().err
