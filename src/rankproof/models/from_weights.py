"""What models of the BERT family have in common: a source of weights, a tokenizer, the libraries that run the graph."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..data.identity import NOT_PART
from ..data.versions import behind
from ..errors import UsageError, WorldError, visible
from .model_folder import ModelFolder, open_folder
from .settings import Source
from .sources import folder_of, is_here
from .tokenizer_file import TokenizerFile


@dataclass(frozen=True, slots=True)
class FromWeights:
    """A folder with safetensors or a hub name; where the weights lie is no part of what the model is."""

    source: Source = field(metadata=NOT_PART)

    def revision(self) -> str:
        """A sha256 over the folder's weights, tokenizer and settings, and the libraries that run them."""
        return run_by_onnx(open_folder(folder_of(self.source)).revision())

    def is_ready(self) -> bool:
        """Whether it can be loaded without a network."""
        return is_here(self.source)


def run_by_onnx(weights: str) -> str:
    """The revision of weights together with the libraries that make numbers of them."""
    return f"{weights}, {behind('onnxruntime', 'tokenizers')}"


def opened_tokenizer(folder: ModelFolder, length: int) -> TokenizerFile:
    """The tokenizer, cutting at so many tokens; both must fit the weights."""
    if length > folder.shape.longest:
        raise UsageError(f"{folder.path} has positions for {folder.shape.longest} tokens, not {length}", fix="lower max_tokens")
    tokenizer = TokenizerFile(folder.tokenizer, max_tokens=length, lowers=folder.lowers())
    if tokenizer.size() > folder.shape.vocabulary:
        sizes = f"{tokenizer.size()} tokens, and config.json says {folder.shape.vocabulary}"
        raise WorldError(visible(f"{folder.tokenizer}: {sizes}; do they belong together?"))
    return tokenizer
