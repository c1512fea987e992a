"""Pictures as files: the same bytes each time, well-formed, and nothing in them that runs."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET
from hashlib import sha256

import matplotlib
import pytest

from rankproof._analysis.inputs import input_from_results
from rankproof._charts.figure import Format
from rankproof._plots.charts import draw_pdf, draw_plots
from rankproof._plots.registry import PLOT_KINDS
from rankproof._plots.settings import PlotSettings
from rankproof.errors import MissingExtraError
from support.paths import SOURCE, TESTS
from support.plot_results import hostile_results, wide_input

SMALL = PlotSettings(dpi=50)
SVG = "{http://www.w3.org/2000/svg}"
ALONE = """
import sys
from hashlib import sha256
from support.plot_results import wide_input
from rankproof._plots.charts import draw_plots
from rankproof._plots.settings import PlotSettings
assert "matplotlib" not in sys.modules
import matplotlib
raw = lambda: {name: dict.__getitem__(matplotlib.rcParams, name) for name in matplotlib.rcParams}
before = raw()
found = draw_plots(wide_input(3, 12), sys.argv[2:], PlotSettings(dpi=50), sys.argv[1])
assert raw() == before
assert "matplotlib.pyplot" not in sys.modules
for one in found: print(one.name, sha256(one.content).hexdigest())
"""


@pytest.mark.slow
@pytest.mark.parametrize(("format", "kinds"), [("png", ["recall", "latency"]), ("svg", list(PLOT_KINDS)), ("pdf", ["pareto"])])
def test_another_process_draws_the_same_bytes_without_a_display_or_a_global_change(format: Format, kinds: list[str]) -> None:
    found = draw_plots(wide_input(3, 12), kinds, SMALL, format)
    mine = "".join(f"{one.name} {sha256(one.content).hexdigest()}\n" for one in found)
    done = subprocess.run(
        [sys.executable, "-c", ALONE, format, *kinds],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": f"{TESTS}:{SOURCE.parent}", "PYTHONHASHSEED": "5", "MPLCONFIGDIR": matplotlib.get_configdir()},
    )
    assert done.stdout == mine, done.stderr


@pytest.mark.slow
def test_one_file_holds_every_page_and_has_the_same_bytes_each_time() -> None:
    inputs = wide_input(2, 4)
    first, again = (draw_pdf(inputs, ["recall", "latency"], SMALL) for _ in range(2))
    assert first.content == again.content
    assert first.content.count(b"/Type /Page ") == 2
    assert b"CreationDate" not in first.content


@pytest.mark.slow
def test_an_svg_with_hostile_names_is_well_formed_and_holds_nothing_that_runs() -> None:
    shapes = ("svg", "title", "metadata", "defs", "style", "g", "path", "use", "clipPath", "rect", "image", "pattern")
    drawn = {f"{SVG}{name}" for name in shapes}
    for one in draw_plots(input_from_results(hostile_results()), list(PLOT_KINDS), SMALL, "svg"):
        elements = list(ET.fromstring(one.content).iter())
        assert {element.tag for element in elements if element.tag.startswith(SVG)} <= drawn
        assert not [name for element in elements for name in element.attrib if name.lower().startswith("on")]
        links = [value for element in elements for name, value in element.attrib.items() if name.endswith("href")]
        assert all(link.startswith(("#", "data:image/png")) for link in links)


def test_a_missing_library_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"rankproof\[plot\]"):
        draw_plots(wide_input(2, 2), ["bars"], SMALL, "png")
