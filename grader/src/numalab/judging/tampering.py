"""Sentences for a student whose work disturbs numalab's own processes, on purpose or by
accident."""

from __future__ import annotations

# What a kernel can do in its own process that disturbs the monitor.
TAMPERING = (
    "Something in yours changes what the kit needs of its process. Leave as they are: limits "
    "(setrlimit), rights (prctl, setuid, seccomp), open files, memory that is not yours, other "
    "processes, and what runs before and after your function (constructors, exit handlers)."
)
WORKS_WITH_NUMALABS = "With a kernel of its own in the same place it could."


def other_process_failed(role: str, ending: str) -> str:
    """Say that numalab's program in a role did not come to its end beside the submission, and does
    beside numalab's kernel. ending: how it ended."""
    return (
        f"While it was timed, the kit's own {role} did not come to its end: {ending} With another "
        "kernel of the kit's in the place of yours it does. Whatever yours does to other "
        "processes, to shared memory, or to the memory of the whole node, it must not."
    )


def launch_failed(ending: str) -> str:
    """Say the same of numalab's program under a student's launch."""
    return (
        "Under your launch the kit's program does not come to its end, and under the kit's own it "
        f"does: {ending}"
    )


def monitor_lost(ending: str) -> str:
    """Say that the monitor ended while it observed the kernel. ending: how it ended."""
    return (
        f"While the kit looked at the kernel, {ending}. With a kernel of its own in the same place "
        "that does not happen. A kernel sends no signals to other processes, changes none of their "
        "limits, and leaves descriptors alone that it has not opened."
    )
