"""The pictures of what a relevant document is worth at each rank: `python -m tools.docs.weight_charts` writes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import rankproof as rp
from rankproof._charts.curves import Curve, curve_chart
from rankproof._charts.draw import svg_of
from rankproof._charts.model import Axis, Medium, Scale, Tick, series, series_role

IMAGES = Path(__file__).parents[2] / "docs" / "img"
CURVES = {
    "gain": ("P@10", "nDCG", "INSQ", "RBP", "RR"),
    "user-models": ("RBP(p=0.5)", "RBP", "RBP(p=0.95)", "INSQ", "INSQ(T=3)", "INST", "INST(T=3)"),
}
"""The measures of each picture, by family."""
_TITLE = "What the only relevant document is worth at each rank, compared with rank 1"
_RANKS, _LISTED = range(1, 21), 10
_STYLE = (
    "text{font-family:system-ui,sans-serif;fill:#1b1b1b}.tick,.axis{fill:#555}.strong{font-weight:700}"
    ".grid{stroke:#e4e4e4}path,line{fill:none}circle,path[d$=Z]{fill:#fff}"
)


def weight_chart(names: Sequence[str]) -> str:
    """A curve for each measure, as SVG."""
    curves = [Curve(name, _RANKS, ys := weights(name), ys[_LISTED - 1], range(0, 20, 3)) for name in names]
    axes = (
        Axis(Scale(0.5, 20.5), "rank", tuple(Tick(rank, str(rank)) for rank in (1, 5, 10, 15, 20))),
        Axis(Scale(0, 1.02), "value / value at rank 1", tuple(Tick(share / 5, f"{share / 5:g}") for share in range(6))),
    )
    chart = curve_chart(Medium(760, large=14.0), "weights", _TITLE, (), curves, axes, f"at rank {_LISTED}")
    strokes = "".join(f".{series_role(at)}{{stroke:{series(at).colour};stroke-width:1.8}}" for at in range(len(names)))
    background = f'<style>{_STYLE}{strokes}</style><rect width="100%" height="100%" rx="8" fill="#fff"/>'
    head, _, body = str(svg_of(chart)).partition("</desc>")
    return head.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1) + f"</desc>{background}{body}\n"


def weights(name: str) -> list[float]:
    """The value of a ranking whose only relevant document is at each rank, divided by the value at rank 1."""
    qrels = {f"q{rank}": {"d": 1} for rank in _RANKS}
    run = {f"q{rank}": {**{f"x{at}": 100.0 - at for at in range(1, rank)}, "d": 100.0 - rank} for rank in _RANKS}
    by_query = rp.evaluate(qrels, run, [name]).systems[0].measures[name].per_query
    return [by_query[query] / by_query["q1"] for query in qrels]


def pictures_of(family: str) -> list[str]:
    """The picture of a family as Markdown."""
    return [f"![{_TITLE}](../img/weights-{family}.svg)\n"] if family in CURVES else []


if __name__ == "__main__":
    for family, names in CURVES.items():
        (IMAGES / f"weights-{family}.svg").write_text(weight_chart(names), encoding="utf-8")
