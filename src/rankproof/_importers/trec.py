"""TREC topics with qrels, and MS MARCO's collection, queries and qrels: files without a header."""

from __future__ import annotations

import html
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, Literal

from rankproof._data.qrels import Judgement, Qrels
from rankproof._formats.columns import TEXT_ID_NAMES, TEXT_NAMES, is_header, normalised_name
from rankproof._formats.read import read_qrels
from rankproof._importers.base import Imported, ImportOptions, ImportSource
from rankproof._importers.builder import DatasetBuilder, field_names, plain_fields
from rankproof.errors import InputError, UsageError, for_message

FileKind = Literal["topics", "queries", "documents", "qrels"]
_SAMPLED_LINES = 20
_DOCUMENTS = re.compile(r"collection|corpus|docs|document|passage")
_QUERIES = re.compile(r"quer|topic|question")
_SPLIT = re.compile(r"(?:queries|query|qrels|topics)[._-]?(.*?)(?:\.(?:tsv|txt|xml|trec|qrels?|jsonl|gz|zst))*$")
_TOPIC = re.compile(r"<top>(.*?)</top>|<topic\b([^>]*)>(.*?)</topic>", re.DOTALL | re.IGNORECASE)
_OPEN_TOPIC = re.compile(r"<top>|<topic\b", re.IGNORECASE)
_TAG = re.compile(r"<(/?)([a-z_]+)[^>]*>", re.IGNORECASE)
_NUMBER = re.compile(r"""(?:number|id|num)\s*=\s*["']?([^"'\s>]+)""", re.IGNORECASE)
_LABEL = re.compile(r"^\s*(?:number|topic|description|narrative|domain|summary|concept\(s\))\s*:\s*", re.IGNORECASE)
_FIELDS = {"query": "title", "description": "desc", "question": "desc", "narrative": "narr", "number": "num", "id": "num"}
"""The names of fields in XML topics, as those of the classic form."""
_OTHER_KEYS = ("user_query", "action_name", "candidates", "hits", "references", "vars", "index", "_source")
_FIELDS_FIX = "write fields=title,desc; a topic has title, desc and narr"


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic: its id, its fields by the names of the classic form, and its line."""

    id: str
    fields: Mapping[str, str]
    line: int = field(compare=False, default=1)


class TrecImporter:
    """Topics or lines of queries, qrels in TREC's form, and documents as lines or JSONL."""

    has_splits = True
    settings: Mapping[str, str] = {
        "fields": "the fields of a topic that make the query, separated by commas (title)",
        "corpus": "all (the default) or judged (only documents in the qrels)",
    }

    def detect(self, source: ImportSource) -> bool:
        files = _files_with_kind(source)
        kinds = [kind for _, kind in files]
        return "topics" in kinds or (
            "queries" in kinds and ("qrels" in kinds or any(_is_file_of_queries(*file) for file in files))
        )

    def read(self, source: ImportSource, options: ImportOptions) -> Imported:
        files = _chosen_files(source, options.split)
        builder = DatasetBuilder(source, options)
        if others := [name for name, path in source.files.items() if path not in files.values()]:
            builder.note_unread_files(others)
        return builder.imported(_judgements(files, source, options, builder), "trec")


def _judgements(
    files: Mapping[FileKind, str], source: ImportSource, options: ImportOptions, builder: DatasetBuilder
) -> Iterator[Judgement | None]:
    qrels = Qrels({}, source=source.name)
    if "qrels" in files:
        qrels = read_qrels(files["qrels"], encoding=source.encoding, grade_map=options.grade_map, on_conflict=options.on_conflict)
        builder.notes += qrels.grade_notes()
        builder.counts.read_judgements(qrels)
    if "topics" in files:
        _add_topics(_read_topics(source, files["topics"]), options, builder, qrels)
    else:
        for line, key, text in _id_and_text(source, files["queries"], builder, "queries"):
            builder.query(key, text, line=line)
    if "documents" in files:
        judged = {doc for docs in qrels.values() for doc in docs} if options.is_judged_only else None
        _add_documents(source, files["documents"], builder, judged)
    yield from qrels.rows()


def _files_with_kind(source: ImportSource) -> list[tuple[str, FileKind]]:
    """The files of known kinds, each with its kind."""
    kinds = ((name, _kind(source, name, path)) for name, path in source.files.items() if source.frame is None)
    return [(name, kind) for name, kind in kinds if kind is not None]


def _is_of_another_tool(source: ImportSource, path: str) -> bool:
    """Whether the first row has keys that only rows of other importers have."""
    _, row = next(source.table_of(path).rows())
    return any(name in row for name in _OTHER_KEYS)


def _is_file_of_queries(name: str, kind: FileKind) -> bool:
    """Whether the name of a file of lines says that they are queries."""
    return kind == "queries" and not name.endswith(".jsonl") and bool(_QUERIES.search(os.path.basename(name).lower()))


def _kind(source: ImportSource, name: str, path: str) -> FileKind | None:
    """What the file holds, by its first lines and, for lines of id and text, by its name."""
    base = os.path.basename(name).lower()
    try:
        form = source.format_of(path)
        if form == "jsonl" and _is_of_another_tool(source, path):
            return None
        if form == "jsonl":
            return "documents" if _DOCUMENTS.search(base) else "queries" if _QUERIES.search(base) else None
        lines = [line for _, line in islice(source.lines_of(path), _SAMPLED_LINES)] if form == "text" else []
    except (InputError, UsageError):
        return None
    if any(mark in line.lower() for line in lines for mark in ("<top>", "<topic ")):
        return "topics"
    rows = [line.rstrip("\r\n").split("\t") for line in lines if line.strip()]
    if lines and all(_is_qrels_row(line) for line in lines if line.strip()):
        return "qrels"
    widths = Counter(map(len, rows))
    if not rows or widths.most_common(1)[0][0] not in (2, 4) or _has_header(rows[0]):
        return None
    if widths.most_common(1)[0][0] == 4:
        return "documents" if _DOCUMENTS.search(base) or all("://" in row[1] for row in rows if len(row) == 4) else None
    return "documents" if _DOCUMENTS.search(base) else "queries"


def _is_qrels_row(line: str) -> bool:
    cells = line.split()
    return len(cells) == 4 and cells[3].lstrip("+-").isdigit()


def _has_header(cells: list[str]) -> bool:
    plain = {normalised_name(cell) for cell in cells}
    return is_header(cells) or bool(plain.intersection(TEXT_NAMES)) or bool(plain.intersection(TEXT_ID_NAMES["query"]))


def _chosen_files(source: ImportSource, split: str) -> dict[FileKind, str]:
    """The file of each kind; of several files of queries and qrels, those of the split."""
    kinds: dict[FileKind, dict[str, str]] = {}
    for name, kind in _files_with_kind(source):
        kinds.setdefault(kind, {})[name] = source.files[name]
    if "topics" not in kinds and "queries" not in kinds:
        raise InputError(
            "no topics and no queries", fix="add a file of topics, or of lines of id, tab and text", source=source.name
        )
    if "topics" in kinds:
        kinds.pop("queries", None)
    return {kind: _of_split(kind, named, split, source) for kind, named in kinds.items()}


def _of_split(kind: FileKind, named: Mapping[str, str], split: str, source: ImportSource) -> str:
    if len(named) == 1:
        return next(iter(named.values()))
    splits = {name: match[1] for name in named if (match := _SPLIT.search(os.path.basename(name)))}
    chosen = [name for name, name_split in splits.items() if name_split == split]
    if len(chosen) != 1:
        known = ", ".join(f"{for_message(name_split)} ({for_message(name)})" for name, name_split in splits.items()) or ", ".join(
            named
        )
        fix = f"choose one with --split, or specify the files: {known}"
        raise InputError(f"{len(named)} files of {kind}", fix=fix, source=source.name)
    return named[chosen[0]]


def _read_topics(source: ImportSource, path: str) -> list[Topic]:
    text = "".join(line for _, line in source.lines_of(path))
    # Topics are replaced by their line breaks, so that the line of one that is not closed stays.
    others = _TOPIC.sub(lambda match: "\n" * match[0].count("\n"), text)
    if left := _OPEN_TOPIC.search(others):
        line = others.count("\n", 0, left.start()) + 1
        raise InputError("the topic is not closed", fix="write </top> or </topic> at its end", source=path, line=line)
    return [_topic(match, text, path) for match in _TOPIC.finditer(text)]


def _topic(match: re.Match[str], text: str, path: str) -> Topic:
    attributes, body = match[2] or "", match[1] if match[1] is not None else match[3]
    line = text.count("\n", 0, match.start()) + 1
    fields = _topic_fields(body)
    number = _NUMBER.search(attributes)
    key = number[1] if number else fields.get("num", "")
    if not key:
        raise InputError("the topic has no number", fix='write <num> 301 or <topic number="301">', source=path, line=line)
    return Topic(key.strip(), {name: value for name, value in fields.items() if name != "num"}, line)


def _topic_fields(body: str) -> dict[str, str]:
    """Each tag with the text up to the next one; the text itself is the title where there are no tags."""
    marks = list(_TAG.finditer(body))
    if not marks:
        return {"title": _plain(body)}
    fields: dict[str, str] = {}
    for mark, end in zip(marks, [*(next_mark.start() for next_mark in marks[1:]), len(body)], strict=True):
        name = mark[2].lower()
        if not mark[1] and (value := _plain(body[mark.end() : end])):
            fields.setdefault(_FIELDS.get(name, name), value)
    return fields


def _plain(text: str) -> str:
    return " ".join(_LABEL.sub("", html.unescape(text)).split())


def _add_topics(topics: Iterable[Topic], options: ImportOptions, builder: DatasetBuilder, qrels: Qrels) -> None:
    chosen = [name.strip() for name in options.settings.get("fields", "title").split(",")]
    if not all(chosen):
        raise UsageError(f"fields is {for_message(options.settings['fields'])}", fix=_FIELDS_FIX)
    known: dict[str, None] = {}
    for topic in topics:
        known |= dict.fromkeys(topic.fields)
        builder.counts.read("topics")
        text = " ".join(topic.fields[name] for name in chosen if name in topic.fields)
        others = {name: value for name, value in topic.fields.items() if name not in chosen}
        if not text:
            builder.counts.drop("topics", f"without {' and '.join(chosen)}", line=topic.line)
            continue
        builder.query(_id_in(topic.id, qrels), text, partial(plain_fields, others, field_names(others)), line=topic.line)
    if not builder.queries:
        what = f"no topic has {' or '.join(map(for_message, chosen))}; fields: {', '.join(known) or 'none'}"
        raise InputError(what, fix="choose with --set fields=NAME,NAME", source=builder.source.name)


def _id_in(key: str, qrels: Qrels) -> str:
    """The id as the qrels write it: old topics have leading zeros that their qrels do not."""
    plain = key.lstrip("0")
    return plain if key not in qrels and plain in qrels else key


def _id_and_text(source: ImportSource, path: str, builder: DatasetBuilder, part: str) -> Iterator[tuple[int, str, str]]:
    """The lines of a file of id, tab and text, or of JSONL with these keys."""
    if source.format_of(path) == "jsonl":
        for line, row in source.table_of(path).rows():
            yield line, str(_first(row, TEXT_ID_NAMES["query"])), str(_first(row, TEXT_NAMES))
        return
    for line, text in source.lines_of(path):
        if not text.strip():
            continue
        key, tab, rest = text.rstrip("\r\n").partition("\t")
        if not tab or not key.strip() or not rest.strip():
            builder.counts.read(part)
            builder.counts.drop(part, "without an id" if tab and not key.strip() else "without a text", line=line)
            continue
        yield line, key, rest


def _first(row: Mapping[str, Any], names: Iterable[str]) -> Any:
    by_name = {normalised_name(key): value for key, value in row.items()}
    return next((by_name[name] for name in names if name in by_name), "")


def _add_documents(source: ImportSource, path: str, builder: DatasetBuilder, judged: set[str] | None) -> None:
    """Adds the documents; a row of four is MS MARCO's id, url, title and body."""
    if source.format_of(path) == "jsonl":
        _add_json_documents(source, path, builder, judged)
        return
    for line, key, rest in _id_and_text(source, path, builder, "documents"):
        cells = rest.split("\t")
        if len(cells) not in (1, 3):
            what = f"{len(cells) + 1} columns where documents have 2 (id, text) or 4 (id, url, title, body)"
            raise InputError(
                what, fix="separate the columns by one tab each, and remove tabs inside texts", source=path, line=line
            )
        if judged is not None and key.strip() not in judged:
            _drop_unjudged(builder, line)
        elif len(cells) == 1:
            builder.document(key, "", rest, line=line)
        else:
            url, title, body = cells
            builder.document(key, title, body, partial(_url, url), line=line, may_be_empty=True)


def _url(url: str) -> dict[str, Any]:
    return {"url": url}


def _drop_unjudged(builder: DatasetBuilder, line: int) -> None:
    builder.counts.read("documents")
    builder.counts.drop("documents", "not in the qrels", line=line)


def _add_json_documents(source: ImportSource, path: str, builder: DatasetBuilder, judged: set[str] | None) -> None:
    for line, row in source.table_of(path).rows():
        key = _first(row, TEXT_ID_NAMES["document"])
        if judged is not None and str(key) not in judged:
            _drop_unjudged(builder, line)
        else:
            builder.document(key, row.get("title"), _first(row, TEXT_NAMES), line=line, may_be_empty=True)


TREC_TOPICS = TrecImporter()
