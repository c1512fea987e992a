"""What a language model is asked to make of documents, category by category."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..asking.fence import DATA_RULE, fenced
from ..asking.prompt import filled
from ..models.chat.port import Ask, Message

SYSTEM = "You write queries as people type them into a search engine, to test that engine. " + DATA_RULE
PROMPT = """Write {task}

The query must make sense to someone who has never seen the passage: never speak of the passage, the document, the text or the \
author, and never copy more than four words in a row. Write it in the language of the passage, on one line, in at most 25 words.
The answer is the shortest piece of the passage that answers the query, copied letter by letter, or "" where the passage has none.
Reply with JSON only: {"query": "…", "answer": "…"}

{passages}"""
SCHEMA = (
    '{"type":"object","properties":{"query":{"type":"string"},"answer":{"type":"string"}},'
    '"required":["query","answer"],"additionalProperties":false}'
)
TASKS: Mapping[str, str] = {
    "factual": "a question that one fact of the passage answers: a number, a name, a date.",
    "how-to": "a question about how to do something that the passage explains.",
    "keyword": "a query of two to four keywords, no sentence, that the passage is a good result for.",
    "paraphrase": "a query that the passage answers, in other words than its own: synonyms, everyday language.",
    "question": "a natural question that the passage answers.",
    "misspelt": "a query that the passage is a good result for, with one or two slips of spelling as people make them.",
    "inferential": "a question that the passage answers only to a reader who draws a conclusion from it.",
    "comparative": "a question that compares what the two passages are about, and that needs both to be answered.",
    "multi-hop": "a question that needs one fact of each of the two passages to be answered.",
    "unanswerable": 'a question on the subject of the passage that the passage does not answer; the answer is "".',
    "negated": "a question with a negation (not, without, except, never) that the passage answers.",
    "ambiguous": "a short query that the passage answers but that could well mean something else too.",
    "appliance": "a question about the setting of a device or tool that the passage tells.",
    "timing": "a question about when, how long or how often that the passage answers.",
    "technique": "a question about a technique or method that the passage explains.",
    "ingredient": "a question about what something is made of, or what can stand in for it, that the passage answers.",
    "simple": "a question with one constraint that the passage answers.",
    "medium": "a question with three constraints that the passage answers.",
    "complex": "a question with five or more constraints that the passage answers.",
}
"""By category; those from `appliance` on are the kinds and the complexities of seed 002."""
PAIRED = ("comparative", "multi-hop")
"""Categories whose queries are made from two documents."""
UNANSWERED = "unanswerable"
"""The category whose target does not answer the query."""
CHARACTERS = 4000
"""Of a passage that the model is given."""


def ask_of(category: str, passages: Sequence[str], max_tokens: int) -> Ask:
    """What the model is asked for one query."""
    text = filled(PROMPT, task=TASKS[category], passages=fenced(passages, characters=CHARACTERS))
    return Ask((Message("system", SYSTEM), Message("user", text)), max_tokens, SCHEMA)
