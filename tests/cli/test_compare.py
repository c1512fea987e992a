"""`rankproof compare` from run files and results folders, in every format."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

import rankproof as rp
from rankproof._analysis.compare import decide_systems
from rankproof._analysis.decision.record import Decision
from rankproof._cli.main import main
from rankproof._data.table import Column, Table
from rankproof._formats import detect
from rankproof._formats.detect import open_file
from rankproof._render.formats import RenderOptions
from rankproof._render.table import TABLE_RENDERERS
from rankproof._results.folder import save_results
from rankproof.measures import parse_measures
from support.compared_systems import FAST, SYSTEMS, comparison_tables, result_of, target_at
from support.examples import crossed
from support.small_results import small_results

QUERIES = [f"q{at}" for at in range(9)]
QUICK = ("--samples", "1000", "--resamples", "200")


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Judgements and three runs: the second as good as the first, the third worse."""
    (tmp_path / "qrels").write_text("".join(f"q{at} 0 target 1\n" for at in range(40)))
    ranks = {"first": [1] * 40, "second": [1] * 38 + [2, 2], "third": [4, 5] * 20}
    for name, row in ranks.items():
        lines = [f"{query} Q0 {doc} 1 {score} t\n" for query, docs in target_at(row).items() for doc, score in docs.items()]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    return [str(tmp_path / "qrels"), *(str(tmp_path / f"{name}.run") for name in ranks)]


def shown(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[str, str]:
    assert main(["compare", *argv]) == 0
    found = capsys.readouterr()
    return found.out, found.err


def test_the_decision_comes_first_then_one_table(capsys: pytest.CaptureFixture[str], files: list[str]) -> None:
    out, err = shown(capsys, *files, "-m", "RR", *QUICK)
    lines = out.splitlines()
    assert " ".join(lines[:4]) == (
        "Ship first: 1.000 RR; risk 4.7% (limit 5%) of being more than 2 pp (2%) below the best. "
        "It is not shown to be better than second (+2.5 pp, 2 queries differ), "
        "but second could be more than 2 pp worse (risk 58%). "
        "Margin 2 pp, 2% of the best; n = 40."
    )
    table = out.partition("──\n")[2].splitlines()
    assert [line.split()[0] for line in table[:3]] == [">", "second", "third"]
    assert len(lines) <= 20
    assert len(err.splitlines()) <= 10


def test_every_pair_is_a_sentence_on_demand(capsys: pytest.CaptureFixture[str], files: list[str]) -> None:
    plain, _ = shown(capsys, *files, "-m", "RR", *QUICK)
    out, _ = shown(capsys, *files, "-m", "RR", "--details", *QUICK)
    assert "is better than" not in plain
    assert "first is better than third in RR: +77.50 pp (95% CI " in out
    assert (
        "No significant difference between first and second in RR: +2.50 pp (no interval because only 2 queries differ, " in out
    )
    assert "p t-test" in out
    assert "seed 0" in out


def test_the_same_seed_gives_the_same_output_and_another_is_printed(capsys: pytest.CaptureFixture[str], files: list[str]) -> None:
    first, again, other = (shown(capsys, *files, "--seed", seed, "--details", *QUICK)[0] for seed in ("1", "1", "2"))
    assert first == again
    assert "seed 1;" in first
    assert "seed 2;" in other


def test_without_measures_three_are_compared_and_one_decides(capsys: pytest.CaptureFixture[str], files: list[str]) -> None:
    out, _ = shown(capsys, *files, "--format", "json", *QUICK)
    found = json.loads(out)
    assert (found["primary"], found["measures"]) == ("nDCG@10", ["nDCG@10", "RR@10", "R@100"])
    out, _ = shown(capsys, *files, "--primary", "P@1", "--format", "json", *QUICK)
    assert (json.loads(out)["primary"], json.loads(out)["measures"][1:]) == ("P@1", ["nDCG@10", "RR@10", "R@100"])


def test_margin_baseline_and_costs_are_options(capsys: pytest.CaptureFixture[str], files: list[str]) -> None:
    costs = ("--cost", "first=9", "--cost", "second=1", "--cost", "third=1")
    asked = ("-m", "RR", "--margin", "0.1", "--baseline", "third", *costs)
    out, _ = shown(capsys, *files, *asked, "--format", "json", *QUICK)
    found = json.loads(out)
    assert (found["decision"]["systems"], found["decision"]["margin"], found["baseline"]) == (["second"], 0.1, "third")
    assert len(found["pairs"]) == 2
    assert shown(capsys, *files, *asked, *QUICK)[0].startswith("Ship second: 0.975 RR at cost 1, 9 times cheaper than first")


def test_json_has_the_decision_and_every_table_and_csv_all_numbers(capsys: pytest.CaptureFixture[str], files: list[str]) -> None:
    out, _ = shown(capsys, *files, "-m", "RR,Success@1", "--baseline", "first", "--format", "json", *QUICK)
    found = json.loads(out)
    assert (found["decision"]["decided"], found["decision"]["sentences"][0][:11]) == (True, "Keep first:")
    tables = found["tables"]
    assert [table["name"] for table in tables] == ["systems", "verdicts", "verdicts", "letters", "details"]
    assert tables[1]["facts"]["seed"] == 0
    assert {row["verdict"] for row in tables[4]["rows"]} == {"worse", "not significant"}
    out, _ = shown(capsys, *files, "-m", "RR,Success@1", "--baseline", "first", "--format", "csv", *QUICK)
    rows = list(csv.DictReader(out.splitlines()))
    assert [float(row["p adjusted"]) for row in rows] == [row["p adjusted"] for row in tables[4]["rows"]]
    lows = [float(row["95% CI low"]) if row["95% CI low"] else None for row in rows]
    assert lows == [row["95% CI"] and row["95% CI"][0] for row in tables[4]["rows"]]
    assert None in lows


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize("name", ["a-very-long-name-of-a-system-" * 4, "検索システム" * 12, "short"])
def test_nothing_is_wider_than_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, files: list[str], width: int, name: str
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    names = [option for one in (f"{name}1", f"{name}2", "third") for option in ("--name", one)]
    out, err = shown(capsys, *files, *names, *QUICK)
    assert [line for line in (*out.splitlines(), *err.splitlines()) if cell_len(line) > width] == []
    rows = [line.split("  ")[0] for line in out.partition("──\n")[2].splitlines()[:3]]
    assert len(set(rows)) == 3


@pytest.mark.parametrize(("width", "left_out"), [(40, "vs first pp (95% CI), p, p adjusted"), (60, "p"), (80, "")])
def test_a_narrow_table_says_which_columns_it_leaves_out(
    capsys: pytest.CaptureFixture[str], files: list[str], monkeypatch: pytest.MonkeyPatch, width: int, left_out: str
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    text = " ".join(shown(capsys, *files, "-m", "RR", *QUICK)[0].split())
    assert (f"Left out in {width} columns: {left_out}; a wider terminal shows more." in text) == bool(left_out)
    assert ("Left out" in text) == bool(left_out)


def test_results_folders_are_compared_and_joined(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    save_results(small_results(queries=QUERIES), tmp_path / "one")
    out, _ = shown(capsys, str(tmp_path / "one"), "-m", "RR@10", "--baseline", "bm25", *QUICK)
    assert "RR(rel=2)@10" in out
    assert "Not decided: a decision needs at least 30 queries (n = 9)." in out


def test_folders_about_different_data_are_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from dataclasses import replace

    save_results(small_results(), tmp_path / "one")
    save_results(replace(small_results(), fingerprint="e" * 64), tmp_path / "two")
    assert main(["compare", str(tmp_path / "one"), str(tmp_path / "two")]) == 2
    assert "are about different data (fingerprints of datasets: ffffffffffff and eeeeeeeeeeee)" in capsys.readouterr().err


def systems_of(capsys: pytest.CaptureFixture[str], *argv: str) -> list[str]:
    out, _ = shown(capsys, *argv, "-m", "RR@10", "--format", "json", *QUICK)
    return [row["system"] for table in json.loads(out)["tables"] if table["name"] == "letters" for row in table["rows"]]


def test_folders_of_one_experiment_are_distinguished_by_their_names(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folders = [save_results(small_results(["bm25"], QUERIES), tmp_path / name) for name in ("one", "two", "three")]
    assert systems_of(capsys, *folders) == ["one/bm25", "two/bm25", "three/bm25"]
    named = ("--name", "old", "--name", "new", "--name", "newer")
    assert systems_of(capsys, *folders, *named) == ["old/bm25", "new/bm25", "newer/bm25"]
    again = save_results(small_results(["bm25"], QUERIES), tmp_path / "deep" / "one")
    assert systems_of(capsys, folders[0], again) == [f"{folders[0]}/bm25", f"{again}/bm25"]


def test_names_that_do_not_fit_the_folders_are_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folders = [save_results(small_results(["bm25"], QUERIES), tmp_path / name) for name in ("one", "two")]
    assert main(["compare", *folders, "--name", "old"]) == 2
    assert capsys.readouterr().err == "1 name for 2 results folders; give each folder a name, or none\n"
    assert main(["compare", *folders, "--name", "old", "--name", "old"]) == 2
    assert capsys.readouterr().err.startswith("two systems are called old/bm25; give each folder a name with --name")


def test_folders_with_another_rel_are_refused_for_that(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from dataclasses import replace

    save_results(small_results(), tmp_path / "one")
    save_results(replace(small_results(), rel=1), tmp_path / "two")
    assert main(["compare", str(tmp_path / "one"), str(tmp_path / "two")]) == 2
    assert "were evaluated with --rel 2 and 1; pass one --rel for both" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ([], "no input files; specify one or more results folders"),
        (["--alpha", "x"], "--alpha is x; choose a number above 0 and below 0.5"),
        (["--samples", "5"], "--samples is 5; choose a whole number from 100"),
        (["--equivalence", "-1"], "--equivalence is -1.0; choose a number above 0"),
        (["--margin", "0"], "margin is 0; pass a difference above 0"),
        (["--cost", "first"], "argument --cost: 'first' is not a system and its cost, as in bm25=1.4"),
        (["--cost", "first=1", "--cost", "first=2.5"], "--cost is given twice for first (1 and 2.5); give it once"),
        (["--cost", "fourth=1"], "no system is called fourth; choose from: first, second, third"),
        (["--primary", "NumRet"], "NumRet cannot be the primary measure; choose from: nDCG@10, RR@10, R@100"),
        (["--baseline", "none"], "no system is called none; choose from: first, second, third"),
        (["-m", "NumRet"], "only means can be compared, and no evaluated measure is a mean"),
        (["-o", ""], "the output has no name"),
    ],
)
def test_wrong_usage_is_one_line(capsys: pytest.CaptureFixture[str], files: list[str], argv: list[str], words: str) -> None:
    assert main(["compare", *(files if argv else []), *argv]) == 2
    error = capsys.readouterr().err
    assert error.startswith(words)
    assert error.count("\n") == 1


def test_one_run_alone_cannot_be_compared(capsys: pytest.CaptureFixture[str], files: list[str]) -> None:
    assert main(["compare", *files[:2]]) == 2
    assert capsys.readouterr().err.startswith("there is only one system; compare two or more")


def test_the_output_may_be_a_file_and_never_an_input(
    capsys: pytest.CaptureFixture[str], files: list[str], tmp_path: Path
) -> None:
    assert main(["compare", *files, *QUICK, "--format", "latex", "-o", str(tmp_path / "t.tex")]) == 0
    assert (tmp_path / "t.tex").read_text().startswith("% \\usepackage{booktabs}")
    assert main(["compare", *files, "-o", files[1]]) == 2
    assert "would overwrite" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "format"), [("a.csv", "csv"), ("a.json", "json"), ("a.md", "markdown"), ("a", "table")])
@pytest.mark.parametrize("behind", [[], ["--format", "latex"]])
def test_the_end_of_the_name_of_a_file_chooses_the_format(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, files: list[str], name: str, format: str, behind: list[str]
) -> None:
    assert main(["compare", *files, *QUICK, "-o", str(tmp_path / name), *behind]) == 0
    assert main(["compare", *files, *QUICK, "-o", str(tmp_path / "b"), "--format", *(behind[1:] or [format])]) == 0
    assert (tmp_path / name).read_text() == (tmp_path / "b").read_text()


def test_letters_stand_raised_in_latex_and_markdown_and_beside_the_value_in_text() -> None:
    tables = [table for table in comparison_tables(result_of(SYSTEMS), **FAST) if table.name == "letters"]
    value = f"{sum(SYSTEMS['good']['nDCG@10']) / 60:.4f}"
    assert f"good & d & {value}$^{{abc}}$ \\\\" in TABLE_RENDERERS["latex"](tables, RenderOptions())
    assert f"| good | d | {value}<sup>abc</sup> |" in TABLE_RENDERERS["markdown"](tables, RenderOptions())
    assert f"{value} abc" in TABLE_RENDERERS["table"](tables, RenderOptions())
    assert "system,letter,nDCG@10,nDCG@10 beats" in TABLE_RENDERERS["csv"](tables, RenderOptions())


HOSTILE: list[Any] = ["\x1b[31mred", "a\u202eb", "=cmd|'x'", "<b>&amp;", "$\\input{x}_%", "new\nline", 'comma,"quote"']


@pytest.mark.parametrize(("name", "view"), crossed(dict.fromkeys(HOSTILE, tuple(TABLE_RENDERERS))))
def test_hostile_names_are_harmless_in_every_view(name: str, view: str) -> None:
    tables = comparison_tables(
        result_of({name: SYSTEMS["good"], "base": SYSTEMS["base"], "near": SYSTEMS["near"]}), equivalence=0.02, **FAST
    )
    out = TABLE_RENDERERS[view](tables, RenderOptions())
    assert "\x1b" not in out
    assert "\u202e" not in out or view == "csv"
    assert "new\nline" not in out
    if view == "csv":
        assert all(not row.startswith("=") for line in out.splitlines() for row in next(csv.reader([line]), []))
    if view == "json":
        assert json.loads(out)["tables"][0]["rows"][0]["pair"].startswith(name)
    if view == "latex":
        assert "\\input" not in out
    if view == "markdown":
        assert "<b>" not in out


@pytest.mark.parametrize(
    ("view", "line"),
    [
        ("table", "> b        2"),
        ("markdown", "| **b** | 2 |"),
        ("latex", "\\textbf{b} & 2 \\\\"),
    ],
)
def test_a_row_that_stands_out_does_so_by_its_name_and_no_star(view: str, line: str) -> None:
    columns = (Column("what"), Column("count", "count"))
    out = TABLE_RENDERERS[view]([Table("t", "Title", columns, (("a", 1), ("b", 2)), highlighted=frozenset({1}))], RenderOptions())
    assert line in out.splitlines()
    assert view == "markdown" or "*" not in out


@pytest.mark.slow
def test_comparing_loads_no_scipy_and_its_help_no_numpy(files: list[str]) -> None:
    import subprocess
    import sys

    code = "import sys; from rankproof._cli.main import main; main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    for argv, absent in ((files, "scipy"), (["--help"], "numpy")):
        done = subprocess.run(
            [sys.executable, "-c", code, "compare", *argv], capture_output=True, text=True, check=True, timeout=60
        )
        assert "rankproof._cli.commands.compare" in done.stderr.split()
        assert absent not in done.stderr.split()


@pytest.mark.parametrize(
    ("measures", "primary"),
    [("AP,nDCG@10", "AP"), ("RR@10 nDCG@10,AP", "RR@10"), ("nDCG@10,AP", "nDCG@10"), ("NumRet,P@1,AP", "P@1")],
)
def test_the_first_measure_decides_in_the_text_in_json_and_in_python(
    measures: str, primary: str, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    out, _ = shown(capsys, *files, "-m", measures, *QUICK)
    assert f" {primary}" in out.partition("\nsystem")[0]
    assert out[out.index("\nsystem") :].split()[1] == primary
    document = json.loads(shown(capsys, *files, "-m", measures, "--format", "json", *QUICK)[0])
    assert (document["primary"], document["decision"]["measure"], document["measures"][0]) == (primary,) * 3
    assert all(f"> {name} " in out for name in document["decision"]["systems"])
    runs = {Path(path).stem: path for path in files[1:]}
    found = rp.compare(files[0], runs, parse_measures(measures), samples=1000, resamples=200)
    assert json.loads(json.dumps(found.decision.to_dict())) == document["decision"]
    assert any(note == "P@1 decides, because NumRet cannot say which system is better" for note in found.notes) == (
        "NumRet" in measures
    )


def test_the_first_measure_decides_before_the_primary_measure_of_the_experiment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = small_results()
    settings = replace(results.decision_settings, primary="nDCG@10")
    save_results(replace(results, decision_settings=settings), tmp_path / "results")
    for options, primary in (
        ([], "nDCG@10"),
        (["-m", "AP,nDCG@10"], "AP(rel=2)"),
        (["-m", "AP,nDCG@10", "--primary", "nDCG@10"], "nDCG@10"),
    ):
        out, _ = shown(capsys, str(tmp_path / "results"), *options, "--format", "json", *QUICK)
        assert json.loads(out)["primary"] == primary
    assert rp.compare(tmp_path / "results", measures=["AP", "nDCG@10"]).primary == "AP(rel=2)"


@pytest.mark.parametrize("judged", ["target", "elsewhere"])
def test_each_run_file_is_read_once(judged: str, files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if no retrieved document is judged, and the pairs to judge next are listed."""
    Path(files[0]).write_text("".join(f"q{at} 0 {judged} 1\nq{at} 0 other 0\n" for at in range(40)))
    opened: list[str] = []

    def counted(path: str, *arguments: Any, **options: Any) -> Any:
        opened.append(path)
        return open_file(path, *arguments, **options)

    monkeypatch.setattr(detect, "open_file", counted)
    assert main(["compare", *files, *QUICK]) == 0
    assert sorted(path for path in opened if path.endswith(".run")) == sorted(files[1:])


def test_run_compares_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Decision] = []

    def counted(*arguments: Any, **settings: Any) -> Decision:
        made.append(decide(*arguments, **settings))
        return made[-1]

    decide = decide_systems._decision
    monkeypatch.setattr(decide_systems, "_decision", counted)
    assert main(["run", "--systems", "bm25,bm25-title", "--limit", "5", "-o", str(tmp_path / "out"), "--quiet"]) == 0
    assert (tmp_path / "out" / "report.html").exists()
    assert len(made) == 1
