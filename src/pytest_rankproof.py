"""The pytest fixture `rankproof_gate`: a test of search quality that fails on a significant drop."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rankproof.types import GateResult


@pytest.fixture
def rankproof_gate() -> Callable[..., GateResult]:
    """`rankproof.gate` as a function that prints all checks; the test fails if the gate stops the build, an unsure one warns."""

    def run(*arguments: Any, **settings: Any) -> GateResult:
        import rankproof

        __tracebackhide__ = True
        result = rankproof.gate(*arguments, **settings)
        if result.stops:
            pytest.fail(str(result), pytrace=False)
        if result.outcome == "unsure":
            warnings.warn(result.verdict, stacklevel=2)
        sys.stdout.write(f"{result}\n")
        return result

    return run
