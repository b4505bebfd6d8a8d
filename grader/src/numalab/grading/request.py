"""What is to be graded, and the loop that grades it: labs x languages, here and on virtual
nodes. Whoever asks is told how it goes, kernel by kernel."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from numalab.errors import Interrupted, NumalabError, UserError
from numalab.evidence.format import OtherPlaces, ShownMachine
from numalab.evidence.record import Json
from numalab.grading.elsewhere import grade_elsewhere
from numalab.grading.explanation import keep_explanation
from numalab.grading.found_files import found_file, taken_words
from numalab.grading.grade import grade
from numalab.grading.graded import GradedKernel
from numalab.grading.handout import edited_languages
from numalab.grading.login_node import on_login_node, refusal
from numalab.grading.modelled import modelled_beside
from numalab.grading.own_files import keep_starting_code, provide
from numalab.grading.session import Session
from numalab.grading.turns import NOBODY_ELSE, Turns
from numalab.harness.build import (
    MPI_REMEDY,
    build_targets,
    configure,
    mpi_of,
)
from numalab.harness.build_folder import drop_foreign_build
from numalab.harness.kernel_texts import misnamed_kernels
from numalab.harness.monitor import describe_node
from numalab.harness.sandbox import Sandbox
from numalab.installation import Installation
from numalab.judging.effort import effort_for
from numalab.judging.places import LOCAL, verdict_over
from numalab.judging.timing_account import timing_accounts
from numalab.judging.verdict import Verdict, tag_machine
from numalab.labs.declaration import KERNEL_FILES, LANGUAGE_NAMES, VARIANT_NAMES, Lab
from numalab.labs.hints import read_levels
from numalab.machines.gallery import published_latencies
from numalab.machines.machine import Machine
from numalab.untrusted.visible import shown
from numalab.virtual.place import VirtualPlaces
from numalab.words import StepReport


@dataclass(frozen=True)
class Request:
    """What is to be graded, and where. language: one, "all", or "edited", which leaves out the
    kernel that is still the handout while the other is not; is_chosen: the labs were named, they
    are not all; on: machines that were named; here_only: no virtual node either for what this
    node can't show; no_times: why none are taken, and then nothing is kept of the session, so
    that a timing that stayed open goes on where it stopped; sandbox: what kernels are compiled
    and run in on this node; turns: with other gradings on it; afresh: times of earlier gradings
    don't count; earlier: folders with a record for each language of other gradings of what may be
    the same, the newest first."""

    labs: Sequence[Lab]
    language: str
    variant: str
    submission: Path | None = None
    size: str = "default"
    quick: bool = False
    force: bool = False
    on: Sequence[Machine] = ()
    here_only: bool = False
    is_chosen: bool = True
    no_times: str | None = None
    sandbox: Sandbox | None = None
    turns: Turns = NOBODY_ELSE
    afresh: bool = False
    earlier: Sequence[Path] = ()

    @property
    def is_own(self) -> bool:
        """Of the learner's files in labs/."""
        return self.variant == "submission" and self.submission is None

    @property
    def machine_names(self) -> list[str] | None:
        """Of the virtual nodes that were asked for; None: those that the lab has."""
        return [machine.name for machine in self.on] if self.on or self.here_only else None

    def folder(self, installation: Installation, lab: Lab) -> Path:
        """Of the kernels that are graded."""
        if self.variant == "solution":
            return installation.solution_folder(lab.name)
        if self.submission is not None and self.variant == "submission":
            return self.submission / lab.name
        if self.variant == "submission":
            return installation.own_folder(lab.name)
        return installation.lab_folder(lab.name)


@dataclass(frozen=True)
class Listener:
    """Who is told how a grading goes. on_progress: opens, under a title, what its steps are
    told to; on_note: a line beside the results; on_kernel: a kernel is graded, as far as it
    came; it may raise NumalabError where something can't be kept, which ends nothing."""

    on_progress: Callable[[str], AbstractContextManager[StepReport]] = lambda title: nullcontext(
        lambda step: None
    )
    on_note: Callable[[str], None] = lambda text: None
    on_kernel: Callable[[GradedKernel], None] = lambda kernel: None


@dataclass(frozen=True)
class Graded:
    """What came of it, as far as it came. node: this one's description; machines: those of the
    virtual nodes, by name; not_kept: why something was not stored."""

    kernels: list[GradedKernel]
    node: Json
    machines: dict[str, ShownMachine]
    interrupted: bool
    not_kept: str | None

    @property
    def verdicts(self) -> list[Verdict]:
        return [kernel.verdict for kernel in self.kernels]


def build_own_programs(
    installation: Installation, labs: Sequence[Lab], is_chosen: bool, listener: Listener
) -> list[Lab]:
    """Returns the labs that this build has: those on MPI only where there is MPI. Raises
    UserError if one of those was chosen."""
    drop_foreign_build(installation)
    if not installation.describe_node.is_file():
        with listener.on_progress("numalab") as progress:
            progress("building the kit, for the first time")
            configure(installation)
            build_targets(installation, ["describe_node"])
    keep_starting_code(installation, labs)
    built = labs_with_mpi(installation, labs, is_chosen, listener.on_note)
    build_targets(
        installation, ["describe_node", *(installation.monitor(lab.name).name for lab in built)]
    )
    return built


def labs_with_mpi(
    installation: Installation, labs: Sequence[Lab], is_chosen: bool, note: Callable[[str], None]
) -> list[Lab]:
    """The labs, without those on MPI where the kit was configured without. Raises UserError
    if is_chosen and one of them is left out."""
    able = [lab for lab in labs if not lab.calls_mpi or mpi_of(installation)]
    missing = [lab.name for lab in labs if lab not in able]
    if missing:
        told = f"{' and '.join(missing)}: this build of the kit has no MPI; {MPI_REMEDY}."
        if is_chosen:
            raise UserError(told)
        note(f"numalab: {told}")
    return able


def chosen_languages(lab: Lab, choice: str) -> list[str]:
    return [language for language in lab.languages if choice in ("all", language)]


def _kernels(
    installation: Installation, labs: Sequence[Lab], choice: str, note: Callable[[str], None]
) -> Iterator[tuple[Lab, str]]:
    """Which kernels to grade: labs x languages."""
    for lab in labs:
        chosen = choice
        if choice == "edited":
            edited = edited_languages(installation, lab)
            chosen = edited[0] if len(edited) == 1 else "all"
        languages = chosen_languages(lab, chosen)
        for other in lab.languages:
            if choice == "edited" and other not in languages:
                note(
                    f"{lab.name} {LANGUAGE_NAMES[other]}: still the handout, not graded "
                    f"(--lang {other} grades it)"
                )
        yield from ((lab, language) for language in languages)


@dataclass(frozen=True)
class Sessions:
    """One kernel's, here and on virtual nodes, as far as they came, and the verdict on all."""

    here: Session
    elsewhere: list[Session]
    verdict: Verdict
    interrupted: bool

    @property
    def seen(self) -> list[tuple[str, Session]]:
        return [("here", self.here), *((there.place.name, there) for there in self.elsewhere)]

    def keep(self) -> None:
        """Stores what was seen, for a grading that goes on and for reports. Raises NumalabError."""
        self.here.keep(self.verdict)
        for there in self.elsewhere:
            there.keep(tag_machine(there.verdict(), there.place.name))
        keep_explanation(self.here.results, self.here.explanation)


def grade_kernel(
    session: Session,
    machines: Sequence[Machine] | None,
    places: VirtualPlaces,
    with_times: bool = True,
) -> Sessions:
    """Grades one kernel here, and then on machines: those named, or where none are the lab's
    own as far as they are needed; None: nowhere else. Raises NumalabError and UserError."""
    try:
        verdict = grade(session, with_times)
    except Interrupted:
        verdict = session.verdict()
        if machines is not None:
            named = tuple(machine.name for machine in machines)
            elsewhere = OtherPlaces(named, interrupted_at=LOCAL)
            session.record.elsewhere = elsewhere
            verdict = verdict_over(session.lab, session.evidence, {}, elsewhere)
        return Sessions(session, [], verdict, True)
    if machines is None:
        return Sessions(session, [], verdict, False)
    try:
        verdict, sessions = grade_elsewhere(session, machines, places)
    except Interrupted as error:
        verdict, sessions = error.args
        return Sessions(session, sessions, verdict, True)
    return Sessions(session, sessions, verdict, False)


def _not_read(session: Session) -> list[str]:
    """Files beside a kernel that look like one, in whichever language of the lab."""
    lab = session.lab
    read = {
        found_file(session.installation, lab, session.folder, KERNEL_FILES[one]).name
        for one in lab.languages
    }
    found = [misnamed_kernels(session.folder, one, lab.programs) for one in lab.languages]
    return list(dict.fromkeys(n for names in found for n in names if n not in map(shown, read)))


def graded_kernel(installation: Installation, sessions: Sessions) -> GradedKernel:
    """What there is to show of them."""
    session, lab = sessions.here, sessions.here.lab
    evidence = session.evidence
    seen = [(where, there.evidence) for where, there in sessions.seen]
    return GradedKernel(
        lab,
        sessions.verdict,
        seen,
        timing_accounts(lab, sessions.verdict, evidence),
        unchanged=sessions.verdict.unchanged,
        published=published_latencies(installation) if lab.mpi else (),
        hints_seen=read_levels(installation.hints_file).get(lab.name, {}),
        spent_s=dict(session.spent_s),
        interrupted=sessions.interrupted,
        here_only=session.record.elsewhere is None,
        not_read=_not_read(session),
        taken=taken_words(installation, lab, session.language, session.folder),
        explanation=session.explanation,
        modelled=modelled_beside(installation, lab, sessions.verdict, seen),
    )


def grade_all(
    installation: Installation,
    request: Request,
    places: VirtualPlaces,
    listener: Listener | None = None,
) -> Graded:
    """Grades labs x languages of one variant. The caller holds the kit's lock. Raises UserError
    and NumalabError."""
    listener = listener or Listener()
    if request.is_own and installation.origin is None:
        provide(installation, request.labs, listener.on_note)
    labs = build_own_programs(installation, request.labs, request.is_chosen, listener)
    if request.sandbox is not None:
        build_targets(installation, [request.sandbox.confine.name])
    node = describe_node(installation)
    refused = request.no_times
    if refused is None and on_login_node() and not request.force:
        refused = refusal("grade")
    effort = effort_for(request.size, request.quick)
    before_s = _set_up_s()
    graded = Graded([], node, {}, False, None)
    for lab, language in _kernels(installation, labs, request.language, listener.on_note):
        title = f"{lab.name} {LANGUAGE_NAMES[language]} {VARIANT_NAMES[request.variant]}"
        with listener.on_progress(title) as progress:
            session = Session(
                installation,
                lab,
                language,
                request.variant,
                request.folder(installation, lab),
                effort,
                node,
                progress,
                timing_refused=refused,
                sandbox=request.sandbox,
                turns=request.turns,
                earlier=[folder / language for folder in request.earlier],
                afresh=request.afresh,
                here_only=request.here_only,
            )
            session.spent_s["set-up check"], before_s = before_s, 0.0
            machines = None if request.here_only else request.on
            sessions = grade_kernel(session, machines, places)
        kernel = graded_kernel(installation, sessions)
        graded.kernels.append(kernel)
        graded.machines.update(
            {there.place.name: there.machine for there in sessions.elsewhere if there.machine}
        )
        graded = replace(graded, interrupted=sessions.interrupted)
        not_kept = [
            _not_kept(sessions.keep) if request.no_times is None else None,
            _not_kept(partial(listener.on_kernel, kernel)),
        ]
        graded = replace(
            graded,
            interrupted=sessions.interrupted,
            not_kept=next(filter(None, not_kept), graded.not_kept),
        )
        if sessions.interrupted:
            break
    return graded


def _not_kept(keep: Callable[[], None]) -> str | None:
    """Why something could not be kept: the report is worth more than its copy."""
    try:
        keep()
    except NumalabError as error:
        return str(error)
    return None


def _set_up_s() -> float:
    """How long the launcher took before this program."""
    started = float(os.environ.get("NUMALAB_STARTED", "0") or 0)
    return max(0.0, time.time() - started) if started else 0.0
