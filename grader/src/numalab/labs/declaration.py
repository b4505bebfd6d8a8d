"""A lab as its lab.toml declares it."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from numalab.errors import KitError, UserError
from numalab.labs.hint_ladders import BadHints, Ladder, parse_ladders

Language = Literal["c", "fortran"]
LANGUAGES: tuple[Language, ...] = ("c", "fortran")
KERNEL_FILES: dict[str, str] = {"c": "kernel.c", "fortran": "kernel.f90"}

Kind = Literal["correctness", "evidence", "timing"]
KINDS = ("correctness", "evidence", "timing")


FileKind = Literal["placement", "launch", "prediction"]
FILE_KINDS: dict[str, FileKind] = {
    "spread": "placement",
    "close": "placement",
    "close_in_package": "placement",
    "full": "placement",
    "near": "launch",
    "far": "launch",
    "rank_a_numa_node": "launch",
    "prediction": "prediction",
}


@dataclass(frozen=True)
class HandedFile:
    """A file that is handed in beside the kernel. goal: what it is to reach, one of
    FILE_KINDS. A placement (.env) says where threads go: variables that it may set, and
    runtimes on which it has to reach the goal. A launch (.toml) says where ranks go, and a
    prediction (.toml) what a message will take."""

    name: str
    goal: str
    variables: tuple[str, ...]
    runtimes: tuple[str, ...]

    @property
    def kind(self) -> FileKind:
        return FILE_KINDS[self.goal]


@dataclass(frozen=True)
class TimedPlacements:
    """Timing compares placements of the kit's program: the kit's own slow and fast one with
    the student's fast one."""

    slow: HandedFile
    fast: HandedFile


@dataclass(frozen=True)
class Criterion:
    """One thing that earns points.

    rule: how it is judged, a name that the judge knows. part: the kernel that it is about,
    None: all of them. value >= at_least or value <= at_most passes. needs_numa_nodes: NUMA
    nodes that a node must have to show it; needs_huge_page_mode: modes of transparent huge
    pages, one of which it must have, empty: any. handout_fails_from: the handout fails the
    criterion on nodes with at least so many NUMA nodes; None: it passes everywhere.
    on_machines: it is graded on the lab's virtual nodes, too, whatever this node shows.
    file: that it is about, if any. slow: a launch of the kit, in the lab's folder; what is
    timed is then the kit's program, under that, under the solution's launch and the student's.
    kit_writes_first: first touch is the kit's, so that of a page only its use is the student's.
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
    file: HandedFile | None
    slow: str | None
    kit_writes_first: bool


@dataclass(frozen=True)
class Lab:
    """name is the folder's name, such as 01_first_touch. mpi: its kernels run as ranks of
    an MPI job. kit_parts: parts that only the kit's own kernel runs, so that they are judged
    whatever the student's is like. launch: a policy, as a table; how the ranks of the other
    parts are started where they are timed. repetition: what is timed at once, in the lab's
    words."""

    name: str
    title: str
    minutes: int
    languages: tuple[Language, ...]
    contract: str
    functions: tuple[str, ...]
    environment: dict[str, str]
    machines: tuple[str, ...]  # that show what the node at hand can't
    mpi: bool
    kit_parts: tuple[str, ...]
    launch: Mapping[str, Any] | None
    repetition: str
    timed_placements: TimedPlacements | None
    criteria: tuple[Criterion, ...]
    hints: tuple[Ladder, ...]

    @property
    def number(self) -> str:
        """01 of 01_first_touch: enough to name it."""
        return self.name.split("_")[0]

    @property
    def parts(self) -> tuple[str | None, ...]:
        """The kernels that are judged apart, in the order in which criteria name them;
        (None,) where there is one."""
        named = dict.fromkeys(c.part for c in self.criteria if c.part is not None)
        return tuple(named) or (None,)

    @property
    def kernel_parts(self) -> tuple[str | None, ...]:
        """Those that the student's kernel runs."""
        return tuple(part for part in self.parts if part not in self.kit_parts)

    def rules_of(self, part: str | None) -> frozenset[str]:
        """The rules by which a part is judged."""
        return frozenset(c.rule for c in self.criteria if c.part in (None, part))

    @property
    def files(self) -> tuple[HandedFile, ...]:
        """What is handed in beside the kernel, each file once."""
        return tuple(dict.fromkeys(c.file for c in self.criteria if c.file is not None))

    def part_of(self, file: HandedFile) -> str | None:
        """The kernel that runs under a file."""
        return next(c.part for c in self.criteria if c.file == file)

    def launch_of(self, part: str | None) -> HandedFile:
        """The launch that is handed in for a part, and that the kit's slow ones are compared
        with. Raises KitError where there is not one."""
        found = {
            c.file for c in self.criteria if c.part == part and c.file and c.file.kind == "launch"
        }
        if len(found) != 1:
            raise KitError(
                f"{self.name}: a criterion with a slow launch needs one launch file that is "
                f"handed in for {part}, and there are {len(found)}"
            )
        return found.pop()

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


def _handed_file(table: dict[str, Any], where: str) -> HandedFile:
    name = _take(table, "file", str, where)
    goal = _take(table, "goal", str, where)
    if goal not in FILE_KINDS:
        raise KitError(f"{where}: goal is {goal!r}; it can be {', '.join(FILE_KINDS)}")
    if FILE_KINDS[goal] != "placement":
        return HandedFile(name, goal, (), ())
    return HandedFile(
        name,
        goal,
        variables=tuple(_take(table, "variables", list, where)),
        runtimes=tuple(_take(table, "runtimes", list, where)),
    )


def _timed_placements(
    table: dict[str, str], files: Iterable[HandedFile], where: str
) -> TimedPlacements | None:
    if not table:
        return None
    by_name = {file.name: file for file in files}
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
        file=_handed_file(table, where) if "file" in table else None,
        slow=_take(table, "slow", str, where, None),
        kit_writes_first=_take(table, "kit_writes_first", bool, where, False),
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
        mpi=_take(table, "mpi", bool, where, False),
        kit_parts=tuple(_take(table, "kit_parts", list, where, [])),
        launch=_take(table, "launch", dict, where, None),
        repetition=_take(table, "repetition", str, where, "a repetition"),
        timed_placements=_timed_placements(
            dict(_take(table, "timed_placements", dict, where, {})),
            [c.file for c in criteria if c.file is not None],
            where,
        ),
        criteria=criteria,
        hints=_hints(folder / "hints.md", [criterion.name for criterion in criteria]),
    )
    _no_leftovers(table, where)
    _check_parts(lab, where)
    return lab


def _hints(path: Path, criteria: Sequence[str]) -> tuple[Ladder, ...]:
    if not path.is_file():
        return ()
    try:
        return parse_ladders(path.read_text(encoding="utf-8"), criteria)
    except BadHints as error:
        raise KitError(f"{path}: {error}") from error


def _check_parts(lab: Lab, where: str) -> None:
    for part in lab.kit_parts:
        if part not in lab.parts:
            raise KitError(f"{where}: kit_parts has {part}, and no criterion is about it")
    for criterion in lab.criteria:
        if criterion.slow is None:
            continue
        if criterion.part not in lab.kit_parts or criterion.rule != "speedup":
            raise KitError(
                f"{where}, criterion {criterion.name}: slow is for the rule speedup and a part "
                "of kit_parts"
            )
        lab.launch_of(criterion.part)


def lab_names(root: Path) -> list[str]:
    """Of all labs of the kit, in order."""
    return sorted(path.parent.name for path in (root / "labs").glob("*/lab.toml"))


def load_labs(root: Path) -> dict[str, Lab]:
    """All labs of the kit by name, in order."""
    return {name: load_lab(root / "labs" / name) for name in lab_names(root)}


def choose_labs(labs: dict[str, Lab], names: Iterable[str]) -> list[Lab]:
    """The named labs, or all; a number ('1', '01') is enough. Raises UserError."""
    chosen = []
    for name in names:
        name = Path(name.rstrip("/")).name
        matches = [
            lab
            for lab in labs.values()
            if lab.name == name
            or (name.isdigit() and lab.number == name.zfill(2))
            or lab.name.split("_", 1)[-1] == name
        ]
        if not matches:
            near = difflib.get_close_matches(name, labs, n=1, cutoff=0.4)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise UserError(f"there is no lab '{name}'.{hint} The labs are: {', '.join(labs)}")
        chosen += [lab for lab in matches if lab not in chosen]
    return chosen or list(labs.values())


LANGUAGE_NAMES = {"c": "C", "fortran": "Fortran"}
VARIANT_NAMES = {"submission": "your kernel", "solution": "solution", "handout": "handout"}
