"""The runs of MPI labs under launch files: where ranks go, and what they take to be told. The
ranks are those of the kit's program throughout."""

from __future__ import annotations

from typing import Any

from numalab import words
from numalab.errors import NumalabError
from numalab.evidence.kinds import LATENCY, RANKS
from numalab.evidence.record import CONTROL, HANDOUT, SOLUTION, SUBMISSION, Json, Kind
from numalab.evidence.run_formats import OutcomeRecord, RanksRun
from numalab.grading.session import Session
from numalab.harness import monitor
from numalab.judging import planner
from numalab.labs import launch
from numalab.labs.declaration import HandedFile
from numalab.labs.launch import BadPolicy, RankPlan
from numalab.labs.solution_files import need_solution_text
from numalab.machines.topology import count_unmatched, topology_of_node

# Of one job; the monitor has room for no more ranks.
MOST_RANKS = 256
MOST_THREADS = 16_384


def plan_on(node: Json, text: str, name: str) -> RankPlan:
    """What a launch file means on a node. Raises BadPolicy, with the file's name."""
    policy = launch.parse_policy(text, name)
    try:
        plan = launch.plan(policy, topology_of_node(node))
    except BadPolicy as error:
        raise BadPolicy(f"{name}: {error}") from error
    ranks = len(plan.ranks)
    if ranks > MOST_RANKS or ranks * plan.threads > MOST_THREADS:
        raise BadPolicy(
            f"{name}: that is a job of {words.count(ranks, 'rank')} with "
            f"{words.count(plan.threads, 'thread')} each on this "
            f"node; the kit starts at most {MOST_RANKS} ranks, and {MOST_THREADS:,} threads in all"
        )
    return plan


def _read(session: Session, role: str, file: HandedFile) -> str:
    """The text of the student's file, or of the solution's. Raises NumalabError."""
    if role == SUBMISSION:
        return session.handed(file.name).text
    return need_solution_text(session.installation.solution_folder(session.lab.name), file.name)


def _refuse(session: Session, role: str, part: str | None, name: str, why: str) -> None:
    """Keeps that a launch can't be meant on the node."""
    session.record.runs.append(
        RanksRun(
            lab=session.lab.name, part=part, team=1, role=role, ranks=(),
            outcome=OutcomeRecord.fine(), file=name, refused=f"{why}.",
        )
    )  # fmt: skip


def _run(
    session: Session, kind: Kind[Any], role: str, part: str | None, plan: RankPlan, **facts: Any
) -> None:
    """The kit's program, launched so; what the kit can't do then is held against its own launch."""

    def launched(role: str, plan: RankPlan) -> tuple[list[str], dict[str, str]]:
        limit_s = session.effort.phase_limit_s * session.place.slowness
        options = [
            *monitor.worker_option(role, session.program(SOLUTION)),
            *monitor.launch_options(role, plan),
            *monitor.common_options(part, plan.threads, "quick", limit_s),
        ]
        environment = monitor.worker_environment(
            session.lab, plan.threads, placement=plan.environment
        )
        return options, environment

    options, environment = launched(role, plan)

    def kits_own() -> tuple[list[str], dict[str, str]]:
        return launched(SOLUTION, _kits_plan_of(session, kind, part, facts["file"]))

    session.run(kind, options, environment, kits_own=kits_own, **facts)


def _kits_plan_of(
    session: Session, kind: Kind[Any], part: str | None, name: str | None
) -> RankPlan:
    """What a student's launch is held against: of ranks that are placed the solution's file of the
    same name, of a ping-pong the lab's launch. Raises NumalabError where the node has no room."""
    try:
        if kind is LATENCY:
            return kits_plan(session)
        file = next(file for file in session.lab.files if file.name == name)
        return plan_on(session.node, _read(session, SOLUTION, file), file.name)
    except BadPolicy as error:
        raise NumalabError(f"the kit's own launch of {part}: {error}") from error


def launch_ranks(session: Session, role: str, file: HandedFile) -> None:
    """Where the ranks go under a file."""
    part = session.lab.part_of(file)
    try:
        plan = plan_on(session.node, _read(session, role, file), file.name)
    except BadPolicy as error:
        _refuse(session, role, part, file.name, str(error))
        return
    _run(session, RANKS, role, part, plan, file=file.name, refused=None)


def _can_be_timed(plan: RankPlan) -> bool:
    """Two ranks that are bound, with a core for each."""
    cores = [{plan.topology.core[pu] for pu in pus} for pus in plan.ranks]
    return plan.is_bound and len(plan.ranks) == 2 and not count_unmatched(cores)


def _ping_pongs(session: Session, part: str | None) -> dict[str | None, RankPlan]:
    """Where two ranks are timed: by the student's launch files, or where one is of no use
    by the kit's launch."""
    assert session.lab.launch is not None
    plans: dict[str | None, RankPlan] = {}
    for file in session.lab.files:
        if file.kind != "launch" or session.lab.part_of(file) != part:
            continue
        name, plan = None, None
        if session.handed(file.name).complaint is None:
            try:
                plan = plan_on(session.node, _read(session, SUBMISSION, file), file.name)
                name = file.name
            except BadPolicy:
                pass  # told where ranks go
        if plan is None or not _can_be_timed(plan):
            name = None
            plan = kits_plan(session)
        plans.setdefault(name, plan)
    return plans or {None: kits_plan(session)}


def kits_plan(session: Session) -> RankPlan:
    """The launch of the lab's own. Raises BadPolicy."""
    assert session.lab.launch is not None
    return launch.plan(session.lab.launch, topology_of_node(session.node))


def time_messages(session: Session) -> None:
    """What messages of all sizes take, where a prediction is asked for."""
    for part in session.lab.parts:
        if not planner.needs_latency(session.lab, session.evidence, part):
            continue
        session.waits_its_turn()
        session.progress("timing messages")
        with session.spending("timing"):
            for name, plan in _ping_pongs(session, part).items():
                _run(session, LATENCY, SUBMISSION, part, plan, file=name)


def plans_of_roles(session: Session, timed: planner.Timed) -> dict[str, RankPlan] | None:
    """The launches that a criterion compares, by role. None where one can't be meant on
    this node, which is kept; the kit's own come first, since without them nothing is asked
    for."""
    assert timed.slow is not None
    file = session.lab.launch_of(timed.part)
    path = session.installation.lab_folder(session.lab.name) / timed.slow
    try:
        slow = path.read_text("utf-8")
    except OSError as error:
        raise NumalabError(f"the kit's own {path} can't be read: {error.strerror}") from error
    files = {
        HANDOUT: (timed.slow, slow),
        SOLUTION: (file.name, _read(session, SOLUTION, file)),
        SUBMISSION: (file.name, _read(session, SUBMISSION, file)),
    }
    plans = {}
    for role, (name, text) in files.items():
        try:
            plans[role] = plan_on(session.node, text, name)
        except BadPolicy as error:
            _refuse(session, role, timed.part, name, str(error))
            return None
    return plans | {CONTROL: plans[SOLUTION]}
