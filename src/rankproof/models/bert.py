"""Any encoder of the BERT family, from a folder or the hub, by the written graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from .._registry import Option
from .from_weights import FromWeights, opened_tokenizer
from .graph_cache import graph_of
from .model_folder import ModelFolder, Pooling, open_folder
from .onnx_encoder import OnnxEncoder
from .onnx_session import Session
from .settings import OwnTokenLimit, Precision, PrecisionOption, check, check_source
from .sources import folder_of


@dataclass(frozen=True, slots=True)
class Bert(FromWeights):
    """A folder with safetensors or a hub name; length and pooling are the model's own unless they are given."""

    precision: PrecisionOption = "int8"
    max_tokens: OwnTokenLimit = None
    pooling: Annotated[Pooling | None, Option("how token vectors become one: mean or cls (the model's own)")] = None

    def __post_init__(self) -> None:
        check_source(self.source)
        check(self)

    def load(self, *, threads: int = 1) -> OnnxEncoder:
        """The model ready to run; its graph is written first where it is not in the cache."""
        folder = open_folder(folder_of(self.source))
        length, pooling = self.max_tokens or folder.max_tokens(), self.pooling or folder.pooling()
        return loaded(folder, folder.revision(), self.precision, length, pooling, source=self.source, threads=threads)


def loaded(
    folder: ModelFolder, revision: str, precision: Precision, length: int, pooling: Pooling, *, source: str, threads: int
) -> OnnxEncoder:
    """An encoder of the folder's weights."""
    tokenizer = opened_tokenizer(folder, length)
    session = Session(graph_of(folder, revision, precision, head=False))
    told: dict[str, Any] = {"max_tokens": length, "precision": precision, "revision": revision, "source": source}
    told |= {"prompts": folder.prompts()} if folder.prompts() else {}
    return OnnxEncoder(session, tokenizer, size=folder.shape.hidden, pooling=pooling, threads=threads, told=told)
