"""Runs the examples of a page in one folder and one namespace."""

from __future__ import annotations

import ast
import io
import os
import pprint
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from textwrap import fill
from typing import Any
from unittest import mock

from rankproof._cli.main import main
from rankproof._cli.progress import RunProgress
from rankproof.models._wordllama import download_wordllama

WIDTH = 96
_PROGRESS = re.compile(
    r"^([\w, -]+: (asking|building|searching|timing|calling the model)|judging|filling the store|(encoding|indexing) \w+"
    r"|(fetching|downloading) .*)\n",
    re.MULTILINE,
)
_BESIDE = ("note: ", "results saved in ")


class ExampleError(Exception):
    """An example that does not run."""


class Session:
    """Runs Python and commands one after the other."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"__name__": "page"}
        self._code = 0

    def run_python(self, code: str) -> str:
        """What the code prints, and the value of its last line where that is one."""
        tree = ast.parse(code)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        with redirect_stdout(io.StringIO()) as printed:
            exec(compile(tree, "page", "exec", dont_inherit=True), self.names)
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), "page", "eval", dont_inherit=True), self.names)
                if value is not None:
                    printed.write(pprint.pformat(value, width=WIDTH, sort_dicts=False) + "\n")
        return printed.getvalue()

    def value(self, expression: str) -> Any:
        """The value of an expression."""
        return eval(compile(expression.strip(), "page", "eval", dont_inherit=True), self.names)

    def run_console(self, text: str, most_lines: int | None = None) -> str:
        """The commands of a block, each with what it writes now, or the first lines of it."""
        shown = ""
        for command in _commands(text):
            if self._code and "$?" not in command:
                raise ExampleError(f"the command before `{command}` ended with exit code {self._code}")
            shown += f"$ {command}\n" + _first_lines(self._output(command.replace("\\\n", " ")), most_lines)
        if self._code:
            raise ExampleError(f"the last command ended with exit code {self._code}:\n{shown}")
        return shown

    def _output(self, command: str) -> str:
        words = shlex.split(command, comments=True)
        if words[0] == "rankproof" and not {"|", ">", "&&"} & set(words):
            return self._in_this_process(words[1:])
        done = subprocess.run(
            ["bash", "-c", f"(exit {self._code}); {command}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=_with_commands(),
            check=False,
        )
        self._code = done.returncode
        return _shown(done.stdout)

    def _in_this_process(self, arguments: list[str]) -> str:
        written = io.BytesIO()
        screen, beside = (kind(written, encoding="utf-8", write_through=True) for kind in (_Screen, io.TextIOWrapper))
        with redirect_stdout(screen), redirect_stderr(beside), mock.patch.object(RunProgress, "__call__"):
            self._code = main(arguments)
        return _shown(written.getvalue().decode())


class _Screen(io.TextIOWrapper):
    """Standard output as a terminal, so that sentences are folded to its width."""

    def isatty(self) -> bool:
        return True


def _shown(text: str) -> str:
    """What stays on a terminal: no progress, notes folded."""
    lines = _PROGRESS.sub("", text).splitlines()
    folded = [fill(line, WIDTH) if line.startswith(_BESIDE) else line for line in lines]
    return "".join(f"{line.rstrip()}\n" for line in "\n".join(folded).splitlines())


def _first_lines(text: str, most: int | None) -> str:
    """The first lines, with a mark of what is left out."""
    lines = text.splitlines(keepends=True)
    return text if most is None or len(lines) <= most else "".join(lines[:most]).rstrip("\n") + "\n…\n"


@contextmanager
def session() -> Iterator[Session]:
    """A session in an empty folder, with a cache that holds only WordLlama's weights; both are deleted afterwards."""
    weights = download_wordllama(lambda text: None, lambda done, total: None)
    with ExitStack() as stack:
        folder, cache = (stack.enter_context(tempfile.TemporaryDirectory()) for _ in range(2))
        models = Path(cache) / "models"
        models.mkdir()
        (models / "wordllama").symlink_to(weights)
        settings = {"COLUMNS": str(WIDTH), "RANKPROOF_CACHE": cache, "NO_COLOR": "1"}
        stack.enter_context(mock.patch.dict(os.environ, settings))
        stack.callback(os.chdir, Path.cwd())
        os.chdir(folder)
        yield Session()


def _commands(text: str) -> Iterator[str]:
    lines = iter(text.splitlines())
    for line in lines:
        if not line.startswith("$ "):
            continue
        command = line[2:]
        while command.endswith("\\"):
            command += "\n" + next(lines)
        yield command


def _with_commands() -> dict[str, str]:
    """The environment, in which `rankproof` and `python` are those of this interpreter."""
    folder = str(Path(sys.executable).parent)
    return {**os.environ, "PATH": folder + os.pathsep + os.environ.get("PATH", "")}
