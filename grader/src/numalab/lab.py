"""A lab as its lab.toml declares it."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from numalab.errors import KitError, UserError

Language = Literal["c", "fortran"]
LANGUAGES: tuple[Language, ...] = ("c", "fortran")
KERNEL_FILES: dict[str, str] = {"c": "kernel.c", "fortran": "kernel.f90"}

Kind = Literal["correctness", "evidence", "timing"]
KINDS = ("correctness", "evidence", "timing")


@dataclass(frozen=True)
class PlacementFile:
    """A file in which the student says where threads go. goal: as placement.GOALS knows it;
    variables: that it may set; runtimes: on which it has to reach the goal."""

    file: str
    goal: str
    variables: tuple[str, ...]
    runtimes: tuple[str, ...]


@dataclass(frozen=True)
class TimedPlacements:
    """Timing compares placements of the kit's program: the kit's own slow and fast one with
    the student's fast one."""

    slow: PlacementFile
    fast: PlacementFile


@dataclass(frozen=True)
class Criterion:
    """One thing that earns points.

    rule: how it is judged, a name that the judge knows. part: the kernel that it is about,
    None: all of them. value >= at_least or value <= at_most passes. needs_numa_nodes: NUMA
    nodes that a node must have to show it; needs_huge_page_mode: modes of transparent huge
    pages, one of which it must have, empty: any. handout_fails_from: the handout fails the
    criterion on nodes with at least so many NUMA nodes; None: it passes everywhere.
    on_machines: it is graded on the lab's virtual nodes, too, whatever this node shows.
    placement: the file that it is about, if any.
    """

    name: str
    kind: Kind
    rule: str
    part: str | None
    points: int
    at_least: float | None
    at_most: float | None
    needs_numa_nodes: int
    needs_huge_page_mode: tuple[str, ...]
    handout_fails_from: int | None
    on_machines: bool
    placement: PlacementFile | None


@dataclass(frozen=True)
class Lab:
    """name is the folder's name, such as 01_first_touch."""

    name: str
    title: str
    minutes: int
    languages: tuple[Language, ...]
    contract: str
    functions: tuple[str, ...]
    environment: dict[str, str]
    machines: tuple[str, ...]  # that show what the node at hand can't
    timed_placements: TimedPlacements | None
    criteria: tuple[Criterion, ...]
    hints: tuple[str, ...]

    @property
    def parts(self) -> tuple[str | None, ...]:
        """The kernels that are judged apart, in the order in which criteria name them;
        (None,) where there is one."""
        named = dict.fromkeys(c.part for c in self.criteria if c.part is not None)
        return tuple(named) or (None,)

    def rules_of(self, part: str | None) -> frozenset[str]:
        """The rules by which a part is judged."""
        return frozenset(c.rule for c in self.criteria if c.part in (None, part))

    @property
    def placements(self) -> tuple[PlacementFile, ...]:
        """The placement files that are handed in, each once."""
        return tuple(dict.fromkeys(c.placement for c in self.criteria if c.placement is not None))

    @property
    def max_points(self) -> int:
        return sum(criterion.points for criterion in self.criteria)


def _take(
    table: dict[str, Any], key: str, kind: type | tuple[type, ...], where: str, default: Any = ...
) -> Any:
    if key not in table:
        if default is ...:
            raise KitError(f"{where}: the key '{key}' is missing")
        return default
    value = table.pop(key)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise KitError(f"{where}: '{key}' has a value of the wrong type: {value!r}")
    return value


def _no_leftovers(table: dict[str, Any], where: str) -> None:
    if table:
        raise KitError(f"{where}: unknown key: {', '.join(sorted(table))}")


def _placement_file(table: dict[str, Any], where: str) -> PlacementFile:
    return PlacementFile(
        file=_take(table, "file", str, where),
        goal=_take(table, "goal", str, where),
        variables=tuple(_take(table, "variables", list, where)),
        runtimes=tuple(_take(table, "runtimes", list, where)),
    )


def _timed_placements(
    table: dict[str, str], files: Iterable[PlacementFile], where: str
) -> TimedPlacements | None:
    if not table:
        return None
    by_name = {file.file: file for file in files}
    try:
        found = TimedPlacements(slow=by_name[table.pop("slow")], fast=by_name[table.pop("fast")])
    except KeyError as error:
        raise KitError(f"{where}: timed_placements: there is no {error}") from error
    _no_leftovers(table, f"{where}, timed_placements")
    return found


def _criterion(table: dict[str, Any], where: str) -> Criterion:
    table = dict(table)
    name = _take(table, "name", str, where)
    where = f"{where}, criterion {name}"
    criterion = Criterion(
        name=name,
        kind=_take(table, "kind", str, where),
        rule=_take(table, "rule", str, where, name),
        part=_take(table, "part", str, where, None),
        points=_take(table, "points", int, where),
        at_least=_take(table, "at_least", (int, float), where, None),
        at_most=_take(table, "at_most", (int, float), where, None),
        needs_numa_nodes=_take(table, "needs_numa_nodes", int, where, 1),
        needs_huge_page_mode=tuple(_take(table, "needs_huge_page_mode", list, where, [])),
        handout_fails_from=_take(table, "handout_fails_from_numa_nodes", int, where, None),
        on_machines=_take(table, "on_machines", bool, where, False),
        placement=_placement_file(table, where) if "file" in table else None,
    )
    if criterion.kind not in KINDS:
        raise KitError(f"{where}: kind is {criterion.kind!r}; it can be {', '.join(KINDS)}")
    _no_leftovers(table, where)
    return criterion


def load_lab(folder: Path) -> Lab:
    """Reads lab.toml and the hints of a lab. Raises KitError with the place of a mistake."""
    path = folder / "lab.toml"
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise KitError(f"can't read {path}: {error.strerror}") from error
    except tomllib.TOMLDecodeError as error:
        raise KitError(f"{path}: {error}") from error
    where = str(path)
    hints_path = folder / "hints.md"
    hints = hints_path.read_text(encoding="utf-8") if hints_path.is_file() else ""
    criteria = tuple(_criterion(entry, where) for entry in _take(table, "criterion", list, where))
    lab = Lab(
        name=folder.name,
        title=_take(table, "title", str, where),
        minutes=_take(table, "minutes", int, where),
        languages=tuple(_take(table, "languages", list, where)),
        contract=_take(table, "contract", str, where),
        functions=tuple(_take(table, "functions", list, where)),
        environment=dict(_take(table, "environment", dict, where, {})),
        machines=tuple(_take(table, "machines", list, where, ["hydra"])),
        timed_placements=_timed_placements(
            dict(_take(table, "timed_placements", dict, where, {})),
            [c.placement for c in criteria if c.placement is not None],
            where,
        ),
        criteria=criteria,
        hints=tuple(part.strip() for part in hints.split("\n---\n") if part.strip()),
    )
    _no_leftovers(table, where)
    return lab


def load_labs(root: Path) -> dict[str, Lab]:
    """All labs of the kit by name, in order."""
    folders = sorted(path.parent for path in (root / "labs").glob("*/lab.toml"))
    return {folder.name: load_lab(folder) for folder in folders}


def choose_labs(labs: dict[str, Lab], names: Iterable[str]) -> list[Lab]:
    """The named labs, or all; a number ('1', '01') is enough. Raises UserError."""
    chosen = []
    for name in names:
        name = Path(name.rstrip("/")).name
        matches = [
            lab
            for lab in labs.values()
            if lab.name == name
            or (name.isdigit() and lab.name.split("_")[0] == name.zfill(2))
            or lab.name.split("_", 1)[-1] == name
        ]
        if not matches:
            near = difflib.get_close_matches(name, labs, n=1, cutoff=0.4)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise UserError(f"there is no lab '{name}'.{hint} The labs are: {', '.join(labs)}")
        chosen += [lab for lab in matches if lab not in chosen]
    return chosen or list(labs.values())
