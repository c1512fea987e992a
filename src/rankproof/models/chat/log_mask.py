"""Keys kept out of logs: the library that sends requests logs every header of an answer, where a server may repeat the key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .secrets import Secret

if TYPE_CHECKING:
    from logging import LogRecord

_LOGGERS = ("httpx", *(f"httpcore.{part}" for part in ("connection", "http11", "http2", "proxy", "socks")))


class LogMask:
    """Masks what the library logs, whoever listens, until it is closed."""

    def __init__(self, secret: Secret) -> None:
        from logging import getLogger

        self._secret = secret
        self._loggers = [getLogger(name) for name in _LOGGERS]
        for logger in self._loggers:
            logger.addFilter(self._masked)

    def close(self) -> None:
        """Logs are as they were."""
        for logger in self._loggers:
            logger.removeFilter(self._masked)

    def _masked(self, record: LogRecord) -> bool:
        record.msg, record.args = self._secret.masked(record.getMessage()), ()
        return True
