"""A real OpenAI-compatible embedding server: llama.cpp with a gguf file, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SCRIPT = """
import sys, threading
from xllamacpp import CommonParams, Server, llama_pooling_type
params = CommonParams()
params.model.path, params.embedding = sys.argv[1], True
params.pooling_type = llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
params.n_ctx, params.n_batch, params.n_ubatch, params.n_parallel = 512, 512, 512, 1
params.warmup, params.fit_params, params.verbosity = False, False, 1
server = Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


@contextmanager
def llama_embeddings(path: Path) -> Iterator[str]:
    """The base_url of a server of the file, with mean pooling and a context of 512 tokens."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", _SCRIPT, str(path)]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as process:
        try:
            assert process.stdout is not None
            yield f"{process.stdout.readline().decode().strip()}/v1"
        finally:
            process.kill()
