"""Real Milvus servers on loopback: that of Milvus Lite, and Milvus standalone from the package `milvus`.

As a program it starts Milvus standalone, runs the command in its arguments with the address, and ends with its exit code.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from support.counted_network import start_loopback
from support.search_servers import free_port, skip_or_fail

_STARTED_WITHIN = 180.0


@contextmanager
def lite_server(folder: Path) -> Iterator[str]:
    """The address of a server of Milvus Lite."""
    if find_spec("milvus_lite") is None:
        skip_or_fail("milvus-lite is not installed: the extra milvus brings it")
    port = free_port()
    place = ["--data-dir", str(folder / "data"), "--host", "127.0.0.1", "--port", str(port)]
    command = [sys.executable, "-m", "milvus_lite", "server", *place]
    with _started(command, folder, port):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def standalone(folder: Path) -> Iterator[str]:
    """The address of a Milvus server with everything in one process, Milvus 2.3."""
    if find_spec("milvus") is None:
        skip_or_fail("milvus is not installed: the extra test brings it for Linux on x86-64")
    port = free_port()
    command = [sys.executable, "-c", "from milvus import main; main()", "--data", str(folder / "data"), "--proxy-port", str(port)]
    with _started(command, folder, port):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def _started(command: Sequence[str], folder: Path, port: int) -> Iterator[None]:
    with (folder / "server.log").open("wb") as log:
        # In a group of its own: that of Milvus standalone starts another process.
        process = subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=folder, start_new_session=True
        )
        try:
            _await(process, port)
            yield
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _await(process: subprocess.Popen[bytes], port: int) -> None:
    """Waits until the server answers a request of its client."""
    ends = time.monotonic() + _STARTED_WITHIN
    while time.monotonic() < ends:
        assert process.poll() is None, f"the server ended with {process.returncode}"
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"the server did not start within {_STARTED_WITHIN:g} s")


if __name__ == "__main__":
    # In a namespace of its own: the server listens on all addresses.
    start_loopback()
    with tempfile.TemporaryDirectory() as found, standalone(Path(found)) as address:
        tested = subprocess.run(sys.argv[1:], env={**os.environ, "RANKPROOF_TEST_MILVUS": address}, check=False)
    sys.exit(tested.returncode)
