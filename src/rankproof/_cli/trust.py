"""Whether an experiment file may run the Python code that it names: asked once on a terminal, `--trust` elsewhere."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from rankproof.errors import UsageError, escape_invisible, for_message

if TYPE_CHECKING:
    from rankproof._cli.terminal import Terminal
    from rankproof._experiment.experiment import Experiment
    from rankproof._io.named_code import NamedCode


def add_trust_option(parser: argparse._ActionsContainer) -> None:
    """Adds the option."""
    text = "run Python code that the experiment file names (module:name, trust_remote_code) without asking"
    parser.add_argument("--trust", action="store_true", help=text)


def read_trusted_experiment(path: str, args: argparse.Namespace, terminal: Terminal) -> Experiment:
    """The experiment of the file; code that it names is imported only if the user trusts it, and by a dry run never."""
    from rankproof._experiment.config_read import read_experiment, read_without_imports

    experiment, code = read_without_imports(path)
    if not code.names:
        return experiment
    if args.dry_run:
        terminal.note(f"{for_message(path)} names Python code, which a dry run does not import: {_phrase(code)}")
        return experiment
    if args.trust or code.is_trusted() or _asked(code):
        code.trust()
        return read_experiment(path)
    what = f"{for_message(path)} names Python code that was not trusted before: {_phrase(code)}"
    raise UsageError(what, fix="read that code, then add --trust")


def _phrase(code: NamedCode) -> str:
    return ", ".join(escape_invisible(name) for name in code.names)


def _asked(code: NamedCode) -> bool:
    """Whether the user says yes; no where nobody can be asked."""
    if sys.stdin is None or sys.stderr is None or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    files = "".join(f"\n  {escape_invisible(str(path))}" for path in code.modules())
    sys.stderr.write(f"{for_message(code.source)} runs Python code with your rights: {_phrase(code)}{files}\nRun it? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
