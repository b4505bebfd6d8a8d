"""Read a lab's declaration, lab.toml."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from numalab.errors import NumalabError, UserError
from numalab.files import MIB
from numalab.installation import EDITION, GRADING
from numalab.labs.goals import (
    CORE_GOALS,
    JOB_NODES,
    LAB_PLACING,
    NODES,
    OWNERS,
    POLICY_NODES,
    PlacingGoal,
)
from numalab.labs.hint_ladders import HINTS, BadHints, Ladder, parse_ladders
from numalab.labs.launch import Policy, read_policy
from numalab.labs.quantities import PREDICTED_KEYS, Quantity, read_quantities
from numalab.labs.reference_loops import REFERENCE_LOOP_KEYS, ReferenceLoop, read_reference_loops
from numalab.labs.starting_code import EARNS_WITH, STARTING_CODE, read_digests, read_earnings
from numalab.toml_files.tables import Table, parse_table, read_table

Language = Literal["c", "fortran"]
LANGUAGES: tuple[Language, ...] = ("c", "fortran")
KERNEL_FILES: dict[str, str] = {"c": "kernel.c", "fortran": "kernel.f90"}
LANGUAGE_NAMES = {"c": "C", "fortran": "Fortran"}
NUMACTL = "NUMACTL"  # the only variable that a policy file sets
DECLARATION = "lab.toml"  # in a lab's grading/
FILE_BYTES = MIB  # of a file that is handed in, at most; a kernel has a few KiB

Kind = Literal["correctness", "evidence", "timing"]
KINDS: tuple[Kind, ...] = ("correctness", "evidence", "timing")

# How many times as fast as the solution a kernel may be before an instructor has to check it,
# where a lab says nothing else. A kernel that moves all bytes of arrays larger than the caches is
# limited by the memory's rate, which the solution uses with all cores. Stores that bypass the
# caches save a quarter of the bytes, and the solution's placement can't be bettered.
PLAUSIBLE_UP_TO = 4.0

SINGLE_NODE = "one NUMA node"  # which has all threads in the slow one of two timed placements

VARIANT_ENDING = "_variant"  # of a variant's name, after its lab's

FileKind = Literal[
    "placement", "policy", "groups", "launch", "prediction", "answers", "model",
]  # fmt: skip
# Kinds of files under which numalab's programs are run. Others are judged by what they say.
RUN_UNDER: tuple[FileKind, ...] = ("placement", "policy", "groups", "launch")
# Kinds of files with lines KEY=VALUE; the others are TOML.
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
    """Return the kind of the files that have a goal: "answers" where FILE_KINDS lacks the goal."""
    return FILE_KINDS.get(goal, "answers")


@dataclass(frozen=True)
class HandedFile:
    """A file that is handed in with the kernel.

    By its kind it says
    - placement (.env): where threads go,
    - policy (.env): where memory goes, in numactl's words,
    - groups (.toml): which PUs and NUMA nodes control groups get,
    - launch (.toml): where ranks go,
    - prediction (.toml): how long messages take,
    - answers (.toml): what a lab asks about,
    - model (.toml): how long loops take.
    """

    name: str  # the file's name
    goal: str  # what it has to reach, a key of FILE_KINDS or of seeded_answers.answer_files()
    variables: tuple[str, ...]  # that a placement or policy may set; else empty
    runtimes: tuple[str, ...]  # OpenMP runtimes on which a placement has to reach its goal
    seed: int | None = None  # the seed that answers have to be about; None: any

    @property
    def kind(self) -> FileKind:
        return kind_of_goal(self.goal)


@dataclass(frozen=True)
class TimedPlacements:
    """Placements that are timed and compared with that of a file that is handed in."""

    file: HandedFile


@dataclass(frozen=True)
class Criterion:
    """A criterion of a lab, which may earn points."""

    name: str
    kind: Kind  # "correctness", "evidence" or "timing"
    rule: str  # the name of the rule that judges it
    part: str | None  # the kernel that it is about; None: all of the lab
    points: int  # that it earns if it passes
    # at_least, at_most: bounds on the value, which itself may be reached; None: there is none.
    at_least: float | None
    at_most: float | None
    needs_numa_nodes: int  # how many NUMA nodes a machine must have to show it
    # Modes of transparent huge pages, one of which a machine must have; empty: any.
    needs_huge_page_mode: tuple[str, ...]
    # Starting code fails on machines with at least so many NUMA nodes; None: it passes on all.
    handout_fails_from: int | None
    # It is graded on the lab's virtual machines, too, whatever this machine shows.
    on_machines: bool
    file: HandedFile | None  # the file that it is about; None: a kernel
    # Path of a slow launch file of numalab's, in the lab's folder. Timing then compares numalab's
    # program under that file, the solution's and the student's; None: no launches are compared.
    slow: str | None
    kit_writes_first: bool  # numalab writes the pages first, and only their use is the student's
    whole_team: bool  # as many threads as numalab starts have to use the pages
    # How many times as fast as the solution a kernel may be before its points wait for an
    # instructor.
    plausible_up_to: float = PLAUSIBLE_UP_TO
    baseline_text: str = "the handout"  # what a speedup is over, in words; not used with `slow`
    # Share (0 to 1) of the reference loop's speed that an efficiency needs, in place of at_least, a
    # share of the solution's speed.
    at_least_of_lightspeed: float | None = None
    placing: PlacingGoal = LAB_PLACING  # where memory has to be that a kernel places

    @property
    def least(self) -> float:
        """Return at_least, which must not be None."""
        assert self.at_least is not None
        return self.at_least

    @property
    def most(self) -> float:
        """Return at_most, which must not be None."""
        assert self.at_most is not None
        return self.at_most

    @property
    def needed_file(self) -> HandedFile:
        """Return the file that the criterion is about, which must not be None."""
        assert self.file is not None
        return self.file

    @property
    def required_share(self) -> float | None:
        """Return at_least_of_lightspeed or, where it is None, at_least; None: both are None."""
        of_reference = self.at_least_of_lightspeed
        return self.at_least if of_reference is None else of_reference


@dataclass(frozen=True)
class Lab:
    """A lab as it is declared."""

    name: str  # of its folder, such as 01_first_touch
    title: str  # of its handout
    minutes: int  # that it takes a student
    languages: tuple[Language, ...]  # of its kernels
    contract: str  # its header
    functions: tuple[str, ...]  # that a kernel defines, by the contract
    environment: dict[str, str]  # variables of workers
    machines: tuple[str, ...]  # virtual machines that show what the local machine can't
    mpi: bool  # its kernels run as ranks of an MPI job
    # Parts that numalab's own kernel runs, judged whatever the student's is like.
    kit_parts: tuple[str, ...]
    # How the ranks of other parts are started where they are timed; None: they have no launch.
    launch: Policy | None
    repetition: str  # what is timed at once, in the lab's words
    timed_placements: TimedPlacements | None  # placements that are timed; None: none are
    criteria: tuple[Criterion, ...]
    hints: tuple[Ladder, ...]  # a ladder for each task
    has_solution_text: bool  # solutions/NN_name/ has texts to read; not in a student copy
    # Bytes that a call of compute moves between cores and memory, per byte of each array, by the
    # array's name; empty: no times are modelled from pages.
    bytes_moved: Mapping[str, float] = field(default_factory=dict)
    modelled_on: tuple[str, ...] = ()  # machines to which modelled times are extrapolated
    lightspeed: tuple[ReferenceLoop, ...] = ()  # the reference loops of timed kernels
    predicted: tuple[Quantity, ...] = ()  # quantities that predictions.toml predicts
    programs: tuple[str, ...] = ()  # sources in its folder besides kernels
    # By criterion, another one without which it earns no points (starting_code.py).
    earns_with: Mapping[str, str] = field(default_factory=dict)
    # Digests of starting code, by file, this release's first.
    starting_code: Mapping[str, Sequence[str]] = field(default_factory=dict)
    has_link_job: bool = False  # a kernel is also built as an MPI job (ON_LINK of AddLab.cmake)

    @property
    def number(self) -> str:
        """Return the part of the lab's name before the first underscore, such as "01"."""
        return self.name.split("_")[0]

    @property
    def is_variant(self) -> bool:
        return self.name.endswith(VARIANT_ENDING)

    @property
    def shows_solution(self) -> bool:
        """Tell whether there are texts of the solution to read and the lab is no variant."""
        return self.has_solution_text and not self.is_variant

    @property
    def called(self) -> str:
        """Return the words that name the lab on a command line."""
        return f"{self.number} --variant" if self.is_variant else self.number

    @property
    def own_place(self) -> str:
        """Return a relative path: variants/NAME of a variant, labs/NAME of another lab."""
        return f"{'variants' if self.is_variant else 'labs'}/{self.name}"

    @property
    def calls_mpi(self) -> bool:
        """Tell whether kernels run as MPI ranks, or one is also built as an MPI job."""
        return self.mpi or self.has_link_job

    @property
    def parts(self) -> tuple[str | None, ...]:
        """Return the parts that criteria name, each once, in the order of the criteria; (None,)
        where no criterion names one."""
        named = dict.fromkeys(c.part for c in self.criteria if c.part is not None)
        return tuple(named) or (None,)

    @property
    def kernel_parts(self) -> tuple[str | None, ...]:
        """Return the parts that are not in kit_parts."""
        return tuple(part for part in self.parts if part not in self.kit_parts)

    def criteria_of(self, part: str | None) -> tuple[Criterion, ...]:
        """Return the criteria of a part, and those without a part, in their order."""
        return tuple(c for c in self.criteria if c.part in (None, part))

    @property
    def files(self) -> tuple[HandedFile, ...]:
        """Return the files that are handed in with the kernel, each once."""
        return tuple(dict.fromkeys(c.file for c in self.criteria if c.file is not None))

    def part_of(self, file: HandedFile) -> str | None:
        """Return the part of the first criterion about a file of `files`; None: all parts."""
        return next(c.part for c in self.criteria if c.file == file)

    def reference_loop_of(self, part: str | None) -> ReferenceLoop | None:
        """Return what is declared on a part's reference loop; None: nothing is."""
        return next((loop for loop in self.lightspeed if loop.part == part), None)

    def has_probe(self, part: str | None) -> bool:
        """Tell whether a part has a reference loop."""
        loop = self.reference_loop_of(part)
        return loop is not None and loop.has_probe

    def launch_of(self, part: str | None) -> HandedFile:
        """Return the launch file that is handed in for a part. Raises NumalabError where there is
        not exactly one."""
        files = {
            c.file for c in self.criteria if c.part == part and c.file and c.file.kind == "launch"
        }
        if len(files) != 1:
            raise NumalabError(
                f"{self.name}: a criterion with a slow launch needs one launch file that is "
                f"handed in for {part}, and there are {len(files)}"
            )
        return files.pop()

    def need_language(self, choice: str | None) -> None:
        """Raise UserError where the lab has no kernels in the chosen language. choice: of --lang;
        None and what is no language, such as "all", are accepted."""
        if choice in LANGUAGES and choice not in self.languages:
            instead = " or ".join(f"--lang {language}" for language in self.languages)
            raise UserError(
                f"{self.name} is in {self.language_words} only, and has no kernel in "
                f"{LANGUAGE_NAMES[choice]}. Take {instead}, or leave --lang out."
            )

    @property
    def language_words(self) -> str:
        """Return the names of the lab's languages, as in a sentence."""
        return " and ".join(LANGUAGE_NAMES[language] for language in self.languages)

    def unread_kernels(self, folder: Path) -> list[str]:
        """Return the names of kernel files in a folder, of languages that the lab does not
        have."""
        files = [file for of, file in KERNEL_FILES.items() if of not in self.languages]
        return [file for file in files if (folder / file).is_file()]

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


def _timed_placements(table: Table, criteria: Iterable[Criterion]) -> TimedPlacements | None:
    if not table.values:
        return None
    by_name = {c.file.name: c.file for c in criteria if c.file is not None}
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
            nodes=table.choice("nodes", tuple(NODES), default=LAB_PLACING.nodes),
            run_pages=table.whole("run_pages", 1, default=LAB_PLACING.run_pages),
            owner=table.choice("owner", tuple(OWNERS), default=LAB_PLACING.owner),
        ),
    )


CheckCriterion = Callable[["Lab", Criterion, Table], None]


def load_lab(folder: Path, text: str | None = None, check: CheckCriterion | None = None) -> Lab:
    """Read lab.toml and the hints of a lab. Raises NumalabError for a mistake in them.

    Args:
        folder: of the lab.
        text: of lab.toml; None: that of the file.
        check: is called with the lab, and each criterion with its table, and raises NumalabError
            where a criterion lacks what its rule needs; None: rules are not checked.
    """
    path = folder / GRADING / DECLARATION
    if text is None:
        top = read_table(path, NumalabError, LAB_KEYS)
    else:
        top = parse_table(text, str(path), NumalabError, LAB_KEYS)
    top.need("criterion")
    tables = top.tables("criterion", CRITERION_KEYS)
    criteria = tuple(_criterion(table) for table in tables)
    names = [criterion.name for criterion in criteria]
    placements = _timed_placements(top.table("timed_placements", ("file",)), criteria)
    if placements is not None:
        criteria = tuple(
            replace(c, baseline_text=SINGLE_NODE) if c.kind == "timing" else c for c in criteria
        )
    moved = top.table("bytes_moved", None)
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
        hints=_hints(folder / GRADING / HINTS, names),
        bytes_moved={array: moved.number(array, least=0) for array in moved.values},
        modelled_on=top.texts("modelled_on", ()),
        programs=top.texts("programs", ()),
        has_solution_text=not (folder.parents[1] / EDITION).is_file(),
        earns_with=read_earnings(names, tables),
        starting_code=read_digests(top.table(STARTING_CODE, None)),
        has_link_job=top.truth("link_job", default=False),
    )
    _check_parts(lab, top, tables)
    loops = top.tables("lightspeed", REFERENCE_LOOP_KEYS)
    launched = [criterion.part for criterion in criteria if criterion.slow is not None]
    lab = replace(
        lab,
        lightspeed=read_reference_loops(loops, lab.parts, lab.mpi, launched),
        predicted=read_quantities(top.tables("predicted", PREDICTED_KEYS), names, lab.parts),
    )
    for criterion, table in zip(lab.criteria, tables, strict=True):
        if check is not None:
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
    """Return the names of the labs below numalab's root that have a lab.toml, sorted."""
    return sorted(path.parents[1].name for path in root.glob(f"labs/*/{GRADING}/{DECLARATION}"))


def load_labs(root: Path, check: CheckCriterion | None = None) -> dict[str, Lab]:
    """Return the labs of lab_names by name, sorted. check: as for load_lab. Raises NumalabError
    for a mistake in one."""
    return {name: load_lab(root / "labs" / name, check=check) for name in lab_names(root)}


def choose_labs(labs: dict[str, Lab], names: Iterable[str]) -> list[Lab]:
    """Return the named labs, each once, in the order of the names; all labs where no name is given.
    names: names with or without number, numbers ('1', '01') or paths that end with one. Raises
    UserError for a name of no lab."""
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


VARIANT_NAMES = {"submission": "your kernel", "solution": "solution", "handout": "handout"}
