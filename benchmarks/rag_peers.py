"""Faithfulness of the same 50 rows by rankproof, ragas and DeepEval, with one scripted model on loopback.

`--peers PYTHON` is the interpreter of an environment with both tools: `pip install ragas deepeval "langchain-community<0.4"
"langchain-core<1" "langchain-openai<1"`, as ragas 0.4.3 needs these. Each answer states two facts. The contexts state the first
one and, in every other row, contradict the second one, so the true mean is 0.75. The model makes no error. Then a fifth of its
replies are useless, drawn anew whenever a request is repeated.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import resource
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROWS, BROKEN = 50, 0.2
TOOL = Path(__file__).with_name("rag_peers_tool.py")
USELESS = ("", "I am sorry, I cannot do that.", '{"verdicts": [{"claim": 1, ', '{"result": "ok"}')
_SENTENCE = re.compile(r"Item \d+ (?:weighs \d+ grams|is (?:red|blue))\.")


def made_rows() -> list[dict[str, Any]]:
    """The rows of the log."""
    rows = []
    for number in range(ROWS):
        weight = f"Item {number} weighs {100 + number} grams."
        colour = "blue" if number % 2 else "red"
        row = {"question": f"What is item {number}?", "answer": f"{weight} Item {number} is {colour}."}
        rows.append({**row, "contexts": [weight, f"Item {number} is red."]})
    return rows


def reply_to(prompt: str) -> str:
    """What a model without errors replies to a prompt of one of the tools."""
    if "did not satisfy the constraints" in prompt:
        wanted = json.loads(_input(prompt))
        return json.dumps({"text": reply_to(wanted["prompt_value"])})
    if "judge the faithfulness of a series of statements" in prompt:
        claims = json.loads(_input(prompt))["statements"]
        verdicts = [{"statement": claim, "reason": "read", "verdict": int("blue" not in claim)} for claim in claims]
        return json.dumps({"statements": verdicts})
    if "fully understandable statements" in prompt:
        return json.dumps({"statements": _SENTENCE.findall(_input(prompt))})
    for key, before in (("truths", "\nText:"), ("claims", "\nAI Output:")):
        if f'with the "{key}" key' in prompt:
            return json.dumps({key: _SENTENCE.findall(prompt[prompt.rindex(before) :])})
    if "indicate whether EACH claim contradicts" in prompt:
        claims = _SENTENCE.findall(prompt[prompt.rindex("\nClaims:") :])
        return json.dumps(
            {"verdicts": [{"verdict": "no", "reason": "red"} if "blue" in claim else {"verdict": "yes"} for claim in claims]}
        )
    if "You check claims against texts" in prompt:
        claims = re.findall(r"^(\d+): (.*)$", prompt[prompt.rindex("claims") - 400 :], re.MULTILINE)
        sentences = re.findall(r"\[(\d+\.\d+)\] (.*)", prompt)
        verdicts = []
        for number, claim in claims:
            evidence = [label for label, text in sentences if text[-12:-6] == claim[-12:-6]] or [sentences[-1][0]]
            verdicts.append(
                {"claim": int(number), "evidence": evidence[:1], "verdict": "contradicted" if "blue" in claim else "supported"}
            )
        return json.dumps({"verdicts": verdicts})
    return json.dumps({"reason": "read"})


def _input(prompt: str) -> str:
    """The input of a prompt of ragas; inside another prompt its line breaks are escaped."""
    return prompt[prompt.rindex("\ninput: ") + 8 : prompt.rindex("\nOutput:")]


@dataclass
class Model:
    """The scripted model, its counts, and the share of useless replies."""

    broken: float = 0.0
    calls: int = 0
    tokens: int = 0
    seen: Counter[str] = field(default_factory=Counter)
    lock: Any = field(default_factory=threading.Lock)

    def reply(self, prompt: str) -> str:
        """The reply to a request, counted; a token has four characters."""
        key = hashlib.sha256(prompt.encode()).hexdigest()
        with self.lock:
            self.calls += 1
            self.seen[key] += 1
            drawn = hashlib.sha256(f"{key} {self.seen[key]}".encode()).digest()
            is_broken = drawn[0] / 256 < self.broken
            text = USELESS[drawn[1] % len(USELESS)] if is_broken else reply_to(prompt)
            self.tokens += (len(prompt) + len(text)) // 4
        return text


@contextmanager
def serving(model: Model) -> Iterator[str]:
    """The address of an OpenAI-compatible server of the model."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            text = model.reply("\n".join(_text(message["content"]) for message in body["messages"]))
            choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            about = {"id": "1", "object": "chat.completion", "created": 1, "model": "scripted"}
            reply = json.dumps({**about, "choices": [choice], "usage": usage}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, format: str, *args: Any) -> None:
            """Prints nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    failures: list[BaseException | None] = []
    server.handle_error = lambda request, client_address: failures.append(sys.exception())  # type: ignore[method-assign]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
    # A client may close its connection at any time.
    for failure in failures:
        if not isinstance(failure, ConnectionError):
            raise RuntimeError("the scripted model failed") from failure


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


@dataclass(frozen=True)
class Outcome:
    """What a tool asked, what it cost, and its values."""

    calls: int
    tokens: int
    seconds: float
    values: tuple[float | None, ...]

    @property
    def cells(self) -> str:
        """The cells of the table."""
        known = [value for value in self.values if value is not None]
        mean = f"{sum(known) / len(known):.3f}" if known else "–"
        return f"{self.calls} | {self.tokens:,} | {self.seconds:.1f} | {len(known)} of {len(self.values)} | {mean}"


def outcomes(tool: str, python: str, model: Model, runs: int) -> list[Outcome]:
    """Runs of a tool, each in a process of its own; CPU seconds are those of the whole process."""
    made = []
    with TemporaryDirectory() as name, serving(model) as address:
        rows = Path(name) / "rows.jsonl"
        rows.write_text("".join(json.dumps(row) + "\n" for row in made_rows()), encoding="utf-8")
        for _ in range(runs):
            model.calls = model.tokens = 0
            model.seen.clear()
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            values = _with_rankproof(address, rows) if tool == "rankproof" else _with_peer(tool, python, address, rows)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            made.append(Outcome(model.calls, model.tokens, seconds, tuple(values)))
    return made


def _with_peer(tool: str, python: str, address: str, rows: Path) -> list[float | None]:
    command = [python, "-W", "ignore", str(TOOL), tool, address, str(rows)]
    done = subprocess.run(command, cwd=rows.parent, capture_output=True, text=True, check=True)
    values: list[float | None] = json.loads(done.stdout.splitlines()[-1])["values"]
    return values


def _with_rankproof(address: str, rows: Path) -> list[float | None]:
    from rankproof._results.folder import load_results

    folder = rows.parent
    out = folder / "results"
    model = ["--judge", "scripted", "--base-url", address, "--api-key-env", "", "--cache", str(folder / "cache")]
    command = [sys.executable, "-m", "rankproof", "answers", str(rows), "-m", "Faithfulness", *model, "-o", str(out)]
    subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    answers = load_results(out).answers
    assert answers is not None
    (measured,) = answers.systems[0].measures.values()
    return [measured.per_query.get(query) for query in answers.queries]


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", help="the Python of an environment with ragas and DeepEval; without it, rankproof alone")
    peers = parser.parse_args().peers
    print("| tool | replies | calls | tokens | CPU s | values | mean | second run: calls |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for name, model in (("good", Model()), (f"{BROKEN:.0%} useless", Model(BROKEN))):
        for tool in ("rankproof", *(("ragas", "deepeval") if peers else ())):
            first, second = outcomes(tool, peers or "", model, 2)
            print(f"| {tool} | {name} | {first.cells} | {second.calls} |", flush=True)


if __name__ == "__main__":
    main()
