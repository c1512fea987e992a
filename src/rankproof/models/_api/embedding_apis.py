"""The embedding APIs: how each is asked, and where its replies have vectors and tokens."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from rankproof._data.identity import NOT_IN_IDENTITY
from rankproof._data.validation import ApiKeyEnv, checked_choice
from rankproof._io.http import ResponseFormatError
from rankproof._io.secrets import Secret
from rankproof._registry import Option
from rankproof.errors import UsageError
from rankproof.models._api.connection import count_of, list_of, object_of
from rankproof.models._api.embedding import EmbeddingApi, TextRole, rows_by_index, usage_tokens
from rankproof.models._api.settings import ApiModel

EncodingFormat = Literal["float", "base64"]
_INPUT_TYPES: Mapping[TextRole, str] = {"query": "query", "passage": "document"}


def _given(**values: Any) -> dict[str, Any]:
    """The values that are not None: a setting that is not given is not sent."""
    return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True)
class OpenAIEmbeddings(EmbeddingApi):
    """A model behind an OpenAI-compatible `/v1/embeddings`; queries and passages are encoded alike.

    The server rejects a text that is too long, so texts are cut at `max_tokens` before they are sent, and cut further if the
    server still rejects them.
    """

    base_url: Annotated[str, Option("the address of the server, OpenAI-compatible")] = "https://api.openai.com/v1"
    api_key_env: ApiKeyEnv = field(default="OPENAI_API_KEY", metadata=NOT_IN_IDENTITY)
    max_tokens: Annotated[int | None, Option("maximum length of a text in tokens, at four bytes per token", least=4)] = 8192
    batch_size: Annotated[int, Option("the most texts of one request", least=1, most=2048)] = field(
        default=256, metadata=NOT_IN_IDENTITY
    )
    encoding_format: Annotated[EncodingFormat, Option("how the server writes vectors: float, or base64, which is shorter")] = (
        field(default="float", metadata=NOT_IN_IDENTITY)
    )

    api: ClassVar[str] = "OpenAI"
    path: ClassVar[str] = "/embeddings"
    request_tokens: ClassVar[int | None] = 300_000

    def __post_init__(self) -> None:
        ApiModel.__post_init__(self)
        checked_choice("encoding_format", self.encoding_format, ("float", "base64"))

    @property
    def server_truncates(self) -> bool:
        """False: the server rejects long texts."""
        return False

    def content(self, texts: Sequence[str], role: TextRole) -> dict[str, Any]:
        """The JSON of a request."""
        return {
            "model": self.model,
            "input": list(texts),
            "encoding_format": self.encoding_format,
            **_given(dimensions=self.dimensions),
        }

    def read(self, document: Any, count: int) -> tuple[list[Any], int]:
        """The vectors by index, and the tokens of the prompt."""
        body = object_of(document, "the body")
        rows = rows_by_index(list_of(body.get("data"), "data"), count)
        return rows, usage_tokens(body, "prompt_tokens", "total_tokens")


@dataclass(frozen=True, slots=True)
class OllamaEmbeddings(EmbeddingApi):
    """A model of Ollama, which truncates texts at the model's context without saying so and adds no prompt.

    Give the prompts of the model as `query_prompt` and `passage_prompt` of the stage. `max_tokens` only counts long texts.
    """

    base_url: Annotated[str, Option("the address of Ollama")] = "http://127.0.0.1:11434"

    api: ClassVar[str] = "Ollama"
    path: ClassVar[str] = "/api/embed"
    is_own_server: ClassVar[bool] = True

    def content(self, texts: Sequence[str], role: TextRole) -> dict[str, Any]:
        """The JSON of a request."""
        return {"model": self.model, "input": list(texts), "truncate": True, **_given(dimensions=self.dimensions)}

    def read(self, document: Any, count: int) -> tuple[list[Any], int]:
        """The vectors in the order of the texts, and the tokens of all."""
        body = object_of(document, "the body")
        return list_of(body.get("embeddings"), "embeddings"), count_of(body.get("prompt_eval_count"))


@dataclass(frozen=True, slots=True)
class TEIEmbeddings(EmbeddingApi):
    """The model of a server of text-embeddings-inference; `model` is only its name in results.

    `query_prompt_name` and `passage_prompt_name` are names of the model's own prompts. A request with more texts than the server
    takes is sent again in halves. The server reports no tokens.
    """

    base_url: Annotated[str, Option("the address of the server")] = "http://127.0.0.1:8080"
    query_prompt_name: Annotated[str, Option("name of the model's prompt for queries")] = ""
    passage_prompt_name: Annotated[str, Option("name of the model's prompt for passages")] = ""
    truncate: Annotated[bool, Option("whether the server truncates long texts; false: it rejects them")] = True

    api: ClassVar[str] = "TEI"
    path: ClassVar[str] = "/embed"
    is_own_server: ClassVar[bool] = True

    @property
    def server_truncates(self) -> bool:
        """Whether the server truncates long texts."""
        return self.truncate

    def content(self, texts: Sequence[str], role: TextRole) -> dict[str, Any]:
        """The JSON of a request."""
        prompt = self.query_prompt_name if role == "query" else self.passage_prompt_name
        return {
            "inputs": list(texts),
            "normalize": True,
            "truncate": self.truncate,
            **_given(prompt_name=prompt or None, dimensions=self.dimensions),
        }

    def read(self, document: Any, count: int) -> tuple[list[Any], int]:
        """The vectors in the order of the texts; no tokens."""
        return list_of(document, "the body"), 0


@dataclass(frozen=True, slots=True)
class CohereEmbeddings(EmbeddingApi):
    """A model of Cohere, which encodes queries and documents differently and truncates long texts at their end."""

    base_url: Annotated[str, Option("the address of the server")] = "https://api.cohere.com"
    api_key_env: ApiKeyEnv = field(default="COHERE_API_KEY", metadata=NOT_IN_IDENTITY)
    batch_size: Annotated[int, Option("the most texts of one request", least=1, most=96)] = field(
        default=96, metadata=NOT_IN_IDENTITY
    )

    api: ClassVar[str] = "Cohere"
    path: ClassVar[str] = "/v2/embed"

    def content(self, texts: Sequence[str], role: TextRole) -> dict[str, Any]:
        """The JSON of a request."""
        return {
            "model": self.model,
            "texts": list(texts),
            "input_type": f"search_{_INPUT_TYPES[role]}",
            "embedding_types": ["float"],
            "truncate": "END",
            **_given(output_dimension=self.dimensions),
        }

    def read(self, document: Any, count: int) -> tuple[list[Any], int]:
        """The float vectors in the order of the texts, and the billed tokens."""
        body = object_of(document, "the body")
        rows = list_of(object_of(body.get("embeddings"), "embeddings").get("float"), "embeddings.float")
        meta = body.get("meta")
        billed = meta.get("billed_units") if isinstance(meta, dict) else None
        tokens = billed.get("input_tokens") if isinstance(billed, dict) else None
        # Cohere writes billed units as numbers with a fraction.
        return rows, count_of(int(tokens) if type(tokens) is float and tokens.is_integer() else tokens)


@dataclass(frozen=True, slots=True)
class VoyageEmbeddings(EmbeddingApi):
    """A model of Voyage AI, which encodes queries and documents differently and truncates long texts."""

    base_url: Annotated[str, Option("the address of the server")] = "https://api.voyageai.com/v1"
    api_key_env: ApiKeyEnv = field(default="VOYAGE_API_KEY", metadata=NOT_IN_IDENTITY)
    max_tokens: Annotated[int | None, Option("maximum length of a text in tokens, at four bytes per token", least=4)] = 32_000
    batch_size: Annotated[int, Option("the most texts of one request", least=1, most=1000)] = field(
        default=128, metadata=NOT_IN_IDENTITY
    )

    api: ClassVar[str] = "Voyage"
    path: ClassVar[str] = "/embeddings"
    request_tokens: ClassVar[int | None] = 120_000
    """The limit of the models with the lowest one."""

    def content(self, texts: Sequence[str], role: TextRole) -> dict[str, Any]:
        """The JSON of a request."""
        return {
            "model": self.model,
            "input": list(texts),
            "input_type": _INPUT_TYPES[role],
            "truncation": True,
            **_given(output_dimension=self.dimensions),
        }

    def read(self, document: Any, count: int) -> tuple[list[Any], int]:
        """The vectors by index, and the tokens of all."""
        body = object_of(document, "the body")
        return rows_by_index(list_of(body.get("data"), "data"), count), usage_tokens(body, "total_tokens")


_GEMINI_NAME = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class GeminiEmbeddings(EmbeddingApi):
    """A model of the Gemini API, which encodes queries and documents differently and truncates long texts.

    The API shortens vectors to `dimensions` by cutting them off; like all vectors, they then get the length 1. gemini-embedding-2
    has no task types: set `task_type` to false, and its prompts as `query_prompt` and `passage_prompt` of the stage.
    """

    base_url: Annotated[str, Option("the address of the server")] = "https://generativelanguage.googleapis.com/v1beta"
    api_key_env: ApiKeyEnv = field(default="GEMINI_API_KEY", metadata=NOT_IN_IDENTITY)
    max_tokens: Annotated[int | None, Option("maximum length of a text in tokens, at four bytes per token", least=4)] = 2048
    batch_size: Annotated[int, Option("the most texts of one request", least=1, most=100)] = field(
        default=100, metadata=NOT_IN_IDENTITY
    )
    task_type: Annotated[bool, Option("whether the request says what a text is; false for models without task types")] = True

    api: ClassVar[str] = "Gemini"

    def __post_init__(self) -> None:
        ApiModel.__post_init__(self)
        if not _GEMINI_NAME.fullmatch(self.model.removeprefix("models/")):
            raise UsageError("model is not the name of a Gemini model", fix="write it like gemini-embedding-001")

    @property
    def path(self) -> str:
        """The path of a request, with the name of the model."""
        return f"/{self._resource}:batchEmbedContents"

    @property
    def _resource(self) -> str:
        return f"models/{self.model.removeprefix('models/')}"

    def key_headers(self, secret: Secret) -> Mapping[str, str]:
        """The header with the key."""
        return secret.header("x-goog-api-key")

    def content(self, texts: Sequence[str], role: TextRole) -> dict[str, Any]:
        """The JSON of a request."""
        shared = {
            "model": self._resource,
            **_given(
                taskType=f"RETRIEVAL_{_INPUT_TYPES[role].upper()}" if self.task_type else None,
                outputDimensionality=self.dimensions,
            ),
        }
        return {"requests": [{**shared, "content": {"parts": [{"text": text}]}} for text in texts]}

    def read(self, document: Any, count: int) -> tuple[list[Any], int]:
        """The vectors in the order of the texts, and the tokens where the reply has them."""
        body = object_of(document, "the body")
        items = list_of(body.get("embeddings"), "embeddings")
        if not all(isinstance(item, dict) for item in items):
            raise ResponseFormatError("an embedding is not an object")
        usage = body.get("usageMetadata")
        return [item.get("values") for item in items], count_of(usage.get("promptTokenCount")) if isinstance(usage, dict) else 0
