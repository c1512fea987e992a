"""The options of commands that call a language model: --model, --budget and others."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rankproof._cli.flags import add_flag, add_option, settings_by_name
from rankproof._cli.terminal import Terminal
from rankproof._data.validation import BUDGET, CACHE, CONCURRENCY, ServerArguments
from rankproof._registry import Option, Setting
from rankproof.errors import UsageError, for_message

if TYPE_CHECKING:
    from rankproof._data.table import Table
    from rankproof._llm.session import LLMSession
    from rankproof.models._chat.base import ChatModel


_SERVER_OPTIONS = ("base_url", "api_key_env", "price_in", "price_out", "concurrency")
"""Options of models behind a server."""
MODEL_FILE = Option("a TOML file with a table [model], as in an experiment file", metavar="FILE", rare=True)
_TABLE_FIX = 'write a table [model] with name = "openai" and model = "NAME"'


def add_chat_options(group: argparse._ArgumentGroup) -> None:
    """Adds the model, its server and its prices."""
    group.add_argument("--model", metavar="NAME", help="the name of the model at its server, smollm2, or a gguf file")
    add_server_options(group)


def add_server_options(group: argparse._ArgumentGroup) -> None:
    """Adds the server of a model, its prices and the file with all settings."""
    add_option(group, "model_file", MODEL_FILE)
    for setting in settings_by_name(ServerArguments).values():
        add_flag(group, setting, default=None)


def add_budget_options(parser: argparse.ArgumentParser, title: str = "budget") -> None:
    """Adds the budget, the concurrency, the dry run and the folder of replies."""
    group = parser.add_argument_group(title)
    add_option(group, "budget", BUDGET)
    group.add_argument("--dry-run", action="store_true", help="estimate the cost and call no model")
    add_flag(group, Setting("concurrency", "concurrency", int, True, None, CONCURRENCY))
    add_option(group, "cache", CACHE)


def chat_model(args: argparse.Namespace, name: str | None = None) -> ChatModel:
    """The model of that name, by default the one of --model, with the other options."""
    model = _model(args, args.model if name is None else name, is_named=name is None)
    if args.budget is not None:
        from rankproof._llm.budget import check_model_has_price

        check_model_has_price(args.budget, model)
    return model


def server_options(args: argparse.Namespace) -> dict[str, Any]:
    """The options of a model behind a server that were given."""
    return {name: value for name in _SERVER_OPTIONS if (value := getattr(args, name)) is not None}


def _model(args: argparse.Namespace, name: str | None, *, is_named: bool) -> ChatModel:
    options = server_options(args)
    if args.model_file is not None:
        if (is_named and name is not None) or options.keys() - {"concurrency"}:
            raise UsageError("--model-file holds all settings of the model", fix="leave out --model and its options")
        return _with_options(_from_file(args.model_file), options)
    if not name:
        raise UsageError("no model", fix="pass --model or --model-file")
    return _model_named(name, options)


def _model_named(name: str, options: dict[str, Any]) -> ChatModel:
    """A built-in model or a gguf file by its name, else a model of a server."""
    from rankproof.models._registry import any_chat_by_name, is_local_chat

    if options and is_local_chat(name):
        option = next(iter(options)).replace("_", "-")
        raise UsageError(f"--{option} is for a model behind a server, not for {for_message(name)}", fix="leave it out")
    return any_chat_by_name(name, **options)


def _from_file(path: str) -> ChatModel:
    from rankproof._experiment.config_settings import part_by_name
    from rankproof._io.toml_file import read_toml

    page = read_toml(path)
    table = page.values.get("model")
    if not isinstance(table, dict) or not isinstance(table.get("name"), str) or len(page.values) != 1:
        raise page.error((), "the file does not hold exactly one table [model] with a name", _TABLE_FIX)
    try:
        model: ChatModel = part_by_name("chat", table, page.folder)
    except UsageError as error:
        raise page.error(("model",), error.what, error.fix) from None
    return model


def _with_options(model: ChatModel, options: dict[str, Any]) -> ChatModel:
    from dataclasses import replace

    if not options:
        return model
    try:
        return replace(model, **options)  # type: ignore[type-var]
    except TypeError:
        raise UsageError("this model takes one request at a time", fix="leave out --concurrency") from None


def llm_session(args: argparse.Namespace) -> LLMSession:
    """The session of model calls; a dry run opens no response cache."""
    from pathlib import Path

    from rankproof._io.paths import cache_home
    from rankproof._llm.cache import ResponseCaches
    from rankproof._llm.session import LLMSession

    if args.cache == "":
        raise UsageError("--cache has no folder", fix="specify one, or leave out --cache")
    home = cache_home() if args.cache is None else Path(args.cache).expanduser().absolute()
    return LLMSession(None if args.dry_run else ResponseCaches(home), args.budget)


def show_llm_tables(tables: Sequence[Table], written: str, args: argparse.Namespace, terminal: Terminal) -> None:
    """Shows the tables, their notes and, unless it was a dry run, what was written."""
    from rankproof._render.table import TABLE_RENDERERS

    terminal.show(TABLE_RENDERERS[args.format](tables, terminal.render_options()))
    terminal.notes(note for table in tables for note in table.notes)
    if not args.dry_run:
        terminal.note(written)
