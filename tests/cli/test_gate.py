"""`rankproof gate` and its --save from end to end: exit codes, files, and refusals."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

import rankproof as rp
from rankproof import Experiment, parse_measure
from rankproof._cli.main import main
from rankproof._cli.terminal import FORMATS
from rankproof._experiment.run import run_experiment
from rankproof._results.folder import save_results
from rankproof.errors import InputError
from rankproof.stages import BM25
from rankproof.types import RunOptions
from support.small_results import small_results

QUERIES = [f"q{at}" for at in range(40)]
EVIL = "<b>&\x1b[31m @team]]>"


def saved_results(path: Path, *, worse: bool = False, name: str = "s") -> str:
    """A results folder of one system, which finds the relevant document first, or third where it is worse."""
    order = ["d2", "d3", "d1", "d4"] if worse else ["d1", "d2", "d3", "d4"]
    ranking = {doc: float(-at) for at, doc in enumerate(order)}
    return save_results(
        small_results([name], QUERIES, scores={name: dict.fromkeys(QUERIES, ranking)}, measures=["RR@10", "P@1"]), path
    )


@pytest.fixture
def baseline(tmp_path: Path) -> str:
    path = str(tmp_path / "baseline.json")
    assert main(["gate", saved_results(tmp_path / "blessed"), "--save", path, "-m", "RR@10", "--quiet"]) == 0
    return path


def test_the_saved_system_passes_and_a_worse_one_fails(tmp_path: Path, baseline: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gate", saved_results(tmp_path / "same"), "--baseline", baseline]) == 0
    assert capsys.readouterr().out.startswith("The gate passed: 2 checks")
    assert main(["gate", saved_results(tmp_path / "worse", worse=True), "--baseline", baseline]) == 3
    out = capsys.readouterr().out
    assert "failed: s: RR(rel=2)@10 fell from 1.0000 to 0.3333 (-0.6667, n = 40): a significant drop (p < 0.0001)." in out


def test_a_missed_threshold_fails_without_a_baseline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = saved_results(tmp_path / "results", worse=True)
    assert main(["gate", folder, "--threshold", "RR@10>=0.3"]) == 0
    assert main(["gate", folder, "--threshold", "RR@10>=0.3", "--threshold", "Success@1 > 0.1"]) == 3
    shown = capsys.readouterr().out
    assert "failed: s: Success(rel=2)@1 is 0.0000 (n = 40) and misses the threshold Success(rel=2)@1 > 0.1 signif" in shown


def test_a_segment_is_decided_on_by_itself(tmp_path: Path, baseline: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gate", saved_results(tmp_path / "worse", worse=True), "--baseline", baseline, "--by", "category"]) == 3
    assert "s: RR(rel=2)@10 in category x fell from 1.0000 to 0.3333" in capsys.readouterr().out


def test_segments_may_come_from_a_file(tmp_path: Path, baseline: str, capsys: pytest.CaptureFixture[str]) -> None:
    listed = tmp_path / "kinds.csv"
    listed.write_text("".join(f"{query},{'odd' if at % 2 else 'even'}\n" for at, query in enumerate(QUERIES)))
    folder = saved_results(tmp_path / "worse", worse=True)
    assert main(["gate", folder, "--baseline", baseline, "--by-file", str(listed), "--by", "length"]) == 3
    assert "s: RR(rel=2)@10 in length short (under 8 words) fell from 1.0000" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["s", EVIL])
def test_junit_and_comment_are_written_also_where_the_gate_fails(name: str, tmp_path: Path, baseline: str) -> None:
    folder = saved_results(tmp_path / "worse", worse=True, name=name)
    xml, page = tmp_path / "gate.xml", tmp_path / "gate.md"
    assert main(["gate", folder, "--baseline", baseline, "--junit", str(xml), "--comment", str(page), "--quiet"]) == 3
    (suite,) = ElementTree.parse(xml).getroot()
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("2", "1")
    text = page.read_text(encoding="utf-8")
    assert text.startswith("### rankproof: The gate failed: RR(rel=2)")
    assert "fell by 66.7 pp (1.000 to 0.333); 1 of 2 checks failed" in text.partition("\n")[0]
    assert "<b>" not in text
    assert "@team" not in text


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_shows_the_verdict_and_escapes_names(
    form: str, tmp_path: Path, baseline: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = saved_results(tmp_path / "worse", worse=True, name=EVIL)
    assert main(["gate", folder, "--baseline", baseline, "--format", form, "--quiet"]) == 3
    out = capsys.readouterr().out
    assert "failed" in out
    assert "\x1b" not in out


def test_runs_that_lack_queries_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    qrels, old, new = tmp_path / "qrels", tmp_path / "old.run", tmp_path / "new.run"
    qrels.write_text("".join(f"q{at} 0 d1 1\n" for at in range(9)))
    old.write_text("".join(f"q{at} Q0 d1 1 1 t\n" for at in range(9)))
    new.write_text("".join(f"q{at} Q0 d1 1 1 t\n" for at in range(8)))
    baseline = str(tmp_path / "b.json")
    assert main(["gate", str(qrels), str(old), "--save", baseline, "-m", "RR"]) == 0
    assert "b.json: saved old with RR on 9 queries" in capsys.readouterr().err
    assert main(["gate", str(qrels), str(new), "--baseline", baseline]) == 3
    assert "new: 1 of 9 queries of the baseline are missing or not answered: q8." in capsys.readouterr().out
    assert main(["gate", str(qrels), str(new), "--baseline", baseline, "--skip-missing"]) == 3


def test_run_files_and_the_results_folder_of_the_same_judgements_gate_each_other(tmp_path: Path) -> None:
    folder = saved_results(tmp_path / "results")
    files, baseline = [f"{folder}/qrels.tsv", f"{folder}/runs/s.trec.gz", "--rel", "2"], str(tmp_path / "b.json")
    for one, other in (([folder], files), (files, [folder])):
        assert main(["gate", *one, "--save", baseline, "-m", "RR@10", "--quiet"]) == 0
        assert main(["gate", *other, "--baseline", baseline, "--quiet"]) == 0


def test_a_gate_of_too_few_queries_is_unsure_and_warns_also_where_it_is_quiet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, baseline = save_results(small_results(["s"]), tmp_path / "results"), str(tmp_path / "b.json")
    assert main(["gate", folder, "--save", baseline, "-m", "RR@10", "--quiet"]) == 0
    assert main(["gate", folder, "--baseline", baseline, "--quiet"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("The gate is unsure: 1 of 2 checks is unsure")
    assert shown.err == "warning: The gate is unsure: 1 of 2 checks is unsure (--unsure fail stops the build)\n"
    assert main(["gate", folder, "--baseline", baseline, "--unsure", "fail", "--quiet"]) == 3


def test_only_the_named_system_is_saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = save_results(small_results(), tmp_path / "results")
    assert main(["gate", folder, "--save", "-", "--system", "dense"]) == 0
    assert [system["name"] for system in json.loads(capsys.readouterr().out)["systems"]] == ["dense"]
    assert main(["gate", folder, "--save", "-", "--system", "sparse"]) == 2
    assert "no system is called sparse; choose from: bm25, dense, hybrid, late" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["gate", "{folder}", "--save", ""], "the output has no name; specify a file, or use - for standard output"),
        (
            ["gate", "{folder}", "--save", "-", "--baseline", "{baseline}"],
            "standard output holds the table; specify a file for --junit, --comment and --save",
        ),
        (
            ["gate", "{folder}", "--save", "b.json", "--junit", "b.xml"],
            "--junit is for checks, and nothing is checked; specify --baseline or --threshold, or leave it out",
        ),
        (["gate", "--save", "b"], "no input files; specify"),
        (
            ["gate", "{folder}"],
            "no requirement; specify --baseline, a bound (--threshold), test cases (--cases), or a file to save",
        ),
        (["gate", "{folder}", "--threshold", "RR>=1", "--by", "category"], "--by needs a baseline; specify it with --baseline"),
        (["gate", "{folder}", "--max-drop", "RR=0.02"], "--max-drop needs a baseline; specify it with --baseline"),
        (
            ["gate", "{folder}", "--baseline", "nowhere"],
            "nowhere: file not found; save one: rankproof gate … --save nowhere",
        ),
        (["gate", "{folder}", "--baseline", "{folder}/result.json"], "{folder}/result.json: this is not a baseline; pass a file"),
        (
            ["gate", "{folder}", "--baseline", "{baseline}", "--by", "colour"],
            "no query has a field colour; choose from: category",
        ),
        (["gate", "{folder}", "--baseline", "{baseline}", "--margin", "2"], "margin is 2; pass a difference below 1"),
        (["gate", "{folder}", "--baseline", "{baseline}", "--unsure", "stop"], "--unsure is stop; choose one of warn, fail"),
        (
            ["gate", "{folder}", "--baseline", "{baseline}", "--max-drop", "RR"],
            "RR is not an allowed drop; write it like nDCG@10=0.02",
        ),
        (
            ["gate", "{folder}", "--baseline", "{baseline}", "-m", "P@5"],
            "no measure of the baseline was evaluated; evaluate some of:",
        ),
        (
            ["gate", "{folder}", "--baseline", "{baseline}", "--rel", "1"],
            "the baseline was saved with --rel 2, this run has --rel 1",
        ),
        (["gate", "{folder}", "--baseline", "{baseline}", "--depth", "3"], "the baseline was saved with other read options"),
        (
            ["gate", "{folder}", "--baseline", "{baseline}", "--junit", "{baseline}"],
            "{baseline} would overwrite {baseline}",
        ),
        (["gate", "{folder}", "--baseline", "{baseline}", "--junit", "-"], "standard output holds the table; specify a file"),
        (["gate", "{folder}", "--baseline", "{baseline}", "--junit", "x", "--comment", "x"], "two outputs have the same name"),
    ],
)
def test_wrong_input_ends_with_2_and_says_what_to_do(
    argv: list[str], message: str, tmp_path: Path, baseline: str, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {"folder": saved_results(tmp_path / "results"), "baseline": baseline}
    assert main([one.format(**names) for one in argv]) == 2
    error = capsys.readouterr().err
    assert error.startswith(message.format(**names))
    assert error.count("\n") == 1


def test_a_baseline_that_cannot_be_written_leaves_the_old_one(tmp_path: Path, baseline: str) -> None:
    before = Path(baseline).read_bytes()
    assert main(["gate", str(tmp_path / "nowhere"), "--save", baseline]) == 2
    assert Path(baseline).read_bytes() == before


def test_systems_without_document_texts_fail_on_the_sample(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measures = [parse_measure("nDCG@10")]
    for name, fields in (("whole", ("title", "text")), ("titles", ("title",))):
        found = run_experiment(Experiment({"bm25": BM25(fields=fields)}, measures=measures), RunOptions(cache=None))
        save_results(found, tmp_path / name)
    baseline = str(tmp_path / "baseline.json")
    assert main(["gate", str(tmp_path / "whole"), "--save", baseline]) == 0
    assert main(["gate", str(tmp_path / "whole"), "--baseline", baseline, "--by", "category"]) == 0
    assert main(["gate", str(tmp_path / "titles"), "--baseline", baseline, "-m", "nDCG@10", "--by", "category"]) == 3
    assert "bm25: nDCG@10 fell from 0.6126 to 0.4937" in capsys.readouterr().out


@pytest.fixture
def weighted(tmp_path: Path) -> list[str]:
    """Judgements, a run, and weights by which the two halves of the queries differ."""
    qrels, run, weights = (tmp_path / name for name in ("qrels.txt", "a.run", "weights.txt"))
    qrels.write_text("".join(f"{query} 0 d1 1\n" for query in QUERIES))
    run.write_text("".join(f"{query} Q0 d{1 + at % 2} 1 1.0 a\n" for at, query in enumerate(QUERIES)))
    weights.write_text("".join(f"{query} {1 + 8 * (at % 2)}\n" for at, query in enumerate(QUERIES)))
    return [str(qrels), str(run), str(weights)]


WORTH = "note: queries are weighted: n = 40 is worth 24 queries of equal weight"


def test_a_weighted_baseline_stores_weighted_values_and_the_gate_says_so(
    weighted: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    *files, weights = weighted
    saved = str(tmp_path / "b.json")
    assert main(["gate", *files, "-m", "RR@10", "--weights", weights, "--save", saved]) == 0
    assert WORTH in capsys.readouterr().err
    assert json.loads(Path(saved).read_text())["systems"][0]["measures"]["RR@10"]["value"] == pytest.approx(0.1)
    assert main(["gate", *files, "--weights", weights, "--baseline", saved]) == 0
    assert WORTH in capsys.readouterr().err


def test_weighted_and_unweighted_values_are_not_compared(
    weighted: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    *files, weights = weighted
    other = tmp_path / "other.txt"
    other.write_text("".join(f"{query} {1 + at}\n" for at, query in enumerate(QUERIES)))
    plain, heavy = str(tmp_path / "plain.json"), str(tmp_path / "heavy.json")
    assert main(["gate", *files, "-m", "RR@10", "--save", plain]) == 0
    assert main(["gate", *files, "-m", "RR@10", "--weights", weights, "--save", heavy]) == 0
    fix = "use the same --weights FILE for both"
    for options, what in (
        (["--baseline", plain, "--weights", weights], "was saved without weights of queries, this run has weights; "),
        (["--baseline", heavy], "was saved with weights of queries, this run has none; "),
        (["--baseline", heavy, "--weights", str(other)], "was saved with other weights of queries; "),
    ):
        capsys.readouterr()
        assert main(["gate", *files, *options]) == 2
        assert what + fix in " ".join(capsys.readouterr().err.split())


def test_the_weights_of_a_dataset_are_noted_and_not_mixed(
    weighted: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    *files, _ = weighted
    folder = tmp_path / "data"
    folder.mkdir()
    rows = ({"_id": query, "text": query, "weight": 1 + 8 * (at % 2)} for at, query in enumerate(QUERIES))
    queries = folder / "queries.jsonl"
    queries.write_text("".join(json.dumps(row) + "\n" for row in rows))
    plain, heavy = str(tmp_path / "plain.json"), str(tmp_path / "heavy.json")
    assert main(["gate", *files, "-m", "RR@10", "--save", plain]) == 0
    assert main(["gate", *files, "--dataset", str(folder), "--baseline", plain]) == 2
    assert "queries.jsonl of a weighted dataset is such a file" in " ".join(capsys.readouterr().err.split())
    assert main(["gate", *files, "-m", "RR@10", "--weights", str(queries), "--save", heavy]) == 0
    capsys.readouterr()
    assert main(["gate", *files, "--dataset", str(folder), "--baseline", heavy]) == 0
    assert WORTH in capsys.readouterr().err


def test_a_missing_baseline_says_how_to_save_one(
    weighted: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rep.jsonl").touch()
    assert main(["gate", *weighted[:2], "--baseline", "nofile.json"]) == 2
    error = "nofile.json: file not found; save one: rankproof gate … --save nofile.json"
    assert " ".join(capsys.readouterr().err.split()) == error
    (tmp_path / "nofiles.json").touch()
    assert main(["gate", *weighted[:2], "--baseline", "nofile.json"]) == 2
    assert "is it nofiles.json? Otherwise save one: rankproof gate … --save" in " ".join(capsys.readouterr().err.split())
    with pytest.raises(InputError, match=r'Otherwise save one: rankproof\.gate\(…, save="nofile\.json"\)'):
        rp.gate(*weighted[:2], baseline="nofile.json")


def test_a_gate_that_only_saves_a_baseline_says_so(weighted: list[str], tmp_path: Path) -> None:
    gate = rp.gate(*weighted[:2], save=tmp_path / "b.json")
    assert str(gate).startswith("The baseline was saved; nothing was checked\n")


def test_the_next_baseline_is_saved_only_if_the_gate_passes(
    weighted: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files, saved = weighted[:2], tmp_path / "b.json"
    assert main(["gate", *files, "-m", "RR@10", "--save", str(saved)]) == 0
    assert capsys.readouterr().out == ""
    assert main(["gate", *files, "--baseline", str(saved), "--save", str(tmp_path / "next.json")]) == 0
    assert "next.json: saved a with RR@10 on 40 queries" in " ".join(capsys.readouterr().err.split())
    assert main(["gate", *files, "--threshold", "RR@10>=0.9", "--save", str(tmp_path / "no.json")]) == 3
    assert "no.json was not written, because the gate failed" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "no.json").exists()
