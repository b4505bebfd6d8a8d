"""Where things are: the kit's folders, and the one build folder in use."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from numalab import __version__
from numalab.errors import BusyError, KitError, UserError


@dataclass(frozen=True)
class Kit:
    """A checkout of the kit, and the CMake preset it is built with."""

    root: Path
    preset: str = "gnu"
    builds: Path | None = None  # in place of build/ in the checkout

    @property
    def build_root(self) -> Path:
        """Holds a build folder for each preset, and what outlives them."""
        return self.builds or self.root / "build"

    @property
    def build(self) -> Path:
        return self.build_root / self.preset

    def lab_folder(self, lab: str) -> Path:
        return self.root / "labs" / lab

    def solution_folder(self, lab: str) -> Path:
        return self.root / "solutions" / lab

    def staged_folder(self, lab: str) -> Path:
        """Where the build looks for the submission's files."""
        return self.build / "submissions" / lab

    def pristine_folder(self, lab: str) -> Path:
        """The handout as it was when the kit was set up."""
        return self.build / "handouts" / __version__ / lab

    def results_folder(self, lab: str, language: str, variant: str) -> Path:
        return self.build / "results" / lab / language / variant

    def is_own(self, folder: Path) -> bool:
        """Whether it is a lab's folder of this copy, with the learner's or the kit's files, and not
        one that somebody has handed in."""
        return folder.parent in (self.root / "labs", self.root / "solutions")

    @property
    def hints_file(self) -> Path:
        """Which hints the learner has seen; outlives a build folder, as does what follows."""
        return self.build_root / "hints.json"

    @property
    def progress_file(self) -> Path:
        """What the learner has reached."""
        return self.build_root / "progress.json"

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
        if (self.lab_folder(lab) / "explore.c").is_file():
            return self.build / "labs" / lab / f"{lab}-explore"
        return self.probe

    @property
    def notebooks(self) -> Path:
        """Learners' copies of notebooks and what their cells hold: a folder that git ignores, or
        the one that NUMALAB_NOTEBOOKS names."""
        return Path(os.environ.get("NUMALAB_NOTEBOOKS") or self.root / "notebooks").absolute()

    def shown(self, path: Path) -> Path:
        """From the kit's folder, where it is below it."""
        return path.relative_to(self.root) if path.is_relative_to(self.root) else path

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
    def probe_host(self) -> Path:
        return self.build / "common" / "probe_host"

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keeps a second command out of the build folder, and off the cores.

        Raises BusyError when another one holds it, and UserError where there can be none.
        """
        path = self.build / "lock"
        try:
            self.build.mkdir(parents=True, exist_ok=True)
            file = path.open("a")
        except OSError as error:
            raise UserError(
                f"can't write to {self.build}: {error.strerror}. The kit builds there; "
                "copy the kit to a folder that you may write to."
            ) from error
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise BusyError(
                    "another numalab command is measuring with this copy of the kit; two at "
                    "once would disturb each other's times. Wait for it, then try again."
                ) from error
            yield


def find_kit(preset: str) -> Kit:
    """The kit that this file belongs to, or the one that NUMALAB_ROOT names; built in the
    folder that NUMALAB_BUILD names, where several work with one checkout."""
    root = Path(os.environ.get("NUMALAB_ROOT") or Path(__file__).resolve().parents[3])
    if not (root / "labs").is_dir():
        raise KitError(f"{root} is not a copy of numalab: it has no folder labs/")
    builds = os.environ.get("NUMALAB_BUILD")
    return Kit(root, preset, Path(builds).absolute() if builds else None)
