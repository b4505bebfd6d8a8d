"""Plausible mistakes in variants (wrong_variants.toml), each with the criteria that it deserves to
fail; and, since each is a change of the solution, nothing else."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from numalab.grading.grade import grade
from numalab.grading.kernel_grading import Grading
from numalab.grading.variant_installations import make_variant, the_lab
from numalab.grading.vm_gradings import grade_on_vms
from numalab.harness.build import build_targets, configure
from numalab.harness.monitor import describe_node
from numalab.installation import Installation
from numalab.judging.effort import effort_for
from numalab.labs.seeds import Seed
from numalab.machines.gallery import find_machine
from numalab.virtual.place import VirtualPlaces
from numalab.virtual.plan import GuestOptions

pytestmark = [pytest.mark.builds, pytest.mark.boots, pytest.mark.slow]

Json = dict[str, Any]
TABLE = Path(__file__).with_name("wrong_variants.toml")
WRONG: list[Json] = tomllib.loads(TABLE.read_text())["wrong"]
SEED = Seed(1, "the suite")


@pytest.fixture(scope="module")
def kits(installation: Installation) -> Iterator[dict[str, tuple[Installation, VirtualPlaces]]]:
    """Of each lab its variant's, and the machines that were booted for it."""
    found: dict[str, tuple[Installation, VirtualPlaces]] = {}
    yield found
    for _, places in found.values():
        places.__exit__(None, None, None)


@pytest.mark.parametrize(
    "entry", WRONG, ids=[f"{number}-{entry['lab']}" for number, entry in enumerate(WRONG, 1)]
)
def test_wrong_variant(
    installation: Installation,
    kits: dict[str, tuple[Installation, VirtualPlaces]],
    tmp_path: Path,
    entry: Json,
) -> None:
    variant, _, own = make_variant(installation, entry["lab"], SEED)
    if variant.name not in kits:
        configure(own)
        build_targets(own, ["describe_node", own.monitor(variant.name).name])
        kits[variant.name] = own, VirtualPlaces(own, GuestOptions())
    own, places = kits[variant.name]
    whole = the_lab(own, variant)
    changed = entry.get("file", "kernel.c")
    for name in ("kernel.c", *(file.name for file in whole.files)):
        text = (own.solution_folder(variant.name) / name).read_text()
        for change in entry["changes"] if name == changed else ():
            assert change["is"] in text, f"{name} of the solution has no {change['is']!r}"
            text = text.replace(change["is"], change["becomes"])
        (tmp_path / name).write_text(text)
    names = entry.get("on", [])
    lab = replace(whole, machines=tuple(names))
    session = Grading(
        own, lab, "c", "submission", tmp_path, effort_for("default", True), describe_node(own),
        lambda step: None, timing_refused="Not timed.", controls={},
    )  # fmt: skip
    with installation.lock():
        verdict = grade(session)
        if names:
            machines = [find_machine(own, name) for name in names]
            verdict, _ = grade_on_vms(session, machines, places)
    failed = [c for c in verdict.criteria if c.status == "fail"]
    told = "\n".join(f"{c.where} {c.name}: {c.status}: {c.why}" for c in verdict.criteria)
    assert {c.name for c in failed} == set(entry["fails"]), told
    assert entry.get("says", "") in failed[0].why, told
