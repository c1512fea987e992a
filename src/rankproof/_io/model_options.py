"""The options of language models behind a server, without the libraries that call them: help pages show them too."""

from __future__ import annotations

from typing import Annotated, TypedDict

from rankproof._registry import Option

BaseUrl = Annotated[
    str, Option("the address of the server, OpenAI-compatible", metavar="URL", default="https://api.openai.com/v1", rare=True)
]
ApiKeyEnv = Annotated[str, Option("the environment variable with the API key, empty for none", metavar="VAR", rare=True)]
CONCURRENCY = Option("how many calls run at once", least=1, most=256, metavar="N", rare=True)
Concurrency = Annotated[int, CONCURRENCY]
PriceIn = Annotated[float, Option("price of a million prompt tokens", least=0, most=1e6, metavar="X", rare=True)]
PriceOut = Annotated[float, Option("price of a million reply tokens", least=0, most=1e6, metavar="X", rare=True)]
BUDGET = Option(
    "limits on calls to models and search engines: calls=500,tokens=2000000,money=1.50",
    metavar="LIMITS",
    unset="none",
    typed=str,
)
CACHE = Option("the cache folder, see `rankproof cache`", metavar="FOLDER", unset="that of this user", rare=True)
REPLIES = Option(
    "the folder of replies", unset="none; on the command line that of `rankproof cache`", metavar="FOLDER", rare=True
)


class ServerArguments(TypedDict, total=False):
    """The settings of a language model behind a server that are also flags."""

    base_url: BaseUrl
    api_key_env: ApiKeyEnv
    price_in: PriceIn
    price_out: PriceOut
