"""Datasets by their names in ir_datasets: `irds:NAME`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import MappingProxyType
from typing import Any, TypeVar

from .._extras import extra
from ..data.corpus import Corpus, Document
from ..data.dataset import Dataset
from ..data.qrels import Judgement, Qrels
from ..data.queries import Queries, Query
from ..data.texts import TextRecord
from ..errors import RankproofError, WorldError, visible
from .faults import fault
from .grades import GradeMap, checked_grade_map, grade_of_value
from .reading import REMOTE
from .rows import qrels_of
from .values import id_of_value

_T = TypeVar("_T")
_Record = TypeVar("_Record", bound=TextRecord)
_TEXT_FIELDS = ("text", "title")


def read_irds_qrels(path: str, *, grade_map: GradeMap | None = None) -> Qrels:
    """The judgements of `irds:NAME`."""
    checked_grade_map(grade_map)
    name = path.removeprefix(REMOTE)
    dataset = _loaded(name, "qrels")
    return _fetched(name, lambda: qrels_of(_judgements(dataset.qrels_iter(), path, grade_map), source=path))


def read_irds_dataset(path: str) -> Dataset:
    """Documents, queries and judgements of `irds:NAME`."""
    name = path.removeprefix(REMOTE)
    dataset = _loaded(name, "docs", "queries", "qrels")
    corpus = _fetched(name, lambda: Corpus(_records(dataset.docs_iter(), Document, "doc_id"), source=path))
    queries = _fetched(name, lambda: Queries(_records(dataset.queries_iter(), Query, "query_id"), source=path))
    return Dataset(name, corpus, queries, read_irds_qrels(path))


def _loaded(name: str, *parts: str) -> Any:
    with extra("datasets"):
        import ir_datasets  # type: ignore[import-untyped,import-not-found,unused-ignore]
    try:
        dataset = ir_datasets.load(name)
    except KeyError:
        raise fault("irds-unknown", source=REMOTE + name, token=name) from None
    for part in parts:
        if not getattr(dataset, f"has_{part}")():
            raise fault("irds-lacks", source=REMOTE + name, token=name, what=part)
    return dataset


def _fetched(name: str, work: Callable[[], _T]) -> _T:
    """What the work gives; ir_datasets fetches while it is read, and fails in as many ways as networks and disks do."""
    try:
        return work()
    except RankproofError:
        raise
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        text = f"{REMOTE}{name}: ir_datasets could not fetch it ({reason}); check the network and the disk"
        raise WorldError(visible(text)) from None


def _judgements(rows: Iterable[Any], source: str, grade_map: GradeMap | None) -> Iterator[Judgement]:
    for line, row in enumerate(rows, start=1):
        query = id_of_value(row.query_id, "query", source=source, line=line)
        doc = id_of_value(row.doc_id, "document", source=source, line=line)
        grade = grade_of_value(row.relevance, grade_map, query=query, doc=doc, source=source, line=line)
        yield Judgement(query, doc, grade, line)


def _records(rows: Iterable[Any], make: type[_Record], key: str) -> Iterator[_Record]:
    for row in rows:
        fields = {name: value for name, value in row._asdict().items() if name != key and name not in _TEXT_FIELDS}
        title = getattr(row, "title", "")
        text = getattr(row, "text", None)
        yield make(
            id=getattr(row, key), text=row.default_text() if text is None else text, title=title, fields=MappingProxyType(fields)
        )
