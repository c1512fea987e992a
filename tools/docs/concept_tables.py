"""Tables of pages on concepts: the sample in numbers, gains, default measures, bands, rules of diagnosis, complexity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import mean

import rankproof as rp
from rankproof._analysis import query_groups
from rankproof._analysis.bands import Bands
from rankproof._analysis.diagnose.diagnose import RULES
from rankproof._cli.options import known_profiles
from rankproof._statistics.agreement import RatedItem, kappa
from rankproof.measures import default_measures

from .part_tables import table

_QUESTIONS = {
    "nDCG@10": "are the best documents first? It uses grades and every rank to 10, so it decides",
    "nDCG(gain='exp')@10": "the same, with most of the weight on the highest grade; only if there are grades above 1",
    "RR@10": "how far down is the first relevant document?",
    "R@100": "does retrieval find what a later stage can use?",
    "P@10": "how much of the first page is relevant? It counts every grade alike",
    "Success@1": "is the first document relevant?",
    "Success@3": "is any of the first three?",
    "Success@5": "is any of the first five?",
    "Success@10": "is any on the first page? A hit at rank 1 and at rank 10 count the same",
}
_COMPLEX_QUERIES = (
    "coffee maker",
    "dutch oven 28 cm",
    "turkey of no more than 5 kg",
    "kettle with adjustable temperature for green tea",
    'category:pans "cast iron" -aluminium',
    "present for a friend who keeps burning herself when lifting hot trays",
)
_CLASSES = ("simple", "moderate", "complex")


def sample_counts() -> str:
    """What the sample has, in numbers."""
    data = rp.read_dataset("sample")
    documents, queries = list(data.corpus.values()), list(data.queries.values())
    words = [len(record.text.split()) for record in documents]
    chunks = [count for count in Counter(record.fields["url"] for record in documents).values() if count > 1]
    lengths = [len(query.text.split()) for query in queries]
    grades = Counter(grade for docs in data.qrels.values() for grade in docs.values())
    useful = [sum(grade > 0 for grade in docs.values()) for docs in data.qrels.values()]
    pages = len({record.fields["url"] for record in documents})
    all_exact = "every query has" if all(3 in docs.values() for docs in data.qrels.values()) else "not every query has"
    rows = {
        "documents": f"{len(documents)}: {_counted(record.fields['category'] for record in documents)}; "
        f"{min(words)} to {max(words)} words each; {sum(not record.title for record in documents)} have no title",
        "pages": f"{pages} urls; {len(chunks)} longer pages are cut into {min(chunks)} to {max(chunks)} chunks "
        f"({sum(chunks)} documents, ids `page#1`, `page#2`…) that share a url",
        "queries": f"{len(queries)}: {_counted(query.fields['category'] for query in queries)}",
        "complexity": _counted((query.fields["complexity"] for query in queries), _CLASSES),
        "length": f"{sum(n < 8 for n in lengths)} under 8 words, {sum(8 <= n <= 15 for n in lengths)} of 8 to 15, "
        f"{sum(n > 15 for n in lengths)} longer",
        "reference answers": str(sum(bool(query.fields.get("answers")) for query in queries)),
        "judgements": f"{sum(grades.values()):,}: " + ", ".join(f"{grades[grade]:,} of grade {grade}" for grade in (3, 2, 1, 0)),
        "relevant documents per query": f"{min(useful)} to {max(useful)}, {mean(useful):.1f} on average; "
        f"{all_exact} at least one of grade 3",
    }
    return "| what | count |\n|---|---|\n" + "\n".join(f"| {name} | {value} |" for name, value in rows.items())


def _counted(values: Iterable[object], names: Sequence[str] = ()) -> str:
    """Each value with its number, in the order of the names, else the most frequent first."""
    counts = Counter(map(str, values))
    in_order = sorted(counts, key=names.index) if names else [name for name, _ in counts.most_common()]
    return ", ".join(f"{counts[name]:,} {name}" for name in in_order)


def default_measures_table() -> str:
    """The default measures, each with its question."""
    return table(("measure", "question"), ((f"`{measure}`", _QUESTIONS[str(measure)]) for measure in default_measures(3)))


def gains() -> str:
    """The gain of each grade."""
    rows = ["| grade | linear | exponential |", "| ---: | ---: | ---: |"]
    for grade in range(4):
        names = ("DCG@1", "DCG(gain='exp')@1")
        values = rp.evaluate({"q": {"d": grade}}, {"q": {"d": 1.0}}, names).means["run"].values()
        rows.append(f"| {grade} | {' | '.join(f'{value:.0f}' for value in values)} |")
    return "\n".join(rows)


def bands_table(*profiles: str) -> str:
    """The bands of profiles by rating, one row for measures with the same bands."""
    rows = ["| profile | measure | failing | weak | good |", "| :--- | :--- | :--- | :--- | :--- |"]
    for profile in profiles:
        measures_of: dict[Bands, list[str]] = {}
        for measure, bands in known_profiles()[profile].measures.items():
            measures_of.setdefault(bands, []).append(f"`{measure}`")
        for bands, measures in measures_of.items():
            by_rating: dict[str, list[str]] = {"failing": [], "weak": [], "good": []}
            for band in bands:
                assert band.rating is not None, "the built-in bands of these profiles are rated"
                by_rating[band.rating].append(f"{band.name} {'above' if band.strict else 'from'} {band.bound:.2f}")
            rows.append(f"| {profile} | {', '.join(measures)} | {' | '.join(map(', '.join, by_rating.values()))} |")
    return "\n".join(rows)


def rules_table() -> str:
    """The rules of diagnosis."""
    rows = ["| rule | applies if | meaning | what to do |", "| :--- | :--- | :--- | :--- |"]
    rows += [f"| {rule.name} | {', '.join(map(str, rule.conditions))} | {rule.means} | {rule.action} |" for rule in RULES]
    return "\n".join(rows)


def complexity_table() -> str:
    """Queries with their constraints as they are counted."""
    rows = ["| query | constraints after the topic | count | class |", "| :--- | :--- | ---: | :--- |"]
    for text in _COMPLEX_QUERIES:
        constraints = " · ".join(" ".join(marker.text for marker in run) for run in query_groups.constraint_markers(text))
        rows.append(f"| {text} | {constraints} | {query_groups.count_constraints(text)} | {_counted_class(text)} |")
    return "\n".join(rows)


def complexity_agreement() -> dict[str, float]:
    """How far counted complexity agrees with the field of the sample: equal queries, all, kappa, and those counted lower."""
    pairs = [(query.fields["complexity"], _counted_class(query.text)) for query in rp.read_dataset("sample").queries.values()]
    rated = [
        RatedItem(str(place), _CLASSES.index(str(field)), _CLASSES.index(counted)) for place, (field, counted) in enumerate(pairs)
    ]
    return {
        "same": sum(field == counted for field, counted in pairs),
        "all": len(pairs),
        "kappa": kappa(rated).value,
        "lower": sum(item.second < item.first for item in rated),
        "simple as complex": pairs.count(("simple", "complex")),
    }


def _counted_class(text: str) -> str:
    return (query_groups.complexity_of(text) or "none").split()[0]
