"""An encoder with and without prompts before queries and passages, on the built-in sample, with confidence intervals.

Some encoders (E5, BGE, Jina) were trained with a prompt before each query and passage, and need it. For a model that was not, a
prompt is noise. Neither MiniLM nor wordllama was trained with prompts; to try a model that was, give ORGANISATION/MODEL or a
folder:

    python demos/embeddings_with_prompts.py                         # wordllama: rankproof models get wordllama
    python demos/embeddings_with_prompts.py minilm                  # after: rankproof models get minilm
    python demos/embeddings_with_prompts.py intfloat/e5-small-v2    # downloads it
"""

from __future__ import annotations

import sys

import rankproof as rp
from rankproof.ir_eval import EmbeddingRetriever

PROMPTS = {
    "no prompts": ("", ""),
    "query/passage": ("query: ", "passage: "),
    "sentences": ("Represent this query for retrieving relevant documents: ", "Represent this document for retrieval: "),
}
UNPROMPTED = ("wordllama", "minilm")


def main(model: str) -> None:
    """Prints the demo."""
    data = rp.read_dataset("sample")
    runs = {name: run_of(data, model, *prompts) for name, prompts in PROMPTS.items()}
    result = rp.evaluate(data.qrels, runs, ["nDCG@10", "RR@10"])
    print(f"Encoder {model} on {len(data.corpus)} documents and {len(data.queries)} queries of the sample\n")
    for name, (query, passage) in PROMPTS.items():
        print(f"{name:<16}nDCG@10 {result.means[name]['nDCG@10']:.4f}   RR@10 {result.means[name]['RR@10']:.4f}")
        print(f"{'':<16}before a query {query!r}, before a passage {passage!r}")
    print()
    comparison = rp.compare(result, baseline="no prompts", measures=["nDCG@10"])
    print("\n".join(comparison.tables[0].sentences))
    print(f"\n{conclusion(model)}")


def run_of(data: rp.Dataset, model: str, query_prompt: str, passage_prompt: str) -> dict[str, dict[str, float]]:
    """The first 100 documents of every query."""
    retriever = EmbeddingRetriever(model, query_prompt=query_prompt, passage_prompt=passage_prompt).fit(data.corpus)
    return {query: dict(retriever.rank(text.text, k=100)) for query, text in data.queries.items()}


def conclusion(model: str) -> str:
    """What the numbers mean."""
    if model in UNPROMPTED:
        return (
            f"{model} was not trained with prompts: the differences above say nothing about models that were.\n"
            "Use the prompts that the model card names, and none otherwise."
        )
    return f"Check the model card of {model} for its prompts; with other prompts the numbers above mean little."


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else UNPROMPTED[0])
