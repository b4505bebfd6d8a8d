"""Slides: decks, figures and their sources; and one deck built, where its tools are.

Building needs node, npm and chromium. The labs and the grader do not, so set-up does not install
them (they are half a gigabyte), and where they are missing the one test that builds is skipped and
names the packages. Where they are there, it has to pass. All else is tested without them.
"""

from __future__ import annotations

import copy
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from support.published_labs import published, row_of

from numalab.errors import NumalabError, UserError
from numalab.installation import Installation, find_installation
from numalab.labs.declaration import Lab
from numalab.teaching.deck import Deck, minutes_of, parse_deck

ROOT = find_installation("gnu").root
SLIDES = ROOT / "slides"
sys.path.insert(0, str(SLIDES))

import deck_build  # noqa: E402
import deck_check  # noqa: E402
import keep_records  # noqa: E402
from deck import with_figures, with_fonts  # noqa: E402
from figures import FIGURES, draw  # noqa: E402
from figures.common import SHIPPED, Sources, busy, picture, style  # noqa: E402
from figures.explorations import read_found  # noqa: E402

NAMES = sorted(path.stem for path in SLIDES.glob("[0-9][0-9]_*.md"))
TEXTS = {name: (SLIDES / f"{name}.md").read_text() for name in NAMES}
DECKS = {name: parse_deck(name, text) for name, text in TEXTS.items()}
each_deck = pytest.mark.parametrize("deck", DECKS.values(), ids=NAMES)


# ---- decks -----------------------------------------------------------------------------


def test_every_published_lab_has_a_deck(labs: dict[str, Lab]) -> None:
    for name in published(labs):
        assert name in NAMES, row_of(name, f"a deck, {name}.md,", "slides/")
    assert {*NAMES} <= {"00_numa_machines", *labs}


@each_deck
def test_a_deck_is_a_lecture(deck: Deck) -> None:
    assert 12 <= len(deck.slides) <= 20
    assert deck.settings["theme"] == "numalab"
    assert deck.settings["math"] == "mathjax"  # KaTeX loads its fonts from another host
    for slide in deck.slides:
        assert slide.title, slide.number
        assert slide.minutes, f"slide {slide.number}: the notes do not begin with minutes"
        assert len(slide.notes) > 60, f"slide {slide.number}: nothing to say"
    assert 40 <= minutes_of(deck.slides) <= 50


@each_deck
def test_a_deck_has_a_lecture_of_20_minutes_in_it(deck: Deck) -> None:
    """With its title and the exercise, whatever the notes say of these."""
    assert 17 <= minutes_of(deck.short) <= 23
    assert deck.short[0] == deck.slides[0] and deck.short[-1] == deck.slides[-1]
    assert len(deck.short) >= 5


@each_deck
def test_a_deck_ends_with_the_exercise(deck: Deck) -> None:
    last = deck.slides[-1]
    assert last.title.startswith("Your turn")
    number = deck.name.partition("_")[0]
    is_opening = deck.name == "00_numa_machines"
    wanted = "./numalab doctor" if is_opening else f"./numalab grade {number}"
    assert wanted in last.text
    for path in re.findall(r"labs/[\w./]+\b", last.text):
        assert (ROOT / path).exists(), path


@each_deck
def test_figures_are_drawn_by_a_script_and_described(deck: Deck) -> None:
    assert set(deck.figures) <= set(FIGURES)
    shown = [slide for slide in deck.slides if "![" in slide.text]
    assert all(slide.figures for slide in shown)
    for alt in re.findall(r"!\[([^\]]*)\]", TEXTS[deck.name]):
        assert len(alt) > 30, alt


def test_no_figure_is_left_over() -> None:
    assert set(FIGURES) == {name for deck in DECKS.values() for name in deck.figures}


@each_deck
def test_measured_numbers_are_those_of_the_kit(deck: Deck) -> None:
    """A number with decimals stands in the lab's text, a machine's file or published.toml."""
    files = [*ROOT.glob("common/machines/*"), SLIDES / "figures" / "published.toml"]
    files += (ROOT / "labs").glob(
        "*/README.md" if deck.name[:2] == "00" else f"{deck.name}/README.md"
    )
    files += (ROOT / "labs" / "01_first_touch").glob("README.md")
    known = set(re.findall(r"\d+(?:\.\d+)?", " ".join(file.read_text() for file in files)))
    allowed = {"4.0", "5.1"}  # a licence, a version of OpenMP
    for slide in deck.slides:
        text = re.sub(r"```.*?```", "", slide.text, flags=re.DOTALL)
        text = re.sub(r"!\[[^\]]*\]", "", text)
        for number in re.findall(r"(?<![\w.])\d+\.\d+", text):
            assert number in known | allowed, f"slide {slide.number}: {number}"


@each_deck
def test_published_numbers_name_their_source(deck: Deck) -> None:
    for slide in deck.slides:
        if re.search(r"\d\.\d{2,}|\| *\d{4,}", slide.text) and not slide.figures:
            worked_out = "$$" in slide.text
            assert "Source" in slide.text or worked_out, slide.number


@each_deck
def test_solutions_are_not_given_away(deck: Deck) -> None:
    """What a solution has and the lab's own text has not, no deck has."""
    lab = ROOT / "labs" / deck.name
    given = (path for place in ("*", "grading/*") for path in lab.glob(place) if path.is_file())
    told = "".join(path.read_text() for path in given if path.name != "hints.md")
    for path in (ROOT / "solutions" / deck.name).glob("*.*"):
        if path.suffix in (".env", ".toml", ".c", ".f90"):
            for line in path.read_text().splitlines():
                line = line.strip()
                if len(line) > 14 and not line.startswith(("#", "!", "/")) and line not in told:
                    assert line not in TEXTS[deck.name], line


def test_parsing() -> None:
    text = (
        "---\ntheme: x\n---\n\n<!-- _class: title -->\n\n# One\n\n<!--\n2 min. Say: this.\n-->\n\n"
        "---\n\n## Two\n\n```\n---\n```\n\n![a b](figures/f.svg)\n\n---\n\n"
        "## Three\n\n<!--\n3 min. Core. Say: that.\n-->\n"
    )
    deck = parse_deck("d", text)
    assert [slide.title for slide in deck.slides] == ["One", "Two", "Three"]
    assert [slide.minutes for slide in deck.slides] == [2, None, 3]
    assert deck.short == (deck.slides[0], deck.slides[2])
    assert (minutes_of(deck.slides), minutes_of(deck.short)) == (5, 5)
    assert [slide.is_core for slide in deck.slides] == [False, False, True]
    assert deck.slides[0].notes == "2 min. Say: this."
    assert deck.figures == ("f",)
    inside = with_figures(text, lambda name: name.encode())
    assert 'src="data:image/svg+xml;base64,Zg==" alt="a b"' in inside
    with pytest.raises(UserError, match="settings"):
        parse_deck("d", "# no settings\n")


# ---- figures --------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def drawn() -> dict[str, Any]:
    sources = Sources()
    with style():
        return {name: function(sources) for name, function in FIGURES.items()}


def test_every_figure_names_its_source(drawn: dict[str, Any]) -> None:
    names = r"Sources?: ([A-Z]+-[A-Z]+)|Recorded on (the virtual )?\w+, |Sketch|Worked out"
    for name, one in drawn.items():
        assert re.match(names, one.source), f"{name}: {one.source}"
    with style():
        for name in ("hlrs_first_touch", "touch_hydra"):
            text = picture(name, drawn[name])
            assert f"<desc>{drawn[name].source}</desc>" in text
            assert "<text" not in text  # letters are shapes, so no font is needed


def test_times_and_virtual_nodes_are_apart(drawn: dict[str, Any], tmp_path: Path) -> None:
    for name, one in drawn.items():
        if any(machine in name for machine in ("nebula", "hydra", "nhm")):
            if one.source.startswith("Recorded"):
                assert "on the virtual " in one.source
        elif one.source.startswith("Recorded"):
            assert "on the virtual " not in one.source
    for lab in ("01_first_touch", "07_hybrid"):
        virtual = next((SHIPPED / lab).glob("c/handout/on_*/evidence.json"))
        real = tmp_path / lab / "c" / "handout" / "evidence.json"
        real.parent.mkdir(parents=True)
        shutil.copyfile(virtual, real)
    for name in ("first_touch_times", "launch_times"):
        with pytest.raises(NumalabError, match="times of a virtual node"):
            FIGURES[name](Sources(tmp_path))


def test_published_figures_show_the_data_files(drawn: dict[str, Any]) -> None:
    about = tomllib.loads((SLIDES / "figures" / "published.toml").read_text())["first_touch"]

    def heights(name: str) -> list[float]:
        return [bar.get_height() for axes in drawn[name].figure.axes for bar in axes.patches]

    times = [about["serial_s"], about["parallel_s"]]
    rates = [about["bytes_moved"] / 1e9 / seconds for seconds in times]
    assert heights("hlrs_first_touch") == pytest.approx(times + rates)
    for name, machine in (("nebula_stream", "nebula"), ("janus_stream", "janus")):
        published = Sources().machine(machine).bandwidths[:2]
        assert heights(name) == [value for one in published for value in one.values]
    labels = [text.get_text() for text in drawn["nebula_stream"].figure.axes[0].texts]
    assert "22721" in labels and "22720" not in labels  # published as 22720.5
    lines = drawn["osu_latency"].figure.axes[0].lines
    latencies = Sources().machine("hydra").latencies
    assert [list(line.get_ydata()) for line in lines] == [list(one.values) for one in latencies]
    bars = [bar.get_width() for bar in drawn["numa_factors"].figure.axes[0].patches]
    assert bars == pytest.approx([140 / 90, 530 / 360, 300 / 220, 380 / 220, 201 / 104])


def test_a_changed_figure_in_a_data_file_changes_the_slide() -> None:
    class Changed(Sources):
        def machine(self, name: str) -> Any:
            machine = super().machine(name)
            first, *rest = machine.bandwidths
            return replace(machine, bandwidths=(replace(first, values=(1, 2, 3, 4)), *rest))

    with style():
        axes = FIGURES["nebula_stream"](Changed()).figure.axes[0]
    assert [bar.get_height() for bar in axes.patches[:4]] == [1, 2, 3, 4]


def test_recorded_times_are_the_records(drawn: dict[str, Any]) -> None:
    record = json.loads((SHIPPED / "07_hybrid/c/handout/evidence.json").read_text())
    for role, line in zip(
        ("submission", "solution"), drawn["launch_times"].figure.axes[0].lines, strict=True
    ):
        best = [
            1e3
            * min(
                sample["elapsed_s"]
                for sample in run["samples"]
                if sample["role"] == role and (sample["cut"] or not sample["warm_up"])
            )
            for run in record["runs"]
            if run["kind"] == "generation" and run["slow"] == "compared/newcomer.toml"
        ]
        assert list(line.get_ydata()) == pytest.approx(best)


def test_records_do_not_show_the_solutions_launches() -> None:
    for path in SHIPPED.glob("*/c/*/**/evidence.json"):
        for run in json.loads(path.read_text())["runs"]:
            if run["kind"] in ("ranks", "binding"):
                assert run["role"] == "submission", path


def test_records_are_kept_with_what_figures_need(tmp_path: Path) -> None:
    """What is in the kit is what keeping it once more would give, and figures can be drawn."""
    written = keep_records.keep(SHIPPED, tmp_path)
    assert {path.relative_to(tmp_path) for path in written} == {
        path.relative_to(SHIPPED) for path in SHIPPED.rglob("*.json")
    }
    for path in written:
        assert path.read_text() == (SHIPPED / path.relative_to(tmp_path)).read_text()
    record = json.loads((SHIPPED / "07_hybrid/c/handout/on_nebula/evidence.json").read_text())
    (run,) = record["runs"]
    whole = record | {"runs": [run, run | {"role": "solution"}, {"kind": "check"}]}
    assert keep_records.kept(whole, ("ranks",))["runs"] == [run]


def with_load(relative: str, load: float, results: Path) -> None:
    """The kit's record in a folder of results, as if the node had had that load."""
    record = json.loads((SHIPPED / relative).read_text())
    record["node"]["load_1min"] = load
    path = results / relative
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(record))


def test_a_busy_node_is_called_so(tmp_path: Path) -> None:
    node = {"cores": 2}
    assert busy(node | {"load_1min": 0.1}) == busy(node | {"load_1min": None}) == ""
    assert busy(node | {"load_1min": 7.6}) == ", busy (load 8)"
    with_load("06_message_latency/c/handout/evidence.json", 7.6, tmp_path)
    with_load("explore/04_huge_pages.json", 7.6, tmp_path)
    with style():
        for name in ("latency_curve", "table_sizes"):
            assert FIGURES[name](Sources(tmp_path)).source.endswith(", busy (load 8)")


def test_the_kits_times_are_from_a_quiet_node_or_say_so(drawn: dict[str, Any]) -> None:
    """As evidence/README.md says, and with the loads that it names. What the probe times in short
    stretches may come from a busy one, and what shows that no difference survives there."""
    about = (SHIPPED / "README.md").read_text()
    records = [*SHIPPED.glob("*/c/handout/evidence.json"), *SHIPPED.glob("explore/*.json")]
    assert len(records) == 8
    for path in records:
        node = json.loads(path.read_text())["node"]
        is_busy = path.name in ("02_affinity.json", "04_huge_pages.json")
        assert (busy(node) != "") == is_busy, path
        assert f"{node['load_1min']:.2f}" in about, path
    busy_ones = ["stream_rates", "table_sizes"]
    assert [name for name, one in drawn.items() if "busy" in one.source] == busy_ones


def test_names_in_the_picture_of_sizes_are_clear_of_the_curves(drawn: dict[str, Any]) -> None:
    figure = drawn["table_sizes"].figure
    with style():
        FigureCanvasAgg(figure).draw()
        times = figure.axes[0]
        boxes = {text.get_text(): text.get_window_extent() for text in times.texts}
    assert any(words.startswith("L2 ") for words in boxes)
    assert len(times.containers) == 2  # curves with bars
    for curve, _, bars in times.containers:
        paths = [curve.get_path(), *bars[0].get_paths()]
        for words, box in boxes.items():
            assert not any(
                times.transData.transform_path(path).intersects_bbox(box, filled=False)
                for path in paths
            ), words


def test_own_records_take_the_place_of_the_kits(tmp_path: Path) -> None:
    own = json.loads((SHIPPED / "01_first_touch/c/handout/evidence.json").read_text())
    own["node"]["name"] = "ournode"
    path = tmp_path / "results/01_first_touch/c/handout/evidence.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(own))
    said = list(draw(["first_touch_times", "touch_hydra"], tmp_path, tmp_path / "results"))
    assert "<desc>Recorded on ournode, " in (tmp_path / "first_touch_times.svg").read_text()
    assert "with this kit</desc>" in (tmp_path / "touch_hydra.svg").read_text()
    assert [line.partition(": ")[2] for line in said] == [
        "your own", "not there; the record of the kit"
    ]  # fmt: skip
    with pytest.raises(UserError, match="grade first"):
        list(draw(["touch_hydra"], tmp_path, tmp_path / "nothing"))
    with pytest.raises(UserError, match="no script"):
        list(draw(["no_such_figure"], tmp_path, None))


def test_an_exploration_is_read_back() -> None:
    for path in sorted((SHIPPED / "explore").glob("*.json")):
        data = json.loads(path.read_text())
        found = read_found(data)
        again = found.json_data()
        assert again == {key: value for key, value in data.items() if key in again}
        broken = copy.deepcopy(data)
        del broken["configurations"][0]["arguments"]
        with pytest.raises(NumalabError, match="explore --json"):
            read_found(broken)
        with pytest.raises(NumalabError, match="version"):
            read_found(data | {"schema": 2})


# ---- what was built ----------------------------------------------------------------------------

OUTSIDE = (
    '<img src="https://example.org/a.png">',
    '<script src="//example.org/a.js"></script>',
    '<link rel="stylesheet" href="http://example.org/a.css">',
    '<img srcset="a.png 1x, https://example.org/b.png 2x">',
    '<p style="background: url(https://example.org/a.png)">x</p>',
    "<style>@font-face { src: url('https://example.org/a.woff2') }</style>",
    '<style>@import "https://example.org/a.css";</style>',
    "<style>@import url(//example.org/a.css);</style>",
    '<svg><image xlink:href="https://example.org/a.png"/></svg>',
    '<iframe src="https://example.org"></iframe>',
    '<img src="figures/a.svg">',
)


@pytest.mark.parametrize("part", OUTSIDE)
def test_what_comes_from_elsewhere_is_found(part: str) -> None:
    page = f"<html><head></head><body><p>before</p>{part}<p>after</p></body></html>"
    assert deck_check.from_elsewhere(page)


def test_what_is_inside_is_let_through() -> None:
    page = (
        '<svg xmlns="http://www.w3.org/2000/svg"><use href="#a"/></svg>'
        '<a href="https://example.org">a link that a reader may follow</a>'
        '<img src="data:image/png;base64,AAAA"><p>see https://example.org</p>'
        "<style>p { background: url(data:image/png;base64,AAAA) } /* http://example.org */</style>"
        "<script>/* https://example.org */ const a = 1</script>"
    )
    assert deck_check.from_elsewhere(page) == []


def test_what_a_browser_saw() -> None:
    seen = {"slides": 2, "found": [[2, "p ends 40 px too low"]]}
    page = f'<body><pre id="numalab-looked-at">{json.dumps(seen)}</pre></body>'
    assert deck_check.too_much(page, 2) == [(2, "p ends 40 px too low")]
    with pytest.raises(NumalabError, match="2 slides of 3"):
        deck_check.too_much(page, 3)
    with pytest.raises(NumalabError, match="did not look"):
        deck_check.too_much("<body></body>", 2)


def test_the_theme_loads_nothing() -> None:
    theme = (SLIDES / "theme.css").read_text()
    inside = with_fonts(theme, lambda path: b"font")
    assert inside.count("data:font/woff2") == 5
    page = f"<style>{inside}</style>"
    assert deck_check.from_elsewhere(page) == []
    assert deck_check.from_elsewhere(f"<style>{theme}</style>")


def test_packages_are_pinned() -> None:
    wanted = json.loads((SLIDES / "package.json").read_text())["dependencies"]
    lock = json.loads((SLIDES / "package-lock.json").read_text())
    assert lock["packages"][""]["dependencies"] == wanted
    for name, version in wanted.items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version)
        assert lock["packages"][f"node_modules/{name}"]["version"] == version
    for name, package in lock["packages"].items():
        assert not name or package["integrity"], name
        assert "resolved" not in package, f"{name} names where it was taken from"


def build(*arguments: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, SLIDES / "deck_build.py", *arguments], check=False,
        capture_output=True, text=True, env=os.environ | env,
    )  # fmt: skip


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    done = build("--out", tmp_path, "packages", PATH=str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert "apt install nodejs npm" in done.stderr
    done = build("--out", tmp_path, "pdf", "01_first_touch", PATH=str(tmp_path), CHROME_PATH="")
    assert done.returncode == 2
    assert "apt install chromium" in done.stderr
    done = build("--out", tmp_path, "figures", "05_none")
    assert done.returncode == 2
    assert "there is no deck 05_none" in done.stderr
    assert "07_hybrid" in done.stderr


def test_slides_are_no_part_of_the_default_build() -> None:
    text = (SLIDES / "CMakeLists.txt").read_text()
    assert "add_custom_target" in text
    assert not re.search(r"add_custom_target\([^)]*\bALL\b", text)
    presets = json.loads((ROOT / "CMakePresets.json").read_text())["buildPresets"]
    targets = {preset["name"]: preset.get("targets") for preset in presets}
    assert targets["slides"] == ["slides"]
    assert targets["slides-own"] == ["slides-own"]


def test_a_deck_is_built(installation: Installation, tmp_path: Path) -> None:
    """HTML and PDF of one deck, and of the same with a slide that is too full."""
    try:
        deck_build.find_node(), deck_build.find_npm()
        browser = deck_build.find_browser()
    except UserError as error:
        pytest.skip(str(error))
    name = "01_first_touch"
    # Packages stay, so that they are fetched once.
    folders = deck_build.Folders(tmp_path, installation.build / "slides" / "packages")
    deck_build.install_packages(folders.packages)
    deck_build.draw_figures(name, folders, None)
    page = deck_build.write_html(name, folders).read_text()
    assert deck_check.from_elsewhere(page) == []
    assert page.count("bespoke-marp-note") >= len(DECKS[name].slides)
    assert "data:font/woff2" in page
    printed = deck_build.write_pdf(name, folders).read_bytes()
    assert printed.startswith(b"%PDF-")
    source = folders.work(name) / f"{name}.md"
    full = "\n\n".join(["A line, and another one below it."] * 20)
    small = '<p style="font-size: 12px">too small</p>'
    source.write_text(source.read_text() + f"\n---\n\n## Full\n\n{full}\n\n---\n\n{small}\n")
    more = (*DECKS[name].slides, *DECKS[name].slides[:2])
    found = deck_build.look(replace(DECKS[name], slides=more), folders, browser)
    numbers = [number for number, _ in found]
    assert set(numbers) == {len(more) - 1, len(more)}
    assert any("too low" in what for _, what in found)
    assert any("12 px" in what for _, what in found)
