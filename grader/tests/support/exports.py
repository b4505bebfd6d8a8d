"""Exports of hwloc, written by hand in the forms of hwloc 1 and 2, and read as the command reads
them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from numalab.harness.topology_reader import export_in
from numalab.installation import Installation
from numalab.machines.hwloc_import import machine_text
from numalab.machines.machine import Machine
from numalab.machines.machine_file import parse_machine


def hwloc_export(folder: Path, *arguments: str) -> Path:
    """Written by lstopo, with these arguments."""
    program = shutil.which("lstopo-no-graphics") or shutil.which("lstopo")
    assert program, "install hwloc, which the kit needs"
    path = folder / "node.xml"
    subprocess.run([program, *arguments, "--of", "xml", str(path)], check=True, capture_output=True)
    return path


def imported_text(installation: Installation, path: Path, name: str = "node") -> str:
    return machine_text(export_in(installation, path), name, f"hwloc export {path.name}", str(path))


def imported(installation: Installation, path: Path) -> Machine:
    return parse_machine(imported_text(installation, path), Path("node.toml"))


def in_bits(numbers: Iterable[int]) -> str:
    """hwloc's text of a set of numbers below 32."""
    return f"0x{sum(1 << number for number in set(numbers)):08x}"


def thing(
    kind: str, pus: Iterable[int], inside: str = "", nodes: Iterable[int] = (0,), more: str = ""
) -> str:
    """An <object>. pus, nodes: Linux's numbers, those of the NUMA nodes that are near to it."""
    sets = f'cpuset="{in_bits(pus)}" complete_cpuset="{in_bits(pus)}"'
    near = f'nodeset="{in_bits(nodes)}" complete_nodeset="{in_bits(nodes)}"'
    return f'<object type="{kind}" {sets} {near} {more}>{inside}</object>'


def core(*pus: int, nodes: Iterable[int] = (0,)) -> str:
    near = tuple(nodes)
    return thing(
        "Core",
        pus,
        "".join(thing("PU", [pu], nodes=near, more=f'os_index="{pu}"') for pu in pus),
        near,
    )


def cores(pus: Iterable[int], nodes: Iterable[int] = (0,)) -> str:
    """Of one thread each."""
    near = tuple(nodes)
    return "".join(core(pu, nodes=near) for pu in pus)


def memory(number: int, pus: Iterable[int], mib: int = 1000, more: str = "") -> str:
    """more: further attributes."""
    words = f'os_index="{number}" local_memory="{mib << 20}" gp_index="{100 + number}" {more}'
    return thing("NUMANode", pus, "", [number], words)


def group(pus: Iterable[int], inside: str, nodes: Iterable[int]) -> str:
    """What hwloc puts around a NUMA node and its cores."""
    return thing("Group", pus, inside, nodes, 'kind="0" subkind="0"')


def machine(
    pus: Iterable[int], inside: str, nodes: Iterable[int] = (0,), after: str = "",
    version: str = ' version="2.0"', allowed: Iterable[int] | None = None,
) -> str:  # fmt: skip
    """A whole export. after: what stands behind the objects."""
    held, near = tuple(pus), tuple(nodes)
    more = f'os_index="0" allowed_cpuset="{in_bits(held if allowed is None else allowed)}" '
    more += f'allowed_nodeset="{in_bits(near)}"'
    root = thing("Machine", held, inside, near, more)
    return f"<topology{version}>{root}{after}</topology>"


def distances(numbers: list[int], rows: list[list[int]]) -> str:
    """numbers: of the NUMA nodes, in the order of rows."""
    order = " ".join(map(str, numbers)) + " "
    values = " ".join(str(value) for row in rows for value in row) + " "
    return (
        f'<distances2 type="NUMANode" nbobjs="{len(numbers)}" kind="5" name="NUMALatency" '
        f'indexing="os"><indexes length="{len(order)}">{order}</indexes>'
        f'<u64values length="{len(values)}">{values}</u64values></distances2>'
    )


def core_kind(pus: Iterable[int], efficiency: int, **infos: str) -> str:
    words = "".join(f'<info name="{name}" value="{value}"/>' for name, value in infos.items())
    return f'<cpukind cpuset="{in_bits(pus)}" forced_efficiency="{efficiency}">{words}</cpukind>'
