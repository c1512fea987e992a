"""The HTTP connection to a server: keys, timeouts and concurrency."""

from __future__ import annotations

import json
import os
import re
import threading
import time
import zlib
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import urlsplit

from rankproof._extras import extra
from rankproof._io.secrets import Secret
from rankproof.errors import UsageError, for_message

if TYPE_CHECKING:
    import ssl
    from logging import LogRecord

    import httpx


_SAFE_URL = re.compile(r"https?://(?:[\w.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?(?:/[\w.~%/:+,=-]*)?", re.ASCII)
_MAX_PORT = 65535


def checked_base_url(base_url: object, name: str = "base_url", example: str = "https://HOST/v1") -> str:
    """The address without a trailing slash; an address that could contain a secret is an error and not shown."""
    text = base_url.rstrip("/") if isinstance(base_url, str) else ""
    if not _SAFE_URL.fullmatch(text) or (urlsplit(text).netloc.rpartition(":")[2].isdecimal() and _port(text) > _MAX_PORT):
        what = f"{name} is not a plain http or https address"
        raise UsageError(what, fix=f"write it like {example}, without a user, a password, a question mark or a fragment")
    return text


def is_loopback(address: str) -> bool:
    """Whether the address is on this machine."""
    host = urlsplit(address).hostname or ""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def is_unencrypted(address: str) -> bool:
    """Whether requests to the address can be read on the network."""
    return address.startswith("http:") and not is_loopback(address)


def _port(address: str) -> int:
    return int(urlsplit(address).netloc.rpartition(":")[2])


_LOGGERS = ("httpx", *(f"httpcore.{part}" for part in ("connection", "http11", "http2", "proxy", "socks")))


class LogMask:
    """Masks the key in the logs of the HTTP library until it is closed."""

    def __init__(self, secret: Secret) -> None:
        from logging import getLogger

        self._secret = secret
        self._loggers = [getLogger(name) for name in _LOGGERS]
        for logger in self._loggers:
            logger.addFilter(self._masked)

    def close(self) -> None:
        """Removes the mask."""
        for logger in self._loggers:
            logger.removeFilter(self._masked)

    def _masked(self, record: LogRecord) -> bool:
        record.msg, record.args = self._secret.masked(record.getMessage()), ()
        return True


MAX_RESPONSE_BYTES = 4 << 20
"""The maximum size of a response; a reply of 100,000 tokens has half a megabyte."""
STATUSES_WITH_REASON = frozenset({400, 413, 422})
"""Statuses whose body explains what is wrong with the request."""
RETRYABLE_STATUSES = frozenset({408, 409, 425, 429})
"""Statuses below 500 after which the same request may succeed later."""
DEADLINE_FACTOR = 2.5
"""A call is abandoned after this many timeouts: the lookup of a host name has no timeout of its own."""


_MAX_PAUSE = 1e10
_SECONDS = re.compile(r"-?\d+(?:\.\d+)?", re.ASCII)


def retry_after_seconds(header: str, now: datetime | None = None) -> float | None:
    """Seconds from now, from 0 for a time in the past to 10 billion for a long number; None for a missing or invalid header.

    A header that was sent several times has the numbers of all, of which the largest counts.
    """
    from email.utils import parsedate_to_datetime

    numbers = [number.strip() for number in header.split(",")]
    if all(map(_SECONDS.fullmatch, numbers)):
        return max(0.0, *(min(float(number), _MAX_PAUSE) for number in numbers))
    try:
        date = parsedate_to_datetime(header.strip())
    except (ValueError, IndexError, OverflowError):
        return None
    at = date if date.tzinfo else date.replace(tzinfo=UTC)
    return min(max((at - (now or datetime.now(UTC))).total_seconds(), 0.0), _MAX_PAUSE)


def replace_surrogates(text: str) -> str:
    """The text with lone surrogates replaced: JSON allows them, UTF-8 files do not."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class ConnectionLostError(Exception):
    """No complete response arrived.

    `arrived` says whether the request may have reached the server, `is_untrusted` that its certificate was rejected.
    """

    def __init__(self, why: str, *, arrived: bool = True, is_untrusted: bool = False) -> None:
        self.arrived, self.is_untrusted = arrived, is_untrusted
        super().__init__(why)


class ResponseFormatError(ValueError):
    """The body is not a JSON document of the requested form; the message does not quote it."""


@dataclass(frozen=True, slots=True)
class MaskedJson:
    """The JSON document of a response without keys; `is_masked` says that it had one."""

    value: Any
    is_masked: bool


def parse_response(body: str, secret: Secret) -> MaskedJson:
    """The JSON of a body with keys masked in every text, after decoding: all text of a server comes through here."""
    if not body.strip():
        raise ResponseFormatError("the body is empty")
    try:
        plain = json.loads(body, object_pairs_hook=_object_without_repeats)
        masked = secret.masked_document(plain)
    except ResponseFormatError:
        raise
    except (ValueError, RecursionError):
        raise ResponseFormatError("the body is not JSON") from None
    return MaskedJson(masked, masked != plain)


def _object_without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ResponseFormatError("the body has an object with a duplicate key")
    return members


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """Status, headers with names in lower case, and the body, "" if the body of that status is not read."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: str = field(repr=False)

    @property
    def retry_after(self) -> str:
        """The header Retry-After, "" if there is none."""
        return self.headers.get("retry-after", "")


class Connection:
    """Keeps connections to one server open between requests.

    `headers` are sent with each request. The bodies of a success and of `read_statuses` are read; those of other statuses may
    contain the key. A body has at most `max_bytes` bytes, MAX_RESPONSE_BYTES by default.
    """

    def __init__(
        self,
        address: str,
        headers: Mapping[str, str],
        secret: Secret,
        timeout: float,
        *,
        read_statuses: Container[int] = STATUSES_WITH_REASON,
        max_bytes: int | None = None,
    ) -> None:
        self._timeout, self._read_statuses, self._max_bytes = timeout, read_statuses, max_bytes or MAX_RESPONSE_BYTES
        self._client = _http_client(address, headers, timeout)
        self._logs = LogMask(secret)

    def send(self, method: str, url: str, body: bytes | None) -> HttpResponse:
        """The response to one request; ConnectionLostError if it is not complete within twice the timeout, or too long."""
        with extra("http"):
            import httpx

        # The timeout of the library is for each block: a server that sends one byte at a time would never end.
        deadline = time.monotonic() + 2 * self._timeout
        try:
            with self._client.stream(method, url, content=body) as response:
                is_read = response.status_code == httpx.codes.OK or response.status_code in self._read_statuses
                content = self._read(response, deadline) if is_read else ""
                return HttpResponse(response.status_code, dict(response.headers), content)
        except httpx.TimeoutException as error:
            arrived = not isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout)
            raise ConnectionLostError(f"no data for {self._timeout:g} s ({type(error).__name__})", arrived=arrived) from None
        except httpx.ConnectError as error:
            raise _not_connected(error) from None
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, OSError, RuntimeError) as error:
            arrived = isinstance(error, httpx.NetworkError | httpx.ProtocolError)
            raise ConnectionLostError(f"{type(error).__name__}: {error}", arrived=arrived) from None

    def _read(self, response: httpx.Response, deadline: float) -> str:
        try:
            content = self._content(response, deadline)
            return content.decode("utf-8-sig", "strict" if response.is_success else "replace")
        except UnicodeDecodeError:
            raise ConnectionLostError("the response is not UTF-8") from None
        except zlib.error:
            raise ConnectionLostError("the response is compressed, and damaged") from None

    def _content(self, response: httpx.Response, deadline: float) -> bytearray:
        """The body, unpacked; it is never longer than the limit, whatever it was packed from."""
        coding, received, content = response.headers.get("content-encoding", "identity").strip().lower(), 0, bytearray()
        unpack = _unpacker(coding)
        # Unpacked here and not by the library, so that a small body cannot grow beyond the limit in memory.
        for block in response.iter_raw():
            received += len(block)
            content += unpack.decompress(block, self._max_bytes + 1 - len(content)) if unpack else block
            if max(received, len(content)) > self._max_bytes:
                raise ConnectionLostError(f"the response is longer than {self._max_bytes >> 20} MiB")
            if time.monotonic() > deadline:
                raise ConnectionLostError(f"the response was not complete after {2 * self._timeout:g} s")
        if unpack and (not unpack.eof or unpack.unused_data):
            raise ConnectionLostError(f"the response is not one whole {coding} stream")
        return content

    def close(self) -> None:
        """Closes every connection."""
        self._client.close()
        self._logs.close()


_WINDOW_BITS = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}
"""The compressions that a server may use unasked, with the parameter of zlib for each."""


def _unpacker(coding: str) -> zlib._Decompress | None:
    """Unpacks a body, None if it is not compressed."""
    if coding in ("", "identity"):
        return None
    if coding not in _WINDOW_BITS:
        raise ConnectionLostError(f"the response is compressed ({for_message(coding)}), which was not requested")
    return zlib.decompressobj(_WINDOW_BITS[coding])


_WRONG_HOST, _EXPIRED, _SELF_SIGNED, _UNKNOWN_AUTHORITY = (62, 63, 64), (9, 10), (18,), (2, 19, 20, 21)
_CERTIFICATE_FIXES = {
    _WRONG_HOST: "use the host name that the certificate has",
    _EXPIRED: "renew the certificate, or correct the clock of this machine",
    _SELF_SIGNED: "set SSL_CERT_FILE to the certificate of the server",
    _UNKNOWN_AUTHORITY: "set SSL_CERT_FILE to the certificate of the authority that signed it",
}
"""What to do about a rejected certificate, by the code of OpenSSL."""


def _not_connected(error: httpx.ConnectError) -> ConnectionLostError:
    """The failure to connect; that of a certificate has its whole reason and a fix."""
    import ssl

    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLCertVerificationError):
        # httpx and httpcore wrap the error; the innermost one has the code of OpenSSL.
        cause = cause.__cause__ or cause.__context__
    if cause is None:
        return ConnectionLostError(f"{type(error).__name__}: {error}", arrived=False)
    fix = next((fix for codes, fix in _CERTIFICATE_FIXES.items() if cause.verify_code in codes), "replace the certificate")
    why = f"the certificate of the server is not trusted ({cause.verify_message.rstrip('.')}); {fix}"
    return ConnectionLostError(why, arrived=False, is_untrusted=True)


def _http_client(address: str, headers: Mapping[str, str], timeout: float) -> httpx.Client:
    with extra("http"):
        import httpx
    sent = httpx.Headers({"Content-Type": "application/json", "Accept-Encoding": "identity", "User-Agent": "rankproof"})
    sent.update(headers)
    try:
        return httpx.Client(
            headers=sent,
            timeout=timeout,
            # Certificates are loaded for https only; redirects are off, so an http address stays http.
            verify=_tls_context() if address.startswith("https:") else False,
            follow_redirects=False,
            trust_env=not is_loopback(address),
        )
    except (ValueError, ImportError, OSError, httpx.InvalidURL) as error:
        why = type(error).__name__
    # Raised outside of the handler, so that no traceback leads to a frame with the headers.
    fix = "check HTTPS_PROXY, ALL_PROXY and SSL_CERT_FILE"
    raise UsageError(f"a proxy or certificate in the environment cannot be used ({why})", fix=fix)


def _tls_context() -> ssl.SSLContext:
    """The certificates of SSL_CERT_FILE, also for a server on this machine, else those of the HTTP library."""
    with extra("http"):
        import httpx
    import ssl

    file = os.environ.get("SSL_CERT_FILE")
    return ssl.create_default_context(cafile=file) if file else httpx.create_ssl_context()


CallT = TypeVar("CallT")


class CallsStoppedError(Exception):
    """Calls were stopped while this one was waiting or running."""


class _CallResult(Generic[CallT]):
    """The result or error of a call."""

    __slots__ = ("error", "is_done", "result")

    def __init__(self) -> None:
        self.is_done = False
        self.result: CallT | None = None
        self.error: BaseException | None = None


class CallLimiter:
    """Limits the number of parallel calls; an abandoned call ends on its own daemon thread."""

    def __init__(self, most: int) -> None:
        self._most, self._active, self._running = most, 0, 0
        self._stopped = False
        self._afterwards: Callable[[], None] = lambda: None
        self._changed = threading.Condition()

    def within(self, seconds: float, call: Callable[[], CallT]) -> CallT:
        """The result of the call; TimeoutError after `seconds`, not counting the wait for a free slot, or CallsStoppedError."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self._active < self._most)
            self._check_stopped()
            self._active += 1
        try:
            return self._awaited(seconds, call)
        finally:
            with self._changed:
                self._active -= 1
                self._changed.notify_all()

    def stop(self, afterwards: Callable[[], None]) -> None:
        """Ends all waiting, now and later; `afterwards` runs when the last call has ended."""
        with self._changed:
            self._stopped, self._afterwards = True, afterwards
            is_last = not self._running
            self._changed.notify_all()
        if is_last:
            afterwards()

    def _awaited(self, seconds: float, call: Callable[[], CallT]) -> CallT:
        outcome: _CallResult[CallT] = _CallResult()
        with self._changed:
            self._running += 1
        threading.Thread(target=self._run, args=(call, outcome), daemon=True).start()
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or outcome.is_done, seconds)
            if not outcome.is_done:
                self._check_stopped()
                raise TimeoutError
        if outcome.error is not None:
            raise outcome.error
        return outcome.result  # type: ignore[return-value]

    def _run(self, call: Callable[[], CallT], outcome: _CallResult[CallT]) -> None:
        try:
            outcome.result = call()
        except BaseException as error:
            # The frames of the call contain headers and bodies, which the caller must not see.
            error.__context__ = None
            outcome.error = error.with_traceback(None)
        with self._changed:
            outcome.is_done = True
            self._running -= 1
            is_last = self._stopped and not self._running
            self._changed.notify_all()
        if is_last:
            self._afterwards()

    def _check_stopped(self) -> None:
        if self._stopped:
            raise CallsStoppedError
