"""What a virtual machine is started from, and the key of its snapshot, which depends on that."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from numalab.machines.machine import Machine
from numalab.virtual import initramfs, qemu, snapshots
from numalab.virtual.kernel import GuestKernel


@dataclass(frozen=True)
class Share:
    """A folder of this machine, mounted in the guest at the same path. cached: its files do not
    change while the guest runs, which may keep what it has read of them if the share is not
    writable."""

    path: Path
    writable: bool = False
    cached: bool = True

    @property
    def mount_options(self) -> str:
        cache = "loose" if self.cached and not self.writable else "none"
        mode = "" if self.writable else "ro,"
        return f"{mode}trans=virtio,version=9p2000.L,msize=512000,cache={cache}"


@dataclass(frozen=True)
class GuestPlan:
    """What a guest is started from, besides QEMU.

    Attributes:
        machine: as it is booted, of the described size or scaled.
        node_memory_mib: of each NUMA node with memory; of a machine made from a seed the smallest.
        init: content of the guest's first process.
        tsc_khz: rate of this machine's time stamp counter; 0: unknown.
        card: the network card of a cluster's node; None: there is no cluster.
    """

    machine: Machine
    node_memory_mib: int
    accelerator: qemu.Accelerator
    kernel: GuestKernel
    init: bytes
    tsc_khz: int
    shares: tuple[Share, ...]
    boot_limit_s: float
    card: qemu.Card | None = None

    @property
    def memory_bytes(self) -> int:
        """Memory of the guest's NUMA nodes together."""
        return sum(self.machine.guest_memory_mib(self.node_memory_mib)) << 20

    @property
    def kernel_words(self) -> str:
        by_physical_ids = qemu.needs_physical_ids(self.machine)
        return qemu.kernel_command_line(self.accelerator, self.tsc_khz, by_physical_ids)

    def initrd(self) -> bytes:
        """Return the guest's ACPI tables and initramfs, for QEMU's option -initrd. Raises OSError
        where a module of Linux can't be read."""
        network = self.kernel.network_modules if self.card else ()
        modules = {path.stem: path.read_bytes() for path in (*self.kernel.modules, *network)}
        processors = qemu.apic_ids(self.machine), qemu.processor_numbers(self.machine)
        tables = {"madt": initramfs.processor_table(*processors)}
        if not qemu.lists_nodes_in_order(self.machine):
            ids = qemu.apic_ids_of_nodes(self.machine)
            sizes = [mib << 20 for mib in self.machine.guest_memory_mib(self.node_memory_mib)]
            tables["srat"] = initramfs.affinity_table(ids, sizes)
        return initramfs.acpi_archive(tables) + initramfs.initramfs(self.init, modules)

    def command(self, program: str, devices: qemu.Devices, snapshot: int | None) -> list[str]:
        return qemu.command_line(
            program, self.machine, self.node_memory_mib, self.accelerator,
            str(self.kernel.image), self.kernel.is_pvh, self.kernel_words, devices, snapshot,
            self.card,
        )  # fmt: skip

    def key(self, program: str, initrd: bytes) -> str:
        """Return the key of the guest's snapshot: a digest of QEMU's command with blanks for
        descriptors and shares, which are mounted later, QEMU's size and time, the Linux kernel and
        initrd. program: QEMU's path; initrd: what initrd() returns."""
        blank = [("/", False)] * qemu.SHARES
        command = self.command(program, qemu.Devices(0, 0, 0, blank, 0), None)
        status = Path(program).stat()
        of_program = f"{status.st_size} {status.st_mtime_ns}"
        of_initrd = hashlib.sha256(initrd).hexdigest()
        parts = [snapshots.FORMAT, self.kernel.fingerprint, of_program, of_initrd]
        return snapshots.key_of([*parts, *command])
