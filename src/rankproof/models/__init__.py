"""Models behind small ports: text to vectors, query and passage to a score, messages to a reply."""

from __future__ import annotations

from .bert import Bert
from .chat.llama import Llama
from .chat.openai_chat import OpenAIChat
from .chat.smollm2 import SmolLM2
from .cross_encoder import CrossEncoder
from .minilm import MiniLM
from .torch_model import SentenceTransformer, TorchCrossEncoder
from .wordllama_model import WordLlama

__all__ = [
    "Bert",
    "CrossEncoder",
    "Llama",
    "MiniLM",
    "OpenAIChat",
    "SentenceTransformer",
    "SmolLM2",
    "TorchCrossEncoder",
    "WordLlama",
]
