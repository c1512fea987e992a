"""Bands: the bounds of the sources, own profiles, and errors that name the line."""

import re
from pathlib import Path

import pytest

import rankproof as rp
from rankproof._analysis.bands import BandProfile, QualityBand, bands_tables, profiles_from_toml
from rankproof._cli.options import known_profiles
from rankproof._io.toml_file import read_toml
from rankproof.errors import InputError, UsageError
from rankproof.measures import parse_measure
from support.analysis_inputs_with_texts import input_of, one_target, ranked_at
from support.paths import DOCS


@pytest.mark.parametrize(
    ("measure", "value", "band"),
    [
        ("Success@1", 0.0, "Poor"),
        ("Success@1", 0.29, "Poor"),
        ("Success@1", 0.35, "Poor"),
        ("Success@1", 0.40, "Acceptable"),
        ("Success@1", 0.50, "Good"),
        ("Success@1", 0.62, "Good"),
        ("Success@1", 0.65, "Good"),
        ("Success@1", 0.6501, "Excellent"),
        ("Success@3", 0.85, "Good"),
        ("Success@5", 0.73, "Acceptable"),
        ("Success@5", 0.80, "Good"),
        ("Success@5", 0.90, "Good"),
        ("Success@10", 0.85, "Good"),
        ("Success@10", 0.96, "Excellent"),
    ],
)
def test_the_tutorials_bands_are_inclusive_below_and_its_excellent_is_strict(measure: str, value: float, band: str) -> None:
    found = known_profiles()["tutorial"].band(measure, value)
    assert found is not None
    assert found.name == band


@pytest.mark.parametrize(
    ("measure", "value", "band"),
    [
        ("RR", 0.3025, "Fair"),
        ("RR@10", 0.4392, "Fair"),
        ("RR", 0.495, "Fair"),
        ("RR", 0.90, "Excellent"),
        ("R@10", 0.47, "Fair"),
        ("R@10", 0.70, "Good"),
        ("F1(tokens='set')", 0.05, "Poor"),
        ("F1(tokens='set')", 0.80, "Excellent"),
    ],
)
def test_the_rag_bands_leave_no_gap(measure: str, value: float, band: str) -> None:
    found = known_profiles()["rag"].band(measure, value)
    assert found is not None
    assert found.name == band


def test_what_counts_as_relevant_does_not_change_the_bands() -> None:
    profile = known_profiles()["tutorial"]
    assert profile.bands_of(parse_measure("Success(rel=2)@5")) == profile.bands_of("Success@5")


def test_a_measure_that_the_profile_lacks_has_no_band() -> None:
    assert known_profiles()["tutorial"].band("nDCG@10", 0.5) is None


def test_an_own_profile_is_read_with_any_spelling_of_a_measure(tmp_path: Path) -> None:
    path = tmp_path / "bands.toml"
    path.write_text('[shop]\nsource = "our targets"\n[shop.measures.ndcg_cut_10]\nlow = 0\nfine = 0.3\n')
    profile = profiles_from_toml(read_toml(path))["shop"]
    band = profile.band("nDCG@10", 0.3)
    assert band is not None
    assert band.name == "fine"
    assert profile.band("nDCG@10", -0.1) is None


HEAD = '[shop]\nsource = "x"\n'


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("", None, "the file has no profile"),
        ("shop = 1\n", 1, "shop is not a profile"),
        ('[shop]\n[shop.measures."RR"]\nPoor = 0\n', 1, "shop has no source"),
        (HEAD, 1, "shop has no measure"),
        (f"{HEAD}title = 1\n", 3, "unknown key title"),
        (f'{HEAD}[shop.measures."nDGC@10"]\nPoor = 0\n', 3, "unknown measure nDGC"),
        (f'{HEAD}[shop.measures."RR"]\n', 3, "RR has no band"),
        (f'{HEAD}[shop.measures."RR"]\nPoor = 0\nGood = "0.5"\n', 5, "the lower bound of Good is not a number"),
        (f'{HEAD}[shop.measures."RR"]\nPoor = true\n', 4, "the lower bound of Poor is not a number"),
        (f'{HEAD}[shop.measures."RR"]\nPoor = nan\n', 4, "the lower bound of Poor is nan, but RR is from 0 to 1"),
        (f'{HEAD}[shop.measures."DCG@10"]\nPoor = 1e309\n', 4, "the lower bound of Poor is inf, but DCG@10 is from 0 to inf"),
        (f'{HEAD}[shop.measures."DCG@10"]\nPoor = 1{"0" * 400}\n', 4, "the lower bound of Poor is inf"),
        (f'{HEAD}[shop.measures."nDCG@10"]\nGood = 80\n', 4, "the lower bound of Good is 80, but nDCG@10 is from 0 to 1"),
        (f'{HEAD}[shop.measures."RR"]\n" " = 0\n', 4, "a band has an empty name"),
        (f'{HEAD}[shop.measures."P(rel=2)@10"]\nPoor = 0\n', 3, "P(rel=2)@10 has a relevance threshold"),
        (
            f'{HEAD}[shop.measures."RR"]\nx = {{ from = 0, rating = "good" }}\ny = 0.5\nz = {{ from = 1, rating = "failing" }}\n',
            6,
            "z is failing, but x below it is good",
        ),
        (f'{HEAD}[shop.measures."RR"]\nGood = 0.5\nPoor = 0\n', 5, "Poor does not begin above Good"),
        (f'{HEAD}[shop.measures."RR"]\nGood = 0.5\nBest = {{ above = 0.5 }}\n[shop.measures.mrr]\nPoor = 0\n', 6, "mrr means RR"),
        (f'{HEAD}[shop.measures."RR, RR@10"]\nPoor = 0\n[shop.measures.mrr]\nPoor = 0\n', 5, "mrr means RR"),
        (f'{HEAD}[shop.measures."RR".Poor]\nfrom = 0\nabove = 0\n', 3, "Poor has both from and above"),
        (f'{HEAD}[shop.measures."RR".Poor]\nmeans = "bad"\n', 3, "Poor has no lower bound"),
        (f'{HEAD}[shop.measures."RR".Poor]\nfrom = 0\ncolour = "red"\n', 5, "unknown key colour"),
        (f'{HEAD}[shop.measures."RR".Poor]\nfrom = 0\nrating = "bad"\n', 5, "the rating of Poor is bad"),
        (f'{HEAD}[shop.measures."RR".Poor]\nfrom = 0\nmeans = 1\n', 5, "means is not a line of text"),
        (f'{HEAD}[shop.measures."RR".Poor]\nfrom = 0\nnext = " "\n', 5, "next is not a line of text"),
        ("[shop\n", 1, "not TOML"),
    ],
)
def test_a_wrong_profile_is_refused_with_its_line(tmp_path: Path, text: str, line: int | None, what: str) -> None:
    path = tmp_path / "bands.toml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        profiles_from_toml(read_toml(path))
    assert what in caught.value.what
    assert caught.value.line == line
    assert caught.value.fix


def test_the_fix_for_a_percentage_and_the_example_are_right(tmp_path: Path) -> None:
    path = tmp_path / "bands.toml"
    path.write_text(f'{HEAD}[shop.measures."Success@5"]\nGood = 80\n')
    with pytest.raises(InputError, match=r"write a number in this range; 80% is 0\.80"):
        profiles_from_toml(read_toml(path))
    path.write_text("")
    with pytest.raises(InputError) as caught:
        profiles_from_toml(read_toml(path))
    assert caught.value.fix is not None
    header, source, table, low, high = re.findall(r'\[\S+\]|\w+ = (?:"[^"]*"|[\d.]+)', caught.value.fix)
    path.write_text("\n".join((header, source, table, low, high)))
    assert list(profiles_from_toml(read_toml(path))["name"].measures) == ["Success@5"]


@pytest.mark.parametrize("profile", known_profiles().values(), ids=lambda profile: profile.name)
def test_every_band_of_a_built_in_profile_says_what_it_means_and_what_to_do(profile: BandProfile) -> None:
    order = ("failing", "weak", "good")
    for measure, bands in profile.measures.items():
        assert all(band.means and band.next_step for band in bands), measure
        places = [order.index(str(band.rating)) for band in bands]
        assert places == sorted(places)
        assert {places[0], places[-1]} == {0, 2}
        assert len({band.means for band in bands}) == len(bands)
        assert all(not text.endswith(".") and len(text) < 160 for band in bands for text in (band.means, band.next_step))


def test_one_table_can_be_the_bands_of_several_measures() -> None:
    rag = known_profiles()["rag"]
    assert rag.measures["RR"] == rag.measures["RR@10"]


def test_functions_take_profiles_by_name_and_bands_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "bands.toml"
    path.write_text(f'{HEAD}[shop.measures."RR"]\nlow = 0\n')
    qrels, run = one_target(["q1", "q2"]), {"q1": {"d1": 1.0}, "q2": {"d1": 1.0}}
    made = rp.baselines(qrels, run, profile=["rag"])
    assert [table.name for table in made.tables if "band" in table.name] == ["bands rag", "band meanings rag"]
    assert rp.baselines(qrels, run, bands=path).table("bands shop").facts["source"] == "x"
    assert rp.segments(qrels, run, "RR", by="relevant", bands=path).tables[0].facts["profile"] == "shop"
    assert "profile" not in rp.segments(qrels, run, "RR", by="relevant", profile="tutorial").tables[0].facts
    with pytest.raises(UsageError, match="no profile is called shop; choose from: tutorial, rag"):
        rp.segments(qrels, run, profile="shop")


def test_own_bands_may_say_what_they_mean(tmp_path: Path) -> None:
    path = tmp_path / "bands.toml"
    path.write_text(
        f'{HEAD}[shop.measures."RR"]\nlow = 0\n[shop.measures."RR".high]\nabove = 0.5\nrating = "good"\n'
        'means = " Fine. "\nnext = "Ship it"\n'
    )
    low, high = profiles_from_toml(read_toml(path))["shop"].measures["RR"]
    assert low == QualityBand("low", 0.0)
    assert high == QualityBand("high", 0.5, True, "good", "Fine", "Ship it")


def test_the_meanings_that_a_system_reaches_are_a_table_of_the_details() -> None:
    ranks = {f"q{at}": 1 if at < 6 else None for at in range(10)}
    inputs = input_of(one_target(list(ranks)), {"one": ranked_at(ranks), "<b>two": ranked_at(dict.fromkeys(ranks, 1))})
    _, table = bands_tables(inputs, known_profiles()["tutorial"])
    assert table.summarised() is None
    rows = {(row["band"], row["systems"]): row for row in table.records()}
    assert str(rows["Success@5 Poor", "one"]["meaning"]).startswith("More than three of ten searches fail")
    assert ("Success@5 Excellent", "<b>two") in rows
    assert all(row["what to do next"] for row in table.records())


def test_every_measure_of_one_table_of_bands_is_shown_and_one_without_a_cutoff_beside_one_with_it_is_named(
    tmp_path: Path,
) -> None:
    path = tmp_path / "bands.toml"
    path.write_text(f'{HEAD}[shop.measures."Success@1, Success@5"]\nlow = 0\n[shop.measures."RR, RR@10"]\nlow = 0\n')
    inputs = input_of(one_target(["q"]), {"one": ranked_at({"q": 1})})
    (table,) = bands_tables(inputs, profiles_from_toml(read_toml(path))["shop"])
    names = [column.name for column in table.columns if column.name.endswith(" band")]
    assert names == ["Success@1 band", "Success@5 band", "RR@10 band"]
    assert "RR, RR@10: low from 0." in table.sentences


def test_a_profile_without_meanings_has_no_such_table(tmp_path: Path) -> None:
    path = tmp_path / "bands.toml"
    path.write_text(f'{HEAD}[shop.measures."RR"]\nlow = 0\n')
    inputs = input_of(one_target(["q"]), {"one": ranked_at({"q": 1})})
    (table,) = bands_tables(inputs, profiles_from_toml(read_toml(path))["shop"])
    assert table.name == "bands shop"


def test_the_page_of_baselines_has_an_own_profile_that_is_read(tmp_path: Path) -> None:
    page = (DOCS / "baselines.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    path = tmp_path / "ours.toml"
    path.write_text(example)
    band = profiles_from_toml(read_toml(path))["shop"].band("nDCG@10", 0.55)
    assert band is not None
    assert band.name == "fine"
