"""Variants: what seeds draw, and what comes of the templates."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from governor_answers import QUESTIONS as ABOUT_A_GOVERNOR
from governor_answers import read_record_answers
from governor_tree import make_recording
from link_answers import read_rates
from link_questions import QUESTIONS as RATES
from link_questions import draw_links as links_of
from link_questions import is_close
from support.lab_folders import write_grading

from numalab.errors import NumalabError, UserError
from numalab.installation import Installation
from numalab.labs.declaration import KERNEL_FILES
from numalab.labs.goals import JOB_NODES, NODES, OWNERS, nodes_of_job, pus_of_nodes
from numalab.labs.group_words import read_group_file, settings
from numalab.labs.seeds import Seed
from numalab.labs.variants import (
    Draw,
    Draws,
    Variant,
    draw_variant,
    is_variant_name,
    lab_files,
    lab_of_variant,
    lab_with_variants,
    labs_and_variants,
    labs_that_ask,
    labs_with_variants,
    names_with_variants,
    read_draws,
    rendered,
    solution_files,
    variant_lab,
    variant_name,
)
from numalab.machines.gallery import find_machine
from numalab.machines.topology import topology_of_machine
from numalab.pu_lists import kernel_list

ROOT = Path(__file__).resolve().parents[3]
HAVING = labs_with_variants(ROOT)
DRAWS = """\
takes = ["taken.h"]

[[draw]]
name = "way"
[[draw.choice]]
name = "up"
c = "i"
[[draw.choice]]
name = "down"
c = "@far@ - i"

[[draw]]
name = "far"
values = ["7", "9"]

[[never]]
way = "up"
far = "7"
"""


def made_up(folder: Path, draws: str = DRAWS) -> Path:
    lab = folder / "labs" / "01_lab"
    template = write_grading(lab, draws, "variant/draws.toml").parent
    (folder / "solutions" / "01_lab" / "variant").mkdir(parents=True)
    (template / "kernel.c").write_text("for @for@: @way.c@ of @far@ on @machine@\n")
    (lab / "taken.h").write_text("as it is: @nothing@\n")
    write_grading(lab, "")
    (folder / "solutions" / "01_lab" / "variant" / "kernel.c").write_text("@way.c@\n")
    return folder


def test_all_that_may_be_drawn_is_drawn_and_nothing_else(tmp_path):
    draws = read_draws(made_up(tmp_path), "01_lab")
    found = {tuple(draw_variant(draws, Seed(n, "x")).chosen.values()) for n in range(1, 200)}
    assert found == {("up", "9"), ("down", "7"), ("down", "9")}
    assert draw_variant(draws, Seed(5, "x")) == draw_variant(draws, Seed(5, "x"))


def test_templates_get_what_was_drawn(tmp_path):
    draws = read_draws(made_up(tmp_path), "01_lab")
    variants = [draw_variant(draws, Seed(n, "ada")) for n in range(1, 40)]
    variant = next(v for v in variants if v.chosen == {"way": "down", "far": "7"})
    files = lab_files(tmp_path, draws, variant)
    machine = f"seeded-{variant.seed.number}"
    assert files["kernel.c"] == f"for ada: 7 - i of 7 on {machine}\n"
    assert files["taken.h"] == "as it is: @nothing@\n"
    assert "draws.toml" not in files
    assert solution_files(tmp_path, draws, variant) == {"kernel.c": "7 - i\n"}


def test_all_of_what_can_be_drawn_is_read(tmp_path):
    text = DRAWS.replace('name = "up"', 'name = "up"\nsince = 1', 1)
    text = text.replace('name = "down"', 'since = 3\nname = "down"', 1).replace('"i"', '""')
    text += '[[never]]\nfar = "9"\n'
    found = read_draws(made_up(tmp_path, 'takes_of_solution = ["s.h"]\n' + text), "01_lab")
    assert found == Draws(
        lab="01_lab",
        draws=(
            Draw("way", {"up": {"c": ""}, "down": {"c": "@far@ - i"}}, {"up": 1, "down": 3}),
            Draw("far", {"7": {"": "7"}, "9": {"": "9"}}),
        ),
        never=({"way": "up", "far": "7"}, {"far": "9"}),
        takes=("taken.h",),
        takes_of_solution=("s.h",),
    )
    way, far = found.draws
    assert [way.drawn_from(edition) for edition in (1, 2, 3)] == [["up"], ["up"], ["up", "down"]]
    assert far.drawn_from(1) == ["7", "9"]


def test_what_is_never_drawn_is_one_of_several(tmp_path):
    """Made together alone: of each other draw the choice is free."""
    text = DRAWS + '[[never]]\nway = "down"\nfar = "9"\n'
    draws = read_draws(made_up(tmp_path, text), "01_lab")
    chosen = [draw_variant(draws, Seed(number, "x")).chosen for number in range(1, 60)]
    assert {(one["way"], one["far"]) for one in chosen} == {("up", "9"), ("down", "7")}


def test_texts_of_a_variant(tmp_path):
    draws = read_draws(made_up(tmp_path), "01_lab")
    variant = draw_variant(draws, Seed(17, "ada"))
    assert variant.name == "01_lab_variant"
    assert (variant.text("for"), variant.text("seed")) == ("ada", "17")
    assert variant.text("code") == Seed(17, "ada").code
    assert variant.text("machine") == "seeded-17"
    assert variant.text("way.c") == {"up": "i", "down": "@far@ - i"}[variant.chosen["way"]]
    assert variant.text("far") == variant.chosen["far"]
    places = variant.text("places.last_cores")
    assert places is not None and places.count("{") == 2
    for nothing in ("way", "places", "places.some_cores", "way.last_cores", "last_cores", "x"):
        assert variant.text(nothing) is None


def test_answers_that_are_right_of_a_seed():
    variant = Variant("00_lab", Seed(489, "ada"), {}, {})
    assert variant.text("node_answers") == (
        "packages = [2]\nnuma_nodes = [6]\ncores = [12]\npus = [24]\nnode_pus = [2, 8, 14, 20]\n"
        "core_pus = [1, 13]\nl3_pus = [2, 8, 14, 20]\nnearest_nodes = [3, 5]\nlargest_node = [4]"
    )
    published = Variant("00_lab", Seed(1630, "ada"), {}, {}).text("rates_answers")
    assert published is not None
    assert published.splitlines()[:4] == [
        "old_gbit_s = 32", "newer_gbit_s = 54.5455", "pam4_gbit_s = 100", "both_ways_gb_s = 24",
    ]  # fmt: skip
    published = Variant("00_lab", Seed(2012, "ada"), {}, {}).text("governor_answers")
    assert published is not None
    assert published.splitlines()[:3] == [
        "most_from_khz = 1463000", "most_to_khz = 2661000", "transitions = 3635",
    ]  # fmt: skip


def test_a_template_may_lie_in_a_folder(tmp_path):
    draws = read_draws(made_up(tmp_path), "01_lab")
    inner = tmp_path / "labs" / "01_lab" / "grading" / "variant" / "data"
    inner.mkdir()
    (inner / "far.txt").write_text("@far@")
    (tmp_path / "labs" / "01_lab" / "taken.h").write_text('"01_lab" 01_lab')
    variant = draw_variant(draws, Seed(5, "ada"))
    files = lab_files(tmp_path, draws, variant)
    assert list(files) == ["taken.h", "data/far.txt", "kernel.c"]
    assert files["data/far.txt"] == variant.chosen["far"]
    assert files["taken.h"] == '"01_lab_variant" 01_lab'
    (tmp_path / "labs" / "01_lab" / "taken.h").unlink()
    with pytest.raises(NumalabError, match=r"can't read .*taken\.h: No such file"):
        lab_files(tmp_path, draws, variant)


def test_names_of_variants():
    assert variant_name("01_lab") == "01_lab_variant"
    assert is_variant_name("01_lab_variant/") and not is_variant_name("01_lab")
    assert lab_of_variant("01_lab_variant") == lab_of_variant("01_lab") == "01_lab"


def test_each_variant_comes_behind_its_lab():
    names = names_with_variants(ROOT)
    assert HAVING and len(names) == len(set(names))
    for before, name in zip(["", *names], names, strict=False):
        assert is_variant_name(name) == (before in HAVING and name == variant_name(before))
    assert sorted(name for name in names if is_variant_name(name)) == [
        variant_name(lab) for lab in HAVING
    ]
    labs = labs_and_variants(ROOT)
    assert list(labs) == names and all(lab.name == name for name, lab in labs.items())
    asking = labs_that_ask(ROOT)
    assert asking == [lab for lab in HAVING if labs[variant_name(lab)].predicted]


def test_labs_without_variants_are_told(tmp_path):
    made_up(tmp_path)
    for name in ("01_lab", "02_none"):
        write_grading(
            tmp_path / "labs" / name,
            'title = "x"\nminutes = 1\nlanguages = ["c"]\ncontract = "x.h"\nfunctions = ["f"]\n'
            '[[criterion]]\nname = "correct"\nkind = "correctness"\npoints = 1\n',
        )
    assert lab_with_variants(tmp_path, "1") == "01_lab"
    assert names_with_variants(tmp_path) == ["01_lab", "01_lab_variant", "02_none"]
    with pytest.raises(UserError, match=r"02_none has no variants\. Labs that have: 01_lab"):
        lab_with_variants(tmp_path, "2")


def test_what_nothing_is_drawn_for_is_told(tmp_path):
    draws = read_draws(made_up(tmp_path), "01_lab")
    variant = draw_variant(draws, Seed(5, "ada"))
    with pytest.raises(NumalabError, match=r"kernel.f90: nothing is drawn for @way.fortran@"):
        rendered("@way.fortran@", variant, "kernel.f90")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (('way = "up"\nfar', 'way = "left"\nfar'), "left"),
        (('c = "i"', 'd = "i"'), "same keys"),
        (('name = "far"', 'name = "way"'), "name of its own"),
        (("values", "value"), "value"),
        (('name = "up"\n', ""), "a choice needs a name"),
        (('name = "down"', 'since = 0\nname = "down"'), "must be 1 or more"),
        (('c = "@far@ - i"', "c = 1"), "write a text in quotes"),
        ((DRAWS, ""), "there must be one"),
    ],
)
def test_mistakes_in_what_is_drawn_are_told(tmp_path, change, told):
    with pytest.raises(NumalabError, match=told):
        read_draws(made_up(tmp_path, DRAWS.replace(*change, 1)), "01_lab")


def test_a_choice_has_to_be_there_from_the_first_edition_on(tmp_path):
    later = DRAWS.replace("[[draw.choice]]", "[[draw.choice]]\nsince = 2")
    with pytest.raises(NumalabError, match="of way one choice at least has to be there"):
        read_draws(made_up(tmp_path, later), "01_lab")


def test_a_lab_must_leave_something_to_draw(tmp_path):
    all_never = DRAWS.replace('[[never]]\nway = "up"\nfar = "7"', "[[never]]\n[[never]]")
    with pytest.raises(NumalabError, match="no variant"):
        draw_variant(read_draws(made_up(tmp_path, all_never), "01_lab"), Seed(5, "ada"))


@pytest.mark.parametrize("lab", ["02_affinity", "08_quiet_node", "09_interconnect"])
def test_a_class_has_variants_enough(lab):
    """By what is drawn alone: answers about a machine, a recording or links come on top of it."""
    draws = read_draws(ROOT, lab)
    found = {
        tuple(draw_variant(draws, Seed(number, "ada")).chosen.values()) for number in range(2000)
    }
    assert len(found) >= 200


@pytest.mark.parametrize(
    ("lab", "digest"),
    [
        ("02_affinity", "bd83e6c0052f9da0"),
        ("08_quiet_node", "67a3d3905046784c"),
        ("09_interconnect", "cd5977488f567ad9"),
    ],
)
def test_who_has_begun_keeps_the_variant(lab, digest):
    """By what the first edition drew; what has come since is as it was."""
    draws, drawn = read_draws(ROOT, lab), hashlib.sha256()
    since = {"08_quiet_node": {"other": "same"}, "09_interconnect": {"moved": "0"}}.get(lab, {})
    for number in range(1, 301):
        chosen = dict(draw_variant(draws, Seed(number, "ada", 1)).chosen)
        assert {name: chosen.pop(name) for name in since} == since
        drawn.update(repr(list(chosen.items())).encode())
    assert drawn.hexdigest()[:16] == digest


def test_choices_that_have_come_are_drawn_from_then_on(tmp_path):
    later = DRAWS.replace(
        '[[draw.choice]]\nname = "down"', '[[draw.choice]]\nsince = 2\nname = "down"'
    )
    draws = read_draws(made_up(tmp_path, later), "01_lab")
    for edition, ways in ((1, {"up"}), (2, {"up", "down"})):
        seeds = (Seed(number, "x", edition) for number in range(1, 50))
        assert {draw_variant(draws, seed).chosen["way"] for seed in seeds} == ways


@pytest.mark.parametrize("lab", HAVING)
def test_the_kits_variants_are_whole(lab):
    draws = read_draws(ROOT, lab)
    declared = variant_lab(ROOT, lab)
    assert 9 <= declared.max_points <= 10  # what each earns is on the scale of the course
    answers = set()
    for number in range(1, 41):
        variant = draw_variant(draws, Seed(number, "ada"))
        files, solution = lab_files(ROOT, draws, variant), solution_files(ROOT, draws, variant)
        answers.add(tuple(sorted(solution.items())))
        kernels = {KERNEL_FILES[language] for language in declared.languages}
        names = {"README.md", *kernels, "grading/lab.toml", declared.contract}
        assert names | {file.name for file in declared.files} <= set(files)
        assert kernels | {file.name for file in declared.files} <= set(solution)
        assert not [name for name, text in {**files, **solution}.items() if "@" in text]
        lines = files["README.md"].splitlines()
        assert not [line for line in lines if len(line) > 100 and not line.startswith("|")]
    assert len(answers) >= 12


@pytest.mark.builds
@pytest.mark.parametrize("lab", HAVING)
def test_drivers_and_solutions_of_variants_compile(lab: str, tmp_path: Path) -> None:
    """Of two seeds, which draw other texts: each lab's driver takes names from what is drawn."""
    draws = read_draws(ROOT, lab)
    for seed in (1, 7):
        variant = draw_variant(draws, Seed(seed, "the suite"))
        folder = tmp_path / str(seed)
        for name, text in lab_files(ROOT, draws, variant).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        solution = folder / "solution.c"
        solution.write_text(solution_files(ROOT, draws, variant)["kernel.c"])
        for source in (*(folder / "grading").glob("*.c"), folder / "kernel.c", solution):
            needs_mpi = "<mpi.h>" in source.read_text()
            if needs_mpi and shutil.which("mpicc") is None:
                continue
            done = subprocess.run(
                ["mpicc" if needs_mpi else "cc", "-std=c17", "-fopenmp", "-fsyntax-only",
                 "-D_GNU_SOURCE", f"-I{folder}", f"-I{folder / 'grading'}", f"-I{ROOT / 'common'}",
                 f"-I{ROOT / 'common/include'}", str(source)],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr


def test_mistakes_in_variants_are_changes_of_their_solutions() -> None:
    """grading/test_wrong_variants.py grades them, which takes long; a name that was changed or
    another draw shows here."""
    table = ROOT / "grader/tests/grading/wrong_variants.toml"
    for entry in tomllib.loads(table.read_text("utf-8"))["wrong"]:
        draws = read_draws(ROOT, entry["lab"])
        files = solution_files(ROOT, draws, draw_variant(draws, Seed(1, "the suite")))
        text = files[entry.get("file", "kernel.c")]
        assert not [c["is"] for c in entry["changes"] if c["is"] not in text], entry["mistake"]


def test_templates_of_lab_05_say_what_its_goals_say():
    """By the goals' own functions, for numbers of NUMA nodes and threads that no machine has."""
    draws = {one.name: one.choices for one in read_draws(ROOT, "05_memory_policy").draws}
    for choice in draws["nodes"].values():
        for count in range(2, 10):
            nodes = list(range(10, 10 + count))
            expression = choice["keep"].replace("/", "//")
            kept = [nodes[p] for p in range(count) if eval(expression, {"p": p, "count": count})]
            assert kept == list(NODES[choice["goal"]](nodes))
    for choice in draws["owner"].values():
        for parts in range(1, 10):
            expression = choice["part"].replace("/", "//")
            part_of = [eval(expression, {"i": i, "parts": parts}) for i in range(parts)]
            assert [OWNERS[choice["goal"]](part, parts) for part in part_of] == list(range(parts))


def test_rates_of_a_variants_solution_are_right_for_its_seed_alone():
    draws = read_draws(ROOT, "09_interconnect")
    for number in range(1, 41):
        text = solution_files(ROOT, draws, draw_variant(draws, Seed(number, "ada")))["rates.toml"]
        given = read_rates(text, number).given
        for asked, is_own in ((links_of(number), True), (links_of(number + 1), False)):
            right = [is_close(given[one.key], one.answer(asked)) for one in RATES]
            assert all(right) == is_own


def test_places_of_lab_09_are_the_same_in_both_languages_and_never_the_labs():
    draws = {one.name: one.choices for one in read_draws(ROOT, "09_interconnect").draws}
    assert "4" not in draws["unit"]
    slot, items = 8, [(i, length) for i in range(20) for length in range(1, 9)]
    found = set()
    for choice in draws["lies"].values():
        names = {"SLOT": slot, "slot": slot, "mod": lambda a, b: a % b}
        c, fortran = (
            tuple(
                eval(choice[language], {**names, "i": i, "length": length}) % slot
                for i, length in items
            )
            for language in ("c", "fortran")
        )
        assert c == fortran
        assert any(c)
        found.add(c)
    assert len(found) == len(draws["lies"])


def test_governors_of_a_variants_solution_are_right_for_its_seed_alone():
    draws = read_draws(ROOT, "08_quiet_node")
    for number in range(1, 21):
        text = solution_files(ROOT, draws, draw_variant(draws, Seed(number, "ada")))[
            "governor.toml"
        ]
        given = read_record_answers(text, number).given
        for seed, is_own in ((number, True), (number + 1, False)):
            right = [
                one.is_correct(given[one.key], make_recording(seed)) for one in ABOUT_A_GOVERNOR
            ]
            assert all(right) == is_own


def test_jobs_of_lab_08_are_what_their_goals_say_and_never_the_labs(installation: Installation):
    draws = {one.name: one.choices for one in read_draws(ROOT, "08_quiet_node").draws}
    assert {"job_on_last_node"} == set(JOB_NODES) - {of["goal"] for of in draws["job"].values()}
    for choice in draws["job"].values():
        text = (
            f'[job]\ncpus = "{choice["own"]}"\nmems = "{choice["own"]}"\n'
            f'[others]\ncpus = "{choice["rest"]}"\nmems = "{choice["rest"]}"\n'
        )
        begins = read_group_file(f'[job]\ncpus = "{choice["begins"]}"\n')
        for name in ("hydra", "nebula"):
            machine = topology_of_machine(find_machine(installation, name))
            own = nodes_of_job(choice["goal"], machine)
            rest = frozenset(machine.numa_node.values()) - own
            numbers = {
                (group, key): kernel_list(nodes if key == "mems" else pus_of_nodes(nodes, machine))
                for group, nodes in (("job", own), ("others", rest))
                for key in ("cpus", "mems")
            }
            got = {
                (group, key): value
                for group, key, value in settings(read_group_file(text), machine)
            }
            assert got == numbers
            ((_, _, at_first),) = settings(begins, machine)
            assert at_first != numbers["job", "cpus"]


def test_differences_of_lab_08_are_told_as_the_driver_draws_them():
    """Its least factor is 1.05 of what is not worth a word; and it checks with a factor of 2."""
    draws = {one.name: one.choices for one in read_draws(ROOT, "08_quiet_node").draws}
    for choice in draws["worth"].values():
        share, least = float(choice["share"]), float(choice["least"])
        assert choice["percent"] == f"{100 * share:.0f} %"
        assert least == pytest.approx(1.05 * (1 + share), rel=1e-9)
        assert share > 0 and least < 1.9
