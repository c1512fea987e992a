"""Screenshots of `rankproof serve` for docs/img, by the installed Chromium: `python -m benchmarks.serve_screenshots RESULTS`.

RESULTS needs unjudged pairs, such as results of the sample with `--qrels` of a third of its judgements. Two people with random
grades judge in a temporary file. The pictures of labels and nuggets are not taken: they need other results.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path
from typing import Any

from tools.docs.pictures import IMAGES, browser, finish_picture, opened, served

from rankproof._results.folder import load_results
from rankproof._server.judgement_log import JudgementLog
from rankproof._server.judging_queue import DocumentTexts, build_queue

PEOPLE = ("ann", "bob")
PAIRS, SAME = 60, 0.7
SHOTS = {
    "serve-judge": ("/r/1/judge", (1280, 900)),
    "serve-judge-phone": ("/r/1/judge", (390, 844)),
    "serve-agreement": ("/r/1/agreement", (1280, 1500)),
}
"""The path of the page, and the size of the picture."""


def main() -> None:
    """Lets two people judge, opens each page at its size, and keeps what is seen."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serve_screenshots", description=__doc__)
    parser.add_argument("results", metavar="RESULTS", help="a folder that `rankproof run` wrote, with unjudged pairs")
    results = parser.parse_args().results
    with tempfile.TemporaryDirectory() as folder, browser() as running:
        file = Path(folder, "my.qrels")
        judge_at_random(results, file)
        with served(results, "--judge", str(file), "--assessor", ",".join(PEOPLE)) as address:
            for name, (path, size) in SHOTS.items():
                shoot(running, address, name, path, size)


def judge_at_random(results: str, file: Path) -> None:
    """The first pairs of the queue get the grades of two people, most of them the same."""
    found, draw, log = load_results(results), random.Random(0), JudgementLog(str(file))
    pairs = list(build_queue(found, DocumentTexts()).items)[:PAIRS]
    if not pairs:
        raise SystemExit(f"{results} has no unjudged pairs")
    for pair in pairs:
        grade = draw.choice((0, 0, 1, 2, 3))
        log.judge(pair, grade, found.fingerprint, PEOPLE[0])
        log.judge(pair, grade if draw.random() < SAME else draw.randrange(4), found.fingerprint, PEOPLE[1])
    log.close()


def shoot(running: Any, address: str, name: str, path: str, size: tuple[int, int]) -> None:
    """A picture of a page, in a new browser of the last person."""
    with opened(running, address, size, "light") as view:
        base = address.partition("/?")[0]
        view.goto(f"{base}/r/1/judge")
        view.get_by_role("button", name=PEOPLE[-1]).click()
        view.get_by_text(f"assessor {PEOPLE[-1]}").wait_for()
        view.goto(f"{base}{path}")
        view.screenshot(path=IMAGES / f"{name}.png")
    finish_picture(IMAGES / f"{name}.png", mark=False)


if __name__ == "__main__":
    main()
