"""QEMU's command line for a machine of the gallery. Pure functions.

Every package of the guest has room for the same shape, dies x cores x threads; where the machine
has fewer, the slot stays empty. A die is a group of cores with one L3 cache, since QEMU gives each
die one; what a program reads from CPUID has no dies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from numalab.machines.machine import Core, Machine, NumaNode

PROGRAM = "qemu-system-x86_64"
NO_QEMU = (
    "virtual nodes need QEMU, which is not installed (qemu-system-x86_64, with virtfs): ./numalab "
    "setup installs it, or names its package"
)

Accelerator = Literal["tcg", "kvm"]

Card = Literal["virtio-net", "e1000"]


@dataclass(frozen=True)
class CardKind:
    """device: as QEMU's option has it; module: of Linux's."""

    device: str
    module: str


# Network cards of a cluster's nodes. A card that is woken would tell everybody of its address,
# which nobody has asked for (guest_announce).
CARDS: dict[Card, CardKind] = {
    "virtio-net": CardKind("virtio-net-pci,guest_announce=off", "virtio_net"),
    "e1000": CardKind("e1000", "e1000"),
}

# 0xFF means all, and more bits need an x2APIC and an interrupt remapper.
HIGHEST_APIC_ID = 0xFE
FLAT_PUS = 8  # Linux: arch/x86/kernel/apic/apic_flat_64.c
MOST_NODES = 128  # QEMU's MAX_NODES

SHARES = 8  # 9p devices; a snapshot fits only the devices that it was taken with
PORT = "numalab"

# Intel's, since AMD's models show hardware threads as cores of their own. TCG has no
# AVX-512, and Linux no use for it here. level: the last of CPUID's leaves, below 0x1F, in which
# QEMU would announce its dies. No processor of the gallery announces any (machines/cpuid.py), and
# an OpenMP runtime that found some would take them for more than the real one knows.
PROCESSOR_TYPE = "max"
PROCESSOR_MODEL = f"{PROCESSOR_TYPE},vendor=GenuineIntel,family=6,model=85,stepping=7,level=0xd"


@dataclass(frozen=True)
class Position:
    """Where a PU is, in the terms of QEMU's options: die of the package (a socket there), core of
    the die."""

    package: int
    die: int
    core: int
    thread: int


@dataclass(frozen=True)
class ApicLayout:
    packages: int
    dies: int
    cores: int  # of a die
    threads: int

    def apic_id(self, position: Position) -> int:
        """Return the APIC id of a position: its fields are whole bits wide."""
        number = position.package
        for part, count in (
            (position.die, self.dies), (position.core, self.cores), (position.thread, self.threads)
        ):  # fmt: skip
            number = number << (count - 1).bit_length() | part
        return number


def _populated(machine: Machine, package: int) -> list[NumaNode]:
    return [node for node in machine.nodes_of(package) if node.cores]


def _dies(machine: Machine, package: int) -> list[tuple[Core, ...]]:
    """Return the cores of a package by die, which is by L3 cache."""
    return [group for node in _populated(machine, package) for group in node.core_groups]


def apic_layout(machine: Machine) -> ApicLayout:
    """Return a layout with room for the PUs of the machine. Each of several dies of a package has
    room for two PUs or more: Linux takes a processor that announces one PU for a package of its
    own."""
    by_package = [_dies(machine, package) for package in range(machine.packages)]
    dies = max(map(len, by_package))
    cores = max(len(die) for found in by_package for die in found)
    threads = machine.threads_per_core.most
    if dies > 1 and cores == threads == 1:
        cores = 2
    return ApicLayout(machine.packages, dies, cores, threads)


def highest_apic_id(machine: Machine) -> int:
    """Return the highest APIC id that QEMU gives out, to a PU or an empty slot."""
    shape = apic_layout(machine)
    last = Position(shape.packages - 1, shape.dies - 1, shape.cores - 1, shape.threads - 1)
    return shape.apic_id(last)


def positions(machine: Machine) -> dict[int, Position]:
    """Return each PU's position, by Linux's number."""
    by_pu: dict[int, Position] = {}
    for package in range(machine.packages):
        for die, group in enumerate(_dies(machine, package)):
            for number, core in enumerate(group):
                for thread, pu in enumerate(core.pus):
                    by_pu[pu] = Position(package, die, number, thread)
    return by_pu


def apic_ids(machine: Machine) -> list[int]:
    """Return the APIC ids in the order of Linux's PU numbers."""
    shape, at = apic_layout(machine), positions(machine)
    return [shape.apic_id(at[pu]) for pu in range(machine.pus)]


def _empty_slots(machine: Machine) -> dict[Position, int]:
    """Return the positions without a PU, as of a processor that is sold with fewer cores than its
    dies have, and the NUMA node that would have it."""
    shape, taken = apic_layout(machine), set(positions(machine).values())
    found: dict[Position, int] = {}
    for package in range(machine.packages):
        nodes = [n.number for n in _populated(machine, package) for _ in n.core_groups]
        nodes += [nodes[-1]] * (shape.dies - len(nodes))
        for die, node in enumerate(nodes):
            for core in range(shape.cores):
                for thread in range(shape.threads):
                    slot = Position(package, die, core, thread)
                    if slot not in taken:
                        found[slot] = node
    return found


def processor_numbers(machine: Machine) -> list[int]:
    """Return ACPI's numbers of the PUs, in the order of Linux's: the rank among all slots in the
    order of their APIC ids, as QEMU's own tables have it."""
    shape, ids = apic_layout(machine), apic_ids(machine)
    slots = sorted([*ids, *(shape.apic_id(slot) for slot in _empty_slots(machine))])
    return [slots.index(apic_id) for apic_id in ids]


def lists_nodes_in_order(machine: Machine) -> bool:
    """Tell whether QEMU's tables, which go by package and end with memory, have the NUMA nodes in
    the order of their numbers."""
    nodes = [n.number for p in range(machine.packages) for n in _populated(machine, p)]
    nodes += [node.number for node in machine.numa_nodes if not node.cores]
    return nodes == sorted(nodes)


def apic_ids_of_nodes(machine: Machine) -> list[list[int]]:
    ids = apic_ids(machine)
    return [[ids[pu] for pu in node.pus] for node in machine.numa_nodes]


def needs_physical_ids(machine: Machine) -> bool:
    """Tell whether Linux may not send interrupts by logical ids, as it does with 8 processors or
    fewer: emulated QEMU looks for their targets in the order of APIC ids up to the first one that
    nobody has (hw/intc/apic.c, apic_get_delivery_bitmask). Those behind it wake up seconds late."""
    return machine.pus <= FLAT_PUS and bool(_empty_slots(machine))


def kernel_command_line(
    accelerator: Accelerator, tsc_khz: int, is_by_physical_ids: bool = False
) -> str:
    """Return Linux's command line.

    console: for what goes wrong; idle=halt and no checks of the clock: they cost much under
    emulation; numa_balancing: it would move pages while they are observed.

    maxcpus=1: the guest brings its other processors up itself, once it has booted. While it
    boots Linux patches its own code; before QEMU 8.1 a processor that translates such a
    place just then may keep what is no longer there, and all of them hang there for ever.
    """
    words = [
        "console=ttyS0", "quiet", "panic=-1", "mitigations=off", "no_timer_check",
        "cryptomgr.notests", "numa_balancing=disable",
    ]  # fmt: skip
    if accelerator == "tcg":
        words += ["tsc=reliable", "idle=halt"]
        if tsc_khz:
            # Loops per jiffy at 250 Hz, instead of measuring it while others run.
            words += [f"tsc_early_khz={tsc_khz}", f"lpj={4 * tsc_khz}"]
        words.append("maxcpus=1")
        if is_by_physical_ids:
            words.append(f"possible_cpus={FLAT_PUS + 1}")  # more than logical ids are for
    return " ".join(words)


@dataclass(frozen=True)
class Devices:
    """File descriptors that QEMU inherits, and the folders that it shares with the guest: (folder,
    whether the guest may write to it), at most SHARES. link: of a cluster's node."""

    initrd: int
    channel: int
    monitor: int
    shares: Sequence[tuple[str, bool]]
    link: int | None = None


def share_tag(number: int) -> str:
    return f"share{number}"


def _comma(path: str) -> str:
    """Write a path with QEMU's form of a comma within an option."""
    return path.replace(",", ",,")


def _where(machine: Machine, position: Position) -> str:
    """Return a position as QEMU's options have it; with a single die QEMU refuses its number."""
    die = f"die-id={position.die}," if apic_layout(machine).dies > 1 else ""
    return f"socket-id={position.package},{die}core-id={position.core},thread-id={position.thread}"


def _processor_options(machine: Machine) -> list[str]:
    """Return the options of processors: all slots filled, or PU 0 and then each, since QEMU itself
    would fill the first slots."""
    shape = apic_layout(machine)
    layout = (
        f"sockets={shape.packages},dies={shape.dies},cores={shape.cores},threads={shape.threads}"
    )
    empty = len(_empty_slots(machine))
    if not empty:
        return ["-smp", f"{machine.pus},{layout}"]
    options = ["-smp", f"1,maxcpus={machine.pus + empty},{layout}"]
    at = positions(machine)
    for pu in range(1, machine.pus):
        options += ["-device", f"{PROCESSOR_TYPE}-x86_64-cpu,{_where(machine, at[pu])}"]
    return options


def has_hmat(machine: Machine) -> bool:
    """Tell whether ACPI announces how fast memory is: of all or of none (machine_file.py)."""
    return machine.numa_nodes[0].peak_gb_s is not None


def _initiator(machine: Machine, node: NumaNode) -> int:
    """Return the NUMA node with processors that a memory is attached to: its own, or one of its
    package, over which memories without processors are spread in order."""
    if node.cores:
        return node.number
    memories = [n for n in machine.nodes_of(node.package) if not n.cores]
    populated = _populated(machine, node.package)
    return populated[memories.index(node) * len(populated) // len(memories)].number


def _hmat_options(machine: Machine) -> list[str]:
    """Return the bandwidth of each memory for the processors of its package: Linux reports nothing
    farther away."""
    options = []
    for node in machine.numa_nodes:
        for source in _populated(machine, node.package):
            options += [
                "-numa",
                f"hmat-lb,initiator={source.number},target={node.number},hierarchy=memory,"
                f"data-type=access-bandwidth,bandwidth={node.peak_gb_s}G",
            ]  # fmt: skip
    return options


def _numa_options(machine: Machine, node_memory_mib: int) -> list[str]:
    def initiator(node: NumaNode) -> str:
        return f",initiator={_initiator(machine, node)}" if has_hmat(machine) else ""

    options = []
    sizes_mib = machine.guest_memory_mib(node_memory_mib)
    for node, size_mib in zip(machine.numa_nodes, sizes_mib, strict=True):
        memory = f"m{node.number}"
        if size_mib == 0:
            options += ["-numa", f"node,nodeid={node.number}"]
            continue
        options += [
            "-object", f"memory-backend-ram,id={memory},size={size_mib}M",
            "-numa", f"node,nodeid={node.number},memdev={memory}{initiator(node)}",
        ]  # fmt: skip
    at = positions(machine)
    slots = [(at[pu], node.number) for node in machine.numa_nodes for pu in node.pus]
    for slot, number in (*slots, *_empty_slots(machine).items()):
        options += ["-numa", f"cpu,node-id={number},{_where(machine, slot)}"]
    if len(machine.numa_nodes) > 1:
        for source, row in enumerate(machine.guest_distances()):
            for target, value in enumerate(row):
                options += ["-numa", f"dist,src={source},dst={target},val={value}"]
    return options + (_hmat_options(machine) if has_hmat(machine) else [])


def _card_options(card: Card | None, link: int | None) -> list[str]:
    """Return the options of a cluster node's card. It has an address of QEMU's until its node gives
    it its own, so one snapshot serves all nodes. Without romfile QEMU would try to boot from the
    network."""
    if card is None or link is None:
        return []
    return [
        "-netdev", f"dgram,id=link,local.type=fd,local.str={link}",
        "-device", f"{CARDS[card].device},netdev=link,romfile=",
        "-global", "migration.announce-rounds=0",
    ]  # fmt: skip


def command_line(
    qemu: str,
    machine: Machine,
    node_memory_mib: int,
    accelerator: Accelerator,
    image: str,
    is_pvh: bool,
    kernel_words: str,
    devices: Devices,
    snapshot: int | None = None,
    card: Card | None = None,
) -> list[str]:
    """Return QEMU's command. snapshot: descriptor of a snapshot to go on from, instead of booting;
    card: of a cluster's node."""
    command = [
        qemu,
        "-name", machine.name,
        "-machine",
        "q35,hpet=off,smm=off,sata=off,usb=off,vmport=off,smbus=off"
        + (",hmat=on" if has_hmat(machine) else ""),
        "-accel", "kvm" if accelerator == "kvm" else "tcg,thread=multi",
        "-cpu", PROCESSOR_MODEL,
        "-m", f"{sum(machine.guest_memory_mib(node_memory_mib))}M",
        *_processor_options(machine),
        *_numa_options(machine, node_memory_mib),
        "-kernel", image,
        "-initrd", f"/proc/self/fd/{devices.initrd}",
        "-append", kernel_words,
        "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-nic", "none",
        "-serial", "stdio",
        "-chardev", f"socket,id=monitor,fd={devices.monitor}",
        "-mon", "chardev=monitor,mode=control",
        "-device", "virtio-serial-pci",
        "-chardev", f"socket,id=channel,fd={devices.channel}",
        "-device", f"virtserialport,chardev=channel,name={PORT}",
    ]  # fmt: skip
    for number, (folder, writable) in enumerate(devices.shares):
        readonly = "off" if writable else "on"
        command += [
            "-fsdev",
            f"local,id={share_tag(number)},path={_comma(folder)},security_model=none,"
            f"readonly={readonly},multidevs=remap",
            "-device", f"virtio-9p-pci,fsdev={share_tag(number)},mount_tag={share_tag(number)}",
        ]  # fmt: skip
    command += _card_options(card, devices.link)
    if is_pvh:
        command += ["-bios", "qboot.rom"]
    if snapshot is not None:
        command += ["-incoming", f"fd:{snapshot}"]
    return command
