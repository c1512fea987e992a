"""One request over HTTP, with httpx: no redirects, no proxy to this machine, and an end to every answer."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..._extras import extra
from ...errors import UsageError
from .address import is_loopback
from .log_mask import LogMask
from .secrets import Secret

if TYPE_CHECKING:
    import httpx

MOST_BYTES = 4 << 20
"""Of an answer; a reply of a hundred thousand tokens has half a megabyte."""
EXPLAINED = frozenset({400, 413, 422})
"""Statuses whose body says what is wrong with the request."""


class BrokenError(Exception):
    """No whole answer came: why, in a few words, and whether the request may have arrived all the same."""

    def __init__(self, why: str, *, arrived: bool = True) -> None:
        self.arrived = arrived
        super().__init__(why)


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A status, what Retry-After says, and the body of a success or of a request refused; others may hold the key: not read."""

    status: int
    retry_after: str
    body: str


class Connection:
    """Connections to one server, kept open between requests."""

    def __init__(self, address: str, secret: Secret, timeout: float) -> None:
        self._timeout = timeout
        self._url = f"{address}/chat/completions"
        self._client = _client(address, secret, timeout)
        self._logs = LogMask(secret)

    def post(self, body: bytes) -> HttpAnswer:
        """The answer to one request; BrokenError where it is not whole within twice the time-out, or too long."""
        with extra("chat"):
            import httpx

        deadline = time.monotonic() + 2 * self._timeout
        try:
            with self._client.stream("POST", self._url, content=body) as response:
                retry_after = response.headers.get("retry-after", "")
                is_read = response.status_code in {httpx.codes.OK, *EXPLAINED}
                return HttpAnswer(response.status_code, retry_after, self._read(response, deadline) if is_read else "")
        except httpx.TimeoutException as error:
            arrived = not isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout)
            raise BrokenError(f"nothing came for {self._timeout:g} s ({type(error).__name__})", arrived=arrived) from None
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, OSError, RuntimeError) as error:
            arrived = isinstance(error, httpx.NetworkError | httpx.ProtocolError) and not isinstance(error, httpx.ConnectError)
            raise BrokenError(f"{type(error).__name__}: {error}", arrived=arrived) from None

    def _read(self, response: httpx.Response, deadline: float) -> str:
        if response.headers.get("content-encoding", "identity").strip().lower() != "identity":
            raise BrokenError("the answer is compressed, which was not asked for")
        content = bytearray()
        for block in response.iter_raw():
            content += block
            if len(content) > MOST_BYTES:
                raise BrokenError(f"the answer is longer than {MOST_BYTES >> 20} MiB")
            if time.monotonic() > deadline:
                raise BrokenError(f"the answer was not whole after {2 * self._timeout:g} s")
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise BrokenError("the answer is no UTF-8") from None

    def close(self) -> None:
        """Closes every connection."""
        self._client.close()
        self._logs.close()


def _client(address: str, secret: Secret, timeout: float) -> httpx.Client:
    with extra("chat"):
        import httpx
    sent = {"Content-Type": "application/json", "Accept-Encoding": "identity", "User-Agent": "rankproof"}
    try:
        return httpx.Client(
            headers={**sent, **secret.headers()},
            timeout=timeout,
            # Certificates are read where they are needed only; without redirects an http address stays one.
            verify=address.startswith("https:"),
            follow_redirects=False,
            trust_env=not is_loopback(address),
        )
    except (ValueError, ImportError, OSError, httpx.InvalidURL) as error:
        why = type(error).__name__
    # Raised out here, so that it leads to no frame of the library that holds the headers.
    fix = "see HTTPS_PROXY, ALL_PROXY and SSL_CERT_FILE"
    raise UsageError(f"a proxy or certificate of the environment cannot be used ({why})", fix=fix)
