"""Where things are: the kit's folders, and those of its user.

Who may write to the kit's folder works in it. For all others, and for everybody where the kit was
installed (./numalab install), what a command writes goes to folders of the user's own: files to
edit, builds, and what outlives a build. The last two are nobody else's to read.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from numalab.errors import LockedError, NumalabError, UserError, reason_of, wrapped
from numalab.file_systems.locks import LockFile
from numalab.file_systems.room import build_place, shortage
from numalab.processes import shell_variables

RECORD = "installation.json"  # in the folder of a kit that was installed, once all of it is there
GRADING = "grading"  # in a lab's folder: what students neither read, nor edit, nor run by hand
# In a lab's folder of what is unpacked, an archive of a release or a student copy: what students
# edit. In its place in labs/ it would replace what has been edited there.
RELEASED = f"{GRADING}/starting_code"
EDITION = "edition.json"  # in the folder of a student's edition, which has no solutions
WORK_VARIABLE = "NUMALAB_WORK"
RETRY_S = 0.5  # while another command holds the lock that is waited for


@dataclass(frozen=True)
class Installation:
    """A checkout of the kit or an installed one, and the CMake preset it is built with. builds: in
    place of build/ in its folder; where many share it, work: in place of its folder
    for what is edited, and state: for what outlives a build. origin: the folder of the kit that
    this one was made from, for one variant of a lab; variants: in place of variants/ where the
    user works, the folder of those that she has."""

    root: Path
    preset: str = "gnu"
    builds: Path | None = None
    work: Path | None = None
    state: Path | None = None
    origin: Path | None = None
    variants: Path | None = None

    @property
    def variants_root(self) -> Path:
        """Holds a folder for each variant that the user has."""
        return self.variants or self.work_root / "variants"

    @property
    def build_root(self) -> Path:
        """Holds a build folder for each preset; without `state` also what outlives them."""
        return self.builds or self.root / "build"

    @property
    def build(self) -> Path:
        return self.build_root / self.preset

    @property
    def state_root(self) -> Path:
        """Holds what the user has reached."""
        return self.state or self.build_root

    @property
    def work_root(self) -> Path:
        """Holds labs/ and notebooks/ with what the user edits."""
        return self.work or self.root

    @property
    def is_edition(self) -> bool:
        """Whether it is a copy for students: with the solutions' objects alone."""
        return (self.root / EDITION).is_file()

    def need_solutions(self, what: str) -> None:
        """what: needs the solutions themselves. Raises UserError in a student's edition."""
        if self.is_edition:
            raise UserError(
                f"this is a student's edition of numalab, without the solutions' text: {what} is "
                "done with the whole kit, which your instructors have."
            )

    def lab_folder(self, lab: str) -> Path:
        """With the lab's text, its contract, the starting code and its notebook."""
        return self.root / "labs" / lab

    def grading_folder(self, lab: str) -> Path:
        """With what the grader reads alone: lab.toml, driver, phases, hints, variants."""
        return self.lab_folder(lab) / GRADING

    def own_folder(self, lab: str) -> Path:
        """With the files that the user edits."""
        above = self.variants_root if self.origin is not None else self.work_root / "labs"
        return above / lab

    def solution_folder(self, lab: str) -> Path:
        return self.root / "solutions" / lab

    def staged_folder(self, lab: str) -> Path:
        """Where the build looks for the submission's files."""
        return self.build / "submissions" / lab

    def pristine_folder(self, lab: str) -> Path:
        """The starting code, whatever has been edited in labs/ (grading/own_files.py)."""
        return self.build / "handouts" / lab

    def given_folder(self, lab: str) -> Path:
        """Return where starting code lies as it was given: of a copy without git (RELEASED) a
        folder in which nobody works, else the lab's own."""
        released = self.lab_folder(lab) / RELEASED
        return released if released.is_dir() else self.lab_folder(lab)

    def results_folder(self, lab: str, language: str, variant: str) -> Path:
        return self.state_root / self.preset / "results" / lab / language / variant

    def is_own(self, folder: Path) -> bool:
        """Whether it is a lab's folder of this copy, with the learner's or the kit's files, and not
        one that somebody has handed in."""
        kits = (self.root / "labs", self.root / "solutions")
        return folder.parent in (*kits, self.work_root / "labs", self.variants_root)

    @property
    def hints_file(self) -> Path:
        """Which hints the learner has seen; outlives a build folder, as does what follows."""
        return self.state_root / "hints.json"

    @property
    def progress_file(self) -> Path:
        """What the learner has reached."""
        return self.state_root / "progress.json"

    def worker(self, lab: str, language: str, variant: str) -> Path:
        return self.build / "labs" / lab / f"{lab}-{language}-{variant}"

    def probe_worker(self, lab: str) -> Path:
        """The worker by which lightspeed is measured, the same for all languages."""
        return self.build / "labs" / lab / f"{lab}-probe"

    def monitor(self, lab: str) -> Path:
        return self.build / "labs" / lab / f"{lab}-monitor"

    @property
    def probe(self) -> Path:
        """What this node's memory can do, one kernel at a time."""
        return self.build / "common" / "probe"

    def exploration(self, lab: str) -> Path:
        """The program that ./numalab explore times: the lab's own, or the probe."""
        if (self.grading_folder(lab) / "explore.c").is_file():
            return self.build / "labs" / lab / f"{lab}-explore"
        return self.probe

    @property
    def notebooks(self) -> Path:
        """Learners' copies of notebooks and what their cells hold: a folder that git ignores, or
        the one that NUMALAB_NOTEBOOKS names."""
        own = self.work_root / "notebooks"
        return Path(os.environ.get("NUMALAB_NOTEBOOKS") or own).absolute()

    @property
    def guest_kernels(self) -> Path:
        """Of virtual nodes, for all who share the kit; there is none where it was not installed."""
        return self.root / "kernels"

    def shown(self, path: Path) -> Path:
        """From the folder in which the user works, where it is below it."""
        return path.relative_to(self.work_root) if path.is_relative_to(self.work_root) else path

    @property
    def compile_apart(self) -> Path:
        """Before the command of a compiler: runs it in a sandbox where that is wanted."""
        return self.root / "common" / "cmake" / "compile_apart"

    @property
    def confine(self) -> Path:
        """Becomes a worker inside its sandbox."""
        return self.build / "common" / "confine"

    @property
    def confine_missing(self) -> Path:
        """Why this build has no `confine`, where it has none."""
        return self.build / "common" / "confine.missing"

    @property
    def describe_node(self) -> Path:
        return self.build / "common" / "describe_node"

    @property
    def describe_topology(self) -> Path:
        """What hwloc reads in an export of another machine."""
        return self.build / "common" / "describe_topology"

    @property
    def guest_init(self) -> Path:
        """The first process of virtual nodes."""
        return self.build / "common" / "guest_init"

    @property
    def guest_confine(self) -> Path:
        """Becomes a worker in a virtual node."""
        return self.build / "common" / "guest_confine"

    @property
    def guest_finalize(self) -> Path:
        """Preloaded in MPI programs on a cluster (common/guest/finalize.c)."""
        return self.build / "common" / "guest_finalize.so"

    @property
    def relay(self) -> Path:
        """The switch between the nodes of a cluster."""
        return self.build / "common" / "relay"

    @property
    def kvm_probe(self) -> Path:
        return self.build / "common" / "probe_host"

    def make_folders(self) -> None:
        """Those that hold a user's builds and results; private where many share the kit. Raises
        UserError."""
        is_shared = self.work is not None and self.origin is None
        for folder in filter(None, (self.builds, self.state)) if is_shared else ():
            make_private(folder)
        try:
            for folder in (self.build, self.state_root / self.preset):
                folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(
                f"can't write to {self.build}: {error.strerror}. The kit builds there; set "
                "NUMALAB_BUILD to a folder that you may write to."
            ) from error

    @contextmanager
    def lock(self, report_wait: Callable[[str], None] | None = None) -> Iterator[None]:
        """Keep a second command of the same user out of the build folder and the results.

        report_wait: is told once that another one holds it, until whose end this one waits; None:
        nothing is waited for. Take it before the machine's (grading/node_lock.py), never while
        holding that, since its holder may wait for the machine. Raises LockedError where another
        one holds it and nothing is waited for, UserError where there can be none, and NumalabError
        where a folder that programs write to is full.
        """
        is_told = False
        with ExitStack() as stack:
            while True:
                try:
                    stack.enter_context(self._locked())
                    break
                except LockedError:
                    if report_wait is None:
                        raise
                    if not is_told:
                        report_wait(
                            "another numalab command is measuring; waiting until it is done"
                        )
                    is_told = True
                    time.sleep(RETRY_S)
            yield

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock, or raise as `lock` does where nothing is waited for."""
        self.make_folders()
        path = self.state_root / self.preset / "lock"
        try:
            file = LockFile(path)
        except OSError as error:
            raise UserError(
                f"can't write to {path.parent}: {error.strerror}. The kit keeps results there; set "
                "NUMALAB_BUILD to a folder that you may write to."
            ) from error
        with file:
            if not file.try_lock():
                raise LockedError(
                    "another numalab command is measuring with this copy of the kit; two at "
                    "once would disturb each other's times. Wait for it, then try again."
                )
            short = shortage(build_place(self.build))
            if short:
                raise NumalabError(short)
            if file.warning:
                print(wrapped(f"numalab: {file.warning}"), file=sys.stderr)
            yield


# ---- whose they are --------------------------------------------------------------------


@dataclass(frozen=True)
class OwnPlaces:
    """A user's folders. work: what is edited, in folders as the kit has them; builds: can be made
    again; state: results, progress, hints."""

    work: Path
    builds: Path
    state: Path


def is_shared(root: Path) -> bool:
    """Whether nothing is to be written into the kit's folder."""
    return (root / RECORD).is_file() or not all(
        os.access(folder, os.W_OK) for folder in (root, root / "labs")
    )


def own_places(root: Path, environment: Mapping[str, str]) -> OwnPlaces:
    """Of this user, as the XDG Base Directory Specification has them. Builds are of one kit, by its
    path; all else is for all kits that the user works with. Raises UserError where there is no home
    folder."""
    try:
        home = Path.home()
    except RuntimeError as error:
        raise UserError(
            f"this user has no home folder, and {root} can't be written to. Set HOME to a folder "
            "that you may write to."
        ) from error
    cache = Path(environment.get("XDG_CACHE_HOME") or home / ".cache").absolute()
    state = Path(environment.get("XDG_STATE_HOME") or home / ".local" / "state").absolute()
    of_path = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:12]
    return OwnPlaces(
        Path(environment.get(WORK_VARIABLE) or home / "numalab").absolute(),
        cache / "numalab" / "builds" / of_path,
        state / "numalab",
    )


def make_private(folder: Path) -> None:
    """A folder that only its user sees into, whatever the umask; one that is there is closed to
    others. Raises UserError where it can't be made, or is somebody else's."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        facts = folder.stat()
        if facts.st_uid != os.geteuid():
            raise UserError(
                f"{folder} belongs to another user, who could read or change your results there. "
                "Set XDG_STATE_HOME and XDG_CACHE_HOME to folders of your own."
            )
        if stat.S_IMODE(facts.st_mode) & 0o077:
            folder.chmod(0o700)
    except OSError as error:
        raise UserError(
            f"can't make {folder}: {reason_of(error)}. The kit keeps your builds and results "
            "there; set XDG_CACHE_HOME and XDG_STATE_HOME to folders that you may write to."
        ) from error


def find_installation(preset: str) -> Installation:
    """The kit that this file belongs to, or the one that NUMALAB_ROOT names. Built in the folder
    that NUMALAB_BUILD names, with all results; without it where its user may write."""
    root = Path(os.environ.get("NUMALAB_ROOT") or Path(__file__).resolve().parents[3])
    if not (root / "labs").is_dir():
        raise NumalabError(f"{root} is not a copy of numalab: it has no folder labs/")
    builds = os.environ.get("NUMALAB_BUILD")
    own = own_places(root, shell_variables.numalab_environment()) if is_shared(root) else None
    if builds:
        return Installation(root, preset, Path(builds).absolute(), own.work if own else None)
    return (
        Installation(root, preset, own.builds, own.work, own.state)
        if own
        else Installation(root, preset)
    )
