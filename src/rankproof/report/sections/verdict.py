"""The verdict: which system is best, by how much, whether that is real, what it costs, and what to beware of."""

from __future__ import annotations

from ...analysis.compare.compare import limits
from ...analysis.compare.tables import facts_of, verdicts
from ...analysis.compare.words import sentence
from ...analysis.wording import clipped, counted
from ...errors import shown
from ...views.grid import shown_number
from ..material import Material
from ..section import Figure, Section
from ..sheet import Sheet, sheet_of
from ..words import between, listed, megabytes, milliseconds, sentence_of, signed
from .answered import answers_said
from .warnings import warnings

_LONGEST = 28
"""Letters of a name in a small card."""


def verdict(material: Material) -> Section:
    """The first thing on the page."""
    return Section(
        key="verdict",
        title="Verdict",
        question="Which system is best, is that real, and what does it cost?",
        lead=_lead(material),
        figures=_figures(material),
        sentences=(*_compared(material), *answers_said(material)),
        warnings=tuple(warnings(material)),
        folded=_pairs(material),
    )


def _compared(material: Material) -> tuple[str, ...]:
    return (*_told(material), *_cheapest(material), *_price(material)) if material.is_contest else ()


def _lead(material: Material) -> str:
    value = shown_number(material.values[material.best].value, material.one)
    many = len(material.contenders)
    systems = "rankings" if material.answerers else "systems"
    if not material.is_contest:
        return f"{material.measure} does not say which system is better."
    if many == 1:
        return f"{shown(material.best)} has {material.measure} {value}; there is no other {systems[:-1]} to hold it against."
    if len(material.leaders) > 1:
        return f"{listed(material.leaders)} share the best {material.measure} of {many} {systems}, {value}."
    least = "lowest, and so best," if material.one.measure.higher_is_better is False else "highest"
    if not material.rivals:
        sure = "and the lead over each of the others is more than chance" if material.comparisons else ""
        return (
            f"{shown(material.best)} has the {least} {material.measure} of {many} {systems}, {value}{', ' if sure else ''}{sure}."
        )
    rivals = len(material.rivals)
    every = "any" if rivals == many - 1 else str(rivals)
    unsure = listed(material.rivals) if rivals <= 3 else f"{every} of the {many - 1} others"
    return (
        f"{shown(material.best)} has the {least} {material.measure} of {many} {systems}, {value}, but these queries cannot"
        f" tell it from {unsure}."
    )


def _figures(material: Material) -> tuple[Figure, ...]:
    queries = Figure("Queries", f"{material.one.queries:,}", _documents(material))
    return (*_of_best(material), queries) if material.is_contest else (queries,)


def _of_best(material: Material) -> list[Figure]:
    best, one = material.best, material.one
    value = material.values[best].value
    found = [_winner(material)]
    found.append(Figure(material.measure, shown_number(value, one), between(material.intervals[best, material.measure], one)))
    if material.baseline not in material.leaders:
        gain = value - material.values[material.baseline].value
        found.append(Figure("Gain", signed(gain, one), f"over {clipped(shown(material.baseline), _LONGEST)}, the first rung"))
    if material.times:
        total = material.rungs[best].time_of("total")
        whose = f", of {clipped(shown(best), _LONGEST)}" if len(material.leaders) > 1 else ""
        found.append(Figure("Latency", milliseconds(total["p50"]), f"a query, p50; p95 {milliseconds(total['p95'])}{whose}"))
    return found


def _winner(material: Material) -> Figure:
    """The best, or all that share the best value."""
    many, tied = len(material.contenders), material.leaders
    if many == 1:
        return Figure("Ranking" if material.answerers else "System", material.best, "the only one")
    if len(tied) == 1:
        return Figure("Best system", material.best, f"of {many}")
    return Figure("Best systems", listed(tied, 3), f"of {many}: these tie")


def _documents(material: Material) -> str:
    documents = material.evidence.documents
    return "" if documents is None else f"on {counted(documents, 'document')}"


def _told(material: Material) -> list[str]:
    """The best against the next, the first rung and the rung below it, each pair once."""
    others = sorted((name for name in material.contenders if name != material.best), key=lambda name: -material.worths[name])
    below = material.rungs[material.best].over
    wanted = dict.fromkeys(name for name in (*others[:1], below, material.baseline) if name is not None)
    pairs = [material.comparison(material.best, name) for name in wanted if name != material.best]
    return [sentence(pair, material.settings) for pair in pairs if pair is not None]


def _cheapest(material: Material) -> list[str]:
    """The fastest of those that cannot be told from the best, where it is faster by much."""
    if not material.rivals or not material.times:
        return []
    fastest = min(material.rivals, key=material.times.__getitem__)
    quick, slow = material.times[fastest], material.times[material.best]
    if quick >= slow or milliseconds(quick) == milliseconds(slow):
        return []
    return [
        f"Of the systems that cannot be told from the best, {shown(fastest)} is the fastest: {milliseconds(quick)} a query (p50)"
        f" against {milliseconds(slow)}."
    ]


def _price(material: Material) -> list[str]:
    rung, first = material.rungs[material.best], material.rungs[material.baseline]
    said = []
    if material.times:
        other = "" if rung is first else f", against {milliseconds(material.times[first.name])} for {shown(first.name)}"
        said.append(f"takes {milliseconds(material.times[rung.name])} a query (p50){other}")
    if rung.index_bytes:
        said.append(f"needs {megabytes(rung.index_bytes)} of index, built in {rung.index_seconds:.2f} s")
    tokens = rung.total("tokens_in") + rung.total("tokens_out")
    if tokens:
        spent = f", which cost {rung.money:.4f}" if rung.money else ""
        said.append(f"asked language models {counted(rung.total('calls'), 'time')} for {tokens:,} tokens{spent}")
    return [f"{shown(rung.name)} {', and '.join(said)}."] if said else []


def _pairs(material: Material) -> tuple[Sheet, ...]:
    found, joined = material.comparisons, material.joined
    if joined is None or not found:
        return ()
    facts = facts_of(joined, material.settings, len(found))
    table = verdicts(found[0].seen.measure, None, found, material.settings, facts)
    how = material.settings.words(len(joined.queries), len(found))
    notes = map(sentence_of, limits(found, len(joined.queries), material.settings))
    sheet = sheet_of(table)
    return (Sheet(sheet.caption, sheet.grid, sheet.abouts, (how, *notes, *joined.notes)),)
