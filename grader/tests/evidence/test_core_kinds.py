"""Kinds of cores: what the monitor says of a node whose cores are not alike."""

from __future__ import annotations

import json
import os
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from numalab.evidence.core_kinds import CoreKind, core_kinds, kinds_in_words
from numalab.harness.monitor import THIS_MACHINE, describe_node
from numalab.installation import Installation


def test_kinds_come_from_the_record() -> None:
    assert core_kinds({}) is None and core_kinds({"core_kinds": None}) is None
    two = [{"pus": [9, 8], "name": "IntelAtom"}, {"pus": [0, 1, 2, 3], "name": "IntelCore"}]
    found = core_kinds({"core_kinds": two})
    assert found == (CoreKind((8, 9), "IntelAtom"), CoreKind((0, 1, 2, 3), "IntelCore"))
    assert kinds_in_words(found) == "PUs 0-3 (IntelCore), PUs 8,9 (IntelAtom)"
    assert kinds_in_words((CoreKind((5,), None),)) == "PU 5"


@pytest.mark.builds
def test_the_monitor_tells_them(installation: Installation, tmp_path: Path) -> None:
    """hwloc reads this very node from a file to which a second kind of core was added."""
    pus = sorted(os.sched_getaffinity(0))
    if len(pus) < 2:
        pytest.skip("one PU")
    told = subprocess.run(
        ["lstopo-no-graphics", "--of", "xml", "-"], capture_output=True, text=True, check=True
    ).stdout
    tree = ElementTree.fromstring(told)
    for kind in tree.findall("cpukind"):
        tree.remove(kind)
    for efficiency, (name, members) in enumerate((("IntelAtom", pus[1:]), ("IntelCore", pus[:1]))):
        mask = hex(sum(1 << pu for pu in members))
        kind = ElementTree.SubElement(
            tree, "cpukind", cpuset=mask, forced_efficiency=str(efficiency)
        )
        ElementTree.SubElement(kind, "info", name="CoreType", value=name)
    file = tmp_path / "node.xml"
    head = told[: told.index("<topology")]
    file.write_text(head + ElementTree.tostring(tree, encoding="unicode"))
    # Commands keep this variable from the program.
    program = THIS_MACHINE.execute([str(installation.describe_node)], {"HWLOC_XMLFILE": str(file)})
    found = core_kinds(json.loads(program.output))
    assert found == (
        CoreKind(tuple(pus[1:]), "IntelAtom"), CoreKind(tuple(pus[:1]), "IntelCore"),
    )  # fmt: skip
    here = core_kinds(describe_node(installation))
    assert here is None or sorted(pu for kind in here for pu in kind.pus) == pus
