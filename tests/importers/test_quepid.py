"""The exports of Quepid."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rankproof._data.validation import made_id
from rankproof._importers.base import Imported, ImportOptions
from rankproof._importers.registry import import_source
from rankproof.errors import InputError

DETAILED = "Team Name,Case Name,Case ID,Query Text,Doc ID,Doc Position,Title,Rating,overview\r\n"
SNAPSHOT = "Snapshot Name,Snapshot Time,Case ID,Query Text,Doc ID,Doc Position\r\n"


def written(path: Path, text: str) -> str:
    path.write_bytes(text.encode())
    return str(path)


def grades(imported: Imported) -> dict[str, dict[str, int]]:
    """The grades by query text."""
    qrels, queries = imported.dataset.qrels, imported.dataset.queries
    return {queries[query].text: dict(docs) for query, docs in qrels.items()}


def rankings(imported: Imported, system: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in imported.runs[system].rows():
        found.setdefault(imported.dataset.queries[row.query].text, []).append(row.doc)
    return found


@pytest.mark.parametrize(
    "text",
    [
        "query,docid,rating\ncats,d1,3\ncats,d2,0\ndogs\n",
        "query,docid,rating\ndogs,,\ncats,d1,3\ncats,d2,0",
        "query,doc_id,rating\r\ncats,d1,3\r\ncats,d2,0\r\ndogs\r\n",
        "0 qid:7 # d2 cats\n\n\n3 qid:7 # d1 cats\n",
        json.dumps({"queries": [{"query": "cats", "ratings": {"d1": 3, "d2": 0}}, {"query": "dogs", "ratings": {}}]}),
        json.dumps(
            {"queries": [{"query_text": "cats", "ratings": [{"doc_id": "d1", "rating": 3}, {"doc_id": "d2", "rating": 0.0}]}]}
        ),
        json.dumps(
            {
                "id_field": "id",
                "index": "tmdb",
                "template": "template.json",
                "queries": [
                    {"placeholders": {"$query": "cats"}, "relevant_documents": {"d1": {"gain": 3}, "d2": {"gain": 0}}},
                    {"placeholders": {"$query": "dogs"}, "relevant_documents": {}},
                ],
            }
        ),
        json.dumps({"queries": [{"placeholders": {"$query": "cats"}, "relevant_documents": {"3": ["d1"], "0": ["d2"]}}]}),
    ],
    ids=["basic", "basic padded", "browser", "LTR", "ratings JSON", "case JSON", "RRE", "RRE by gain"],
)
def test_every_export_of_ratings_gives_the_same_judgements(tmp_path: Path, text: str) -> None:
    imported = import_source(written(tmp_path / "case.txt", text))
    assert imported.report.importer == "quepid"
    assert grades(imported) == {"cats": {"d1": 3, "d2": 0}}


def test_an_unrated_query_of_one_cell_is_kept_and_noted(tmp_path: Path) -> None:
    imported = import_source(written(tmp_path / "case.csv", "query,docid,rating\ncats,d1,3\ndogs\n"))
    assert [query.text for query in imported.dataset.queries.values()] == ["cats", "dogs"]
    assert "1 query without a rating" in imported.report.notes
    assert "no documents: the export has ids only; a Detailed export has titles and fields" in imported.report.notes


def test_the_space_before_a_character_of_formulas_is_removed(tmp_path: Path) -> None:
    imported = import_source(written(tmp_path / "case.csv", "query,docid,rating\n =cmd,d1,1\n"))
    assert grades(imported) == {"=cmd": {"d1": 1}}


def test_quotes_that_the_browser_doubles_without_quoting_the_cell_are_single(tmp_path: Path) -> None:
    text = 'query,doc_id,rating\r\n19"" monitor,d1,1\r\n"a ""big"", red one",d2,1\r\n'
    imported = import_source(written(tmp_path / "case.csv", text))
    assert list(grades(imported)) == ['19" monitor', 'a "big", red one']


def test_a_detailed_export_gives_judgements_documents_and_a_ranking(tmp_path: Path) -> None:
    rows = 'T,C,1,cats,d2,1,Dogs,--,"They bark, often."\r\nT,C,1,cats,d1,2,Cats,3,They purr.\r\nT,C,1,birds\r\n'
    imported = import_source(written(tmp_path / "movies.csv", DETAILED + rows))
    assert grades(imported) == {"cats": {"d1": 3}}
    assert rankings(imported, "movies") == {"cats": ["d2", "d1"]}
    assert (imported.dataset.corpus["d2"].title, imported.dataset.corpus["d2"].text) == ("Dogs", "They bark, often.")
    dropped = {count.part: [str(one) for one in count.dropped] for count in imported.report.counts if count.dropped}
    assert dropped == {"judgements": ["1 without a grade (first at line 2)"]}


def test_snapshots_are_systems_and_a_basic_export_their_judgements(tmp_path: Path) -> None:
    ratings = written(tmp_path / "case.csv", "query,docid,rating\ncats,d1,3\n")
    before = written(tmp_path / "a.csv", SNAPSHOT + "before,2026,1,cats,d2,1\r\nbefore,2026,1,cats,d1,2\r\n")
    after = written(
        tmp_path / "b.csv", SNAPSHOT + "after,2026,1,cats,d1,2\r\nafter,2026,1,cats,d3,10\r\nafter,2026,1,cats,d2,1\r\n"
    )
    imported = import_source([ratings, before, after])
    assert grades(imported) == {"cats": {"d1": 3}}
    assert rankings(imported, "before") == {"cats": ["d2", "d1"]}
    assert rankings(imported, "after") == {"cats": ["d2", "d1", "d3"]}


def test_a_snapshot_alone_has_a_ranking_and_no_judgements(tmp_path: Path) -> None:
    imported = import_source(written(tmp_path / "a.csv", SNAPSHOT + "before,2026,1,cats,d2,1\r\n"))
    assert not imported.dataset.is_judged
    assert list(imported.runs) == ["before"]


def test_the_judges_of_a_book_agree_or_on_conflict_chooses(tmp_path: Path) -> None:
    path = written(tmp_path / "book.csv", "query,docid,Ann Lee,Anonymous\ncats,d1,3,1\ncats,d2,2,2\ncats,d3,,0\ncats,d4,,\n")
    with pytest.raises(InputError, match=r"document d1 has two grades .* 3 \(at line 2\) and 1; .*on_conflict"):
        import_source(path)
    imported = import_source(path, ImportOptions(on_conflict="min"))
    assert grades(imported) == {"cats": {"d1": 1, "d2": 2, "d3": 0}}
    judgements = next(count for count in imported.report.counts if count.part == "judgements")
    assert (judgements.read, judgements.kept) == (6, 3)


def test_a_book_in_json_has_the_fields_of_documents(tmp_path: Path) -> None:
    pair = {
        "query_text": "cats",
        "doc_id": "d1",
        "document_fields": '{"title": "Cats", "overview": "They purr."}',
        "judgements": [{"rating": 2.0, "user_email": "a"}, {"rating": None, "unrateable": True}],
    }
    imported = import_source(written(tmp_path / "book.json", json.dumps({"name": "b", "query_doc_pairs": [pair]})))
    assert grades(imported) == {"cats": {"d1": 2}}
    assert imported.dataset.corpus["d1"].text == "Cats\nThey purr."


def test_information_needs_become_a_field_of_queries_whatever_the_order_of_files(tmp_path: Path) -> None:
    ratings = written(tmp_path / "case.csv", "query,docid,rating\ncats,d1,3\n")
    needs = written(tmp_path / "needs.csv", "query,information_need\ncats,Which cats purr?\n")
    for paths in ([ratings, needs], [needs, ratings]):
        query = import_source(paths).dataset.queries[made_id("query", ["cats"])]
        assert query.fields["information_need"] == "Which cats purr?"


def test_trec_text_has_no_query_texts_and_is_read_where_quepid_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "case_trec.txt", "\n7 0 d1 3\n\n7 0 d2 0\n")
    assert grades(import_source(path, importer="quepid")) == {"7": {"d1": 3, "d2": 0}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "Team Name,Case Name,Case ID,Query Text,Score,Date Last Scored,Count\nT,C,1,cats,0.5,now,3\n",
            "the General export has no documents",
        ),
        (
            "query,docid,rating\ncats,d1,good\n",
            r'case.csv:2: grade "good" is not an integer; grades found: good \(1\); .*grade_map',
        ),
        ("query,docid,rating\ncats,d1,3,4\n", "case.csv:2: 4 columns where the header has 3"),
        (SNAPSHOT + "before,2026,1,cats,d2,first\r\n", "case.csv:2: Doc Position is not a whole number"),
        ('query,doc_id,rating\n""red shoes"",d1,3\n', "case.csv:2: the quotes are wrong"),
        ("3 qid:7 # d1 cats\n2 qid:7 d2 cats\n", "case.csv:2: not a line of this export"),
        (json.dumps({"queries": [{"query": "cats", "ratings": {"d1": "?"}}]}), r'grade "\?" is not an integer'),
        (
            json.dumps({"queries": [{"query": 5, "ratings": {"d1": 3}}]}, indent=1),
            r"case.csv:4: queries\[0\].query is a number, not text",
        ),
        (json.dumps({"query_doc_pairs": [5]}), r"query_doc_pairs\[0\] is a number, not an object"),
    ],
)
def test_a_damaged_export_is_an_error_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        import_source(written(tmp_path / "case.csv", text))


@pytest.mark.parametrize(
    "value", ["query,docid,title,label\ncats,d1,Cats,1\n", "query,docid,score\ncats,d1,1\n", "query,docid,clicks\ncats,d1,1\n"]
)
def test_another_table_is_no_book(tmp_path: Path, value: str) -> None:
    assert import_source(written(tmp_path / "t.csv", value)).report.importer == "table"


def test_any_other_file_is_refused_where_quepid_is_named(tmp_path: Path) -> None:
    path: Any = written(tmp_path / "x.json", '{"a": 1}')
    with pytest.raises(InputError, match=r"x.json: not an export of Quepid; export Basic"):
        import_source(path, importer="quepid")


def test_a_document_that_a_snapshot_has_twice_keeps_its_better_position(tmp_path: Path) -> None:
    rows = "before,2026,1,cats,d2,3\r\nbefore,2026,1,cats,d1,2\r\nbefore,2026,1,cats,d2,1\r\n"
    imported = import_source(written(tmp_path / "a.csv", SNAPSHOT + rows))
    assert rankings(imported, "before") == {"cats": ["d2", "d1"]}
    (count,) = (one for one in imported.report.counts if one.part == "ranked documents of before")
    assert (count.read, [str(one) for one in count.dropped]) == (3, ["1 that the ranking has twice (first at line 4)"])


def test_the_columns_that_are_read_as_judges_are_shown(tmp_path: Path) -> None:
    imported = import_source(written(tmp_path / "b.csv", "query,docid,Ann,Bob\ncats,d1,3,3\n"))
    assert imported.report.columns["judges"] == "Ann, Bob"
