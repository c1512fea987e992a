"""The server of tools for agents, over standard input and output; a reply is an answer in words, and JSON of bounded size."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rankproof._analysis.compare.comparison import Comparison
from rankproof._analysis.decision.record import Decision
from rankproof._analysis.gate.result import GateResult
from rankproof._analysis.preferences import PreferenceResult
from rankproof._api.values import Report
from rankproof._data.table import Table
from rankproof._data.view import Viewed
from rankproof._extras import extra
from rankproof._io.named_code import reject_imports
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

_DECISION = ("outcome", "kind", "systems", "leader", "reason", "risk", "limit", "rival", "margin", "n", "queries")
_MAX_TEXT = 1000
MIN_CHARACTERS = 2000


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


def reply(value: Viewed, limit: int) -> tuple[str, dict[str, Any]]:
    """The answer in words, and as JSON with the tables: as many of their rows as fit into `limit` characters."""
    view = value._view()
    answer = _cut("\n".join(view.sentences) or view.title, limit // 4)
    plain: dict[str, Any] = {"answer": answer, "title": _cut(view.title), **_verdict(value)}
    plain["notes"] = [_cut(note) for note in view.notes]
    if isinstance(value, Report):
        plain["markdown"] = value.to_markdown()
    plain["tables"] = [_plain(table) for table in view.tables]
    return answer, _bounded(plain, limit)


def _verdict(value: Viewed) -> dict[str, Any]:
    """The decision or the outcome of the gate as data."""
    if isinstance(value, GateResult):
        return {"outcome": value.outcome, "stops": value.stops, **_decision(value.decision)}
    return _decision(value.decision) if isinstance(value, Comparison | PreferenceResult) else {}


def _decision(decision: Decision | None) -> dict[str, Any]:
    if decision is None:
        return {}
    return {"decision": {"measure": str(decision.measure), **{name: getattr(decision, name) for name in _DECISION}}}


def _plain(table: Table) -> dict[str, Any]:
    rows = [[_cut(cell) if isinstance(cell, str) else cell for cell in row] for row in table.rows]
    return {"name": table.name, "title": _cut(table.title), "columns": [column.name for column in table.columns], "rows": rows}


def _cut(text: str, most: int = _MAX_TEXT) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _bounded(plain: dict[str, Any], limit: int) -> dict[str, Any]:
    """The reply within the limit: rows of the largest table are left out first, then notes, tables and the Markdown."""
    while size_of(plain) > limit:
        largest = max(plain["tables"], key=lambda table: size_of(table["rows"]), default=None)
        if largest is not None and largest["rows"]:
            _halve(largest, "rows")
        elif plain["notes"]:
            _halve(plain, "notes")
        elif plain["tables"]:
            plain["tables_left_out"] = plain.get("tables_left_out", 0) + 1
            plain["tables"].pop()
        elif plain.get("markdown"):
            plain["markdown"] = _cut(plain["markdown"], len(plain["markdown"]) // 2)
        else:
            return {"answer": _cut(plain["answer"], limit // 8)}
    return plain


def _halve(holder: dict[str, Any], name: str) -> None:
    """Keeps the first half of a list, and counts what was left out."""
    kept: Sequence[Any] = holder[name][: len(holder[name]) // 2]
    holder[f"{name}_left_out"] = holder.get(f"{name}_left_out", 0) + len(holder[name]) - len(kept)
    holder[name] = list(kept)


def size_of(plain: Any) -> int:
    """The number of characters of the JSON."""
    return len(as_json(plain))


def as_json(plain: Any) -> str:
    """The reply as one line of JSON, without control characters."""
    return json.dumps(plain, ensure_ascii=True, allow_nan=False)
