"""Choose what a virtual machine is started from: as many cores and as much memory as this machine
can carry, and the folders to mount."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from numalab.errors import UserError
from numalab.harness.build import build_targets, configure
from numalab.installation import Installation
from numalab.machines.announced import other_processors
from numalab.machines.machine import Machine
from numalab.virtual import local_machine, qemu, snapshots
from numalab.virtual.guest_plan import GuestPlan, Share
from numalab.virtual.kernel import OTHER_KERNEL, find_kernel
from numalab.virtual.qemu_process import find_qemu
from numalab.words import StepReport, count

NODE_MEMORY_MIB = 256
LEAST_NODE_MEMORY_MIB = 160  # the first NUMA node holds Linux as well
MEMORY_STEP_MIB = 32
QEMU_MEMORY_MIB = 300  # of QEMU itself, with its translated code
MOST_MEMORY_SHARE = 0.8  # of this machine's free memory

# The most PUs of guests for each core of this machine, where options and LEAST_CORES_PER_NODE allow
# it. Under emulation each PU takes time to boot, and threads share the cores; under KVM they only
# share them.
PUS_PER_CORE: dict[qemu.Accelerator, int] = {"tcg": 4, "kvm": 16}
LEAST_CORES_PER_NODE = 2  # so that a NUMA node is more than one core


@dataclass(frozen=True)
class GuestOptions:
    """A user's options for a guest. None: as many cores and as much memory of each NUMA node, up to
    NODE_MEMORY_MIB, as this machine can carry; the kernel that find_kernel chooses; for a boot a
    minute and two seconds for each PU of all guests. full: all cores of the machine."""

    cores_per_node: int | None = None
    full: bool = False
    node_memory_mib: int | None = None
    guest_kernel: Path | None = None
    boot_limit_s: float | None = None
    use_snapshot: bool = True


def scale(
    machine: Machine,
    options: GuestOptions,
    local_cores: int,
    accelerator: qemu.Accelerator,
    copies: int = 1,
) -> Machine:
    """Return as much of a machine as this one can carry (PUS_PER_CORE; largest_with, from
    LEAST_CORES_PER_NODE on), or as the options say; one made from a seed is returned whole.
    local_cores: that may be used; copies: how many guests run at a time, as a cluster's nodes do.
    Raises UserError where options can't be met or the machine can't be booted."""
    if machine.seed is not None and options.cores_per_node is not None:
        raise UserError(f"--cores: {machine.name} is small and shown whole; leave the option out")
    if machine.seed is not None:
        return machine
    largest = bootable(machine)
    most = largest.cores_per_node.most
    asked = machine.cores_per_node.most if options.full else options.cores_per_node
    if asked is not None:
        if asked > most and largest is not machine:
            option = "--full" if options.full else f"--cores {asked}"
            raise UserError(
                f"{option}: a virtual node has {qemu.HIGHEST_APIC_ID + 1} PUs at most, counting "
                f"places that QEMU keeps empty; of {machine.name} that is --cores {most} "
                f"({count(largest.pus, 'PU')} of {machine.pus})"
            )
        return machine.scaled(asked)
    pus = PUS_PER_CORE[accelerator] * local_cores // copies
    return largest_with(machine, LEAST_CORES_PER_NODE, most, lambda small: small.pus <= pus)


def bootable(machine: Machine) -> Machine:
    """Return the machine with as many of its cores per NUMA node as a virtual machine can have.
    Raises UserError where it can't be booted with one."""
    nodes = len(machine.numa_nodes)
    if nodes > qemu.MOST_NODES:
        raise UserError(
            f"{machine.name} has {nodes} NUMA nodes, and QEMU boots {qemu.MOST_NODES} at most; "
            f"look at it with ./numalab machine show {machine.name}"
        )

    def fits(small: Machine) -> bool:
        return qemu.highest_apic_id(small) <= qemu.HIGHEST_APIC_ID

    largest = largest_with(machine, 1, machine.cores_per_node.most, fits)
    if not fits(largest):
        raise UserError(
            f"{machine.name} has {count(largest.pus, 'PU')} with one core per NUMA node, and a "
            f"virtual node has {qemu.HIGHEST_APIC_ID + 1} at most; look at it with ./numalab "
            f"machine show {machine.name}"
        )
    return largest


def largest_with(
    machine: Machine, least: int, most: int, fits: Callable[[Machine], bool]
) -> Machine:
    """Return the machine with as many cores per NUMA node, from least to most, as fit; with least
    where not even these fit or most is less. fits: not true for more cores where it is false for
    fewer."""
    sizes = range(least, most + 1)
    fitting = bisect_left(sizes, True, key=lambda cores: not fits(machine.scaled(cores)))
    return machine.scaled(least + max(fitting - 1, 0))


def free_memory_mib() -> int:
    """Return the memory that Linux reports as available; 0: it reports none."""
    for text in Path("/proc/meminfo").read_text().splitlines():
        if text.startswith("MemAvailable:"):
            return int(text.split()[1]) // 1024
    return 0


def node_memory_mib(machine: Machine, options: GuestOptions, free_mib: int, copies: int = 1) -> int:
    """Return the memory of each NUMA node with memory of a guest, in MiB; of a machine made from a
    seed, of the smallest. free_mib: this machine's free memory; copies: how many guests run at a
    time. Raises UserError where this machine has too little, or an option can't be met."""
    nodes = sum(node.memory_mb != 0 for node in machine.numa_nodes)
    if machine.seed is not None:
        return _own_memory_mib(machine, options, free_mib, copies)
    most = int((free_mib * MOST_MEMORY_SHARE / copies - QEMU_MEMORY_MIB) / nodes)
    asked_mib = options.node_memory_mib or NODE_MEMORY_MIB
    if options.node_memory_mib is None:
        # In steps, since a snapshot fits one size only.
        asked_mib = min(asked_mib, most // MEMORY_STEP_MIB * MEMORY_STEP_MIB)
    elif asked_mib < LEAST_NODE_MEMORY_MIB:
        raise UserError(
            f"--node-memory {asked_mib}: Linux needs {LEAST_NODE_MEMORY_MIB} MiB or more"
        )
    if asked_mib > most or asked_mib < LEAST_NODE_MEMORY_MIB:
        each_mib = nodes * max(asked_mib, LEAST_NODE_MEMORY_MIB) + QEMU_MEMORY_MIB
        raise UserError(
            f"{_copies_of(machine, copies)} with {count(nodes, 'NUMA node')} needs "
            f"{copies * each_mib} MiB, {_more_than(free_mib)}. End other programs, "
            f"{'take fewer nodes, ' if copies > 1 else ''}"
            "or take a machine with fewer NUMA nodes (./numalab machine list)."
        )
    return asked_mib


def _own_memory_mib(machine: Machine, options: GuestOptions, free_mib: int, copies: int) -> int:
    """Return the memory of the smallest NUMA node of a machine made from a seed."""
    if options.node_memory_mib is not None:
        raise UserError(
            f"--node-memory: {machine.name} has memory of its own in each NUMA node; leave the "
            "option out"
        )
    sizes_mib = machine.guest_memory_mib(LEAST_NODE_MEMORY_MIB)
    needed_mib = copies * (sum(sizes_mib) + QEMU_MEMORY_MIB)
    if needed_mib > free_mib * MOST_MEMORY_SHARE:
        raise UserError(
            f"{_copies_of(machine, copies)} needs {needed_mib} MiB, {_more_than(free_mib)}. End "
            "other programs, or take another seed."
        )
    return min(sizes_mib)


def _copies_of(machine: Machine, copies: int) -> str:
    return machine.name if copies == 1 else f"{copies} times {machine.name}"


def _more_than(free_mib: int) -> str:
    return f"more than {MOST_MEMORY_SHARE:.0%} of the {free_mib} MiB that are free on this host"


def scaling_note(machine: Machine, memory_mib: int) -> str:
    """Return a text on what of a machine is smaller in its guest. machine: as it is booted;
    memory_mib: of each NUMA node."""
    if machine.seed is not None:
        return f"{machine.name}, whole, with the memory of its own"
    notes = []
    if machine.scaled_from is not None:
        real = machine.scaled_from.cores_per_node
        notes.append(
            f"{machine.cores_per_node} of {real} cores per NUMA node ({count(machine.pus, 'PU')})"
        )
    notes.append(f"{memory_mib} MiB of memory per NUMA node")
    notes += [
        f"NUMA node {node.number} without memory"
        for node in machine.numa_nodes
        if node.memory_mb == 0
    ]
    said = f"{machine.name}, scaled down to what this host can carry: {', '.join(notes)}"
    return said + other_processors(machine.architecture)


# ---- programs of numalab ---------------------------------------------------------------


def programs_are_built(installation: Installation, is_cluster: bool = False) -> bool:
    """Tell whether numalab's programs for guests are built and up to date. is_cluster: also those
    that only a cluster needs."""
    common = installation.root / "common"
    sources = [
        *(common / "guest").iterdir(), *(common / "confine").iterdir(), *common.glob("*.[ch]"),
        *((common / "relay").iterdir() if is_cluster else ()),
    ]  # fmt: skip
    newest = max(path.stat().st_mtime for path in sources)
    return all(
        path.is_file() and path.stat().st_mtime >= newest
        for path in _programs_for_guests(installation, is_cluster)
    )


def _programs_for_guests(installation: Installation, is_cluster: bool) -> tuple[Path, ...]:
    programs = (installation.guest_init, installation.guest_confine, installation.kvm_probe)
    return (*programs, installation.guest_finalize, installation.relay) if is_cluster else programs


def build_programs(installation: Installation, is_cluster: bool = False) -> None:
    """Build numalab's programs for guests. The caller has to hold the build folder's lock.
    is_cluster: also those that only a cluster needs."""
    configure(installation)
    programs = _programs_for_guests(installation, is_cluster)
    build_targets(installation, [program.stem for program in programs])
    for program in programs:
        program.touch()  # else one that was up to date may be older than another one's sources


# ---- what the guest sees -----------------------------------------------------------------


def toolchain_folders() -> list[Path]:
    """Return the folders of programs and libraries in the root folder, without links, and without
    what is or contains the user's home folder."""
    names = ("usr", "opt", "bin", "sbin", "lib", "lib32", "lib64")
    folders = [Path("/") / name for name in names]
    return [
        path
        for path in folders
        if path.is_dir() and not path.is_symlink() and not is_home_or_above(path)
    ]


def is_home_or_above(path: Path) -> bool:
    try:
        home = Path.home().resolve()
    except RuntimeError:
        return False
    return path == home or path in home.parents


def combine(shares: Sequence[Share]) -> tuple[Share, ...]:
    """Return the shares, parents first, without those within another one that is mounted alike; of
    two with one path the writable one stays. Raises UserError where they are more than qemu.SHARES,
    or one is or contains the user's home folder."""
    kept: list[Share] = []
    for share in sorted(shares, key=lambda s: (len(s.path.parts), not s.writable)):
        if share.path in [other.path for other in kept]:
            continue  # the writable one comes first
        if is_home_or_above(share.path):
            raise UserError(
                f"{share.path} is or contains your home folder, which a virtual node does not "
                "get to see. Work in a folder of its own below it."
            )
        above = [other for other in kept if share.path.is_relative_to(other.path)]
        if above and above[-1].writable == share.writable and above[-1].cached == share.cached:
            continue
        kept.append(share)
    if len(kept) > qemu.SHARES:
        paths = ", ".join(str(share.path) for share in kept)
        raise UserError(f"a virtual node can be shown {qemu.SHARES} folders, not {paths}")
    return tuple(kept)


# ---- all of it ------------------------------------------------------------------------------


def make_plan(
    installation: Installation,
    machine: Machine,
    shares: Sequence[Share],
    options: GuestOptions,
    progress: StepReport,
    system: Sequence[Path] | None = None,
    copies: int = 1,
    card: qemu.Card | None = None,
) -> tuple[GuestPlan, snapshots.Store | None]:
    """Return the plan for a guest, and the store of its snapshots; None: none are used, by option
    or since KVM boots as fast. A Linux kernel is fetched and KVM examined if need be. Programs for
    guests have to be built.

    Args:
        shares: folders of this machine to mount.
        system: folders of programs and libraries to mount, too; None: toolchain_folders().
        copies: how many such guests a cluster has.
        card: their network card; None: no cluster.

    Raises UserError where QEMU or setpriv is missing or options can't be met, and UserError or
    NumalabError where no Linux kernel can be had or this machine can't be examined.
    """
    find_qemu()
    system = toolchain_folders() if system is None else system
    cache = local_machine.cache_folder()
    kernel = find_kernel(
        cache / "kernels", options.guest_kernel, progress, installation.guest_kernels
    )
    if card is not None and qemu.CARDS[card].module not in kernel.network:
        raise UserError(
            f"the kernel {kernel.version} has no module {qemu.CARDS[card].module} for a cluster's "
            f"network card ({card}). {OTHER_KERNEL}"
        )
    abilities = local_machine.examine(installation.kvm_probe, cache)
    accelerator: qemu.Accelerator = "kvm" if abilities.kvm else "tcg"
    scaled = scale(machine, options, len(os.sched_getaffinity(0)), accelerator, copies)
    memory_mib = node_memory_mib(scaled, options, free_memory_mib(), copies)
    plan = GuestPlan(
        machine=scaled,
        node_memory_mib=memory_mib,
        accelerator=accelerator,
        kernel=kernel,
        init=installation.guest_init.read_bytes(),
        tsc_khz=abilities.tsc_khz,
        shares=combine([*(Share(path) for path in system), *shares]),
        boot_limit_s=options.boot_limit_s or 60.0 + 2.0 * scaled.pus * copies,
        card=card,
    )
    # Under KVM a boot takes about as long as reading a snapshot.
    keeps = options.use_snapshot and not abilities.kvm
    store = snapshots.Store(cache / "snapshots") if keeps else None
    return plan, store
