"""`rankproof plot`: charts for papers and slides."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, get_args

from ..errors import UsageError, shown
from .evidence import add_evidence, evidence_of
from .terminal import Terminal
from .values import names, number

if TYPE_CHECKING:
    from .._charts.figure import Format
    from ..analysis.evidence import Evidence
    from ..plots.inputs import PlotSettings

USAGE = "RESULTS | QRELS RUN… [--kind KINDS] [-o FOLDER|FILE] [-m MEASURES] [options]"
EXAMPLES = """\
examples:
  rankproof plot results
  rankproof plot results --kind bars,pareto -o figures --format pdf
  rankproof plot results --kind differences --system hybrid-rrf --against bm25 -o gains.svg
  rankproof plot results --kind segments --by category -m nDCG@10,RR@10 -o segments
  rankproof plot qrels.txt bm25.run dense.run --kind recall,precision-recall -o curves.pdf

a folder gets a file for each chart; FILE.png, FILE.svg and FILE.pdf say their format, and a PDF
holds several charts, a page each. Charts of one measure are drawn for the first, or with -m for
each. The same result gives the same bytes. Needs the extra plot: pip install 'rankproof[plot]'"""
KINDS = ("bars", "pareto", "latency", "recall", "differences", "segments", "precision-recall")
FOLDER = "plots"
_FORMATS = ("png", "svg", "pdf")
_WIDTHS, _DPIS, _PIXELS = (3.0, 40.0), (30.0, 1200.0), 20_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to look at, which charts, and how they are written."""
    group = add_evidence(parser, "what to draw")
    group.add_argument("--kind", action="extend", type=names, metavar="KINDS", help=f"{', '.join(KINDS)}, or all (all)")
    group.add_argument("--by", metavar="FIELD", help="segments by this field, length or relevant (category)")
    group.add_argument("--system", metavar="NAME", help="differences of this system (the best)")
    group.add_argument("--against", metavar="NAME", help="differences from this system (what the other is measured against)")
    how = parser.add_argument_group("how to draw")
    how.add_argument("-o", "--output", metavar="FOLDER", default=FOLDER, help=f"a folder, or a file for one chart ({FOLDER})")
    how.add_argument("--format", choices=_FORMATS, help="of the files in a folder (png)")
    how.add_argument("--width", type=number, default=7.0, metavar="INCHES", help="of a chart (7)")
    how.add_argument("--dpi", type=number, default=200.0, metavar="N", help="dots an inch of a PNG (200)")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Evaluates, draws, writes."""
    from ..plots.pictures import book, pictures
    from .plot_files import only, write_all, write_one

    kinds, format, settings = _kinds(args.kind), _format(args), _settings(args)
    evidence = evidence_of(args)
    _check(evidence, kinds, args)
    if _is_file(args.output) and format == "pdf":
        write_one(book(evidence, kinds, settings), args.output, terminal)
        return 0
    found = pictures(evidence, kinds, settings, format)
    drawn = [one for one in found if not one.missing] if len(kinds) > 1 else found
    if _is_file(args.output):
        write_one(only(drawn or found[:1], args.output), args.output, terminal)
        return 0
    write_all(drawn, found, args.output, format, terminal)
    return 0


def _kinds(asked: list[str] | None) -> list[str]:
    chosen = list(dict.fromkeys(asked or ["all"]))
    if strange := [kind for kind in chosen if kind not in (*KINDS, "all")]:
        raise UsageError(f"unknown kind {shown(strange[0])}", fix=f"choose from: {', '.join(KINDS)}, all")
    return list(KINDS) if "all" in chosen else chosen


def _is_file(output: str) -> bool:
    return os.path.splitext(output)[1].lower().removeprefix(".") in _FORMATS and not os.path.isdir(output)


def _format(args: argparse.Namespace) -> Format:
    from .._charts.figure import Format

    suffix = os.path.splitext(args.output)[1].lower().removeprefix(".") if _is_file(args.output) else None
    if suffix and args.format not in (None, suffix):
        raise UsageError(f"{args.output} is no {args.format} file", fix="leave out --format, or name a folder")
    return next(one for one in get_args(Format) if one == (suffix or args.format or "png"))


def _settings(args: argparse.Namespace) -> PlotSettings:
    from ..plots.inputs import PlotSettings

    for name, value, (low, high) in (("width", args.width, _WIDTHS), ("dpi", args.dpi, _DPIS)):
        if not low <= value <= high:
            raise UsageError(f"--{name} {value:g} is out of range", fix=f"choose from {low:g} to {high:g}")
    if args.width * args.dpi > _PIXELS:
        raise UsageError(f"{args.width:g} inches at {args.dpi:g} dpi are too many dots", fix=f"stay within {_PIXELS:,} across")
    return PlotSettings(
        width=args.width, dpi=round(args.dpi), by=args.by, system=args.system, against=args.against, every=bool(args.measures)
    )


def _check(evidence: Evidence, kinds: list[str], args: argparse.Namespace) -> None:
    """Refuses, before anything is drawn, a name that nothing has and a folder that is not for plots."""
    from ..analysis.evidence import known_system
    from ..experiment.results.folder import is_results_folder

    for name in (args.system, args.against):
        if name is not None:
            known_system(evidence, name)
    if args.by is not None and "segments" in kinds:
        from ..analysis.segments.groups import grouped

        grouped(evidence, args.by)
    if args.output == "-":
        raise UsageError("charts are files", fix="name a folder, or a file with -o")
    place = os.path.abspath(args.output)
    if any(is_results_folder(folder) for folder in (place, os.path.dirname(place))):
        raise UsageError(f"{args.output} is in a results folder, which holds results alone", fix="name a folder beside it")
