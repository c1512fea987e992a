"""The mutants of `make mutants`: what is changed in Python and C, and that tests see the change in a fork."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.paths import ROOT

if sys.platform == "win32":
    pytest.skip("mutants are tried in forks", allow_module_level=True)

from tools.mutants import forks, workspace
from tools.mutants.__main__ import EQUIVALENT, is_listed, table
from tools.mutants.c_source import c_mutants
from tools.mutants.forks import CollectedTests, NewCode, Request, run_fresh
from tools.mutants.mutant import Mutant
from tools.mutants.packages import PACKAGES, Package
from tools.mutants.python_source import python_mutants
from tools.mutants.workspace import Outcome, Tried, Workspace


def changes_of(source: str) -> list[str]:
    return [one.change for one in python_mutants("any", "any.py", source.encode())]


@pytest.mark.parametrize(
    ("source", "changes"),
    [
        ("a < b", ["a < b -> a <= b", "a < b -> a >= b"]),
        ("a == b", ["a == b -> a != b"]),
        ("a - b", ["a - b -> a + b"]),
        ("a += b", ["a += b -> a -= b"]),
        ("a and b", ["a and b -> a or b"]),
        ("not a", ["not a -> a"]),
        ("True", ["True -> False"]),
        ("0.5", ["0.5 -> 1.5"]),
        ("a if b else c", ["a if b else c -> a if not b else c"]),
        ("def f(a=1): return a", ["1 -> 2", "return a -> return None"]),
        ("raise Error", ["raise Error -> pass"]),
    ],
)
def test_python_code_is_changed_in_one_place(source: str, changes: list[str]) -> None:
    assert changes_of(source) == changes


@pytest.mark.parametrize(
    "source",
    [
        "a: int | None",
        "assert a < b",
        'f"{a < b}"',
        "a = zip(b, c, strict=True)",
        "if TYPE_CHECKING:\n    a = 1",
        "@overload\ndef f(a: int = 1) -> int: ...",
        "'text'",
    ],
)
def test_code_without_a_result_is_not_changed(source: str) -> None:
    assert changes_of(source) == []


@pytest.mark.slow
def test_every_mutant_of_python_is_valid_code_that_differs() -> None:
    source = (ROOT / "src/rankproof/_statistics/permutation.py").read_bytes()
    mutants = python_mutants("statistics", "permutation.py", source)
    assert len(mutants) > 100
    for one in mutants:
        compile(one.applied(source), one.path, "exec")
        assert one.applied(source) != source


def test_c_code_is_changed_outside_comments_texts_and_macros() -> None:
    source = b'#define LIMIT (1 < 2)\n/* a < b */\nif (a < b && !c) return "a < b"; /* 1 */\n'
    changed = [one.applied(source).splitlines()[2] for one in c_mutants("any", "any.c", source)]
    assert changed == [
        b'if (a <= b && !c) return "a < b"; /* 1 */',
        b'if (a >= b && !c) return "a < b"; /* 1 */',
        b'if (a < b || !c) return "a < b"; /* 1 */',
        b'if (a < b && c) return "a < b"; /* 1 */',
    ]


@pytest.mark.slow
def test_every_package_has_sources_and_tests() -> None:
    assert sum(package.share for package in PACKAGES) == 100
    for package in PACKAGES:
        assert package.mutants(ROOT)
        assert all((ROOT / path).exists() for path in package.tests)


def mutants_of(path: str) -> list[Mutant]:
    return (python_mutants if path.endswith(".py") else c_mutants)("any", path, (ROOT / path).read_bytes())


@pytest.mark.parametrize("path", sorted({listed["path"] for listed in EQUIVALENT}))
def test_every_equivalent_mutant_that_is_listed_exists_and_has_a_reason(path: str) -> None:
    mutants = mutants_of(path)
    for listed in (listed for listed in EQUIVALENT if listed["path"] == path):
        matching = [mutant for mutant in mutants if is_listed(mutant, listed)]
        if "line" in listed:
            assert {mutant.change.rpartition(": ")[2] for mutant in matching} == set(listed["changes"]), listed
        else:
            assert len(matching) == 1, listed
        assert listed["reason"]


def test_the_table_has_the_share_killed_with_and_without_equivalent_mutants() -> None:
    outcomes: tuple[Outcome, ...] = ("failed", "crashed", "timed out", "equivalent", "survived", "same code")
    rows = table([Tried("align", str(at), outcome) for at, outcome in enumerate(outcomes)]).splitlines()
    assert rows[2:] == [
        "| align | 5 | 1 | 1 | 1 | 1 | 1 | 60.0% | 75.0% |",
        "| all | 5 | 1 | 1 | 1 | 1 | 1 | 60.0% | 75.0% |",
    ]


SMALL = """LEAST = 1


def larger(one, other):
    return one if one > other else other


def unused():
    return LEAST
"""
SMALL_TESTS = """from small import LEAST, larger


def test_larger():
    assert larger(2, 1) == larger(1, 2) == 2
    assert LEAST == 1
"""
PROFILE = "from hypothesis import settings\n\nsettings.register_profile('mutants')\n"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A project with one module and one test."""
    for path, text in (("src/small.py", SMALL), ("tests/test_small.py", SMALL_TESTS), ("conftest.py", PROFILE)):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  slow\n  browser\n  torch\n", encoding="utf-8")
    return tmp_path


@pytest.mark.slow
def test_a_mutant_is_killed_by_a_failing_test_and_the_file_is_restored(small: Path) -> None:
    package = Package("small", ("src/small.py",), ("tests/test_small.py",), share=100)
    with Workspace(small, package) as workspace:
        found = {one.change: workspace.tried(one) for one in package.mutants(small)}
    test = "tests/test_small.py::test_larger"
    assert {change: (one.outcome, one.by) for change, one in found.items()} == {
        "1 -> 2": ("failed", test),
        "return one if one > other else other -> return None": ("failed", test),
        "one if one > other else other -> one if not one > other else other": ("failed", test),
        "one > other -> one >= other": ("survived", "1 tests passed"),
        "one > other -> one <= other": ("failed", test),
        "return LEAST -> return None": ("survived", "no test calls it"),
    }
    assert (small / "src/small.py").read_text(encoding="utf-8") == SMALL


@pytest.mark.slow
def test_code_that_a_function_in_memory_cannot_take_is_not_tried_there(small: Path) -> None:
    (small / "src/small.py").write_text(SMALL + "\n\nclass Text(str):\n    def length(self):\n        return super().__len__()\n")
    collected = CollectedTests(small, ["tests/test_small.py"])
    without = NewCode("src/small.py", 13, b"\n" * 11 + b"class Text(str):\n    def length(self):\n        return None\n")
    assert collected.run(Request(None, without, seconds=20)).end == "not changed"
    collected.close()


@pytest.mark.slow
def test_a_mutant_that_never_ends_is_timed_out_and_one_that_ends_the_process_has_crashed(small: Path) -> None:
    collected = CollectedTests(small, ["tests/test_small.py"])
    header = "\n\n\ndef larger(one, other):\n    "
    endless = NewCode("src/small.py", 4, f"{header}while True: pass".encode())
    crash = NewCode("src/small.py", 4, f"{header}__import__('os').abort()".encode())
    assert [collected.run(Request(None, patch, seconds=1)).end for patch in (endless, crash, None)] == [
        "timed out",
        "crashed",
        "passed",
    ]
    collected.close()


@pytest.mark.slow
def test_a_test_that_does_not_end_takes_no_time_from_further_mutants(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forks, "TEST_SECONDS", 1)
    collected = CollectedTests(small, ["tests/test_small.py"])
    endless = NewCode("src/small.py", 4, b"\n\n\ndef larger(one, other):\n    while True: pass")
    result = collected.run(Request(None, endless, seconds=100))
    assert (result.end, result.seconds < 10) == ("timed out", True)
    collected.close()
    (small / "src/small.py").write_text(
        SMALL.replace("return one if one > other else other", "while True: pass"), encoding="utf-8"
    )
    fresh = run_fresh(small, ["tests/test_small.py"], ["tests/test_small.py::test_larger"], seconds=100)
    assert (fresh.end, fresh.seconds < 10) == ("timed out", True)


FLAKY_TEST = """from pathlib import Path

from small import unused


def test_first_time():
    unused()
    Path(__file__).with_suffix(".seen").touch(exist_ok=False)
"""


@pytest.mark.slow
def test_a_test_that_fails_without_the_mutant_too_kills_nothing(small: Path) -> None:
    (small / "tests/test_flaky.py").write_text(FLAKY_TEST, encoding="utf-8")
    package = Package("small", ("src/small.py",), ("tests/test_small.py", "tests/test_flaky.py"), share=100)
    (mutant,) = [one for one in package.mutants(small) if one.change == "return LEAST -> return None"]
    with Workspace(small, package) as workspace:
        assert workspace.tried(mutant)[2:4] == ("survived", "no test calls it")


@pytest.mark.slow
def test_tests_that_take_long_without_a_mutant_cannot_show_that_one_never_ends(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspace, "TEST_SECONDS", 0)
    package = Package("small", ("src/small.py",), ("tests/test_small.py",), share=100)
    with Workspace(small, package) as tried, pytest.raises(SystemExit, match=r"too slow .*: tests/test_small.py::test_larger"):
        tried.tried(package.mutants(small)[0])
