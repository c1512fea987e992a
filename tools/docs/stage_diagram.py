"""The diagram of stages and their measures as SVG: `python -m tools.docs.stage_diagram` writes it."""

from __future__ import annotations

from html import escape
from pathlib import Path
from textwrap import wrap

from rankproof._analysis.diagnose.steps import STAGE_TASKS, StageTask
from rankproof.measures import default_measures

PATH = Path(__file__).parents[2] / "docs" / "img" / "measures-by-stage.svg"
_PARTS = {
    "retrieval": ("BM25, vectors, fusion", "100 documents"),
    "reranking": ("cross-encoder, MaxSim, LLM", "10 passages"),
    "generation": ("language model", ""),
}
"""What a stage is made of, and what it hands over."""
_COLOURS = ("#0b5f8a", "#b5500b", "#4b6b2f")
_BOX, _GAP, _MARGIN = 230, 100, 16
_WIDTH, _HEIGHT = 3 * _BOX + 2 * _GAP + 2 * _MARGIN, 278


def stage_diagram() -> str:
    """Three boxes from left to right, below each the measures that count there, and why."""
    parts = [_column(at, task) for at, task in enumerate(STAGE_TASKS)]
    arrows = [_arrow(at, _PARTS[task.stage][1]) for at, task in enumerate(STAGE_TASKS[:-1])]
    about = "; ".join(f"{task.stage}: {', '.join(stage_measure_names(task))}" for task in STAGE_TASKS)
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
            ' role="img" font-family="system-ui, sans-serif" font-size="14" text-anchor="middle">',
            "<title>Which measures matter at which stage</title>",
            f"<desc>{escape(about)}</desc>",
            f'<rect width="{_WIDTH}" height="{_HEIGHT}" rx="8" fill="#ffffff"/>',
            *parts,
            *arrows,
            "</svg>\n",
        )
    )


def stage_measure_names(task: StageTask) -> tuple[str, ...]:
    """The default measures of the stage with their cutoffs; for a stage without any, the names of its measures."""
    usual = tuple(str(one) for one in default_measures(1) if one.name in task.measures)
    return usual or tuple(name.partition("(")[0] for name in task.measures)


def stages_table() -> str:
    """The stages with their task, measures and reason, as Markdown."""
    rows = ["| stage | task | measures | why |", "| :--- | :--- | :--- | :--- |"]
    for task in STAGE_TASKS:
        names = ", ".join(f"`{name}`" for name in stage_measure_names(task))
        rows.append(f"| {task.stage} | {task.task} | {names} | {task.why} |")
    return "\n".join(rows)


def _column(at: int, task: StageTask) -> str:
    left, colour = _MARGIN + at * (_BOX + _GAP), _COLOURS[at]
    middle = left + _BOX // 2
    shown = [
        f'<rect x="{left}" y="16" width="{_BOX}" height="84" rx="6" fill="#f4f6f8" stroke="{colour}" stroke-width="2"/>',
        _text(middle, 42, task.stage.capitalize(), f'font-weight="600" fill="{colour}"'),
        _text(middle, 64, _PARTS[task.stage][0], 'font-size="12.5" fill="#444444"'),
        _text(middle, 86, task.task, 'font-size="12.5" fill="#1b1b1b"'),
        f'<path d="M{middle} 102V136" stroke="{colour}" stroke-width="2" stroke-dasharray="4 4"/>',
        f'<rect x="{left}" y="138" width="{_BOX}" height="40" rx="20" fill="{colour}"/>',
        _text(middle, 163, ", ".join(stage_measure_names(task)), 'font-weight="600" fill="#ffffff"'),
    ]
    lines = wrap(task.why, 30)
    return "\n".join([*shown, *(_text(middle, 204 + 20 * row, line, 'fill="#444444"') for row, line in enumerate(lines))])


def _arrow(at: int, label: str) -> str:
    start = _MARGIN + (at + 1) * _BOX + at * _GAP
    end = start + _GAP
    return "\n".join(
        (
            f'<path d="M{start + 6} 58H{end - 14}" stroke="#444444" stroke-width="2"/>',
            f'<path d="M{end - 16} 52L{end - 6} 58L{end - 16} 64Z" fill="#444444"/>',
            _text((start + end) // 2, 46, label, 'font-size="12" fill="#444444"'),
        )
    )


def _text(x: int, y: int, text: str, look: str) -> str:
    return f'<text x="{x}" y="{y}" {look}>{escape(text)}</text>'


if __name__ == "__main__":
    PATH.write_text(stage_diagram(), encoding="utf-8")
