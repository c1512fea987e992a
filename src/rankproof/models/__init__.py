"""Models behind small ports: text to vectors, query and passage to a score."""

from __future__ import annotations

from .bert import Bert
from .cross_encoder import CrossEncoder
from .minilm import MiniLM
from .torch_model import SentenceTransformer, TorchCrossEncoder
from .wordllama_model import WordLlama

__all__ = ["Bert", "CrossEncoder", "MiniLM", "SentenceTransformer", "TorchCrossEncoder", "WordLlama"]
