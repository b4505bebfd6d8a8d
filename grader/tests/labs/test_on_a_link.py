"""Lab 09's programs for clusters: what they send is what the lab's text says, by its kind and not
to the byte, counted by the relay between two virtual nodes; what `frames` sees a card being handed;
why they end early, and why the grader's job does.
"""

from __future__ import annotations

import os
import random
import re
import select
import shutil
import subprocess
from array import array
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.commands import SOON_LIMIT_S

from numalab.evidence.run_formats import SLOT_BYTES
from numalab.installation import Installation
from numalab.judging.printed_words import reason_in
from numalab.machines.gallery import find_machine
from numalab.virtual import guest_commands, plan
from numalab.virtual.cluster import Cluster, ClusterOptions, boot_cluster
from numalab.virtual.link import LinkTraffic

pytestmark = [pytest.mark.builds]

STRICT = ("-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
ITEMS = 5000
PAYLOAD_BYTES = re.compile(r"(\w+): (\d+) items, (\d+) bytes of payload, 0 wrong")
JOB_LIMIT_S = 240.0  # on a busy node
MPI_ERR_TRUNCATE = 14  # MPICH's, the lowest byte of an error's code


@pytest.fixture(scope="module")
def programs(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with items, early and frames, and the job on_link with a kernel that MPI ends."""
    if shutil.which("mpicc") is None:
        pytest.skip("no MPI")
    folder = tmp_path_factory.mktemp("programs")
    lab = installation.lab_folder("09_interconnect")
    solution = installation.solution_folder("09_interconnect")
    for compiler, *sources in (
        ("mpicc", lab / "items.c", solution / "kernel.c"),
        ("mpicc", lab / "early.c"),
        ("gcc", lab / "frames.c"),
        ("mpicc", lab / "grading/on_link.c", solution / "wrong/no_room_for_lengths.c"),
    ):
        program = folder / Path(sources[0]).stem
        command = [compiler, *STRICT, f"-I{lab}", *map(str, sources), "-o", str(program)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("way", ["each", "answered", "padded", "yours"])
def test_items_arrive_whole_by_every_way(programs: Path, way: str) -> None:
    done = subprocess.run(
        ["mpiexec", "-n", "2", programs / "items", way, "300"],
        capture_output=True, text=True, check=False, timeout=SOON_LIMIT_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = PAYLOAD_BYTES.fullmatch(done.stdout.strip())
    assert found is not None, done.stdout
    assert (found[1], found[2]) == (way, "300")
    assert 300 * 24 < int(found[3]) < 300 * 48  # 36 bytes, by chance


@pytest.mark.parametrize(
    ("job", "said"),
    [
        (("items", "thrown", "5"), "each|answered|padded|yours|nothing"),
        (("items", "each", "0"), "each|answered|padded|yours|nothing"),
        (("early", "no_card"), "no_card"),
    ],
)
def test_a_job_says_once_what_it_needs(programs: Path, job: tuple[str, ...], said: str) -> None:
    """By MPI_Finalize: MPI_Abort may end the launcher before it has read that."""
    done = subprocess.run(
        ["mpiexec", "-n", "2", programs / job[0], *job[1:]],
        capture_output=True, text=True, check=False, timeout=SOON_LIMIT_S,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.count(said) == 1
    assert "MPI_Abort" not in done.stderr


def is_waiting_for_a_reader(program: Path) -> bool:
    """Start a job that ends with code 3 and a sentence at once, and tell whether half a second
    after the sentence it has not ended."""
    with subprocess.Popen([program], stderr=subprocess.PIPE, text=True) as job:
        assert job.stderr is not None
        select.select([job.stderr], [], [])
        try:
            is_waiting = job.wait(0.5) is None
        except subprocess.TimeoutExpired:
            is_waiting = True
        assert "on_link:" in job.stderr.read()
    assert job.returncode == 3
    return is_waiting


def test_the_graders_job_ends_once_its_reason_is_read(programs: Path) -> None:
    """It waits a second at most: a test that is held up for longer looks again."""
    assert any(is_waiting_for_a_reader(programs / "on_link") for _ in range(5))


def test_the_graders_job_tells_mpis_error_and_code(programs: Path, tmp_path: Path) -> None:
    """The code is what MPI itself ends such a job with."""
    count, draws = 30_000, random.Random(9)
    lengths = array("i", (draws.randint(1, 8) for _ in range(count)))
    items = tmp_path / "items"
    items.write_bytes(lengths.tobytes() + bytes(count * SLOT_BYTES))
    done = subprocess.run(
        ["mpiexec", "-n", "2", programs / "on_link", items, str(count), tmp_path / "result"],
        capture_output=True, text=True, check=False, timeout=SOON_LIMIT_S,
    )  # fmt: skip
    assert done.returncode == MPI_ERR_TRUNCATE
    assert reason_in(done.stdout + done.stderr).endswith("truncated")


def test_frames_says_how_it_is_called(programs: Path) -> None:
    done = subprocess.run([programs / "frames"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "usage: ./frames eth0 PROGRAM" in done.stderr


# ---- between two virtual nodes -----------------------------------------------------------------


def booted(installation: Installation, programs: Path, options: ClusterOptions) -> Cluster:
    if not plan.programs_are_built(installation, is_cluster=True):
        with installation.lock():
            plan.build_programs(installation, is_cluster=True)
    shares = guest_commands.shares_for(programs, None, ())
    return boot_cluster(
        installation,
        find_machine(installation, "hydra"),
        shares,
        options,
        plan.GuestOptions(),
        lambda step: None,
    )


@pytest.fixture(scope="module")
def cluster(installation: Installation, programs: Path) -> Iterator[Cluster]:
    with booted(installation, programs, ClusterOptions(2)) as found:
        yield found


def run(cluster: Cluster, programs: Path, *command: str) -> tuple[str, LinkTraffic]:
    """What a command on node1 has printed, and what node1 has sent meanwhile."""
    out, err = bytearray(), bytearray()
    environment = guest_commands.guest_environment(os.environ, "hydra", None)
    before = cluster.counts()
    ended = cluster.run(
        1, command, str(programs), environment, out.extend, err.extend, limit_s=JOB_LIMIT_S
    )
    assert ended is not None and ended.code == 0, err.decode()
    return out.decode(), cluster.counts().subtract(before).nodes[0].sent


def per_payload_byte(cluster: Cluster, programs: Path, way: str, items: int) -> float:
    """Bytes that node1 sends, without what the job's start and end take."""
    job = ("mpiexec", "-n", "2", "-ppn", "1", "./items")
    _, nothing = run(cluster, programs, *job, "nothing", str(items))
    said, sent = run(cluster, programs, *job, way, str(items))
    found = PAYLOAD_BYTES.search(said)
    assert found is not None, said
    return (sent.bytes - nothing.bytes) / int(found[3])


@pytest.mark.slow
@pytest.mark.boots
def test_packed_items_are_little_more_than_themselves(cluster: Cluster, programs: Path) -> None:
    """1.08, 1.43, 1.87 and 3.6 in the lab's text. An item without headers of its own has a byte of
    length and its part of a segment's headers, one of its own 66 at least where nothing is
    collected."""
    packed = per_payload_byte(cluster, programs, "yours", ITEMS)
    each = per_payload_byte(cluster, programs, "each", ITEMS)
    padded = per_payload_byte(cluster, programs, "padded", ITEMS)
    answered = per_payload_byte(cluster, programs, "answered", 40)
    assert 1.05 < packed < 1.15 < each
    assert 1.75 < padded < 2.0
    assert 2.5 < answered < 5.0


@pytest.mark.slow
@pytest.mark.boots
def test_long_messages_wait_for_their_receive(cluster: Cluster, programs: Path) -> None:
    said, _ = run(cluster, programs, "mpiexec", "-n", "2", "-ppn", "1", "./early")
    rows = re.findall(r"^ *(\d+) bytes: +(\d+) sent before the receive, +(\d+) in the end$",
                      said, re.MULTILINE)  # fmt: skip
    found = {int(size): (int(early), int(end)) for size, early, end in rows}
    assert list(found) == [1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20]
    assert all(end > size for size, (_, end) in found.items())
    assert found[1 << 10][0] > 1 << 10
    assert found[1 << 20][0] < 2000


@pytest.mark.slow
@pytest.mark.boots
def test_a_card_that_cuts_is_handed_more_than_the_link_takes(
    installation: Installation, programs: Path
) -> None:
    job = ("./frames", "eth0", "mpiexec", "-n", "2", "-ppn", "1", "./items", "yours", str(ITEMS))
    longest = {}
    for card in ("e1000", "virtio-net"):
        with booted(installation, programs, ClusterOptions(2, card=card)) as nodes:  # type: ignore[arg-type]
            said, sent = run(nodes, programs, *job)
        found = re.search(r"handed to the card: (\d+) frames, .* the longest (\d+)", said)
        assert found is not None, said
        longest[card] = int(found[2])
        assert sent.largest_frame_bytes == 1514
    assert longest["e1000"] > 2 * 1514
    assert longest["virtio-net"] == 1514
