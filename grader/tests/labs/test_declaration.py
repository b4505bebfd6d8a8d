"""What a lab.toml says: all its keys, what holds where one is left out, and what it can't say."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from support.lab_folders import write_grading

from numalab.errors import NumalabError, UserError
from numalab.installation import EDITION
from numalab.labs.declaration import (
    FILE_KINDS,
    SINGLE_NODE,
    Criterion,
    HandedFile,
    Lab,
    TimedPlacements,
    choose_labs,
    kind_of_goal,
    lab_names,
    load_lab,
    load_labs,
)
from numalab.labs.goals import PlacingGoal
from numalab.labs.hint_ladders import Ladder
from numalab.labs.launch import Policy
from numalab.labs.reference_loops import REFERENCE_LOOP_KEYS, ReferenceLoop, read_reference_loops
from numalab.toml_files.tables import parse_table

LEAST = """
title = "One"
minutes = 1
languages = ["c"]
contract = "one.h"
functions = ["f"]

[[criterion]]
name = "correct"
kind = "correctness"
points = 0
"""
CORRECT = Criterion(
    name="correct", kind="correctness", rule="correct", part=None, points=0, at_least=None,
    at_most=None, needs_numa_nodes=1, needs_huge_page_mode=(), handout_fails_from=None,
    on_machines=False, file=None, slow=None, kit_writes_first=False, whole_team=False,
    plausible_up_to=4.0, baseline_text="the handout", at_least_of_lightspeed=None,
    placing=PlacingGoal("all", 1, "same"),
)  # fmt: skip
ONE = Lab(
    name="01_one", title="One", minutes=1, languages=("c",), contract="one.h", functions=("f",),
    environment={}, machines=("hydra",), mpi=False, kit_parts=(), launch=None,
    repetition="a repetition", timed_placements=None, criteria=(CORRECT,), hints=(),
    bytes_moved={}, modelled_on=(), lightspeed=(), predicted=(), programs=(),
    has_solution_text=True, earns_with={}, starting_code={},
)  # fmt: skip

MOST = """
title = "Two of them"
minutes = 45
languages = ["fortran", "c"]
contract = "two.h"
functions = ["f", "g"]
programs = ["alone.c"]
machines = ["hydra", "nebula"]
mpi = true
kit_parts = ["there"]
repetition = "a step"
modelled_on = ["nebula"]

[environment]
OMP_PLACES = "cores"

[launch]
ranks = 2
bind_to = "core"

[timed_placements]
file = "omp.env"

[bytes_moved]
a = 2
b = 0

[[lightspeed]]
part = "here"
none = "it is short"

[[criterion]]
name = "pages"
kind = "evidence"
rule = "local_pages"
part = "here"
points = 3
at_least = 0.5
at_most = 2
needs_numa_nodes = 2
needs_huge_page_mode = ["always", "madvise"]
handout_fails_from_numa_nodes = 1
on_machines = true
kit_writes_first = true
whole_team = true
nodes = "upper_half"
run_pages = 3
owner = "next"
earns_with = "fast"

[[criterion]]
name = "placed"
kind = "evidence"
part = "there"
points = 2
file = "omp.env"
goal = "spread"
variables = ["OMP_PLACES"]
runtimes = ["libgomp"]

[[criterion]]
name = "policy"
kind = "evidence"
part = "here"
points = 1
file = "policy.env"
goal = "interleaved"

[[criterion]]
name = "fast"
kind = "timing"
rule = "speedup"
part = "there"
points = 4
slow = "slow.toml"
plausible_up_to = 1.0
file = "launch.toml"
goal = "near"

[[criterion]]
name = "answers"
kind = "correctness"
points = 1
file = "node.toml"
goal = "topology"
seed = 7

[starting_code]
"kernel.c" = "0123456789abcdef0123456789abcdef"
"""


def read(folder: Path, text: str, name: str = "01_one") -> Lab:
    lab = folder / "labs" / name
    write_grading(lab, text)
    return load_lab(lab)


# ---- reading ---------------------------------------------------------------------------------


def test_what_holds_where_nothing_else_is_said(tmp_path: Path) -> None:
    assert read(tmp_path, LEAST) == ONE


def test_each_key_is_read(tmp_path: Path) -> None:
    placement = HandedFile("omp.env", "spread", ("OMP_PLACES",), ("libgomp",))
    lab = read(tmp_path, MOST, "02_two")
    assert lab.criteria == (
        replace(
            CORRECT, name="pages", kind="evidence", rule="local_pages", part="here", points=3,
            at_least=0.5, at_most=2.0, needs_numa_nodes=2,
            needs_huge_page_mode=("always", "madvise"), handout_fails_from=1, on_machines=True,
            kit_writes_first=True, whole_team=True, placing=PlacingGoal("upper_half", 3, "next"),
        ),
        replace(
            CORRECT, name="placed", kind="evidence", rule="placed", part="there", points=2,
            file=placement,
        ),
        replace(
            CORRECT, name="policy", kind="evidence", rule="policy", part="here", points=1,
            file=HandedFile("policy.env", "interleaved", ("NUMACTL",), ()),
        ),
        replace(
            CORRECT, name="fast", kind="timing", rule="speedup", part="there", points=4,
            slow="slow.toml", plausible_up_to=1.0, baseline_text=SINGLE_NODE,
            file=HandedFile("launch.toml", "near", (), ()),
        ),
        replace(
            CORRECT, name="answers", rule="answers", points=1,
            file=HandedFile("node.toml", "topology", (), (), 7),
        ),
    )  # fmt: skip
    assert replace(lab, criteria=(CORRECT,)) == replace(
        ONE, name="02_two", title="Two of them", minutes=45, languages=("fortran", "c"),
        contract="two.h", functions=("f", "g"), programs=("alone.c",),
        machines=("hydra", "nebula"), mpi=True, kit_parts=("there",), repetition="a step",
        modelled_on=("nebula",), environment={"OMP_PLACES": "cores"},
        launch=Policy(2, 1, "core", "core"), timed_placements=TimedPlacements(placement),
        bytes_moved={"a": 2.0, "b": 0.0}, lightspeed=(ReferenceLoop("here", None, "it is short"),),
        earns_with={"pages": "fast"},
        starting_code={"kernel.c": ("0123456789abcdef0123456789abcdef",)},
    )  # fmt: skip


def test_another_text_stands_in_for_the_file(tmp_path: Path) -> None:
    read(tmp_path, LEAST)
    found = load_lab(tmp_path / "labs" / "01_one", LEAST.replace('"One"', '"Other"'))
    assert found == replace(ONE, title="Other")


def test_hints_are_read_beside_it(tmp_path: Path) -> None:
    read(tmp_path, LEAST)
    folder = tmp_path / "labs" / "01_one"
    write_grading(folder, "weak\n---\nstrong\n", "hints.md")
    assert load_lab(folder).hints == (Ladder("", ("correct",), ("weak", "strong")),)
    write_grading(folder, "# other\nweak\n", "hints.md")
    with pytest.raises(NumalabError, match=r"hints\.md: other is for other"):
        load_lab(folder)


def test_a_students_edition_has_no_text_of_solutions(tmp_path: Path) -> None:
    assert read(tmp_path, LEAST).shows_solution
    (tmp_path / EDITION).write_text("{}")
    lab = load_lab(tmp_path / "labs" / "01_one")
    assert lab == replace(ONE, has_solution_text=False) and not lab.shows_solution


FILE = 'file = "a"\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (LEAST.replace('title = "One"', ""), "has no key 'title'"),
        (LEAST.split("[[")[0], "has no key 'criterion'"),
        (LEAST.replace("minutes = 1", "minutes = 0"), "must be 1 or more"),
        (LEAST.replace("points = 0", "points = -1"), "must be 0 or more"),
        (LEAST.replace('["c"]', '["c", "d"]'), "c, fortran"),
        (LEAST.replace('"correctness"', '"speed"'), "correctness, evidence, timing"),
        (LEAST + "needs_numa_nodes = 0\n", "must be 1 or more"),
        (LEAST + "handout_fails_from_numa_nodes = 0\n", "must be 1 or more"),
        (LEAST + "run_pages = 0\n", "must be 1 or more"),
        (LEAST + 'nodes = "some"\n', "all, upper_half, but_lowest, every_second"),
        (LEAST + 'owner = "some"\n', "same, reversed, next, previous, half_on"),
        (LEAST + "plausible_up_to = 0.9\n", "'plausible_up_to'"),
        (LEAST + 'goal = "close"\n', "'goal' is about a file that is handed in; add 'file'"),
        (LEAST + "seed = 1\n", "'seed' is about a file"),
        (LEAST + "variables = []\n", "'variables' is about a file"),
        (LEAST + "runtimes = []\n", "'runtimes' is about a file"),
        (LEAST + FILE, "has no key 'goal'"),
        (LEAST + FILE + 'goal = "close"\n', "has no key 'variables'"),
        (
            LEAST + FILE + 'goal = "near"\nvariables = []\n',
            "'variables' is about a placement, and the goal near is none",
        ),
        (LEAST + FILE + 'goal = "model"\nruntimes = []\n', "'runtimes' is about a placement"),
        (LEAST + FILE + 'goal = "model"\nseed = 1\n', "about answers, and the goal model has none"),
        (LEAST + FILE + 'goal = "rates"\nseed = 0\n', "must be 1 or more"),
        (LEAST + '[timed_placements]\nfile = "a"\n', "'file' is 'a'"),
        (LEAST + "[bytes_moved]\na = -1\n", "'a' is -1"),
        (LEAST + '[starting_code]\na = "0"\n', "32 hexadecimal digits"),
        ('kit_parts = ["x"]\n' + LEAST, "kit_parts has x, and no criterion is about it"),
        (LEAST + 'rule = "speedup"\nslow = "s.toml"\n', "'slow' is for a part of kit_parts"),
        (
            'kit_parts = ["x"]\n' + LEAST + 'part = "x"\nrule = "speedup"\nslow = "s.toml"\n',
            "needs one launch file that is handed in for x, and there are 0",
        ),
        (LEAST + "at_least_of_lightspeed = 1.1\n", "'at_least_of_lightspeed'"),
        (LEAST + 'earns_with = "correct"\n', "earns_with"),
        (LEAST + "colour = 1\n", "unknown key 'colour' in [[criterion]]"),
    ],
)
def test_what_it_can_not_say(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(NumalabError, match=re.escape(says)):
        read(tmp_path, text)


# ---- what follows ----------------------------------------------------------------------------


def test_names_of_a_lab_and_of_its_variant() -> None:
    assert (ONE.number, ONE.called, ONE.own_place) == ("01", "01", "labs/01_one")
    assert ONE.shows_solution and not ONE.is_variant
    variant = replace(ONE, name="01_one_variant")
    assert (variant.number, variant.called) == ("01", "01 --variant")
    assert variant.own_place == "variants/01_one_variant"
    assert variant.is_variant and not variant.shows_solution


def test_what_needs_mpi() -> None:
    link = replace(ONE, has_link_job=True)
    assert [(lab.has_link_job, lab.calls_mpi) for lab in (ONE, replace(ONE, mpi=True), link)] == [
        (False, False), (False, True), (True, True),
    ]  # fmt: skip


def test_parts_with_their_rules_files_and_launches(tmp_path: Path) -> None:
    lab = read(tmp_path, MOST, "02_two")
    assert (lab.parts, lab.kernel_parts) == (("here", "there"), ("here",))
    assert (ONE.parts, ONE.kernel_parts) == ((None,), (None,))
    assert {c.rule for c in lab.criteria_of("here")} == {"local_pages", "policy", "answers"}
    assert {c.rule for c in lab.criteria_of("there")} == {"placed", "speedup", "answers"}
    assert {c.rule for c in lab.criteria_of(None)} == {"answers"}
    names = ["omp.env", "policy.env", "launch.toml", "node.toml"]
    assert [file.name for file in lab.files] == names
    assert [lab.part_of(file) for file in lab.files] == ["there", "here", "there", None]
    assert [file.kind for file in lab.files] == ["placement", "policy", "launch", "answers"]
    assert lab.max_points == 11
    assert lab.launch_of("there").name == "launch.toml"
    with pytest.raises(NumalabError, match="for here, and there are 0"):
        lab.launch_of("here")
    twice = replace(lab, criteria=(*lab.criteria, *lab.criteria))
    assert twice.files == lab.files and twice.launch_of("there").name == "launch.toml"
    far = replace(lab.criteria[3], file=HandedFile("far.toml", "far", (), ()))
    with pytest.raises(NumalabError, match="for there, and there are 2"):
        replace(lab, criteria=(*lab.criteria, far)).launch_of("there")


def test_lightspeed_of_parts() -> None:
    probe, none = ReferenceLoop("a", 0.0), ReferenceLoop("b", None, "why")
    lab = replace(ONE, lightspeed=(probe, none))
    assert [lab.reference_loop_of(part) for part in ("a", "b", None)] == [probe, none, None]
    assert [lab.has_probe(part) for part in ("a", "b", None)] == [True, False, False]


@pytest.mark.parametrize(
    ("is_launched", "part", "refused"),
    [(False, "a", False), (False, "b", True), (True, "a", True)],
)
def test_what_is_timed_as_ranks_has_no_probe(is_launched: bool, part: str, refused: bool) -> None:
    """b is what launches are compared of."""

    def read_of(key: str) -> tuple[ReferenceLoop, ...]:
        text = f'[[lightspeed]]\npart = "{part}"\n{key}\n'
        top = parse_table(text, "lab.toml", NumalabError, ("lightspeed",))
        tables = top.tables("lightspeed", REFERENCE_LOOP_KEYS)
        return read_reference_loops(tables, ("a", "b"), is_launched, ("b",))

    assert read_of('none = "why"') == (ReferenceLoop(part, None, "why"),)
    if refused:
        with pytest.raises(NumalabError, match="a probe is one process"):
            read_of("flops_per_element = 1")
    else:
        assert read_of("flops_per_element = 1") == (ReferenceLoop("a", 1.0, ""),)


def test_parts_that_can_be_named_are_told(tmp_path: Path) -> None:
    two = LEAST + 'part = "a"\n' + LEAST[LEAST.index("[[") :].replace("correct", "b", 1)
    text = two + 'part = "b"\n[[lightspeed]]\nnone = "why"\n'
    with pytest.raises(NumalabError, match="has no key 'part'; add it, one of: a, b"):
        read(tmp_path, text)


def test_each_goal_is_of_a_kind_of_file() -> None:
    of_kind: dict[str, set[str]] = {}
    for goal, kind in FILE_KINDS.items():
        of_kind.setdefault(kind, set()).add(goal)
    assert of_kind["policy"] == {"interleaved", "interleaved_on_0_and_1", "on_node_1"}
    assert of_kind["launch"] >= {"near", "far"}
    assert "close" in of_kind["placement"] and "job_on_last_node" in of_kind["groups"]
    assert all(len(of_kind[kind]) == 1 for kind in ("prediction", "model"))
    assert "answers" not in of_kind and kind_of_goal("topology") == "answers"


# ---- of a kit --------------------------------------------------------------------------------


def test_labs_are_in_order(tmp_path: Path) -> None:
    for name in ("02_two", "10_ten", "01_one"):
        read(tmp_path, LEAST, name)
    (tmp_path / "labs" / "03_none").mkdir()
    assert lab_names(tmp_path) == ["01_one", "02_two", "10_ten"]
    assert list(load_labs(tmp_path)) == ["01_one", "02_two", "10_ten"]
    assert load_labs(tmp_path)["02_two"] == replace(ONE, name="02_two")


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        ([], ["01_one", "02_two_more", "10_ten"]),
        (["01_one"], ["01_one"]),
        (["labs/02_two_more/"], ["02_two_more"]),
        (["2"], ["02_two_more"]),
        (["02"], ["02_two_more"]),
        (["two_more"], ["02_two_more"]),
        (["10", "1", "01", "ten"], ["10_ten", "01_one"]),
    ],
)
def test_labs_are_chosen_by_name_or_number(names: list[str], chosen: list[str]) -> None:
    labs = {name: replace(ONE, name=name) for name in ("01_one", "02_two_more", "10_ten")}
    assert [lab.name for lab in choose_labs(labs, names)] == chosen


def test_a_lab_that_is_not_there_is_told() -> None:
    labs = {name: replace(ONE, name=name) for name in ("01_one", "02_two")}
    with pytest.raises(UserError, match=r"no lab '01_on'. Did you mean 01_one\? The labs are: 01_"):
        choose_labs(labs, ["02_two", "01_on"])
    for name in ("3", "zzz", "0x"):
        with pytest.raises(UserError, match=f"no lab '{name}'. The labs are: 01_one, 02_two"):
            choose_labs(labs, [name])
