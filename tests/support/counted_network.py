"""Runs commands and counts the connections that they try to open to other machines.

As a program it runs the commands of a JSON list, each `[name, argv]`, and writes a JSON object of name to `[exit code, output,
attempts]`. Two counters find an attempt: an audit hook in every Python process of the command, and in a network namespace
without a route, where there is one, the kernel's count of packets without a route, which sees libraries in C and Rust too.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HOOK = r"""
import os, sys

def _is_here(host):
    text = host.decode(errors="replace") if isinstance(host, bytes) else str(host or "localhost")
    return text.startswith("127.") or text in ("localhost", "::1", "0.0.0.0", "::", "")

def _hook(event, args):
    if event == "socket.getaddrinfo":
        host = args[0]
    elif event in ("socket.connect", "socket.sendto", "socket.sendmsg") and isinstance(args[1], tuple):
        host = args[1][0]
    else:
        return
    if not _is_here(host):
        with open(os.environ["COUNTED_NETWORK"], "a") as file:
            file.write(f"{event} {host}\n")

sys.addaudithook(_hook)
"""
ALONE = ("unshare", "--user", "--map-root-user", "--net")
_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/\?token=\S+")
_SIOCSIFFLAGS, _UP_AND_RUNNING = 0x8914, 0x41


def has_namespaces() -> bool:
    """Whether this user may make a network namespace."""
    try:
        return subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def counted(commands: Mapping[str, Sequence[str]], folder: Path, environment: Mapping[str, str]) -> dict[str, list[Any]]:
    """The exit code, output and attempts of each command, run in the folder."""
    alone = ALONE if has_namespaces() else ()
    done = subprocess.run(
        [*alone, sys.executable, __file__, str(bool(alone))],
        input=json.dumps(list(commands.items())),
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def start_loopback() -> None:
    """Brings up the loopback device of a new network namespace."""
    import fcntl
    import socket
    import struct

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _UP_AND_RUNNING))


def _packets_without_a_route() -> int:
    names, values = (line.split() for line in Path("/proc/net/snmp").read_text().splitlines() if line.startswith("Ip:"))
    newer = [line.split()[1] for line in Path("/proc/net/snmp6").read_text().splitlines() if line.startswith("Ip6OutNoRoutes")]
    return int(values[names.index("OutNoRoutes")]) + sum(map(int, newer))


def _run(argv: Sequence[str], environment: Mapping[str, str]) -> tuple[int, str]:
    """The exit code and output; a server is visited and then interrupted."""
    with subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        shown = []
        for line in process.stdout:
            shown.append(line)
            if found := _ADDRESS.search(line):
                with urllib.request.build_opener(urllib.request.HTTPCookieProcessor()).open(found[0]) as page:
                    assert page.status == 200
                process.send_signal(signal.SIGINT)
    return process.returncode, "".join(shown)


def _main(is_alone: bool) -> None:
    if is_alone:
        start_loopback()
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "sitecustomize.py").write_text(HOOK)
        log = Path(folder, "attempts")
        paths = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))
        environment = {**os.environ, "PYTHONPATH": paths, "COUNTED_NETWORK": str(log)}
        for name, argv in json.load(sys.stdin):
            log.write_text("")
            before = _packets_without_a_route() if is_alone else 0
            code, output = _run(argv, environment)
            attempts = log.read_text().splitlines()
            if is_alone and (packets := _packets_without_a_route() - before):
                attempts.append(f"{packets} packets without a route")
            results[name] = [code, output, attempts]
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    _main(sys.argv[1] == "True")
