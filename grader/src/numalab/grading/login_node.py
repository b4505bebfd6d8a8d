"""Slurm's login nodes, on which nothing is timed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess

from numalab.processes import shell_variables, starting

# Of sinfo: a controller that does not answer is asked for longer than anybody waits.
ANSWER_LIMIT_S = 5
# One line for each partition of each node: host name, node name, state.
_LISTING = ("--Node", "--noheader", "--format=%n %N %T")


def is_login_node() -> bool:
    """Return whether Slurm is installed here, no job is running, and this machine is not an idle
    node of the cluster. A workstation or a cluster node that waits for work is as good a place for
    times as a job. A machine that sinfo does not list, lists as anything but idle, or can't tell
    about is not: others work there, or a job may start any moment."""
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
    """Return whether a listing of sinfo has this machine, and as idle wherever it has it. listing:
    lines of host name, node name and state. host: this machine's name, with or without its domain.
    """
    ours = {machine_name, machine_name.partition(".")[0]}
    states = [
        words[-1]
        for words in map(str.split, listing.splitlines())
        if len(words) == 3 and not ours.isdisjoint(words[:2])
    ]
    return bool(states) and all(state == "idle" for state in states)


def refusal(command: str) -> str:
    """Return why the command takes no times there."""
    return (
        "This looks like a login node: Slurm is here, no job is running, and sinfo does not list "
        "this machine as an idle node. Nothing is timed on it; use a job "
        f"(srun --exclusive -N1 ./numalab {command}), or --force."
    )
