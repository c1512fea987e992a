"""Documents in, queries with their targets out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from ..data.corpus import Corpus
from ..data.counting import counted
from ..data.qrels import Judgement, Qrels
from ..data.queries import Queries, Query
from ..errors import RankproofError, UsageError, WorldError, nearest, shown
from .draft import REASONS, Draft, Dropped, Lost, Made, Source
from .drawing import Drawing
from .filters import reason_against
from .lexicon import Lexicon
from .likeness import Earlier
from .maker import Maker, Outcome
from .prompts import UNANSWERED

ALIASES: Mapping[str, str] = {"paraphrased": "paraphrase", "howto": "how-to", "multihop": "multi-hop"}


@dataclass(frozen=True, eq=False)
class Generated:
    """What was made, what was left out and why, and the documents that failed."""

    wanted: Mapping[str, int]
    mark: str
    made: list[Made] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)

    def queries(self) -> Queries:
        """With category, target, answers and maker as fields."""
        return Queries((Query(one.id, one.text, fields=one.fields()) for one in self.made), source="generated queries")

    def qrels(self) -> Qrels:
        """Each target with grade 1, one that does not answer its query with grade 0; all marked as made by the maker."""
        rows = (
            Judgement(one.id, doc, 0 if one.source.category == UNANSWERED else 1, mark=one.made_by)
            for one in self.made
            for doc in one.source.docs
        )
        return Qrels(rows, source="generated qrels")

    def lacking(self) -> dict[str, int]:
        """How many queries each category still lacks."""
        made = Counter(one.source.category for one in self.made)
        return {category: wanted - made[category] for category, wanted in self.wanted.items()}

    def counts(self) -> dict[str, Any]:
        """By category: wanted, made, failed, and left out by reason."""
        lacking, lost = self.lacking(), Counter(one.source.category for one in self.lost)
        dropped = Counter((one.source.category, one.reason) for one in self.dropped)
        return {
            category: {
                "wanted": wanted,
                "made": wanted - lacking[category],
                "failed": lost[category],
                "left_out": {reason: dropped[category, reason] for reason in REASONS if dropped[category, reason]},
            }
            for category, wanted in self.wanted.items()
        }


def shares(count: int, categories: Sequence[str]) -> dict[str, int]:
    """So many queries shared out among the categories; the first ones get what does not divide."""
    each, rest = divmod(count, len(categories))
    return {category: each + (at < rest) for at, category in enumerate(categories)}


def checked_categories(categories: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """The categories by their own names; one that the maker cannot make, and one that stands twice, is refused."""
    found = tuple(ALIASES.get(category, category) for category in categories)
    for category in found:
        if category not in known:
            near = nearest(category, known)
            fix = f"did you mean {near}? known: {', '.join(known)}" if near else f"known: {', '.join(known)}"
            raise UsageError(f"no category is called {shown(category)} here", fix=fix)
    if not found or len(set(found)) < len(found):
        raise UsageError("a category stands twice, or there is none", fix="name each once")
    return found


def first_sources(drawing: Drawing, wanted: Mapping[str, int]) -> list[Source]:
    """What is tried if nothing is left out."""
    return [source for category, count in wanted.items() for source in islice(drawing.sources(category), count)]


def generate(corpus: Corpus, lexicon: Lexicon, drawing: Drawing, maker: Maker, wanted: Mapping[str, int]) -> Generated:
    """As many queries as are wanted of each category, or as the documents give; what is left out is replaced by another."""
    found, earlier = Generated(wanted, maker.mark), Earlier()
    queues = {category: drawing.sources(category) for category in wanted}
    rounds = 0
    while maker.rounds is None or rounds < maker.rounds:
        rounds += 1
        sources = _next_sources(queues, found.lacking())
        if not sources:
            break
        for source, outcome in zip(sources, maker.outcomes(sources), strict=True):
            _take(found, source, outcome, corpus, lexicon, earlier)
    if not found.made:
        raise _nothing_made(found)
    return found


def _nothing_made(found: Generated) -> RankproofError:
    if found.lost:
        return WorldError(f"no query came of {counted(len(found.lost), 'document')}; of the last one: {found.lost[-1].why}")
    reasons = Counter(one.reason for one in found.dropped)
    told = (
        "; ".join(f"{REASONS[reason]} ({count})" for reason, count in reasons.most_common(3))
        or "too few words, or none in common where two are needed"
    )
    return UsageError(f"no query can be made from these documents: {told}", fix="choose other categories, or other documents")


def _next_sources(queues: Mapping[str, Iterator[Source]], lacking: Mapping[str, int]) -> list[Source]:
    return [source for category, queue in queues.items() for source in islice(queue, lacking[category])]


def _take(found: Generated, source: Source, outcome: Outcome, corpus: Corpus, lexicon: Lexicon, earlier: Earlier) -> None:
    if isinstance(outcome, Lost):
        found.lost.append(outcome)
        return
    if not isinstance(outcome, Draft):
        found.dropped.append(Dropped(source, "nothing"))
        return
    terms = lexicon.terms.of(outcome.text)
    reason = reason_against(outcome, source, [corpus[doc] for doc in source.docs], lexicon) or earlier.reason_against(terms)
    if reason is not None:
        found.dropped.append(Dropped(source, reason, outcome.text))
        return
    earlier.add(terms)
    found.made.append(Made(f"g{len(found.made) + 1:05d}", outcome.text, source, outcome.answers, found.mark))
