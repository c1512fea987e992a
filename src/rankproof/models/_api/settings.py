"""What all models behind a server share: settings, their checks, and the errors of requests."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import PurePath
from typing import Annotated, ClassVar, Protocol

from rankproof._data import validation
from rankproof._data.identity import NOT_IN_IDENTITY, kind_name
from rankproof._data.validation import ApiKeyEnv, Concurrency
from rankproof._io.http import checked_base_url, is_unencrypted
from rankproof._io.retry import RequestError
from rankproof._io.secrets import checked_variable_name
from rankproof._registry import Option
from rankproof.errors import ExternalError, UsageError

Timeout = Annotated[float, Option("maximum seconds to connect and to wait for data", least=0.01, most=86_400)]


class PaidModel(Protocol):
    """A model that may cost money: prices are per million tokens, 0 if unknown."""

    @property
    def price_in(self) -> float: ...

    @property
    def price_out(self) -> float: ...


def model_name(model: object) -> str:
    """The name on the server, else the name of the file or of the class."""
    named = (getattr(model, part, None) for part in ("model", "name"))
    path = getattr(model, "path", None)
    file = PurePath(path).stem if isinstance(path, str) else kind_name(type(model))
    return next((name for name in named if isinstance(name, str) and name), file)


class ModelServer(Protocol):
    """The settings of a connection to a model."""

    @property
    def model(self) -> str: ...

    @property
    def base_url(self) -> str: ...

    @property
    def api_key_env(self) -> str: ...

    @property
    def timeout(self) -> float: ...

    @property
    def concurrency(self) -> int: ...


def check_server(server: ModelServer) -> str:
    """Rejects settings that are wrong, or that would show the key; returns the address without a trailing slash."""
    checked_variable_name(server.api_key_env)  # first: the value may be the key itself, which no message may show
    validation.check_options(server)
    if not server.model.strip():
        raise UsageError("model is empty", fix="give the model's name on the server")
    address = checked_base_url(server.base_url, example=default_address(server))
    if server.api_key_env and is_unencrypted(address):
        what = "base_url is a plain http address on another machine, so the key could be read on the network"
        raise UsageError(what, fix="use https, or set api_key_env = \"\" (--api-key-env '') if the server needs no key")
    return address


def default_address(server: ModelServer) -> str:
    """The usual address of such a server, as an example."""
    defaults: dict[str, object] = {part.name: part.default for part in fields(server)} if is_dataclass(server) else {}
    address = defaults.get("base_url")
    return address if isinstance(address, str) and address else "https://HOST/v1"


@dataclass(frozen=True, slots=True)
class ApiModel:
    """A model behind an API; the environment variable `api_key_env` has the key, "" for none.

    `timeout` applies to connecting and to each pause of a response. `price_in` is per million tokens, 0 if it is unknown. An API
    gives `base_url` and `api_key_env` its own defaults, and says with `is_own_server` that it is a server that users run.
    """

    model: Annotated[str, Option("the model's name on its server")]
    base_url: Annotated[str, Option("the address of the server")] = ""
    api_key_env: ApiKeyEnv = field(default="", metadata=NOT_IN_IDENTITY)
    timeout: Timeout = field(default=60.0, metadata=NOT_IN_IDENTITY)
    concurrency: Concurrency = field(default=4, metadata=NOT_IN_IDENTITY)
    price_in: Annotated[float, Option("price of a million tokens", least=0, most=1e6)] = field(
        default=0.0, metadata=NOT_IN_IDENTITY
    )

    is_own_server: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "base_url", check_server(self))

    @property
    def is_billed(self) -> bool:
        """Whether someone may bill the calls: not those of a user's own server that needs no key and has no price."""
        return not self.is_own_server or bool(self.api_key_env or self.price_in)

    @property
    def price_out(self) -> float:
        """0: these models write no text."""
        return 0.0

    def revision(self) -> str:
        """A constant: the weights behind a server are unknown."""
        return "model API"


class ModelRequestError(RequestError):
    """A request to a model failed.

    `optional_params` says that the server may have rejected optional parameters only. `status` is that of the response, 0
    without one. `fix` ends the message.
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
        fix: str = "",
    ) -> None:
        super().__init__(f"{message}; {fix}" if fix else message, retryable=retryable, wait=wait, charged=charged)
        self.fix = fix
        self.optional_params, self.status = optional_params, status


class ModelUnavailableError(ExternalError):
    """No request can succeed: a wrong key, an unknown model, a redirect."""
