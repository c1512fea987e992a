"""The server of tools for agents, over standard input and output."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from rankproof._extras import extra
from rankproof._io.import_object import reject_imports
from rankproof._mcp.replies import as_json, reply
from rankproof._mcp.tools import TOOLS, Access, AgentTool
from rankproof._version import __version__
from rankproof.errors import ExternalError, RankproofError, UsageError, escape_invisible, for_message

if TYPE_CHECKING:
    from mcp import types
    from mcp.server.lowlevel import Server

_INSTRUCTIONS = (
    "Says with statistics which search or RAG system is better. After a change, save the new run or results in a folder of this "
    "server and ask `compare`: its answer is the decision, with the risk. `diagnose`, `segments` and `explain` say why."
)


def serve_tools(access: Access, limit: int, report: Callable[[Exception], None]) -> None:
    """Serves the tools until standard input ends; `report` gets internal errors."""
    with extra("mcp"):
        from mcp.server.stdio import stdio_server

    reject_imports("this server imports no code")
    server = tool_server(access, limit, report)

    async def serve() -> None:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    asyncio.run(serve())


def tool_server(access: Access, limit: int, report: Callable[[Exception], None]) -> Server[Any]:
    """The server with its handlers; one call runs at a time."""
    with extra("mcp"):
        from mcp import types
        from mcp.server.lowlevel import Server

    turn = asyncio.Lock()

    async def list_tools(context: object, params: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(tool, access) for tool in TOOLS])

    async def call_tool(context: object, params: types.CallToolRequestParams) -> types.CallToolResult:
        async with turn:
            done = await asyncio.to_thread(answer, params.name, params.arguments or {}, access, limit, report)
        return _result(*done)

    return Server("rankproof", version=__version__, instructions=_INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool)


def _described(tool: AgentTool, access: Access) -> types.Tool:
    with extra("mcp"):
        from mcp import types

    writes = tool.writes(access)
    hints = types.ToolAnnotations(read_only_hint=not writes, idempotent_hint=not writes, open_world_hint=bool(access.judges))
    return types.Tool(name=tool.name, description=tool.description, input_schema=tool.schema(access), annotations=hints)


def answer(
    name: str, arguments: Mapping[str, Any], access: Access, limit: int, report: Callable[[Exception], None]
) -> tuple[str, dict[str, Any] | None]:
    """The answer of a tool in words and as JSON; an error in words alone."""
    try:
        return reply(_named(name).call(arguments, access), limit)
    except RankproofError as error:
        return str(error), None
    except MemoryError:
        return str(ExternalError("not enough memory")), None
    except Exception as error:  # the server goes on after a fault of ours
        report(error)
        return escape_invisible(f"internal error: {type(error).__name__}: {error}"), None


def _named(name: str) -> AgentTool:
    known = {tool.name: tool for tool in TOOLS}
    if name not in known:
        raise UsageError(f"no tool is called {for_message(name)}", fix=f"choose among {', '.join(known)}")
    return known[name]


def _result(words: str, plain: dict[str, Any] | None) -> types.CallToolResult:
    with extra("mcp"):
        from mcp import types

    sentences = types.TextContent(type="text", text=words)
    if plain is None:
        return types.CallToolResult(content=[sentences], is_error=True)
    shown = types.TextContent(type="text", text=as_json(plain))
    return types.CallToolResult(content=[sentences, shown], structured_content=plain)
