"""The files that are handed in beside a kernel: read as they are, and tried with the kit's own
program."""

from __future__ import annotations

import json
from pathlib import Path

from numalab.errors import KitError
from numalab.evidence.kinds import BINDING
from numalab.evidence.record import CONTROL, HANDOUT, SOLUTION, SUBMISSION
from numalab.grading import mpi_runs
from numalab.grading.session import Session
from numalab.harness import monitor
from numalab.harness.build import build_kit
from numalab.judging import needs, thread_goals
from numalab.labs import placement
from numalab.labs.declaration import HandedFile
from numalab.labs.launch import BadPolicy, parse_policy
from numalab.labs.prediction import BadPrediction, read_prediction


def _content(wanted: HandedFile, text: str) -> dict[str, str]:
    """The variables of a placement file; none of the others, which are only looked at. Raises
    BadPlacement, BadPolicy and BadPrediction."""
    if wanted.kind == "placement":
        return placement.read_placement(text, wanted.variables)
    if wanted.kind == "launch":
        parse_policy(text, wanted.name)
    else:
        read_prediction(text)
    return {}


def complaint_of(wanted: HandedFile, text: str) -> str | None:
    """Why a file of this text can't be used."""
    try:
        _content(wanted, text)
    except (placement.BadPlacement, BadPolicy, BadPrediction) as error:
        return _complaint(wanted, error)
    return None


def _complaint(wanted: HandedFile, error: Exception) -> str:
    complaint = f"{error}" + ("" if str(error).endswith("?") else ".")
    if complaint.startswith(wanted.name):
        return complaint
    separator = "," if wanted.kind == "placement" else ":"
    return f"{wanted.name}{separator} {complaint}"


def read_files(session: Session) -> None:
    """The files beside the kernel as they were handed in."""
    for wanted in session.lab.files:
        path = session.folder / wanted.name
        complaint, variables, text = None, {}, ""
        try:
            text = path.read_text("utf-8-sig")  # some editors put a mark before it
            variables = _content(wanted, text)
        except (placement.BadPlacement, BadPolicy, BadPrediction) as error:
            complaint = _complaint(wanted, error)
        except FileNotFoundError:
            complaint = f"{wanted.name} was not handed in: there is no {path}."
        except (OSError, UnicodeDecodeError):
            complaint = f"{wanted.name} can't be read as text."
        session.data["handed_in"].append(
            {
                "file": wanted.name,
                "complaint": complaint,
                "variables": variables,
                "text": "" if wanted.kind == "placement" else text,
            }
        )


def _solution_variables(session: Session, wanted: HandedFile) -> dict[str, str]:
    """Of the kit's own file. Raises KitError."""
    path = session.kit.solution_folder(session.lab.name) / wanted.name
    try:
        return placement.read_placement(path.read_text("utf-8"), wanted.variables)
    except (OSError, placement.BadPlacement) as error:
        raise KitError(f"the kit's own {path} can't be used: {error}") from error


def _runtimes_of(session: Session, wanted: HandedFile) -> dict[str, Path]:
    """The solution's program on each runtime that there is."""
    default = session.program(SOLUTION)
    own: str = session.data["build"].get("openmp_runtime", "libomp")
    found = {own: default}
    if own != "libgomp" and session.data["build"].get("c_compiler", "").startswith("GNU"):
        found["libgomp"] = session.program(SOLUTION, "-libgomp")
    return {runtime: found[runtime] for runtime in wanted.runtimes if runtime in found}


def _bind(session: Session, role: str, wanted: HandedFile, variables: dict[str, str]) -> None:
    threads = thread_goals.team_of(wanted.goal, session.node)
    part = session.lab.part_of(wanted)
    limit_s = session.effort.phase_limit_s * session.place.slowness
    options = monitor.common_options(part, threads, "quick", limit_s)
    environment = monitor.worker_environment(
        session.lab, threads, passive=True, placement=variables
    )
    for runtime, program in _runtimes_of(session, wanted).items():
        whole = [*monitor.worker_option(role, program), *options]
        session.run(BINDING, whole, environment, file=wanted.name, runtime=runtime)


def gather_placements(session: Session) -> None:
    """Where the kit's program puts its threads and ranks under each file."""
    wanted = [one for one in session.lab.files if one.kind != "prediction"]
    if not wanted:
        return
    programs = {p.name for one in wanted for p in _runtimes_of(session, one).values()}
    with session.spending("build"):
        build_kit(session.kit, sorted(programs | {session.program(SOLUTION).name}))
    files = {one["file"]: one for one in session.data["handed_in"]}
    with session.spending("evidence"):
        what = "ranks" if session.lab.mpi else "threads"
        session.progress(f"looking where {what} go{session.there}")
        for one in wanted:
            if files[one.name]["complaint"] is None:
                _place(session, SUBMISSION, one)
        missed = needs.files_to_compare(session.lab, session.evidence)
        for one in wanted:
            if one.name in missed:
                _place(session, SOLUTION, one)


def _place(session: Session, role: str, wanted: HandedFile) -> None:
    """Under the student's file, or the solution's. On a virtual node once for both languages,
    since only the kit's program is run."""
    given = [one for one in session.data["handed_in"] if one["file"] == wanted.name]
    whose = json.dumps(given) if role == SUBMISSION else ""
    name = f"{session.lab.name} {role} {wanted.name} {whose}"
    if name in session.controls:
        session.data["runs"] += session.controls[name]
        return
    before = len(session.data["runs"])
    _look_where_it_goes(session, role, wanted)
    if session.machine is not None:
        session.controls[name] = session.data["runs"][before:]


def _look_where_it_goes(session: Session, role: str, wanted: HandedFile) -> None:
    if wanted.kind == "launch":
        mpi_runs.launch_ranks(session, role, wanted)
    elif role == SOLUTION:
        _bind(session, role, wanted, _solution_variables(session, wanted))
    else:
        files = {one["file"]: one["variables"] for one in session.data["handed_in"]}
        _bind(session, role, wanted, files[wanted.name])


def timed_environments(session: Session) -> dict[str, dict[str, str]]:
    """What each role is timed under beside the lab's environment: placements, where those
    are what is compared."""
    timed = session.lab.timed_placements
    if timed is None:
        return {}
    files = {one["file"]: one["variables"] for one in session.data["handed_in"]}
    fast = _solution_variables(session, timed.fast)
    return {
        HANDOUT: _solution_variables(session, timed.slow),
        SOLUTION: fast,
        CONTROL: fast,
        SUBMISSION: files[timed.fast.name],
    }
