"""What clusters of virtual nodes are made of, without starting any."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

import pytest
from support.commands import numalab_command

from numalab.errors import NumalabError, UserError
from numalab.installation import Installation, find_installation
from numalab.machines.gallery import gallery_folder, load_gallery
from numalab.virtual import kernel, network, plan, qemu
from numalab.virtual.cluster import ClusterOptions, boot_cluster, check_options
from numalab.virtual.cluster_commands import Lines, counts_text, json_record
from numalab.virtual.kernel import GuestKernel
from numalab.virtual.link import Counts, LinkTraffic, NodeCounts, Relay, capture_files, counts_of
from numalab.virtual.network import Node, address_table, all_nodes
from numalab.virtual.qemu_process import GuestFailed

GALLERY = load_gallery(gallery_folder(find_installation("gnu")))


# ---- names and addresses ---------------------------------------------------------------------


def test_nodes_know_each_other_by_name_and_address() -> None:
    second = Node(2, 3)
    assert (second.name, second.ip, second.ethernet) == ("node2", "10.0.0.2", "52:54:00:6e:6c:02")
    assert second.others == [Node(1, 3), Node(3, 3)]
    lines = address_table(second).splitlines()
    assert lines[0] == "127.0.0.1 localhost"
    # Its own name is not the loopback's: MPI's launcher tells it to the others.
    assert lines[1:] == ["10.0.0.1 node1", "10.0.0.2 node2", "10.0.0.3 node3"]


def test_the_relay_and_the_nodes_have_the_same_addresses(kit_root: Path) -> None:
    header = (kit_root / "common/relay/frame.h").read_text()
    told = re.search(r"PREFIX \(\(const uint8_t\[\]\)\{(.*?)\}\)", header)
    assert told is not None
    prefix = ":".join(f"{int(byte, 16):02x}" for byte in told[1].split(","))
    assert [node.ethernet for node in all_nodes(4)] == [f"{prefix}:{n:02x}" for n in (1, 2, 3, 4)]
    remote = (kit_root / "common/guest/remote.h").read_text()
    assert f'NUMALAB_REMOTE "{network.REMOTE.lstrip("/")}"' in remote


@pytest.mark.parametrize("card", ["virtio-net", "e1000"])
def test_a_node_of_a_cluster_has_a_card_and_others_have_none(card: qemu.Card) -> None:
    def words(link: int | None, card: qemu.Card | None) -> list[str]:
        devices = qemu.Devices(7, 8, 9, [], link)
        return qemu.command_line(
            "qemu", GALLERY["laptop"], 256, "tcg", "/k", True, "quiet", devices, card=card
        )

    alone, member = words(None, None), words(10, card)
    assert [word for word in member if word not in alone] == [
        "-netdev", "dgram,id=link,local.type=fd,local.str=10",
        next(word for word in member if word.startswith(card)),
        "-global", "migration.announce-rounds=0",
    ]  # fmt: skip
    assert "-netdev" not in alone and alone[alone.index("-nic") + 1] == "none"


# ---- modules ---------------------------------------------------------------------------------


def module(*needs: str) -> bytes:
    return b"\x7fELF\0license=GPL\0depends=" + ",".join(needs).encode() + b"\0name=x\0"


FILES = {
    **{name: module() for name in (*kernel.MODULES, *kernel.NETWORK_MODULES, "failover")},
    "net_failover": module("failover"),
    "virtio_net": module("net_failover", "virtio_pci"),
}


def found(files: dict[str, bytes], *builtin: str) -> kernel.Modules:
    names = {name: name for name in files}
    return kernel.find_modules(files.__getitem__, names, builtin, "6.1")


def test_a_network_takes_modules_of_its_own() -> None:
    modules = found(FILES)
    assert list(modules.base) == list(kernel.MODULES)
    assert modules.drivers == kernel.NETWORK_MODULES
    # virtio_pci is there already.
    wanted = ["failover", "net_failover", "virtio_net", "e1000", "af_packet"]
    assert list(modules.network) == wanted
    builtin = found(FILES, "virtio_net", "af_packet", "e1000")
    assert (list(builtin.network), builtin.drivers) == ([], kernel.NETWORK_MODULES)


def test_without_one_of_them_a_kernel_is_still_good_for_others() -> None:
    for missing, left in (
        ("failover", ("e1000", "af_packet")),
        ("e1000", ("virtio_net", "af_packet")),
        ("af_packet", ("virtio_net", "e1000")),
    ):
        modules = found({name: data for name, data in FILES.items() if name != missing})
        assert list(modules.base) == list(kernel.MODULES)
        assert modules.drivers == left and set(left) <= set(modules.network)


def test_a_cluster_needs_a_kernel_with_its_card(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking = GuestKernel("6.1-cloud", Path("/k"), True, (), (), ("virtio_net",))
    monkeypatch.setattr(plan, "find_kernel", lambda *_: lacking)
    says = r"6.1-cloud has no module e1000 for .* card \(e1000\).*--guest-kernel"
    with pytest.raises(UserError, match=says):
        plan.make_plan(
            installation, GALLERY["hydra"], [], plan.GuestOptions(), print, [], 2, "e1000"
        )


# ---- how much of a machine -------------------------------------------------------------------


def test_nodes_share_what_the_host_carries() -> None:
    hydra, options = GALLERY["hydra"], plan.GuestOptions()
    pus = {copies: plan.scale(hydra, options, 4, "tcg", copies).pus for copies in (1, 2, 4)}
    assert pus == {1: 16, 2: 8, 4: 4}
    # 2 x 256 MiB and QEMU, times 4, of 80 % of what is free.
    assert plan.node_memory_mib(hydra, options, 4100, 4) == 256
    assert plan.node_memory_mib(hydra, options, 3900, 4) == 224
    with pytest.raises(
        UserError, match=r"4 times hydra .* needs 2480 MiB, more than 80% of the 3000"
    ):
        plan.node_memory_mib(hydra, options, 3000, 4)
    with pytest.raises(UserError, match="take fewer nodes"):
        plan.node_memory_mib(hydra, options, 1000, 2)


# ---- counts ----------------------------------------------------------------------------------


def traffic(frames: int, peak: int = 125_000) -> LinkTraffic:
    return LinkTraffic(frames, 1000 * frames, frames - 1, 900 * frames, 1514, peak)


def test_what_a_job_sent_is_a_difference() -> None:
    before = Counts((NodeCounts(traffic(5), traffic(3), 1), NodeCounts(traffic(3), traffic(5), 0)))
    after = Counts((NodeCounts(traffic(9), traffic(4), 1), NodeCounts(traffic(4), traffic(9), 2)))
    crossed = after.subtract(before)
    assert crossed.nodes[0].sent == LinkTraffic(4, 4000, 4, 3600, 1514, 125_000)
    assert [node.dropped_frames for node in crossed.nodes] == [0, 2]
    assert crossed.nodes[1].received.bytes == 4000
    assert traffic(1).peak_mbit_s == pytest.approx(10.0)


def test_counts_are_told_in_words_and_numbers() -> None:
    counts = Counts((
        NodeCounts(traffic(1500, 625_000), traffic(2, 200), 0),
        NodeCounts(traffic(2), traffic(1500), 7),
    ))  # fmt: skip
    said = counts_text(("node1", "node2"), counts, 50.0)
    assert "of 50 Mbit/s" in said and "7 frames for nobody" in said
    assert re.search(
        r"node1 sent +1.5 MB, +1,500 frames, TCP payload +1.35 MB, peak 50 Mbit/s", said
    )
    many = Counts((NodeCounts(traffic(99_999, 2_637), traffic(99_999, 2_637), 0),))
    wide = f"{said}\n{counts_text(('node1',), many, 50.0)}"
    assert "99,999 frames" in wide and "peak 0.211 Mbit/s" in wide
    assert max(map(len, wide.splitlines())) <= 80
    data = json_record("hydra", ClusterOptions(2), counts, 3)
    assert data["exit_code"] == 3 and data["nodes"][0]["sent"]["bytes"] == 1_500_000
    assert data["nodes"][1]["name"] == "node2" and data["nodes"][1]["dropped_frames"] == 7


def test_lines_of_several_nodes_stay_whole() -> None:
    written: list[bytes] = []
    lines = Lines("node2: ", written.append)
    for piece in (b"on", b"e\ntw", b"", b"o\nthr\xffee"):
        lines.take(piece)
    assert written == [b"node2: one\n", b"node2: two\n"]
    lines.end()
    lines.end()
    assert written[2:] == [b"node2: thr\xffee\n"]


# ---- the relay's process ---------------------------------------------------------------------


def test_a_relay_that_ends_is_told_with_its_words(tmp_path: Path) -> None:
    program = tmp_path / "relay"
    program.write_text("#!/bin/sh\necho no links >&2\nexit 1\n")
    program.chmod(0o755)
    with (
        closing(Relay(program, all_nodes(2), 1000, [])) as relay,
        pytest.raises(GuestFailed) as told,
    ):
        relay.ask()
    assert "relay between the nodes has ended (no links)" in str(told.value)
    with pytest.raises(NumalabError, match="relay can't be started: No such file"):
        Relay(tmp_path / "none", all_nodes(2), 1000, [])


def test_a_full_disk_is_told_before_anybody_reads_half_a_capture(tmp_path: Path) -> None:
    program = tmp_path / "relay"
    program.write_text(
        '#!/bin/sh\nread line\necho \'{"quiet_ms": 0, "waiting_frames": 0, '
        '"capture_errno": 28, "nodes": []}\'\nread line\n'
    )
    program.chmod(0o755)
    with (
        closing(Relay(program, all_nodes(2), 1000, [])) as relay,
        pytest.raises(GuestFailed, match="captures can't be written: No space left"),
    ):
        relay.counts()


@pytest.mark.builds
def test_frames_are_carried_and_counted(installation: Installation, tmp_path: Path) -> None:
    """By the relay itself; this process stands in for two nodes."""
    nodes = all_nodes(2)
    files = capture_files(tmp_path / "out", nodes)
    frame = bytes.fromhex("52540 06e6c02 52540 06e6c01 88b5".replace(" ", "")) + b"x" * 86
    with closing(Relay(installation.relay, nodes, 6_250_000, files)) as relay:
        for link in relay.links:
            link.settimeout(60)
        for _ in range(3):
            relay.links[0].send(frame)
        assert [relay.links[1].recv(2000) for _ in range(3)] == [frame] * 3
        counts = relay.counts()
        assert counts_of(relay.ask()) == counts
    sent = counts.nodes[0].sent
    assert (sent.frames, sent.bytes, sent.tcp_payload_bytes) == (3, 300, 0)
    assert counts.nodes[1].received.bytes == 300 and counts.nodes[1].sent.frames == 0
    assert sent.largest_frame_bytes == 100 and 0 < sent.most_bytes_in_100_ms <= 300
    assert [file.name for file in files] == ["node1.pcap", "node2.pcap"]
    assert all(file.stat().st_size == 24 + 3 * (16 + 100) for file in files)


# ---- what is asked for wrongly ---------------------------------------------------------------


def test_rates_and_numbers_of_nodes_have_limits(tmp_path: Path) -> None:
    check_options(ClusterOptions(4, 0.1))
    for options, says in (
        (ClusterOptions(5), "x5: a cluster has x2 to x4"),
        (ClusterOptions(1), "x1"),
        (ClusterOptions(2, 51.0), "--rate 51: a link carries 0.1 to 50 Mbit/s"),
        (ClusterOptions(2, float("nan")), "--rate nan"),
    ):
        with pytest.raises(UserError, match=re.escape(says)):
            check_options(options)
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"--capture .*file.*: Not a directory"):
        capture_files(tmp_path / "file" / "out", all_nodes(2))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nosuch", "x2", "--", "true"), "nosuch"),
        (("hydra", "2", "--", "true"), "'2' is no number of nodes; write x2 to x4"),
        (("hydra", "x5", "--", "true"), "'x5' is no number of nodes"),
        (("hydra", "x2"), "Missing argument 'COMMAND...'"),
        (("hydra", "x2", "--rate", "100", "--", "true"), "--rate 100: a link carries"),
        (("hydra", "x2", "--json", "/no/such/file", "--", "true"), "there is no folder /no/such"),
        (("hydra", "x4", "--node-memory", "9000000", "--", "true"), "4 times hydra"),
    ],
)
def test_mistakes_are_told(
    installation: Installation, arguments: tuple[str, ...], says: str
) -> None:
    done = numalab_command(installation, "cluster", "run", *arguments)
    assert done.code == 2 and says in done.said, done.err


def test_without_qemu_it_says_what_to_install(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UserError, match="need QEMU, which is not installed"):
        boot_cluster(
            installation, GALLERY["hydra"], [], ClusterOptions(2), plan.GuestOptions(), print, []
        )
