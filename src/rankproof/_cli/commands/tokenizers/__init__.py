"""`rankproof tokenizers`: the tokenization lab, which trains and compares encoders that differ in their tokenizer alone."""

from __future__ import annotations

import argparse

from rankproof._cli.arg_types import name_list, nonnegative_int
from rankproof._cli.command import Command
from rankproof._cli.commands.tokenizers import compare, train
from rankproof._cli.terminal import Terminal
from rankproof.errors import UsageError

USAGE = "train DATASET -o FOLDER | compare DATASET [--checkpoints FOLDER] [options]"
EXAMPLES = """\
examples:
  rankproof tokenizers train my-data --split train --tokenizers bytes,characters,bpe-4000 -o trials
  rankproof tokenizers train my-data --split test --holdout 0.5 -o trials
  rankproof tokenizers compare my-data --checkpoints trials -o comparison
  rankproof tokenizers compare my-data --lexical words,stems,characters-4 --typos 0,1,2
  rankproof tokenizers compare my-data --checkpoints trials --store pgvector -o comparison

tokenizers to train:
  bytes        the bytes of the text in UTF-8
  bytes-4      bytes, four of them joined into one position after the first layer
  characters   code points, hashed, and joined like bytes-4
  bpe-N        byte-level BPE of N tokens, from 300 to 100,000; nothing is unknown to it
  wordpiece-N  WordPiece of N tokens, from 300 to 100,000; it knows the letters of its documents

compare never asks a query that a trial was trained on: where a dataset has no split to train on,
--holdout keeps some of the judged queries for it.
train needs the extra torch: pip install 'rankproof[torch]'; it takes a GPU where there is one.
docs/tokenizers.md says what is held equal, and what was found"""
_ACTIONS = {"train": train, "compare": compare}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to do, with which dataset, and each action's own options."""
    parser.add_argument("action", choices=tuple(_ACTIONS), help="train encoders, or compare them")
    parser.add_argument("dataset", metavar="DATASET", help="a folder with corpus.jsonl, queries.jsonl and qrels, or sample")
    parser.add_argument("-o", "--output", metavar="FOLDER", help="where the checkpoints, or the tables and charts, are written")
    parser.add_argument(
        "--split", metavar="NAME", help="the split whose judged queries are read (train: the split train; compare: test)"
    )
    parser.add_argument(
        "--languages",
        type=name_list,
        metavar="NAMES",
        help="the languages to read: names in DATASET/i18n, own for the dataset's own files, or all (own)",
    )
    parser.add_argument(
        "--seed",
        type=nonnegative_int,
        default=1,
        metavar="N",
        help="the seed of everything random; to train, of the lessons and of the first training (1)",
    )
    parser.add_argument(
        "--device", choices=("cpu", "cuda"), help="where nets run (train: on a GPU where there is one; compare: cpu)"
    )
    for action, module in _ACTIONS.items():
        module.add_arguments(parser.add_argument_group(f"{action} alone"))


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Hands over to the action."""
    _check_options_of_action(args)
    code: int = _ACTIONS[args.action].run(args, terminal)
    return code


def _check_options_of_action(args: argparse.Namespace) -> None:
    """An option of the other action is refused, not left unheard; those that were not given are None."""
    for action, module in _ACTIONS.items():
        alone = argparse.ArgumentParser(add_help=False)
        module.add_arguments(alone.add_argument_group())
        given = [name for name in vars(alone.parse_args([])) if getattr(args, name) is not None]
        if given and action != args.action:
            option = f"--{given[0].replace('_', '-')}"
            raise UsageError(f"{option} is an option of tokenizers {action}", fix=f"leave it out of tokenizers {args.action}")


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
