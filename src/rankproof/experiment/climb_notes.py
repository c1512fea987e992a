"""What a reader must know of a climb as a whole: what the dataset lacks, and what the measures cannot see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..data.dataset import Dataset
from ..data.run import Run
from ..evaluation import Result
from ..measures import Cut
from ..stages.base import Stage


def dataset_notes(dataset: Dataset, drawn: Sequence[str]) -> Iterator[str]:
    """Judged documents that are not there, and drawn queries that cannot be asked."""
    if missing := len(dataset.missing_documents()):
        noun, verb, them = ("document", "is", "it") if missing == 1 else ("documents", "are", "them")
        yield f"{missing} judged {noun} {verb} not in the corpus: no system can find {them}"
    if missing := sum(query not in dataset.queries for query in drawn):
        asked = "query has no text: it counts 0" if missing == 1 else "queries have no text: they count 0"
        yield f"{missing} judged {asked} for every system"


def depth_notes(systems: Mapping[str, Stage], runs: Mapping[str, Run], result: Result, documents: int) -> Iterator[str]:
    """For each depth at which rankings were cut, the measures that would have looked further."""
    cut: dict[int, list[str]] = {}
    for name, stage in systems.items():
        if stage.depth < documents and _longest(runs[name]) >= stage.depth:
            cut.setdefault(stage.depth, []).append(name)
    for depth, names in cut.items():
        measures = [one.measure for one in result.systems[0].measures.values()]
        if deeper := [str(measure) for measure in measures if isinstance(measure, Cut) and measure.depth > depth]:
            verb = "looks" if len(deeper) == 1 else "look"
            whose = f"the rankings of {', '.join(names)}"
            yield f"{', '.join(deeper)} {verb} deeper than the {depth} documents that {whose} keep: raise depth to see more"


def _longest(run: Run) -> int:
    return int((run.offsets[1:] - run.offsets[:-1]).max(initial=0))
