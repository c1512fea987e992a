"""The ladder for people: a table that fits the terminal, and in words which rungs do not pay."""

from __future__ import annotations

from collections.abc import Collection
from textwrap import wrap

from ..data.counting import shown_time
from ..experiment.rung import Climb, Rung
from .grid import Grid, shown_number
from .ladder_answers import answers_grid, answers_title
from .ladder_chunks import TITLE, chunk_grid
from .ladder_grid import COSTS, COUNTS, deciding, ladder_grid, main_measure
from .ladder_lost import losses
from .look import Look
from .tables import Printer, fits

_UNTESTED = "These are differences of means; `rankproof compare` tells which of them are more than chance."


def render(climb: Climb, look: Look) -> str:
    """The table, what its marks mean, what approximate searches miss, and the rungs that add nothing."""
    printer = Printer(look)
    printer.line(_headline(climb), style="bold")
    printer.line()
    grid = ladder_grid(climb, lambda grid: fits(grid, look))
    printer.summary(grid)
    for sentence in (*_legend(climb, look), *_unseen(grid), *approximations(climb), *sentences(climb), *losses(climb)):
        for line in wrap(sentence, look.width):
            printer.line(line)
    if climb.chunks:
        printer.line()
        printer.line(TITLE)
        printer.summary(chunk_grid(climb.chunks, lambda grid: fits(grid, look)))
    if climb.answers:
        printer.line()
        for line in wrap(answers_title(climb.answers), look.width):
            printer.line(line)
        printer.summary(answers_grid(climb.answers))
    return printer.text()


def sentences(climb: Climb, unsure: Collection[str] | None = None) -> list[str]:
    """A sentence for each rung that answers, and for each other whose first measure is not above that of the one below it.

    `unsure` are the rungs that no test tells from the one below; None where none was made, and the last sentence says so.
    """
    answers = [_answering(rung) for rung in climb.rungs if rung.kind == "answer"]
    others = [rung for rung in climb.rungs if rung.kind != "answer"]
    found = [said for rung in others if (said := _shortfall(climb, rung, unsure or ()))]
    return [*found, *([_UNTESTED] if found and unsure is None else []), *answers]


def approximations(climb: Climb) -> list[str]:
    """A sentence for each rung whose search is approximate: what it finds of the exact nearest, and how fast."""
    found = [(rung, share) for rung in climb.rungs if (share := rung.recall_of_exact()) is not None]
    return [
        f"{rung.name} searches approximately: it finds {share:.2%} of the exact nearest"
        f" in {shown_time(rung.time_of('search')['p50'])} ms a query (p50 of searching)."
        for rung, share in found
    ]


def _answering(rung: Rung) -> str:
    """Answers leave the ranking as it is, so that they are measured by themselves."""
    below = "" if rung.over is None else f" from the ranking of {rung.over}, which stays as it is"
    return f"{rung.name} answers{below}; answering takes {shown_time(rung.time_of('generate')['p50'])} ms a query (p50)."


def _shortfall(climb: Climb, rung: Rung, unsure: Collection[str]) -> str | None:
    name = main_measure(climb)
    one = climb.result.systems[0].measures[name]
    gain = climb.gain(rung, name)
    less_is_better = one.measure.higher_is_better is False
    if gain is None or rung.over is None or (gain < 0 if less_is_better else gain > 0):
        return None
    more = rung.time_of("total")["p50"] - climb.rung(rung.over).time_of("total")["p50"]
    size = f"{100 * abs(gain):.2f} pp" if one.measure.is_share else shown_number(abs(gain), one)
    if gain and _is_zero(size):
        if _is_zero(shown_time(abs(more))):
            return None
        size = "less than 0.01 pp" if one.measure.is_share else "a little"
    told = _raised if less_is_better else _lost
    verdict = told(size, name, rung.over) if gain else _nothing(name, rung.over, less_is_better)
    doubt = ", which these queries cannot tell from chance," if gain and rung.name in unsure else ""
    return f"{rung.name} {verdict}{doubt} and {_price(more)}."


def _is_zero(number: str) -> bool:
    """Whether nothing but noughts is shown."""
    return not any(digit in number for digit in "123456789")


def _lost(size: str, name: str, over: str) -> str:
    return f"loses {size} {name} against {over}"


def _raised(size: str, name: str, over: str) -> str:
    return f"raises {name}, of which less is better, by {size} over {over}"


def _nothing(name: str, over: str, less_is_better: bool) -> str:
    return f"{'takes nothing from' if less_is_better else 'adds nothing to'} the {name} of {over}"


def _price(more: float) -> str:
    if _is_zero(shown_time(abs(more))):
        return "takes as long a query (p50)"
    return f"costs {shown_time(more)} ms more a query (p50)" if more >= 0 else f"saves {shown_time(-more)} ms a query (p50)"


def _headline(climb: Climb) -> str:
    documents = climb.provenance.get("documents")
    dataset = climb.provenance.get("dataset")
    parts = [
        f"{climb.name}{f' on {dataset}' if dataset else ''}",
        *([f"{documents} {'document' if documents == 1 else 'documents'}"] if documents is not None else []),
        f"{len(climb.queries)} {'query' if len(climb.queries) == 1 else 'queries'}",
        f"{len(climb.rungs)} {'system' if len(climb.rungs) == 1 else 'systems'}",
    ]
    return ", ".join(parts)


def _legend(climb: Climb, look: Look) -> list[str]:
    name = main_measure(climb)
    unit = "pp: percentage points" if climb.result.systems[0].measures[name].measure.is_share else "gain:"
    best = f"{'In bold' if look.colour else '*'}: the best of its measure."
    return [f"{best} {unit} of {name} gained over the rung in brackets.", *_stages(climb)]


def _unseen(grid: Grid) -> list[str]:
    """Which costs had no room."""
    gone = [title for title in COSTS if title not in grid.columns]
    return [f"No room here for {', '.join(gone)}: summary.csv has all, a wider terminal more."] if gone else []


def _stages(climb: Climb) -> list[str]:
    """Which measure matters at which stage, for the stages that are there."""
    finders = [rung for rung in climb.rungs if rung.kind != "rerank"]
    orderers = [rung for rung in climb.rungs if rung.kind == "rerank"]
    parts = []
    if finders and (found := deciding(climb, finders[0])):
        parts.append(f"where documents are found, {found[0]}, the ceiling of any reranker")
    if orderers and (ordered := deciding(climb, orderers[0])):
        parts.append(f"where they are put in order, {' and '.join(ordered)}")
    return [f"{COUNTS} what matters at its stage: {'; '.join(parts)}."] if parts else []
