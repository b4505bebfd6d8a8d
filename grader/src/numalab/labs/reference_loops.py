"""Read [[lightspeed]] of lab.toml: which timed kernels are compared with a reference loop, and why
others are not."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from numalab.toml_files.tables import Table

REFERENCE_LOOP_KEYS = ("part", "flops_per_element", "none")


@dataclass(frozen=True)
class ReferenceLoop:
    """The reference loop of one timed kernel, or why it has none."""

    part: str | None  # the kernel, as criteria name it; None: the lab's only one
    # Floating-point operations of a repetition per element; None: there is no reference loop.
    flops_per_element: float | None
    none: str = ""  # why there is none, as the rest of a sentence

    @property
    def has_probe(self) -> bool:
        return self.flops_per_element is not None


def _read(table: Table) -> ReferenceLoop:
    flops = table.maybe("flops_per_element", lambda key: table.number(key, least=0.0))
    none = table.maybe("none", table.text)
    if (flops is None) == (none is None):
        table.fail(
            "[[lightspeed]] needs either 'flops_per_element', where the kit has a probe, or "
            "'none', which says why it has not"
        )
    return ReferenceLoop(table.maybe("part", table.text), flops, none or "")


def read_reference_loops(
    tables: Sequence[Table],
    parts: Collection[str | None],
    is_launched: bool,
    launched_parts: Collection[str | None],
) -> tuple[ReferenceLoop, ...]:
    """Read the reference loops of a lab. Raises the tables' error for a mistake.

    Args:
        parts: names of the lab's kernels; None: its only one.
        is_launched: the lab's kernels are MPI ranks.
        launched_parts: parts of which launches are timed and compared.
    """
    found: dict[str | None, ReferenceLoop] = {}
    for table in tables:
        read = _read(table)
        part = read.part
        if part not in parts:
            named = ", ".join(str(name) for name in parts if name is not None)
            if part is None:
                table.fail(f"[[lightspeed]] has no key 'part'; add it, one of: {named}")
            table.fail(f"'part' is {part}, and no criterion is about it", "part")
        if part in found:
            table.fail("there is a [[lightspeed]] of this part already; keep one", "part")
        if read.has_probe and (is_launched or part in launched_parts):
            table.fail(
                "a probe is one process, and this part is timed as ranks of MPI; say why there is "
                "'none' instead",
                "flops_per_element",
            )
        found[part] = read
    return tuple(found.values())
