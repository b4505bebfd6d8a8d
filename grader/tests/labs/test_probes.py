"""Lightspeed in lab.toml: which parts have a probe, and what is said of a mistake."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.lab_folders import write_grading

from numalab.errors import NumalabError
from numalab.installation import Installation
from numalab.judging import planner
from numalab.judging.rules import check_criterion
from numalab.labs.declaration import Lab, load_lab

HEAD = """\
title = "A lab"
minutes = 1
languages = ["c"]
contract = "lab.h"
functions = ["compute"]
"""
EFFICIENCY = """
[[criterion]]
name = "efficiency"
kind = "timing"
points = 1
"""
PROBE = "[[lightspeed]]\nflops_per_element = 2\n"


def read(folder: Path, text: str) -> Lab:
    lab = folder / "09_lab"
    write_grading(lab, HEAD + text)
    return load_lab(lab, check=check_criterion)


def test_a_probe_and_what_is_asked_of_it(tmp_path: Path) -> None:
    lab = read(tmp_path, PROBE + EFFICIENCY + "at_least_of_lightspeed = 0.8\n")
    (criterion,) = lab.criteria
    assert (criterion.at_least, criterion.required_share) == (None, 0.8)
    assert lab.has_probe(None)
    lab = read(tmp_path, '[[lightspeed]]\nnone = "it is slow"\n' + EFFICIENCY + "at_least = 0.7\n")
    (criterion,) = lab.criteria
    assert (criterion.at_least_of_lightspeed, criterion.required_share) == (None, 0.7)
    assert not lab.has_probe(None)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (EFFICIENCY, "efficiency needs either 'at_least' or 'at_least_of_lightspeed'"),
        (EFFICIENCY + "at_least_of_lightspeed = 0.8\n", "needs a probe: add a [[lightspeed]] and"),
        (PROBE + EFFICIENCY + "at_least_of_lightspeed = 80\n", "must be"),
        (PROBE + EFFICIENCY + "at_least_of_lightspeed = 0\n", "it must be above 0"),
        (
            PROBE + EFFICIENCY + "at_least_of_lightspeed = 0.8\nat_least = 0.8\n",
            "takes the place of 'at_least'; keep one of them",
        ),
        (
            PROBE + EFFICIENCY + 'rule = "speedup"\nat_least_of_lightspeed = 0.8\n',
            "is for the rule efficiency, not for speedup",
        ),
        (
            '[[lightspeed]]\nnone = "slow"\n' + EFFICIENCY + "at_least_of_lightspeed = 0.8\n",
            "needs a probe",
        ),
        ("[[lightspeed]]\n" + EFFICIENCY + "at_least = 0.8\n", "needs either 'flops_per_element'"),
        (
            PROBE + 'none = "slow"\n' + EFFICIENCY + "at_least = 0.8\n",
            "needs either 'flops_per_element'",
        ),
        (PROBE + PROBE + EFFICIENCY + "at_least = 0.8\n", "there is a [[lightspeed]] of this part"),
        (
            PROBE + 'part = "stream"\n' + EFFICIENCY + "at_least = 0.8\n",
            "'part' is stream, and no criterion is about it",
        ),
        (
            PROBE + EFFICIENCY + 'at_least = 0.8\npart = "stream"\n',
            "has no key 'part'; add it, one of: stream",
        ),
        ("mpi = true\n" + PROBE + EFFICIENCY + "at_least = 0.8\n", "a probe is one process"),
        (PROBE + "flop = 2\n" + EFFICIENCY + "at_least = 0.8\n", "unknown key 'flop'"),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(NumalabError, match=re.escape(says)) as found:
        read(tmp_path, text)
    assert re.search(r"lab\.toml:\d+: ", str(found.value))


def test_of_every_part_that_is_timed_a_lab_says_whether_it_has_a_probe(
    labs: dict[str, Lab], installation: Installation
) -> None:
    for lab in labs.values():
        timed = {timed.part for timed in planner.timings(lab)}
        assert timed == {declared.part for declared in lab.lightspeed}, lab.name
        has_probe = any(declared.has_probe for declared in lab.lightspeed)
        assert has_probe == (installation.solution_folder(lab.name) / "probe.c").is_file(), lab.name
        built = (installation.grading_folder(lab.name) / "CMakeLists.txt").read_text()
        assert has_probe == (re.search(r"\bPROBE\b", built) is not None), lab.name
