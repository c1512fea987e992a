"""Models behind small ports: text to vectors, query and passage to a score, messages to a reply."""

from __future__ import annotations

from .bert import Bert
from .byt5 import ByT5
from .canine import Canine
from .chat.llama import Llama
from .chat.openai_chat import OpenAIChat
from .chat.smollm2 import SmolLM2
from .cross_encoder import CrossEncoder
from .minilm import MiniLM
from .torch_model import SentenceTransformer, TorchCrossEncoder
from .trial.model import Bpe, Trial
from .wordllama_model import WordLlama

__all__ = [
    "Bert",
    "Bpe",
    "ByT5",
    "Canine",
    "CrossEncoder",
    "Llama",
    "MiniLM",
    "OpenAIChat",
    "SentenceTransformer",
    "SmolLM2",
    "TorchCrossEncoder",
    "Trial",
    "WordLlama",
]
