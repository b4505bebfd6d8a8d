"""The rule for the bytes that an MPI job puts on the link between its two cluster nodes to bring
items to rank 1."""

from __future__ import annotations

from dataclasses import replace

from numalab.evidence.kinds import LINK_RUN
from numalab.evidence.record import Evidence
from numalab.evidence.run_formats import SLOT_BYTES, LinkJob
from numalab.judging.principles import Principle, explain
from numalab.judging.printed_words import reason_in
from numalab.judging.registry import Rule
from numalab.judging.soundness import judge_value, not_measured
from numalab.judging.verdict import Cause, CriterionVerdict, verdict_on
from numalab.labs.declaration import Criterion
from numalab.untrusted.visible import shortened
from numalab.words import count

UNIT = "bytes on the link per byte of the items"
_MESSAGE_BYTES = 12  # the least that a short message's headers take: MPI's, and a share of TCP's
_LATE = (
    "Does every message that is sent have its receive, in the same order? Does a rank wait for an "
    "answer, or for one to each of many messages?"
)
_MAX_QUOTED = 300  # characters
_SIGNALS = {134: "SIGABRT", 136: "SIGFPE", 137: "SIGKILL", 139: "SIGSEGV"}


@Rule("on_link", runs=(LINK_RUN,), has_own_control=True)
def link_job(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """Measure the bytes that node 1 sends per byte of items; the best of several jobs counts."""
    if not evidence.is_virtual:
        why = "It takes two nodes, and a link on which somebody counts: two virtual nodes show it."
        return verdict_on(criterion, "not_gradable", "seen_elsewhere", why)
    runs = evidence.runs_of(LINK_RUN)
    if not runs:
        return not_measured(criterion, evidence)
    return _judge_job(criterion, min(runs, key=_badness), evidence.language)


def _badness(job: LinkJob) -> tuple[bool, bool, float]:
    return job.end != "ok", job.mismatches != 0, job.bytes_ratio


def _judge_job(criterion: Criterion, job: LinkJob, language: str) -> CriterionVerdict:
    if job.end != "ok":
        cause, why = _no_end(job)
        return verdict_on(criterion, "fail", cause, why)
    if job.mismatches is None or job.mismatches:
        why = _mismatch_text(job, language)
        return verdict_on(criterion, "fail", "wrong_result", why)
    why = (
        f"For {_mb(job.payload_bytes)} of items node 1 has sent {_mb(job.sent_bytes)}, in "
        f"{count(job.sent_frames, 'frame')}: {job.overhead_bytes:.1f} bytes for each of "
        f"{job.items:,} items beside its own."
    )
    verdict = judge_value(criterion, job.bytes_ratio, why, unit=UNIT)
    return replace(verdict, why=why + _too_many(job)) if verdict.status == "fail" else verdict


def _mb(size: int) -> str:
    return f"{size / 1e6:.3f} MB"


def _too_many(job: LinkJob) -> str:
    """Return where too many bytes may come from, as sentences with a space before each."""
    if job.sent_bytes >= job.items * SLOT_BYTES:
        return f" All slots are {_mb(job.items * SLOT_BYTES)}, used or not: send what is in use."
    if job.overhead_bytes >= _MESSAGE_BYTES:
        return " That is what a message of its own costs each of them: put many items into one."
    return (
        " Few of these bytes are headers. Rank 1 has to be told how long each item is: how many "
        "bits does that take?"
    )


def _no_end(job: LinkJob) -> tuple[Cause, str]:
    sent = f"node 1 had sent {_mb(job.sent_bytes)} of {_mb(job.payload_bytes)}"
    if job.end == "late":
        return "timed_out", (
            f"The job did not come to its end within {job.limit_s:g} s; {sent}. {_LATE}"
        )
    if job.end == "node":
        return "ended_node", f"A node ended while the job ran: {job.output or 'it said nothing'}"
    if job.end == "printed":
        return "over_limit", "The job printed more than anybody reads, and was ended."
    if job.code in _SIGNALS:
        return "crashed", f"{_SIGNALS[job.code]} ended a rank in deliver; {sent}."
    said = shortened(reason_in(job.output) or "nothing", _MAX_QUOTED)
    return "exited", f"The job ended with code {job.code}; {sent}. It said: {said}"


def _mismatch_text(job: LinkJob, language: str) -> str:
    first = job.first_mismatch
    if job.mismatches is None or first is None:
        return "Rank 1 has left nothing on node 2: did deliver return there?"
    begin = 0 if language == "c" else 1
    which = f"item {first.item + begin}"
    said = f"Of {job.items:,} items {job.mismatches:,} are not in rank 1 as they are in rank 0"
    if first.length != first.expected_length:
        return (
            f"{said}; the first: {which} has the length {first.length}, it should be "
            f"{first.expected_length}."
        )
    number = (first.number or 0) + begin
    return f"{said}; the first: {which}. Its length is right, and its number {number} is not."


explain(
    link_job,
    Principle(
        "Each message has headers, whatever is in it. What goes the same way goes in one message, "
        "with as few bits as tell where one item ends and the next one begins.",
        "When is it wrong to wait until there is more to send? (When somebody waits for it.)",
        ("header", "message", "pack", "length"),
    ),
)
