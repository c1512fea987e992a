"""Results that are measured on judged documents only (-J): the same reading in every way to make and to read them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import rankproof as rp
from rankproof._cli.main import main
from rankproof._report.explorer import explorer_blocks
from rankproof._results.folder import load_results, save_results
from rankproof._server.judging_queue import DocumentTexts, build_queue
from rankproof.errors import InputError, UsageError
from rankproof.stages import BM25
from rankproof.types import RunOptions

MEASURES = ["nDCG@10", "RR@10", "P@10"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dataset with two judged documents a query, and results of all documents (`whole`) and of judged ones (`judged`)."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    Path("data/corpus.jsonl").write_text("".join(f'{{"_id": "d{at}", "text": "{"word " * (9 - at)}other"}}\n' for at in range(8)))
    Path("data/queries.jsonl").write_text("".join(f'{{"_id": "q{at}", "text": "word"}}\n' for at in range(4)))
    rows = (f"q{at}\td{at + 1}\t0\nq{at}\td{at + 2}\t1\n" for at in range(4))
    Path("data/qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(rows))
    Path("file.toml").write_text('dataset = "data"\n[systems.bm25]\nstage = "bm25"\n[systems.other]\nstage = "bm25"\nk1 = 2.0\n')
    for name, options in (("whole", []), ("judged", ["-J"])):
        assert main(["run", "file.toml", "--no-cache", "--no-report", "-m", ",".join(MEASURES), "-o", name, *options]) == 0
    return tmp_path


def test_the_values_are_those_of_eval_on_judged_documents(folder: Path) -> None:
    found = load_results("judged")
    expected = rp.evaluate(found.qrels, {"bm25": found.system_run("bm25").run}, MEASURES, judged_only=True)
    assert found.result.means["bm25"] == expected.means["bm25"]
    assert found.result.means["bm25"]["RR@10"] == 0.5
    assert load_results("whole").result.means["bm25"]["RR@10"] < 0.5


def test_the_command_line_the_file_and_python_agree(folder: Path) -> None:
    Path("own.toml").write_text("judged_only = true\n" + Path("file.toml").read_text())
    options = RunOptions(cache=None)
    expected = load_results("judged").result.means["bm25"]["RR@10"]
    for found in (rp.run("own.toml", options), rp.run("file.toml", options, judged_only=True)):
        assert found.judged_only
        assert found.result.means["bm25"]["RR@10"] == expected
    assert rp.run({"bm25": BM25()}, options, dataset="data", judged_only=True).result.means["bm25"]["RR@10"] == expected
    assert "judged_only = true" in Path("judged/experiment.toml").read_text()


def test_the_output_says_judged_documents_only(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "file.toml", "--no-cache", "-o", "out", "-J"]) == 0
    assert capsys.readouterr().out.splitlines()[0].endswith("2 systems, judged documents only")
    assert "judged documents only" in Path("out/report.html").read_text()
    assert json.loads(Path("out/result.json").read_text())["judged_only"] is True
    assert json.loads(Path("out/summary.json").read_text())["judged_only"] is True


def test_a_folder_with_another_reading_than_its_values_is_refused(folder: Path) -> None:
    document = Path("judged/result.json")
    document.write_text(document.read_text().replace('"judged_only": true', '"judged_only": false'))
    with pytest.raises(InputError, match="but the files of the folder give"):
        load_results("judged")


@pytest.mark.parametrize("folders", [("whole", "judged"), ("judged", "whole")])
def test_two_readings_are_not_compared(folders: tuple[str, str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["compare", *folders]) == 2
    assert capsys.readouterr().err == "judged was evaluated with -J (judged documents only), whole without it; pass -J for both\n"
    assert main(["compare", *folders, "-J"]) == 0
    with pytest.raises(UsageError, match="judged_only=True for both"):
        rp.compare({name: name for name in folders})
    assert rp.compare({name: name for name in folders}, judged_only=True).values["judged/bm25"]["RR@10"] == 0.5


def test_a_comparison_by_other_measures_keeps_the_reading(folder: Path) -> None:
    assert rp.compare("judged", measures=["RR"]).values["bm25"]["RR"] == 0.5


def test_a_baseline_of_one_reading_is_not_used_for_the_other(folder: Path) -> None:
    assert main(["gate", "judged", "--save", "base.json"]) == 0
    gate = ["--baseline", "base.json", "--max-drop", "nDCG@10=0.1"]
    assert main(["gate", "judged", *gate]) == 0
    assert main(["gate", "whole", *gate]) == 2
    assert main(["gate", "whole", *gate, "-J"]) == 0


def test_ranks_in_the_folder_and_in_the_report_are_those_of_the_values(folder: Path) -> None:
    with Path("judged/per_query.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {(row["first_relevant"], row["retrieved"]) for row in rows} == {("2", "2")}
    blocks = explorer_blocks(load_results("judged"))
    assert blocks["data"]["first"] == [[2] * 4] * 2
    assert blocks["details"]["systems"][0]["retrieved"] == [2] * 4


def test_unjudged_documents_are_still_found_for_judging(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = [build_queue(load_results(name), DocumentTexts(None)) for name in ("judged", "whole")]
    assert found[0].items
    assert found[0].items == found[1].items
    capsys.readouterr()
    assert main(["audit", "judged", "--judge-next", "3", "--format", "csv"]) == 0
    judged = capsys.readouterr()
    assert main(["audit", "whole", "--judge-next", "3", "--format", "csv"]) == 0
    assert judged.out == capsys.readouterr().out
    assert "the whole rankings" in judged.err


def test_saved_results_load_with_their_reading(folder: Path) -> None:
    save_results(load_results("judged"), "again")
    assert load_results("again").judged_only
