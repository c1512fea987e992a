"""The first cases of the fuzzer of objects hold (`make fuzz` runs more, under the sanitizers)."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("rankproof._native.align")
objects = pytest.importorskip("tools.fuzz.objects", reason="needs pyarrow", exc_type=ImportError)
CASES = {"dicts": 60, "arrow tables": 60, "result documents": 15, "report pages": 1, "public functions": 60}


@pytest.mark.parametrize("target", sorted(objects.TARGETS))
def test_the_first_cases_hold(target: str, tmp_path: Path) -> None:
    for case in range(CASES[target]):
        assert objects.failure(objects.TARGETS[target], case, tmp_path) is None
