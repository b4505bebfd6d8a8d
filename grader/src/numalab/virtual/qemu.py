"""QEMU's command line for a described machine. Pure functions.

Packages of the guest have slots for the same shape, dies x cores x threads; where the machine has
fewer PUs, slots stay empty. A die is one of the machine's groups of cores (core_groups), since QEMU
gives each die one L3; what a program reads from CPUID has no dies.
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
    """A kind of network card. device: for QEMU's option; module: Linux's driver."""

    device: str
    module: str


# Network cards of a cluster's nodes. Without guest_announce=off a card would send its address to
# all others once its node is woken from a snapshot.
CARDS: dict[Card, CardKind] = {
    "virtio-net": CardKind("virtio-net-pci,guest_announce=off", "virtio_net"),
    "e1000": CardKind("e1000", "e1000"),
}

# 0xFF means all processors, and more bits need an x2APIC and an interrupt remapper.
HIGHEST_APIC_ID = 0xFE
FLAT_PUS = 8  # Linux: arch/x86/kernel/apic/apic_flat_64.c
MOST_NODES = 128  # QEMU's MAX_NODES

SHARES = 8  # 9p devices; a snapshot fits only the devices that it was taken with
PORT = "numalab"

# Intel's, since AMD's models show hardware threads as cores of their own. TCG has no
# AVX-512. level: the last of CPUID's leaves, below 0x1F, in which QEMU would announce its dies. No
# processor of the gallery announces any (machines/announced.py), and an OpenMP runtime that found
# some would know more of the machine than it does on the real one.
PROCESSOR_TYPE = "max"
PROCESSOR_MODEL = f"{PROCESSOR_TYPE},vendor=GenuineIntel,family=6,model=85,stepping=7,level=0xd"


@dataclass(frozen=True)
class Position:
    """Where a PU is, as QEMU's options number it: package (QEMU's socket), die of the package, core
    of the die, and hardware thread of the core."""

    package: int
    die: int
    core: int
    thread: int


@dataclass(frozen=True)
class ApicLayout:
    """The number of slots of a guest: packages, dies of a package, cores of a die and threads of a
    core."""

    packages: int
    dies: int
    cores: int  # of a die
    threads: int

    def apic_id(self, position: Position) -> int:
        """Return the APIC id of a position, in which each of its numbers takes whole bits."""
        number = position.package
        for part, count in (
            (position.die, self.dies), (position.core, self.cores), (position.thread, self.threads)
        ):  # fmt: skip
            number = number << (count - 1).bit_length() | part
        return number


def _populated(machine: Machine, package: int) -> list[NumaNode]:
    return [node for node in machine.nodes_of(package) if node.cores]


def _dies(machine: Machine, package: int) -> list[tuple[Core, ...]]:
    """Return the cores of each die of a package, a group of cores by L3."""
    return [group for node in _populated(machine, package) for group in node.core_groups]


def apic_layout(machine: Machine) -> ApicLayout:
    """Return a layout with slots for the PUs of a machine. Where packages have several dies, each
    die has two slots or more: Linux takes a processor that announces one PU for a package of its
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
    """Return the slots without a PU, as in a processor that is sold with fewer cores than its dies
    have, and for each the NUMA node that it is counted to."""
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
    """Return the ACPI number of each PU, in the order of Linux's numbers: its rank among the APIC
    ids of all slots, as in QEMU's own tables."""
    shape, ids = apic_layout(machine), apic_ids(machine)
    slots = sorted([*ids, *(shape.apic_id(slot) for slot in _empty_slots(machine))])
    return [slots.index(apic_id) for apic_id in ids]


def lists_nodes_in_order(machine: Machine) -> bool:
    """Tell whether QEMU's tables have the NUMA nodes in the order of their numbers: they are by
    package, and those with memory only come last."""
    nodes = [n.number for p in range(machine.packages) for n in _populated(machine, p)]
    nodes += [node.number for node in machine.numa_nodes if not node.cores]
    return nodes == sorted(nodes)


def apic_ids_of_nodes(machine: Machine) -> list[list[int]]:
    """Return the APIC ids of each NUMA node's PUs; empty for one with memory only."""
    ids = apic_ids(machine)
    return [[ids[pu] for pu in node.pus] for node in machine.numa_nodes]


def needs_physical_ids(machine: Machine) -> bool:
    """Tell whether Linux has to send interrupts by physical ids. With FLAT_PUS processors or fewer
    it sends them by logical ids, and QEMU then finds targets only up to the first APIC id that no
    processor has (hw/intc/apic.c, apic_get_delivery_bitmask): those behind it wake up seconds
    late."""
    return machine.pus <= FLAT_PUS and bool(_empty_slots(machine))


def kernel_command_line(
    accelerator: Accelerator, tsc_khz: int, is_by_physical_ids: bool = False
) -> str:
    """Return Linux's command line. tsc_khz: rate of the time stamp counter; 0: unknown;
    is_by_physical_ids: what needs_physical_ids returns.

    Balancing is off, since it would move pages while they are observed. Under emulation waiting in
    a loop and checks of the clock, which cost much, are off, too.

    maxcpus=1, under emulation: the guest's first process starts the other processors, once Linux
    has booted. While it boots it patches its own code; before QEMU 8.1 a processor that translates
    such a place just then may keep the old code, and all processors hang in it.
    """
    words = [
        "console=ttyS0", "quiet", "panic=-1", "mitigations=off", "no_timer_check",
        "cryptomgr.notests", "numa_balancing=disable",
    ]  # fmt: skip
    if accelerator == "tcg":
        words += ["tsc=reliable", "idle=halt"]
        if tsc_khz:
            # Loops per jiffy at 250 Hz, which Linux would else measure while other processes run.
            words += [f"tsc_early_khz={tsc_khz}", f"lpj={4 * tsc_khz}"]
        words.append("maxcpus=1")
        if is_by_physical_ids:
            words.append(f"possible_cpus={FLAT_PUS + 1}")  # more than logical ids are for
    return " ".join(words)


@dataclass(frozen=True)
class Devices:
    """File descriptors that QEMU inherits, and shares: the folders that the guest gets, at most
    SHARES, and whether it may write to them. link: of a cluster's node; None: there is no
    cluster."""

    initrd: int
    channel: int
    monitor: int
    shares: Sequence[tuple[str, bool]]
    link: int | None = None


def share_tag(number: int) -> str:
    """Return the 9p mount tag of a share, by its index."""
    return f"share{number}"


def _where(machine: Machine, position: Position) -> str:
    """Return a position in the form of QEMU's options; a single die's number would be refused."""
    die = f"die-id={position.die}," if apic_layout(machine).dies > 1 else ""
    return f"socket-id={position.package},{die}core-id={position.core},thread-id={position.thread}"


def _processor_options(machine: Machine) -> list[str]:
    """Return the options of processors. Where slots stay empty, each PU but PU 0 has an option,
    since QEMU itself would fill the first slots."""
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
    """Tell whether firmware announces the bandwidth of memory (ACPI's HMAT), which a machine's file
    gives for all NUMA nodes or for none."""
    return machine.numa_nodes[0].peak_gb_s is not None


def _initiator(machine: Machine, node: NumaNode) -> int:
    """Return the number of the NUMA node with cores that a memory is attached to: its own, or one
    of its package; NUMA nodes with memory only are spread over these in order."""
    if node.cores:
        return node.number
    memories = [n for n in machine.nodes_of(node.package) if not n.cores]
    populated = _populated(machine, node.package)
    return populated[memories.index(node) * len(populated) // len(memories)].number


def _hmat_options(machine: Machine) -> list[str]:
    """Return the options for the bandwidth of each memory from the NUMA nodes with cores of its
    package."""
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
    """Return the options of a cluster node's network card; none where there is no cluster. It has
    an address of QEMU's until its node sets another, so one snapshot serves all nodes. An empty
    romfile keeps QEMU from booting from the network."""
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
    """Return QEMU's command. image: the path of Linux's kernel; kernel_words: its command line;
    snapshot: descriptor of one to wake from; None: boot; card: of a cluster's node, else None."""
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
        path = folder.replace(",", ",,")  # a comma would begin QEMU's next option
        command += [
            "-fsdev",
            f"local,id={share_tag(number)},path={path},security_model=none,"
            f"readonly={readonly},multidevs=remap",
            "-device", f"virtio-9p-pci,fsdev={share_tag(number)},mount_tag={share_tag(number)}",
        ]  # fmt: skip
    command += _card_options(card, devices.link)
    if is_pvh:
        command += ["-bios", "qboot.rom"]
    if snapshot is not None:
        command += ["-incoming", f"fd:{snapshot}"]
    return command
