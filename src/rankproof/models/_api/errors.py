"""The errors of requests to models."""

from __future__ import annotations

from rankproof._io.retry import RequestError
from rankproof.errors import ExternalError


class ModelRequestError(RequestError):
    """A request to a model failed.

    `optional_params` says that the server may have rejected optional parameters only. `status` is that of the response, 0
    without one.
    """

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        wait: float | None = None,
        optional_params: bool = False,
        charged: bool = False,
        status: int = 0,
    ) -> None:
        super().__init__(message, retryable=retryable, wait=wait, charged=charged)
        self.optional_params, self.status = optional_params, status


class ModelUnavailableError(ExternalError):
    """No request can succeed: a wrong key, an unknown model, a redirect."""
