"""Models: encoders, cross-encoders and language models."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .bert import Bert as Bert
    from .byt5 import ByT5 as ByT5
    from .canine import Canine as Canine
    from .chat.llama import Llama as Llama
    from .chat.openai_chat import OpenAIChat as OpenAIChat
    from .chat.smollm2 import SmolLM2 as SmolLM2
    from .cross_encoder import CrossEncoder as CrossEncoder
    from .minilm import MiniLM as MiniLM
    from .torch_model import SentenceTransformer as SentenceTransformer
    from .torch_model import TorchCrossEncoder as TorchCrossEncoder
    from .trial.model import Bpe as Bpe
    from .trial.model import Trial as Trial
    from .wordllama_model import WordLlama as WordLlama
else:
    from .._registry import lazy_names
    from .registry import BY_SOURCE, CHATS, ENCODERS, PAIR_MODELS

    __all__, __getattr__, __dir__ = lazy_names(__name__, ENCODERS, PAIR_MODELS, CHATS, BY_SOURCE)
