"""Kills commands: `python -m tools.kills 1000`, or `python -m tools.kills 50 judge serve`."""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

from tools.kills.agent import Mcp
from tools.kills.bench import Bench, Preferences, Prove
from tools.kills.campaign import Campaign
from tools.kills.chat_server import CountingServer, chat_server
from tools.kills.commands import Answers, Convert, ConvertText, Eval, Import, Judge, Report, Run
from tools.kills.live import ImportConversations, ImportTraces, Online, OnlineRecord, Sample
from tools.kills.serve import Serve
from tools.kills.workload import Workload

COMMANDS: tuple[type[Workload], ...] = (
    *(Run, Eval, Judge, Convert, ConvertText, Report, Serve, Answers, Import),
    *(Bench, Preferences, Prove, Online, OnlineRecord, Sample, ImportConversations, ImportTraces, Mcp),
)
_MOST_IN_A_ROUND = 10


def main() -> int:
    """Kills the commands in turn and prints one row for each."""
    names = [kind.name for kind in COMMANDS]
    parser = argparse.ArgumentParser(prog="python -m tools.kills", description=__doc__)
    parser.add_argument("kills", type=int, help="the number of kills, shared by the commands")
    parser.add_argument("commands", nargs="*", metavar="COMMAND", help=f"of {', '.join(names)} (default: all)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent / "work")
    asked = parser.parse_args()
    if unknown := set(asked.commands) - set(names):
        parser.error(f"unknown command: {', '.join(sorted(unknown))}")
    with chat_server() as chat:
        campaigns = [_campaign(kind, asked, chat) for kind in COMMANDS if not asked.commands or kind.name in asked.commands]
        _kill(campaigns, asked.kills)
    for campaign in campaigns:
        print(campaign.summary())
    findings = sum(len(campaign.findings) for campaign in campaigns)
    print(f"{sum(campaign.kills for campaign in campaigns)} kills, {findings} findings (seed {asked.seed})")
    return 1 if findings else 0


def _campaign(kind: type[Workload], asked: argparse.Namespace, chat: CountingServer) -> Campaign:
    chance = random.Random(f"{asked.seed} {kind.name}")
    folder = (asked.folder / kind.name.replace(" ", "-")).resolve()
    campaign = Campaign(kind(folder, chance, chat), chance)
    campaign.prepare()
    return campaign


def _kill(campaigns: list[Campaign], kills: int) -> None:
    """One round of each command in turn, until all have their share of the kills."""
    began = time.monotonic()
    while open_ones := [one for one in campaigns if one.kills * len(campaigns) < kills]:
        for campaign in open_ones:
            known = len(campaign.findings)
            campaign.one_round(_MOST_IN_A_ROUND)
            for finding in campaign.findings[known:]:
                _log(f"{campaign.workload.name}: {finding}")
            _log(f"{time.monotonic() - began:.0f} s: {'; '.join(one.summary() for one in campaigns)}")


def _log(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
