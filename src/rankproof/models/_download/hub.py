"""The hub of models: names, folders, downloads, and its HTTP client."""

from __future__ import annotations

import http.client
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from rankproof._io.strict_json import read_json_object
from rankproof.errors import ExternalError, UsageError, escape_invisible, for_message
from rankproof.models._base import DownloadProgress
from rankproof.models._download.cached_folder import cached_folder, models_cache_folder
from rankproof.models._onnx.config import bert_config
from rankproof.models._onnx.folder import CONFIG, TOKENIZER, WEIGHTS, open_model_folder

if TYPE_CHECKING:
    import urllib.request

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)


def model_folder_of(source: str) -> Path:
    """The model's folder; a hub name is downloaded if it is not cached."""
    path = os.path.expanduser(source)
    if os.path.isdir(path):
        return Path(path).absolute()
    if not is_hub_name(source):
        raise UsageError(
            f"{for_message(source)} is neither a model's folder nor a name on the hub", fix="give a folder, or ORGANISATION/MODEL"
        )
    return download_model(source)


def is_local(source: str) -> bool:
    """Whether the source can be read without a network."""
    return os.path.isdir(os.path.expanduser(source)) or (is_hub_name(source) and hub_folder(source).is_dir())


def is_hub_name(source: str) -> bool:
    """Whether the source has the form ORGANISATION/MODEL."""
    return _HUB_NAME.fullmatch(source) is not None and ".." not in source and len(source) <= 200


def hub_folder(name: str) -> Path:
    """The cache folder of a model from the hub."""
    return models_cache_folder() / "hub" / name.replace("/", "--")


REQUIRED_FILES = (TOKENIZER, WEIGHTS)
OPTIONAL_FILES = (
    "modules.json",
    "1_Pooling/config.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "tokenizer_config.json",
)


def _no_progress(done: int, total: int | None) -> None:
    return None


def download_model(name: str, *, progress: DownloadProgress = _no_progress, client: HubClient | None = None) -> Path:
    """The model's folder, downloaded if it is not cached; a cached model is never updated."""
    return cached_folder(
        hub_folder(name), lambda folder: _download_files(client or HubClient.of_environment(), name, folder, progress)
    )


def _download_files(client: HubClient, name: str, folder: Path, progress: DownloadProgress) -> Mapping[str, Any]:
    """Downloads config.json first: it shows whether the model is supported, and its response pins the commit."""
    commit = _download_file(client, name, "main", CONFIG, folder, progress)
    if commit is None:
        raise _missing_file_error(name, CONFIG)
    bert_config(read_json_object(folder / CONFIG), f"{name} on the hub")
    for file in OPTIONAL_FILES:
        _download_file(client, name, commit, file, folder, progress)
    for file in REQUIRED_FILES:
        if _download_file(client, name, commit, file, folder, progress) is None:
            raise _missing_file_error(name, file)
    open_model_folder(folder)
    return {"kind": "weights", "model": name, "revision": commit}


def _download_file(
    client: HubClient, name: str, revision: str, file: str, folder: Path, progress: DownloadProgress
) -> str | None:
    """The commit of the response, None if the hub has no such file."""
    response = client.request(f"{name}/resolve/{revision}/{file}")
    if response is None:
        return None
    target = folder / file
    target.parent.mkdir(exist_ok=True)
    save_response(response, target, progress)
    commit = response.header("X-Repo-Commit")
    return commit if re.fullmatch("[0-9a-f]{40}", commit) else revision


def save_response(response: HubResponse, target: Path, progress: DownloadProgress = _no_progress) -> None:
    """Writes the body to a file; a truncated body or a wrong checksum is an error."""
    from rankproof._io.files import file_sha256

    done = 0
    with open(target, "wb") as file:
        for block in response.blocks():
            done += len(block)
            file.write(block)
            progress(done, response.length)
    digest = response.header("X-Linked-Etag").strip('"')
    if re.fullmatch("[0-9a-f]{64}", digest) and file_sha256(target) != digest:
        raise ExternalError(escape_invisible(f"{response.url}: the checksum does not match the checksum on the hub; try again"))


def _missing_file_error(name: str, file: str) -> ExternalError:
    more = ": only safetensors are read, because .bin files are pickles, which can run any code" if file == WEIGHTS else ""
    return ExternalError(
        escape_invisible(f"{name} on the hub has no {file}{more}; check the name, or use the model as torch:{name}")
    )


def call_with_timeout(seconds: float, call: Callable[[], Any]) -> Any:
    """The result of the call, or TimeoutError; a longer call ends on its own daemon thread."""
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.extend((call(), None))
        except BaseException as error:
            outcome.extend((None, error))

    waiting = threading.Thread(target=run, daemon=True)
    waiting.start()
    waiting.join(seconds)
    if not outcome:
        raise TimeoutError(f"no response within {seconds:g} s")
    if outcome[1] is not None:
        raise outcome[1]
    return outcome[0]


_BLOCK_BYTES = 1 << 20
_REDIRECT_HEADERS = ("X-Repo-Commit", "X-Linked-Etag")
_LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")
_ACCESS_DENIED = {401, 403}


@dataclass(frozen=True, eq=False, slots=True)
class HubResponse:
    """An open response, with the headers of the redirects that led to it."""

    url: str
    body: http.client.HTTPResponse
    carried: dict[str, str]

    @property
    def length(self) -> int | None:
        """The bytes of the body, None if unknown."""
        length = self.body.headers.get("Content-Length", "")
        return int(length) if length.isdecimal() else None

    def header(self, name: str) -> str:
        """A header, "" if there is none."""
        return self.carried.get(name) or self.body.headers.get(name) or ""

    def blocks(self) -> Iterator[bytes]:
        """The body in blocks; a truncated body is an error."""
        done = 0
        try:
            while block := self.body.read(_BLOCK_BYTES):
                done += len(block)
                yield block
        except (http.client.HTTPException, TimeoutError, ConnectionError) as error:
            raise _download_error(self.url, f"after {done} bytes: {_error_reason(error)}") from None
        finally:
            self.body.close()
        if self.length not in (None, done):
            raise _download_error(self.url, f"{done} of {self.length} bytes arrived")


@dataclass(frozen=True, slots=True)
class HubClient:
    """A client of the hub; timeouts are in seconds, `timeout` for each pause after the first response."""

    endpoint: str = "https://huggingface.co"
    token: str = field(default="", repr=False)
    first_response_timeout: float = 4.0
    timeout: float = 10.0

    @classmethod
    def of_environment(cls) -> Self:
        """The client with HF_ENDPOINT and HF_TOKEN of the environment."""
        endpoint = os.environ.get("HF_ENDPOINT", "").rstrip("/") or "https://huggingface.co"
        parts = urlsplit(endpoint)
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
            raise UsageError(
                "HF_ENDPOINT is not a plain address", fix="set it to an address such as https://huggingface.co, or unset it"
            )
        return cls(endpoint, os.environ.get("HF_TOKEN", "").strip())

    def request(self, path: str) -> HubResponse | None:
        """The response with the file, None if the file does not exist."""
        # Naming models imports this module, and these take longer than all the rest.
        import urllib.error
        import urllib.request

        url = f"{self.endpoint}/{path}"
        request = urllib.request.Request(url, headers={"User-Agent": "rankproof", "Accept-Encoding": "identity"})
        if self.token and _is_https_or_loopback(url):
            request.add_unredirected_header("Authorization", f"Bearer {self.token}")
        carried: dict[str, str] = {}
        redirects = _redirects(carried)
        try:  # the lookup of a host name has no timeout of its own
            body = call_with_timeout(
                self.first_response_timeout, lambda: urllib.request.build_opener(redirects).open(request, timeout=self.timeout)
            )
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == http.HTTPStatus.NOT_FOUND:
                return None
            raise _access_error(url, error.code) from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise _download_error(url, _error_reason(error)) from None
        return HubResponse(url, body, carried)


def _redirects(carried: dict[str, str]) -> urllib.request.HTTPRedirectHandler:
    """Follows redirects, never from HTTPS to HTTP, and keeps their headers; the token is sent to the same host only."""
    import urllib.request

    class Redirects(urllib.request.HTTPRedirectHandler):
        def redirect_request(
            self,
            request: urllib.request.Request,
            body: IO[bytes],
            code: int,
            reason: str,
            headers: http.client.HTTPMessage,
            target: str,
        ) -> urllib.request.Request | None:
            carried.update({name: headers[name] for name in _REDIRECT_HEADERS if headers.get(name)})
            here, there = urlsplit(request.full_url), urlsplit(target)
            if here.scheme == "https" and there.scheme != "https":
                raise ValueError("the hub redirects to an address without HTTPS")
            following = super().redirect_request(request, body, code, reason, headers, target)
            token = request.get_header("Authorization")
            if following is not None and token and (here.scheme, here.netloc) == (there.scheme, there.netloc):
                following.add_unredirected_header("Authorization", token)
            return following

    return Redirects()


def _is_https_or_loopback(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme == "https" or parts.hostname in _LOOPBACK_HOSTS


def _access_error(url: str, code: int) -> ExternalError:
    if code in _ACCESS_DENIED:
        fix = "check the name, or set HF_TOKEN to a token with read access"
        return ExternalError(escape_invisible(f"{url}: the hub denies access ({code}); {fix}"))
    return _download_error(url, f"status {code}")


def _error_reason(error: BaseException) -> str:
    inner = getattr(error, "reason", None)
    return str(inner if inner is not None else error) or type(error).__name__


def _download_error(url: str, reason: str) -> ExternalError:
    return ExternalError(
        escape_invisible(
            f"{url}: download failed ({reason}); check the network, or copy the model's folder here and give its path"
        )
    )
