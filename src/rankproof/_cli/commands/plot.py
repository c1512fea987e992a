"""`rankproof plot`: draws charts of results."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, get_args

from rankproof._cli.flags import add_flag, add_flags, name_list
from rankproof._cli.inputs import add_dataset_options, add_input_options, read_input_with_texts
from rankproof._cli.parser import Command
from rankproof._cli.terminal import Terminal, add_format_option, add_output_option, show_value_notes
from rankproof._plots.registry import PLOT_KINDS
from rankproof._registry import Option, Setting
from rankproof.errors import UsageError, for_message

if TYPE_CHECKING:
    from rankproof._analysis.inputs import AnalysisInput
    from rankproof._charts.figure import Format
    from rankproof._plots.charts import PlotFile
    from rankproof._plots.settings import PlotSettings


USAGE = "RESULTS | QRELS RUN… [--kind KINDS] [-o FOLDER|FILE] [-m MEASURES] [options]"
EXAMPLES = """\
examples:
  rankproof plot results
  rankproof plot results --kind bars,pareto -o figures --format pdf
  rankproof plot results --kind differences --system hybrid-rrf --against bm25 -o gains.svg
  rankproof plot results --kind segments --by category -m nDCG@10,RR@10 -o segments
  rankproof plot qrels.txt bm25.run dense.run --kind recall,precision-recall -o curves.pdf

A folder gets one file per chart; a PDF file holds several charts, one per page. Charts of a single
measure show the first measure, or with -m each one. The same result always gives the same bytes.
Needs the extra plot: pip install 'rankproof[plot]'"""
DEFAULT_FOLDER = "plots"
_FORMATS = ("png", "svg", "pdf")
_PIXELS = 20_000
DPI = Setting("dpi", "dpi", int, False, 200, Option("dots per inch of a PNG file", least=30, most=1200, rare=True))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the inputs, the charts and the output."""
    from rankproof._api.output import plot

    group = add_input_options(parser, "charts")
    add_flags(group, plot, ("kind", "by"), kind=None)
    add_dataset_options(group)
    add_flags(group, plot, ("system", "against"))
    how = parser.add_argument_group("output")
    add_output_option(how, f"a folder, or a file for one chart (default: {DEFAULT_FOLDER})", metavar="FOLDER")
    how.set_defaults(output=DEFAULT_FOLDER)
    add_format_option(how, "format of the files in a folder", formats=_FORMATS, default=None)
    add_flags(how, plot, ["width"])
    add_flag(how, DPI)


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Evaluates the systems and draws the charts."""
    from rankproof._plots.charts import draw_pdf, draw_plots

    kinds, format, settings = _kinds(args.kind), _format(args), _settings(args)
    inputs = read_input_with_texts(args)
    _check(inputs, kinds, args)
    show_value_notes(inputs.result, terminal)
    if _is_file(args.output) and format == "pdf":
        write_plot(draw_pdf(inputs, kinds, settings), args.output, terminal)
        return 0
    charts = draw_plots(inputs, kinds, settings, format)
    drawn = [chart for chart in charts if not chart.missing] if len(kinds) > 1 else charts
    if _is_file(args.output):
        write_plot(single_plot(drawn or charts[:1], args.output), args.output, terminal)
        return 0
    write_plots(drawn, charts, args.output, format, terminal)
    return 0


def _kinds(asked: list[str] | None) -> list[str]:
    chosen = list(dict.fromkeys(kind for text in asked or ["all"] for kind in name_list(text)))
    if unknown := [kind for kind in chosen if kind not in (*PLOT_KINDS, "all")]:
        raise UsageError(f"unknown kind {for_message(unknown[0])}", fix=f"choose from: {', '.join(PLOT_KINDS)}, all")
    return list(PLOT_KINDS) if "all" in chosen else chosen


def _is_file(output: str) -> bool:
    return os.path.splitext(output)[1].lower().removeprefix(".") in _FORMATS and not os.path.isdir(output)


def _check_suffix(output: str) -> None:
    """Refuses a name that looks like a file of another format; an existing folder or a name with a final / is a folder."""
    suffix = os.path.splitext(output)[1].removeprefix(".")
    if suffix.isalpha() and suffix.lower() not in _FORMATS and not os.path.isdir(output):
        fix = f"use .{', .'.join(_FORMATS)}, or end the name of a folder with /"
        raise UsageError(f"{output} has no known suffix", fix=fix)


def _format(args: argparse.Namespace) -> Format:
    from rankproof._charts.figure import Format

    _check_suffix(args.output)
    suffix = os.path.splitext(args.output)[1].lower().removeprefix(".") if _is_file(args.output) else None
    if suffix and args.format not in (None, suffix):
        raise UsageError(f"{args.output} is not a {args.format} file", fix="leave out --format, or specify a folder")
    return next(known for known in get_args(Format) if known == (suffix or args.format or "png"))


def _settings(args: argparse.Namespace) -> PlotSettings:
    from rankproof._plots.settings import PlotSettings

    if args.width * args.dpi > _PIXELS:
        raise UsageError(f"{args.width:g} inches at {args.dpi:g} dpi are too many pixels", fix=f"use at most {_PIXELS:,} across")
    return PlotSettings(
        width=args.width,
        dpi=args.dpi,
        by=args.by,
        system=args.system,
        against=args.against,
        all_measures=bool(args.measures),
    )


def _check(inputs: AnalysisInput, kinds: list[str], args: argparse.Namespace) -> None:
    """Refuses an unknown system or field and an output in a results folder, before drawing."""
    from rankproof._analysis.inputs import check_judged, checked_system
    from rankproof._io.files import is_results_folder

    check_judged(inputs)
    for name in (args.system, args.against):
        if name is not None:
            checked_system(inputs, name)
    if args.by is not None and "segments" in kinds:
        from rankproof._analysis.query_groups import group_queries

        group_queries(inputs, args.by)
    if args.output == "-":
        raise UsageError("charts cannot go to standard output", fix="specify a folder or a file with -o")
    place = os.path.abspath(args.output)
    if any(is_results_folder(folder) for folder in (place, os.path.dirname(place))):
        raise UsageError(f"{args.output} is in a results folder; charts cannot be saved there", fix="specify a folder outside it")


def single_plot(charts: list[PlotFile], output: str) -> PlotFile:
    """The only chart; several are refused, as a file holds one."""
    if len(charts) > 1:
        raise UsageError(
            f"{output} holds one chart, not {len(charts)}", fix="specify a folder, a PDF file, or one chart with --kind"
        )
    return charts[0]


def write_plot(chart: PlotFile, output: str, terminal: Terminal) -> None:
    """Writes a chart to a file; a note says if there was nothing to draw."""
    from rankproof._io.files import write_blocks

    write_blocks(output, [chart.content])
    if chart.missing:
        terminal.note(chart.missing)


def write_plots(drawn: list[PlotFile], charts: list[PlotFile], folder: str, format: str, terminal: Terminal) -> None:
    """Writes the charts to a folder and shows their paths; notes name those that could not be drawn."""
    from rankproof._io.files import write_blocks

    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder} cannot be created ({error.strerror})", fix="specify a writable folder") from None
    for chart in drawn:
        path = os.path.join(folder, f"{chart.name}.{format}")
        write_blocks(path, [chart.content])
        terminal.show(f"{path}\n")
    for chart in charts:
        if chart.missing:
            terminal.note(f"{chart.name}: {chart.missing}")


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
