"""`rankproof mcp`, asked by the client of the official SDK over standard input and output."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import rankproof as rp
from rankproof._io import named_code
from rankproof._mcp.server import MIN_CHARACTERS, answer, as_json, reply, size_of
from rankproof._mcp.tools import FREE_JUDGES, TOOLS, Access, Folders
from rankproof._registry import arguments_of
from rankproof._sample import sample_files
from rankproof.errors import InputError, RankproofError, for_message
from support.paths import SOURCE

pytest.importorskip("mcp")
LOG = [
    {"question": f"where is town {at}?", "contexts": [f"Town {at} is in land {at}."], "answer": f"In land {at}."}
    for at in range(40)
]
Call = tuple[str, dict[str, Any]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with judgements and runs of the sample, a RAG log, and a secret beside it."""
    home = tmp_path / "shared files"
    home.mkdir()
    with sample_files() as files:
        for file in files:
            shutil.copy(file, home)
    (home / "log.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in LOG))
    (tmp_path / "secret.txt").write_text("q1 0 secret 1\n")
    return home


def files_of(folder: Path) -> tuple[str, dict[str, str]]:
    """The judgements and the runs of the folder, as an agent names them."""
    names = sorted(path.name for path in folder.iterdir() if path.suffix != ".jsonl")
    qrels = next(name for name in names if "qrels" in name)
    return qrels, {name.partition(".")[0]: name for name in names if name != qrels}


def asked(folder: Path, calls: Sequence[Call], *flags: str) -> tuple[list[Any], list[Any]]:
    """What the SDK's own client gets: the tools, and the result of each call."""
    from mcp import ClientSession, StdioServerParameters, stdio_client

    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "rankproof", "mcp", str(folder), *flags],
        env={"PYTHONPATH": str(SOURCE.parent), "PATH": os.environ["PATH"]},
        cwd=folder.parent,
    )

    async def talk() -> tuple[list[Any], list[Any]]:
        with open(folder.parent / "server.log", "w") as log:
            async with stdio_client(command, errlog=log) as streams, ClientSession(*streams) as session:
                await session.initialize()
                tools = (await session.list_tools()).tools
                return tools, [await session.call_tool(name, arguments) for name, arguments in calls]

    return asyncio.run(asyncio.wait_for(talk(), 120))


def test_an_agent_gets_the_verdict_that_a_person_gets(folder: Path) -> None:
    qrels, runs = files_of(folder)
    both = {"data": qrels, "runs": runs}
    calls: list[Call] = [
        ("eval", {"qrels": qrels, "run": runs, "measures": "nDCG@10"}),
        ("compare", both),
        ("diagnose", both),
        ("segments", {**both, "by": "relevant"}),
        ("explain", both),
        ("gate", {**both, "thresholds": "nDCG@10>=0.99"}),
        ("answers", {"answers": "log.jsonl", "measures": ["Faithfulness"]}),
        ("report", both),
        ("compare", {"data": "../secret.txt"}),
        ("compare", {"data": qrels, "runs": "missing.run"}),
    ]
    tools, results = asked(folder, calls)
    assert [tool.name for tool in tools] == [tool.name for tool in TOOLS]
    assert all(tool.annotations.read_only_hint for tool in tools)
    assert [result.is_error for result in results] == [False] * 8 + [True] * 2, results
    paths = {name: str(folder / file) for name, file in runs.items()}
    person = rp.compare(str(folder / qrels), paths)
    words, plain = results[1].content[0].text, results[1].structured_content
    assert words == "\n".join(person.decision.sentences)
    assert plain == json.loads(results[1].content[1].text)
    assert plain["decision"]["systems"] == list(person.decision.systems)
    assert results[5].structured_content["outcome"] == "failed"
    assert results[6].structured_content["tables"][0]["rows"][0][1] == 1.0
    assert "outside" not in results[8].content[0].text
    assert results[8].content[0].text.startswith("data: '../secret.txt' is not allowed; ")
    assert "missing.run" in results[9].content[0].text


@pytest.mark.slow
def test_an_agent_decides_by_preferences_and_reads_rubrics_of_its_folders_alone(folder: Path) -> None:
    rubric = 'question = "How polite is it?"\n[grades]\n0 = "rude"\n1 = "polite"\n'
    for place in (folder, folder.parent):
        (place / "tone.toml").write_text(rubric)
    rows = "".join(f"q{at},a,b,{'b' if at % 4 == 0 else 'a'},{'a' if at % 3 else 'b'},human:ann\n" for at in range(60))
    (folder / "preferences.csv").write_text(f"query,a,b,preferred,first,who\n{rows}")
    outside = str(folder.parent / "tone.toml")
    calls: list[Call] = [
        ("prefer", {"preferences": "preferences.csv"}),
        ("prefer", {"preferences": outside}),
        ("answers", {"answers": "log.jsonl", "measures": ["Criterion('tone.toml')"]}),
        ("answers", {"answers": "log.jsonl", "measures": [f"Criterion({outside!r})"]}),
        ("answers", {"answers": "log.jsonl", "measures": ["Criterion('../tone.toml')"]}),
    ]
    _, results = asked(folder, calls)
    words = [result.content[0].text for result in results]
    person = rp.prefer(str(folder / "preferences.csv"))
    assert words[0] == "\n".join(person.sentences)
    assert person.decision.systems == ("a",)
    assert results[0].structured_content["decision"]["systems"] == ["a"]
    assert words[1].startswith(f"preferences: {for_message(outside)} is outside the folders of this server")
    assert "cannot grade by a rubric" in words[2]
    assert words[3].startswith(f"measures: {for_message(outside)} is outside the folders of this server")
    assert words[4].startswith("measures: '../tone.toml' is not allowed")


@pytest.mark.slow
def test_with_write_an_agent_saves_a_baseline_and_a_report_and_passes_the_gate(folder: Path) -> None:
    qrels, runs = files_of(folder)
    both = {"data": qrels, "runs": runs}
    calls: list[Call] = [
        ("gate", {**both, "save": "baseline.json"}),
        ("gate", {**both, "baseline": "baseline.json"}),
        ("report", {**both, "path": "report.html"}),
        ("report", {**both, "path": "/tmp/../tmp/report.html"}),
    ]
    tools, results = asked(folder, calls, "--write")
    assert [result.is_error for result in results] == [False, False, False, True]
    assert {tool.name for tool in tools if not tool.annotations.read_only_hint} == {"gate", "report"}
    assert results[1].structured_content["outcome"] == "passed"
    assert (folder / "report.html").read_text().lower().startswith("<!doctype html>")
    assert not list(folder.parent.glob("*.html"))


@pytest.fixture
def access(folder: Path) -> Access:
    return Access(Folders([str(folder)]))


def refusal(access: Access, name: str, **arguments: Any) -> str:
    """The error of a call."""
    faults: list[Exception] = []
    words, plain = answer(name, arguments, access, 20_000, faults.append)
    assert (plain, faults) == (None, []), words
    return words


def test_paths_that_leave_the_folders_are_rejected(folder: Path, access: Access) -> None:
    qrels, _ = files_of(folder)
    (folder / "link.run").symlink_to(folder.parent / "secret.txt")
    (folder / "inner").mkdir()
    (folder / "inner" / "deep.run").symlink_to("/etc/hostname")
    os.mkfifo(folder / "pipe.run")
    for path, why in {
        str(folder.parent / "secret.txt"): "outside the folders",
        "/etc/passwd": "outside the folders",
        "link.run": "outside the folders",
        "inner": "is a link out of the folders",
        "inner/../log.jsonl": "is not allowed",
        "..": "is not allowed",
        "a\0b": "is not allowed",
        "": "is not allowed",
        "pipe.run": "is not a plain file",
        "*.run": "is a pattern",
        f"{folder} 2/a.run": "outside the folders",
    }.items():
        assert why in refusal(access, "compare", data=qrels, runs={"a": path}), path
    assert "is a link out" in refusal(access, "segments", data="inner")


def test_a_link_beside_a_results_folder_that_leads_out_is_rejected(folder: Path) -> None:
    results = folder / "results"
    results.mkdir()
    (folder / "results.people.jsonl").symlink_to(folder.parent / "secret.txt")
    assert "link out" in refusal(Access(Folders([str(folder)])), "compare", data="results")
    with pytest.raises(InputError, match="is not a folder"):
        Folders([str(folder / "log.jsonl")])


def test_every_option_that_takes_a_path_says_so() -> None:
    """An option with a file, folder or source is confined; no other option of a tool opens anything."""
    paths = {
        (tool.name, name) for tool in TOOLS for name, each in tool.settings.items() if each.option.role in ("path", "output")
    }
    named = {
        (tool.name, name)
        for tool in TOOLS
        for name, setting in tool.settings.items()
        if setting.option.metavar in ("FILE", "FOLDER", "SOURCE", "RESULTS") or setting.option.file
    }
    assert len(paths) >= 30
    assert named - paths - {(tool.name, "queries") for tool in TOOLS} == set()
    assert {name for _, name in paths} == {
        *("data", "runs", "run", "qrels", "dataset", "weights", "labels", "log", "bands", "baseline", "save", "cases", "path"),
        *("before", "answers", "references", "corpus", "nuggets", "cache", "preferences"),
    }


def test_read_only_tools_offer_nothing_that_writes(access: Access) -> None:
    for tool in TOOLS:
        offered = tool.schema(access)["properties"]
        assert [name for name in offered if tool.settings[name].option.role == "output"] == []
        assert set(offered) <= set(arguments_of(tool.function))
    assert "save cannot" not in refusal(access, "gate", data="log.jsonl", save="x.json")
    assert refusal(access, "gate", data="log.jsonl", save="x.json").startswith("gate has no argument save; ")


def test_no_code_is_imported_and_no_judge_is_asked_that_was_not_allowed(
    folder: Path, access: Access, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(named_code, "_REJECTED", ["this server imports no code"])
    (folder / "evil.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.chdir(folder)
    qrels, runs = files_of(folder)
    assert "imports no code" in refusal(access, "compare", data=qrels, runs=runs, measures="evil:run")
    assert "imports no code" in refusal(access, "eval", qrels=qrels, run=runs, measures=["evil:run"])
    for arguments in (
        {"judge": "gpt-4o-mini"},
        {"measures": "Faithfulness(judge='gpt-4o-mini')"},
        {"measures": ["ContextR", "Similarity(model='openai:text-embedding-3-small')"]},
        {"judge": "nli:/etc"},
    ):
        assert "is not allowed here; choose among overlap" in refusal(access, "answers", answers="log.jsonl", **arguments)
    assert "overlap" in FREE_JUDGES


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("comparr", {}, "no tool is called comparr; choose among eval, compare, answers"),
        ("compare", {}, "compare needs data: "),
        ("compare", {"data": 5}, "data cannot be 5; pass judgements"),
        ("compare", {"data": "log.jsonl", "margn": 1}, "compare has no argument margn; did you mean margin?"),
        ("compare", {"data": "log.jsonl", "margin": [1]}, "margin cannot be a list; pass how far below"),
        ("eval", {"qrels": "log.jsonl", "run": "log.jsonl", "rel": 0}, "rel cannot be 0; pass the lowest grade"),
    ],
)
def test_errors_are_our_messages(name: str, arguments: dict[str, Any], message: str, access: Access) -> None:
    assert refusal(access, name, **arguments).startswith(message)


def test_an_internal_error_is_reported_and_the_server_goes_on(access: Access, monkeypatch: pytest.MonkeyPatch) -> None:
    faults: list[Exception] = []
    monkeypatch.setattr("rankproof._mcp.server.reply", lambda value, limit: 1 / 0)
    words, plain = answer("answers", {"answers": "log.jsonl"}, access, 20_000, faults.append)
    assert (words, plain) == ("internal error: ZeroDivisionError: division by zero", None)
    assert [type(fault) for fault in faults] == [ZeroDivisionError]


@pytest.fixture(scope="module")
def values() -> list[Any]:
    """Large values of each kind."""
    count = 300
    qrels = {f"query {at}": {"d": 1} for at in range(count)}
    runs: Mapping[str, Any] = {
        f"a very long name of a system {at}": {query: ["x", "d"][at % 2 :] for query in qrels} for at in range(25)
    }
    return [
        rp.evaluate(qrels, runs),
        rp.compare(qrels, runs),
        rp.diagnose(qrels, runs, failed=count),
        rp.explain(qrels, runs, top=count),
        rp.gate(qrels, runs, thresholds="nDCG@10>=0.1"),
        rp.report(qrels, runs),
    ]


@pytest.mark.parametrize("limit", [MIN_CHARACTERS, 20_000])
def test_a_reply_is_never_larger_than_its_limit_and_counts_what_it_leaves_out(limit: int, values: Sequence[Any]) -> None:
    for value in values:
        words, plain = reply(value, limit)
        assert len(words) <= limit // 4
        assert size_of(plain) <= limit
        assert json.loads(as_json(plain))["answer"] == plain["answer"]
    diagnosis = rp.diagnose({f"q{at}": {"d": 1} for at in range(300)}, {"a": {"q1": ["x"]}}, failed=300)
    whole, cut = reply(diagnosis, 10**6)[1], reply(diagnosis, 8000)[1]
    for before, after in zip(whole["tables"], cut["tables"], strict=True):
        assert len(after["rows"]) + after.get("rows_left_out", 0) == len(before["rows"])
    assert sum(table.get("rows_left_out", 0) for table in cut["tables"]) > 0


def test_the_command_needs_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    from rankproof._cli.main import main

    assert main(["mcp"]) == 2
    assert "no folder; name the folders that tools may use" in capsys.readouterr().err
    assert issubclass(InputError, RankproofError)


@pytest.mark.parametrize("path", ["\ud800", "a\0b"])
def test_a_path_that_no_system_has_is_rejected(path: str, folder: Path) -> None:
    for place in (Folders([str(folder)]).readable, Folders([str(folder)]).writable):
        with pytest.raises(RankproofError, match="is not allowed"):
            place("log", path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_no_file_to_write(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with pytest.raises(RankproofError, match="pipe is not a plain file"):
        Folders([str(folder)]).writable("log", "pipe")
