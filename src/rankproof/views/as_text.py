"""Tables for people, at a terminal or piped: the summary, each query where asked for, and what the numbers mean."""

from __future__ import annotations

from ..evaluation import MeasureResult, Result
from .grid import query_grid, summary_grid, system_grid
from .look import Look
from .tables import Bars, Printer, fits


def render(result: Result, look: Look) -> str:
    """The result as tables no wider than the look allows."""
    printer = Printer(look)
    printer.line(_headline(result), style="bold")
    printer.line()
    if look.per_query:
        _queries(result, printer)
    _summary(result, printer, look)
    printer.line(f"{_footer(result)}{_legend(result, look)}", style="dim")
    if look.verbose:
        _definitions(result, printer)
    return printer.text()


def _summary(result: Result, printer: Printer, look: Look) -> None:
    """Systems down, with bars of the first measure; measures down where they are many or the system is one."""
    grid = summary_grid(result)
    turned = grid.transposed("measure")
    if len(result.systems) == 1:
        printer.summary(turned, bars=Bars("", [_share(one) for one in result.systems[0].measures.values()]))
    elif not fits(grid, look) and fits(turned, look):
        printer.summary(turned)
    else:
        firsts = [next(iter(system.measures.values())) for system in result.systems]
        title = grid.columns[0] if len(grid.columns) > 1 else ""
        printer.summary(grid, bars=Bars(title, [_share(one) for one in firsts]))


def _queries(result: Result, printer: Printer) -> None:
    if len(result.systems) == 1:
        printer.queries(system_grid(result, 0))
        return
    for name in result.systems[0].measures:
        printer.line(name, style="bold")
        printer.queries(query_grid(result, name))


def _share(one: MeasureResult) -> float | None:
    """How much of a bar the value fills; None where it is a count or lies outside 0 to 1."""
    return one.value if one.summary != "sum" and 0 <= one.value <= 1 else None


def _headline(result: Result) -> str:
    systems = len(result.systems)
    return f"{_count(len(result.queries), 'judged query', 'judged queries')}, {_count(systems, 'system', 'systems')}"


def _footer(result: Result) -> str:
    sizes = {system.name: next(iter(system.measures.values())).queries for system in result.systems}
    everything = len(result.queries)
    if set(sizes.values()) == {everything}:
        return f"Means run over {'the one judged query' if everything == 1 else f'all {everything} judged queries'}."
    each = ", ".join(f"{name} {size}" for name, size in sizes.items())
    return f"Means run over the queries that each run has: {each} of {everything}."


def _legend(result: Result, look: Look) -> str:
    if not any(cell.best for row in summary_grid(result).cells for cell in row):
        return ""
    return f" {'In bold' if look.colour else '*'}: the best of its measure."


def _definitions(result: Result, printer: Printer) -> None:
    """What each measure is, once for all its parameters."""
    printer.line()
    definitions = {one.measure.name: one.measure for one in result.systems[0].measures.values()}
    for name, measure in definitions.items():
        printer.line(f"{name}  {measure.title}", style="dim")
        printer.paragraph(measure.definition, style="dim")


def _count(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
