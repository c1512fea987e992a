"""Made-up texts and datasets for benchmarks on a GPU: words of a WordPiece vocabulary, drawn by Zipf's law."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from multiprocessing import Pool
from pathlib import Path

import numpy as np

RARE_SHARE = 0.15
"""The share of words that are joined from two words, so that a word has about 1.2 tokens as in English."""


class Words:
    """The words of a tokenizer.json, most probable first."""

    def __init__(self, tokenizer: Path) -> None:
        vocabulary = json.loads(tokenizer.read_text(encoding="utf-8"))["model"]["vocab"]
        self._words = [word for word in sorted(vocabulary, key=vocabulary.get) if word.isascii() and word.isalpha()]
        self._share = np.cumsum(1 / (np.arange(len(self._words)) + 3.0))

    def texts(self, count: int, length: int, *, seed: int) -> list[str]:
        """So many texts of `length` words."""
        return [text for start in range(0, count, 1000) for text in self._some(min(1000, count - start), length, (seed, start))]

    def varied(self, count: int, least: int, most: int, *, seed: int) -> list[str]:
        """So many texts of `least` to `most` words."""
        lengths = np.random.default_rng((seed, 0)).integers(least, most + 1, count)
        whole = self.texts(count, most, seed=seed)
        return [" ".join(text.split(" ", length)[:length]) for text, length in zip(whole, lengths.tolist(), strict=True)]

    def _some(self, count: int, length: int, seed: tuple[int, int]) -> list[str]:
        dice = np.random.default_rng(seed)
        chosen = np.searchsorted(self._share, dice.random((count, length)) * self._share[-1])
        joined = dice.random((count, length)) < RARE_SHARE
        words, spaces = self._words, np.where(joined, 0, 1).tolist()
        return [
            "".join([words[word] + " " * space for word, space in zip(row, between, strict=True)]).strip()
            for row, between in zip(chosen.tolist(), spaces, strict=True)
        ]


@dataclass(frozen=True)
class PassageFile:
    """Writes one part of a corpus: the documents from `start` to `end`."""

    tokenizer: Path
    folder: Path
    least: int
    most: int

    def __call__(self, span: tuple[int, int]) -> Path:
        """The file with the documents."""
        path, words = self.folder / f"part-{span[0]:09}.jsonl", Words(self.tokenizer)
        with path.open("w", encoding="ascii") as out:
            for start in range(*span, 10_000):
                texts = words.varied(min(10_000, span[1] - start), self.least, self.most, seed=start + 1)
                out.writelines(f'{{"_id": "p{start + at}", "title": "", "text": "{text}"}}\n' for at, text in enumerate(texts))
        return path


def make_dataset(folder: Path, tokenizer: Path, documents: int, queries: int, *, cores: int) -> int:
    """A dataset of passages of about 75 tokens; a query is a part of a passage, which is relevant. Returns the corpus' bytes."""
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    size = -(-documents // (4 * cores) // 10_000) * 10_000 or 10_000
    spans = [(start, min(documents, start + size)) for start in range(0, documents, size)]
    chosen = np.random.default_rng(7).choice(documents, queries, replace=False)
    with Pool(cores) as pool, (folder / "corpus.jsonl").open("wb") as corpus:
        for path in pool.imap(PassageFile(tokenizer, folder, 37, 97), spans):
            with path.open("rb") as part:
                shutil.copyfileobj(part, corpus, 1 << 24)
            path.unlink()
    _write_queries(folder, sorted(chosen.tolist()))
    return (folder / "corpus.jsonl").stat().st_size


def _write_queries(folder: Path, chosen: list[int]) -> None:
    """Eight words of each chosen passage."""
    wanted, texts = set(chosen), {}
    with (folder / "corpus.jsonl").open("rb") as lines:
        for number, line in enumerate(lines):
            if number in wanted:
                texts[number] = " ".join(json.loads(line)["text"].split()[10:18])
    with (folder / "queries.jsonl").open("w", encoding="ascii") as out:
        out.writelines(json.dumps({"_id": f"q{number}", "text": text}) + "\n" for number, text in texts.items())
    rows = "".join(f"q{number}\tp{number}\t1\n" for number in texts)
    (folder / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{rows}", encoding="ascii")
