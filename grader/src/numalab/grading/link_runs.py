"""Runs of a kernel as an MPI job on two virtual machines, in which the bytes that it puts on the
link are counted.

The relay between the two counts the Ethernet frames that machine 1 sends. Rank 0 gets items of
random bits, and what rank 1 has in the end is read from machine 2. So items that are correct there
have crossed the link, in no fewer bits. Machine 1 alone gets the items, and unused slots are
random, too, since zeros would compress well. Launcher and ranks run as another user.
"""

from __future__ import annotations

import array
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from numalab.errors import NumalabError
from numalab.evidence.record import SOLUTION, SUBMISSION, Json
from numalab.evidence.run_formats import (
    SLOT_BYTES,
    JobEnd,
    LinkJob,
    Outcome,
    TransferMismatch,
)
from numalab.grading.kernel_grading import Grading
from numalab.harness.build import LINK_JOB, build_targets
from numalab.judging import planner
from numalab.untrusted.visible import visible_lines
from numalab.virtual.cluster import Cluster
from numalab.virtual.network import REMOTE_APART
from numalab.virtual.place import PlaceLost, VirtualPlace
from numalab.virtual.qemu_process import GuestFailed

PAYLOAD_COUNT = 30_000  # items
NUMBER_BYTES = 8
LIMIT_S = 60.0  # a solution takes two or three, and more next to other load
_MOST_PRINTED_BYTES = 1 << 20
_KEPT_CHARACTERS = 1_500  # of the output, from its start: most often MPI's own end follows
_PROGRAM, _PAYLOAD_PATH = "/numalab/on_link", "/numalab/items"
_RESULTS = "/delivered"
_RESULT = f"{_RESULTS}/items"


class _TooMuchOutput(Exception):
    """A command printed more than is read."""


@dataclass
class _LimitedOutput:
    most_bytes: int
    data: bytearray

    def take(self, data: bytes) -> None:
        self.data += data
        if len(self.data) > self.most_bytes:
            raise _TooMuchOutput


@dataclass(frozen=True)
class Payload:
    """The items that a job sends."""

    lengths: array.array[int]  # how many numbers each item has
    slots: bytes  # SLOT_BYTES for each item, used or not

    @property
    def payload_bytes(self) -> int:
        return sum(self.lengths) * NUMBER_BYTES

    @property
    def content(self) -> bytes:
        return self.lengths.tobytes() + self.slots


def draw_payload(count: int) -> Payload:
    most = SLOT_BYTES // NUMBER_BYTES
    lengths = array.array("i", (1 + byte % most for byte in os.urandom(count)))
    return Payload(lengths, os.urandom(count * SLOT_BYTES))


def compare(payload: Payload, got: bytes) -> tuple[int, TransferMismatch | None]:
    """Return the number of wrong items in what arrived, and the first one; None where there is
    none. got: lengths and slots, as Payload.content has them; what is missing at its end is zeros.
    """
    count = len(payload.lengths)
    head = count * payload.lengths.itemsize
    lengths = array.array("i")
    lengths.frombytes(got[:head].ljust(head, b"\0"))
    slots = got[head:].ljust(count * SLOT_BYTES, b"\0")
    wrong, first = 0, None
    for item, length in enumerate(payload.lengths):
        start = item * SLOT_BYTES
        used = slice(start, start + length * NUMBER_BYTES)
        if lengths[item] == length and slots[used] == payload.slots[used]:
            continue
        wrong += 1
        if first is None:
            pairs = zip(slots[used], payload.slots[used], strict=True)
            byte = next((byte for byte, (one, other) in enumerate(pairs) if one != other), None)
            number = None if byte is None else byte // NUMBER_BYTES
            first = TransferMismatch(
                item=item, length=lengths[item], expected_length=length, number=number
            )
    return wrong, first


def run_on_link(grading: Grading, part: str | None) -> None:
    """Run the submission as a job on two virtual machines; where the planner asks for a control,
    also the solution, and the submission again, unless it alone was late.

    TCP sends a segment twice where an emulated machine answers late, which is not the kernel's
    fault.
    """
    own = _run(grading, SUBMISSION, part)
    if not planner.needs_link_control(grading.lab, grading.evidence, part):
        return
    name = grading.program(SOLUTION, LINK_JOB).name
    if not grading.take_kept(name):
        build_targets(grading.installation, [name])
        grading.keep_for_others(name, [_run(grading, SOLUTION, part)])
    (control,) = grading.controls[name]
    # What takes twenty times as long as the solution needs no second try.
    if own.end != "late" or (isinstance(control, LinkJob) and control.end == "late"):
        _run(grading, SUBMISSION, part)


def _run(grading: Grading, role: str, part: str | None) -> LinkJob:
    assert isinstance(grading.place, VirtualPlace)
    ending = "" if role == SUBMISSION else ", with the solution"
    grading.progress(f"{part}: sending items from node to node{ending}")
    payload = draw_payload(PAYLOAD_COUNT)
    with grading.spending("evidence"), grading.place.boot_cluster(grading.progress) as cluster:
        words = grading.place.job_words(_RESULTS)
        environment = grading.place.environment
        facts = run_job(cluster, grading.program(role, LINK_JOB), payload, words, environment)
    outcome = Outcome.fine()
    run = LinkJob(lab=grading.lab.name, part=part, team=2, role=role, outcome=outcome, **facts)
    grading.record.runs.append(run)
    return run


def run_job(
    cluster: Cluster,
    program: Path,
    payload: Payload,
    words: Sequence[str],
    environment: Mapping[str, str],
    limit_s: float = LIMIT_S,
) -> Json:
    """Run a job on two virtual machines, which may be of no use afterwards. words: the command that
    runs it as another user (VirtualPlace.job_words). Returns the fields of LinkJob that other runs
    lack. Raises PlaceLost where the job can't be begun, and NumalabError where mpiexec can't run.
    """
    with tempfile.TemporaryDirectory(prefix="numalab-items-") as folder:
        own, sandbox = Path(folder, "items"), Path(folder, "apart")
        own.write_bytes(payload.content)
        sandbox.write_text("".join(f"{word}\n" for word in words), "utf-8")
        both = {_PROGRAM: program, REMOTE_APART: sandbox}
        try:
            cluster.guests[0].hold(both | {_PAYLOAD_PATH: own})
            cluster.guests[1].hold(both)
            before = cluster.counts()
        except (GuestFailed, OSError) as error:
            raise PlaceLost(str(error)) from error
    end: JobEnd = "ok"
    code, said, got = 0, _LimitedOutput(_MOST_PRINTED_BYTES, bytearray()), None
    items = str(len(payload.lengths))
    job = ("mpiexec", "-n", "2", "-ppn", "1", _PROGRAM, _PAYLOAD_PATH, items, _RESULT)
    command = [*words, "--", *job]
    crossed = None
    try:
        ended = cluster.run(1, command, "/", environment, said.take, said.take, limit_s=limit_s)
        if ended is None:
            end = "late"
        elif ended.refused:
            raise NumalabError(
                f"mpiexec can't run on {cluster.names[0]}: {os.strerror(ended.refused)}"
            )
        elif ended.code or ended.signal:
            end, code = "code", ended.code or 128 + ended.signal
        crossed = cluster.counts().subtract(before).nodes[0]
        if end == "ok":
            got = _read_result(cluster, environment, len(payload.content))
    except _TooMuchOutput:
        end = "printed"
    except GuestFailed as error:
        end = "node"
        said.data += str(error).encode()
    wrong, first = (None, None) if got is None else compare(payload, got)
    return {
        "end": end,
        "code": code,
        "output": visible_lines(said.data.decode(errors="replace").strip())[:_KEPT_CHARACTERS],
        "limit_s": limit_s,
        "items": len(payload.lengths),
        "payload_bytes": payload.payload_bytes,
        "mismatches": wrong,
        "first_mismatch": first,
        "sent_bytes": 0 if crossed is None else crossed.sent.bytes,
        "sent_frames": 0 if crossed is None else crossed.sent.frames,
        "received_bytes": 0 if crossed is None else crossed.received.bytes,
    }


def _read_result(cluster: Cluster, environment: Mapping[str, str], most_bytes: int) -> bytes:
    """Return what rank 1 has left on machine 2, at most most_bytes; empty where more is printed."""
    got, errors = _LimitedOutput(most_bytes, bytearray()), _LimitedOutput(1 << 16, bytearray())
    command = ["head", "-c", str(most_bytes), _RESULT]
    try:
        cluster.run(2, command, "/", environment, got.take, errors.take, limit_s=LIMIT_S)
    except _TooMuchOutput:
        return b""
    return bytes(got.data)
