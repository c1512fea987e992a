"""Tries the mutants of one package in a copy of the repository."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Literal, NamedTuple

from tools.mutants.forks import (
    FAST_TESTS,
    TEST_SECONDS,
    TESTS,
    Called,
    CollectedTests,
    NewCode,
    NewExtension,
    Patch,
    Request,
    RunResult,
    run_fresh,
)
from tools.mutants.mutant import Mutant
from tools.mutants.packages import Package

_GUARDED = Path(__file__).with_name("guarded.h")
_FLAGS = (
    "-shared",
    "-fPIC",
    "-O1",
    "-fsanitize=undefined",
    "-fno-sanitize=alignment",
    "-fsanitize-undefined-trap-on-error",
    "-g0",
    "-w",
    "-std=c11",
    "-ffp-contract=off",
    "-fno-trapping-math",
    "-DPy_LIMITED_API=0x030B0000",
)

MUTANT, ORIGINAL = "mutant.abi3.so", "original.abi3.so"
MAX_TEST_SECONDS = 60.0
"""A mutant that survives quick tests of so many seconds together has survived; this saves most of the time of a run."""

Outcome = Literal["failed", "crashed", "timed out", "survived", "equivalent", "not built", "same code"]


KILLED: tuple[Outcome, ...] = ("failed", "crashed", "timed out")


class Tried(NamedTuple):
    """What became of a mutant, and the seconds of processor time of its tests.

    `by` is the test that failed, the end of the output of a crash, or why the mutant is equivalent.
    """

    package: str
    key: str
    outcome: Outcome
    by: str = ""
    seconds: float = 0.0


class Workspace:
    """A copy of the repository in which the mutants of a package are tried; the tests must pass there without a mutant."""

    def __init__(self, root: Path, package: Package) -> None:
        self.root, self.package = root, package
        self.kills: Counter[str] = Counter()
        self.called: dict[str, Called] = {}
        self.reliable: set[str] = set()
        self.collected: CollectedTests | None = None

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *error: object) -> None:
        if self.collected is not None:
            self.collected.close()

    def _start(self) -> CollectedTests:
        """Collects the tests, and notes what each of them calls without a mutant."""
        collected = CollectedTests(self.root, self.package.tests, TESTS if self.package.extension else FAST_TESTS)
        self.built = self._build() if self.package.extension else b""
        if self.package.extension:
            shutil.copyfile(self.root / MUTANT, self.root / ORIGINAL)
        result = collected.run(Request(None, self._original(), seconds=1_200, trace=True))
        if result.end != "passed":
            end = f"{result.end} {result.test}\n{result.output[-3_000:]}"
            raise SystemExit(f"the tests of {self.package.name} do not pass without a mutant: {end}")
        self.called, self.seconds = result.called, 20 + 3 * result.seconds
        slow = [name for name, test in self.called.items() if test.seconds > TEST_SECONDS / 4]
        if slow:
            raise SystemExit(f"too slow to tell a mutant that does not end from the original code: {', '.join(slow)}")
        return collected

    def tried(self, mutant: Mutant) -> Tried:
        """Tries one mutant; a test that fails without it too does not count."""
        self.collected = self.collected or self._start()
        found = self._changed(mutant, self.collected)
        if found.outcome == "failed" and found.by in self.called:
            if not self._passes(found.by, self.collected):
                del self.called[found.by]
                return self.tried(mutant)
            self.kills[found.by] += 1
        return found

    def _changed(self, mutant: Mutant, collected: CollectedTests) -> Tried:
        """Runs the tests on the changed file, then restores it."""
        path = self.root / mutant.path
        before = path.read_bytes()
        path.write_bytes(mutant.applied(before))
        try:
            if self.package.extension:
                built = self._build()
                if not built or built == self.built:
                    return Tried(self.package.name, mutant.key, "same code" if built else "not built")
            return self._tested(mutant, collected)
        finally:
            path.write_bytes(before)

    def _tested(self, mutant: Mutant, collected: CollectedTests) -> Tried:
        only = self._ordered(list(self.called)) if self.package.extension else self._calling(mutant)
        in_memory = bool(only) and (mutant.in_function or self.package.extension is not None)
        only = self._affordable(only or self._calling_inner(mutant))
        if not only:
            return Tried(self.package.name, mutant.key, "survived", "no test calls it")
        result = RunResult("not changed")
        if in_memory:
            result = collected.run(Request(only, self._patch(mutant), self.seconds))
        if result.end == "not changed":
            result = run_fresh(self.root, sorted({_file(name) for name in only}), only, self.seconds)
        if result.end == "passed" or result.end == "not changed":
            return Tried(self.package.name, mutant.key, "survived", f"{len(only)} tests passed", result.seconds)
        return Tried(
            self.package.name, mutant.key, result.end, result.test or _last_line(result.output), round(result.seconds, 2)
        )

    def _passes(self, test: str, collected: CollectedTests) -> bool:
        """Whether a test that failed passes on its own without the mutant, so that the mutant made it fail."""
        if test not in self.reliable and collected.run(Request((test,), self._original(), self.seconds)).end == "passed":
            self.reliable.add(test)
        return test in self.reliable

    def _patch(self, mutant: Mutant) -> Patch:
        if self.package.extension:
            return NewExtension(f"rankproof._native.{self.package.extension}", str(self.root / MUTANT))
        return NewCode(mutant.path, mutant.owner[0], (self.root / mutant.path).read_bytes())

    def _original(self) -> Patch | None:
        """The extension without a mutant, built as that of a mutant; None if the tests have the code in memory."""
        if self.package.extension:
            return NewExtension(f"rankproof._native.{self.package.extension}", str(self.root / ORIGINAL))
        return None

    def _build(self) -> bytes:
        """Builds the extension in the copy; its bytes, none if it does not compile."""
        target = self.root / MUTANT
        target.unlink(missing_ok=True)
        command = [
            "cc",
            *_FLAGS,
            f"-I{sysconfig.get_path('include')}",
            "-include",
            str(_GUARDED),
            f"{self.package.extension}.c",
            "-o",
            str(target),
        ]
        subprocess.run(command, cwd=self.root / "src/rankproof/_native", stderr=subprocess.DEVNULL, check=False)
        return target.read_bytes() if target.exists() else b""

    def _calling(self, mutant: Mutant) -> list[str]:
        """The tests that call the changed function, the quick ones first; every test where the change is outside of functions."""
        if not mutant.in_function:
            return self._ordered(list(self.called))
        changed = (mutant.path, mutant.owner[0])
        return self._ordered([name for name, one in self.called.items() if changed in one.functions])

    def _calling_inner(self, mutant: Mutant) -> list[str]:
        """The tests that call a function that the changed one has made, on import."""
        first, last = mutant.owner
        return self._ordered(
            [
                name
                for name, one in self.called.items()
                if any(path == mutant.path and first < line <= last for path, line in one.functions)
            ]
        )

    def _affordable(self, names: Sequence[str]) -> list[str]:
        """The first of these tests, as many as take `MAX_TEST_SECONDS` together."""
        spent = accumulate(self.called[name].seconds for name in names)
        return [name for name, seconds in zip(names, spent, strict=True) if seconds <= MAX_TEST_SECONDS]

    def _ordered(self, names: Sequence[str]) -> list[str]:
        """First tests that have killed mutants, then quick tests; those of a file stay together where fixtures take long."""
        cost: Counter[str] = Counter()
        for name in names if self.package.extension is None else []:
            cost[_file(name)] += int(1e6 * self.called[name].seconds)
        killers = {name for name, _ in self.kills.most_common(12)}
        return sorted(names, key=lambda name: (name not in killers, cost[_file(name)], self.called[name].seconds))


def _file(test: str) -> str:
    return test.partition("::")[0]


def _last_line(output: str) -> str:
    return next((line for line in reversed(output.splitlines()) if line.strip()), "")
