"""A script that serves a gguf file with llama.cpp; it does not import rankproof.

It reads its settings as one line of JSON from standard input and prints its address. It ends when standard input ends, so it
never outlives the process that started it.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any

_LOG_LEVEL_ERROR = 1
"""The log level of llama.cpp that reports errors only."""


def main() -> None:
    """Serves until standard input ends."""
    settings = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_input, daemon=True).start()
    server = _start_server(settings)
    print(server.listening_address, flush=True)  # noqa: T201  # the parent process reads it
    threading.Event().wait()


def _end_with_input() -> None:
    sys.stdin.read()
    os._exit(0)


def _start_server(settings: dict[str, Any]) -> Any:
    """Starts the server on a free loopback port, with one slot and without a prompt cache, which would change results."""
    from xllamacpp import CommonParams, Server

    params = CommonParams()
    params.model.path, params.model_alias = settings["path"], {settings["name"]}
    params.n_ctx, params.n_parallel = settings["context"], 1
    params.cache_prompt, params.cache_ram_mib, params.cache_idle_slots = False, 0, False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings["threads"]
    params.warmup, params.fit_params, params.verbosity = False, False, _LOG_LEVEL_ERROR
    params.ui, params.endpoint_slots, params.cors_origins = False, False, "http://127.0.0.1"
    return Server(params)


if __name__ == "__main__":
    main()
