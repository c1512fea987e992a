"""The executor that runs tasks in this process."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from rankproof._executors.base import Report, SerialExecutor
from rankproof._io.array_files import cache_io_error
from rankproof.errors import InputError, MissingExtraError, RankproofError, UsageError


def test_results_come_in_the_order_of_the_items_and_tasks_run_when_asked_for() -> None:
    ran: list[int] = []
    told: list[tuple[str, int, int]] = []

    def double(item: int, report: Report) -> int:
        ran.append(item)
        report(item)
        return 2 * item

    with SerialExecutor() as executor:
        results = executor.map(double, [3, 1], label="doubling", total=4, progress=lambda *one: told.append(one))
        assert (next(results), ran) == (6, [3])
        assert list(results) == [2]
    assert told == [("doubling", 0, 4), ("doubling", 3, 4), ("doubling", 4, 4)]


@pytest.mark.parametrize(
    "error",
    [
        RankproofError("plain"),
        UsageError("what --order rank", fix="drop it"),
        InputError("what", fix="correct it", source="file", line=3),
        MissingExtraError("torch", "models"),
        cache_io_error(Path("file"), OSError(28, "No space left on device")),
    ],
)
def test_an_error_of_a_worker_arrives_as_it_was(error: RankproofError) -> None:
    found = pickle.loads(pickle.dumps(error))
    assert type(found) is type(error)
    assert (str(found), found.__dict__) == (str(error), error.__dict__)
