"""Decisions between agents of which it is known which search tool is better."""

from __future__ import annotations

from dataclasses import replace

import pytest
from benchmarks.agents import WORLDS, row


@pytest.mark.slow
def test_a_planted_better_tool_is_chosen_and_never_the_worse() -> None:
    cells = row(replace(WORLDS[0], questions=100), 4).split("|")
    assert [cell.strip() for cell in cells[4:7]] == ["100%", "0%", "0%"]
