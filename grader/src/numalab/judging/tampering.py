"""Sentences for students whose work disturbs numalab's own processes, on purpose or by accident.
Pure functions."""

from __future__ import annotations

# Behind why the monitor could not go on: what a kernel can do in its own process that disturbs it.
TAMPERING = (
    "Something in yours changes what the kit needs of its process. Leave as they are: limits "
    "(setrlimit), rights (prctl, setuid, seccomp), open files, memory that is not yours, other "
    "processes, and what runs before and after your function (constructors, exit handlers)."
)
WORKS_WITH_NUMALABS = "With a kernel of its own in the same place it could."


def other_process_failed(role: str, ending: str) -> str:
    """Return the reason of a failure where numalab's process in a role did not come to its end
    while the submission was timed, and does with numalab's kernel in the submission's place.
    ending: how it ended, as sentences."""
    return (
        f"While it was timed, the kit's own {role} did not come to its end: {ending} With another "
        "kernel of the kit's in the place of yours it does. Whatever yours does to other "
        "processes, to shared memory, or to the memory of the whole node, it must not."
    )


def launch_failed(ending: str) -> str:
    """Return the reason of a failure where numalab's program does not come to its end under a
    student's launch, and does under numalab's. ending: how it ended, as sentences."""
    return (
        "Under your launch the kit's program does not come to its end, and under the kit's own it "
        f"does: {ending}"
    )


def monitor_lost(ending: str) -> str:
    """Return the reason of a failure where the monitor ended while it observed the kernel. ending:
    how it ended, as a clause."""
    return (
        f"While the kit looked at the kernel, {ending}. With a kernel of its own in the same place "
        "that does not happen. A kernel sends no signals to other processes, changes none of their "
        "limits, and leaves descriptors alone that it has not opened."
    )
