"""The process that holds a gguf file and serves it: run as a script, it needs nothing of rankproof.

Settings come as one line of JSON on standard input, and the address goes to standard output. The process ends when standard input
does: whatever becomes of the one that started it, it does not stay behind.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any

_LOG_LEVEL_ERROR = 1
"""llama.cpp's own level of what it tells on standard error."""


def main() -> None:
    """Serves until standard input ends."""
    settings = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_input, daemon=True).start()
    server = _start_server(settings)
    print(server.listening_address, flush=True)
    threading.Event().wait()


def _end_with_input() -> None:
    sys.stdin.read()
    os._exit(0)


def _start_server(settings: dict[str, Any]) -> Any:
    """The server, on a free port of the loopback; one slot and no cache of prompts, because both change numbers."""
    from xllamacpp import CommonParams, Server

    told = CommonParams()
    told.model.path, told.model_alias = settings["path"], {settings["name"]}
    told.n_ctx, told.n_parallel = settings["context"], 1
    told.cache_prompt, told.cache_ram_mib, told.cache_idle_slots = False, 0, False
    told.cpuparams.n_threads = told.cpuparams_batch.n_threads = settings["threads"]
    told.warmup, told.fit_params, told.verbosity = False, False, _LOG_LEVEL_ERROR
    told.ui, told.endpoint_slots, told.cors_origins = False, False, "http://127.0.0.1"
    return Server(told)


if __name__ == "__main__":
    main()
