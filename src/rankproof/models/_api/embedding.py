"""Embedding APIs: the settings and limits that they share, their replies, and the connection, which is an encoder."""

from __future__ import annotations

from abc import abstractmethod
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from rankproof._data.arrays import Matrix, read_only
from rankproof._data.identity import NOT_IN_IDENTITY
from rankproof._io.http import ResponseFormatError
from rankproof._io.secrets import Secret
from rankproof._registry import Option
from rankproof.models._api.connection import ModelConnection, count_of, object_of
from rankproof.models._api.settings import ApiModel
from rankproof.models._chat.base import BYTES_PER_TOKEN, estimate_tokens, max_tokens_of

TextRole = Literal["query", "passage"]
"""What a text is, for models that encode queries and passages differently."""
_MAX_RESPONSE_BYTES = 256 << 20
_LIKELY_CAUSES = "; likely causes: dimensions, a text longer than the model reads, or a setting that this server does not know"


@dataclass(frozen=True, eq=False, slots=True)
class EmbeddingReply:
    """One row of length 1 for each text; `tokens` is 0 where the server does not tell them."""

    vectors: Matrix
    tokens: int
    seconds: float
    masked: bool = False


@dataclass(frozen=True, slots=True)
class EmbeddingApi(ApiModel):
    """The settings of a model behind an embedding API.

    An API says how many tokens one request may have (`request_tokens`, None for no limit), and whether its server truncates long
    texts without saying so; where it does not, texts longer than `max_tokens` are cut before they are sent.
    """

    dimensions: Annotated[int | None, Option("dimensions of the vectors (default: those of the model)", least=1)] = None
    max_tokens: Annotated[int | None, Option("maximum length of a text in tokens, at four bytes per token", least=4)] = None
    batch_size: Annotated[int, Option("the most texts of one request", least=1, most=4096)] = field(
        default=32, metadata=NOT_IN_IDENTITY
    )

    api: ClassVar[str] = ""
    request_tokens: ClassVar[int | None] = None
    gives_tokens: ClassVar[bool] = False

    def load(self, *, threads: int = 1) -> EmbeddingConnection:
        """A connection; nothing is sent. A run caches and pays for replies through its session instead."""
        return EmbeddingConnection(self)

    @property
    @abstractmethod
    def path(self) -> str:
        """The path of a request."""

    @abstractmethod
    def content(self, texts: Sequence[str], role: TextRole) -> dict[str, Any]:
        """The JSON of a request."""

    @abstractmethod
    def read(self, document: Any, count: int) -> tuple[list[Any], int]:
        """The vectors of the texts, in their order and not yet checked, and the tokens, 0 if the reply does not tell them."""

    @property
    def server_truncates(self) -> bool:
        """Whether the server truncates long texts without saying so."""
        return True

    def key_headers(self, secret: Secret) -> Mapping[str, str]:
        """The header with the key."""
        return secret.bearer()

    def revision(self) -> str:
        """A constant: the weights behind a server are unknown."""
        return f"{self.api} API"

    def facts(self) -> dict[str, Any]:
        """Address, limits and how lengths are known, as JSON without secrets."""
        return {
            "model": self.model,
            "api": self.api,
            "address": self.base_url,
            "max_tokens": self.max_tokens,
            "lengths": f"estimated at {BYTES_PER_TOKEN} bytes per token",
            "long_texts": "cut by the server, which does not say so" if self.server_truncates else "cut before they are sent",
        }

    def is_cut(self, text: str) -> bool:
        """Whether the text is probably longer than the model reads; False where its limit is unknown."""
        return self.max_tokens is not None and estimate_tokens(text) > self.max_tokens

    def sent_text(self, text: str) -> str:
        """The text as it is sent: cut at the estimated limit if the server would reject it."""
        if self.server_truncates or self.max_tokens is None or not self.is_cut(text):
            return text
        return cut_bytes(text, self.max_tokens * BYTES_PER_TOKEN)

    def batches(self, texts: Sequence[str], most: int | None = None) -> Iterator[list[int]]:
        """The positions of the texts of each request, within the limits of texts and tokens; a long text may be alone.

        A token has at least one byte, so a request within the limit in bytes is within the limit in tokens.
        """
        batch, size = list[int](), 0
        for at, text in enumerate(texts):
            length = max_tokens_of(text)
            over = self.request_tokens is not None and size + length > self.request_tokens
            if batch and (over or len(batch) >= min(self.batch_size, most or self.batch_size)):
                yield batch
                batch, size = [], 0
            batch.append(at)
            size += length
        if batch:
            yield batch


def cut_bytes(text: str, most: int) -> str:
    """The start of the text, at most so many bytes of UTF-8."""
    return text.encode("utf-8", "surrogatepass")[:most].decode("utf-8", "ignore")


class EmbeddingConnection:
    """The connection to an embedding API: an encoder that sends every text, without a cache."""

    def __init__(self, model: EmbeddingApi) -> None:
        self._model = model
        self._connection = ModelConnection(
            model,
            service="embeddings",
            causes=_LIKELY_CAUSES,
            key_headers=model.key_headers,
            max_bytes=_MAX_RESPONSE_BYTES,
        )

    def embed(self, texts: Sequence[str], role: TextRole) -> EmbeddingReply:
        """The vectors of texts that are not blank, in one request."""
        model = self._model
        content = model.content([model.sent_text(text) for text in texts], role)

        def read(document: Any) -> tuple[Matrix, int]:
            rows, tokens = model.read(document, len(texts))
            return checked_rows(rows, len(texts), model.dimensions), tokens

        response = self._connection.post(model.path, content, read)
        return EmbeddingReply(*response.value, response.seconds, response.masked)

    def encode(self, texts: Sequence[str]) -> Matrix:
        """The vectors of passages, zeros for blank ones."""
        return self._encoded(texts, "passage")

    def encode_queries(self, texts: Sequence[str]) -> Matrix:
        """The vectors of queries, zeros for blank ones."""
        return self._encoded(texts, "query")

    def cut(self, texts: Sequence[str]) -> int:
        """The number of texts that are probably longer than the model reads."""
        return sum(map(self._model.is_cut, texts))

    def facts(self) -> Mapping[str, Any]:
        """Address and limits."""
        return {**self._model.facts(), "dimensions": self._model.dimensions}

    def close(self) -> None:
        """Stops all calls; connections close after their last request."""
        self._connection.close()

    def _encoded(self, texts: Sequence[str], role: TextRole) -> Matrix:
        rows = [at for at, text in enumerate(texts) if text.strip()]
        asked = [texts[at] for at in rows]
        parts = [self.embed([asked[at] for at in batch], role).vectors for batch in self._model.batches(asked)]
        size = parts[0].shape[1] if parts else self._model.dimensions or 0
        vectors = np.zeros((len(texts), size), np.float32)
        if parts:
            vectors[rows] = np.concatenate(parts)
        return read_only(vectors)


def checked_rows(rows: Sequence[Any], count: int, size: int | None) -> Matrix:
    """The vectors, each of length 1; ResponseFormatError unless each text has one, with finite numbers and `size` dimensions."""
    if len(rows) != count:
        raise ResponseFormatError(f"there are {len(rows)} vectors for {count} texts")
    vectors = [_vector(row) for row in rows]
    sizes = {len(vector) for vector in vectors} | ({size} if size else set())
    if len(sizes) > 1 or 0 in sizes:
        raise ResponseFormatError(f"the vectors have {' and '.join(map(str, sorted(sizes)))} dimensions, which must be equal")
    matrix = np.array(vectors, np.float32)
    if not np.isfinite(matrix).all():
        raise ResponseFormatError("a vector has a number that is not finite")
    lengths = np.sqrt(np.square(matrix.astype(np.float64)).sum(axis=1, keepdims=True))
    if not lengths.all():
        raise ResponseFormatError("a vector has the length 0")
    unit: Matrix = (matrix / lengths).astype(np.float32)
    return unit


def _vector(row: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    if isinstance(row, str):
        return _base64_vector(row)
    if not isinstance(row, list) or not all(type(value) is float or type(value) is int for value in row):
        raise ResponseFormatError("a vector is not a list of numbers")
    try:
        with np.errstate(over="ignore"):
            return np.array(row, np.float64)
    except OverflowError:
        raise ResponseFormatError("a vector has a number that is not finite") from None


def _base64_vector(text: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The float32 numbers, little-endian, in base64."""
    try:
        return np.frombuffer(b64decode(text, validate=True), "<f4").astype(np.float64)
    except (Base64Error, ValueError):
        raise ResponseFormatError("a vector is not a list of numbers, nor float32 numbers in base64") from None


def rows_by_index(items: Sequence[Any], count: int, value: str = "embedding") -> list[Any]:
    """The vectors of a list of objects, put in order by their `index`, each of 0 to count - 1 once."""
    vectors: dict[int, Any] = {}
    for item in items:
        vector = object_of(item, "an item of the vectors")
        index = vector.get("index")
        if type(index) is not int or not 0 <= index < count or index in vectors:
            raise ResponseFormatError(f"the vectors do not have each index from 0 to {count - 1} once")
        vectors[index] = vector.get(value)
    return [vectors[at] for at in sorted(vectors)]


def usage_tokens(document: Mapping[str, Any], *names: str) -> int:
    """The first count of these names in `usage`, 0 if there is none."""
    usage = document.get("usage")
    counts = (count_of(usage.get(name)) for name in names) if isinstance(usage, dict) else ()
    return next((count for count in counts if count), 0)
