"""What the bench exchanges: what its routes return, and what it needs of the systems behind results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Protocol

from rankproof._registry import Option
from rankproof._results.experiment_result import ExperimentResult
from rankproof._server.library import LibraryEntry
from rankproof.measures._base import Measure

KnobKind = Literal["choice", "number", "integer", "weights", "text", "list", "table", "systems"]
Changes = Mapping[str, Any]
"""Changed settings of a system: `key`, or `part.key` such as bm25.k1, to the new value as JSON."""
Progress = Callable[[str, int, int], None]
"""Reports a label, the items done and their total; raises an error to stop the work."""


@dataclass(frozen=True, slots=True)
class BenchSource:
    """The results that the bench shows and the measure that decides; `stamp` changes when they do."""

    entry: LibraryEntry
    results: ExperimentResult
    measure: Measure | None
    stamp: object = None

    @property
    def key(self) -> tuple[str, object]:
        """What identifies the results in a cache."""
        return self.entry.id, self.stamp


@dataclass(frozen=True, slots=True)
class Knob:
    """A setting of a system that the bench can change."""

    key: Annotated[str, Option("its key: `k1`, or `bm25.k1` for a part of the system")]
    about: Annotated[str, Option("what it does")]
    kind: Annotated[KnobKind, Option("what it takes")]
    value: Annotated[Any, Option("its value with these changes")]
    default: Annotated[Any, Option("its value in the results")]
    is_immediate: Annotated[bool, Option("whether a change is computed from stored rankings, while a slider moves")]
    choices: Annotated[tuple[str, ...], Option("the values of a choice; the systems of weights")] = ()
    least: Annotated[float | None, Option("the lowest value")] = None
    most: Annotated[float | None, Option("the highest value")] = None
    values: Annotated[tuple[Any, ...], Option("the usual values, which a proof tries")] = ()


@dataclass(frozen=True, slots=True)
class KnobList:
    """The settings of a system, with reasons where there are none; `why_not_search` is empty if any query can be asked."""

    knobs: tuple[Knob, ...]
    why_not_search: str = ""
    why_not_rebuild: str = ""
    why_not_prove: str = ""


@dataclass(frozen=True, eq=False, slots=True)
class LiveRanking:
    """A ranking that was made now; `texts` has those that an engine sent of documents that are not in the dataset."""

    docs: Sequence[str]
    scores: Sequence[float | None]
    notes: tuple[str, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Proof:
    """What cross-validation says about changed settings, and where its results are."""

    proven: Annotated[bool, Option("whether B with tuned settings is better than A on queries that did not choose them")]
    sentence: Annotated[str, Option("the answer in a sentence")]
    gain: Annotated[float, Option("the held-out gain over A")]
    low: Annotated[float | None, Option("the lower end of its 95% interval")]
    high: Annotated[float | None, Option("the upper end")]
    naive: Annotated[float, Option("the gain on the queries that chose the settings, which is too high")]
    settings: Annotated[str, Option("the settings that all queries choose")]
    decision: Annotated[str, Option("the decision on held-out rankings, and which better systems it leaves out")]
    results: Annotated[str, Option("the id of the new results")]
    toml: Annotated[str, Option("the experiment file with the tuned system, empty if the systems are not known")]


class Workbench(Protocol):
    """The systems behind results, loaded once and kept warm."""

    def knobs(self, source: BenchSource, system: str, changes: Changes) -> KnobList:
        """The settings of a system that can change."""
        ...

    def search(self, source: BenchSource, system: str, changes: Changes, text: str) -> LiveRanking:
        """The ranking of a typed query; a UsageError says why there is none."""
        ...

    def ranking(self, source: BenchSource, system: str, changes: Changes, query: str) -> LiveRanking | None:
        """The ranking of a stored query with the changes; None if the system has to be rebuilt for it."""
        ...

    def values(self, source: BenchSource, system: str, changes: Changes) -> Mapping[str, float] | None:
        """The values of the queries with the changes; None if the system has to be rebuilt for them."""
        ...

    def rebuild(self, source: BenchSource, system: str, changes: Changes, progress: Progress) -> None:
        """Runs the system with the changes on all queries, so that `values` and `ranking` know them."""
        ...

    def prove(self, source: BenchSource, first: str, system: str, changes: Changes, progress: Progress) -> Proof:
        """Cross-validates the changed settings against the first system, and writes the results."""
        ...

    def close(self) -> None:
        """Closes the systems."""
        ...


GroupKind = Literal["outcome", "segment", "tag"]


@dataclass(frozen=True, slots=True)
class BenchSystem:
    """A system of the results."""

    name: Annotated[str, Option("its name")]
    kind: Annotated[str, Option("its kind, such as retrieval, fusion, rerank or run")]
    value: Annotated[float | None, Option("its mean of the measure")]


@dataclass(frozen=True, slots=True)
class BenchQuery:
    """A query of the results."""

    id: Annotated[str, Option("its id")]
    text: Annotated[str, Option("its text, empty if unknown")]
    values: Annotated[tuple[float | None, ...], Option("its value in each system, in the order of the systems")]


@dataclass(frozen=True, slots=True)
class BenchGroup:
    """A group of queries."""

    key: Annotated[str, Option("its key in addresses")]
    kind: Annotated[GroupKind, Option("what makes the group")]
    label: Annotated[str, Option("its name")]
    queries: Annotated[tuple[int, ...], Option("its queries, by their place in the list")]


@dataclass(frozen=True, slots=True)
class BenchView:
    """The queries of results in groups, and the systems to compare."""

    id: Annotated[str, Option("the id of the results")]
    name: Annotated[str, Option("their name")]
    dataset: Annotated[str, Option("the name of the dataset")]
    measure: Annotated[str, Option("the measure that decides, empty without judgements")]
    is_fraction: Annotated[bool, Option("whether its values are from 0 to 1")]
    higher_is_better: Annotated[bool, Option("whether higher values are better")]
    systems: Annotated[tuple[BenchSystem, ...], Option("the systems")]
    first: Annotated[str, Option("system A unless the address names another: the chosen system, else the leader")]
    second: Annotated[str, Option("system B unless the address names another: the best of the others")]
    queries: Annotated[tuple[BenchQuery, ...], Option("the queries")]
    groups: Annotated[tuple[BenchGroup, ...], Option("the groups")]
    notes: Annotated[tuple[str, ...], Option("what cannot be shown here, and why")]


@dataclass(frozen=True, slots=True)
class BenchCard:
    """A document in a ranking. `text` is the beginning of a long document; the route of documents has the rest."""

    rank: Annotated[int, Option("its rank")]
    doc: Annotated[str, Option("its id")]
    score: Annotated[float | None, Option("the score of the system, null if it gave none")]
    grade: Annotated[int | None, Option("its grade, null if it is not judged")]
    elsewhere: Annotated[int | None, Option("its rank in the other system, null if that did not retrieve it")]
    title: Annotated[str, Option("its title")]
    text: Annotated[str, Option("its text")]
    is_complete: Annotated[bool, Option("whether the text is whole")]
    url: Annotated[str, Option("its address, empty if it has none")]
    fields: Annotated[Mapping[str, str], Option("its other fields")]


@dataclass(frozen=True, slots=True)
class BenchSide:
    """The ranking of one system for a query."""

    system: Annotated[str, Option("the system")]
    value: Annotated[float | None, Option("the value of the query, null if it is not judged")]
    retrieved: Annotated[int, Option("the number of retrieved documents")]
    cards: Annotated[tuple[BenchCard, ...], Option("the documents at the top")]
    notes: Annotated[tuple[str, ...], Option("why there is no ranking, or what to know about it")]


@dataclass(frozen=True, slots=True)
class BenchPair:
    """Two systems side by side on one query."""

    query: Annotated[str, Option("the id of the query")]
    text: Annotated[str, Option("its text")]
    fields: Annotated[Mapping[str, str], Option("its other fields")]
    sides: Annotated[tuple[BenchSide, ...], Option("A, then B")]
    why: Annotated[tuple[str, ...], Option("why the two differ")]


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A part of a document's text."""

    doc: Annotated[str, Option("the id of the document")]
    title: Annotated[str, Option("its title")]
    text: Annotated[str, Option("the part of its text")]
    start: Annotated[int, Option("where the part starts, in characters")]
    length: Annotated[int, Option("the length of the whole text in characters")]
    fields: Annotated[Mapping[str, str], Option("its other fields")]
