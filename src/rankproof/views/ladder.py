"""The ladder for people: a table that fits the terminal, and in words which rungs do not pay."""

from __future__ import annotations

from textwrap import wrap

from ..experiment.rung import Climb, Rung
from .grid import shown_number
from .ladder_answers import answers_grid, answers_title
from .ladder_chunks import TITLE, chunk_grid
from .ladder_grid import COUNTS, deciding, ladder_grid, main_measure, shown_time
from .ladder_lost import losses
from .look import Look
from .tables import Printer, fits


def render(climb: Climb, look: Look) -> str:
    """The table, what its marks mean, what approximate searches miss, and the rungs that add nothing."""
    printer = Printer(look)
    printer.line(_headline(climb), style="bold")
    printer.line()
    printer.summary(ladder_grid(climb, lambda grid: fits(grid, look)))
    for sentence in (*_legend(climb, look), *approximations(climb), *sentences(climb), *losses(climb)):
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


def sentences(climb: Climb) -> list[str]:
    """A sentence for each rung that answers, and for each other whose first measure is not above that of the one below it."""
    return [sentence for rung in climb.rungs if (sentence := (_answering if rung.kind == "answer" else _shortfall)(climb, rung))]


def approximations(climb: Climb) -> list[str]:
    """A sentence for each rung whose search is approximate: what it finds of the exact nearest, and how fast."""
    found = [(rung, share) for rung in climb.rungs if (share := rung.recall_of_exact()) is not None]
    return [
        f"{rung.name} searches approximately: it finds {share:.2%} of the exact nearest"
        f" in {shown_time(rung.time_of('search')['p50'])} ms a query (p50 of searching)."
        for rung, share in found
    ]


def _answering(climb: Climb, rung: Rung) -> str | None:
    """Answers leave the ranking as it is, so that they are measured by themselves."""
    below = "" if rung.over is None else f" from the ranking of {rung.over}, which stays as it is"
    return f"{rung.name} answers{below}; answering takes {shown_time(rung.time_of('generate')['p50'])} ms a query (p50)."


def _shortfall(climb: Climb, rung: Rung) -> str | None:
    name = main_measure(climb)
    one = climb.result.systems[0].measures[name]
    gain = climb.gain(rung, name)
    if gain is None or rung.over is None:
        return None
    size = f"{100 * abs(gain):.2f} pp" if one.measure.is_share else shown_number(abs(gain), one)
    told = _raised if one.measure.higher_is_better is False else _lost
    verdict = told(gain, size, name, rung.over)
    return f"{rung.name} {verdict} and {_price(rung, climb.rung(rung.over))}." if verdict else None


def _lost(gain: float, size: str, name: str, over: str) -> str | None:
    """What is wrong with the gain, where more is better."""
    if gain > 0:
        return None
    return f"loses {size} {name} against {over}" if gain < 0 else f"adds nothing to the {name} of {over}"


def _raised(gain: float, size: str, name: str, over: str) -> str | None:
    """What is wrong with the gain, where less is better."""
    if gain < 0:
        return None
    return (
        f"raises {name}, of which less is better, by {size} over {over}"
        if gain > 0
        else f"takes nothing from the {name} of {over}"
    )


def _price(rung: Rung, over: Rung) -> str:
    more = rung.time_of("total")["p50"] - over.time_of("total")["p50"]
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
