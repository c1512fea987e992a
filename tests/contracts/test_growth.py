"""The command that measures how every command grows."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from benchmarks import growth

HEAD = "| command | what grows | CPU s | slope | peak MB |\n|---|---|---:|---:|---:|\n"
PAGE = f"text\n\n## Growth\n\nmore\n\n{HEAD}| `a` | rows: 1, 2 | 1.00 | – | 5 |\n| `b` | rows: 1, 2 | 2.00 | – | 6 |\n\nend\n"


def test_new_rows_take_the_place_of_those_of_the_same_command() -> None:
    rows = ["| `b` | rows: 3, 4 | 3.00 | – | 7 |", "| `a --x` | rows: 1, 2 | 4.00 | – | 8 |"]
    page = growth.with_rows(PAGE, [*HEAD.splitlines(), *rows])
    assert page == PAGE.replace(
        "| `b` | rows: 1, 2 | 2.00 | – | 6 |", "| `a --x` | rows: 1, 2 | 4.00 | – | 8 |\n| `b` | rows: 3, 4 | 3.00 | – | 7 |"
    )


@pytest.mark.slow
def test_a_command_that_fails_has_a_row_and_the_others_are_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def cost(arguments: list[str], folder: Path) -> tuple[float, float]:
        if arguments[0] == "audit":
            raise RuntimeError("it failed")
        return 1.0, 10.0

    monkeypatch.setattr(growth, "cost", cost)
    monkeypatch.setattr(sys, "argv", ["growth", "--share", "0.0001", "--only", "audit", "correlate"])
    with pytest.raises(SystemExit) as ended:
        growth.main()
    assert ended.value.code == 1
    table = capsys.readouterr().out.splitlines()
    assert [line.split("|")[1].strip() for line in table[2:]] == ["`audit --judge-next`", "`correlate`", "`audit`"]
    assert [line.split("|")[3].strip() for line in table[2:]] == ["failed", "1.00, 1.00, 1.00", "failed"]
