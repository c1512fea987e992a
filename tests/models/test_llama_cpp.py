"""Models run by llama.cpp: errors, processes, and replies that do not depend on other requests."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from tools.attacks.model_folders import GGUF_NUMBERS, gguf_file

from rankproof._data.identity import identity_key
from rankproof.errors import ExternalError, InputError, MissingExtraError, UsageError
from rankproof.models._api.settings import ModelRequestError, ModelUnavailableError
from rankproof.models._chat import llama_cpp
from rankproof.models._chat.base import ChatReply, ChatRequest, Message
from rankproof.models._chat.llama_cpp import Llama, LlamaServer
from support.missing_libraries import block

ASKS = [
    ChatRequest(
        (Message("system", "Answer with Yes or No."), Message("user", f"Is {what} made of flour?")), max_tokens=6, logprobs=10
    )
    for what in ("bread", "a knife", "the dough of a pie that rests in the kitchen")
]


def said(reply: ChatReply) -> tuple[object, ...]:
    return reply.text, reply.first, reply.finish, reply.tokens_in, reply.tokens_out


def test_neither_order_nor_other_requests_nor_a_restart_nor_threads_change_a_reply(smollm2: Llama) -> None:
    chat = smollm2.load()
    alone = [said(chat.reply(request)) for request in ASKS]
    assert [said(chat.reply(request)) for request in reversed(ASKS)] == alone[::-1]
    with ThreadPoolExecutor(3) as pool:
        assert [said(reply) for reply in pool.map(chat.reply, ASKS)] == alone
    chat.close()
    again = smollm2.load(threads=2)
    assert [said(again.reply(request)) for request in ASKS[:2]] == alone[:2]
    assert again.facts()["threads"] == 2
    again.close()


def test_another_attempt_has_its_own_reproducible_reply(smollm2: Llama) -> None:
    asks = [
        ChatRequest((Message("user", "Tell me a story of a baker."),), max_tokens=24, attempt=attempt) for attempt in range(3)
    ]
    chat = smollm2.load()
    told = [chat.reply(request).text for request in asks]
    assert len(set(told)) == 3
    assert [chat.reply(request).text for request in reversed(asks)] == told[::-1]
    chat.close()


def test_a_prompt_that_does_not_fit_the_context_fails_and_the_next_one_is_answered(smollm2: Llama) -> None:
    chat = replace(smollm2, context=256).load()
    long = ChatRequest((Message("user", "flour and water " * 200),), max_tokens=4)
    with pytest.raises(ModelRequestError) as failure:
        chat.reply(long)
    assert not failure.value.retryable
    assert chat.reply(ASKS[0]).tokens_out <= 6
    chat.close()


def running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def server_of(chat: object) -> subprocess.Popen[bytes]:
    process = chat._server._process  # type: ignore[attr-defined]
    assert isinstance(process, subprocess.Popen)
    return process


def test_closing_ends_the_process_and_can_be_repeated(smollm2: Llama) -> None:
    chat = smollm2.load()
    process = server_of(chat)
    assert running(process.pid)
    chat.close()
    chat.close()
    assert process.returncode == 0


def test_a_stopped_server_ends_the_run(smollm2: Llama) -> None:
    chat = smollm2.load()
    process = server_of(chat)
    process.kill()
    process.wait()
    with pytest.raises(ModelUnavailableError, match="the process was ended by signal 9"):
        chat.reply(ASKS[0])
    chat.close()


KILLED = """
import os, signal, sys
from pathlib import Path
from rankproof.models._chat.llama_cpp import LlamaServer
server = LlamaServer(Path(sys.argv[1]), name="x", context=256, threads=1)
print(server._process.pid, flush=True)
if sys.argv[2] == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("how", ["kill", "end"])
def test_no_server_outlives_the_process_that_started_it(how: str, smollm2_weights: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(smollm2_weights), how]
    done = subprocess.run(command, stdout=subprocess.PIPE, timeout=60, check=False)
    assert done.returncode == (-signal.SIGKILL if how == "kill" else 0)
    ends = time.monotonic() + 30
    while running(int(done.stdout)):  # its parent is gone, so nobody can wait for it
        assert time.monotonic() < ends, "the server outlives whoever started it"
        time.sleep(0.05)


def test_nothing_of_llama_cpp_reaches_standard_error(smollm2_weights: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(smollm2_weights), "end"]
    assert subprocess.run(command, capture_output=True, timeout=60, check=True).stderr == b""


def test_a_truncated_file_is_an_error_and_does_not_end_this_process(smollm2_weights: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.gguf"
    for size in (24, 5_000, 5_000_000):
        with open(smollm2_weights, "rb") as whole:
            cut.write_bytes(whole.read(size))
        with pytest.raises(ExternalError, match=r"cut\.gguf: llama\.cpp cannot load it \(.+\); download the file again"):
            Llama(str(cut)).load()


def test_a_native_crash_is_reported(smollm2_weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crashing = tmp_path / "crashing.py"
    crashing.write_text("import os; os.abort()")
    monkeypatch.setattr(llama_cpp, "_SCRIPT", crashing)
    with pytest.raises(ExternalError, match=r"cannot load it \(the process was ended by signal 6\)"):
        LlamaServer(smollm2_weights, name="x", context=256, threads=1)


@pytest.mark.parametrize("content", [b"", b"GGUF", b"GGML" + bytes(100), b"<html>not found</html>" * 3])
def test_a_file_that_is_not_gguf_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"model\.gguf: not a gguf file"):
        Llama(str(path)).load()


def test_a_missing_file_and_a_missing_library_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not Llama(str(tmp_path / "none.gguf")).is_ready()
    with pytest.raises(ExternalError, match=r"none\.gguf: cannot be read \(No such file"):
        Llama(str(tmp_path / "none.gguf")).revision()
    (tmp_path / "some.gguf").write_bytes(b"GGUF" + bytes(20))
    block(monkeypatch, "xllamacpp")
    with pytest.raises(MissingExtraError, match=r"pip install 'rankproof\[local\]'"):
        Llama(str(tmp_path / "some.gguf")).load()


@pytest.mark.parametrize(
    "settings",
    [
        {"path": ""},
        {"path": "a\0b"},
        {"path": 3},
        {"context": 0},
        {"seed": -1},
        {"temperature": 3},
        {"retry_temperature": -1},
        {"timeout": 0},
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        Llama(**{"path": "model.gguf", **settings})  # type: ignore[arg-type]


def test_the_identity_of_a_model_is_its_file_and_not_its_place(tmp_path: Path) -> None:
    first, second, other = (tmp_path / name for name in ("a.gguf", "b.gguf", "c.gguf"))
    first.write_bytes(b"GGUF one")
    shutil.copy(first, second)
    other.write_bytes(b"GGUF two")
    assert identity_key(Llama(str(first))) == identity_key(Llama(str(second), timeout=5)) != identity_key(Llama(str(other)))
    assert identity_key(Llama(str(first))) != identity_key(Llama(str(first), context=512))


LIES = {
    "more blocks than llama.cpp survives": gguf_file({**GGUF_NUMBERS, "llama.block_count": 2**32 - 1}),
    "tensors that are not there": gguf_file(GGUF_NUMBERS, tensors=2**40),
    "no settings": gguf_file({}),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_file_whose_header_lies_is_an_error_with_its_name_and_a_fix(lie: str, tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    (tmp_path / "x.gguf").write_bytes(LIES[lie])
    with pytest.raises(
        ExternalError, match=r"x\.gguf: llama\.cpp cannot load it \(.+\); download the file again, or try another"
    ):
        Llama(str(tmp_path / "x.gguf")).load()


@pytest.mark.skipif(os.name == "nt", reason="needs named pipes")
def test_a_gguf_file_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.gguf")
    with pytest.raises(InputError, match=r"x\.gguf: is a named pipe, not a file"):
        Llama(str(tmp_path / "x.gguf")).load()
