"""Findings about system calls that Linux, containers or sites refuse. Pure functions.

grader/README.md, "What is not gradable where calls are refused", has what a container's profile
refuses, and the capability that allows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from numalab.doctor.findings import Concerns, Finding, FindingLevel, concerned
from numalab.evidence.kinds import TRACE
from numalab.evidence.record import Json
from numalab.evidence.refused import refused
from numalab.judging.correctness_rules import race_free
from numalab.judging.refusals import LOSSES
from numalab.judging.rules import judges_answers, reads
from numalab.labs.declaration import Lab

_PROFILE = "docker run --security-opt seccomp=FILE, podman run likewise, unconfined for no filter"


@dataclass(frozen=True)
class Call:
    """A system call, or an ability that depends on some, which may be refused. probe: its name in
    describe_node's report; good, lost: what it means that it is available, and that it is refused;
    level: of the finding where it is refused; concerns: returns the criteria that this affects."""

    probe: str
    good: str
    lost: str
    remedy: str
    level: FindingLevel
    concerns: Callable[[Iterable[Lab]], Concerns]


def _loss_concerns(probe: str) -> Callable[[Iterable[Lab]], Concerns]:
    """Return a function from labs to the criteria that can't be judged without a call, but for
    those on answers."""
    lost = next(lost for lost in LOSSES if lost.probe == probe)
    return lambda labs: concerned(labs, lambda lab, c: not judges_answers(c) and lost.loses(lab, c))


CALLS = (
    Call(
        "userfaultfd",
        "the touch map is made outside the student's process",
        "the touch map is made inside the student's process instead, and marked so: it shows who "
        "touches each page first and not who goes on working there, and a kernel could forge it",
        "in a container allow the system call userfaultfd in the seccomp profile (Docker's and "
        f"Podman's refuse it whatever the capabilities): {_PROFILE}; of the node itself the kernel "
        "needs CONFIG_USERFAULTFD, and before Linux 5.11 sysctl vm.unprivileged_userfaultfd=1",
        "note",
        lambda labs: concerned(labs, lambda lab, c: reads(c, TRACE)),
    ),
    Call(
        "process_vm_readv",
        "results are read from outside",
        "results are read through /proc/PID/mem instead, which takes longer and loses nothing",
        "in a container --cap-add SYS_PTRACE, or allow it in the seccomp profile",
        "note",
        lambda labs: {},
    ),
    Call(
        "worker_memory",
        "the kit reaches a kernel's arrays from outside",
        "nothing can be graded",
        "in a container --cap-add SYS_PTRACE, or allow process_vm_readv and process_vm_writev in "
        "the seccomp profile; on the node itself: sudo sysctl kernel.yama.ptrace_scope=1",
        "bad",
        _loss_concerns("worker_memory"),
    ),
    Call(
        "pidfd_open",
        "processes are watched without mistaking one for another",
        "nothing can be graded",
        "the kernel has to be Linux 5.3 or newer, and a container's seccomp profile one that knows "
        "the call: a newer Docker or Podman on the host",
        "bad",
        _loss_concerns("pidfd_open"),
    ),
    Call(
        "sched_setaffinity",
        "threads are kept on their cores",
        "no thread or rank can be kept on a core, and libomp ends programs that ask for it",
        f"allow the call in the seccomp profile ({_PROFILE})",
        "bad",
        _loss_concerns("sched_setaffinity"),
    ),
    Call(
        "move_pages",
        "the NUMA node of every page is known",
        "nobody can see on which NUMA node a page lives",
        "allow the system call move_pages in the container's seccomp profile (Docker's and "
        f"Podman's refuse it whatever the capabilities): {_PROFILE}; a kernel without CONFIG_NUMA "
        "lacks it, and has one node to place pages on",
        "bad",
        _loss_concerns("move_pages"),
    ),
    Call(
        "get_mempolicy",
        "memory can be placed and asked where it may go",
        "numactl and programs that place memory by libnuma don't work, and explorations leave "
        "memory where it comes to lie; no criterion needs it",
        "in a Docker container --cap-add SYS_NICE, which opens get_mempolicy, set_mempolicy and "
        "mbind; a kernel without CONFIG_NUMA lacks them",
        "note",
        lambda labs: {},
    ),
    Call(
        "fixed_addresses",
        "ThreadSanitizer can start its programs with fixed addresses, where it has to",
        "where the host draws addresses from more than ThreadSanitizer stands (vm.mmap_rnd_bits "
        "above 28), it can't start, and data races can't be looked for",
        "on the host: sudo sysctl vm.mmap_rnd_bits=28; or allow personality(ADDR_NO_RANDOMIZE) in "
        "the container's seccomp profile",
        "note",
        lambda labs: concerned(labs, lambda lab, c: race_free.judges(c)),
    ),
    Call(
        "schedstat",
        "the CPU time of every thread is known",
        "how evenly work is shared is not gradable",
        "the kernel needs CONFIG_SCHED_INFO",
        "bad",
        _loss_concerns("schedstat"),
    ),
)  # fmt: skip


def refused_calls(node: Json, labs: Sequence[Lab]) -> list[Finding]:
    """Return a finding for each of CALLS that a node's evidence names. node: what describe_node
    reports."""
    return [_finding(call, node, labs) for call in CALLS if call.probe in node["evidence"]]


def _finding(call: Call, node: Json, labs: Sequence[Lab]) -> Finding:
    error = refused(node).get(call.probe)
    concerns = call.concerns(labs)
    if error is None:
        return Finding(call.probe, "good", "available", call.good, concerns=concerns)
    return Finding(
        call.probe, call.level, f"refused: {error}", call.lost, call.remedy, concerns=concerns
    )
