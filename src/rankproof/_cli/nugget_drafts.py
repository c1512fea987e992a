"""`rankproof answers --draft-nuggets FILE`: nuggets that a language model writes, for a person to confirm."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankproof._cli.inputs import show_tables
from rankproof._cli.llm_options import chat_model, llm_session
from rankproof._cli.terminal import Terminal
from rankproof.errors import ExternalError, UsageError, escape_invisible

if TYPE_CHECKING:
    from rankproof._analysis.answers.logged_answers import LoggedAnswers
    from rankproof._data.table import Table
    from rankproof._judge.claims.nuggets import DraftedNuggets, NuggetDrafter, NuggetSource


def check_draft_options(args: argparse.Namespace) -> None:
    """Refuses a judge that writes no text, and options that have no effect."""
    from rankproof._judge.claims.registry import is_language_model

    if args.judge is None or not is_language_model(args.judge):
        raise UsageError("--draft-nuggets needs a language model", fix="name one with --judge")
    for name in ("output", "nuggets", "labels", "measures"):
        if getattr(args, name):
            what = f"--draft-nuggets evaluates nothing, so --{name} has no effect"
            raise UsageError(what, fix=f"leave out --{name}; evaluate after a person has confirmed the nuggets")


def draft_nuggets(logs: LoggedAnswers, args: argparse.Namespace, terminal: Terminal) -> None:
    """Writes a draft for each question that the file does not have yet; --dry-run estimates the cost."""
    from rankproof._cli.progress import RunProgress
    from rankproof._judge.claims.nuggets import NuggetDrafter, NuggetSettings, add_drafts

    left = _left(logs, args.draft_nuggets)
    with llm_session(args) as session:
        drafter = NuggetDrafter(NuggetSettings(chat_model(args, args.judge)), session)
        if args.dry_run:
            show_tables([_estimate_table(drafter, left)], args, terminal)
            return
        with RunProgress(terminal) as progress:
            drafted = drafter.draft(left, progress)
    if left and not drafted.drafts:
        raise ExternalError(f"no nugget was drafted: {'; '.join(drafted.notes())}")
    add_drafts(args.draft_nuggets, drafted)
    show_tables([_drafts_table(drafted)], args, terminal)
    terminal.notes(drafted.notes())
    file = escape_invisible(shlex.quote(args.draft_nuggets))
    terminal.note(f"drafts are refused until a person confirms them: rankproof serve RESULTS --nuggets {file}")


def _left(logs: LoggedAnswers, path: str) -> list[NuggetSource]:
    """The questions without a line in the file."""
    from rankproof._formats.claims import read_nugget_drafts
    from rankproof._io.open import open_source
    from rankproof._judge.claims.nuggets import nugget_sources

    known = read_nugget_drafts(open_source(path)) if os.path.exists(path) else {}
    return [source for source in nugget_sources(logs) if source.query not in known]


def _estimate_table(drafter: NuggetDrafter, left: Sequence[NuggetSource]) -> Table:
    from rankproof._data.table import Column, Table

    cost = drafter.estimate(left)
    columns = (
        Column("questions", "count"),
        Column("calls", "count"),
        Column("tokens in", "count"),
        Column("tokens out", "count"),
    )
    row = (len(left), cost.calls, cost.tokens_in, cost.tokens_out)
    sentence = "No call was made. 4 characters count as a token; an invalid reply is requested again, which costs more."
    return Table("nugget cost", "Estimated calls to draft nuggets (dry run)", columns, (row,), (sentence,))


def _drafts_table(drafted: DraftedNuggets) -> Table:
    from rankproof._data.table import Column, Table

    nuggets = [nugget for draft in drafted.drafts for nugget in draft.nuggets]
    columns = (
        Column("questions", "count", "with a draft"),
        Column("vital", "count", "nuggets"),
        Column("okay", "count", "nuggets"),
        Column("failed", "count", "questions without a usable reply"),
        Column("empty", "count", "questions whose texts hold no fact"),
    )
    vital = sum(nugget.importance == "vital" for nugget in nuggets)
    row = (len(drafted.drafts), vital, len(nuggets) - vital, len(drafted.failed), len(drafted.empty))
    return Table("nugget drafts", "Drafts of nuggets", columns, (row,))
