"""Runs tests on mutants, each in a forked process: the tests are collected once, and the fork changes code in memory."""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import resource
import signal
import sys
import threading
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, Literal

import pytest

End = Literal["passed", "failed", "crashed", "timed out", "not changed"]
TESTS = "not release and not browser and not torch"
"""Those of CI that need neither Chromium nor PyTorch."""
FAST_TESTS = f"not slow and {TESTS}"
"""Those of `make test` among them."""
Functions = dict[tuple[str, int], list[FunctionType]]
_OPTIONS = ("-q", "--tb=short", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-profile=mutants")
TEST_SECONDS = 48
"""A fast test of a mutant that takes so many seconds of processor time does not end."""
_LIMITS = {resource.RLIMIT_DATA: 8 << 30, resource.RLIMIT_FSIZE: 1 << 30, resource.RLIMIT_CORE: 0}


@dataclass(frozen=True, slots=True)
class Called:
    """What a test takes and calls: seconds, and the file and first line of each function of the sources."""

    seconds: float
    functions: frozenset[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class RunResult:
    """How the tests ended, the first test that failed, the seconds of processor time, and what each test called if traced."""

    end: End
    test: str = ""
    seconds: float = 0.0
    called: dict[str, Called] = field(default_factory=dict)
    output: str = ""


@dataclass(frozen=True, slots=True)
class NewCode:
    """The function that begins at a line of a Python file gets the code that it has in `source`."""

    path: str
    line: int
    source: bytes

    def apply(self, functions: Functions) -> bool:
        """Changes all functions made from that code; False if there is none in memory, or it cannot be changed there."""
        found = functions.get((self.path, self.line), [])
        places = {(one.__code__.co_filename, one.__code__.co_name) for one in found}
        if len(places) != 1:
            return False
        [(path, name)] = places
        codes = _codes(compile(self.source, path, "exec", dont_inherit=True))
        new = [one for one in codes if (one.co_firstlineno, one.co_name) == (self.line, name)]
        # Python refuses code with other variables of the functions or classes around it.
        if len(new) != 1 or any(one.__code__.co_freevars != new[0].co_freevars for one in found):
            return False
        for function in found:
            function.__code__ = new[0]
        return True


@dataclass(frozen=True, slots=True)
class NewExtension:
    """A C extension is replaced by the one in another file."""

    name: str
    path: str

    def apply(self, functions: Functions) -> bool:
        """Loads the file and puts the new module where the old one was imported."""
        spec = spec_from_file_location(self.name, self.path, loader=ExtensionFileLoader(self.name, self.path))
        assert spec is not None
        old, new = sys.modules[self.name], module_from_spec(spec)
        for module in list(sys.modules.values()):
            for name, value in list(vars(module).items()):
                if value is old:
                    setattr(module, name, new)
        sys.modules[self.name] = new
        return True


Patch = NewCode | NewExtension


@dataclass(frozen=True, slots=True)
class Request:
    """Which tests to run, in order (None: all), on which change, with how many seconds of processor time."""

    only: Sequence[str] | None
    patch: Patch | None
    seconds: float
    trace: bool = False


class CollectedTests:
    """A process that has collected tests and runs them in forks, as often as it is asked."""

    def __init__(self, root: Path, tests: Sequence[str], marked: str = FAST_TESTS) -> None:
        self._pipe, theirs = multiprocessing.Pipe()
        self._child = os.fork()
        if self._child == 0:
            self._pipe.close()
            _as_child(root / "collected.txt", lambda: _collect(root, tests, marked, theirs))
        theirs.close()

    def run(self, request: Request) -> RunResult:
        """Runs tests in a fork."""
        self._pipe.send(request)
        found: RunResult = self._pipe.recv()
        return found

    def close(self) -> None:
        """Ends the process."""
        with suppress(OSError):
            self._pipe.send(None)
        os.waitpid(self._child, 0)


def run_fresh(root: Path, tests: Sequence[str], only: Sequence[str], seconds: float) -> RunResult:
    """Runs tests in a process that imports everything from the files, as a change outside functions needs it."""
    watch = _Watch(root, only=only, limited=True)

    def run() -> dict[str, Any]:
        _import_from(root)
        _pytest(tests, FAST_TESTS, watch, "-x")
        return watch.report()

    return _forked(root, run, seconds)


def _collect(root: Path, tests: Sequence[str], marked: str, pipe: Connection) -> None:
    _import_from(root)
    _pytest(tests, marked, _Server(root, pipe))


def _pytest(tests: Sequence[str], marked: str, plugin: object, *more: str) -> None:
    pytest.main([*tests, *_OPTIONS, "-m", marked, *more], [plugin])


def _import_from(root: Path) -> None:
    """Imports and subprocesses find the copy, and write nothing beside it."""
    here = Path(__file__).resolve().parents[2]
    own = {"", str(here), str(here / "src"), str(here / "tests")}
    sys.path[:] = [str(root), str(root / "src"), str(root / "tests"), *(path for path in sys.path if path not in own)]
    sys.dont_write_bytecode = True
    os.environ.update(PYTHONPATH=str(root / "src"), PYTHONDONTWRITEBYTECODE="1")
    os.chdir(root)


def _forked(root: Path, run: Callable[[], dict[str, Any]], seconds: float) -> RunResult:
    """Runs in a fork with limits of time and memory; what it reports."""
    report, log = root / "report.json", root / "log.txt"
    report.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        for kind, limit in {**_LIMITS, resource.RLIMIT_CPU: int(seconds)}.items():
            resource.setrlimit(kind, (limit, limit + 5))
        _as_child(log, lambda: report.write_text(json.dumps(run()), encoding="utf-8"))
    status, used = _wait(child, deadline=time.monotonic() + 60 * seconds)
    output = log.read_text(encoding="utf-8", errors="replace")
    if status is None or (os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL)):
        return RunResult("timed out", seconds=used, output=output)
    if not report.exists():
        return RunResult("crashed", seconds=used, output=output)
    found = json.loads(report.read_text(encoding="utf-8"))
    called = {test: Called(took, frozenset((path, line) for path, line in every)) for test, took, every in found["called"]}
    return RunResult(found["end"], found["test"], used, called, output)


def _as_child(log: Path, run: Callable[[], object]) -> None:
    """Runs with its output in a file, then ends the process without the parent's clean-up."""
    try:
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        run()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _wait(child: int, deadline: float) -> tuple[int | None, float]:
    """The status of the process, None if it was ended at the deadline, and its processor time; what it started is ended too."""
    done, status, used = 0, 0, None
    while not done and time.monotonic() < deadline:
        done, status, used = os.wait4(child, os.WNOHANG)
        time.sleep(0 if done else 0.01)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if not done:
        _, _, used = os.wait4(child, 0)
    assert used is not None
    return status if done else None, used.ru_utime + used.ru_stime


class _Watch:
    """A plugin of pytest that keeps the first test that fails and notes what each test calls.

    `only` chooses and orders tests; `limited` ends the process in a test that takes more than `TEST_SECONDS`.
    """

    def __init__(self, root: Path, *, only: Sequence[str] | None = None, trace: bool = False, limited: bool = False) -> None:
        self.only, self.trace, self.limited, self.failed = only, trace, limited, ""
        self.root, self.sources = f"{root}{os.sep}", f"{root / 'src'}{os.sep}"
        self.called: list[tuple[str, float, list[tuple[str, int]]]] = []

    def report(self) -> dict[str, Any]:
        """The test that failed, and what each test called."""
        end = "failed" if self.failed or not self.called else "passed"
        return {"test": self.failed, "called": self.called, "end": end}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = _chosen(items, self.only)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        seen: dict[int, CodeType] = {}

        def note(frame: FrameType, event: str, arg: Any) -> None:
            seen[id(frame.f_code)] = frame.f_code

        if self.limited:
            _limit_test()
        start = time.process_time()
        if self.trace:
            threading.settrace(note)
            sys.settrace(note)
        yield
        sys.settrace(None)
        threading.settrace(None)
        took = time.process_time() - start
        codes = seen.values()
        places = {(code.co_filename, code.co_firstlineno) for code in codes if code.co_filename.startswith(self.sources)}
        self.called.append((item.nodeid, took, sorted((path.removeprefix(self.root), line) for path, line in places)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid


class _Server:
    """A plugin of pytest that, after collection, answers requests to run tests."""

    def __init__(self, root: Path, pipe: Connection) -> None:
        self.root, self.pipe = root, pipe

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        functions = _functions(self.root)
        while (request := self.pipe.recv()) is not None:
            run = partial(_run, self.root, session, request, functions)
            self.pipe.send(_forked(self.root, run, request.seconds))
        return True


def _run(root: Path, session: pytest.Session, request: Request, functions: Functions) -> dict[str, Any]:
    """Changes the code and runs tests until one fails."""
    watch = _Watch(root, trace=request.trace, limited=request.patch is not None and not request.trace)
    session.config.pluginmanager.register(watch)
    if request.patch is not None and not request.patch.apply(functions):
        return {"test": "", "called": [], "end": "not changed"}
    items = _chosen(session.items, request.only)
    for item, following in zip(items, [*items[1:], None], strict=True):
        session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if watch.failed:
            break
    return watch.report()


def _limit_test() -> None:
    """Limits the processor time of the process from now on."""
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (min(int(time.process_time()) + TEST_SECONDS, most), most))


def _chosen(items: Sequence[pytest.Item], only: Sequence[str] | None) -> list[pytest.Item]:
    if only is None:
        return list(items)
    by_name = {item.nodeid: item for item in items}
    return [by_name[name] for name in only if name in by_name]


def _functions(root: Path) -> Functions:
    """The functions in memory, by file and first line."""
    found: Functions = defaultdict(list)
    for one in gc.get_objects():
        if type(one) is FunctionType and one.__code__.co_filename.startswith(f"{root}{os.sep}"):
            found[one.__code__.co_filename.removeprefix(f"{root}{os.sep}"), one.__code__.co_firstlineno].append(one)
    return found


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _codes(one)
