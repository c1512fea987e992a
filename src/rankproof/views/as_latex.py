"""LaTeX tables with booktabs rules, ready to paste; the best of each measure in bold."""

from __future__ import annotations

from ..evaluation import Result
from .escape import for_latex
from .grid import Cell, Grid, query_grid, summary_grid
from .look import Look


def render(result: Result, look: Look) -> str:
    """The summary as a tabular; with per_query a longtable for each measure after it."""
    packages = "booktabs,longtable" if look.per_query else "booktabs"
    parts = [f"% \\usepackage{{{packages}}}", table_of(summary_grid(result), "tabular")]
    if look.per_query:
        for name in result.systems[0].measures:
            parts += [f"\n% {for_latex(name)}, query by query", table_of(query_grid(result, name), "longtable", closing=True)]
    return "\n".join(parts) + "\n"


def table_of(grid: Grid, environment: str, *, closing: bool = False) -> str:
    """The grid in that environment; `closing` sets the last row apart."""
    names = [rf"\textbf{{{for_latex(row)}}}" if at in grid.strong else for_latex(row) for at, row in enumerate(grid.rows)]
    lines = [_line(name, cells) for name, cells in zip(names, grid.cells, strict=True)]
    if closing:
        lines.insert(-1, r"\midrule")
    head = " & ".join(for_latex(text) for text in (grid.corner, *grid.columns))
    body = "\n".join([r"\toprule", rf"{head} \\", r"\midrule", *lines, r"\bottomrule"])
    align = "".join("l" if at in grid.words else "r" for at in range(len(grid.columns)))
    return f"\\begin{{{environment}}}{{l{align}}}\n{body}\n\\end{{{environment}}}"


def _line(name: str, cells: tuple[Cell, ...]) -> str:
    texts = (rf"\textbf{{{_text(cell)}}}" if cell.best else _text(cell) for cell in cells)
    return " & ".join([name, *texts]) + r" \\"


def _text(cell: Cell) -> str:
    raised = rf"$^{{{for_latex(cell.marks)}}}$" if cell.marks else ""
    return for_latex(cell.text).replace("–", "--") + raised
