"""Gradings of labs x languages as a request says, on this machine and on virtual machines, with
reports to a listener kernel by kernel."""

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
from numalab.grading.explanation import keep_explanation
from numalab.grading.file_choice import choose_file, edited_languages, taken_words
from numalab.grading.grade import grade
from numalab.grading.graded import GradedKernel
from numalab.grading.kernel_grading import Grading
from numalab.grading.login_node import is_login_node, refusal
from numalab.grading.modelled import model_ungradable
from numalab.grading.node_lock import NO_LOCK, NodeLock
from numalab.grading.own_files import keep_starting_code, provide
from numalab.grading.vm_gradings import grade_on_vms
from numalab.harness.build import MPI_REMEDY, build_targets, configure, mpi_library
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
    """What is to be graded, and how."""

    labs: Sequence[Lab]
    # "c", "fortran", "all", or "edited", which leaves out the kernel that is still starting code
    # while the other is not.
    language: str
    variant: str  # "submission", "handout" or "solution"
    # Folder with a folder of files for each lab; None: the user's own files.
    submission: Path | None = None
    size: str = "default"  # of arrays: "quick", "default" or "published"
    quick: bool = False  # measure less
    force: bool = False  # take times on a login node, too
    # Virtual machines on which placement is graded; empty: those of the lab, as far as they are
    # needed.
    named_machines: Sequence[Machine] = ()
    no_vms: bool = False  # boot no virtual machine, not even for what this machine can't show
    is_chosen: bool = True  # the user named the labs
    # Why no times are taken; None: they may be. With it the grading is not kept, so that a timing
    # that is undecided continues later.
    no_times: str | None = None
    # In which kernels are compiled and run on this machine; None: in none.
    sandbox: Sandbox | None = None
    node_lock: NodeLock = NO_LOCK  # shared with other gradings on this machine
    afresh: bool = False  # times of earlier gradings don't count
    # Folders with a record per language of earlier gradings, the newest first; their times count
    # where the program is the same.
    earlier: Sequence[Path] = ()

    @property
    def is_own(self) -> bool:
        """Tell whether the user's own files are graded."""
        return self.variant == "submission" and self.submission is None

    @property
    def machine_names(self) -> list[str] | None:
        """Return the names of the virtual machines that the user chose; empty: none is to be used;
        None: those of the lab."""
        return (
            [machine.name for machine in self.named_machines]
            if self.named_machines or self.no_vms
            else None
        )

    def folder(self, installation: Installation, lab: Lab) -> Path:
        """Return the folder of a lab's kernels that are graded."""
        if self.variant == "solution":
            return installation.solution_folder(lab.name)
        if self.submission is not None and self.variant == "submission":
            return self.submission / lab.name
        if self.variant == "submission":
            return installation.own_folder(lab.name)
        return installation.lab_folder(lab.name)


@dataclass(frozen=True)
class Listener:
    """Functions that a grading calls as it goes on."""

    # Takes a title; returns a context manager whose value takes phrases for steps.
    start_progress: Callable[[str], AbstractContextManager[StepReport]] = lambda title: nullcontext(
        lambda step: None
    )
    # Takes a line that is shown next to the results.
    note: Callable[[str], None] = lambda text: None
    # Takes a kernel once it is graded, whole or interrupted. A NumalabError that it raises, where
    # something can't be stored, is reported in Graded and ends nothing.
    keep_kernel: Callable[[GradedKernel], None] = lambda kernel: None


@dataclass(frozen=True)
class Graded:
    """Results of a request, all of them or those until it was interrupted."""

    kernels: list[GradedKernel]  # the result of each lab and language
    node: Json  # the description of this machine
    machines: dict[str, ShownMachine]  # what each virtual machine stood for, by name
    interrupted: bool  # not all was graded
    not_kept: str | None  # why something could not be stored; None: all was

    @property
    def verdicts(self) -> list[Verdict]:
        return [kernel.verdict for kernel in self.kernels]


def build_own_programs(
    installation: Installation, labs: Sequence[Lab], is_chosen: bool, listener: Listener
) -> list[Lab]:
    """Build the programs by which labs are graded, and return the labs that this build has: those
    on MPI only where there is MPI. is_chosen: the user named the labs. Raises UserError where a
    named lab needs MPI and there is none."""
    drop_foreign_build(installation)
    if not installation.describe_node.is_file():
        with listener.start_progress("numalab") as progress:
            progress("building the kit, for the first time")
            configure(installation)
            build_targets(installation, ["describe_node"])
    keep_starting_code(installation, labs)
    built = labs_with_mpi(installation, labs, is_chosen, listener.note)
    build_targets(
        installation, ["describe_node", *(installation.monitor(lab.name).name for lab in built)]
    )
    return built


def labs_with_mpi(
    installation: Installation, labs: Sequence[Lab], is_chosen: bool, note: Callable[[str], None]
) -> list[Lab]:
    """Return the labs; where numalab was configured without MPI, without those on MPI. note: called
    with a sentence on those that are left out. is_chosen: the user named the labs. Raises UserError
    where a named lab would be left out."""
    able = [lab for lab in labs if not lab.calls_mpi or mpi_library(installation)]
    missing = [lab.name for lab in labs if lab not in able]
    if missing:
        sentence = f"{' and '.join(missing)}: this build of the kit has no MPI; {MPI_REMEDY}."
        if is_chosen:
            raise UserError(sentence)
        note(f"numalab: {sentence}")
    return able


def labs_in_language(
    labs: Sequence[Lab], choice: str | None, is_chosen: bool, note: Callable[[str], None]
) -> list[Lab]:
    """Return the labs with kernels in the chosen language; all labs where the choice names no
    language. note: called with a sentence on each other one. is_chosen: as of Request. Raises
    UserError where a named lab would be left out, or no lab remains."""
    having = [lab for lab in labs if choice in lab.languages or choice not in KERNEL_FILES]
    for lab in labs:
        if is_chosen or not having:
            lab.need_language(choice)
        if lab not in having:
            note(f"{lab.name} is in {lab.language_words} only, and left out")
    return having


def chosen_languages(lab: Lab, choice: str) -> list[str]:
    """Return the lab's languages that are chosen. choice: a language, or "all"."""
    return [language for language in lab.languages if choice in ("all", language)]


def _kernels(
    installation: Installation, labs: Sequence[Lab], choice: str, note: Callable[[str], None]
) -> Iterator[tuple[Lab, str]]:
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
class KernelGradings:
    """The gradings of one kernel on this and on virtual machines, and the verdict on all."""

    local: Grading  # the grading on this machine
    vms: list[Grading]  # those on virtual machines
    verdict: Verdict  # of all of them
    interrupted: bool  # not all was observed

    @property
    def places(self) -> list[tuple[str, Grading]]:
        """Return name and grading of each place, this machine first."""
        return [(LOCAL, self.local), *((vm.place.name, vm) for vm in self.vms)]

    def keep(self) -> None:
        """Store records, verdicts and explanation. Raises NumalabError where that fails."""
        self.local.keep(self.verdict)
        for vm in self.vms:
            vm.keep(tag_machine(vm.verdict(), vm.place.name))
        keep_explanation(self.local.results, self.local.explanation)


def grade_kernel(
    grading: Grading,
    machines: Sequence[Machine] | None,
    places: VirtualPlaces,
    takes_times: bool = True,
) -> KernelGradings:
    """Grade one kernel on this machine and then on virtual machines. An Interrupted of a grading is
    not raised, but noted in the result.

    Args:
        grading: the one on this machine.
        machines: virtual machines; empty: those of the lab, as far as they are needed; None: none.
        places: boots them.
        takes_times: False: the submission is not timed against the solution.
    """
    try:
        verdict = grade(grading, takes_times)
    except Interrupted:
        verdict = grading.verdict()
        if machines is not None:
            named = tuple(machine.name for machine in machines)
            elsewhere = OtherPlaces(named, interrupted_at=LOCAL)
            grading.record.elsewhere = elsewhere
            verdict = verdict_over(grading.lab, grading.evidence, {}, elsewhere)
        return KernelGradings(grading, [], verdict, True)
    if machines is None:
        return KernelGradings(grading, [], verdict, False)
    try:
        verdict, gradings = grade_on_vms(grading, machines, places)
    except Interrupted as error:
        verdict, gradings = error.args
        return KernelGradings(grading, gradings, verdict, True)
    return KernelGradings(grading, gradings, verdict, False)


def _not_read(grading: Grading) -> list[str]:
    """Return the names of files next to a kernel that are probably meant as kernels, also in a
    language that the lab does not have, and are not read."""
    lab = grading.lab
    read = {
        shown(choose_file(grading.installation, lab, grading.folder, KERNEL_FILES[language]).name)
        for language in lab.languages
    }
    misnamed = [
        name
        for language in lab.languages
        for name in misnamed_kernels(grading.folder, language, lab.programs)
    ]
    misnamed += lab.unread_kernels(grading.folder)
    return [name for name in dict.fromkeys(misnamed) if name not in read]


def graded_kernel(installation: Installation, gradings: KernelGradings) -> GradedKernel:
    """Return the result of a kernel's gradings, as it is shown."""
    grading, lab = gradings.local, gradings.local.lab
    place_evidence = [(where, of.evidence) for where, of in gradings.places]
    return GradedKernel(
        lab,
        gradings.verdict,
        place_evidence,
        timing_accounts(lab, gradings.verdict, place_evidence[0][1]),
        unchanged=gradings.verdict.unchanged,
        published=published_latencies(installation) if lab.mpi else (),
        hint_levels=read_levels(installation.hints_file).get(lab.name, {}),
        spent_s=dict(grading.spent_s),
        interrupted=gradings.interrupted,
        no_vms=grading.record.elsewhere is None,
        not_read=_not_read(grading),
        taken=taken_words(installation, lab, grading.language, grading.folder),
        explanation=grading.explanation,
        modelled=model_ungradable(installation, lab, gradings.verdict, place_evidence),
    )


def grade_all(
    installation: Installation,
    request: Request,
    places: VirtualPlaces,
    listener: Listener | None = None,
) -> Graded:
    """Grade labs x languages as requested, and keep each kernel's results unless request.no_times.
    The caller holds Installation.lock. An Interrupted of a grading is not raised, but noted in the
    result, and ends the call. Raises what build_own_programs raises.

    places: boots virtual machines. listener: None: results are only returned.
    """
    listener = listener or Listener()
    if request.is_own and installation.origin is None:
        provide(installation, request.labs, listener.note)
    labs = build_own_programs(installation, request.labs, request.is_chosen, listener)
    if request.sandbox is not None:
        build_targets(installation, [request.sandbox.confine.name])
    node = describe_node(installation)
    refused = request.no_times
    if refused is None and is_login_node() and not request.force:
        refused = refusal("grade")
    effort = effort_for(request.size, request.quick)
    before_s = _set_up_s()
    graded = Graded([], node, {}, False, None)
    for lab, language in _kernels(installation, labs, request.language, listener.note):
        title = f"{lab.name} {LANGUAGE_NAMES[language]} {VARIANT_NAMES[request.variant]}"
        with listener.start_progress(title) as progress:
            grading = Grading(
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
                node_lock=request.node_lock,
                earlier=[folder / language for folder in request.earlier],
                afresh=request.afresh,
                no_vms=request.no_vms,
            )
            grading.spent_s["set-up check"], before_s = before_s, 0.0
            machines = None if request.no_vms else request.named_machines
            gradings = grade_kernel(grading, machines, places)
        kernel = graded_kernel(installation, gradings)
        graded.kernels.append(kernel)
        graded.machines.update({vm.place.name: vm.machine for vm in gradings.vms if vm.machine})
        not_kept = [
            _not_kept(gradings.keep) if request.no_times is None else None,
            _not_kept(partial(listener.keep_kernel, kernel)),
        ]
        graded = replace(
            graded,
            interrupted=gradings.interrupted,
            not_kept=next(filter(None, not_kept), graded.not_kept),
        )
        if gradings.interrupted:
            break
    return graded


def _not_kept(keep: Callable[[], None]) -> str | None:
    """Store something. Returns why it could not be stored, so that the report is shown all the
    same; None where it was."""
    try:
        keep()
    except NumalabError as error:
        return str(error)
    return None


def _set_up_s() -> float:
    started = float(os.environ.get("NUMALAB_STARTED", "0") or 0)
    return max(0.0, time.time() - started) if started else 0.0
