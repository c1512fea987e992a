"""`rankproof prefer`: the decision from preferences between answers."""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING

from rankproof._cli.flags import add_flags
from rankproof._cli.inputs import show_tables
from rankproof._cli.options import without_repeats
from rankproof._cli.parser import Command
from rankproof._cli.terminal import Terminal, add_format_option, add_output_option, check_output
from rankproof.errors import UsageError, for_message

if TYPE_CHECKING:
    from rankproof._analysis.preferences import PreferenceResult
    from rankproof._formats.preferences import Preference

_PAGE = ".html"
USAGE = "[PREFERENCES…] [--judge NAME --answers RESULTS] [--save FILE] [options]"
EXAMPLES = """\
examples:
  rankproof prefer preferences.jsonl                      people preferred answers in the browser
  rankproof prefer --judge gpt-4o-mini --answers results --save by-model.jsonl
  rankproof prefer preferences.jsonl by-model.jsonl       and how far the model agrees with people
  rankproof prefer preferences.jsonl -o preferences.html  a page with the ranking, places and agreement
  rankproof prefer arena.csv --margin 0.05                Chatbot Arena: model_a, model_b, winner
  rankproof prefer mt_bench.jsonl --format json

Files of Chatbot Arena, MT-bench (both games), LangSmith's comparative experiments, and tables with
the columns query, a, b, preferred, first (shown first) and who: human:NAME for a person; llm:NAME or a
name such as gpt-4o for a machine, whose preferences never decide; other names, or none, count as a
machine's without --labels-by people. People prefer blind in rankproof serve RESULTS --edit"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the files, the judge and the decision."""
    from rankproof._api.prefer import prefer

    parser.add_argument("files", nargs="*", metavar="PREFERENCES", help="files of preferences")
    judge = parser.add_argument_group("language model")
    add_flags(judge, prefer, ("judge", "answers"))
    judge.add_argument("--save", metavar="FILE", help="write what the model prefers as JSON lines")
    budget = parser.add_argument_group("budget")
    add_flags(budget, prefer, ("budget",))
    budget.add_argument("--dry-run", action="store_true", help="estimate the cost and call no model")
    add_flags(parser.add_argument_group("decision"), prefer, ("margin", "costs", "labels_by"))
    output = parser.add_argument_group("output")
    add_format_option(output)
    add_output_option(output, "write to a file instead of standard output; FILE.html is a page")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Shows the decision, then the systems, the places and the judges."""
    from rankproof._analysis.preferences import analyse_preferences
    from rankproof._api.prefer import answers_to_compare, judged_preferences
    from rankproof._formats.preferences import read_preferences

    check_output(args.output, args.files)
    if (args.save is not None or args.dry_run) and args.judge is None:
        raise UsageError("no model is asked", fix="name it with --judge")
    if args.save is not None and os.path.exists(args.save):
        raise UsageError(f"{for_message(args.save)} exists", fix="name another file with --save")
    if args.dry_run:
        from rankproof._judge.preferences import PreferenceJudge

        cost = PreferenceJudge.estimate(*answers_to_compare(args.answers))
        terminal.say(f"{cost.calls:,} calls, {cost.tokens_in:,} tokens in, {cost.tokens_out:,} out at most")
        return 0
    files = [read_preferences(path) for path in args.files]
    made = [preference for file in files for preference in file.preferences]
    notes = [note for file in files for note in file.notes]
    if args.judge is not None:
        judged, judge_notes = judged_preferences(args.answers, args.judge, None, args.budget, None)
        if args.save is not None:
            _save(judged, args.save)
        made, notes = [*made, *judged], [*notes, *judge_notes]
    if not made:
        raise UsageError("there are no preferences", fix="specify files of preferences, or --judge NAME --answers RESULTS")
    costs = None if args.costs is None else without_repeats("--cost", args.costs)
    result = analyse_preferences(made, margin=args.margin, costs=costs, labels_by=args.labels_by, notes=notes)
    if args.output is not None and args.output.endswith(_PAGE):
        _save_page(result, args.output, terminal)
        return 0
    first, *others = result.tables
    show_tables([replace(first, title="", sentences=result.sentences, verdict_first=True), *others], args, terminal)
    terminal.notes(result.notes)
    return 0


def _save_page(result: PreferenceResult, path: str, terminal: Terminal) -> None:
    """Writes the report page, and shows the decision."""
    from rankproof._io.files import write_blocks
    from rankproof._report.preferences_page import render_preferences_report

    name = os.path.basename(path).removesuffix(_PAGE)
    write_blocks(path, [render_preferences_report(result, name).encode()])
    terminal.show("".join(f"{sentence}\n" for sentence in result.sentences))
    terminal.notes(result.notes)


def _save(preferences: list[Preference], path: str) -> None:
    """Writes a preference a line, in the form of the browser's file."""
    from rankproof._io.files import write_blocks
    from rankproof._io.strict_json import plain_record

    write_blocks(path, ((json.dumps(plain_record(made), ensure_ascii=False) + "\n").encode() for made in preferences))


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
