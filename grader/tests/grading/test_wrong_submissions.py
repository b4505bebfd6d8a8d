"""Plausible mistakes of students, each with the verdicts that it deserves on this node and,
where the lab is graded on virtual nodes, on those, one boot for all.

They lie with their lab's solution, solutions/NN_name/wrong/, with a table wrong.toml: a kernel
NAME.c or NAME.f90, or a folder NAME with the files beside it that are wrong: placements (.env),
launches and predictions (.toml). What an entry does not have is the solution's.

What both languages show alike is graded in one of them, in turns, and in the other with --all. For
every change few are graded that show together what all do: each criterion that fails in a lab, here
or on a machine, each cause that is told, each machine.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.commands import assert_all_gone
from support.published_labs import is_published

from numalab.evidence.read_record import record_json
from numalab.files import write_json
from numalab.grading.grade import grade
from numalab.grading.kernel_grading import Grading
from numalab.grading.vm_gradings import grade_on_vms
from numalab.harness.monitor import describe_node
from numalab.installation import Installation, find_installation
from numalab.judging.effort import Effort, effort_for
from numalab.judging.printed_words import warning_words
from numalab.judging.verdict import CAUSES, CriterionVerdict, Verdict
from numalab.labs.declaration import KERNEL_FILES, Criterion, Lab, load_labs
from numalab.machines.gallery import find_machine
from numalab.reports.verdict_words import to_fix
from numalab.virtual.place import VirtualPlaces
from numalab.virtual.plan import GuestOptions

pytestmark = [pytest.mark.builds, pytest.mark.boots]

Json = dict[str, Any]
Controls = dict[str, list[Json]]
ROOT = find_installation("gnu").root


LABS = load_labs(ROOT)
# Told in the same way whatever the lab, but for those on MPI.
OF_ANY_KERNEL = ("crashed", "exited", "timed_out", "over_limit", "out_of_memory")


def timing_criteria(lab: Lab) -> set[str]:
    return {c.name for c in lab.criteria if c.kind == "timing"}


def is_timed(lab: Lab, entry: Json, language: str) -> bool:
    """Where times show something, unless it says time = false, or in which languages: they
    cost the suite its time."""
    time = entry.get("time", bool(timing_criteria(lab) & set(entry["fails"])))
    return language in time if isinstance(time, list) else bool(time)


def needs_quiet(lab: Lab, entry: Json, language: str) -> bool:
    """What gives wrong results is not timed in the end; what else shows without times says
    quiet = false."""
    is_shown_by_time = entry.get("quiet", True) and "correct" not in entry["fails"]
    return is_timed(lab, entry, language) and is_shown_by_time


def differs(entry: Json) -> bool:
    """Whether an entry expects something else in one language than in the other."""
    return "says_c" in entry or isinstance(entry.get("time"), list)


def shows(lab: Lab, entry: Json) -> set[tuple[str, str, str]]:
    """What another entry may have shown before: of its lab, on its machine, or of any kernel."""
    keys = ("fails", "fails_on_machine")
    cause = entry.get("cause", "")
    whose = ("MPI" if lab.mpi else "OpenMP") if cause in OF_ANY_KERNEL else lab.name
    return (
        {(lab.name, key, name) for key in keys for name in entry.get(key, ())}
        | {("", "on", name) for name in entry.get("on", ())}
        | {(whose, "cause", cause)}
    )


# Nothing else runs while one is timed.
COST_OF_TIMES = 4
LEAST_OF_LANGUAGE = 2  # of a lab


def for_every_change(submissions: Sequence[tuple[Lab, Json]]) -> set[tuple[str, str]]:
    """Return lab and name of few that show together whatever any of them shows: again and again
    that which shows most of what is left for its cost."""
    left_to_show = {
        (lab.name, entry["name"]): (shows(lab, entry), cost_of(lab, entry))
        for lab, entry in submissions
        if not entry.get("takes_long", False)
    }
    chosen = set()
    while any(things for things, _ in left_to_show.values()):
        best = max(left_to_show, key=lambda key: len(left_to_show[key][0]) / left_to_show[key][1])
        chosen.add(best)
        shown = left_to_show[best][0]
        left_to_show = {key: (things - shown, c) for key, (things, c) in left_to_show.items()}
    return chosen


def cost_of(lab: Lab, entry: Json) -> int:
    languages = entry["languages"] if differs(entry) else entry["languages"][:1]
    return sum(COST_OF_TIMES if needs_quiet(lab, entry, name) else 1 for name in languages)


def usual_cases(submissions: Sequence[tuple[Lab, Json]]) -> set[tuple[str, str, str]]:
    """Return lab, language and name of what is graded for every change."""
    chosen = for_every_change(submissions)
    usual: set[tuple[str, str, str]] = set()
    counts: Counter[tuple[str, str]] = Counter()

    def add(lab: Lab, language: str, entry: Json) -> None:
        usual.add((lab.name, language, entry["name"]))
        counts[lab.name, language] += 1

    for lab, entry in submissions:
        if (lab.name, entry["name"]) in chosen:
            # The language with fewer so far.
            turn = min(entry["languages"], key=lambda name: (counts[lab.name, name], name == "c"))
            for language in entry["languages"] if differs(entry) else [turn]:
                add(lab, language, entry)
    for lab, entry in submissions:
        for language in entry["languages"]:
            is_cheap = not entry.get("takes_long", False) and not needs_quiet(lab, entry, language)
            is_usual = (lab.name, language, entry["name"]) in usual
            if counts[lab.name, language] < LEAST_OF_LANGUAGE and is_cheap and not is_usual:
                add(lab, language, entry)
    return usual


def cases() -> list[Any]:
    submissions = [
        (LABS[table.parent.parent.name], entry)
        for table in sorted((ROOT / "solutions").glob("*/wrong/wrong.toml"))
        for entry in tomllib.loads(table.read_text())["submission"]
    ]
    usual = usual_cases(submissions)
    found = []
    for lab, entry in submissions:
        for language in entry["languages"]:
            marks = [pytest.mark.timed] if needs_quiet(lab, entry, language) else []
            if (lab.name, language, entry["name"]) not in usual:
                marks += [pytest.mark.slow]
            name = f"{lab.name}-{language}-{entry['name']}"
            found.append(pytest.param(lab.name, language, entry, id=name, marks=marks))
    return found


CASES = cases()
# What works comes to its end on a busy node, too.
EFFORT = replace(effort_for("default", True), check_limit_s=60.0)
# For what does not return: enough on a quiet node, and on a busy one.
WAITS = [replace(EFFORT, check_limit_s=limit_s) for limit_s in (1.5, 20.0)]
# Of what may stay open on a busy node, or go well by luck; times go on with those before.
TRIES = 4


@pytest.fixture(scope="module")
def places(installation: Installation) -> Iterator[VirtualPlaces]:
    with VirtualPlaces(installation, GuestOptions()) as found:
        yield found


@pytest.fixture(scope="module")
def controls() -> Controls:
    """What the kit's own kernels do here, looked at once."""
    return {}


@pytest.fixture(scope="module")
def node(installation: Installation) -> Json:
    return describe_node(installation)


def as_timed(lab: Lab, entry: Json, language: str) -> Json:
    """The entry without what only times could show, where none are taken."""
    if is_timed(lab, entry, language):
        return entry
    timing = timing_criteria(lab)
    return entry | {"fails": [name for name in entry["fails"] if name not in timing]}


def machines_of(lab: Lab) -> tuple[str, ...]:
    """The virtual nodes on which some of a lab's criteria are graded."""
    there = any(
        c.kind == "evidence" and (c.on_machines or c.needs_numa_nodes > 1) for c in lab.criteria
    )
    return lab.machines if there else ()


def file_of(lab: Lab, criterion: Criterion) -> str | None:
    """The file beside the kernel that a criterion is about, if any."""
    if criterion.slow is not None:
        return lab.launch_of(criterion.part).name
    return criterion.file.name if criterion.file is not None else None


def concerned(installation: Installation, lab: Lab, language: str, entry: Json) -> Lab:
    """The lab with the criteria that an entry can fail: of its files if it is a folder, else of
    its kernel. What is the solution's is not graded once more each time, nor on all of several
    virtual nodes what shows on one (`on`), or on none. In its second language it is held
    against what it fails, and its pages are looked at here where they show here."""
    folder = installation.solution_folder(lab.name) / "wrong" / entry["name"]
    own: set[str | None] = {None}
    if folder.is_dir():
        own = {path.name for path in folder.iterdir()} | set(entry.get("leaves_out", ()))
    criteria = tuple(c for c in lab.criteria if file_of(lab, c) in own)
    machines = tuple(entry.get("on", lab.machines))
    can_fail = {
        name for key in ("fails", "may_fail", "fails_on_machine") for name in entry.get(key, ())
    }
    shown_there = {c.name for c in criteria if c.on_machines or c.needs_numa_nodes > 1}
    pages_only = not any(c.on_machines for c in criteria)
    is_second = not folder.is_dir() and language != entry["languages"][0]
    if is_second:
        # Those for times cost nothing where none are taken, and name the parts of a lab; where a
        # part has none, what else is about it does.
        kept = [c for c in criteria if c.name in can_fail | {"correct"} or c.kind == "timing"]
        named = {c.part for c in kept} | {None}
        criteria = tuple(
            c for c in criteria if c in kept or (c.part not in named and c.name not in shown_there)
        )
    is_seen_here = is_second and bool(set(entry["fails"]) - shown_there)
    # A job on a link has nodes of its own, and shows nothing else.
    on_link = {c.name for c in criteria if c.rule == "on_link"}
    if not can_fail & on_link:
        criteria = tuple(c for c in criteria if c.name not in on_link)
        machines = machines if shown_there - on_link else ()
    left_out = None
    if is_seen_here and pages_only:
        left_out = shown_there
    elif len(lab.machines) > 1 and not can_fail & shown_there - timing_criteria(lab):
        left_out = shown_there - timing_criteria(lab)  # nor are times taken on machines
    if left_out is not None:
        machines = ()
        criteria = tuple(c for c in criteria if c.name not in left_out)
    return replace(
        lab,
        criteria=criteria,
        machines=machines,
        timed_placements=None if folder.is_dir() else lab.timed_placements,
    )


def hand_in(installation: Installation, lab: Lab, language: str, entry: Json, folder: Path) -> None:
    """The files of an entry, and the solution's where it has none."""
    solution = installation.solution_folder(lab.name)
    file = KERNEL_FILES[language]
    names = [file, *(wanted.name for wanted in lab.files)]
    sources = {name: solution / name for name in names}
    own = solution / "wrong" / entry["name"]
    if own.is_dir():
        sources |= {path.name: path for path in own.iterdir()}
    else:
        sources[file] = own.with_name(own.name + Path(file).suffix)
    for name in sources.keys() - set(entry.get("leaves_out", ())):
        (folder / name).write_bytes(sources[name].read_bytes())


def keep_beside(folder: Path, session: Grading, *on_machines: Grading) -> None:
    """Keep the records beside the kernel too, where pytest leaves them: bench/same_verdicts.py
    judges them by two versions."""
    write_json(folder / "evidence.json", record_json(session.record), indent=None)
    for other in on_machines:
        own = folder / f"on_{other.place.name}"
        own.mkdir()
        write_json(own / "evidence.json", record_json(other.record), indent=None)


def deserved_there(lab: Lab, entry: Json) -> set[str]:
    """What fails on the machine: what fails here, and that the pages are not where they are used;
    nothing where the kernel does not work, since it is not run there."""
    if "fails_on_machine" in entry:
        return set(entry["fails_on_machine"])
    if "correct" in entry["fails"]:
        return set()
    found = {c.name for c in lab.criteria if c.kind == "evidence"} & set(entry["fails"])
    return found | ({"local_pages"} if "touched_where_used" in found else set())


def says_why(found: Iterable[CriterionVerdict], entry: Json, language: str) -> bool:
    """Whether the first of what fails, if it always does, has the cause that it deserves and says
    why."""
    failing = [c for c in found if c.status == "fail" or WOULD_FAIL in c.why]
    sure = [c for c in failing if c.name not in entry.get("may_fail", ())]
    says: str = entry.get("says") or entry[f"says_{language}"]
    return any(
        says in c.why + warning_words(c.warnings)
        and (WOULD_FAIL in c.why or entry.get("cause", c.cause) == c.cause)
        for c in (sure or failing)[:1]
    )


def reasons(criteria: Iterable[CriterionVerdict]) -> str:
    """As text, which pytest prints whole."""
    return "\n" + "\n".join(f"{c.where} {c.name}: {c.status}, {c.cause}: {c.why}" for c in criteria)


# Of a file that can't be used, where this node can't show what it is about.
WOULD_FAIL = "It would fail where it can: "


def failed(criteria: Iterable[CriterionVerdict], deserved: Collection[str] = ()) -> list[str]:
    """What fails, and of what is deserved what would where this node could show it."""
    return [
        c.name
        for c in criteria
        if c.status == "fail" or (c.name in deserved and WOULD_FAIL in c.why)
    ]


# What other load can leave open, beside times.
BY_LOAD = ("balanced", "stops_live")


def check_here(found: list[CriterionVerdict], entry: Json) -> None:
    may_fail = set(entry.get("may_fail", ()))
    assert set(failed(found, entry["fails"])) - may_fail == set(entry["fails"]) - may_fail, reasons(
        found
    )
    # Only what other load can disturb may stay open.
    is_open = [c for c in found if c.status == "inconclusive"]
    assert all(c.kind == "timing" or c.name in BY_LOAD for c in is_open), reasons(found)


def is_open(criterion: CriterionVerdict) -> bool:
    """Whether other load, as it was just now, kept times or shares of work from telling."""
    can_be = criterion.kind == "timing" or criterion.name in BY_LOAD
    is_ungraded = criterion.status in ("inconclusive", "not_gradable")
    return can_be and is_ungraded and criterion.value is not None


def is_seen(lab: Lab, found: Verdict, entry: Json, language: str, of_several: bool) -> bool:
    """Whether this node has shown what it can, or a further look may show more: other load may
    have kept it from showing, or by luck all went well (threads that did not meet in a race, or
    nobody looked while there was too much memory). of_several: it may show on a machine only."""
    may_fail = set(entry.get("may_fail", ()))
    sure = set(entry["fails"]) - may_fail
    if entry.get("waits"):
        is_told = says_why(found.criteria, entry, language)
        return is_told and set(failed(found.criteria, sure)) - may_fail == sure
    elsewhere = {c.name for c in lab.criteria if c.on_machines or c.needs_numa_nodes > 1}
    for criterion in found.criteria:
        went_well = criterion.status == "pass" and criterion.name not in elsewhere
        is_disturbed = criterion.status == "inconclusive" or criterion.cause == "solution_misses_it"
        if criterion.name in sure and (went_well or is_disturbed):
            return False
    is_told_here = not of_several and sure & set(failed(found.criteria, sure))
    return not is_told_here or says_why(found.criteria, entry, language)


@pytest.mark.parametrize(("lab_name", "language", "entry"), CASES)
def test_wrong_submission(
    installation: Installation,
    labs: dict[str, Lab],
    node: Json,
    places: VirtualPlaces,
    controls: Controls,
    tmp_path: Path,
    lab_name: str,
    language: str,
    entry: Json,
) -> None:
    lab = concerned(installation, labs[lab_name], language, entry)
    hand_in(installation, labs[lab_name], language, entry, tmp_path)
    entry = as_timed(lab, entry, language)
    if not lab.machines:  # and what only they show is not among the criteria
        there = {c.name for c in labs[lab_name].criteria if c.needs_numa_nodes > 1}
        entry = entry | {"fails": [name for name in entry["fails"] if name not in there]}
    may_fail = set(entry.get("may_fail", ()))
    of_several = len(labs[lab_name].machines) > 1

    # Nor where what is wrong shows without the times that a student gets to see.
    takes_times = is_timed(lab, entry, language) and entry.get("quiet", True)
    refused = None if takes_times else "Not timed."

    def graded(effort: Effort) -> tuple[Grading, Verdict]:
        session = Grading(
            installation, lab, language, "submission", tmp_path, effort, node, lambda step: None,
            timing_refused=refused, controls=controls,
        )  # fmt: skip
        verdict = grade(session)
        session.keep(verdict)
        keep_beside(tmp_path, session)
        return session, verdict

    with installation.lock():
        for effort in WAITS if entry.get("waits") else [EFFORT] * TRIES:
            session, here = graded(effort)
            if is_seen(lab, here, entry, language, of_several):
                break
            controls.clear()  # they may have been disturbed, too
        # Where the model itself is off just now, no prediction is judged, and none earns a point.
        predicted = {c.name for c in lab.criteria if c.rule == "predicted"}
        unpredictable = predicted & {c.name for c in here.criteria if c.cause == "too_noisy"}
        assert not unpredictable or (unpredictable == set(entry["fails"]) and here.points == 0)
        # What the node is too busy for costs no point; all else is as it should be.
        left_open = {c.name for c in here.criteria if is_open(c)} & set(entry["fails"]) - may_fail
        entry = entry | {"fails": [name for name in entry["fails"] if name not in left_open]}
        names = machines_of(lab)
        # Of several machines the lab knows itself what each is needed for.
        machines = [] if of_several else [find_machine(installation, name) for name in names]
        verdict, on_machines = grade_on_vms(session, machines, places) if names else (here, [])
        keep_beside(tmp_path, session, *on_machines)
    if of_several:  # what fails on one of several only shows there
        check_here(list(verdict.criteria), entry)
    else:
        check_here(list(here.criteria), entry)
        there = [criterion for criterion in verdict.criteria if criterion.where in names]
        deserved = deserved_there(lab, entry) if names else set()
        assert set(failed(there)) - may_fail == deserved - may_fail, reasons(there)
    by_place = [c for place in ("here", *names) for c in verdict.criteria if c.where == place]
    if not left_open:
        found = verdict.criteria if of_several else by_place
        assert says_why(found, entry, language), reasons(found)
    earned_at_most = verdict.max_points - (0 if left_open else verdict.ungraded_points)
    would_fail = any(WOULD_FAIL in c.why for c in verdict.criteria)
    assert would_fail or verdict.points < earned_at_most
    if "hint" in entry:
        assert f"./numalab hint {lab.number} {entry['hint']}\n" in to_fix(labs[lab_name], verdict)
    # Nothing is the kit's fault.
    assert not [c for c in verdict.criteria if c.status == "error"]
    assert_all_gone(installation)


def test_a_cause_that_is_deserved_is_one_of_a_fail() -> None:
    causes = [(c.id, c.values[2]["cause"]) for c in CASES if "cause" in c.values[2]]
    assert len(causes) > 300
    for name, cause in causes:
        assert "fail" in CAUSES[cause].statuses, name


def test_every_lab_has_enough_of_them_in_each_language() -> None:
    """A lab that is not published, as many as it likes; the table has what lies in the folder."""
    for lab in LABS:
        for language in LABS[lab].languages:
            here = [c for c in CASES if c.values[0] == lab and c.values[1] == language]
            usual = [c for c in here if "slow" not in {mark.name for mark in c.marks}]
            least, of_usual = (10, LEAST_OF_LANGUAGE) if is_published(lab) else (0, 0)
            assert len(here) >= least and len(usual) >= of_usual, (lab, language)
            wrong = ROOT / "solutions" / lab / "wrong"
            names = {path.stem for path in wrong.glob("*" + Path(KERNEL_FILES[language]).suffix)}
            folders = {path.name for path in wrong.glob("*") if path.is_dir()}
            assert {c.values[2]["name"] for c in here} - folders == names
            assert folders <= {c.values[2]["name"] for c in CASES if c.values[0] == lab}
