"""Which tools of agents are search tools: all, or those that a setting names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rankproof._formats.columns import names_for_message
from rankproof.errors import UsageError, for_message

SEARCH_TOOLS = "search-tools"
SEARCH_TOOLS_HELP = "the tools of an agent that search, separated by commas; without it all tools do"


@dataclass(slots=True)
class SearchTools:
    """The tools that search, None for all; `seen` are those that logs call."""

    chosen: frozenset[str] | None = None
    seen: dict[str, None] = field(default_factory=dict)

    @classmethod
    def of_settings(cls, settings: Mapping[str, str]) -> SearchTools:
        """The tools that the setting names."""
        text = settings.get(SEARCH_TOOLS)
        return cls(None if text is None else frozenset(name.strip() for name in text.split(",")))

    def are_searched_by(self, name: str | None) -> bool:
        """Whether a call of the tool is a search; a call without a name is one."""
        if name is not None:
            self.seen[name] = None
        return self.chosen is None or name is None or name in self.chosen

    def check(self) -> None:
        """Raises an error for a named tool that no log has."""
        if unknown := sorted((self.chosen or frozenset()) - self.seen.keys()):
            tools = f"tools: {names_for_message(tuple(self.seen))}" if self.seen else "no log names the tools that it calls"
            raise UsageError(
                f"no tool is called {for_message(unknown[0])}; {tools}", fix=f"name one of them with --set {SEARCH_TOOLS}"
            )

    def note(self) -> str | None:
        """That several tools are searches, if no setting names them."""
        if self.chosen is not None or len(self.seen) < 2:
            return None
        names = names_for_message(tuple(self.seen))
        return f"calls of all tools are searches: {names}; name those that search: --set {SEARCH_TOOLS}=NAME,…"
