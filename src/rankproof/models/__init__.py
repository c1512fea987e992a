"""Models: encoders, cross-encoders and language models."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankproof.models._api.embedding_apis import CohereEmbeddings as CohereEmbeddings
    from rankproof.models._api.embedding_apis import GeminiEmbeddings as GeminiEmbeddings
    from rankproof.models._api.embedding_apis import OllamaEmbeddings as OllamaEmbeddings
    from rankproof.models._api.embedding_apis import OpenAIEmbeddings as OpenAIEmbeddings
    from rankproof.models._api.embedding_apis import TEIEmbeddings as TEIEmbeddings
    from rankproof.models._api.embedding_apis import VoyageEmbeddings as VoyageEmbeddings
    from rankproof.models._bert import Bert as Bert
    from rankproof.models._bert import CrossEncoder as CrossEncoder
    from rankproof.models._bert import MiniLM as MiniLM
    from rankproof.models._chat.llama_cpp import Llama as Llama
    from rankproof.models._chat.llama_cpp import SmolLM2 as SmolLM2
    from rankproof.models._chat.openai import OpenAIChat as OpenAIChat
    from rankproof.models._torch import SentenceTransformer as SentenceTransformer
    from rankproof.models._torch import TorchCrossEncoder as TorchCrossEncoder
    from rankproof.models._trained.checkpoint import BpeEncoder as BpeEncoder
    from rankproof.models._trained.checkpoint import TrainedEncoder as TrainedEncoder
    from rankproof.models._transformers import ByT5 as ByT5
    from rankproof.models._transformers import Canine as Canine
    from rankproof.models._wordllama import WordLlama as WordLlama
else:
    from rankproof._registry import lazy_names
    from rankproof.models._registry import BY_SOURCE, CHATS, CROSS_ENCODERS, ENCODERS

    __all__, __getattr__, __dir__ = lazy_names(__name__, ENCODERS, CROSS_ENCODERS, CHATS, BY_SOURCE)
