"""The errors of requests to models."""

from __future__ import annotations

from rankproof.errors import ExternalError


class ModelRequestError(ExternalError):
    """A request to a model failed.

    `retryable` says whether the same request may succeed later, `wait` how many seconds the server demands before that,
    `optional_params` that the server may have rejected optional parameters only, and `charged` that the request may have cost
    money. `status` is that of the response, 0 without one.
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
        self.retryable, self.wait, self.optional_params, self.charged = retryable, wait, optional_params, charged
        self.status = status
        super().__init__(message)


class ModelUnavailableError(ExternalError):
    """No request can succeed: a wrong key, an unknown model, a redirect."""
