"""`rankproof fuse` with parameters, names of ranx, and trained methods."""

from __future__ import annotations

from pathlib import Path

import pytest

import rankproof as rp
from rankproof._cli.main import main

A = {"q1": {"x": 8.0, "y": 6.0, "z": 0.0}, "q2": {"x": 2.0, "v": 1.0}}
B = {"q1": {"y": 3.0, "w": 1.0}, "q2": {"v": 5.0}}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, table in {"a.run": A, "b.run": B}.items():
        rows = [f"{query} Q0 {doc} 0 {score} {name}\n" for query, docs in table.items() for doc, score in docs.items()]
        Path(name).write_text("".join(rows))
    Path("train.qrels").write_text("q1 0 x 1\nq9 0 x 1\n")
    return tmp_path


def fused(capsysbinary: pytest.CaptureFixture[bytes], *argv: str) -> dict[tuple[str, str], float]:
    assert main(["fuse", "a.run", "b.run", *argv]) == 0
    rows = [line.split() for line in capsysbinary.readouterr().out.decode().splitlines()]
    return {(row[0], row[2]): float(row[4]) for row in rows}


@pytest.mark.usefixtures("files")
def test_parameters_reach_the_method(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert fused(capsysbinary, "--method", "rbc", "--phi", "0.5")["q1", "y"] == 0.75
    assert fused(capsysbinary, "--method", "gmnz", "--gamma", "2")["q1", "y"] == 7.0
    assert fused(capsysbinary, "--method", "convex", "--alpha", "0.25")["q1", "y"] == 0.8125
    assert fused(capsysbinary, "--method", "wsum", "--weights", "2,1")["q1", "y"] == 2.5


@pytest.mark.usefixtures("files")
def test_a_trained_method_learns_from_judged_queries_and_says_which_are_fused(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    assert main(["fuse", "a.run", "b.run", "--method", "mapfuse", "--train", "train.qrels"]) == 0
    shown = capsysbinary.readouterr()
    assert shown.out.decode().splitlines()[0].split()[:5] == ["q1", "Q0", "x", "1", "0.5"]
    assert b"1 fused query is among those that mapfuse learned from; evaluate it on other queries" in shown.err
    by_segment = fused(capsysbinary, "--method", "probfuse", "--segments", "1", "--train", "train.qrels")
    assert by_segment["q2", "x"] == pytest.approx(1 / 6)


WRONG = {
    ("--method", "posfuse"): "posfuse is trained; pass judgements to learn from: --train QRELS",
    ("--train", "train.qrels"): "rrf is not trained; leave out --train, or use --method one of bayesfuse, mapfuse",
    ("--phi", "0.5"): "rrf does not use --phi; leave out --phi, or use --method rbc",
    ("--method", "rbc", "--phi", "2"): "--phi is 2.0; choose a number from 0 to 1",
    ("--method", "magic"): "magic",
}


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("argv", WRONG)
def test_options_that_do_not_fit_are_refused(argv: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuse", "a.run", "b.run", *argv]) == 2
    assert WRONG[argv] in capsys.readouterr().err


@pytest.mark.usefixtures("files")
def test_the_functions_take_files_and_dicts() -> None:
    fitted = rp.fit_fusion("mapfuse", "train.qrels", ["a.run", B])
    assert fitted.values == ((0.5,), (0.0,))
    assert str(fitted).startswith("mapfuse, fitted on 2 runs")
    by_files, by_dicts = (
        rp.fuse(["a.run", "b.run"], "mapfuse", fitted=fitted),
        rp.fuse({"a": A, "b": B}, "mapfuse", fitted=fitted),
    )
    assert by_files.docs == by_dicts.docs
    assert by_files.scores.tolist() == by_dicts.scores.tolist()
