"""Runs a kernel as an MPI job on two virtual nodes, and counts what it puts on the link.

What is measured are the bytes of all Ethernet frames that node 1 has sent, counted by the relay
between the nodes, which is a process of this host. Rank 0 gets items of random bits that nobody
else has, and what rank 1 has in the end is read from node 2: so what is right there has crossed the
link, whatever the program does, and it can't have crossed in fewer bits. The nodes are booted for
this one job. Launcher and ranks are another user on both, who sees the system's folders, the
program and the items.

What could pass as an artefact: items that are alike or follow from a seed (they are random); items
that lie on node 2 already (only node 1 gets them); slots that are zero where nobody uses them,
which would pack well (they are random, too); a rank that only says that it has them (they are
read). What may cost a kernel something that it is not to blame for: TCP that sends a segment twice,
since emulated nodes answer late. So what fails is run twice, of which the better one counts, and
counts only beside a solution that has not failed.
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
from numalab.evidence.run_formats import SLOT_BYTES, JobEnd, LinkJob, OutcomeRecord, WrongItem
from numalab.grading.session import Session
from numalab.harness.build import LINK_JOB, build_targets
from numalab.judging import planner
from numalab.untrusted.visible import visible_lines
from numalab.virtual.cluster import Cluster
from numalab.virtual.network import REMOTE_APART
from numalab.virtual.place import PlaceLost, VirtualPlace
from numalab.virtual.qemu_process import GuestFailed

ITEMS = 30_000
NUMBER_BYTES = 8
LIMIT_S = 60.0  # a solution takes two or three, and some more beside other load
_MOST_PRINTED_BYTES = 1 << 20
_MOST_SAID = 1_500  # characters, the first ones: what follows is most often how MPI ends
_PROGRAM, _ITEMS = "/numalab/on_link", "/numalab/items"
_RESULTS = "/delivered"
_RESULT = f"{_RESULTS}/items"


class _TooMuch(Exception):
    """A command says more than anybody reads."""


@dataclass
class _Said:
    """What a command prints, up to a limit."""

    most_bytes: int
    data: bytearray

    def take(self, data: bytes) -> None:
        self.data += data
        if len(self.data) > self.most_bytes:
            raise _TooMuch


@dataclass(frozen=True)
class Items:
    """lengths: numbers of each item; slots: their bytes, SLOT_BYTES each, used or not."""

    lengths: array.array[int]
    slots: bytes

    @property
    def payload_bytes(self) -> int:
        return sum(self.lengths) * NUMBER_BYTES

    @property
    def content(self) -> bytes:
        return self.lengths.tobytes() + self.slots


def draw_items(count: int) -> Items:
    most = SLOT_BYTES // NUMBER_BYTES
    lengths = array.array("i", (1 + byte % most for byte in os.urandom(count)))
    return Items(lengths, os.urandom(count * SLOT_BYTES))


def compare(items: Items, got: bytes) -> tuple[int, WrongItem | None]:
    """How many items are not as they should be, and the first. got: lengths and slots, as of
    Items.content; what is missing at its end is wrong."""
    count = len(items.lengths)
    head = count * items.lengths.itemsize
    lengths = array.array("i")
    lengths.frombytes(got[:head].ljust(head, b"\0"))
    slots = got[head:].ljust(count * SLOT_BYTES, b"\0")
    wrong, first = 0, None
    for item, length in enumerate(items.lengths):
        start = item * SLOT_BYTES
        used = slice(start, start + length * NUMBER_BYTES)
        if lengths[item] == length and slots[used] == items.slots[used]:
            continue
        wrong += 1
        if first is None:
            first = WrongItem(
                item=item, length=lengths[item], expected_length=length,
                number=_first_number(items.slots, slots, used),
            )  # fmt: skip
    return wrong, first


def _first_number(expected: bytes, got: bytes, used: slice) -> int | None:
    for number, start in enumerate(range(used.start, used.stop, NUMBER_BYTES)):
        if expected[start : start + NUMBER_BYTES] != got[start : start + NUMBER_BYTES]:
            return number
    return None


def look_on_link(session: Session, part: str | None) -> None:
    """On two nodes of the session's place. Raises Interrupted, NumalabError and UserError."""
    own = _run(session, SUBMISSION, part)
    if not planner.needs_link_control(session.lab, session.evidence, part):
        return
    name = session.program(SOLUTION, LINK_JOB).name
    if not session.take_kept(name):
        build_targets(session.installation, [name])
        session.keep_for_others(name, [_run(session, SOLUTION, part)])
    (control,) = session.controls[name]
    # What takes twenty times as long as the solution needs no second try.
    if own.end != "late" or (isinstance(control, LinkJob) and control.end == "late"):
        _run(session, SUBMISSION, part)


def _run(session: Session, role: str, part: str | None) -> LinkJob:
    """One job, kept. Where the nodes can't be booted that is the kit's or the host's doing."""
    assert isinstance(session.place, VirtualPlace)
    whose = "" if role == SUBMISSION else ", with the solution"
    session.progress(f"{part}: sending items from node to node{whose}")
    items = draw_items(ITEMS)
    with session.spending("evidence"), session.place.boot_cluster(session.progress) as cluster:
        words = session.place.job_words(_RESULTS)
        environment = session.place.environment
        facts = run_job(cluster, session.program(role, LINK_JOB), items, words, environment)
    outcome = OutcomeRecord.fine()
    run = LinkJob(lab=session.lab.name, part=part, team=2, role=role, outcome=outcome, **facts)
    session.record.runs.append(run)
    return run


def run_job(
    cluster: Cluster,
    program: Path,
    items: Items,
    words: Sequence[str],
    environment: Mapping[str, str],
    limit_s: float = LIMIT_S,
) -> Json:
    """Return what LinkJob has beside what all runs have. The cluster may be of no use afterwards.
    words: behind which the job is kept apart (apart.job_words). Raises PlaceLost where its nodes
    can't even hold the program."""
    with tempfile.TemporaryDirectory(prefix="numalab-items-") as folder:
        own, apart = Path(folder, "items"), Path(folder, "apart")
        own.write_bytes(items.content)
        apart.write_text("".join(f"{word}\n" for word in words), "utf-8")
        both = {_PROGRAM: program, REMOTE_APART: apart}
        try:
            cluster.guests[0].hold(both | {_ITEMS: own})
            cluster.guests[1].hold(both)
            before = cluster.counts()
        except GuestFailed as error:
            raise PlaceLost(str(error)) from error
    end: JobEnd = "ok"
    code, said, got = 0, _Said(_MOST_PRINTED_BYTES, bytearray()), None
    job = ("mpiexec", "-n", "2", "-ppn", "1", _PROGRAM, _ITEMS, str(len(items.lengths)), _RESULT)
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
            got = _read_result(cluster, environment, len(items.content))
    except _TooMuch:
        end = "printed"
    except GuestFailed as error:
        end = "node"
        said.data += str(error).encode()
    wrong, first = (None, None) if got is None else compare(items, got)
    return {
        "end": end,
        "code": code,
        "said": visible_lines(said.data.decode(errors="replace").strip())[:_MOST_SAID],
        "limit_s": limit_s,
        "items": len(items.lengths),
        "payload_bytes": items.payload_bytes,
        "wrong": wrong,
        "first_wrong": first,
        "sent_bytes": 0 if crossed is None else crossed.sent.bytes,
        "sent_frames": 0 if crossed is None else crossed.sent.frames,
        "received_bytes": 0 if crossed is None else crossed.received.bytes,
    }


def _read_result(cluster: Cluster, environment: Mapping[str, str], most_bytes: int) -> bytes:
    """What rank 1 has left on node 2; nothing where it has not."""
    got, errors = _Said(most_bytes, bytearray()), _Said(1 << 16, bytearray())
    command = ["head", "-c", str(most_bytes), _RESULT]
    try:
        cluster.run(2, command, "/", environment, got.take, errors.take, limit_s=LIMIT_S)
    except _TooMuch:
        return b""
    return bytes(got.data)
