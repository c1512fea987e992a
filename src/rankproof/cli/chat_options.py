"""The language model that a verb asks, and what that may cost, named on the command line."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ..errors import UsageError, shown
from .values import at_least_one, number

if TYPE_CHECKING:
    from ..asking.budget import Budget
    from ..models.chat.port import ChatModel

_SERVER = "openai"
_SERVED = ("base_url", "key_env", "price_in", "price_out", "concurrency")
"""What belongs to a model behind a server."""
_TABLE = 'write [model] and below it name = "openai" and model = "NAME"'


def add_chat(group: argparse._ArgumentGroup) -> None:
    """Which model, where, at what price."""
    group.add_argument("--model", metavar="NAME", help="the model: as its server calls it, or smollm2")
    group.add_argument("--base-url", metavar="URL", help="its server, OpenAI-compatible (https://api.openai.com/v1)")
    group.add_argument("--key-env", metavar="VAR", help="the variable that holds the key (OPENAI_API_KEY); '' for none")
    group.add_argument("--price-in", type=number, metavar="X", help="money for a million tokens that it reads")
    group.add_argument("--price-out", type=number, metavar="X", help="money for a million tokens that it writes")
    group.add_argument("--model-file", metavar="FILE", help="the model as TOML instead: a table [model] as in an experiment")


def add_spending(group: argparse._ArgumentGroup) -> None:
    """How much may be asked, and how much at once."""
    group.add_argument("--budget", type=_budget, metavar="B", help="the most that this start may cost: calls=500,money=1.50")
    group.add_argument("--concurrency", type=at_least_one, metavar="N", help="how many asks are under way at once (the model's)")
    group.add_argument("--dry-run", action="store_true", help="say what it would cost, and ask nothing")


def chat_of(args: argparse.Namespace) -> ChatModel:
    """The model that the options name."""
    model = _model(args)
    if args.budget is not None:
        from ..asking.budget import refuse_unpriced

        refuse_unpriced(args.budget, model)
    return model


def _model(args: argparse.Namespace) -> ChatModel:
    given = {name: value for name in _SERVED if (value := getattr(args, name)) is not None}
    if args.model_file is not None:
        if args.model is not None or given.keys() - {"concurrency"}:
            raise UsageError("--model-file has all settings of the model", fix="leave out --model and what belongs to it")
        return _with(_from_file(args.model_file), given)
    if not args.model:
        raise UsageError("no model is named", fix="name one with --model or --model-file")
    return _named(args.model, given)


def _named(name: str, given: dict[str, Any]) -> ChatModel:
    """One of ours by its name, else a model that a server knows by it."""
    from ..models.registry import CHATS, chat_named

    if name in CHATS and name != _SERVER:
        if given:
            option = next(iter(given)).replace("_", "-")
            raise UsageError(f"--{option} is for a model behind a server, not for {shown(name)}", fix="leave it out")
        return chat_named(name)
    return chat_named(_SERVER, model=name, **given)


def _from_file(path: str) -> ChatModel:
    from ..experiment.toml.page import read_page
    from ..experiment.toml.parts import named_part

    page = read_page(path)
    table = page.values.get("model")
    if not isinstance(table, dict) or not isinstance(table.get("name"), str) or len(page.values) != 1:
        raise page.error((), "there is no table [model] with a name, or more than that", _TABLE)
    try:
        model: ChatModel = named_part("chat", table, page.folder)
    except UsageError as error:
        raise page.error(("model",), error.what, error.fix) from None
    return model


def _with(model: ChatModel, given: dict[str, Any]) -> ChatModel:
    from dataclasses import replace

    if not given:
        return model
    try:
        return replace(model, **given)  # type: ignore[type-var]
    except TypeError:
        raise UsageError("this model takes one ask at a time", fix="leave out --concurrency") from None


def _budget(text: str) -> Budget:
    from ..asking.budget import parse_budget

    return parse_budget(text)
