"""`rankproof tokenizers`: trains and compares encoders that differ only in their tokenizer or prompts."""

from __future__ import annotations

import argparse
from typing import Annotated, Literal, TypedDict

from rankproof._cli.commands.tokenizers import compare, train
from rankproof._cli.flags import GRADES, add_flags
from rankproof._cli.parser import Command
from rankproof._cli.terminal import Terminal, add_output_option
from rankproof._evaluation.options import ReadArguments
from rankproof._registry import Option
from rankproof.errors import UsageError

USAGE = "train DATASET -o FOLDER | compare DATASET [--checkpoints FOLDER]"
EXAMPLES = """\
examples:
  rankproof tokenizers train my-data --split train --tokenizers bytes,bpe-4000 -o encoders
  rankproof tokenizers train my-data --split test --holdout 0.5 -o encoders
  rankproof tokenizers train my-data --query-prompt "query: " -o encoders/e5-style
  rankproof tokenizers compare my-data --checkpoints encoders -o comparison
  rankproof tokenizers compare my-data --checkpoints encoders --prompts all
  rankproof tokenizers compare my-data --lexical words,stems,characters-4 --typos 0,1,2
  rankproof tokenizers compare my-data --checkpoints encoders --store pgvector -o comparison

tokenizers to train:
  bytes        the bytes of the text in UTF-8
  bytes-4      bytes, four of them merged into one position after the first layer
  characters   code points, hashed, merged like bytes-4
  bpe-N        byte-level BPE with N tokens, from 300 to 100,000; it has no unknown tokens
  wordpiece-N  WordPiece with N tokens, from 300 to 100,000; it knows the letters of its documents

compare uses no query that a checkpoint was trained on. If the dataset has no training split,
--holdout reserves some of the judged queries for compare.
train needs the extra torch: pip install 'rankproof[torch]'; it uses a GPU if there is one.
Method and results: docs/tokenizers.md"""
_ACTIONS = {"train": train, "compare": compare}


class SharedArguments(TypedDict, total=False):
    """The options of both actions."""

    split: Annotated[str | None, Option("split of the judged queries", metavar="NAME", unset="train for train, test for compare")]
    languages: Annotated[
        list[str] | None,
        Option("languages: names in DATASET/i18n, own for the dataset itself, or all", metavar="NAMES", unset="own"),
    ]
    seed: Annotated[int, Option("random seed; for train that of the training data and the first training", least=0, default=1)]
    device: Annotated[
        Literal["cpu", "cuda"] | None,
        Option("where networks run", unset="for train a GPU if there is one, for compare cpu"),
    ]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the action, the dataset and the options of each action."""
    parser.add_argument("action", choices=tuple(_ACTIONS), help="train encoders, or compare them")
    parser.add_argument("dataset", metavar="DATASET", help="a folder with corpus.jsonl, queries.jsonl and qrels, or sample")
    add_flags(parser, ReadArguments, GRADES)
    add_output_option(parser, "folder for the checkpoints, or for the tables and charts", metavar="FOLDER")
    add_flags(parser, SharedArguments)
    for action, module in _ACTIONS.items():
        module.add_arguments(parser.add_argument_group(f"options of {action}"))


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Runs the action."""
    _check_options_of_action(args)
    code: int = _ACTIONS[args.action].run(args, terminal)
    return code


def _check_options_of_action(args: argparse.Namespace) -> None:
    """Refuses options of the other action; options that are not given are None."""
    for action, module in _ACTIONS.items():
        alone = argparse.ArgumentParser(add_help=False)
        module.add_arguments(alone.add_argument_group())
        options = [name for name in vars(alone.parse_args([])) if getattr(args, name) is not None]
        if options and action != args.action:
            option = f"--{options[0].replace('_', '-')}"
            raise UsageError(f"{option} is an option of tokenizers {action}", fix=f"leave it out of tokenizers {args.action}")


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
