"""The anchor of a baseline: it stays, raises an alarm on a slow loss, and is replaced only if the loss is accepted."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

import rankproof as rp
from rankproof._analysis.gate.anchor import with_alarms, with_anchor
from rankproof._analysis.gate.baseline import LabelledValues, baseline_json, read_baseline
from rankproof._analysis.gate.rules import GateCheck, by_judge
from rankproof._cli.main import main
from rankproof.errors import UsageError

N = 200
QRELS = {f"q{at:03}": {"d": 1} for at in range(N)}


def run_of(found: int) -> dict[str, list[str]]:
    """A run that finds the relevant document of so many queries, and puts it first."""
    return {query: ["d" if at < found else "x"] for at, query in enumerate(QRELS)}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "qrels.txt").write_text("".join(f"{query} 0 d 1\n" for query in QRELS))
    for found in (150, 145, 142, 147, 149):
        rows = (f"{query} Q0 {docs[0]} 1 1.0 s\n" for query, docs in run_of(found).items())
        (tmp_path / f"{found}.run").write_text("".join(rows))
    return tmp_path


def command(files: Path, option: str, found: int, *options: str) -> int:
    target = [option, str(files / "b.json")]
    return main(["gate", str(files / "qrels.txt"), str(files / f"{found}.run"), "-m", "RR", *target, *options])


def stored(files: Path) -> dict[str, list[object]]:
    plain = json.loads((files / "b.json").read_text())
    return {"anchor": [system["measures"]["RR"]["value"] for system in plain["anchor"]], "alarm": plain["alarm"]}


def test_a_baseline_that_is_saved_again_keeps_the_first_one(files: Path) -> None:
    for found in (150, 147, 145):
        assert command(files, "--save", found) == 0
    assert stored(files) == {"anchor": [0.75], "alarm": []}
    assert command(files, "--save", 145, "--accept-loss") == 0
    assert stored(files) == {"anchor": [], "alarm": []}


def test_a_slow_loss_raises_an_alarm_that_lasts_until_it_is_made_good(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for found in (150, 145):
        assert command(files, "--save", found) == 0
    assert command(files, "--baseline", 142) == 3
    assert "RR is 4.0 pp below the first baseline (0.7500 to 0.7100, n = 200): an alarm" in capsys.readouterr().out
    assert stored(files)["alarm"] == [{"system": "150", "measure": "RR"}]
    assert command(files, "--baseline", 147) == 3
    assert "is still 1.5 pp below the first baseline" in capsys.readouterr().out
    assert command(files, "--baseline", 149) == 0
    assert stored(files)["alarm"] == []


def test_a_loss_without_an_alarm_is_not_called_no_loss(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for found in (150, 149):
        assert command(files, "--save", found) == 0
    command(files, "--baseline", 147)
    assert "RR is 1.5 pp below the first baseline (0.7500 to 0.7350, n = 200): no alarm." in capsys.readouterr().out
    command(files, "--baseline", 150)
    assert "RR is not below the first baseline." in capsys.readouterr().out


def test_an_alarm_is_kept_by_name_and_ends_within_half_the_margin(files: Path) -> None:
    runs = {found: {"s": run_of(found)} for found in (150, 145, 142, 147, 149)}
    path = str(files / "b.json")
    for found in (150, 145):
        rp.gate(QRELS, runs[found], "RR", save=path)
    outcomes = []
    for found in (147, 142, 147, 149, 147):
        checks = rp.gate(QRELS, runs[found], baseline=path).checks
        outcomes += [check.result for check in checks if check.kind == "anchor"]
    assert outcomes == ["passed", "failed", "failed", "passed", "passed"]


def test_an_alarm_of_one_measure_is_not_ended_by_another(files: Path) -> None:
    path = str(files / "b.json")
    for found in (150, 145):
        rp.gate(QRELS, {"s": run_of(found)}, ["RR", "P@1"], save=path)
    assert not rp.gate(QRELS, {"s": run_of(142)}, baseline=path, primary="P@1").passed
    assert rp.gate(QRELS, {"s": run_of(147)}, baseline=path, primary="RR", margin=0.2).passed
    assert stored(files)["alarm"] == [{"system": "s", "measure": "P@1"}]


@pytest.mark.parametrize("alarm", [(), (("s", "RR"),)])
def test_an_unsure_check_neither_raises_nor_ends_an_alarm(files: Path, alarm: tuple[tuple[str, str], ...]) -> None:
    path = str(files / "b.json")
    for found in (150, 149):
        rp.gate(QRELS, {"s": run_of(found)}, "RR", save=path)
    baseline = replace(read_baseline(path, how_to_save=""), alarm=alarm)
    check = by_judge(GateCheck("anchor", "s", "passed", "s: no loss.", "RR"), "judge")
    assert with_alarms(baseline, [check]).alarm == alarm


def test_an_accepted_loss_ends_the_alarm(files: Path) -> None:
    for found in (150, 145):
        assert command(files, "--save", found) == 0
    assert command(files, "--baseline", 142) == 3
    assert command(files, "--baseline", 145, "--accept-loss") == 0
    assert stored(files) == {"anchor": [], "alarm": []}


def test_a_loss_is_accepted_only_if_the_gate_could_be_checked(files: Path) -> None:
    for found in (150, 145):
        assert command(files, "--save", found) == 0
    assert command(files, "--baseline", 145, "--accept-loss", "--primary", "AP") == 2
    assert command(files, "--baseline", 145, "--accept-loss", "--rel", "2") == 2
    with pytest.raises(UsageError):
        rp.gate(QRELS, run_of(145), baseline=files / "b.json", primary="AP", accept_loss=True)
    assert stored(files)["anchor"] == [0.75]


def test_a_gate_that_may_replace_its_baseline_saves_an_alarm(files: Path) -> None:
    path = str(files / "b.json")
    for found in (150, 145):
        rp.gate(QRELS, {"s": run_of(found)}, "RR", save=path)
    assert not rp.gate(QRELS, {"s": run_of(142)}, baseline=path, save=path).passed
    assert stored(files)["alarm"] == [{"system": "s", "measure": "RR"}]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_baseline_that_cannot_be_written_gets_a_note(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for found in (150, 145):
        assert command(files, "--save", found) == 0
    files.chmod(0o500)
    assert command(files, "--baseline", 142) == 3
    assert "the next gate does not know of this alarm" in capsys.readouterr().err


def test_a_saved_baseline_says_which_drop_it_detects(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(files, "--save", 150) == 0
    shown = " ".join(capsys.readouterr().err.split())
    assert "the gate detects a drop of 8.6 pp in RR of 150 with 80% chance if a change moves each query as much" in shown


def test_ten_logged_gates_have_a_corrected_gain(tmp_path: Path) -> None:
    path, log = tmp_path / "b.json", tmp_path / "looks.jsonl"
    rp.gate(QRELS, {"s": run_of(100)}, "RR", save=path)
    for found in (110, 112, 114, 116, 118, 120, 122, 124, 126):
        assert not any("as measured" in note for note in rp.gate(QRELS, {"s": run_of(found)}, baseline=path, log=log).notes)
    notes = rp.gate(QRELS, {"s": run_of(128)}, baseline=path, log=log).notes
    assert any(note.startswith("10 of 10 comparisons shipped a system: total gain +95.0 pp as measured") for note in notes)
    assert len(log.read_text().splitlines()) == 10


def test_another_judge_starts_with_a_first_baseline_of_its_own(files: Path) -> None:
    path = str(files / "b.json")
    rp.gate(QRELS, {"s": run_of(150)}, "RR", save=path)
    plain = read_baseline(path, how_to_save="")
    Path(path).write_text(baseline_json(replace(plain, judges={"RR": "judge 1"})))
    assert with_anchor(replace(plain, judges={"RR": "judge 1"}), path)[0].anchor
    new, notes = with_anchor(replace(plain, judges={"RR": "judge 2"}), path)
    assert (new.anchor, notes) == ((), ("this is the first baseline of its data: the replaced one has another judge",))


def test_more_labels_of_the_first_baseline_reach_its_anchor_and_labels_of_another_build_do_not(files: Path) -> None:
    path = str(files / "b.json")
    rp.gate(QRELS, {"s": run_of(150)}, "RR", save=path)
    plain = read_baseline(path, how_to_save="")
    (first,) = plain.systems
    people = {"RR": LabelledValues({"q000": 1.0}, {"q000": 1.0})}
    for build, labels in ((replace(first, people=people), people), (replace(first, people=people, digest="other"), {})):
        new, _ = with_anchor(replace(plain, systems=(build,)), path)
        assert [system.people for system in new.anchor] == [labels]


def test_another_dataset_starts_with_a_first_baseline_of_its_own(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(files, "--save", 150) == 0
    (files / "qrels.txt").write_text("".join(f"{query} 0 x 1\n" for query in QRELS))
    assert command(files, "--save", 145) == 0
    assert stored(files)["anchor"] == []
    assert "this is the first baseline of its data" in " ".join(capsys.readouterr().err.split())
