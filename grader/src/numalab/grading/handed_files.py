"""Files that are handed in with a kernel, and runs of numalab's own programs under them."""

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
from numalab.grading.file_choice import choose_file
from numalab.grading.kernel_grading import Grading
from numalab.harness import monitor
from numalab.harness.build import build_targets
from numalab.judging import planner, thread_goals
from numalab.labs import placement, quantities
from numalab.labs.declaration import FILE_BYTES, RUN_UNDER, VARIABLES, HandedFile
from numalab.labs.goals import nodes_of_job, pus_of_nodes
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

_LONGEST_COMPLAINT = 600  # characters of a complaint
_BAD = (
    placement.BadPlacement, BadGroups, BadPolicy, BadPrediction, BadAnswers, BadModel,
)  # fmt: skip


class _TooLarge(BadPolicy):
    """A text that would cost its reader too much, and is not parsed."""


def _content(file: HandedFile, text: str) -> dict[str, str]:
    """Parse a file. Returns the variables of a placement or policy, nothing for other kinds. Raises
    one of _BAD where it can't be used, and OSError, such as where no process can be started to read
    it."""
    if file.kind in VARIABLES:
        variables = placement.read_placement(text, file.variables)
        if file.kind == "policy":
            memory_policy(variables)
        return variables
    why = toml.why_not_readable(text)
    if why:
        raise _TooLarge(f"{file.name} {why}; a few lines are enough")
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
    """Return why a file with this text can't be used, as a sentence; None where it can. Raises
    OSError, such as where no process can be started to read it."""
    try:
        _content(file, text)
    except _BAD as error:
        return _complaint(file, error)
    return None


def _complaint(file: HandedFile, error: Exception) -> str:
    text = shortened(visible(str(error)), _LONGEST_COMPLAINT)
    complaint = text + ("" if text.endswith("?") else ".")
    if isinstance(error, BadPolicy):
        return complaint  # which names the file
    separator = "," if file.kind in VARIABLES else ":"
    return f"{file.name}{separator} {complaint}"


def not_utf8(error: UnicodeDecodeError) -> str:
    """Return why a file can't be decoded, in words that follow its name, with a full stop."""
    line = error.object.count(b"\n", 0, error.start) + 1
    return f"is not in UTF-8, as line {line} shows first: save it in UTF-8."


def _misnamed_text(path: Path) -> str:
    """Return a sentence on files in the same folder that are probably meant as this one; empty
    where there are none."""
    try:
        near = similar_names([one.name for one in path.parent.iterdir()], path.name)
    except OSError:
        return ""
    named = words.some([shown_name(name) for name in near]) if near else ""
    return f" The folder has {named}: rename it to {path.name}." if named else ""


def read_files(grading: Grading) -> None:
    """Read into the record the files that are handed in with the kernel, and of a submission the
    explanation into the grading. A file that can't be used is recorded with a complaint. Raises
    OSError, such as where no process can be started to read one."""
    if grading.variant == SUBMISSION:
        is_own = grading.installation.is_own(grading.folder)
        grading.explanation = read_explanation(grading.folder, follow_links=is_own)
    if grading.variant == SUBMISSION and grading.lab.predicted:
        grading.record.handed_in += _predictions(grading)
    for file in grading.lab.files:
        path = choose_file(grading.installation, grading.lab, grading.folder, file.name)
        complaint, variables, text = None, {}, ""
        try:
            text = read_plain_text(
                path, FILE_BYTES, follow_links=grading.installation.is_own(grading.folder)
            )
            variables = _content(file, text)
        except _BAD as error:
            complaint = _complaint(file, error)
            text = "" if isinstance(error, _TooLarge) else text
        except FileNotFoundError:
            shown = grading.installation.shown(path)
            complaint = f"{file.name} was not handed in: there is no {shown}.{_misnamed_text(path)}"
        except NotPlain as error:
            complaint = f"{file.name} {error}; hand in a text file."
        except UnicodeDecodeError as error:
            complaint = f"{file.name} {not_utf8(error)}"
        kept = "" if file.kind in VARIABLES else text
        grading.record.handed_in.append(HandedText(file.name, complaint, variables, kept))


def _predictions(grading: Grading) -> list[HandedText]:
    """Return the text of predictions.toml, or why it can't be used; empty where it was not handed
    in, or predicts nothing."""
    complaint, text = "", ""
    follow_links = grading.installation.is_own(grading.folder)
    try:
        text = read_plain_text(
            grading.folder / quantities.FILE, FILE_BYTES, follow_links=follow_links
        )
        complaint = toml.why_not_readable(text)
        if complaint:
            complaint, text = f"{complaint}; a line for each prediction is enough.", ""
        elif quantities.read_predictions(text, grading.lab.predicted).is_empty:
            return []
    except FileNotFoundError:
        return []
    except NotPlain as error:
        complaint = f"{error}; hand in a text file."
    except UnicodeDecodeError as error:
        complaint = not_utf8(error)
    except quantities.BadPredictions as error:
        complaint = f"can't be read: {shortened(visible(str(error)), _LONGEST_COMPLAINT)}."
    shown = f"{quantities.FILE} {complaint}" if complaint else None
    return [HandedText(quantities.FILE, shown, {}, text)]


def _solution_variables(grading: Grading, file: HandedFile) -> dict[str, str]:
    folder = grading.installation.solution_folder(grading.lab.name)
    try:
        return placement.read_placement(need_solution_text(folder, file.name), file.variables)
    except placement.BadPlacement as error:
        raise NumalabError(f"the kit's own {folder / file.name} can't be used: {error}") from error


def _runtimes_of(grading: Grading, file: HandedFile) -> dict[str, Path]:
    """Return the solution's program by OpenMP runtime, for those runtimes of a file that this build
    has. libomp is left out on a virtual machine where it would detect other cores than on the real
    one."""
    default = grading.program(SOLUTION)
    build = grading.record.build
    own = build.openmp_runtime or "libomp"
    programs = {own: default}
    if own != "libgomp" and (build.c_compiler or "").startswith("GNU"):
        programs["libgomp"] = grading.program(SOLUTION, "-libgomp")
    if grading.machine is not None and not grading.machine.announces_cores:
        programs.pop("libomp", None)
    return {runtime: programs[runtime] for runtime in file.runtimes if runtime in programs}


def _programs_of(grading: Grading, file: HandedFile) -> list[Path]:
    if file.kind == "policy":
        return [grading.program(HANDOUT)]
    if file.kind == "groups":
        return []  # the monitor has its own
    return list(_runtimes_of(grading, file).values())


def _bind(grading: Grading, role: str, file: HandedFile, variables: dict[str, str]) -> None:
    if file.kind == "policy":
        _place_memory(grading, role, file, variables)
        return
    threads = thread_goals.team_of(file.goal, grading.node)
    part = grading.lab.part_of(file)
    limit_s = grading.effort.phase_limit_s * grading.place.slowness
    options = monitor.common_options(part, threads, "quick", limit_s)
    environment = monitor.worker_environment(grading.lab, threads, placement=variables)
    for runtime, program in _runtimes_of(grading, file).items():
        whole = [*monitor.worker_option(role, program), *options]
        grading.run(BINDING, whole, environment, file=file.name, runtime=runtime)


def _place_memory(grading: Grading, role: str, file: HandedFile, variables: dict[str, str]) -> None:
    """Record where the starting code's program has its memory under a policy file."""
    limit_s = grading.effort.phase_limit_s * grading.place.slowness
    options = [
        *monitor.worker_option(role, grading.program(HANDOUT)),
        *monitor.common_options(grading.lab.part_of(file), grading.threads, "quick", limit_s),
        "--memory-policy", memory_policy(variables),
    ]  # fmt: skip
    environment = monitor.worker_environment(grading.lab, grading.threads)
    grading.run(FILE_PLACING, options, environment, file=file.name)


def _put_into_groups(grading: Grading, role: str, file: HandedFile) -> None:
    """Run the monitor's own programs in the control groups that the student's file sets up. Do
    nothing where the file has NUMA nodes that this machine lacks."""
    topology = topology_of_node(grading.node)
    try:
        written = settings(read_group_file(grading.handed(file.name).text), topology)
    except BadGroups:
        return
    threads = len(pus_of_nodes(nodes_of_job(file.goal, topology), topology))
    limit_s = grading.effort.phase_limit_s * grading.place.slowness
    options = [
        *monitor.common_options(None, threads, "quick", limit_s),
        *(word for group, key, value in written for word in ("--group", f"{group}:{key}={value}")),
    ]
    environment = shell_variables.observer_environment()
    # The monitor names the part of kernels, and runs none here.
    part = grading.lab.part_of(file)
    grading.run(CPUSETS, options, environment, file=file.name, role=role, part=part)


def gather_placements(grading: Grading) -> None:
    """Record where numalab's programs have threads, ranks or memory under each usable file by which
    this machine can show that, and under the solution's file where the planner has that compared.
    """
    files = [
        file
        for file in grading.lab.files
        if file.kind in RUN_UNDER and planner.can_place(grading.lab, grading.evidence, file)
    ]
    if not files:
        return
    programs = {program.name for file in files for program in _programs_of(grading, file)}
    with grading.spending("build"):
        build_targets(grading.installation, sorted(programs | {grading.program(SOLUTION).name}))
    with grading.spending("evidence"):
        what = "ranks go" if grading.lab.mpi else "threads go"
        if all(file.kind == "policy" for file in files):
            what = "memory goes"
        if all(file.kind == "groups" for file in files):
            what = "programs go that are put into groups"
        grading.progress(f"looking where {what}{grading.place_words}")
        for file in files:
            if grading.handed(file.name).complaint is None:
                _place(grading, SUBMISSION, file)
        missed = planner.files_to_compare(grading.lab, grading.evidence)
        for file in files:
            if file.name in missed:
                _place(grading, SOLUTION, file)


def _place(grading: Grading, role: str, file: HandedFile) -> None:
    """Run numalab's program under the student's file or the solution's, or take the runs that were
    kept for the same file. Those on a virtual machine are kept, since the student's kernel has no
    part in them."""
    submitted = repr(grading.handed(file.name)) if role == SUBMISSION else ""
    name = f"{grading.lab.name} {role} {file.name} {submitted}"
    if grading.take_kept(name):
        return
    before = len(grading.record.runs)
    _run_under(grading, role, file)
    if grading.machine is not None:
        grading.keep_for_others(name, grading.record.runs[before:])


def _run_under(grading: Grading, role: str, file: HandedFile) -> None:
    if file.kind == "launch":
        mpi_runs.launch_ranks(grading, role, file)
    elif file.kind == "groups":
        _put_into_groups(grading, role, file)
    elif role == SOLUTION:
        _bind(grading, role, file, _solution_variables(grading, file))
    else:
        _bind(grading, role, file, grading.handed(file.name).variables)


def timed_environments(grading: Grading) -> dict[str, dict[str, str]]:
    """Return the placement variables by role; empty where the lab times no placements."""
    timed = grading.lab.timed_placements
    if timed is None:
        return {}
    team = thread_goals.timed_team(grading.node)
    fast = thread_goals.environment_of(team.all_nodes)
    return {
        HANDOUT: thread_goals.environment_of(team.single_node),
        SOLUTION: fast,
        CONTROL: fast,
        PROBE: fast,
        SUBMISSION: grading.handed(timed.file.name).variables,
    }
