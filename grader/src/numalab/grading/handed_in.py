"""The files that are handed in beside a kernel: read as they are, and tried with the kit's own
program."""

from __future__ import annotations

from pathlib import Path

from numalab import words
from numalab.errors import NumalabError
from numalab.evidence.format import HandedText
from numalab.evidence.kinds import BINDING, CPUSETS, FILE_PLACING
from numalab.evidence.record import CONTROL, HANDOUT, PROBE, SOLUTION, SUBMISSION
from numalab.files import NotPlain, read_plain_text
from numalab.grading import mpi_runs
from numalab.grading.explanation import read_explanation
from numalab.grading.found_files import found_file
from numalab.grading.session import Session
from numalab.harness import monitor
from numalab.harness.build import build_targets
from numalab.judging import planner, thread_goals
from numalab.labs import placement, quantities
from numalab.labs.cpuset_goals import nodes_of_job, pus_of_nodes
from numalab.labs.declaration import FILE_BYTES, RUN_UNDER, VARIABLES, HandedFile
from numalab.labs.group_words import BadGroups, read_group_file, settings
from numalab.labs.kernel_names import similar_names
from numalab.labs.launch import BadPolicy, parse_policy
from numalab.labs.model import BadModel, read_model
from numalab.labs.placement import memory_policy
from numalab.labs.prediction import BadPrediction, read_predictions
from numalab.labs.seeded_answers import BadAnswers, answer_files
from numalab.labs.solution_files import need_solution_text
from numalab.machines.topology import topology_of_node
from numalab.processes import shell_variables
from numalab.untrusted import toml
from numalab.untrusted.visible import shortened, visible
from numalab.untrusted.visible import shown as shown_name

_MOST_SAID = 600  # characters of a complaint
_BAD = (
    placement.BadPlacement, BadGroups, BadPolicy, BadPrediction, BadAnswers, BadModel,
)  # fmt: skip


class _TooMuch(BadPolicy):
    """A text that its reader would not come to its end with: nobody reads it."""


def _content(file: HandedFile, text: str) -> dict[str, str]:
    """The variables of a placement or a policy; none of the others, which are only looked at.
    Raises an error of _BAD, of which _TooMuch is for a file of any kind."""
    if file.kind in VARIABLES:
        variables = placement.read_placement(text, file.variables)
        if file.kind == "policy":
            memory_policy(variables)
        return variables
    why = toml.why_not_readable(text)
    if why:
        raise _TooMuch(f"{file.name} {why}; a few lines are enough")
    if file.kind == "launch":
        parse_policy(text, file.name)
    elif file.kind == "groups":
        read_group_file(text)
    elif file.kind == "answers":
        answer_files()[file.goal].read(text, file.seed)
    elif file.kind == "model":
        read_model(text)
    else:
        read_predictions(text)
    return {}


def complaint_of(file: HandedFile, text: str) -> str | None:
    """Why a file of this text can't be used."""
    try:
        _content(file, text)
    except _BAD as error:
        return _complaint(file, error)
    return None


def _complaint(file: HandedFile, error: Exception) -> str:
    said = shortened(visible(str(error)), _MOST_SAID)
    complaint = said + ("" if said.endswith("?") else ".")
    if isinstance(error, BadPolicy):
        return complaint  # which names the file
    separator = "," if file.kind in VARIABLES else ":"
    return f"{file.name}{separator} {complaint}"


def not_utf8(error: UnicodeDecodeError) -> str:
    """Of a file; what follows its name."""
    line = error.object.count(b"\n", 0, error.start) + 1
    return f"is not in UTF-8, as line {line} shows first: save it in UTF-8."


def _near(path: Path) -> str:
    """A sentence on files beside it that may have been meant."""
    try:
        near = similar_names([one.name for one in path.parent.iterdir()], path.name)
    except OSError:
        return ""
    named = words.some([shown_name(name) for name in near]) if near else ""
    return f" The folder has {named}: rename it to {path.name}." if named else ""


def read_files(session: Session) -> None:
    """The files beside the kernel as they were handed in."""
    if session.variant == SUBMISSION:
        is_own = session.installation.is_own(session.folder)
        session.explanation = read_explanation(session.folder, follow_links=is_own)
    if session.variant == SUBMISSION and session.lab.predicted:
        session.record.handed_in += _predictions(session)
    for file in session.lab.files:
        path = found_file(session.installation, session.lab, session.folder, file.name)
        complaint, variables, text = None, {}, ""
        try:
            text = read_plain_text(
                path, FILE_BYTES, follow_links=session.installation.is_own(session.folder)
            )
            variables = _content(file, text)
        except _BAD as error:
            complaint = _complaint(file, error)
            text = "" if isinstance(error, _TooMuch) else text
        except FileNotFoundError:
            shown = session.installation.shown(path)
            complaint = f"{file.name} was not handed in: there is no {shown}.{_near(path)}"
        except NotPlain as error:
            complaint = f"{file.name} {error}; hand in a text file."
        except UnicodeDecodeError as error:
            complaint = f"{file.name} {not_utf8(error)}"
        kept = "" if file.kind in VARIABLES else text
        session.record.handed_in.append(HandedText(file.name, complaint, variables, kept))


def _predictions(session: Session) -> list[HandedText]:
    """predictions.toml as it was handed in; nothing where it was not, or says nothing."""
    complaint, text = "", ""
    follow_links = session.installation.is_own(session.folder)
    try:
        text = read_plain_text(
            session.folder / quantities.FILE, FILE_BYTES, follow_links=follow_links
        )
        complaint = toml.why_not_readable(text)
        if complaint:
            complaint, text = f"{complaint}; a line for each prediction is enough.", ""
        elif quantities.read_predictions(text, session.lab.predicted).is_empty:
            return []
    except FileNotFoundError:
        return []
    except NotPlain as error:
        complaint = f"{error}; hand in a text file."
    except UnicodeDecodeError as error:
        complaint = not_utf8(error)
    except quantities.BadPredictions as error:
        complaint = f"can't be read: {shortened(visible(str(error)), _MOST_SAID)}."
    shown = f"{quantities.FILE} {complaint}" if complaint else None
    return [HandedText(quantities.FILE, shown, {}, text)]


def _solution_variables(session: Session, file: HandedFile) -> dict[str, str]:
    """Of the kit's own file. Raises NumalabError."""
    folder = session.installation.solution_folder(session.lab.name)
    try:
        return placement.read_placement(need_solution_text(folder, file.name), file.variables)
    except placement.BadPlacement as error:
        raise NumalabError(f"the kit's own {folder / file.name} can't be used: {error}") from error


def _runtimes_of(session: Session, file: HandedFile) -> dict[str, Path]:
    """The solution's program on each runtime that there is. Where a virtual node announces more of
    its cores than the machine does, libomp would do there what it does not do on the machine."""
    default = session.program(SOLUTION)
    build = session.record.build
    own = build.openmp_runtime or "libomp"
    programs = {own: default}
    if own != "libgomp" and (build.c_compiler or "").startswith("GNU"):
        programs["libgomp"] = session.program(SOLUTION, "-libgomp")
    if session.machine is not None and not session.machine.announces_cores:
        programs.pop("libomp", None)
    return {runtime: programs[runtime] for runtime in file.runtimes if runtime in programs}


def _programs_of(session: Session, file: HandedFile) -> list[Path]:
    """What is run under a file."""
    if file.kind == "policy":
        return [session.program(HANDOUT)]
    if file.kind == "groups":
        return []  # the monitor has its own
    return list(_runtimes_of(session, file).values())


def _bind(session: Session, role: str, file: HandedFile, variables: dict[str, str]) -> None:
    if file.kind == "policy":
        _place_memory(session, role, file, variables)
        return
    threads = thread_goals.team_of(file.goal, session.node)
    part = session.lab.part_of(file)
    limit_s = session.effort.phase_limit_s * session.place.slowness
    options = monitor.common_options(part, threads, "quick", limit_s)
    environment = monitor.worker_environment(session.lab, threads, placement=variables)
    for runtime, program in _runtimes_of(session, file).items():
        whole = [*monitor.worker_option(role, program), *options]
        session.run(BINDING, whole, environment, file=file.name, runtime=runtime)


def _place_memory(session: Session, role: str, file: HandedFile, variables: dict[str, str]) -> None:
    """Of the handout's program, which places nothing itself."""
    limit_s = session.effort.phase_limit_s * session.place.slowness
    options = [
        *monitor.worker_option(role, session.program(HANDOUT)),
        *monitor.common_options(session.lab.part_of(file), session.threads, "quick", limit_s),
        "--memory-policy", memory_policy(variables),
    ]  # fmt: skip
    environment = monitor.worker_environment(session.lab, session.threads)
    session.run(FILE_PLACING, options, environment, file=file.name)


def _put_into_groups(session: Session, role: str, file: HandedFile) -> None:
    """Programs of the monitor's. A file that can't be meant on this machine is judged as it is."""
    topology = topology_of_node(session.node)
    try:
        written = settings(read_group_file(session.handed(file.name).text), topology)
    except BadGroups:
        return
    threads = len(pus_of_nodes(nodes_of_job(file.goal, topology), topology))
    limit_s = session.effort.phase_limit_s * session.place.slowness
    options = [
        *monitor.common_options(None, threads, "quick", limit_s),
        *(word for group, key, value in written for word in ("--group", f"{group}:{key}={value}")),
    ]
    environment = shell_variables.observer_environment()
    # Not of a kernel, whose part the monitor would name.
    part = session.lab.part_of(file)
    session.run(CPUSETS, options, environment, file=file.name, role=role, part=part)


def gather_placements(session: Session) -> None:
    """Where the kit's program puts its threads and ranks under each file."""
    files = [
        file
        for file in session.lab.files
        if file.kind in RUN_UNDER and planner.can_place(session.lab, session.evidence, file)
    ]
    if not files:
        return
    programs = {program.name for file in files for program in _programs_of(session, file)}
    with session.spending("build"):
        build_targets(session.installation, sorted(programs | {session.program(SOLUTION).name}))
    with session.spending("evidence"):
        told = "ranks go" if session.lab.mpi else "threads go"
        if all(file.kind == "policy" for file in files):
            told = "memory goes"
        if all(file.kind == "groups" for file in files):
            told = "programs go that are put into groups"
        session.progress(f"looking where {told}{session.there}")
        for file in files:
            if session.handed(file.name).complaint is None:
                _place(session, SUBMISSION, file)
        missed = planner.files_to_compare(session.lab, session.evidence)
        for file in files:
            if file.name in missed:
                _place(session, SOLUTION, file)


def _place(session: Session, role: str, file: HandedFile) -> None:
    """Under the student's file, or the solution's. On a virtual node once for both languages,
    since only the kit's program is run."""
    whose = repr(session.handed(file.name)) if role == SUBMISSION else ""
    name = f"{session.lab.name} {role} {file.name} {whose}"
    if session.take_kept(name):
        return
    before = len(session.record.runs)
    _look_where_it_goes(session, role, file)
    if session.machine is not None:
        session.keep_for_others(name, session.record.runs[before:])


def _look_where_it_goes(session: Session, role: str, file: HandedFile) -> None:
    if file.kind == "launch":
        mpi_runs.launch_ranks(session, role, file)
    elif file.kind == "groups":
        _put_into_groups(session, role, file)
    elif role == SOLUTION:
        _bind(session, role, file, _solution_variables(session, file))
    else:
        _bind(session, role, file, session.handed(file.name).variables)


def timed_environments(session: Session) -> dict[str, dict[str, str]]:
    """What each role is timed under beside the lab's environment: placements, where those
    are what is compared. Where a file could not be read, what it would have set stays unset."""
    timed = session.lab.timed_placements
    if timed is None:
        return {}
    team = thread_goals.timed_team(session.node)
    fast = thread_goals.environment_of(team.all_nodes)
    return {
        HANDOUT: thread_goals.environment_of(team.single_node),
        SOLUTION: fast,
        CONTROL: fast,
        PROBE: fast,
        SUBMISSION: session.handed(timed.file.name).variables,
    }
