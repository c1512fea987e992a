"""Where so few chunks were looked at that a measure wanted more documents than they are of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..data.run import Run
from ..evaluation import Result
from ..measures import Cut
from .chunk_level import ChunkRanks


def pool_notes(ranks: Mapping[str, ChunkRanks], runs: Mapping[str, Run], result: Result, documents: int) -> Iterator[str]:
    """For each system whose chunks came to fewer documents than a measure looks at, how often and which measures."""
    measures = [one.measure for one in result.systems[0].measures.values() if isinstance(one.measure, Cut)]
    for name, one in ranks.items():
        short = _short(one, runs[name], min(documents, one.keeps))
        if deeper := [measure for measure in measures if short and measure.depth > min(short)]:
            wanted = min(max(measure.depth for measure in deeper), documents)
            queries = f"{sum(count < wanted for count in short)} of {len(one.rankings)} queries"
            few = f"fewer than {wanted} documents ({min(short)} at the fewest)"
            told = (
                f"for {queries} the first {one.most} chunks come from {few}, and {', '.join(map(str, deeper))} would look further"
            )
            yield f"{name}: {told}: raise pool, or the depth of what ranks chunks"


def _short(ranks: ChunkRanks, run: Run, enough: int) -> Sequence[int]:
    """How many documents were found where the chunks ran out first."""
    found = (run.offsets[1:] - run.offsets[:-1]).tolist()
    pairs = zip(found, ranks.rankings, strict=True)
    return [count for count, (chunks, _) in pairs if len(chunks) >= ranks.most and count < enough]
