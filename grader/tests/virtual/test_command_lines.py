"""QEMU's command line and Linux's, whole, and how each machine of the gallery fits into them."""

from __future__ import annotations

import pytest
from support.qemu_peers import TWO_NODES, machine_of

from numalab.installation import find_installation
from numalab.machines.gallery import gallery_folder, load_gallery
from numalab.machines.machine import Machine
from numalab.virtual import plan, qemu

GALLERY = load_gallery(gallery_folder(find_installation("gnu")))

# Of two packages, the second one with a memory before its processor; three cores, one of two
# threads, leave four places empty.
UNLIKE = """\
name = "pair"
title = "Unlike"
source = "me"
distances = [[10, 20, 21], [20, 10, 12], [21, 12, 10]]
[[numa_node]]
package = 0
peak_gb_s = 100
[[numa_node.cores]]
pus = ["0", "1"]
[[numa_node.cores]]
pus = ["2"]
[[numa_node]]
package = 1
peak_gb_s = 400
pus = []
[[numa_node]]
package = 1
peak_gb_s = 100
pus = ["3"]
"""


def options(words: list[str]) -> list[tuple[str, str]]:
    """All options but the first and those that stand alone, with what each is given."""
    pairs = [words[at : at + 2] for at in range(len(words) - 1) if words[at].startswith("-")]
    return [(name, value) for name, value in pairs if not value.startswith("-")]


def test_a_command_line_with_all_that_there_is() -> None:
    devices = qemu.Devices(3, 4, 5, [("/a,b", True), ("/c", False)], 6)
    words = qemu.command_line(
        "qemu", machine_of(UNLIKE), 256, "kvm", "/k", False, "quiet x", devices, 7, "e1000"
    )
    rate = "hierarchy=memory,data-type=access-bandwidth,bandwidth"
    numa = [
        "cpu,node-id=0,socket-id=0,core-id=0,thread-id=0",
        "cpu,node-id=0,socket-id=0,core-id=0,thread-id=1",
        "cpu,node-id=0,socket-id=0,core-id=1,thread-id=0",
        "cpu,node-id=2,socket-id=1,core-id=0,thread-id=0",
        # And where nobody is.
        "cpu,node-id=0,socket-id=0,core-id=1,thread-id=1",
        "cpu,node-id=2,socket-id=1,core-id=0,thread-id=1",
        "cpu,node-id=2,socket-id=1,core-id=1,thread-id=0",
        "cpu,node-id=2,socket-id=1,core-id=1,thread-id=1",
        "dist,src=0,dst=0,val=10", "dist,src=0,dst=1,val=20", "dist,src=0,dst=2,val=21",
        "dist,src=1,dst=0,val=20", "dist,src=1,dst=1,val=10", "dist,src=1,dst=2,val=12",
        "dist,src=2,dst=0,val=21", "dist,src=2,dst=1,val=12", "dist,src=2,dst=2,val=10",
        f"hmat-lb,initiator=0,target=0,{rate}=100G",
        f"hmat-lb,initiator=2,target=1,{rate}=400G",
        f"hmat-lb,initiator=2,target=2,{rate}=100G",
    ]  # fmt: skip
    assert words[0] == "qemu" and options(words) == [
        ("-name", "pair"),
        ("-machine", "q35,hpet=off,smm=off,sata=off,usb=off,vmport=off,smbus=off,hmat=on"),
        ("-accel", "kvm"),
        ("-cpu", "max,vendor=GenuineIntel,family=6,model=85,stepping=7,level=0xd"),
        ("-m", "768M"),
        ("-smp", "1,maxcpus=8,sockets=2,dies=1,cores=2,threads=2"),
        ("-device", "max-x86_64-cpu,socket-id=0,core-id=0,thread-id=1"),
        ("-device", "max-x86_64-cpu,socket-id=0,core-id=1,thread-id=0"),
        ("-device", "max-x86_64-cpu,socket-id=1,core-id=0,thread-id=0"),
        ("-object", "memory-backend-ram,id=m0,size=256M"),
        ("-numa", "node,nodeid=0,memdev=m0,initiator=0"),
        ("-object", "memory-backend-ram,id=m1,size=256M"),
        ("-numa", "node,nodeid=1,memdev=m1,initiator=2"),
        ("-object", "memory-backend-ram,id=m2,size=256M"),
        ("-numa", "node,nodeid=2,memdev=m2,initiator=2"),
        *(("-numa", value) for value in numa),
        ("-kernel", "/k"), ("-initrd", "/proc/self/fd/3"), ("-append", "quiet x"),
        ("-display", "none"), ("-nic", "none"), ("-serial", "stdio"),
        ("-chardev", "socket,id=monitor,fd=5"), ("-mon", "chardev=monitor,mode=control"),
        ("-device", "virtio-serial-pci"), ("-chardev", "socket,id=channel,fd=4"),
        ("-device", "virtserialport,chardev=channel,name=numalab"),
        ("-fsdev",
         "local,id=share0,path=/a,,b,security_model=none,readonly=off,multidevs=remap"),
        ("-device", "virtio-9p-pci,fsdev=share0,mount_tag=share0"),
        ("-fsdev", "local,id=share1,path=/c,security_model=none,readonly=on,multidevs=remap"),
        ("-device", "virtio-9p-pci,fsdev=share1,mount_tag=share1"),
        ("-netdev", "dgram,id=link,local.type=fd,local.str=6"),
        ("-device", "e1000,netdev=link,romfile="),
        ("-global", "migration.announce-rounds=0"),
        ("-incoming", "fd:7"),
    ]  # fmt: skip
    assert {"-nodefaults", "-no-user-config", "-no-reboot"} < set(words)


def test_a_command_line_with_as_little_as_there_is() -> None:
    """Of one NUMA node there is no distance, and where no place is empty QEMU fills them."""
    text = TWO_NODES.partition("[[numa_node]]\npackage = 1")[0]
    words = qemu.command_line(
        "qemu", machine_of(text), 256, "tcg", "/k", True, "", qemu.Devices(3, 4, 5, [], 6)
    )
    told = options(words)
    assert [value for name, value in told if name in ("-numa", "-object", "-smp", "-m")] == [
        "256M", "2,sockets=1,dies=1,cores=2,threads=1", "memory-backend-ram,id=m0,size=256M",
        "node,nodeid=0,memdev=m0", "cpu,node-id=0,socket-id=0,core-id=0,thread-id=0",
        "cpu,node-id=0,socket-id=0,core-id=1,thread-id=0",
    ]  # fmt: skip
    assert ("-accel", "tcg,thread=multi") in told
    assert words[-2:] == ["-bios", "qboot.rom"], "neither a card without its kind, nor a state"
    assert "hmat" not in " ".join(words) and "-netdev" not in words
    alone = qemu.Devices(3, 4, 5, [])
    assert "-netdev" not in qemu.command_line(
        "qemu", machine_of(text), 256, "tcg", "/k", True, "", alone, card="e1000"
    )


def test_processors_without_memory_have_a_numa_node_of_no_size() -> None:
    text = TWO_NODES.replace("package = 1", "package = 1\nmemory_mb = 0")
    machine = machine_of(text)
    words = qemu.command_line(
        "qemu", machine, 256, "tcg", "/k", True, "", qemu.Devices(3, 4, 5, [])
    )
    numa = [value for name, value in options(words) if name == "-numa" and "node," in value]
    assert numa == ["node,nodeid=0,memdev=m0", "node,nodeid=1"]
    assert words[words.index("-m") + 1] == "256M" and words.count("-object") == 1
    assert [value for name, value in options(words) if value.startswith("dist")] == [
        "dist,src=0,dst=0,val=10", "dist,src=0,dst=1,val=20",
        "dist,src=1,dst=0,val=20", "dist,src=1,dst=1,val=10",
    ]  # fmt: skip


def test_qemu_has_numa_nodes_by_package_and_memory_last() -> None:
    assert qemu.lists_nodes_in_order(machine_of())
    assert qemu.lists_nodes_in_order(
        machine_of(f"{TWO_NODES}[[numa_node]]\npackage = 0\npus = []\n")
    )
    assert not qemu.lists_nodes_in_order(machine_of(UNLIKE))


def test_numbers_of_processors_go_by_places() -> None:
    """Of 2 x 2 x 2 places the processors are 0, 1, 2 and 4."""
    machine = machine_of(UNLIKE)
    assert qemu.apic_ids(machine) == [0, 1, 2, 4] == qemu.processor_numbers(machine)
    assert qemu.apic_ids_of_nodes(machine) == [[0, 1, 2], [], [4]]
    three = machine_of(TWO_NODES.replace("0-1", "0-2").replace("2-3", "3-5"))
    # Three cores have fields of two bits.
    assert qemu.apic_ids(three) == [0, 1, 2, 4, 5, 6]
    assert qemu.processor_numbers(three) == [0, 1, 2, 3, 4, 5]


def test_packages_have_room_for_as_many_dies_each() -> None:
    """Of 2 x 2 x 2 places the second package has two; the others are of its NUMA node."""
    machine = machine_of(
        TWO_NODES.replace('pus = ["0-1"]', 'pus = ["0-3"]\nl3_groups = 2').replace("2-3", "4-5")
    )
    assert qemu.apic_layout(machine) == qemu.ApicLayout(2, 2, 2, 1)
    assert qemu.apic_ids(machine) == [0, 1, 2, 3, 4, 5]
    assert qemu.positions(machine)[3] == qemu.Position(0, 1, 1, 0)
    slots = {qemu.Position(1, 1, core, 0): 1 for core in (0, 1)}
    assert qemu._empty_slots(machine) == slots
    words = qemu.command_line(
        "qemu", machine, 256, "tcg", "/k", True, "", qemu.Devices(3, 4, 5, [])
    )
    assert ("-smp", "1,maxcpus=8,sockets=2,dies=2,cores=2,threads=1") in options(words)
    assert "cpu,node-id=1,socket-id=1,die-id=1,core-id=1,thread-id=0" in words


@pytest.mark.parametrize(
    ("cores", "threads", "room"),
    [(1, 1, (2, 1)), (1, 2, (1, 2)), (2, 1, (2, 1)), (2, 2, (2, 2)), (3, 3, (3, 3))],
)
def test_one_of_several_dies_has_room_for_two_pus(
    cores: int, threads: int, room: tuple[int, int]
) -> None:
    total = 2 * cores
    lists = ", ".join(f'"{n * total}-{n * total + total - 1}"' for n in range(threads))
    text = TWO_NODES.partition("[[numa_node]]\npackage = 1")[0].replace(
        '"0-1"]', f"{lists}]\nl3_groups = 2"
    )
    assert qemu.apic_layout(machine_of(text)) == qemu.ApicLayout(1, 2, *room)
    one = machine_of(text.replace("l3_groups = 2", "l3_groups = 1"))
    assert qemu.apic_layout(one) == qemu.ApicLayout(1, 1, total, threads)


@pytest.mark.parametrize(
    ("last", "needs"), [("3", True), ("3-7", True), ("3-8", False)]
)  # fmt: skip
def test_eight_processors_with_empty_places_go_by_physical_ids(last: str, needs: bool) -> None:
    assert qemu.needs_physical_ids(machine_of(UNLIKE.replace('"3"', f'"{last}"'))) is needs
    assert not qemu.needs_physical_ids(machine_of())


WORDS = (
    "console=ttyS0 quiet panic=-1 mitigations=off no_timer_check cryptomgr.notests "
    "numa_balancing=disable"
)


@pytest.mark.parametrize(
    ("accelerator", "tsc_khz", "by_ids", "more"),
    [
        ("kvm", 1000, True, ""),
        ("tcg", 0, False, " tsc=reliable idle=halt maxcpus=1"),
        ("tcg", 0, True, " tsc=reliable idle=halt maxcpus=1 possible_cpus=9"),
        ("tcg", 2_100_000, False,
         " tsc=reliable idle=halt tsc_early_khz=2100000 lpj=8400000 maxcpus=1"),
    ],
)  # fmt: skip
def test_words_for_the_kernel(
    accelerator: qemu.Accelerator, tsc_khz: int, by_ids: bool, more: str
) -> None:
    assert qemu.kernel_command_line(accelerator, tsc_khz, by_ids) == WORDS + more
    assert "possible_cpus" not in qemu.kernel_command_line("tcg", 1)


# ---- the gallery -----------------------------------------------------------------------------

# Packages, dies of each, cores of a die, threads of a core; the highest APIC id, in whole bits for
# each; the most cores of a NUMA node that can be booted.
LAYOUTS: dict[str, tuple[tuple[int, int, int, int], int, int]] = {
    "a64fx": ((4, 1, 12, 1), 0b11_1011, 12),
    "aurora": ((2, 1, 52, 2), 0b1_110011_1, 52),
    "cxl": ((2, 1, 52, 2), 0b1_110011_1, 52),
    "eiger": ((2, 16, 4, 2), 0b1_1111_11_1, 12),
    "elitebook": ((1, 1, 14, 2), 0b1101_1, 14),
    "genoa": ((2, 12, 8, 2), 0b1_1011_111_1, 48),
    "gh200": ((1, 1, 72, 1), 0b1000111, 72),
    "gh200x4": ((4, 1, 72, 1), 0b11_1000111, 63),
    "grace": ((2, 1, 72, 1), 0b1_1000111, 72),
    "hawk": ((2, 16, 4, 1), 0b1_1111_11, 16),
    "hydra": ((2, 1, 16, 1), 0b1_1111, 16),
    "janus": ((2, 1, 6, 1), 0b1_101, 6),
    "knl": ((1, 4, 18, 4), 0b11_10001_11, 15),
    "kunpeng": ((2, 2, 24, 1), 0b1_1_10111, 24),
    "laptop": ((1, 1, 4, 1), 0b11, 4),
    "magny-cours": ((4, 2, 6, 1), 0b11_1_101, 6),
    "nebula": ((2, 8, 4, 1), 0b1_111_11, 8),
    "nehalem-ep": ((2, 1, 4, 1), 0b1_11, 4),
    "nhm": ((2, 1, 4, 2), 0b1_11_1, 4),
    "noctua": ((2, 1, 20, 1), 0b1_10011, 20),
    "noctua2": ((2, 8, 8, 1), 0b1_111_111, 16),
    "spr": ((2, 4, 14, 2), 0b1_11_1101_1, 14),
    "tioga": ((1, 8, 8, 2), 0b111_111_1, 16),
    "turin": ((2, 16, 8, 2), 0b1_1111_111_1, 48),
    "ulna": ((2, 1, 32, 4), 0b1_11111_11, 31),
    "ulysses": ((2, 1, 10, 1), 0b1_1001, 10),
    "uv1000": ((16, 1, 8, 1), 0b1111_111, 8),
    "westmere-ep": ((2, 1, 6, 2), 0b1_101_1, 6),
    "westmere-ex": ((4, 1, 10, 2), 0b11_1001_1, 10),
    "xeon-max": ((2, 4, 12, 2), 0b1_11_1011_1, 12),
}  # fmt: skip


@pytest.mark.parametrize("machine", [pytest.param(one, id=name) for name, one in GALLERY.items()])
def test_each_machine_is_laid_out_and_booted_as_far_as_ids_reach(machine: Machine) -> None:
    shape, highest, most = LAYOUTS[machine.name]
    assert qemu.apic_layout(machine) == qemu.ApicLayout(*shape)
    assert qemu.highest_apic_id(machine) == highest
    assert plan.bootable(machine).cores_per_node.most == most
    empty = shape[0] * shape[1] * shape[2] * shape[3] - machine.pus
    assert len(qemu._empty_slots(machine)) == empty
    assert qemu.has_hmat(machine) is (machine.name in ("aurora", "cxl", "xeon-max"))
    assert qemu.lists_nodes_in_order(machine) is (machine.name != "magny-cours")
    ids = qemu.apic_ids_of_nodes(machine)
    assert sorted(id for node in ids for id in node) == sorted(qemu.apic_ids(machine))
    assert [len(node) for node in ids] == [len(node.pus) for node in machine.numa_nodes]
