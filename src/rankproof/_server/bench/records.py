"""What the routes of the bench return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from rankproof._registry import Option

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
