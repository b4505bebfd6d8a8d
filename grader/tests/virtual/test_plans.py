"""What a virtual node is started from: how much of a machine, which memory, programs, folders."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.qemu_peers import TWO_NODES, machine_of, plan_of

from numalab.errors import UserError
from numalab.installation import Installation, find_installation
from numalab.machines.gallery import gallery_folder, load_gallery
from numalab.machines.machine import Machine
from numalab.machines.seeded import seeded_machine
from numalab.virtual import initramfs, kernel, local_machine, plan, qemu
from numalab.virtual.guest_plan import GuestPlan, Share
from numalab.virtual.kernel import GuestKernel
from numalab.virtual.plan import GuestOptions
from numalab.virtual.snapshots import FORMAT, key_of

GALLERY = load_gallery(gallery_folder(find_installation("gnu")))
MACHINES = [pytest.param(one, id=name) for name, one in GALLERY.items()]


# ---- how much of a machine -------------------------------------------------------------------


def has_at_most(cores: int, machine: Machine) -> bool:
    return machine.cores_per_node.most <= cores


@pytest.mark.parametrize("most", [1, 2, 7, 16])
@pytest.mark.parametrize("least", [1, 2, 20])
def test_the_largest_that_fits_is_found(least: int, most: int) -> None:
    hydra = GALLERY["hydra"]
    for limit in (0, 1, 2, 3, 6, 7, 8, 15, 16, 17):
        found = plan.largest_with(hydra, least, most, partial(has_at_most, limit))
        fitting = [cores for cores in range(least, most + 1) if cores <= limit]
        assert found.cores_per_node.most == min(max(fitting, default=least), 16)


CARRIED: tuple[tuple[qemu.Accelerator, int, int], ...] = (
    ("tcg", 1, 20), ("tcg", 2, 10), ("kvm", 1, 80)
)  # fmt: skip


@pytest.mark.parametrize("machine", MACHINES)
def test_a_node_has_as_many_pus_as_the_host_carries(machine: Machine) -> None:
    """No more cores fit, but for two of each NUMA node, which there are."""
    most = plan.bootable(machine).cores_per_node.most
    for accelerator, copies, pus in CARRIED:
        found = plan.scale(machine, GuestOptions(), 5, accelerator, copies)
        kept = found.cores_per_node.most
        assert found.pus <= pus or kept <= 2
        sizes = (machine.scaled(cores) for cores in range(kept + 1, most + 1))
        more = next((one for one in sizes if one.cores_per_node.most > kept), None)
        assert more is None or more.pus > pus
        assert kept >= min(2, machine.cores_per_node.most)


def test_one_with_a_single_core_per_numa_node_is_shown() -> None:
    text = TWO_NODES.replace("0-1", "0").replace("2-3", "1")
    machine = machine_of(text)
    assert plan.scale(machine, GuestOptions(), 1, "tcg") is machine


def test_as_many_numa_nodes_are_shown_as_qemu_has() -> None:
    text = 'name = "pair"\ntitle = "Many"\nsource = "me"\n' + "".join(
        f'[[numa_node]]\npackage = {number}\npus = ["{number}"]\n' for number in range(128)
    )
    machine = machine_of(text)
    assert plan.bootable(machine) is machine
    more = machine_of(f'{text}[[numa_node]]\npackage = 128\npus = ["128"]\n')
    with pytest.raises(UserError, match=r"^pair has 129 NUMA nodes, and QEMU boots 128 at most; "):
        plan.bootable(more)


def test_what_is_asked_for_is_taken_where_it_can_be_booted() -> None:
    eiger = GALLERY["eiger"]
    assert plan.scale(eiger, GuestOptions(cores_per_node=12), 1, "tcg").pus == 8 * 12 * 2
    for options, says in (
        (GuestOptions(cores_per_node=13), "--cores 13: "),
        (GuestOptions(full=True), "--full: "),
    ):
        with pytest.raises(UserError) as told:
            plan.scale(eiger, options, 1, "tcg")
        assert str(told.value) == (
            f"{says}a virtual node has 255 PUs at most, counting places that QEMU keeps empty; of "
            "eiger that is --cores 12 (192 PUs of 256)"
        )
    hydra = GALLERY["hydra"]
    assert plan.scale(hydra, GuestOptions(cores_per_node=99), 1, "tcg") is hydra
    assert plan.scale(hydra, GuestOptions(full=True), 1, "tcg") is hydra


# ---- memory ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("free_mib", "copies", "mib"),
    [
        # 80 % of it, by the copies, less 300 MiB of QEMU, by two NUMA nodes, in steps of 32 MiB.
        (100_000, 1, 256), (1015, 1, 256), (1014, 1, 224), (935, 1, 224), (934, 1, 192),
        (775, 1, 160), (2030, 2, 256), (2029, 2, 224), (1550, 2, 160),
    ],
)  # fmt: skip
def test_memory_is_a_part_of_what_is_free(free_mib: int, copies: int, mib: int) -> None:
    assert plan.node_memory_mib(machine_of(), GuestOptions(), free_mib, copies) == mib


@pytest.mark.parametrize(
    ("asked", "free_mib", "copies", "needs"),
    [
        (None, 774, 1, "pair with 2 NUMA nodes needs 620 MiB, more than 80% of the 774 MiB"),
        (None, 1549, 2, "2 times pair with 2 NUMA nodes needs 1240 MiB, more than 80% of the 1549"),
        (1024, 2934, 1, "pair with 2 NUMA nodes needs 2348 MiB, more than 80% of the 2934 MiB"),
    ],
)
def test_too_little_memory_is_told(
    asked: int | None, free_mib: int, copies: int, needs: str
) -> None:
    options = GuestOptions(node_memory_mib=asked)
    with pytest.raises(UserError) as told:
        plan.node_memory_mib(machine_of(), options, free_mib, copies)
    said = str(told.value)
    assert said.startswith(needs)
    assert ("take fewer nodes" in said) is (copies > 1)


def test_memory_that_is_asked_for_is_taken_from_the_least_on() -> None:
    machine = machine_of()
    for asked, free_mib in ((160, 20_000), (1024, 2935), (1000, 20_000)):
        options = GuestOptions(node_memory_mib=asked)
        assert plan.node_memory_mib(machine, options, free_mib) == asked
    with pytest.raises(UserError, match=r"^--node-memory 159: Linux needs 160 MiB or more$"):
        plan.node_memory_mib(machine, GuestOptions(node_memory_mib=159), 20_000)


def test_a_numa_node_without_memory_needs_none() -> None:
    machine = machine_of(TWO_NODES.replace("package = 1", "package = 1\nmemory_mb = 0"))
    # (700 x 0.8 - 300) / 1
    assert plan.node_memory_mib(machine, GuestOptions(), 700) == 256
    assert plan.scaling_note(machine, 256) == (
        "pair, scaled down to what this host can carry: 256 MiB of memory per NUMA node, NUMA "
        "node 1 without memory"
    )


def test_a_machine_from_a_seed_needs_its_own_memory() -> None:
    made = seeded_machine(489)  # 160, 160, 160, 256, 352 and 224 MiB, and 300 of QEMU
    assert plan.node_memory_mib(made, GuestOptions(), 2015) == 160
    assert plan.node_memory_mib(made, GuestOptions(), 6045, 3) == 160
    with pytest.raises(UserError, match=r"^seeded-489 needs 1612 MiB, more than 80% of the 2014"):
        plan.node_memory_mib(made, GuestOptions(), 2014)
    with pytest.raises(UserError, match=r"^3 times seeded-489 needs 4836 MiB"):
        plan.node_memory_mib(made, GuestOptions(), 6044, 3)
    assert plan.scaling_note(made, 160) == "seeded-489, whole, with the memory of its own"


def test_what_is_smaller_is_told_whole() -> None:
    assert plan.scaling_note(GALLERY["knl"].scaled(6), 192).startswith(
        "knl, scaled down to what this host can carry: "
        f"{GALLERY['knl'].scaled(6).cores_per_node} of 16-18 cores per NUMA node ("
    )
    hydra = plan.scaling_note(GALLERY["hydra"].scaled(1), 192)
    assert hydra == (
        "hydra, scaled down to what this host can carry: 1 of 16 cores per NUMA node (2 PUs), "
        "192 MiB of memory per NUMA node"
    )
    arm = plan.scaling_note(GALLERY["kunpeng"], 192)
    assert arm.startswith("kunpeng, scaled down to what this host can carry: 192 MiB")
    assert "Arm" in arm.removeprefix(hydra)


@pytest.mark.parametrize(
    ("text", "mib"),
    [("MemTotal: 99 kB\nMemAvailable:   2097151 kB\nMemAvailable: 1 kB\n", 2047), ("", 0)],
)
def test_free_memory_is_what_linux_says(
    monkeypatch: pytest.MonkeyPatch, text: str, mib: int
) -> None:
    monkeypatch.setattr(Path, "read_text", lambda path: text if path.name == "meminfo" else "")
    assert plan.free_memory_mib() == mib


# ---- programs of the kit ---------------------------------------------------------------------

ALONE = ("guest_init", "guest_confine", "probe_host")
MORE = ("guest_finalize.so", "relay")


@pytest.fixture
def small_kit(tmp_path: Path) -> Installation:
    """With sources of time 100 and what is built of them of time 200."""
    installation = Installation(tmp_path, builds=tmp_path / "build")
    files = [tmp_path / "common" / name for name in (
        "guest/init.c", "confine/confine.c", "relay/relay.c", "probe.c", "probe.h", "README.md"
    )]  # fmt: skip
    built = [installation.build / "common" / name for name in (*ALONE, *MORE)]
    for file in (*files, *built):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        os.utime(file, (0, 200 if file in built else 100))
    return installation


@pytest.mark.parametrize(
    ("file", "alone", "cluster"),
    [("guest/init.c", False, False), ("confine/confine.c", False, False), ("probe.c", False, False),
     ("probe.h", False, False), ("relay/relay.c", True, False), ("README.md", True, True)],
)  # fmt: skip
def test_what_is_older_than_a_source_is_not_built(
    small_kit: Installation, file: str, alone: bool, cluster: bool
) -> None:
    for newest, are_built in ((200, (True, True)), (201, (alone, cluster))):
        os.utime(small_kit.root / "common" / file, (0, newest))
        found = plan.programs_are_built(small_kit), plan.programs_are_built(small_kit, True)
        assert found == are_built


@pytest.mark.parametrize(
    ("name", "alone"), [*((n, False) for n in ALONE), *((n, True) for n in MORE)]
)
def test_what_is_missing_is_not_built(small_kit: Installation, name: str, alone: bool) -> None:
    (small_kit.build / "common" / name).unlink()
    assert plan.programs_are_built(small_kit) is alone
    assert not plan.programs_are_built(small_kit, is_cluster=True)


def test_what_is_built_is_up_to_date(
    small_kit: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[Any] = []
    monkeypatch.setattr(plan, "configure", done.append)
    monkeypatch.setattr(plan, "build_targets", lambda installation, targets: done.append(targets))
    os.utime(small_kit.root / "common/guest/init.c", (0, 300))
    plan.build_programs(small_kit)
    assert done == [small_kit, [*ALONE]]
    assert plan.programs_are_built(small_kit) and not plan.programs_are_built(small_kit, True)
    plan.build_programs(small_kit, is_cluster=True)
    assert done[3] == [*ALONE, "guest_finalize", "relay"]
    assert plan.programs_are_built(small_kit, is_cluster=True)


# ---- folders ---------------------------------------------------------------------------------


def test_home_is_at_or_above_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/u")
    told = {path: plan.is_home_or_above(Path(path)) for path in ("/home/u", "/home", "/home/u/w")}
    assert told == {"/home/u": True, "/home": True, "/home/u/w": False}

    def nobody() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nobody)
    assert not plan.is_home_or_above(Path("/home"))


def test_programs_of_the_host_are_in_its_own_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/u")
    names = ("/usr", "/opt", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
    monkeypatch.setattr(Path, "is_dir", lambda path: str(path) != "/lib32")
    monkeypatch.setattr(Path, "is_symlink", lambda path: str(path) in ("/bin", "/lib"))
    wanted = [Path(name) for name in names if name not in ("/lib32", "/bin", "/lib")]
    assert plan.toolchain_folders() == wanted


def test_parents_come_first_whoever_may_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/u")
    within = Share(Path("/w/a/b"), writable=True)
    assert plan.combine([within, Share(Path("/w"))]) == (Share(Path("/w")), within)
    # As the nearest one above shows it, and not as the first.
    shares = [Share(Path("/w")), Share(Path("/w/a"), writable=True), Share(Path("/w/a/b"))]
    assert plan.combine(shares) == tuple(shares)
    more = Share(Path("/w/a/b/c"), writable=True)
    assert plan.combine([*shares[:2], more]) == tuple(shares[:2])
    eight = tuple(Share(Path(f"/f{number}")) for number in range(8))
    assert plan.combine(eight) == eight


# ---- all of it -------------------------------------------------------------------------------

KERNEL = GuestKernel("6.1", Path("/k/image"), True, (), (), ("virtio_net",))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """A host of two cores whose KVM is "kvm", with 20000 MiB free."""
    found: dict[str, Any] = {"kvm": False}

    def find(store: Path, given: Path | None, progress: Any, installed: Path) -> GuestKernel:
        found["kernel"] = (store, given, installed)
        return KERNEL

    monkeypatch.setenv("HOME", "/home/u")
    monkeypatch.setattr(plan, "find_qemu", lambda: "/bin/qemu")
    monkeypatch.setattr(plan, "find_kernel", find)
    monkeypatch.setattr(plan, "free_memory_mib", lambda: 20_000)
    monkeypatch.setattr(plan, "toolchain_folders", lambda: [Path("/usr"), Path("/opt")])
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3, 4} if pid == 0 else {5})
    monkeypatch.setattr(local_machine, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(
        local_machine,
        "examine",
        lambda probe, cache: local_machine.LocalMachine(9, found["kvm"], "why"),
    )
    return found


def test_a_plan_says_all(small_kit: Installation, asked: dict[str, Any], tmp_path: Path) -> None:
    small_kit.guest_init.write_bytes(b"init")
    hydra, share = GALLERY["hydra"], Share(Path("/w"), writable=True)
    made, store = plan.make_plan(small_kit, hydra, [share], GuestOptions(), print)
    shares = (Share(Path("/usr")), Share(Path("/opt")), share)
    # 4 PUs for each of 2 cores; 60 s and 2 for each PU.
    assert made == GuestPlan(
        hydra.scaled(4), 256, "tcg", KERNEL, b"init", 9, plan.combine(shares), 76.0, None
    )
    assert store is not None and store.folder == tmp_path / "cache/snapshots"
    assert asked["kernel"] == (tmp_path / "cache/kernels", None, small_kit.guest_kernels)
    options = GuestOptions(
        cores_per_node=1, node_memory_mib=512, guest_kernel=Path("/mine"), boot_limit_s=5.0,
        use_snapshot=False,
    )  # fmt: skip
    made, store = plan.make_plan(
        small_kit, hydra, [], options, print, [Path("/usr")], 2, "virtio-net"
    )
    assert made == GuestPlan(
        hydra.scaled(1), 512, "tcg", KERNEL, b"init", 9, (Share(Path("/usr")),), 5.0, "virtio-net"
    )
    assert store is None and asked["kernel"][1] == Path("/mine")
    made, _ = plan.make_plan(small_kit, hydra, [], GuestOptions(), print, [], 2)
    assert (made.machine.pus, made.boot_limit_s, made.shares) == (4, 76.0, ())


@pytest.mark.parametrize(("kvm", "wanted", "keeps"), [
    (False, True, True), (False, False, False), (True, True, False), (True, False, False),
])  # fmt: skip
def test_states_are_kept_where_a_boot_takes_longer(
    small_kit: Installation, asked: dict[str, Any], kvm: bool, wanted: bool, keeps: bool
) -> None:
    asked["kvm"] = kvm
    options = GuestOptions(use_snapshot=wanted)
    made, store = plan.make_plan(small_kit, GALLERY["hydra"], [], options, print)
    assert made.accelerator == ("kvm" if kvm else "tcg")
    assert (store is not None) is keeps


def test_options_have_defaults() -> None:
    assert GuestOptions() == GuestOptions(None, False, None, None, None, True)
    assert Share(Path("/w")) == Share(Path("/w"), False, True)


@pytest.mark.parametrize(
    ("share", "cache"),
    [(Share(Path("/")), "loose"), (Share(Path("/"), cached=False), "none"),
     (Share(Path("/"), writable=True), "none"), (Share(Path("/"), True, False), "none")],
)  # fmt: skip
def test_how_a_folder_is_mounted(share: Share, cache: str) -> None:
    mode = "" if share.writable else "ro,"
    assert share.mount_options == f"{mode}trans=virtio,version=9p2000.L,msize=512000,cache={cache}"


# ---- what a guest is started from ------------------------------------------------------------


def test_a_guests_files_are_its_tables_its_first_process_and_modules(tmp_path: Path) -> None:
    for name in ("9p", "virtio_net"):
        (tmp_path / f"{name}.ko").write_bytes(name.encode())
    base, network = ((tmp_path / f"{name}.ko",) for name in ("9p", "virtio_net"))
    found = GuestKernel("6.1", tmp_path / "image", True, base, network)
    made = replace(plan_of(), kernel=found)
    madt = initramfs.processor_table([0, 1, 2, 3], [0, 1, 2, 3])
    modules = {"9p": b"9p"}
    assert made.initrd() == initramfs.acpi_archive({"madt": madt}) + initramfs.initramfs(
        b"init", modules
    )
    modules |= {"virtio_net": b"virtio_net"}
    node = replace(made, card="virtio-net")
    assert node.initrd().endswith(initramfs.initramfs(b"init", modules))
    memory_first = TWO_NODES.replace(
        "[[numa_node]]\npackage = 1",
        "[[numa_node]]\npackage = 1\npus = []\n[[numa_node]]\npackage = 1",
    )
    other = replace(made, machine=machine_of(memory_first))
    srat = initramfs.affinity_table([[0, 1], [], [2, 3]], [256 << 20] * 3)
    tables = initramfs.acpi_archive({"madt": madt, "srat": srat})
    assert other.initrd() == tables + initramfs.initramfs(b"init", {"9p": b"9p"})
    assert (made.memory_bytes, other.memory_bytes) == (512 << 20, 768 << 20)


def test_a_plans_command_is_qemus() -> None:
    devices = qemu.Devices(3, 4, 5, [("/w", False)], 6)
    made = replace(plan_of(), card="e1000")
    words = "console=ttyS0 quiet panic=-1 mitigations=off no_timer_check cryptomgr.notests " + (
        "numa_balancing=disable tsc=reliable idle=halt tsc_early_khz=2000000 lpj=8000000 maxcpus=1"
    )
    assert made.kernel_words == words
    assert made.command("/bin/qemu", devices, 7) == qemu.command_line(
        "/bin/qemu", machine_of(), 256, "tcg", "/kernels/6.1-a/image", True, words, devices, 7,
        "e1000",
    )  # fmt: skip


def test_a_state_is_of_all_but_the_folders(tmp_path: Path) -> None:
    program, made = tmp_path / "qemu", plan_of(Share(Path("/w")))
    program.write_bytes(b"1")
    key = made.key(str(program), b"initrd")
    assert replace(made, shares=(), boot_limit_s=1.0).key(str(program), b"initrd") == key
    newer = replace(made.kernel, image=Path("/kernels/6.1-b/image"))
    link, card = replace(made, card="e1000"), replace(made, card="virtio-net")
    others = [
        replace(made, machine=machine_of(TWO_NODES.replace("2-3", "2-4"))),
        replace(made, node_memory_mib=288), replace(made, kernel=newer), replace(made, tsc_khz=1),
        replace(made, accelerator="kvm"), link, card,
    ]  # fmt: skip
    keys = {key, made.key(str(program), b"other"), *(
        one.key(str(program), b"initrd") for one in others
    )}  # fmt: skip
    os.utime(program, ns=(0, 1))
    keys.add(made.key(str(program), b"initrd"))
    program.write_bytes(b"22")
    os.utime(program, ns=(0, 1))
    keys.add(made.key(str(program), b"initrd"))
    assert len(keys) == len(others) + 4
    # Descriptors and folders count nowhere; a link is taken as given, whose card alone counts.
    devices = qemu.Devices(0, 0, 0, [("/", False)] * 8, 0)
    assert link.key(str(program), b"initrd") == key_of([
        FORMAT, "6.1-a", "2 1", hashlib.sha256(b"initrd").hexdigest(),
        *link.command(str(program), devices, None),
    ])  # fmt: skip
    assert kernel.NETWORK_MODULES == ("virtio_net", "e1000", "af_packet")
