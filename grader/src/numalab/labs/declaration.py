"""A lab as its lab.toml declares it."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from numalab.errors import NumalabError, UserError
from numalab.files import MIB
from numalab.installation import EDITION, GRADING
from numalab.labs.core_goals import CORE_GOALS
from numalab.labs.cpuset_goals import JOB_NODES
from numalab.labs.hint_ladders import HINTS, BadHints, Ladder, parse_ladders
from numalab.labs.launch import Policy, read_policy
from numalab.labs.placing_goals import LAB_PLACING, NODES, OWNERS, POLICY_NODES, PlacingGoal
from numalab.labs.quantities import PREDICTED_KEYS, Quantity, read_quantities
from numalab.labs.reference_loops import REFERENCE_LOOP_KEYS, ReferenceLoop, read_reference_loops
from numalab.labs.starting_code import EARNS_WITH, STARTING_CODE, read_digests, read_earnings
from numalab.toml_files.tables import Table, parse_table, read_table

Language = Literal["c", "fortran"]
LANGUAGES: tuple[Language, ...] = ("c", "fortran")
KERNEL_FILES: dict[str, str] = {"c": "kernel.c", "fortran": "kernel.f90"}
NUMACTL = "NUMACTL"  # the variable of a policy file
DECLARATION = "lab.toml"  # in a lab's grading/
FILE_BYTES = MIB  # of a file that is handed in, at most; a kernel has a few KiB

Kind = Literal["correctness", "evidence", "timing"]
KINDS: tuple[Kind, ...] = ("correctness", "evidence", "timing")

# How many times as fast as the solution a kernel may be before somebody has to look at how, where a
# lab says nothing else. What moves all bytes of arrays that are larger than the caches moves them
# at the memory's rate, which the solution uses with all cores: stores past the caches save a
# quarter of them, and better placement is what the solution has.
PLAUSIBLE_UP_TO = 4.0

SINGLE_NODE = "one NUMA node"  # where the slow one of two timed placements has all threads

VARIANT_ENDING = "_variant"  # of the name of somebody's variant, after its lab's

FileKind = Literal[
    "placement", "policy", "groups", "launch", "prediction", "answers", "model",
]  # fmt: skip
# Those under which programs of the kit are run; what others say is held against what is measured.
RUN_UNDER: tuple[FileKind, ...] = ("placement", "policy", "groups", "launch")
# Lines of KEY=VALUE; the others are TOML.
VARIABLES: tuple[FileKind, ...] = ("placement", "policy")
FILE_KINDS: dict[str, FileKind] = {
    "spread": "placement",
    "spread_over_packages": "placement",
    "close": "placement",
    "close_in_package": "placement",
    "full": "placement",
    **dict.fromkeys(CORE_GOALS, "placement"),
    **dict.fromkeys(POLICY_NODES, "policy"),
    **dict.fromkeys(JOB_NODES, "groups"),
    "near": "launch",
    "far": "launch",
    "rank_a_numa_node": "launch",
    "rank_a_numa_node_by_pus": "launch",
    "rank_a_package": "launch",
    "rank_a_package_by_pus": "launch",
    "rank_a_core_by_pus": "launch",
    "prediction": "prediction",
    "model": "model",
}


def kind_of_goal(goal: str) -> FileKind:
    """Return the kind of a file by its goal. What is not in FILE_KINDS is a file with answers, of
    which labs have their own (seeded_answers.py)."""
    return FILE_KINDS.get(goal, "answers")


@dataclass(frozen=True)
class HandedFile:
    """A file that is handed in beside the kernel. goal: what it is to reach, of FILE_KINDS or of a
    lab's answer files. A placement (.env) says where threads go: variables that it may set, and
    runtimes on which it has to reach the goal. A policy (.env) says where memory goes, in words of
    numactl. Groups (.toml) say which CPUs and memory control groups get, a launch (.toml) where
    ranks go, a prediction (.toml) what a message will take, answers (.toml) what a machine is like
    or what a recording of a governor says, rates (.toml) what links carry, and a model (.toml)
    what loops take. seed: of what answers have to be about; None: any."""

    name: str
    goal: str
    variables: tuple[str, ...]
    runtimes: tuple[str, ...]
    seed: int | None = None

    @property
    def kind(self) -> FileKind:
        return kind_of_goal(self.goal)


@dataclass(frozen=True)
class TimedPlacements:
    """Timing compares placements of the kit's program: two of the kit's, of one team on one NUMA
    node and on all (judging/thread_goals.py), with that of a file that is handed in."""

    file: HandedFile


@dataclass(frozen=True)
class Criterion:
    """One thing that earns points.

    rule: how it is judged, a name that the judge knows. part: the kernel that it is about,
    None: all of them. value >= at_least or value <= at_most passes. needs_numa_nodes: NUMA
    nodes that a machine must have to show it; needs_huge_page_mode: modes of transparent huge
    pages, one of which it must have, empty: any. handout_fails_from: the handout fails the
    criterion on machines with at least so many NUMA nodes; None: it passes everywhere.
    on_machines: it is graded on the lab's virtual nodes, too, whatever this node shows.
    file: that it is about, if any. slow: a launch of the kit, in the lab's folder; what is
    timed is then the kit's program, under that, under the solution's launch and the student's.
    kit_writes_first: first touch is the kit's, so that of a page only its use is the student's.
    plausible_up_to: of times, how many times as fast as the solution a kernel may be before its
    points wait until an instructor has looked.
    whole_team: the pages have to be used by as many threads as the kit asks for.
    at_least_of_lightspeed: of an efficiency, the share of the probe's speed that is asked for, in
    the place of at_least, which is one of the solution's.
    over: what a speedup is over, in words, where it is no launch. placing: of memory that a kernel
    places, where it is to be.
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
    whole_team: bool
    plausible_up_to: float = PLAUSIBLE_UP_TO
    baseline_text: str = "the handout"
    at_least_of_lightspeed: float | None = None
    placing: PlacingGoal = LAB_PLACING

    @property
    def required_share(self) -> float | None:
        """Of the speed of what an efficiency is held against: the solution, or the probe."""
        of_probe = self.at_least_of_lightspeed
        return self.at_least if of_probe is None else of_probe


@dataclass(frozen=True)
class Lab:
    """name is the folder's name, such as 01_first_touch. mpi: its kernels run as ranks of
    an MPI job. kit_parts: parts that only the kit's own kernel runs, so that they are judged
    whatever the student's is like. launch: how the ranks of the other parts are started where they
    are timed. programs: sources that its folder has beside kernels. repetition: what is timed at
    once, in the lab's words. bytes_moved: what a call of compute moves of each array, to and from
    memory, for each byte of it; by its name, empty where no time is modelled from pages.
    modelled_on: machines to which what is modelled from pages is carried over. lightspeed: of the
    kernels that are timed, which the probe is timed beside. predicted: of the staff's run, in
    predictions.toml."""

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
    launch: Policy | None
    repetition: str
    timed_placements: TimedPlacements | None
    criteria: tuple[Criterion, ...]
    hints: tuple[Ladder, ...]
    has_solution_text: bool  # not so in a student's edition
    bytes_moved: Mapping[str, float] = field(default_factory=dict)
    modelled_on: tuple[str, ...] = ()
    lightspeed: tuple[ReferenceLoop, ...] = ()
    predicted: tuple[Quantity, ...] = ()
    programs: tuple[str, ...] = ()
    earns_with: Mapping[str, str] = field(default_factory=dict)  # by criterion: labs/starting_code
    starting_code: Mapping[str, Sequence[str]] = field(default_factory=dict)  # digests, by file
    has_link_job: bool = False  # a kernel is also built as an MPI job (ON_LINK of AddLab.cmake)

    @property
    def number(self) -> str:
        """01 of 01_first_touch: enough to name it."""
        return self.name.split("_")[0]

    @property
    def is_variant(self) -> bool:
        """Whether it is somebody's variant of a lab."""
        return self.name.endswith(VARIANT_ENDING)

    @property
    def shows_solution(self) -> bool:
        """Whether solutions/NN_name/ is there to be read."""
        return self.has_solution_text and not self.is_variant

    @property
    def called(self) -> str:
        """What names it on a command line."""
        return f"{self.number} --variant" if self.is_variant else self.number

    @property
    def own_place(self) -> str:
        """Where a learner's files are, from the top of her folder."""
        return f"{'variants' if self.is_variant else 'labs'}/{self.name}"

    @property
    def calls_mpi(self) -> bool:
        """Whether its kernels can't be built without MPI."""
        return self.mpi or self.has_link_job

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

    def criteria_of(self, part: str | None) -> tuple[Criterion, ...]:
        """Return the criteria by which a part is judged; those without a part are about all."""
        return tuple(c for c in self.criteria if c.part in (None, part))

    @property
    def files(self) -> tuple[HandedFile, ...]:
        """What is handed in beside the kernel, each file once."""
        return tuple(dict.fromkeys(c.file for c in self.criteria if c.file is not None))

    def part_of(self, file: HandedFile) -> str | None:
        """The kernel that runs under a file."""
        return next(c.part for c in self.criteria if c.file == file)

    def reference_loop_of(self, part: str | None) -> ReferenceLoop | None:
        """None: nothing is declared."""
        return next((found for found in self.lightspeed if found.part == part), None)

    def has_probe(self, part: str | None) -> bool:
        """Whether the kit's own loop can be timed beside a part."""
        found = self.reference_loop_of(part)
        return found is not None and found.has_probe

    def launch_of(self, part: str | None) -> HandedFile:
        """The launch that is handed in for a part, and that the kit's slow ones are compared
        with. Raises NumalabError where there is not one."""
        files = {
            c.file for c in self.criteria if c.part == part and c.file and c.file.kind == "launch"
        }
        if len(files) != 1:
            raise NumalabError(
                f"{self.name}: a criterion with a slow launch needs one launch file that is "
                f"handed in for {part}, and there are {len(files)}"
            )
        return files.pop()

    @property
    def max_points(self) -> int:
        return sum(criterion.points for criterion in self.criteria)


CRITERION_KEYS = (
    "name", "kind", "rule", "part", "points", "at_least", "at_most", "needs_numa_nodes",
    "needs_huge_page_mode", "handout_fails_from_numa_nodes", "on_machines", "file", "goal",
    "variables", "runtimes", "slow", "kit_writes_first", "whole_team", "plausible_up_to",
    "at_least_of_lightspeed", "seed", "nodes", "run_pages", "owner", EARNS_WITH,
)  # fmt: skip
PLACEMENT_KEYS = ("variables", "runtimes")
LAB_KEYS = (
    "title", "minutes", "languages", "contract", "functions", "programs", "environment",
    "machines", "mpi", "kit_parts", "launch", "repetition", "timed_placements", "bytes_moved",
    "modelled_on", "lightspeed", "criterion", "predicted", "link_job", STARTING_CODE,
)  # fmt: skip


def _handed_file(table: Table) -> HandedFile | None:
    if "file" not in table:
        for key in ("goal", "seed", *PLACEMENT_KEYS):
            if key in table:
                table.fail(f"'{key}' is about a file that is handed in; add 'file'", key)
        return None
    goal = table.text("goal")
    kind = kind_of_goal(goal)
    if kind == "placement":
        variables, runtimes = (table.texts(key) for key in PLACEMENT_KEYS)
        return HandedFile(table.text("file"), goal, variables, runtimes)
    allowed = (NUMACTL,) if kind == "policy" else ()
    for key in PLACEMENT_KEYS:
        if key in table:
            table.fail(f"'{key}' is about a placement, and the goal {goal} is none", key)
    seed = table.maybe("seed", lambda key: table.whole(key, 1))
    if seed is not None and kind != "answers":
        table.fail(f"'seed' is about answers, and the goal {goal} has none", "seed")
    return HandedFile(table.text("file"), goal, allowed, (), seed)


def _timed_placements(table: Table, files: Iterable[HandedFile]) -> TimedPlacements | None:
    if not table.values:
        return None
    by_name = {file.name: file for file in files}
    return TimedPlacements(file=by_name[table.choice("file", by_name)])


def _criterion(table: Table) -> Criterion:
    name = table.text("name")
    return Criterion(
        name=name,
        kind=table.choice("kind", KINDS),
        rule=table.text("rule", default=name),
        part=table.maybe("part", table.text),
        points=table.whole("points", 0),
        at_least=table.maybe("at_least", table.number),
        at_most=table.maybe("at_most", table.number),
        needs_numa_nodes=table.whole("needs_numa_nodes", 1, default=1),
        needs_huge_page_mode=table.texts("needs_huge_page_mode", ()),
        handout_fails_from=table.maybe(
            "handout_fails_from_numa_nodes", lambda key: table.whole(key, 1)
        ),
        on_machines=table.truth("on_machines", default=False),
        file=_handed_file(table),
        slow=table.maybe("slow", table.text),
        kit_writes_first=table.truth("kit_writes_first", default=False),
        plausible_up_to=table.number("plausible_up_to", least=1.0, default=PLAUSIBLE_UP_TO),
        whole_team=table.truth("whole_team", default=False),
        at_least_of_lightspeed=table.maybe(
            "at_least_of_lightspeed", lambda key: table.number(key, least=0.0, most=1.0)
        ),
        placing=PlacingGoal(
            nodes=table.choice("nodes", tuple(NODES)) if "nodes" in table else LAB_PLACING.nodes,
            run_pages=table.whole("run_pages", 1, default=LAB_PLACING.run_pages),
            owner=table.choice("owner", tuple(OWNERS)) if "owner" in table else LAB_PLACING.owner,
        ),
    )


def _bytes_moved(table: Table) -> dict[str, float]:
    return {array: table.number(array, least=0) for array in table.values}


CheckCriterion = Callable[["Lab", Criterion, Table], None]


def _accept(lab: Lab, criterion: Criterion, table: Table) -> None:
    """Check nothing."""


def load_lab(folder: Path, text: str | None = None, check: CheckCriterion = _accept) -> Lab:
    """Read lab.toml and the hints of a lab.

    text: in place of lab.toml's. check: fails where a criterion lacks what its rule needs; see
    judging/rules.py, which loads labs so. Raises NumalabError with the place of a mistake.
    """
    path = folder / GRADING / DECLARATION
    if text is None:
        top = read_table(path, NumalabError, LAB_KEYS)
    else:
        top = parse_table(text, str(path), NumalabError, LAB_KEYS)
    top.need("criterion")
    tables = top.tables("criterion", CRITERION_KEYS)
    criteria = tuple(_criterion(table) for table in tables)
    placements = _timed_placements(
        top.table("timed_placements", ("file",)),
        [c.file for c in criteria if c.file is not None],
    )
    if placements is not None:
        criteria = tuple(
            replace(c, baseline_text=SINGLE_NODE) if c.kind == "timing" else c for c in criteria
        )
    lab = Lab(
        name=folder.name,
        title=top.text("title"),
        minutes=top.whole("minutes", 1),
        languages=top.choices("languages", LANGUAGES),
        contract=top.text("contract"),
        functions=top.texts("functions"),
        environment=top.table("environment", None).text_values(),
        machines=top.texts("machines", ("hydra",)),
        mpi=top.truth("mpi", default=False),
        kit_parts=top.texts("kit_parts", ()),
        launch=read_policy(top.table("launch", None)) if "launch" in top else None,
        repetition=top.text("repetition", default="a repetition"),
        timed_placements=placements,
        criteria=criteria,
        hints=_hints(folder / GRADING / HINTS, [criterion.name for criterion in criteria]),
        bytes_moved=_bytes_moved(top.table("bytes_moved", None)),
        modelled_on=top.texts("modelled_on", ()),
        programs=top.texts("programs", ()),
        has_solution_text=not (folder.parents[1] / EDITION).is_file(),
        earns_with=read_earnings([criterion.name for criterion in criteria], tables),
        starting_code=read_digests(top.table(STARTING_CODE, None)),
        has_link_job=top.truth("link_job", default=False),
    )
    _check_parts(lab, top, tables)
    launched = [criterion.part for criterion in criteria if criterion.slow is not None]
    of_parts = read_reference_loops(
        top.tables("lightspeed", REFERENCE_LOOP_KEYS) if "lightspeed" in top else [],
        lab.parts,
        lab.mpi,
        launched,
    )
    quantities = read_quantities(
        top.tables("predicted", PREDICTED_KEYS) if "predicted" in top else [],
        [criterion.name for criterion in criteria],
        lab.parts,
    )
    lab = replace(lab, lightspeed=of_parts, predicted=quantities)
    for criterion, table in zip(lab.criteria, tables, strict=True):
        check(lab, criterion, table)
    return lab


def _hints(path: Path, criteria: Sequence[str]) -> tuple[Ladder, ...]:
    if not path.is_file():
        return ()
    try:
        return parse_ladders(path.read_text(encoding="utf-8"), criteria)
    except BadHints as error:
        raise NumalabError(f"{path}: {error}") from error


def _check_parts(lab: Lab, top: Table, tables: Sequence[Table]) -> None:
    for index, part in enumerate(lab.kit_parts):
        if part not in lab.parts:
            top.fail(f"kit_parts has {part}, and no criterion is about it", "kit_parts", index)
    for criterion, table in zip(lab.criteria, tables, strict=True):
        if criterion.slow is None:
            continue
        if criterion.part not in lab.kit_parts:
            table.fail("'slow' is for a part of kit_parts", "slow")
        lab.launch_of(criterion.part)


def lab_names(root: Path) -> list[str]:
    """Of all labs of the kit, in order."""
    return sorted(path.parents[1].name for path in root.glob(f"labs/*/{GRADING}/{DECLARATION}"))


def load_labs(root: Path, check: CheckCriterion = _accept) -> dict[str, Lab]:
    """Return all labs of the kit by name, in order; check: as of load_lab."""
    return {name: load_lab(root / "labs" / name, check=check) for name in lab_names(root)}


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
