"""BM25 explained: two small documents first, then a real query of the built-in sample.

A score is the sum over the query's words of idf x tf (k1 + 1) / (tf + k1 (1 - b + b length / mean length)). The demo prints each
factor, computes it by hand, and compares the sum with the score of rankproof's index.
"""

from __future__ import annotations

import math

import rankproof as rp
from rankproof.ir_eval import BM25Retriever

LETTERS = {"d1": "a a b", "d2": "b c"}
QUERY = "a b"
K1, B = 1.5, 0.75
REAL_QUERY = "induction hob shows E0"


def main() -> None:
    """Prints the demo."""
    print(worked_example())
    print(saturation())
    print(real_query())


def worked_example() -> str:
    """The two documents: every factor of every term, by hand and from the index."""
    # "a" is an English stop word, so stop words are off.
    searcher = rp.stages.BM25(K1, B, stop_words=False, stemming=False).index(corpus_of(LETTERS))
    lengths = {doc: len(text.split()) for doc, text in LETTERS.items()}
    mean = sum(lengths.values()) / len(lengths)
    lines = [f"Two documents, mean length {mean}, and the query {QUERY!r}; k1 = {K1}, b = {B}", ""]
    for doc, text in LETTERS.items():
        lines.append(f"{doc} = {text!r}, length {lengths[doc]}")
        total = 0.0
        for part in searcher.parts(QUERY, doc):
            idf = math.log(1 + (len(LETTERS) - part.df + 0.5) / (part.df + 0.5))
            times = saturated(part.tf, lengths[doc] / mean)
            total += idf * times
            lines.append(
                f"  {part.term}: in {part.df} of {len(LETTERS)} documents, idf {idf:.4f}; occurs {part.tf} x, "
                f"saturated to {times:.4f}; adds {idf * times:.4f}"
            )
        own = sum(part.weight for part in searcher.parts(QUERY, doc))
        lines.append(f"  by hand {total:.4f}, by rankproof {own:.4f}")
    lines += ["", "The rare word decides: b is in both documents and adds little to either.", ""]
    return "\n".join(lines)


def saturated(tf: int, length: float = 1.0) -> float:
    """What tf occurrences count, in a document `length` times as long as the mean."""
    return tf * (K1 + 1) / (tf + K1 * (1 - B + B * length))


def saturation() -> str:
    """What a word adds by number of occurrences and by document length."""
    often = [f"{tf} x {saturated(tf):.2f}" for tf in (1, 2, 3, 5, 10, 100)]
    long = [f"{length:g} x the mean {saturated(1, length):.2f}" for length in (0.5, 1, 2, 4)]
    return "\n".join(
        [
            f"Repeated words saturate (factor of idf, in a document of mean length; at most k1 + 1 = {K1 + 1}):",
            f"  {', '.join(often)}",
            "Long documents are penalised (factor of idf for a word that occurs once):",
            f"  {', '.join(long)}",
            "",
        ]
    )


def real_query() -> str:
    """The first documents for a query of the sample, with what each of its words adds."""
    data = rp.read_dataset("sample")
    query = next(query for query in data.queries.values() if query.text == REAL_QUERY)
    searcher = rp.stages.BM25().index(data.corpus)
    lines = [f"The sample's query {query.text!r} over {len(data.corpus)} documents, with stop words and stemming", ""]
    for doc, score in BM25Retriever().fit(data.corpus).rank(query.text, k=3):
        parts = [part for part in searcher.parts(query.text, doc) if part.tf]
        terms = ", ".join(f"{part.term} {part.weight:.3f} (idf {part.idf:.2f}, {part.tf} x)" for part in parts)
        lines += [f"{score:.4f}  grade {data.qrels[query.id].get(doc, 0)}  {data.corpus[doc].title or doc}", f"        = {terms}"]
    lines += ["", "A code like E0 is in few documents: its idf is the largest, and it finds the page."]
    return "\n".join(lines)


def corpus_of(texts: dict[str, str]) -> rp.Corpus:
    """Texts by id as a corpus."""
    return rp.Corpus(rp.types.Document(doc, text) for doc, text in texts.items())


if __name__ == "__main__":
    main()
