"""Where things are: the folders of numalab, and those of its user.

Where many share an installation, a user has folders of their own (own_places) for files to edit,
builds, and what outlives a build.
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
from typing import NamedTuple

from numalab.errors import LockedError, NumalabError, UserError, reason_of, wrapped
from numalab.file_systems.locks import LockFile
from numalab.file_systems.room import build_place, shortage
from numalab.processes import shell_variables

RECORD = "installation.json"  # in the folder of an installed copy, once all of it is there
GRADING = "grading"  # in a lab's folder: what students neither read, nor edit, nor run by hand
# The starting code in a lab's folder of an archive, of a release or a student copy. It is not in
# the lab's folder itself, where unpacking a newer archive would replace files that were edited.
RELEASED = f"{GRADING}/starting_code"
EDITION = "edition.json"  # in the folder of a student copy, without the text of solutions
WORK_VARIABLE = "NUMALAB_WORK"
RETRY_S = 0.5  # between two tries to take a lock that another command holds


@dataclass(frozen=True)
class Installation:
    """The folders that numalab works in, and the CMake preset that it is built with."""

    root: Path  # its folder
    preset: str = "gnu"
    builds: Path | None = None  # the folder of builds; None: build/ in its folder
    work: Path | None = None  # the folder of what the user edits; None: its folder
    state: Path | None = None  # the folder of what outlives a build; None: the folder of builds
    # The root of the installation that this one was made from, for a single variant of a lab; None:
    # it was made for none.
    origin: Path | None = None
    variants: Path | None = None  # the folder of the user's variants; None: variants/ in `work`

    @property
    def variants_root(self) -> Path:
        """Return the folder that holds a folder for each of the user's variants."""
        return self.variants or self.work_root / "variants"

    @property
    def build_root(self) -> Path:
        """Return the folder of the presets' build folders; without `state` also of what outlives
        them."""
        return self.builds or self.root / "build"

    @property
    def build(self) -> Path:
        """Return the build folder of the preset."""
        return self.build_root / self.preset

    @property
    def state_root(self) -> Path:
        """Return the folder of results, progress and hints."""
        return self.state or self.build_root

    @property
    def work_root(self) -> Path:
        """Return the folder of labs/ and notebooks/ with what the user edits."""
        return self.work or self.root

    @property
    def is_edition(self) -> bool:
        """Tell whether it is a student copy, by the file EDITION in its folder."""
        return (self.root / EDITION).is_file()

    def need_solutions(self, what: str) -> None:
        """Raise UserError in a student copy. what: needs the solutions' texts, for the message."""
        if self.is_edition:
            raise UserError(
                f"this is a student's edition of numalab, without the solutions' text: {what} is "
                "done with the whole kit, which your instructors have."
            )

    def lab_folder(self, lab: str) -> Path:
        """Return the lab's folder in numalab's own."""
        return self.root / "labs" / lab

    def grading_folder(self, lab: str) -> Path:
        """Return the folder GRADING of the lab."""
        return self.lab_folder(lab) / GRADING

    def own_folder(self, lab: str) -> Path:
        """Return the folder of the lab's files that the user edits."""
        above = self.variants_root if self.origin is not None else self.work_root / "labs"
        return above / lab

    def solution_folder(self, lab: str) -> Path:
        return self.root / "solutions" / lab

    def staged_folder(self, lab: str) -> Path:
        """Return the folder in which the build expects the submission's files."""
        return self.build / "submissions" / lab

    def pristine_folder(self, lab: str) -> Path:
        """Return the build's folder of the lab's starting code."""
        return self.build / "handouts" / lab

    def given_folder(self, lab: str) -> Path:
        """Return the folder in which numalab came with the starting code: RELEASED where the lab
        has that, else the lab's folder, which has the user's edits where it is own_folder."""
        released = self.lab_folder(lab) / RELEASED
        return released if released.is_dir() else self.lab_folder(lab)

    def results_folder(self, lab: str, language: str, variant: str) -> Path:
        """Return the folder of results. variant: "submission", "handout" or "solution"."""
        return self.state_root / self.preset / "results" / lab / language / variant

    def is_own(self, folder: Path) -> bool:
        """Tell whether a folder is, by its path, directly in one of the installation's folders of
        labs, solutions and variants."""
        kits = (self.root / "labs", self.root / "solutions")
        return folder.parent in (*kits, self.work_root / "labs", self.variants_root)

    @property
    def hints_file(self) -> Path:
        """Return the file with the hints that the user has read; it outlives a build folder."""
        return self.state_root / "hints.json"

    @property
    def progress_file(self) -> Path:
        """Return the file with the user's progress; it outlives a build folder."""
        return self.state_root / "progress.json"

    def worker(self, lab: str, language: str, variant: str) -> Path:
        """Return a lab's worker. variant: "submission", "handout" or "solution", with the suffix of
        programs that are built in another way (Grading.program)."""
        return self.build / "labs" / lab / f"{lab}-{language}-{variant}"

    def probe_worker(self, lab: str) -> Path:
        """Return the worker that runs the lab's reference loops."""
        return self.build / "labs" / lab / f"{lab}-probe"

    def monitor(self, lab: str) -> Path:
        return self.build / "labs" / lab / f"{lab}-monitor"

    @property
    def probe(self) -> Path:
        """Return the program that measures this machine's memory."""
        return self.build / "common" / "probe"

    def exploration(self, lab: str) -> Path:
        """Return the program that ./numalab explore times: the lab's own, or the probe."""
        if (self.grading_folder(lab) / "explore.c").is_file():
            return self.build / "labs" / lab / f"{lab}-explore"
        return self.probe

    @property
    def notebooks(self) -> Path:
        """Return the folder of the user's copies of notebooks and the files that their cells write:
        the one that NUMALAB_NOTEBOOKS names, or notebooks/ in `work_root`."""
        own = self.work_root / "notebooks"
        return Path(os.environ.get("NUMALAB_NOTEBOOKS") or own).absolute()

    @property
    def guest_kernels(self) -> Path:
        """Return the folder of Linux kernels for virtual machines, which may be missing."""
        return self.root / "kernels"

    def shown(self, path: Path) -> Path:
        """Return a path as messages show it: below the folder in which the user works, relative to
        that."""
        return path.relative_to(self.work_root) if path.is_relative_to(self.work_root) else path

    @property
    def compile_apart(self) -> Path:
        """Return the script that runs a compiler's command, in a sandbox where its environment
        describes one."""
        return self.root / "common" / "cmake" / "compile_apart"

    @property
    def confine(self) -> Path:
        """Return the program that sets limits inside a sandbox and becomes the worker."""
        return self.build / "common" / "confine"

    @property
    def confine_missing(self) -> Path:
        """Return the file that says why this build has no `confine`; else there is no such file."""
        return self.build / "common" / "confine.missing"

    @property
    def describe_node(self) -> Path:
        return self.build / "common" / "describe_node"

    @property
    def describe_topology(self) -> Path:
        """Return the program that prints what hwloc reads in an export or synthetic description."""
        return self.build / "common" / "describe_topology"

    @property
    def guest_init(self) -> Path:
        """Return the program that is the first process of virtual machines."""
        return self.build / "common" / "guest_init"

    @property
    def guest_confine(self) -> Path:
        """Return the program that becomes a worker on a virtual machine."""
        return self.build / "common" / "guest_confine"

    @property
    def guest_finalize(self) -> Path:
        """Return the library that MPI programs on a virtual cluster preload
        (common/guest/finalize.c)."""
        return self.build / "common" / "guest_finalize.so"

    @property
    def relay(self) -> Path:
        """Return the program that is the switch between the machines of a virtual cluster."""
        return self.build / "common" / "relay"

    @property
    def kvm_probe(self) -> Path:
        return self.build / "common" / "probe_host"

    def make_folders(self) -> None:
        """Make the folders of builds and results, closed to other users where many share the
        installation and it is no variant's. Raises UserError where that can't be done."""
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
        """Keep a second command out of the build folder and the results for a block, as far as
        files can be locked.

        Take this lock before the machine's (grading/node_lock.py), not while holding that, since a
        command that holds this one may wait for the machine. Raises LockedError where another
        command holds it and report_wait is None, UserError where its file or a folder can't be
        made, and NumalabError where there is no room for the build.

        report_wait: called with a sentence, once, where another command holds the lock, which is
        then waited for; None: don't wait.
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
        """Hold the lock for a block, without waiting."""
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


# ---- a user's folders ------------------------------------------------------------------


class OwnPlaces(NamedTuple):
    """A user's folders, where many share an installation."""

    builds: Path  # for what can be built again
    work: Path  # for what is edited, in folders as in a checkout
    state: Path  # for results, progress and hints


def is_shared(root: Path) -> bool:
    """Tell whether nothing is to be written below an installation's root: it was installed, or this
    user can't write there."""
    return (root / RECORD).is_file() or not all(
        os.access(folder, os.W_OK) for folder in (root, root / "labs")
    )


def own_places(root: Path, environment: Mapping[str, str]) -> OwnPlaces:
    """Return this user's folders: that of WORK_VARIABLE or ~/numalab, and by the XDG Base Directory
    Specification those of builds and state. Builds are of one installation, by the path of its
    root; the other folders serve all that the user works with. environment: the user's variables.
    Raises UserError where there is no home folder."""
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
        cache / "numalab" / "builds" / of_path,
        Path(environment.get(WORK_VARIABLE) or home / "numalab").absolute(),
        state / "numalab",
    )


def make_private(folder: Path) -> None:
    """Make a folder that only this user can read, or close an existing one to other users. Raises
    UserError where that can't be done, or it belongs to another user."""
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
    """Return the installation that NUMALAB_ROOT names, or the one that this file belongs to, with
    the name of a CMake preset, which is not checked.

    Builds and results are in the folder that NUMALAB_BUILD names; without it in the installation's
    own, or if it is_shared in the user's (own_places). Raises NumalabError where the root has no
    folder labs/, and UserError where it is_shared and the user has no home folder.
    """
    root = Path(os.environ.get("NUMALAB_ROOT") or Path(__file__).resolve().parents[3])
    if not (root / "labs").is_dir():
        raise NumalabError(f"{root} is not a copy of numalab: it has no folder labs/")
    builds: Path | None = None
    work: Path | None = None
    state: Path | None = None
    if is_shared(root):
        builds, work, state = own_places(root, shell_variables.numalab_environment())
    named = os.environ.get("NUMALAB_BUILD")
    if named:
        builds, state = Path(named).absolute(), None
    return Installation(root, preset, builds, work, state)
