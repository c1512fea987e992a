"""Past experiments: what is read, what is said, and files that are wrong."""

from __future__ import annotations

from pathlib import Path

import pandas
import pytest

import rankproof as rp
from rankproof._analysis.online import history
from rankproof._analysis.online.history import record_experiments
from support.live_traffic import interleaved_rows, variant_rows, written

_HEAD = "experiment,offline,offline_se,online,online_se\n"


def _history(path: Path, *rows: str) -> str:
    file = path / "experiments.csv"
    file.write_text(_HEAD + "".join(row + "\n" for row in rows), encoding="utf-8")
    return str(file)


def test_the_signs_come_first_then_the_correlation_and_the_number_of_experiments(tmp_path: Path) -> None:
    rows = [f"e{at},{at / 100},0.005,{at / 200 + (-1) ** at * 0.001},0.002" for at in (-4, -3, -2, 1, 2, 3, 4, 5)]
    result = rp.online(history=_history(tmp_path, *rows, "open,,,0.01,0.002"))
    assert result.sentences[0].startswith("Offline and online had the same sign in 8 of 8 experiments (100%, 95% CI [63%, 100%])")
    assert result.sentences[1].startswith("The correlation of differences is 1.00 without their errors (95% CI [0.")
    assert result.sentences[2].startswith("An offline gain of 1 pp was worth +0.49 pp online (95% CI [+0.4")
    assert result.sentences[-1] == "This rests on 8 experiments, which is few: expect the interval to be wide."
    assert result.notes == ("1 row without an offline or an online difference, left out",)


def test_few_experiments_get_no_correlation(tmp_path: Path) -> None:
    result = rp.online(history=_history(tmp_path, "a,0.02,0.01,0.01,0.01", "b,-0.02,,0.01,"))
    assert [row[0] for row in result.tables[0].rows] == ["same sign"]
    assert result.sentences[-1] == "1 experiment with standard errors, and 5 are needed for a correlation."
    assert result.notes == ("1 experiment without standard errors, left out of the correlation",)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("a,much,0.01,0.01,0.01", "experiments.csv:2: offline is much; write a difference, such as 0.021"),
        ("a,0.01,-1,0.01,0.01", "experiments.csv:2: offline_se is -1; write a number of at least 0"),
        ("a,1e200,0.01,0.01,0.01", "experiments.csv:2: offline is 1e200; write a difference, such as 0.021"),
        (",0.01,0.01,0.01,0.01", "experiments.csv:2: an experiment without a name; name each experiment"),
        ("a,0.01,0.01,0.01,0.01\na,0.01,0.01,0.01,0.01", "experiments.csv:3: experiment a is also on line 2"),
        ("a,,,0.01,0.01", "no experiment has both an offline and an online difference"),
    ],
)
def test_a_wrong_row_is_an_error_with_its_line(tmp_path: Path, row: str, message: str) -> None:
    with pytest.raises(rp.errors.InputError) as failure:
        rp.online(history=_history(tmp_path, row))
    assert message in str(failure.value)


def test_a_history_without_a_column_names_all_columns(tmp_path: Path) -> None:
    file = tmp_path / "wrong.csv"
    file.write_text("name,offline\na,1\n", encoding="utf-8")
    with pytest.raises(
        rp.errors.InputError, match="no column experiment; columns: name, offline; write a table with the columns"
    ):
        rp.online(history=str(file))


def test_recorded_experiments_wait_for_their_offline_difference(tmp_path: Path) -> None:
    file = str(tmp_path / "experiments.csv")
    record_experiments(file, {"2026-11-hybrid": (0.021, 0.004)})
    record_experiments(file, {"2026-11-hybrid": (0.021, 0.004), "2026-12-rerank": (-0.003, 0.004)})
    assert Path(file).read_text(encoding="utf-8") == f"{_HEAD}2026-11-hybrid,,,0.021,0.004\n2026-12-rerank,,,-0.003,0.004\n"
    with pytest.raises(rp.errors.InputError, match="experiment 2026-12-rerank is recorded already"):
        record_experiments(file, {"2026-12-rerank": (0.0, 0.004)})


def test_the_difference_of_an_ab_test_is_recorded_once(tmp_path: Path) -> None:
    rows = [(f"s{at}", f"u{at}", "ab"[at % 2], action) for at in range(400) for action in ("", *["click"] * (at % 4 != 2))]
    columns = {name: [row[place] for row in rows] for place, name in enumerate(("session", "user", "variant", "action"))}
    table = pandas.DataFrame({**columns, "time": range(len(rows)), "rank": 1, "doc": "d"})
    file = str(tmp_path / "experiments.csv")
    result = rp.online(table, record=file, baseline="a")
    assert result.decision is not None
    name, offline, _, online, error = Path(file).read_text(encoding="utf-8").splitlines()[1].split(",")
    assert (name, offline) == ("table", "")
    assert float(online) == pytest.approx(0.5)
    assert float(error) == pytest.approx(0.5 / 200**0.5, rel=0.01)
    rp.online(table, record=file, baseline="a")
    assert len(Path(file).read_text(encoding="utf-8").splitlines()) == 2
    with pytest.raises(rp.errors.InputError, match="experiment table is recorded already, with another difference"):
        rp.online(table[:-30], record=file, baseline="a")


def test_systems_of_one_experiment_are_recorded_in_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writes: list[str] = []
    monkeypatch.setattr(history, "write_blocks", lambda path, blocks: writes.append(b"".join(blocks).decode()))
    rp.online(written(tmp_path, interleaved_rows({"a": 0.95, "b": 0.1, "c": 0.2})), record=str(tmp_path / "experiments.csv"))
    (text,) = writes
    assert sorted(line.partition(",")[0] for line in text.splitlines()[1:]) == ["test: b", "test: c"]


@pytest.mark.parametrize(
    ("primary", "better"),
    [("FirstClickRR", {"A": 0.2, "B": 0.95}), ("Abandonment", {"A": 0.2, "B": 0.95}), ("CTR@1", {"A": 0.2, "B": 0.95})],
)
def test_a_better_variant_is_recorded_as_a_gain_whichever_comes_first_in_the_log(
    tmp_path: Path, primary: str, better: dict[str, float]
) -> None:
    for name, rows in (("as-is", variant_rows(better)), ("reversed", variant_rows(better)[::-1])):
        file = str(tmp_path / f"{name}.csv")
        rp.online(written(tmp_path, rows), primary=primary, record=file, baseline="A")
        assert float(Path(file).read_text(encoding="utf-8").splitlines()[1].split(",")[3]) > 0.1


def test_nothing_is_recorded_of_a_log_that_cannot_decide(tmp_path: Path) -> None:
    file = str(tmp_path / "experiments.csv")
    log = written(tmp_path, variant_rows({"A": 0.2, "B": 0.95}))
    with pytest.raises(rp.errors.UsageError, match="nothing is recorded of this log: sample-ratio mismatch"):
        rp.online(log, shares={"A": 0.9, "B": 0.1}, record=file)
    with pytest.raises(rp.errors.UsageError, match="one to a baseline, and none is named; add baseline=A or baseline=B"):
        rp.online(log, record=file)
    assert not Path(file).exists()


def test_differences_that_are_all_the_same_have_no_correlation(tmp_path: Path) -> None:
    result = rp.online(history=_history(tmp_path, *(f"e{at},0.01,0.001,0.0{at},0.002" for at in range(1, 9))))
    assert result.sentences[1] == "The correlation of differences is not known: those of one side are all the same."
