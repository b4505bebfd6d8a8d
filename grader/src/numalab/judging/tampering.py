"""Sentences for a student whose work keeps the kit from its part, by a trick or by accident."""

from __future__ import annotations

# What a kernel can do in its own process that does so.
TAMPERING = (
    "Something in yours changes what the kit needs of its process. Leave as they are: limits "
    "(setrlimit), rights (prctl, setuid, seccomp), open files, memory that is not yours, other "
    "processes, and what runs before and after your function (constructors, exit handlers)."
)
WORKS_WITH_NUMALABS = "With a kernel of its own in the same place it could."


def other_process_failed(role: str, ending: str) -> str:
    """Of a program of the kit's that does not come to its end beside the submission, and does
    beside a kernel of the kit's. said: how it ended."""
    return (
        f"While it was timed, the kit's own {role} did not come to its end: {ending} With another "
        "kernel of the kit's in the place of yours it does. Whatever yours does to other "
        "processes, to shared memory, or to the memory of the whole node, it must not."
    )


def launch_failed(ending: str) -> str:
    """The same of the kit's program under a student's launch."""
    return (
        "Under your launch the kit's program does not come to its end, and under the kit's own it "
        f"does: {ending}"
    )


def monitor_lost(ending: str) -> str:
    """said: how the monitor ended."""
    return (
        f"While the kit looked at the kernel, {ending}. With a kernel of its own in the same place "
        "that does not happen. A kernel sends no signals to other processes, changes none of their "
        "limits, and leaves descriptors alone that it has not opened."
    )
