"""An encoder with and without prompts before queries and passages, measured on the built-in sample with intervals.

Asymmetric encoders (E5, BGE, Jina) were trained with a prompt before each query and each passage, and need it. Put the same
prompts before the texts of a model that never saw any, and they are noise. Neither MiniLM nor wordllama was trained with
prompts, so the demo shows what a prompt does to a model it is not for; name one that was, as ORGANISATION/MODEL or a folder:

    python demos/embeddings_with_prompts.py                         # wordllama: rankproof models get wordllama
    python demos/embeddings_with_prompts.py minilm                  # after: rankproof models get minilm
    python demos/embeddings_with_prompts.py intfloat/e5-small-v2    # downloads it
"""

from __future__ import annotations

import sys

import rankproof as rp
from rankproof._sample import sample_folder
from rankproof.ir_eval import EmbeddingRetriever

PROMPTS = {
    "no prompts": ("", ""),
    "query/passage": ("query: ", "passage: "),
    "sentences": ("Represent this query for retrieving relevant documents: ", "Represent this document for retrieval: "),
}
UNPROMPTED = ("wordllama", "minilm")


def main(model: str) -> None:
    """Prints the demo."""
    with sample_folder() as folder:
        data = rp.read_dataset(folder)
    runs = {name: run_of(data, model, *prompts) for name, prompts in PROMPTS.items()}
    result = rp.evaluate(data.qrels, runs, ["nDCG@10", "RR@10"])
    print(f"Encoder {model} on {len(data.corpus)} documents and {len(data.queries)} queries of the sample\n")
    for name, (query, passage) in PROMPTS.items():
        print(f"{name:<16}nDCG@10 {result.means[name]['nDCG@10']:.4f}   RR@10 {result.means[name]['RR@10']:.4f}")
        print(f"{'':<16}before a query {query!r}, before a passage {passage!r}")
    print()
    verdicts, *_ = rp.compare(result, baseline="no prompts", measures=["nDCG@10"])
    print("\n".join(verdicts.sentences))
    print(f"\n{conclusion(model)}")


def run_of(data: rp.Dataset, model: str, query_prompt: str, passage_prompt: str) -> dict[str, dict[str, float]]:
    """The encoder's rankings of every query, 100 deep."""
    retriever = EmbeddingRetriever(model, query_prompt=query_prompt, passage_prompt=passage_prompt).fit(data.corpus)
    return {query: dict(retriever.rank(text.text, k=100)) for query, text in data.queries.items()}


def conclusion(model: str) -> str:
    """What a reader may take from it."""
    if model in UNPROMPTED:
        return (
            f"{model} was not trained with prompts: whatever they change here is the change of words that it never learned to\n"
            "read as a role, and no evidence for or against prompts. Gains reported for asymmetric encoding are those of models\n"
            "that were trained with it. Use the prompts that a model's makers name, and none where they name none."
        )
    return f"Whether {model} was trained with prompts, and with which, its makers say; with others the numbers above mean little."


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else UNPROMPTED[0])
