"""The pytest fixture `rankproof_gate`: a test of search quality that fails on a significant drop."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rankproof.types import GateResult


@pytest.fixture
def rankproof_gate() -> Callable[..., GateResult]:
    """`rankproof.gate` as a function that prints the decision and all checks, and fails the test if a check fails."""

    def run(*arguments: Any, **settings: Any) -> GateResult:
        import rankproof

        __tracebackhide__ = True
        result = rankproof.gate(*arguments, **settings)
        if not result.passed:
            pytest.fail(str(result), pytrace=False)
        sys.stdout.write(f"{result}\n")
        return result

    return run
