"""Recognition of Slurm's login nodes, on which times are disturbed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess

from numalab.processes import shell_variables, starting

# sinfo itself tries a controller that does not answer for longer than a user would wait.
ANSWER_LIMIT_S = 5
# Prints a line for each partition of each cluster node: host name, node name, state.
_LISTING = ("--Node", "--noheader", "--format=%n %N %T")


def is_login_node() -> bool:
    """Tell whether Slurm is installed, this process is in no job, and this machine is not an idle
    cluster node.

    On an idle cluster node, such as a workstation with Slurm, times are as good as in a job. On a
    machine that sinfo does not list, or not as idle, other users may work, or a job may start any
    moment. Where sinfo can't be run or takes longer than ANSWER_LIMIT_S, the answer is True.
    """
    if "SLURM_JOB_ID" in os.environ or not (sinfo := shutil.which("sinfo")):
        return False
    try:
        done = starting.run(
            [sinfo, *_LISTING], shell_variables.slurm_environment(), limit_s=ANSWER_LIMIT_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return True
    return not is_idle_node(done.stdout, socket.gethostname())


def is_idle_node(listing: str, machine_name: str) -> bool:
    """Tell whether sinfo lists a machine, and as idle in each line. listing: lines of host name,
    node name and state; machine_name: the machine's name, with or without its domain."""
    ours = {machine_name, machine_name.partition(".")[0]}
    states = [
        words[-1]
        for words in map(str.split, listing.splitlines())
        if len(words) == 3 and not ours.isdisjoint(words[:2])
    ]
    return bool(states) and all(state == "idle" for state in states)


def refusal(command: str) -> str:
    """Return why no times are taken on a login node. command: numalab's, for the message."""
    return (
        "This looks like a login node: Slurm is here, no job is running, and sinfo does not list "
        "this machine as an idle node. Nothing is timed on it; use a job "
        f"(srun --exclusive -N1 ./numalab {command}), or --force."
    )
