"""Families of encoders that were trained with a prompt before the text, with where that is said."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Family:
    """Models whose names match the pattern, and what they expect before a query and before a passage; `…` stands for a task."""

    name: str
    pattern: str
    query: str
    passage: str
    source: str

    def prompts(self) -> Mapping[str, str]:
        """The prompts as a dense stage calls them."""
        return {"query_prompt": self.query, "passage_prompt": self.passage}

    def words(self) -> str:
        """What is expected, for a reader."""
        before = {"query": self.query, "passage": self.passage}
        return " and ".join(f"{prompt!r} before a {what}" for what, prompt in before.items() if prompt)


_FOR_SEARCHING = "Represent this sentence for searching relevant passages: "

FAMILIES = (
    Family(
        "E5 instruct",
        r"(multilingual-)?e5-(mistral|.*instruct)",
        "Instruct: …\nQuery: ",
        "",
        "huggingface.co/intfloat/multilingual-e5-large-instruct",
    ),
    Family(
        "E5", r"(multilingual-)?e5-(small|base|large)", "query: ", "passage: ", "huggingface.co/intfloat/e5-base-v2, its FAQ 1"
    ),
    Family("BGE English", r"bge-(small|base|large)-en", _FOR_SEARCHING, "", "huggingface.co/BAAI/bge-base-en-v1.5"),
    Family(
        "BGE Chinese",
        r"bge-(small|base|large)-zh",
        "为这个句子生成表示以用于检索相关文章：",
        "",
        "huggingface.co/BAAI/bge-base-zh-v1.5",
    ),
    Family("Nomic", r"nomic-embed-text", "search_query: ", "search_document: ", "huggingface.co/nomic-ai/nomic-embed-text-v1.5"),
    Family("mxbai", r"mxbai-embed-large", _FOR_SEARCHING, "", "huggingface.co/mixedbread-ai/mxbai-embed-large-v1"),
    Family("Arctic 2", r"snowflake-arctic-embed-.*v2", "query: ", "", "huggingface.co/Snowflake/snowflake-arctic-embed-m-v2.0"),
    Family("Arctic", r"snowflake-arctic-embed", _FOR_SEARCHING, "", "huggingface.co/Snowflake/snowflake-arctic-embed-m"),
)


def family_of(source: str) -> Family | None:
    """The family of a model's folder or hub name, by the last part of the name; the first that matches counts."""
    name = source.rstrip("/\\").replace("\\", "/").rpartition("/")[2].lower()
    return next((family for family in FAMILIES if re.match(family.pattern, name)), None)
