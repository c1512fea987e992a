"""`rankproof plot`: a folder of charts, or one file."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankproof._cli.main import main
from rankproof._plots.registry import PLOT_KINDS
from rankproof._results.folder import save_results
from support.plot_results import wide_results

MAGIC = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A results folder in the current folder, beside judgements and two runs."""
    monkeypatch.chdir(tmp_path)
    save_results(wide_results(["bm25", "dense", "late"], [f"q{at}" for at in range(6)]), "results")
    Path("qrels.txt").write_text("q1 0 d1 1\nq2 0 d2 1\n")
    for name in ("one", "two"):
        Path(f"{name}.run").write_text("q1 Q0 d1 1 2.0 t\nq1 Q0 d3 2 1.0 t\nq2 Q0 d2 1 0.5 t\n")
    return "results"


@pytest.mark.slow
def test_a_folder_gets_every_chart_and_says_so(results: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", results, "--dpi", "40"]) == 0
    assert capsys.readouterr().out.splitlines() == [f"plots/{kind}.png" for kind in PLOT_KINDS]
    assert all(Path(f"plots/{kind}.png").read_bytes().startswith(MAGIC["png"]) for kind in PLOT_KINDS)


@pytest.mark.parametrize("format", MAGIC)
def test_a_file_says_its_format(format: str, results: str) -> None:
    assert main(["plot", results, "--kind", "recall", "-o", f"a.{format.upper()}", "--dpi", "40"]) == 0
    assert Path(f"a.{format.upper()}").read_bytes().startswith(MAGIC[format])


@pytest.mark.slow
def test_a_pdf_takes_several_charts_and_a_picture_takes_one(results: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", results, "--kind", "recall,latency", "-o", "two.pdf"]) == 0
    assert Path("two.pdf").read_bytes().count(b"/Type /Page ") == 2
    assert main(["plot", results, "--kind", "recall,latency", "-o", "two.svg"]) == 2
    assert "two.svg holds one chart, not 2; specify a folder" in capsys.readouterr().err


def test_run_files_have_no_times_and_that_is_noted(results: str, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["plot", "qrels.txt", "one.run", "two.run", "--dpi", "40"]
    assert main([*argv, "--kind", "latency,recall"]) == 0
    told = capsys.readouterr()
    assert told.out == "plots/recall.png\n"
    assert "latency: Run files have no times" in told.err
    assert main([*argv, "--kind", "latency", "-o", "empty.png"]) == 0
    assert Path("empty.png").read_bytes().startswith(MAGIC["png"])
    assert "Run files have no times" in capsys.readouterr().err


def test_measures_that_are_named_get_a_chart_each(results: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", results, "--kind", "differences", "-m", "nDCG(gain='exp')@10,RR", "--dpi", "40", "-o", "each"]) == 0
    assert capsys.readouterr().out.splitlines() == ["each/differences-nDCG-gain--exp--@10.png", "each/differences-RR.png"]


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["--kind", "pie"], "unknown kind pie; choose from: bars, pareto"),
        (["-o", "a.xyz"], "a.xyz has no known suffix; use .png, .svg, .pdf, or end the name of a folder with /"),
        (["--width", "2"], "--width is 2.0; choose a number from 3 to 40"),
        (["--width", "nan"], "--width is nan; choose a number from 3 to 40"),
        (["--dpi", "0"], "--dpi is 0; choose a whole number from 30 to 1,200"),
        (["--width", "40", "--dpi", "1200"], "too many pixels"),
        (["--against", "nobody"], "no system is called nobody; choose from: bm25"),
        (["--system", "dense", "--against", "dense"], "a system cannot be compared with itself"),
        (["--by", "colour"], "no query has a field colour"),
        (["-o", "-"], "charts cannot go to standard output"),
        (["-o", ""], "the output has no name"),
        (["-o", "results"], "is in a results folder"),
        (["-o", "results/charts"], "is in a results folder"),
        (["-o", "results/recall.png", "--kind", "recall"], "is in a results folder"),
        (["-o", "qrels.txt/"], "qrels.txt/ cannot be created"),
        (["-o", "a.svg", "--format", "pdf"], "a.svg is not a pdf file"),
    ],
)
def test_what_cannot_be_drawn_is_refused(argv: list[str], told: str, results: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", results, "--kind", "differences,segments", "--dpi", "40", *argv]) == 2
    assert told in capsys.readouterr().err


def test_an_input_run_is_not_overwritten(results: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("one.run").rename("one.svg")
    before = Path("one.svg").read_bytes()
    assert main(["plot", "qrels.txt", "one.svg", "--kind", "recall", "-o", "one.svg"]) == 2
    assert "one.svg would overwrite one.svg" in capsys.readouterr().err
    assert Path("one.svg").read_bytes() == before
