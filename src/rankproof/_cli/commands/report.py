"""`rankproof report`: writes results or run files as one self-contained HTML page, or its decision as a picture or Markdown."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from rankproof._cli.inputs import ONE_INPUT_HELP, add_dataset_options, add_input_options, dataset_of_runs
from rankproof._cli.options import add_decision_options, decision_options
from rankproof._cli.parser import Command
from rankproof._cli.terminal import (
    STDOUT,
    Terminal,
    add_format_option,
    add_output_option,
    check_output,
    show_value_notes,
    write_or_show,
)
from rankproof._report.summary_files import FORMATS, report_format
from rankproof.errors import UsageError, escape_invisible

if TYPE_CHECKING:
    from rankproof._analysis.changes.changes import Changes
    from rankproof._analysis.compare.comparison import Comparison
    from rankproof._results.experiment_result import ExperimentResult


USAGE = "RESULTS | BEFORE AFTER | QRELS RUN… [-o report.html|.png|.md] [options]"
EXAMPLES = """\
examples:
  rankproof report results -o report.html
  rankproof report results            writes results/report.html
  rankproof report results -o decision.png
  rankproof report results -m shop_measures:first_best
  rankproof report before after -o changes.html
  rankproof report before after -o changes.md
  rankproof report qrels.txt prod.run new.run -o report.html
  rankproof report qrels.txt prod.run new.run --dataset data/shop --cost prod=1 --cost new=4

The page needs no network and no server. png and markdown have the decision and the table of
systems: a picture for a chat or slide (extra plot), and a comment for a pull request. Two results
folders give the page on what changed: systems of the same name, the queries that changed most,
and the settings; --name names the two. Run files have no latency: --cost says what a system
costs. --dataset adds the texts of queries and documents"""
_FILES = {"html": "report.html", "png": "decision.png", "markdown": "decision.md"}
_CHANGES_FILES = {"html": "changes.html", "png": "changes.png", "markdown": "changes.md"}
_INPUTS_HELP = f"{ONE_INPUT_HELP}; or two results folders, before and after"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the inputs, the decision and the output."""
    group = add_input_options(parser, "content", _INPUTS_HELP)
    add_dataset_options(group)
    add_decision_options(parser.add_argument_group("decision"))
    where = parser.add_argument_group("output")
    usual = "report.html, of a results folder in the folder; changes.html for two"
    add_output_option(where, f"the file to write (default: {usual})")
    about = "the whole page, or the decision and the table (by the suffix of the file, else html)"
    add_format_option(where, about, formats=FORMATS, default=None)


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Reads the results and writes the page."""
    from rankproof._analysis.changes.changes import order_note
    from rankproof._cli.results import read_results, results_folder, two_results_folders
    from rankproof._io.files import is_results_folder

    format = args.format or ("html" if args.output is None else report_format(args.output))
    if two_results_folders(args):
        path = _output(args, format, _CHANGES_FILES[format])
        changes = _read_changes(args)
        _write(_changes_content(changes, format), path, terminal)
        if (note := order_note(changes)) is not None:
            terminal.note(note)
        show_value_notes(changes.joined.result, terminal)
        return _say(path, format, terminal)
    if len(args.files) > 2 and all(map(is_results_folder, args.files)):
        what = f"{len(args.files)} results folders, but one or two are expected"
        raise UsageError(what, fix="specify one results folder, or two: before and after")
    folder = results_folder(args)
    path = _output(args, format, os.path.join(folder or "" if format == "html" else "", _FILES[format]))
    results = read_results(args, dataset_of_runs(args), **decision_options(args))
    _write(_content(results, format), path, terminal)
    show_value_notes(results.result, terminal)
    return _say(path, format, terminal)


def _output(args: argparse.Namespace, format: str, usual: str) -> str:
    """The file to write; - only for Markdown."""
    path: str = usual if args.output is None else args.output
    check_output(path, [*args.files, args.dataset])
    if (path in STDOUT and format != "markdown") or os.path.isdir(path):
        raise UsageError(f"{path} is not a file", fix=f"specify a file for the page, such as {os.path.basename(usual)}")
    return path


def _read_changes(args: argparse.Namespace) -> Changes:
    from rankproof._analysis.changes.changes import LABELS, compare_before_after
    from rankproof._cli.results import refuse_run_file_options, register_measures
    from rankproof._data.text import pluralise
    from rankproof._results.folder import load_results

    refuse_run_file_options(args, but=("name",))
    if len(args.name) not in (0, 2):
        raise UsageError(f"{pluralise(len(args.name), 'name')} for two results folders", fix="name both with --name, or none")
    register_measures(args)
    before, after = map(load_results, args.files)
    labels = (args.name[0], args.name[1]) if args.name else LABELS
    return compare_before_after(before, after, labels=labels, **decision_options(args))


def _changes_content(changes: Changes, format: str) -> bytes:
    from rankproof._report.changes_page import render_changes
    from rankproof._report.summary import changes_summary
    from rankproof._report.summary_files import summary_content

    if format == "html":
        return render_changes(changes).encode(errors="backslashreplace")
    return summary_content(changes_summary(changes), format)


def _content(results: ExperimentResult, format: str) -> bytes:
    from rankproof._report.page import render_report
    from rankproof._report.summary import results_summary
    from rankproof._report.summary_files import summary_content

    if format == "html":
        return render_report(results).encode(errors="backslashreplace")
    return summary_content(results_summary(results), format)


def _write(content: bytes, path: str, terminal: Terminal) -> None:
    """Writes the file, atomically; Markdown may go to standard output."""
    from rankproof._io.files import write_blocks

    if path in STDOUT:
        write_or_show(content.decode(), None, terminal)
    else:
        write_blocks(path, [content])


def _say(path: str, format: str, terminal: Terminal) -> int:
    if not terminal.quiet and path not in STDOUT:
        what = "report" if format == "html" else "decision"
        terminal.say(f"{what}: {escape_invisible(path)}{'; open it in a browser' if format == 'html' else ''}")
    return 0


def write_report_page(results: ExperimentResult, path: str, compared: Comparison | None) -> None:
    """Writes the page to a file, atomically; `compared` is what `compare_results` returned."""
    from rankproof._io.files import write_blocks
    from rankproof._report.page import render_report

    write_blocks(path, [render_report(results, compared=compared).encode(errors="backslashreplace")])


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
