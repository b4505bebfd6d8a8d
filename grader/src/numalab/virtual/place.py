"""Virtual machines as places where evidence is gathered."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from numalab.errors import Interrupted, NumalabError, UserError, reason_of
from numalab.evidence.format import ShownMachine
from numalab.evidence.numa_nodes import usable_numa_nodes
from numalab.evidence.run_formats import AnyRunRecord
from numalab.harness.monitor import Finished, describe_node
from numalab.harness.sandbox import hidden_folders
from numalab.installation import Installation
from numalab.machines.announced import announces_cores
from numalab.machines.machine import Machine
from numalab.processes import shell_variables
from numalab.virtual import guest_sandbox
from numalab.virtual.booting import boot
from numalab.virtual.cluster import Cluster, ClusterOptions, boot_cluster
from numalab.virtual.guest import Guest
from numalab.virtual.plan import (
    GuestOptions,
    build_programs,
    make_plan,
    programs_are_built,
    scaling_note,
)
from numalab.virtual.qemu_process import GuestEnded, GuestFailed, find_qemu
from numalab.words import StepReport

# Of emulation, times the guest's threads that share a core of this machine.
SLOWNESS = 8.0
PROGRAM_LIMIT_S = 1800.0


class PlaceLost(NumalabError):
    """The end or a failure of a guest; another boot may help."""


class NodeEnded(PlaceLost):
    """An end that the guest itself brought about, or a command's programs that are too large for
    it. command: what was to run in it."""

    def __init__(self, message: str, command: Sequence[str]) -> None:
        super().__init__(message)
        self.command = tuple(command)


class VirtualPlace:
    """A running virtual machine where programs of numalab run: a Place (harness/monitor.py).

    Attributes:
        name: the machine's.
        node: what describe_node reports in the guest.
        machine: the described machine and how it runs, as records have it.
        monitor_options: options by which the monitor isolates workers in the guest.
        controls: runs of controls by name, none at first.
    """

    slowness = SLOWNESS

    def __init__(
        self, installation: Installation, machine: Machine, guest: Guest, options: GuestOptions
    ) -> None:
        self.name = machine.name
        self._installation, self._machine, self._options = installation, machine, options
        self._guest = guest
        plan = guest.plan
        self._visible = [share.path for share in plan.shares]
        self._hidden = hidden_folders(installation)
        self._sight = guest_sandbox.GuestView(
            self._visible, self._hidden, plan.machine.cores, plan.memory_bytes
        )
        self.monitor_options = guest_sandbox.monitor_options(
            installation.guest_confine, self._sight
        )
        self.machine = ShownMachine(
            name=machine.name,
            source=machine.source,
            accelerator=plan.accelerator,
            guest_kernel=plan.kernel.version,
            cores_per_numa_node=plan.machine.cores_per_node.most,
            cores_per_numa_node_of_machine=machine.cores_per_node.most,
            # Of one made from a seed the smallest: they have memory of their own.
            numa_node_memory_bytes=plan.node_memory_mib * 2**20,
            announces_cores=announces_cores(machine),
            architecture=machine.architecture,
        )
        self.controls: dict[str, list[AnyRunRecord]] = {}
        self.node = describe_node(installation, self)

    def close(self) -> None:
        self._guest.close()

    @property
    def environment(self) -> dict[str, str]:
        """The part of this process's environment that programs in the guest get."""
        return guest_sandbox.environment_for(shell_variables.observer_environment(), self._visible)

    def job_words(self, results: str) -> list[str]:
        """Return the words before an MPI job's command on nodes of boot_cluster()."""
        return guest_sandbox.job_words(self._sight, results)

    def boot_cluster(self, progress: StepReport) -> Cluster:
        """Boot two nodes like this machine, with a link between them; the caller closes the
        cluster. They have the folders of this machine that the guest has, and hold no programs.
        What a cluster needs is built if need be. Raises UserError or NumalabError where that can't
        be done."""
        if not programs_are_built(self._installation, is_cluster=True):
            build_programs(self._installation, is_cluster=True)
        try:
            return boot_cluster(
                self._installation,
                self._machine,
                [],
                ClusterOptions(),
                self._options,
                progress,
                self._visible,
            )
        except OSError as error:
            why = f"two nodes like {self.name} can't be booted: {reason_of(error)}"
            raise NumalabError(why) from error

    @property
    def note(self) -> str:
        """What of the machine is smaller in the guest, as a text."""
        return scaling_note(self._guest.plan.machine, self._guest.plan.node_memory_mib)

    def execute(self, command: Sequence[str], environment: Mapping[str, str]) -> Finished:
        """Run a program to its end, as Place has it; the guest is paused afterwards, unless it
        failed or was interrupted. Raises Interrupted, NodeEnded, PlaceLost, and NumalabError where
        it can't be read or run, or takes more than PROGRAM_LIMIT_S."""
        output, errors = bytearray(), bytearray()
        self._guest.resume()
        try:
            remote = guest_sandbox.command_for(command, self._visible, self._hidden)
            self._guest.hold(remote.programs)
            ended = self._guest.run(
                remote.arguments,
                "/",
                guest_sandbox.environment_for(environment, self._visible),
                output.extend,
                errors.extend,
                limit_s=PROGRAM_LIMIT_S,
            )
        except KeyboardInterrupt as error:
            raise Interrupted from error
        except GuestEnded as error:
            raise NodeEnded(str(error), command) from error
        except GuestFailed as error:
            raise PlaceLost(str(error)) from error
        except (OSError, ValueError) as error:
            self._guest.pause()
            why = reason_of(error) if isinstance(error, OSError) else error
            raise NumalabError(f"{command[0]} can't run on {self.name}: {why}") from error
        # Idle processors of a guest take time, and this machine may be timing something next.
        self._guest.pause()
        if ended is None:
            raise NumalabError(f"{command[0]} did not end on {self.name} in {PROGRAM_LIMIT_S:g} s")
        if ended.refused:
            raise NumalabError(
                f"{command[0]} can't run on {self.name}: {os.strerror(ended.refused)}"
            )
        return Finished(
            ended.code or -ended.signal,
            output.decode(errors="replace"),
            errors.decode(errors="replace"),
        )


class VirtualPlaces(contextlib.AbstractContextManager["VirtualPlaces"]):
    """The virtual machines of one command, booted by get(), which end at the end of the `with`
    block. The caller has to hold the build folder's lock."""

    def __init__(self, installation: Installation, options: GuestOptions) -> None:
        self._installation, self._options = installation, options
        self._places: dict[str, VirtualPlace] = {}
        self._trouble: dict[str, UserError | NumalabError] = {}
        self._is_fresh: set[str] = set()  # to be booted without a snapshot
        self._notes: dict[str, str] = {}
        self._numa_nodes: dict[str, int] = {}

    def __exit__(self, *_: object) -> None:
        for place in self._places.values():
            place.close()

    def get(self, machine: Machine, programs: Sequence[Path], progress: StepReport) -> VirtualPlace:
        """Return the machine's place, booted if need be. programs: what will run there; a guest
        that is booted for this call gets the folders of their libraries. Raises UserError or
        NumalabError where it can't be booted, and the same error again until drop(); Interrupted
        after Ctrl-C while the guest is described."""
        if machine.name in self._trouble:
            raise self._trouble[machine.name]
        if machine.name not in self._places:
            try:
                place = self._boot(machine, programs, progress)
            except (UserError, NumalabError) as error:
                self._trouble[machine.name] = error
                raise
            except OSError as error:  # from the cache folder, most often
                told = NumalabError(f"{machine.name} can't be booted: {reason_of(error)}")
                self._trouble[machine.name] = told
                raise told from error
            self._places[machine.name] = place
            self._notes[machine.name] = place.note
            self._numa_nodes[machine.name] = usable_numa_nodes(place.node)
        return self._places[machine.name]

    def drop(self, name: str) -> None:
        """End a machine's guest and forget its error; from now on get() boots it without a
        snapshot. name: may be of a machine that has not run."""
        self._trouble.pop(name, None)
        place = self._places.pop(name, None)
        if place is not None:
            place.close()
        self._is_fresh.add(name)

    def note(self, name: str) -> str:
        """Return what of a machine is smaller in its guest, as a text. Raises KeyError where get()
        has not booted it."""
        return self._notes[name]

    def numa_nodes(self) -> dict[str, int]:
        """Return the number of usable NUMA nodes of each machine that get() has booted, by its
        name."""
        return dict(self._numa_nodes)

    def _boot(
        self, machine: Machine, programs: Sequence[Path], progress: StepReport
    ) -> VirtualPlace:
        find_qemu()  # before anything that takes time
        build_programs(self._installation)
        system = guest_sandbox.folders_for(programs, hidden_folders(self._installation))
        plan, store = make_plan(self._installation, machine, [], self._options, progress, system)
        guest = boot(plan, None if machine.name in self._is_fresh else store, progress)
        try:
            return VirtualPlace(self._installation, machine, guest, self._options)
        except BaseException:
            guest.close()
            raise
