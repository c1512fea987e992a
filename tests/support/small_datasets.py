"""A small dataset of kitchen help pages with judged queries."""

from __future__ import annotations

from rankproof._data.corpus import Corpus, Document
from rankproof._data.dataset import Dataset, Queries, Query
from rankproof._data.qrels import Qrels

PAGES = {
    "hob": (
        "The induction hob hums",
        "A humming sound on the hob comes from layered pans that vibrate in the kitchen and the magnetic field of its coil.",
    ),
    "dough": (
        "Resting dough",
        "Let the dough rest for 45 minutes in a covered bowl in the kitchen in order to relax gluten before shaping.",
    ),
    "knife": (
        "Sharpening a knife",
        "Draw the blade along the whetstone at 15 degrees on a kitchen towel, until Solingen steel shaves paper.",
    ),
    "jam": (
        "Setting jam",
        "Boil strawberries with sugar and lemon until drops wrinkle on a cold kitchen plate; pectin then holds the jam.",
    ),
    "rice": (
        "Rice for sushi",
        "Rinse short grain rice until water in the kitchen runs clear, steam it, then fold in vinegar, as in 1987.",
    ),
    "oven": (
        "Cleaning an oven",
        "Spread a paste of baking soda on kitchen enamel overnight and wipe grease off; pyrolysis burns residue to ash.",
    ),
}
ASKED = {"q1": "why does my hob make noise", "q2": "how long should dough rest", "q3": "sharp blade", "q4": "jam will not set"}
RELEVANT = {"q1": "hob", "q2": "dough", "q3": "knife", "q4": "jam"}


def small_corpus() -> Corpus:
    return Corpus((Document(doc, text, title) for doc, (title, text) in PAGES.items()), source="small corpus")


def small_dataset() -> Dataset:
    queries = Queries(Query(query, text) for query, text in ASKED.items())
    return Dataset("small", small_corpus(), queries, Qrels.from_dict({query: {doc: 1} for query, doc in RELEVANT.items()}))
