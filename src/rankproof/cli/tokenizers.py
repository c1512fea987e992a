"""`rankproof tokenizers`: the tokenization lab, which trains and compares encoders that differ in their tokenizer alone."""

from __future__ import annotations

import argparse
from importlib import import_module

from ..errors import UsageError
from .terminal import Terminal
from .values import names, whole

USAGE = "train DATASET -o FOLDER | compare DATASET [--trials FOLDER] [options]"
EXAMPLES = """\
examples:
  rankproof tokenizers train my-data --split train --kinds bytes,characters,bpe-4000 -o trials
  rankproof tokenizers compare my-data --trials trials -o comparison
  rankproof tokenizers compare my-data --lexical words,stems,characters-4 --typos 0,1,2
  rankproof tokenizers compare my-data --trials trials --store pgvector -o comparison

train needs the extra torch: pip install 'rankproof[torch]'; it takes a GPU where there is one.
docs/tokenizers.md says what is held equal, and what was found"""
_ACTIONS = ("train", "compare")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to do, with which dataset, and each action's own options."""
    parser.add_argument("action", choices=_ACTIONS, help="train encoders, or compare them")
    parser.add_argument("dataset", metavar="DATASET", help="a folder with corpus.jsonl, queries.jsonl and qrels, or sample")
    parser.add_argument("-o", "--output", metavar="FOLDER", help="where the checkpoints, or the tables and charts, are written")
    parser.add_argument("--split", metavar="NAME", help="the split that is read (train to train, test to compare)")
    parser.add_argument("--languages", type=names, metavar="NAMES", help="of DATASET/i18n, `own` for its own files, or all (own)")
    parser.add_argument("--seed", type=whole, default=1, metavar="N", help="of everything random (1)")
    parser.add_argument("--device", choices=("cpu", "cuda"), help="of nets (train: a GPU where there is one; compare: cpu)")
    for action in _ACTIONS:
        import_module(f"rankproof.cli.tokenizers_{action}").add_arguments(parser.add_argument_group(f"{action} alone"))


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Hands over to the action."""
    _refuse_options_of_others(args)
    code: int = import_module(f"rankproof.cli.tokenizers_{args.action}").run(args, terminal)
    return code


def _refuse_options_of_others(args: argparse.Namespace) -> None:
    """An option of the other action is refused, not left unheard; those that were not given are None."""
    for action in _ACTIONS:
        group = argparse.ArgumentParser(add_help=False).add_argument_group()
        import_module(f"rankproof.cli.tokenizers_{action}").add_arguments(group)
        given = [option.option_strings[-1] for option in group._group_actions if getattr(args, option.dest) is not None]
        if given and action != args.action:
            raise UsageError(f"{given[0]} is an option of tokenizers {action}", fix=f"leave it out of tokenizers {args.action}")
