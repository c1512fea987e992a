"""The request of an HTTP engine: placeholders, environment variables, escaping, presets."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof.errors import UsageError
from rankproof.stages._engines.http import checked_table
from rankproof.stages._engines.request import ESCAPES, Filler, placeholders, preset_named, presets, read_environment, variables

LUCENE_SYNTAX = set('+-=&|!(){}[]^"~*?:\\/<>')


def filler(environment: dict[str, str] | None = None, **values: object) -> Filler:
    return Filler(values, environment or {})


def test_a_text_that_is_one_placeholder_becomes_the_value_itself() -> None:
    body = {"size": "{size}", "query": {"match": {"{field}": "{query}"}}, "v": ["{vector}"]}
    filled = filler(size=10, query="cats", field="title", vector=[0.5, 1.0]).json(body)
    assert filled == {"size": 10, "query": {"match": {"title": "cats"}}, "v": [[0.5, 1.0]]}


def test_a_placeholder_inside_a_text_is_written_as_text() -> None:
    template = "limit:{size} fields:{fields} v:{vector} where { id } and {!knn f=v}"
    written = filler(size=10, fields=["title", "text"], vector=[0.5, 1.0]).text(template)
    assert written == "limit:10 fields:title,text v:[0.5,1.0] where { id } and {!knn f=v}"


@given(st.text())
def test_what_a_query_holds_is_never_filled_again(query: str) -> None:
    filled = filler({"KEY": "secret"}, query=query + "{size}${KEY}", size=3).json({"q": "x {query}"})
    assert filled == {"q": f"x {query}{{size}}${{KEY}}"}


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_values_in_an_address_are_percent_encoded_but_for_the_server(query: str) -> None:
    url = filler(server="http://h:1/", query=query).url("{server}/s?q={query}")
    assert url.startswith("http://h:1/s?q=")
    assert re.fullmatch(r"[\w.~%-]*", url.removeprefix("http://h:1/s?q="), re.ASCII)


def test_environment_variables_are_filled_in_texts_and_addresses() -> None:
    filling = filler({"BASE": "https://h", "KEY": "a b"}, index="i")
    assert filling.url("${BASE}/{index}?k=${KEY}") == "https://h/i?k=a%20b"
    assert filling.text("ApiKey ${KEY}") == "ApiKey a b"


def test_placeholders_and_variables_are_found_in_keys_and_lists() -> None:
    template = {"{field}": ["{query}", {"k": "${KEY}"}], "n": 3}
    assert placeholders(template) == {"field", "query"}
    assert variables(template) == {"KEY"}


@pytest.mark.parametrize("value", ["", "two\nlines", "schlüssel"])
def test_a_variable_that_no_request_can_hold_is_an_error_without_its_value(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCH_KEY", value)
    with pytest.raises(UsageError, match="SEARCH_KEY") as caught:
        read_environment(["SEARCH_KEY"])
    assert not value or value not in str(caught.value)


@given(st.text())
def test_lucene_syntax_is_always_escaped(query: str) -> None:
    written = ESCAPES["lucene"](query)
    bare = re.sub(r"\\.", "", written, flags=re.DOTALL)
    assert not LUCENE_SYNTAX & set(bare)
    assert not re.search(r"\b(?:AND|OR|NOT)\b", bare)
    assert re.sub(r"\\(.)", r"\1", written, flags=re.DOTALL) == re.sub("[<>]", " ", query)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_query_inside_graphql_stays_one_string(query: str) -> None:
    written = f'"{ESCAPES["graphql"](query)}"'
    assert json.loads(written) == query


def test_each_escape_writes_a_query_as_its_engine_reads_it() -> None:
    query = 'Is "0-dim" -x OR (y)?'
    assert ESCAPES["none"](query) == query
    assert ESCAPES["lucene"](query) == r"Is \"0\-dim\" \-x \OR \(y\)\?"
    assert ESCAPES["groonga"](query) == '"Is" OR "0" OR "dim" OR "x" OR "OR" OR "y"'
    assert ESCAPES["plain"](query) == "Is  0-dim   x OR (y)?"
    assert ESCAPES["words"](query) == "Is 0 dim x OR y"


def test_a_table_is_copied_with_lists_for_tuples() -> None:
    given = {"a": (1, {"b": [True]})}
    table = checked_table("body", given)
    given["a"][1]["b"].append(False)
    assert table == {"a": [1, {"b": [True]}]}


@pytest.mark.parametrize("value", ["text", ["a"], {"a": None}, {"a": [{"b": None}]}, {1: "a"}, {"a": b"b"}])
def test_a_table_holds_only_what_json_and_toml_share(value: object) -> None:
    with pytest.raises(UsageError, match="body"):
        checked_table("body", value)


def test_a_preset_like_another_has_its_parts_and_its_own() -> None:
    knn, plain = preset_named("opensearch-knn"), preset_named("elasticsearch")
    assert knn.settings["ids"] == plain.settings["ids"] == "hits.hits[]._id"
    assert "knn" in knn.settings["body"]["query"]
    assert knn.needs_vector
    assert not plain.needs_vector


def test_an_unknown_preset_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(UsageError, match="elasticsearch"):
        preset_named("elasticsaerch")


def test_every_engine_that_the_tests_run_says_so_and_no_other() -> None:
    assert {name for name, preset in presets().items() if preset.tested} == {"chroma", "groonga", "arcadedb"}


@pytest.mark.parametrize("name", presets())
def test_every_preset_names_its_source_and_an_example_of_each_required_value(name: str) -> None:
    preset = presets()[name]
    used = placeholders({key: value for key, value in preset.settings.items() if key != "values"})
    assert used - {"query", "size", "vector"} == preset.required.keys() | preset.settings.get("values", {}).keys()
    assert preset.source.startswith("https://")
    assert not variables(preset.settings.get("url"))
