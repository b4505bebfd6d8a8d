"""What virtual nodes are made of, without starting any."""

from __future__ import annotations

import stat
import struct
from pathlib import Path

import pytest

from numalab.errors import UserError
from numalab.installation import find_installation
from numalab.machines.gallery import gallery_folder, load_gallery
from numalab.machines.machine import Machine
from numalab.machines.machine_file import parse_machine
from numalab.machines.seeded import seeded_machine
from numalab.virtual import guest, guest_commands, initramfs, plan, qemu
from numalab.virtual.guest_plan import Share

GALLERY = load_gallery(gallery_folder(find_installation("gnu")))
MACHINES = [pytest.param(machine, id=name) for name, machine in GALLERY.items()]


# ---- the table of processors and the archives ----------------------------------------


def table_entries(table: bytes) -> list[tuple[int, int, int]]:
    """(uid, APIC id, flags) of the processors in an ACPI MADT."""
    found, at = [], 44
    while at < len(table):
        kind, length = table[at], table[at + 1]
        if kind == 0:
            found.append(struct.unpack_from("<BBI", table, at + 2))
        at += length
    assert at == len(table)
    return found


def test_processors_are_listed_in_the_order_of_their_numbers() -> None:
    table = initramfs.processor_table([0, 16, 1, 17], [0, 4, 1, 5])
    assert table[:4] == b"APIC"
    assert struct.unpack_from("<I", table, 4)[0] == len(table)
    assert sum(table) % 256 == 0
    assert [(apic, flags) for _, apic, flags in table_entries(table)] == [
        (0, 1), (16, 1), (1, 1), (17, 1)
    ]  # fmt: skip
    assert [uid for uid, _, _ in table_entries(table)] == [0, 4, 1, 5]


def test_the_table_replaces_qemus_own() -> None:
    table = initramfs.processor_table([0], [0])
    assert table[10:24] == b"BOCHS BXPC    "
    assert struct.unpack_from("<I", table, 24)[0] > 1  # QEMU's revision


def members(archive: bytes) -> dict[str, tuple[int, bytes]]:
    found: dict[str, tuple[int, bytes]] = {}
    at = 0
    while True:
        assert archive[at : at + 6] == b"070701"
        fields = [int(archive[at + 6 + 8 * i : at + 14 + 8 * i], 16) for i in range(13)]
        mode, size, name_size = fields[1], fields[6], fields[11]
        name = archive[at + 110 : at + 110 + name_size - 1].decode()
        at += (110 + name_size + 3) // 4 * 4
        if name == "TRAILER!!!":
            return found
        found[name] = (mode, archive[at : at + size])
        at += (size + 3) // 4 * 4


def test_archives_can_be_read_back() -> None:
    found = members(initramfs.initramfs(b"ELF", {"virtio": b"12345", "9p": b""}))
    assert found["init"] == (stat.S_IFREG | 0o755, b"ELF")
    assert found["modules/order"][1] == b"virtio.ko\n9p.ko\n"
    assert found["modules/virtio.ko"][1] == b"12345"
    assert stat.S_ISCHR(found["dev/console"][0])
    found = members(initramfs.acpi_archive({"madt": b"table"}))
    assert found["kernel/firmware/acpi/madt.aml"][1] == b"table"


# ---- QEMU's command line -------------------------------------------------------------


def test_apic_ids_have_fields_of_whole_bits() -> None:
    shape = qemu.ApicLayout(packages=2, dies=1, cores=6, threads=2)
    assert shape.apic_id(qemu.Position(0, 0, 5, 1)) == 0b0_101_1
    assert shape.apic_id(qemu.Position(1, 0, 0, 0)) == 0b1_000_0
    assert qemu.ApicLayout(2, 3, 4, 1).apic_id(qemu.Position(1, 2, 3, 0)) == 0b1_10_11


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("cores", [1, 2, 3, 100])
def test_every_pu_has_its_place(machine: Machine, cores: int) -> None:
    scaled = machine.scaled(cores)
    shape, at = qemu.apic_layout(scaled), qemu.positions(scaled)
    assert sorted(at) == list(range(scaled.pus))
    slots = shape.packages * shape.dies * shape.cores * shape.threads
    numbers = qemu.processor_numbers(scaled)
    assert len(set(numbers)) == scaled.pus and max(numbers) < slots
    # A rank in the order of APIC ids, as QEMU numbers them.
    assert [numbers.index(n) for n in sorted(numbers)] == [
        ids.index(i) for ids in [qemu.apic_ids(scaled)] for i in sorted(ids)
    ]
    assert len(set(qemu.apic_ids(scaled))) == scaled.pus
    assert qemu.apic_ids(scaled)[0] == 0  # the processor that boots is PU 0
    for pu, place in enumerate(scaled.pu_table):
        assert (at[pu].package, at[pu].thread) == (place.package, place.thread)
    # A die is what shares an L3, and one that announces a single PU would be a package to Linux.
    groups = [group for node in scaled.numa_nodes for group in node.core_groups]
    dies = {(at[pu].package, at[pu].die) for group in groups for core in group for pu in core.pus}
    assert len(dies) == len(groups)
    for group in groups:
        assert len({(at[pu].package, at[pu].die) for core in group for pu in core.pus}) == 1
    assert shape.dies == 1 or shape.cores * shape.threads > 1


def test_a_die_has_room_for_two_pus_where_one_is_in_it() -> None:
    """As on nebula, scaled down so far that each L3 has one core."""
    machine = GALLERY["nebula"].scaled(2)
    line = command_line(machine, [])
    assert line[line.index("-smp") + 1] == "1,maxcpus=32,sockets=2,dies=8,cores=2,threads=1"
    plugged = [line[i + 1] for i, word in enumerate(line) if word == "-device"]
    plugged = [words for words in plugged if words.startswith("max-x86_64-cpu,")]
    assert len(plugged) == machine.pus - 1 == 15
    assert plugged[0] == "max-x86_64-cpu,socket-id=1,die-id=0,core-id=0,thread-id=0"
    assert all("core-id=0" in words for words in plugged)
    # QEMU asks for the NUMA node of what is not there as well.
    slots = [
        line[i + 1] for i, word in enumerate(line) if word == "-numa" and "cpu," in line[i + 1]
    ]
    assert len(set(slots)) == 32
    assert "cpu,node-id=0,socket-id=0,die-id=1,core-id=1,thread-id=0" in slots
    assert max(qemu.processor_numbers(machine)) == 30


@pytest.mark.parametrize("machine", MACHINES)
def test_cpuid_ends_below_the_leaf_of_dies(machine: Machine) -> None:
    line = command_line(machine.scaled(2), [])
    assert line[line.index("-cpu") + 1].endswith(",level=0xd")


def command_line(machine: Machine, shares: list[tuple[str, bool]]) -> list[str]:
    devices = qemu.Devices(7, 8, 9, shares)
    return qemu.command_line("qemu", machine, 256, "tcg", "/k", True, "quiet", devices)


def test_command_line_has_nodes_processors_and_distances() -> None:
    line = command_line(GALLERY["hydra"].scaled(1), [])
    numa = [line[i + 1] for i, word in enumerate(line) if word == "-numa"]
    assert "cpu,node-id=0,socket-id=0,core-id=0,thread-id=0" in numa
    assert "cpu,node-id=1,socket-id=1,core-id=0,thread-id=0" in numa
    assert "dist,src=0,dst=1,val=21" in numa
    assert line[line.index("-smp") + 1] == "2,sockets=2,dies=1,cores=1,threads=1"
    assert line[line.index("-m") + 1] == "512M"


def test_firmware_tells_how_fast_memory_is_where_the_file_does() -> None:
    """For the cores of its package, and on the command line of no other machine."""
    line = command_line(GALLERY["aurora"].scaled(1), [])
    assert line[line.index("-machine") + 1].endswith(",hmat=on")
    numa = [line[i + 1] for i, word in enumerate(line) if word == "-numa"]
    assert "node,nodeid=3,memdev=m3,initiator=1" in numa
    rates = [words for words in numa if words.startswith("hmat-lb,")]
    told = "hierarchy=memory,data-type=access-bandwidth,bandwidth"
    assert sorted(rates) == [
        f"hmat-lb,initiator=0,target=0,{told}=307G",
        f"hmat-lb,initiator=0,target=2,{told}=1638G",
        f"hmat-lb,initiator=1,target=1,{told}=307G",
        f"hmat-lb,initiator=1,target=3,{told}=1638G",
    ]
    assert not any("hmat" in word for word in command_line(GALLERY["nebula"].scaled(1), []))


def test_memory_without_cores_is_beside_those_of_its_package_in_order() -> None:
    line = command_line(GALLERY["xeon-max"].scaled(1), [])
    numa = [line[i + 1] for i, word in enumerate(line) if word == "-numa"]
    for node in range(8):
        assert f"node,nodeid={node + 8},memdev=m{node + 8},initiator={node}" in numa


def test_more_memory_only_nodes_than_those_with_cores_are_dealt_in_blocks() -> None:
    """Neighbours in order are beside the same one."""
    cores = "".join(
        f"[[numa_node]]\npackage = 0\npeak_gb_s = 300\npus = ['{n}']\n" for n in range(2)
    )
    machine = parse_machine(
        'name = "x"\ntitle = "x"\nsource = "x"\n'
        + cores
        + "[[numa_node]]\npackage = 0\npeak_gb_s = 900\npus = []\n" * 4,
        Path("x.toml"),
    )
    line = command_line(machine, [])
    for node, beside in {2: 0, 3: 0, 4: 1, 5: 1}.items():
        assert f"node,nodeid={node},memdev=m{node},initiator={beside}" in line


def test_folders_are_read_only_unless_said_and_may_hold_commas() -> None:
    line = command_line(GALLERY["laptop"], [("/a,b", False), ("/out", True)])
    fsdev = [line[i + 1] for i, word in enumerate(line) if word == "-fsdev"]
    assert "path=/a,,b," in fsdev[0] and "readonly=on" in fsdev[0]
    assert "path=/out," in fsdev[1] and "readonly=off" in fsdev[1]


def test_an_emulated_machine_raises_its_processors_itself() -> None:
    words = qemu.kernel_command_line("tcg", 2_000_000)
    assert "maxcpus=1" in words and "tsc_early_khz=2000000" in words and "lpj=8000000" in words
    assert "tsc_early" not in qemu.kernel_command_line("tcg", 0)
    assert "maxcpus" not in qemu.kernel_command_line("kvm", 2_000_000)


# ---- what is decided before a start --------------------------------------------------


@pytest.mark.parametrize(
    ("name", "cores", "pus"),
    [("hydra", 2, 8), ("nebula", 2, 16), ("uv1000", 2, 32), ("westmere-ex", 2, 16),
     ("laptop", 2, 4), ("nhm", 2, 8), ("hydra", 16, 32), ("nebula", 16, 64)],
)  # fmt: skip
def test_scale_follows_the_host(name: str, cores: int, pus: int) -> None:
    assert plan.scale(GALLERY[name], plan.GuestOptions(), cores, "tcg").pus == pus


def test_scale_follows_the_options() -> None:
    uv1000 = GALLERY["uv1000"]
    assert plan.scale(uv1000, plan.GuestOptions(full=True), 2, "tcg") is uv1000
    assert plan.scale(uv1000, plan.GuestOptions(cores_per_node=4), 2, "tcg").pus == 64
    assert plan.scale(uv1000, plan.GuestOptions(), 8, "kvm").pus == 128


def large(packages: int, nodes: int, cores: int, threads: int) -> Machine:
    """Siblings last; made up."""
    total = packages * nodes * cores
    text = 'name = "large"\ntitle = "Large"\nsource = "me"\n'
    for number in range(packages * nodes):
        ends = [number * cores + thread * total for thread in range(threads)]
        lists = ", ".join(f'"{first}-{first + cores - 1}"' for first in ends)
        text += f"[[numa_node]]\npackage = {number // nodes}\npus = [{lists}]\n"
    return parse_machine(text, Path("large.toml"))


@pytest.mark.parametrize(
    ("shape", "most"),
    [
        # Ids have whole bits for each level: 2 packages x 4 x 16 cores x 2 are all of 0 to 255,
        # of which the last means all processors.
        ((2, 4, 16, 2), (15, 240)), ((2, 1, 96, 2), (63, 252)), ((2, 4, 32, 2), (15, 240)),
        ((3, 1, 80, 1), (64, 192)), ((1, 1, 255, 1), (255, 255)),
    ],
)  # fmt: skip
def test_what_is_too_large_to_boot_whole(
    shape: tuple[int, int, int, int], most: tuple[int, int]
) -> None:
    machine = large(*shape)
    largest = plan.bootable(machine)
    assert (largest.cores_per_node.most, largest.pus) == most
    assert max(qemu.apic_ids(largest)) <= qemu.HIGHEST_APIC_ID
    full, few = plan.GuestOptions(full=True), plan.GuestOptions(cores_per_node=2)
    assert plan.scale(machine, plan.GuestOptions(), 1000, "kvm").pus == largest.pus
    assert plan.scale(machine, few, 2, "tcg").cores_per_node.most == 2
    if largest is machine:
        assert plan.scale(machine, full, 2, "tcg") is machine
        return
    with pytest.raises(UserError, match=rf"--full: .* is --cores {most[0]} \({most[1]} PUs of"):
        plan.scale(machine, full, 2, "tcg")
    more = plan.GuestOptions(cores_per_node=most[0] + 1)
    with pytest.raises(UserError, match=rf"--cores {most[0] + 1}: "):
        plan.scale(machine, more, 2, "tcg")


def test_what_no_part_can_be_booted_of_is_refused() -> None:
    with pytest.raises(UserError, match="129 NUMA nodes, and QEMU boots 128"):
        plan.scale(large(129, 1, 1, 1), plan.GuestOptions(), 2, "tcg")
    with pytest.raises(UserError, match="512 PUs with one core per NUMA node"):
        plan.scale(large(128, 1, 2, 4), plan.GuestOptions(), 2, "tcg")


UNLIKE = """\
name = "unlike"
title = "Unlike"
source = "me"
[[numa_node]]
package = 0
[[numa_node.cores]]
pus = ["0", "1"]
[[numa_node.cores]]
pus = ["2-3"]
[[numa_node]]
package = 1
pus = []
[[numa_node]]
package = 1
pus = ["4-5"]
"""


def test_unlike_cores_leave_places_empty() -> None:
    """Three cores with room for two threads each, in two packages."""
    machine = parse_machine(UNLIKE, Path("unlike.toml"))
    assert qemu.apic_ids(machine) == [0, 1, 2, 4, 8, 10]
    options = qemu.command_line(
        "qemu", machine, 256, "tcg", "vmlinuz", False, "", qemu.Devices(0, 0, 0, [])
    )
    assert "1,maxcpus=12,sockets=2,dies=1,cores=3,threads=2" in options
    plugged = [option for option in options if option.startswith("max-x86_64-cpu")]
    assert len(plugged) == machine.pus - 1
    assert plugged[-1].endswith("socket-id=1,core-id=1,thread-id=0")
    nodes = [option for option in options if option.startswith("cpu,node-id=")]
    assert len(nodes) == 12 and sum(option.startswith("cpu,node-id=2,") for option in nodes) == 6
    assert not qemu.lists_nodes_in_order(machine), "one of memory only would come last"
    assert qemu.needs_physical_ids(machine)
    assert "possible_cpus=9" in qemu.kernel_command_line("tcg", 0, True)
    assert not qemu.needs_physical_ids(large(1, 2, 4, 1)) and not qemu.needs_physical_ids(
        parse_machine(UNLIKE.replace("4-5", "4-10"), Path("unlike.toml"))
    )


def test_nodes_of_memory_only_are_numbered_by_a_processor_that_nobody_is() -> None:
    machine = parse_machine(UNLIKE, Path("unlike.toml"))
    table = initramfs.affinity_table(qemu.apic_ids_of_nodes(machine), [1 << 28] * 3)
    assert sum(table) % 256 == 0
    processors, at = [], 48
    while at < len(table):
        if table[at] == 0:
            processors.append((table[at + 2], table[at + 3]))
        at += table[at + 1]
    assert [node for node, _ in processors] == [0, 0, 0, 0, 1, 2, 2]
    assert processors[4] == (1, initramfs.NOBODY)
    assert initramfs.NOBODY > qemu.HIGHEST_APIC_ID


def test_memory_is_what_is_free_or_the_machine_is_refused() -> None:
    hydra = GALLERY["hydra"]
    assert plan.node_memory_mib(hydra, plan.GuestOptions(), 20_000) == plan.NODE_MEMORY_MIB
    assert plan.node_memory_mib(hydra, plan.GuestOptions(), 900) == 192
    with pytest.raises(UserError, match=r"hydra with 2 NUMA nodes needs 620 MiB.*500 MiB"):
        plan.node_memory_mib(hydra, plan.GuestOptions(), 500)
    with pytest.raises(UserError, match="8492 MiB"):
        plan.node_memory_mib(hydra, plan.GuestOptions(node_memory_mib=4096), 8_000)
    with pytest.raises(UserError, match="--node-memory 8"):
        plan.node_memory_mib(hydra, plan.GuestOptions(node_memory_mib=8), 8_000)


def test_a_machine_made_from_a_seed_is_booted_whole_with_its_memory_or_refused() -> None:
    made = seeded_machine(489)
    assert plan.scale(made, plan.GuestOptions(), 1, "tcg") is made
    assert made.guest_memory_mib(256) == (160, 160, 160, 256, 352, 224)
    assert plan.node_memory_mib(made, plan.GuestOptions(), 20_000) == 160
    for free_mib, options, told in (
        (20_000, plan.GuestOptions(node_memory_mib=512), "--node-memory"),
        (1_500, plan.GuestOptions(), "needs 1612 MiB, more than 80%"),
    ):
        with pytest.raises(UserError, match=told):
            plan.node_memory_mib(made, options, free_mib)
    with pytest.raises(UserError, match="--cores"):
        plan.scale(made, plan.GuestOptions(cores_per_node=2), 1, "tcg")


def test_what_is_smaller_is_said() -> None:
    note = plan.scaling_note(GALLERY["hydra"].scaled(4), 256)
    assert "4 of 16 cores per NUMA node (8 PUs), 256 MiB" in note


def test_the_writable_folder_wins_over_the_same_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/u")
    both = [Share(Path("/w/out")), Share(Path("/w/out"), writable=True)]
    assert plan.combine(both) == (both[1],)


@pytest.mark.parametrize("outer", [True, False])
def test_a_folder_that_changes_is_shared_beside_one_that_does_not(
    monkeypatch: pytest.MonkeyPatch, outer: bool
) -> None:
    """Within a folder that the guest caches, what changes would be read once only."""
    monkeypatch.setenv("HOME", "/home/u")
    shares = [Share(Path("/w"), cached=outer), Share(Path("/w/out"), cached=not outer)]
    assert plan.combine(shares) == tuple(shares)
    alike = [Share(Path("/w"), cached=outer), Share(Path("/w/out"), cached=outer)]
    assert plan.combine(alike) == (alike[0],)


def test_a_home_among_the_programs_is_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert Path("/usr") in plan.toolchain_folders()
    monkeypatch.setenv("HOME", "/usr/home")
    assert Path("/usr") not in plan.toolchain_folders()


def test_silence_counts_from_an_unanswered_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.monotonic", lambda: 0.0)
    heart = guest._Heart()
    assert not heart.is_due(1) and not heart.has_stopped(1000)
    assert heart.is_due(1000)  # this process was stopped for long
    assert not heart.is_due(1001) and not heart.has_stopped(1001)
    assert heart.has_stopped(1000 + guest.SILENCE_LIMIT_S + 1)
    heart.beats(1002)
    assert not heart.has_stopped(5000)


def test_folders_within_others_are_not_shared_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/u")
    combined = plan.combine(
        [Share(Path("/w/in")), Share(Path("/w")), Share(Path("/w/out"), writable=True)]
    )
    assert [str(share.path) for share in combined] == ["/w", "/w/out"]
    for path in ("/home/u", "/home", "/"):
        with pytest.raises(UserError, match="home folder"):
            plan.combine([Share(Path(path))])
    assert plan.combine([Share(Path("/home/u/work"))])
    with pytest.raises(UserError, match="8 folders"):
        plan.combine([Share(Path(f"/f{number}")) for number in range(9)])


def test_the_current_folder_may_not_be_home(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(UserError, match=r"Change to a folder of its own below it"):
        guest_commands.shares_for(tmp_path, None, [])
    (tmp_path / "w").mkdir()
    assert guest_commands.shares_for(tmp_path / "w", None, []) == [Share(tmp_path / "w")]
    with pytest.raises(UserError, match=r"--share .*: there is no such folder"):
        guest_commands.shares_for(tmp_path / "w", None, [tmp_path / "none"])
    with pytest.raises(UserError, match="--results"):
        guest_commands.results_folder(Path("/proc/none"))
