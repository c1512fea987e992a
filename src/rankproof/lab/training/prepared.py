"""What a tokenizer makes of the lessons: the same for every seed, and so made once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..lessons.lessons import Lessons
from .id_table import IdTable, id_table
from .recipe import Recipe

if TYPE_CHECKING:
    from ...models.trial.shape import Shape
    from ...models.trial.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Prepared:
    """The tokenizer, the net's shape, and the lessons in tokens."""

    lessons: Lessons
    recipe: Recipe
    tokenizer: Tokenizer
    shape: Shape
    queries: IdTable
    documents: IdTable


def prepared(lessons: Lessons, kind: str, recipe: Recipe) -> Prepared:
    """The lessons in the tokens of a kind; a tokenizer that is trained is trained on their documents."""
    from ...models.trial.fitting import fitted
    from ...models.trial.shape import text_read
    from ...models.trial.tokenizer import trained_tokenizer

    tokenizer = trained_tokenizer(kind, [text_read(text, recipe.characters) for text in lessons.documents])
    shape = fitted(kind, tokenizer.vocabulary, **recipe.sizes())
    queries, documents = (id_table(tokenizer, texts, recipe.characters) for texts in (lessons.queries, lessons.documents))
    return Prepared(lessons, recipe, tokenizer, shape, queries, documents)
