"""A search function as a stage: what it may take and return, how it fails, and when its recorded replies are valid."""

from __future__ import annotations

import asyncio
import functools
import itertools
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankproof import run
from rankproof._data.dataset import Query
from rankproof._data.identity import identity
from rankproof._experiment.config_read import read_experiment
from rankproof._experiment.config_write import experiment_toml
from rankproof._experiment.experiment import Experiment
from rankproof._llm.session import LLMSession
from rankproof.errors import InputError, UsageError
from rankproof.stages import RRF, Function
from rankproof.stages._base import BuildContext
from rankproof.stages._engines.base import EngineError, EngineReply
from rankproof.stages._engines.function import FunctionEngine
from rankproof.types import RunOptions
from support.missing_libraries import block
from support.stage_building import PlainBlockCache, corpus_of

CORPUS = corpus_of({"d1": "one", "d2": "two", "7": "seven"})


def context_of(session: LLMSession | None = None) -> BuildContext:
    return BuildContext(CORPUS, CORPUS.fingerprint(), PlainBlockCache(), session=session or LLMSession())


def reply_of(function: Callable[..., Any], **settings: Any) -> EngineReply | EngineError:
    with LLMSession() as session:
        return Function(function, **settings).client(context_of(session)).ask(Query("q1", "some text"))


def generated(text: str) -> Iterator[str]:
    yield "d2"
    yield "d1"


async def later(text: str) -> list[str]:
    await asyncio.sleep(0)
    return ["d2", "d1"]


PLAIN = ("d2", "d1")
RETURNED: list[tuple[Callable[..., Any], tuple[str, ...], tuple[float, ...] | None]] = [
    (lambda text: ["d2", "d1"], PLAIN, None),
    (lambda text: ("d2", "d1"), PLAIN, None),
    (lambda text: np.array(["d2", "d1"]), PLAIN, None),
    (lambda text: [7, np.int64(8)], ("7", "8"), None),
    (lambda text: [("d2", 1), ("d1", 2.5)], PLAIN, (1.0, 2.5)),
    (lambda text: [["d2", np.float32(0.5)], ["d1", 0.5]], PLAIN, (0.5, 0.5)),
    (lambda text: {"d1": 0.1, "d2": 0.9}, PLAIN, (0.9, 0.1)),
    (lambda text: {"d2": 1, "d1": 1}, PLAIN, (1.0, 1.0)),
    (lambda text: {}, (), ()),
    (lambda text: [], (), None),
    (generated, PLAIN, None),
    (later, PLAIN, None),
    (functools.partial(lambda k, text: [k, text], "d2"), ("d2", "some text"), None),
]


@pytest.mark.parametrize(("function", "docs", "scores"), RETURNED)
def test_ids_pairs_dictionaries_generators_and_async_functions_are_rankings(
    function: Callable[..., Any], docs: tuple[str, ...], scores: tuple[float, ...] | None
) -> None:
    reply = reply_of(function)
    assert isinstance(reply, EngineReply)
    assert (reply.docs, reply.scores) == (docs, scores)


NOT_RANKINGS: list[tuple[Any, str]] = [
    ("d1", "it returned a str; return ids"),
    (None, "it returned a NoneType; return ids"),
    (3, "it returned an int; return ids"),
    ([None], "it returned a NoneType as a document; return ids"),
    ([True], "it returned a bool as a document; return ids"),
    ([{"id": "d1"}], "it returned a dict as a document; return ids"),
    ([("d1", "high")], "it returned a str as a score; return ids"),
    ({"d1": None}, "it returned a NoneType as a score; return ids"),
    ({"d1", "d2"}, "it returned a set, which has no order; return a list"),
    (frozenset(["d1"]), "it returned a frozenset, which has no order; return a list"),
    ({"d1": 1.0, "d2": float("nan"), "7": 2.0}, "it returned NaN as a score, so its documents have no order; return ids"),
    (np.array([["d1", 0.5]], dtype=object), "it returned a ndarray as a document; return ids"),
    (itertools.repeat("d1"), "it returned more than 1,000,000 documents; add a parameter size and return at most that many"),
]


@pytest.mark.parametrize(("value", "what"), NOT_RANKINGS)
def test_what_is_no_ranking_is_a_failed_query_that_says_what_to_return(value: Any, what: str) -> None:
    reply = reply_of(lambda text: value)
    assert isinstance(reply, EngineError)
    assert reply.what.startswith(what)


def test_an_exception_is_a_failed_query_with_its_type_and_text() -> None:
    def broken(text: str) -> list[str]:
        raise ValueError("line one\nline two")

    def silent(text: str) -> list[str]:
        raise KeyError

    def leaving(text: str) -> list[str]:
        raise SystemExit("no index")

    cases = ((broken, "ValueError: line one line two"), (silent, "KeyError"), (leaving, "SystemExit: no index"))
    for function, what in cases:
        reply = reply_of(function)
        assert isinstance(reply, EngineError)
        assert (reply.what, reply.requests) == (what, 1)


class WordlessError(Exception):
    """An exception whose text cannot be made."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


def raising(error: BaseException) -> Callable[[str], list[str]]:
    def search(text: str) -> list[str]:
        raise error

    return search


def raising_later(error: BaseException) -> Callable[[str], Any]:
    async def search(text: str) -> list[str]:
        raise error

    return search


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (raising(SystemExit(3)), "SystemExit: 3"),
        (raising(GeneratorExit()), "GeneratorExit"),
        (raising(WordlessError()), "WordlessError"),
        (raising_later(SystemExit(3)), "SystemExit: 3"),
        (raising_later(KeyboardInterrupt()), "KeyboardInterrupt"),
        (raising_later(TimeoutError("of the function")), "TimeoutError: of the function"),
    ],
)
def test_no_exception_of_a_function_ends_the_run(function: Callable[..., Any], what: str) -> None:
    reply = reply_of(function, version=what)
    assert isinstance(reply, EngineError)
    assert reply.what == what


def test_an_interrupt_stops_the_run() -> None:
    with pytest.raises(KeyboardInterrupt):
        reply_of(raising(KeyboardInterrupt()))


def test_an_async_function_that_blocks_its_loop_is_a_failed_query() -> None:
    freed = threading.Event()

    async def blocking(text: str) -> list[str]:
        freed.wait(30)
        return ["d1"]

    with LLMSession() as session:
        reply = Function(blocking, timeout=0.05).client(context_of(session)).ask(Query("q1", "some text"))
        freed.set()
    assert isinstance(reply, EngineError)
    assert reply.what == "no reply within 0.05 s"


def test_closing_ends_the_calls_of_an_async_function() -> None:
    started = threading.Event()

    async def endless(text: str) -> list[str]:
        started.set()
        await asyncio.sleep(60)
        return []

    engine = FunctionEngine(endless, timeout=60.0)
    failures: list[EngineError] = []

    def ask() -> None:
        try:
            engine.ask(Query("q1", "some text"), 10)
        except EngineError as failure:
            failures.append(failure)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    assert started.wait(10)
    engine.close()
    thread.join(10)
    assert [failure.what for failure in failures] == ["CancelledError"]


def test_pairs_that_are_not_in_the_order_of_their_scores_are_noted() -> None:
    unordered = reply_of(lambda text: [("d1", 0.5), ("d2", 0.9), ("7", 0.1)])
    assert isinstance(unordered, EngineReply)
    assert unordered.docs == ("d1", "d2", "7")
    assert unordered.notes == ("the pairs are not sorted by score; the ranking keeps their order",)
    for scores in ((3, 2, 2), (1, 2, 3)):
        reply = reply_of(lambda text, scores=scores: list(zip(("d1", "d2", "7"), scores, strict=True)), version=str(scores))
        assert isinstance(reply, EngineReply)
        assert reply.notes == ()


def test_a_function_is_repeated_only_if_asked() -> None:
    calls: list[str] = []

    def broken(text: str) -> list[str]:
        calls.append(text)
        raise ValueError("no")

    reply_of(broken)
    assert len(calls) == 1
    reply_of(broken, retries=1, version="again")
    assert len(calls) == 3


def test_an_async_function_that_takes_too_long_is_a_failed_query() -> None:
    async def slow(text: str) -> list[str]:
        await asyncio.sleep(10)
        return []

    reply = reply_of(slow, timeout=0.02)
    assert isinstance(reply, EngineError)
    assert reply.what == "no reply within 0.02 s"


def test_all_calls_of_an_async_function_run_in_one_loop_beside_a_running_one() -> None:
    loops = set()

    async def search(text: str) -> list[str]:
        loops.add(asyncio.get_running_loop())
        return ["d1"]

    async def notebook() -> list[object]:
        with LLMSession() as session:
            client = Function(search).client(context_of(session))
            return [client.ask(Query(str(at), "text")) for at in range(3)]

    assert all(isinstance(reply, EngineReply) for reply in asyncio.run(notebook()))
    assert len(loops) == 1


def test_a_function_gets_the_text_and_what_else_it_asks_for() -> None:
    got: list[Any] = []
    functions: list[Callable[..., Any]] = [
        lambda text: got.append(text) or [],  # type: ignore[func-returns-value]
        lambda text, size: got.append((text, size)) or [],  # type: ignore[func-returns-value]
        lambda text, k=3, *, size: got.append((text, k, size)) or [],  # type: ignore[func-returns-value]
    ]

    def with_query(query: Query) -> list[str]:
        got.append(query.id)
        return []

    for function in (*functions, with_query):
        reply_of(function, depth=9)
    assert got == ["some text", ("some text", 9), ("some text", 3, 9), "q1"]


def test_a_function_with_a_connection_of_its_thread_runs_in_that_thread() -> None:
    threads = set()
    reply_of(lambda text: threads.add(threading.get_ident()) or [])  # type: ignore[func-returns-value]
    assert threads == {threading.get_ident()}


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (3, "function is an int; pass a function of the query text"),
        (list, "function is the class list; pass a function"),
        ("search", "function is 'search'; write module:name, such as \"shop.search:search\""),
        ("no_such_module_x:search", "no_such_module_x:search: no module is called no_such_module_x; run it in the folder"),
        ("json:no_such", "json:no_such: json has no no_such; correct the name"),
        ("json:__name__", "function is a str; pass a function"),
    ],
)
def test_what_is_no_function_is_refused_when_the_stage_is_made(function: Any, what: str) -> None:
    with pytest.raises(UsageError) as refused:
        Function(function)
    assert str(refused.value).startswith(what)


def revision(function: Callable[..., Any], version: str = "") -> str:
    return Function(function, version=version).revision()


def made(source: str, name: str = "search") -> Callable[..., Any]:
    """The function of a source text, as a module would define it."""
    names: dict[str, Any] = {"__name__": "shop_module"}
    exec(source, names)
    function: Callable[..., Any] = names[name]
    return function


SOURCE = "LIMIT = 3\ndef clean(text):\n    return text.lower()\ndef search(text):\n    return [clean(text)][:LIMIT]\n"


@pytest.mark.parametrize(
    "changed",
    [
        SOURCE.replace("LIMIT = 3", "LIMIT = 4"),
        SOURCE.replace("lower", "upper"),
        SOURCE.replace("[clean(text)]", "[clean(text), 'x']"),
        SOURCE.replace("search(text)", "search(text, k=5)"),
    ],
)
def test_another_code_constant_helper_or_default_makes_other_replies(changed: str) -> None:
    assert revision(made(SOURCE)) == revision(made(SOURCE))
    assert revision(made(changed)) != revision(made(SOURCE))
    assert revision(made("\n\n# a comment\n" + SOURCE)) == revision(made(SOURCE))


def searching(index: object) -> Callable[[str], list[object]]:
    return lambda text: [index]


@dataclass(frozen=True)
class Shop:
    index: str

    def search(self, text: str) -> list[str]:
        return [self.index]


class Opaque:
    def search(self, text: str) -> list[str]:
        return ["d1"]


def test_functions_that_hold_other_values_have_other_replies() -> None:
    assert revision(searching("a")) == revision(searching("a"))
    assert revision(searching("a")) != revision(searching("b"))
    assert revision(Shop("a").search) == revision(Shop("a").search)
    assert revision(Shop("a").search) != revision(Shop("b").search)
    first, second = Opaque(), Opaque()
    assert revision(first.search) != revision(second.search)
    assert revision(first.search, "1") == revision(second.search, "1")
    assert identity(Function(first.search, version="1")) != identity(Function(first.search, version="2"))
    halves = [functools.partial(Shop.search, Shop(index)) for index in ("a", "a", "b")]
    assert revision(halves[0]) == revision(halves[1]) != revision(halves[2])


def test_a_function_whose_replies_another_run_cannot_find_says_so() -> None:
    opaque = Opaque()
    (note,) = Function(opaque.search).about()
    assert note == "the function holds values without a name, so the next run calls it again; set version to keep its replies"
    assert Function(opaque.search, version="1").about() == Function(Shop("a").search).about() == ()


def test_two_functions_with_one_version_are_refused() -> None:
    first, second = (Function(searching(Opaque()), version="1") for _ in range(2))
    with LLMSession() as session:
        first.client(context_of(session))
        with pytest.raises(UsageError, match=r"two different functions are called .* and have the version 1; give each its own"):
            second.client(context_of(session))


def test_a_name_and_its_function_are_the_same_system() -> None:
    from support import search_functions

    named, given = Function("support.search_functions:nothing"), Function(search_functions.nothing)
    assert identity(named) == identity(given)


TOML = '[systems.shop]\nstage = "python"\nfunction = "{name}"\ndepth = 5\n'


def write_shop(folder: Path, name: str, body: str) -> Path:
    (folder / f"{name}.py").write_text(body, encoding="utf-8")
    file = folder / "experiment.toml"
    file.write_text(TOML.format(name=f"{name}:search"), encoding="utf-8")
    return file


def test_an_experiment_file_finds_the_module_beside_it_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "beside_neighbour.py").write_text("DOCS = ['d1']\n")
    body = "def search(text, size):\n    from beside_neighbour import DOCS\n    return DOCS[:size]\n"
    file = write_shop(tmp_path, "beside_shop", body)
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    stage = read_experiment(file).systems["shop"]
    assert isinstance(stage, Function)
    reply = stage.client(context_of()).ask(Query("q", "text"))
    assert isinstance(reply, EngineReply)
    assert reply.docs == ("d1",)


def test_a_module_beside_the_file_comes_first_and_one_from_elsewhere_is_refused(tmp_path: Path) -> None:
    body = "def search(text):\n    return ['{}']\n"
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    assert "this" not in sys.modules
    first = read_experiment(write_shop(tmp_path / "one", "this", body.format("d1"))).systems["shop"]
    try:
        assert isinstance(first, Function)
        assert first.search("text") == ["d1"]
        with pytest.raises(InputError, match=r"this:search: another module called this is already imported, from .*; rename one"):
            read_experiment(write_shop(tmp_path / "two", "this", body.format("d2")))
    finally:
        del sys.modules["this"]


def test_errors_of_a_function_in_an_experiment_file_have_their_line(tmp_path: Path) -> None:
    file = write_shop(tmp_path, "lines_shop", "def search(text):\n    return []\n")
    (tmp_path / "lines_exit.py").write_text("raise SystemExit('usage')\n", encoding="utf-8")
    for name, what in (
        ("lines_missing:search", "lines_missing:search: no module is called lines_missing; put lines_missing beside the exp"),
        ("lines_exit:search", "lines_exit:search: importing lines_exit failed: SystemExit: usage; correct the module"),
        ("lines_shop:seek", "lines_shop:seek: lines_shop has no seek; correct the name"),
        ("search", "function is 'search'; write module:name"),
        ("python:search", "function was made in Python and has no name in a file; write module:name"),
    ):
        file.write_text(TOML.format(name=name), encoding="utf-8")
        with pytest.raises(InputError, match=r"experiment\.toml:") as refused:
            read_experiment(file)
        assert refused.value.line == 3
        assert what in str(refused.value)


def test_a_function_made_in_python_is_written_with_a_remark() -> None:
    text = experiment_toml(Experiment({"shop": Function(lambda text: [])}))
    assert "# this function was made in Python" in text
    assert 'function = "python:' in text


def test_systems_that_need_no_documents_run_with_the_core_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    block(monkeypatch, "Stemmer", "tokenizers", "safetensors", "onnx", "onnxruntime", "threadpoolctl", "scipy", "httpx")
    first = Function(lambda text: ["sourdough-guide#1"])
    second = Function(lambda text: ["sourdough-guide#2"])
    found = run({"first": first, "second": second, "both": RRF((first, second))}, RunOptions(cache=None))
    assert found.system_run("both").run.docs[:2] == ("sourdough-guide#2", "sourdough-guide#1")
